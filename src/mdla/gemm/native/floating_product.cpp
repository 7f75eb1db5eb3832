// SPDX-License-Identifier: BSD-3-Clause
// The floating carry-save product on the host: packing and special values.
#include <atomic>
#include <cmath>
#include <utility>

#include "blocking.hpp"

namespace mdla {
namespace {

using u64 = std::uint64_t;

class floating_method {
 public:
  floating_method(const direct_product& task, std::atomic<bool>& all_finite)
      : words(task.shape.limbs),
        planes(task.shape.limbs + 1),
        stage_words(0),
        ops_(active_direct_ops()),
        task_(task),
        shape_(task.shape),
        all_finite_(all_finite) {}

  int words, planes;
  long long stage_words;

  void take_memory(arena& memory) { line_ = memory.take<double>(shape_.columns); }

  void prepare(long long item, int) {
    item_ = item;
    side_[0] = task_.a.rows(item, shape_.rows, shape_.inner);
    side_[1] = task_.b.columns(item, shape_.columns, shape_.inner);
  }

  void pack(int s, long long panel, long long first_step, long long steps, u64* target, long long,
            u64*, bool) {
    const long long lane = panel * side_width(s);
    const long long left = side_[s].lanes - lane;
    const int width = panel_width(s, left);
    const long long present = std::min<long long>(width, left);
    const operand_side x = side_[s].from(lane, first_step);
    const int N = shape_.limbs;
    double* to = (double*)target;
    for (int i = 0; i < N; ++i) {
      for (long long k = 0; k < steps; ++k) {
        const double* from = x.p + i * x.limb + k * x.step;
        double* line = to + (k * N + i) * width;
        for (long long l = 0; l < present; ++l) line[l] = from[l * x.lane];
        for (long long l = present; l < width; ++l) line[l] = 0;
      }
    }
  }

  void tile(u64* sums, const u64* a, const u64* b, long long, long long steps, int rows,
            int vectors) {
    ops_.floating_tile[shape_.limbs]((double*)sums, (const double*)a, (const double*)b, steps, rows,
                                     vectors);
  }

  void finish(const u64* sums, long long row_panel, long long column_panel, int rows, int columns,
              int vectors) {
    const bool finite = ops_.floating_finish[shape_.limbs](
        (const double*)sums, vectors, rows, columns,
        task_.out.from(item_, row_panel * tile_rows, column_panel * tile_columns));
    if (!finite) all_finite_ = false;
  }

  // The errors of infinite sums are nan: entries that are not finite are formed again by the rules
  // of IEEE arithmetic, from the leading limbs.
  void repair(long long) {
    if (all_finite_) return;
    for (long long r = 0; r < shape_.rows; ++r) {
      bool formed = false;
      for (long long c = 0; c < shape_.columns; ++c) {
        const result_tile to = task_.out.from(item_, r, c);
        if (std::isfinite(*to.p)) continue;
        if (!formed) ieee_lane(line_, side_[0].from(r, 0), side_[1]);
        formed = true;
        for (int i = 0; i < shape_.limbs; ++i) to.p[i * to.limb] = i == 0 ? line_[c] : 0;
      }
    }
  }

 private:
  const direct_ops& ops_;
  direct_product task_;
  product_shape shape_;
  std::atomic<bool>& all_finite_;
  long long item_ = 0;
  operand_side side_[2] = {};
  double* line_ = nullptr;
};

}  // namespace

bool floating_product(const direct_product& task, interrupt_test interrupted) {
  std::atomic<bool> all_finite{true};
  const direct_product oriented = task.oriented();
  const product_shape& s = oriented.shape;
  const double n = s.limbs;
  const double work =
      (double)s.rows * (double)s.columns * (double)(s.inner + 16) * (n * n * (n + 4)) / 8;
  return product_over_batch(floating_method(oriented, all_finite), s, work, interrupted);
}

}  // namespace mdla
