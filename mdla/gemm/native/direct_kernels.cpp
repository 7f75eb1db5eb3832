// SPDX-License-Identifier: BSD-3-Clause
// The table of direct_ops.hpp for one instruction set; compiled once for each.
#include "floating_kernel.hpp"
#include "integer_kernel.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace {

using T = simd<double>;

// A comparison with nan is false, so not-finite numbers are caught by 0 * x instead.
void scan(const operand_side& side, double* largest) {
  constexpr int lanes = width_v<T>;
  const T zero = splat<T>(0);
  if (side.step == 1) {
    for (long long l = 0; l < side.lanes; ++l) {
      const double* p = side.p + l * side.lane;
      T most = zero, poison = zero;
      long long k = 0;
      for (; k + lanes <= side.steps; k += lanes) {
        const T x = abs(io<T>::load(p + k));
        most = select(lt(most, x), x, most);
        poison = poison + mul_rn(x, zero);
      }
      double best = 0, bad = 0;
      alignas(64) double m[lanes], b[lanes];
      io<T>::store(m, most);
      io<T>::store(b, poison);
      for (int i = 0; i < lanes; ++i) {
        best = m[i] > best ? m[i] : best;
        bad += b[i];
      }
      for (; k < side.steps; ++k) {
        const double x = abs(p[k]);
        best = x > best ? x : best;
        bad += mul_rn(x, 0.0);
      }
      largest[l] = best + bad;
    }
    return;
  }
  long long l = 0;
  if (side.lane == 1) {
    for (; l + lanes <= side.lanes; l += lanes) {
      T most = zero, poison = zero;
      for (long long k = 0; k < side.steps; ++k) {
        const T x = abs(io<T>::load(side.p + l + k * side.step));
        most = select(lt(most, x), x, most);
        poison = poison + mul_rn(x, zero);
      }
      io<T>::store(largest + l, most + poison);
    }
  }
  for (; l < side.lanes; ++l) {
    double best = 0, bad = 0;
    for (long long k = 0; k < side.steps; ++k) {
      const double x = abs(side.p[l * side.lane + k * side.step]);
      best = x > best ? x : best;
      bad += mul_rn(x, 0.0);
    }
    largest[l] = best + bad;
  }
}

double scaled_minimum(const double* p, long long stride, const double* scale, long long count) {
  constexpr int lanes = width_v<T>;
  double least = __builtin_inf();
  long long l = 0;
  if (stride == 1) {
    T w = splat<T>(least);
    for (; l + lanes <= count; l += lanes) {
      const T x = mul_rn(abs(io<T>::load(p + l)), io<T>::load(scale + l));
      w = select(lt(x, w), x, w);
    }
    alignas(64) double m[lanes];
    io<T>::store(m, w);
    for (int i = 0; i < lanes; ++i) least = m[i] < least ? m[i] : least;
  }
  for (; l < count; ++l) {
    const double x = mul_rn(abs(p[l * stride]), scale[l]);
    least = x < least ? x : least;
  }
  return least;
}

typedef short shorts __attribute__((vector_size(64)));

void max_plus(short* best, const short* a, const short* b, long long stride, long long steps) {
  shorts most[8];
  for (int r = 0; r < 8; ++r) most[r] = shorts{} - (short)32767;
  for (long long k = 0; k < steps; ++k) {
    shorts f;
    std::memcpy(&f, b + k * stride, sizeof f);
    MDLA_UNROLL
    for (int r = 0; r < 8; ++r) {
      const shorts s = f + a[k * 8 + r];
      most[r] = s > most[r] ? s : most[r];
    }
  }
  std::memcpy(best, most, sizeof most);
}

template <int N>
void enter(direct_ops& t) {
  t.integer_finish[N] = &finish_tile<N>;
  t.floating_tile[N] = &floating_tile<N>;
  t.floating_finish[N] = &floating_finish<N>;
}

direct_ops make_table() {
  direct_ops t{};
  t.scan = &scan;
  t.scaled_minimum = &scaled_minimum;
  t.cut = &cut_panel;
  t.integer_tile = &integer_tile;
  t.max_plus = &max_plus;
  enter<1>(t);
  enter<2>(t);
  enter<3>(t);
  enter<4>(t);
  enter<5>(t);
  enter<8>(t);
  enter<10>(t);
  enter<16>(t);
  return t;
}

}  // namespace

const direct_ops& direct_table() {
  static const direct_ops table = make_table();
  return table;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
