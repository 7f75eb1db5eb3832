// SPDX-License-Identifier: BSD-3-Clause
// Whether the mixed kernel keeps its bound: the least sum_k |a_ik b_kj| must be large compared with
// the products of row and column scales.
//
// Two lower bounds are tried. With |x| <= s and |y| <= t cut off,
//     |x y| >= s t (|x| / s + |y| / t - 1),
// so capped sums of rows and columns bound all entries of the product at once. Else the product
// |A| |B| itself is formed in doubles, over the first values of k only, as many as the first tile
// needs; if that does not do for all entries, over all.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "blocking.hpp"

namespace mdla {
namespace {

using u64 = std::uint64_t;

struct scaled_lanes {
  operand_side x;
  std::vector<double> scale;       // 0 for lanes of zeros and with inf or nan
  double most = 0;                 // the largest sum of scaled entries of a lane
  double least_capped[cap_count];  // the least capped sums, in units of the cap

  scaled_lanes(const operand_side& side, const direct_ops& ops) : x(side), scale(side.lanes) {
    constexpr long long unit = 32;
    const long long units = (side.lanes + unit - 1) / unit;
    std::vector<double> sums(side.lanes * cap_count);
    const int threads = threads_for((double)side.lanes * (double)side.steps * 3, 2e5);
    parallel_for(units, threads, [&](long long first, long long last) {
      for (long long u = first; u < last; ++u) {
        const long long l = u * unit;
        operand_side part = side.from(l, 0);
        part.lanes = std::min(unit, side.lanes - l);
        double largest[unit];
        ops.scan(part, largest);
        for (long long i = 0; i < part.lanes; ++i)
          if (std::isfinite(largest[i]) && largest[i] > 0)
            scale[l + i] = std::ldexp(1.0, std::min(-scale_exponent(largest[i]), 1000));
        ops.capped_sums(part, scale.data() + l, sums.data() + l * cap_count);
      }
    });
    std::fill_n(least_capped, cap_count, HUGE_VAL);
    for (long long l = 0; l < side.lanes; ++l) {
      if (scale[l] == 0) continue;
      const long long within = std::min(unit, side.lanes - l / unit * unit);
      const double* s = sums.data() + l / unit * unit * cap_count + l % unit;
      most = std::max(most, s[0]);
      for (int c = 0; c < cap_count; ++c)
        least_capped[c] = std::min(least_capped[c], s[c * within] / caps[c]);
    }
  }
  // Lanes of zeros give exact zeros and lanes with inf or nan are mended: huge entries make them
  // pass.
  void pack(double* to, long long lane, int width, long long first_step, long long steps) const {
    const double* from = x.p + lane * x.lane + first_step * x.step;
    const int present = (int)std::min<long long>(width, x.lanes - lane);
    for (long long k = 0; k < steps; ++k)
      for (int l = 0; l < present; ++l)
        to[k * width + l] = std::fabs(from[k * x.step + l * x.lane]) * scale[lane + l];
    for (int l = 0; l < width; ++l)
      if (l >= present || scale[lane + l] == 0)
        for (long long k = 0; k < steps; ++k) to[k * width + l] = 0x1p300;
  }
};

double capped_bound(const scaled_lanes& a, const scaled_lanes& b) {
  const double inner = (double)a.x.steps;
  double bound = 0;
  for (int i = 0; i < cap_count; ++i)
    for (int j = 0; j < cap_count; ++j)
      bound = std::max(bound, caps[i] * caps[j] * (a.least_capped[i] + b.least_capped[j] - inner));
  return bound - inner * 0x1p-28;  // the terms were rounded
}

// Of the sums for even and odd k together.
double least_of(const double* sums, int rows, int columns, int vectors) {
  double least = HUGE_VAL;
  for (int r = 0; r < rows; ++r) {
    const double* even = sums + r * 8 * vectors;
    const double* odd = even + tile_rows * 8 * vectors;
    for (int c = 0; c < columns; ++c) least = even[c] + odd[c] < least ? even[c] + odd[c] : least;
  }
  return least;
}

class floor_method {
 public:
  floor_method(const scaled_lanes& a, const scaled_lanes& b, double need, std::atomic<bool>& enough)
      : side_{&a, &b}, need_(need), enough_(enough), ops_(active_direct_ops()) {}

