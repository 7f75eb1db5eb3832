// SPDX-License-Identifier: BSD-3-Clause
// The products by digits on the host: scaling, packing, correction terms, special values.
#include <cmath>
#include <limits>
#include <utility>

#include "blocking.hpp"

namespace mdla {

direct_product direct_product::oriented() const {
  const auto padded = [](long long rows, long long columns) {
    return (double)round_up(rows, tile_rows / 2) * (double)round_up(columns, 8);
  };
  direct_product p = *this;
  if (padded(shape.rows, shape.columns) <= padded(shape.columns, shape.rows)) return p;
  std::swap(p.a, p.b);
  std::swap(p.a.row, p.a.column);
  std::swap(p.b.row, p.b.column);
  std::swap(p.out.row, p.out.column);
  std::swap(p.shape.rows, p.shape.columns);
  return p;
}

int scale_exponent(double largest) {
  if (largest == 0) return 0;
  int e = 0;
  const double m = std::frexp(largest, &e);
  return m * (1 + 0x1p-40) >= 1 ? e + 2 : e + 1;
}

void ieee_lane(double* sums, const operand_side& one, const operand_side& many) {
  for (long long l = 0; l < many.lanes; ++l) sums[l] = 0;
  for (long long k = 0; k < one.steps; ++k) {
    const double x = one.p[k * one.step];
    const double* p = many.p + k * many.step;
    for (long long l = 0; l < many.lanes; ++l) sums[l] += x * p[l * many.lane];
  }
  for (long long l = 0; l < many.lanes; ++l)
    if (sums[l] != sums[l]) sums[l] = std::numeric_limits<double>::quiet_NaN();
}

double power_of_two(int e) {
  const std::uint64_t bits = (std::uint64_t)(1023 + e) << 52;
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

namespace {

using u64 = std::uint64_t;
using u128 = unsigned __int128;

constexpr u64 digit_mask = (u64{1} << 52) - 1;
constexpr int stage_steps = 64;

// v[t] of weight 2^(-52 t), t = 0..D+1, to digits; what lies below digit D is dropped.
void carry_up(u64* digits, u128* v, int D) {
  for (int t = D + 1; t > 0; --t) v[t - 1] += v[t] >> 52;
  digits[0] = (u64)v[0];
  for (int t = 1; t <= D; ++t) digits[t] = (u64)v[t] & digit_mask;
}

// Both kernels that cut entries into digits. Integer products reach up to diagonal `diagonals_` - 1
// of the products of digits and fill weights 2^(-52 t), t = 0..last_.
class digits_method {
 public:
  // digits = 0: the mixed kernel
  digits_method(const direct_product& task, int digits)
      : words(digits ? digits : 2 * task.shape.limbs - 1),
        planes(digits ? digits + 1 : task.shape.limbs + 2),
        stage_words((long long)stage_steps * tile_columns * task.shape.limbs),
        ops_(active_direct_ops()),
        task_(task),
        shape_(task.shape),
        mixed_(digits == 0),
        digits_(digits ? digits : shape_.limbs),
        diagonals_(digits ? digits : shape_.limbs - 1),
        last_(digits_) {
    // 2^102 (q + 1) k of every diagonal q, and half of what the missing low halves of the last
    // diagonal come to; see integer_kernel.hpp.
    u128 v[max_digits + 2] = {};
    const u128 inner = (u128)shape_.inner;
    for (int q = 0; q < diagonals_; ++q) v[q + 1] += (inner * (unsigned)(q + 1)) << 50;
    if (!mixed_) v[last_] += inner * (unsigned)digits / 2 - 1;
    carry_up(constants_, v, last_);
    // Errors of up to 1.25 D k + 1 are at most half of this many bits: sums that are exact
    // multiples of it, zeros above all, come out exactly.
    if (!mixed_) noise_bits_ = std::ilogb(2.5 * digits * (double)shape_.inner + 2) + 1;
  }

  int words, planes;
  long long stage_words;

  void take_memory(arena& memory) {
    for (int s = 0; s < 2; ++s) {
      const long long padded = round_up(lanes(s), side_width(s));
      largest_[s] = memory.take<double>(padded);
      exponent_[s] = memory.take<double>(padded);
      low_[s] = memory.take<double>(padded);
      high_[s] = memory.take<double>(padded);
      factor_[s] = memory.take<double>(padded);
      sums_[s] = memory.take<u128>(padded * digits_);
      terms_[s] = memory.take<u64>(padded * (last_ + 1));
    }
  }

  void prepare(long long item, int threads) {
    item_ = item;
    side_[0] = task_.a.rows(item, shape_.rows, shape_.inner);
    side_[1] = task_.b.columns(item, shape_.columns, shape_.inner);
    has_factors_ = true;
    for (int s = 0; s < 2; ++s) {
      const long long unit = 64, count = lanes(s);
      parallel_for((count + unit - 1) / unit, threads, [&](long long first, long long last) {
        operand_side part = side_[s].from(first * unit, 0);
        part.lanes = std::min(last * unit, count) - first * unit;
        ops_.scan(part, largest_[s] + first * unit);
      });
      const long long padded = round_up(count, side_width(s));
      for (long long l = 0; l < padded; ++l) {
        const double most = l < count ? largest_[s][l] : 0;
        // A lane with inf or nan is multiplied like any other and mended at the end.
        const int e = std::isfinite(most) ? scale_exponent(most) : 0;
        const int shift = scale_origin - e;
        exponent_[s][l] = e;
        low_[s][l] = power_of_two(shift / 2);
        high_[s][l] = power_of_two(shift - shift / 2);
        // Products of two factors and a limb then neither over- nor underflow in between.
        const bool moderate = e > -400 && e < 400;
        factor_[s][l] = moderate ? power_of_two(e) : 0;
        has_factors_ = has_factors_ && moderate;
      }
    }
  }

  void pack(int s, long long panel, long long first_step, long long steps, u64* target,
            long long stride, u64* stage, bool last) {
    const long long lane = panel * side_width(s);
    const int width = panel_width(s, lanes(s) - lane);
    const long long present = std::min<long long>(width, lanes(s) - lane);
    const int N = shape_.limbs, D = digits_;
    alignas(64) unsigned long long sums[max_digits * tile_columns] = {};
    cut_job job{};
    job.low = low_[s] + lane;
    job.high = high_[s] + lane;
    job.width = width;
    job.limbs = N;
    job.digits = D;
    job.mixed = mixed_;
    job.digit_stride = stride * width;
    job.sums = sums;
    for (long long k = 0; k < steps; k += stage_steps) {
      const operand_side x = side_[s].from(lane, first_step + k);
      job.steps = std::min<long long>(stage_steps, steps - k);
      job.target = target + k * width;
      if (x.lane == 1 && present == width) {
        job.source = x.p;
        job.limb = x.limb;
        job.pitch = x.step;
      } else {
        double* copy = (double*)stage;
        job.source = copy;
        job.limb = stage_steps * width;
        job.pitch = width;
        for (int i = 0; i < N; ++i) {
          double* to = copy + i * job.limb;
          for (long long l = 0; l < width; ++l) {
            const double* from = x.p + i * x.limb + l * x.lane;
            for (long long n = 0; n < job.steps; ++n)
              to[n * width + l] = l < present ? from[n * x.step] : 0;
          }
        }
      }
      ops_.cut(job);
    }
    u128* all = sums_[s] + lane * D;
    for (int x = 0; x < D * width; ++x) all[x] = (first_step ? all[x] : 0) + sums[x];
    if (last) make_terms(terms_[s] + lane * (last_ + 1), all, width);
  }

  void tile(u64* sums, const u64* a, const u64* b, long long stride, long long steps, int rows,
            int vectors) {
    const auto tile = mixed_ ? ops_.mixed_tile : ops_.integer_tile;
    tile((unsigned long long*)sums, a, b, digits_, steps, stride * tile_rows, stride * 8 * vectors,
         rows, vectors);
  }

  void finish(const u64* sums, long long row_panel, long long column_panel, int rows, int columns,
              int vectors) {
    const long long row = row_panel * tile_rows, column = column_panel * tile_columns;
    finish_job job{};
    job.sums = (const unsigned long long*)sums;
    job.row_terms = (const unsigned long long*)(terms_[0] + row * (last_ + 1));
    job.column_terms = (const unsigned long long*)(terms_[1] + column * (last_ + 1));
    job.constants = (const unsigned long long*)constants_;
    job.row_exponents = exponent_[0] + row;
    job.column_exponents = exponent_[1] + column;
    job.row_factors = has_factors_ ? factor_[0] + row : nullptr;
    job.column_factors = has_factors_ ? factor_[1] + column : nullptr;
    job.noise_bits = noise_bits_;
    job.digits = last_;
    job.vectors = vectors;
    job.rows = rows;
    job.columns = columns;
    job.out = task_.out.from(item_, row, column);
    (mixed_ ? ops_.mixed_finish : ops_.integer_finish)[shape_.limbs](job);
  }

  void repair(long long) {
    for (int s = 0; s < 2; ++s) {
      const operand_side& many = side_[1 - s];
      for (long long l = 0; l < lanes(s); ++l) {
        if (std::isfinite(largest_[s][l])) continue;
        double* line = largest_line(many.lanes);
        ieee_lane(line, side_[s].from(l, 0), many);
        for (long long x = 0; x < many.lanes; ++x) {
          const result_tile to = task_.out.from(item_, s == 0 ? l : x, s == 0 ? x : l);
          for (int i = 0; i < shape_.limbs; ++i) to.p[i * to.limb] = i == 0 ? line[x] : 0;
        }
      }
    }
  }

 private:
  long long lanes(int s) const { return s == 0 ? shape_.rows : shape_.columns; }
  // The scale factors are no longer needed when special values are mended.
  double* largest_line(long long lanes) { return lanes == shape_.columns ? low_[1] : low_[0]; }

  // 2^51 sum_{q} 2^(-52(q+2)) sum_{i <= q} sum_k d_i of each lane.
  void make_terms(u64* terms, const u128* digit_sums, int width) const {
    for (int l = 0; l < width; ++l) {
      u128 v[max_digits + 2] = {}, sum = 0;
      u64 digits[max_digits + 1];
      for (int q = 0; q < diagonals_; ++q) {
        sum += digit_sums[q * width + l];
        v[q + 1] += sum >> 1;
        v[q + 2] += (sum & 1) << 51;
      }
      carry_up(digits, v, last_);
      for (int t = 0; t <= last_; ++t) terms[t * width + l] = digits[t];
    }
  }

  const direct_ops& ops_;
  direct_product task_;
  product_shape shape_;
  long long item_ = 0;
  bool mixed_;
  int digits_, diagonals_, last_;
  int noise_bits_ = 0;
  u64 constants_[max_digits + 1];
  operand_side side_[2] = {};
  double *largest_[2], *exponent_[2], *low_[2], *high_[2], *factor_[2];
  bool has_factors_ = false;
  u128* sums_[2];
  u64* terms_[2];
};

}  // namespace

bool integer_product(const direct_product& task, int digits, interrupt_test interrupted) {
  const direct_product oriented = task.oriented();
  const product_shape& s = oriented.shape;
  const double work =
      (double)s.rows * (double)s.columns * (double)(s.inner + 16) * digits * digits / 8;
  return product_over_batch(digits_method(oriented, digits), s, work, interrupted);
}

bool mixed_product(const direct_product& task, interrupt_test interrupted) {
  const direct_product oriented = task.oriented();
  const product_shape& s = oriented.shape;
  const double work =
      (double)s.rows * (double)s.columns * (double)(s.inner + 16) * s.limbs * s.limbs / 8;
  return product_over_batch(digits_method(oriented, 0), s, work, interrupted);
}

}  // namespace mdla