  int words = 1, planes = 2;
  long long stage_words = 0;

  void take_memory(arena&) {}
  void prepare(long long, int) {}
  void pack(int s, long long panel, long long first_step, long long steps, u64* target, long long,
            u64*, bool) {
    if (!enough_) return;
    const long long lane = panel * side_width(s);
    side_[s]->pack((double*)target, lane, panel_width(s, side_[s]->x.lanes - lane), first_step,
                   steps);
  }
  void tile(u64* sums, const u64* a, const u64* b, long long, long long steps, int rows,
            int vectors) {
    if (!enough_) return;
    ops_.floating_tile[1]((double*)sums, (const double*)a, (const double*)b, steps, rows, vectors);
  }
  void finish(const u64* sums, long long, long long, int rows, int columns, int vectors) {
    if (enough_ && least_of((const double*)sums, rows, columns, vectors) < need_) enough_ = false;
  }
  void repair(long long) {}

  // Values of k after which the first tile has enough, or -1.
  long long steps_for_first_tile() const {
    constexpr int some = 32;
    alignas(64) double a[some * tile_rows], b[some * tile_columns];
    alignas(64) double sums[2 * tile_rows * tile_columns] = {};
    const int rows = (int)std::min<long long>(tile_rows, side_[0]->x.lanes);
    const int columns = (int)std::min<long long>(tile_columns, side_[1]->x.lanes);
    const int vectors = (columns + 7) / 8;
    for (long long k = 0; k < side_[0]->x.steps; k += some) {
      const long long n = std::min<long long>(some, side_[0]->x.steps - k);
      side_[0]->pack(a, 0, tile_rows, k, n);
      side_[1]->pack(b, 0, 8 * vectors, k, n);
      ops_.floating_tile[1](sums, a, b, n, rows, vectors);
      if (least_of(sums, rows, columns, vectors) >= need_) return k + n;
    }
    return -1;
  }

 private:
  const scaled_lanes* side_[2];
  double need_;
  std::atomic<bool>& enough_;
  const direct_ops& ops_;
};

// The bound of docs/direct.md, "The mixed kernel", as a demand on the scaled sums.
double least_sum(int limbs, double inner, double promised, double most_a, double most_b) {
  const double n = limbs, roundings = 18 + n + std::ceil(inner / 64);
  const double ends = (roundings + 1) / 4 * (most_a + most_b + inner * 0x1p-29);
  const double middle = (roundings * (n - 2) + 2 * (n - 1)) * inner / 8;
  return (ends + middle) / (promised - 0.5) * (1 + 1e-6);
}

bool suffices_for_item(const matrix_batch& a, const matrix_batch& b, const product_shape& shape,
                       long long item, long long promised) {
  const direct_ops& ops = active_direct_ops();
  const scaled_lanes rows(a.rows(item, shape.rows, shape.inner), ops);
  const scaled_lanes columns(b.columns(item, shape.columns, shape.inner), ops);
  const double need =
      least_sum(shape.limbs, (double)shape.inner, (double)promised, rows.most, columns.most);
  if (shape.inner < (1 << 22) && capped_bound(rows, columns) >= need) return true;
  if (shape.limbs == 2) return false;  // forming |A| |B| would take what the mixed kernel saves
  std::atomic<bool> enough{true};
  const floor_method floor(rows, columns, need, enough);
  const long long steps = floor.steps_for_first_tile();
  if (steps < 0) return false;
  for (long long tried = std::min(shape.inner, steps + steps / 4 + 16);;) {
    enough = true;
    const product_shape part{1, 1, shape.rows, tried, shape.columns};
    const double work = (double)shape.rows * (double)shape.columns * (double)tried / 8;
    product_over_batch(floor, part, work, nullptr);
    if (enough || tried == shape.inner) return enough;
    tried = shape.inner;
  }
}

}  // namespace

void mixed_suffices(char* answers, const matrix_batch& a, const matrix_batch& b,
                    product_shape shape, long long promised) {
  for (long long item = 0; item < shape.batch; ++item)
    answers[item] = suffices_for_item(a, b, shape, item, promised);
}

}  // namespace mdla
