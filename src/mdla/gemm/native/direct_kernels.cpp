// SPDX-License-Identifier: BSD-3-Clause
// The table of direct_ops.hpp for one instruction set; compiled once for each.
#include "floating_kernel.hpp"
#include "mixed_kernel.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace {

using T = simd<double>;

// max |x|, and a sum of 0 |x| that turns into nan with the first number that is not finite (a
// comparison with nan is false).
template <class L>
struct largest_of {
  L most = splat<L>(0), poison = splat<L>(0);
  MDLA_INLINE void take(L x) {
    x = abs(x);
    most = select(lt(most, x), x, most);
    poison = poison + mul_rn(x, splat<L>(0));
  }
};

// Sums of scaled |x|, each cut off at one of the caps. Rounded to multiples of 2^-30 the sums are
// exact up to 2^22 terms, so their order does not matter.
template <class L>
struct capped {
  L sum[cap_count];
  MDLA_INLINE capped() {
    for (int i = 0; i < cap_count; ++i) sum[i] = splat<L>(0);
  }
  MDLA_INLINE void take(L x, L scale) {
    const L round = splat<L>(0x1.8p22);
    x = (mul_rn(abs(x), scale) + round) - round;
    MDLA_UNROLL
    for (int i = 0; i < cap_count; ++i) {
      const L cap = splat<L>(caps[i]);
      sum[i] = sum[i] + select(lt(x, cap), x, cap);
    }
  }
};

// Walks over the entries of all lanes: take(state, x, lane) for vectors of neighbouring k of a
// lane, or of neighbouring lanes, or for single entries; done(lane, state) at the end of a lane.
template <template <class> class State, class Take, class Done>
MDLA_INLINE void for_each_lane(const operand_side& side, const Take& take, const Done& done) {
  constexpr int lanes = width_v<T>;
  long long l = 0;
  if (side.lane == 1 && side.step != 1) {
    for (; l + lanes <= side.lanes; l += lanes) {
      State<T> s;
      for (long long k = 0; k < side.steps; ++k)
        take(s, io<T>::load(side.p + l + k * side.step), l, true);
      done(l, s);
    }
  }
  for (; l < side.lanes; ++l) {
    const double* p = side.p + l * side.lane;
    State<double> s;
    long long k = 0;
    if (side.step == 1) {
      State<T> some;
      for (; k + lanes <= side.steps; k += lanes) take(some, io<T>::load(p + k), l, false);
      fold(s, some);
    }
    for (; k < side.steps; ++k) take(s, p[k * side.step], l, false);
    done(l, s);
  }
}

template <class L>
MDLA_INLINE void fold(largest_of<double>& into, const largest_of<L>& from) {
  alignas(64) double most[width_v<L>], poison[width_v<L>];
  io<L>::store(most, from.most);
  io<L>::store(poison, from.poison);
  for (int i = 0; i < width_v<L>; ++i) {
    into.most = into.most < most[i] ? most[i] : into.most;
    into.poison += poison[i];
  }
}

template <class L>
MDLA_INLINE void fold(capped<double>& into, const capped<L>& from) {
  alignas(64) double sum[width_v<L>];
  for (int c = 0; c < cap_count; ++c) {
    io<L>::store(sum, from.sum[c]);
    for (int i = 0; i < width_v<L>; ++i) into.sum[c] += sum[i];
  }
}

void scan(const operand_side& side, double* largest) {
  for_each_lane<largest_of>(
      side, [](auto& s, auto x, long long, bool) { s.take(x); },
      [&](long long l, const auto& s) {
        io<decltype(s.most + s.most)>::store(largest + l, s.most + s.poison);
      });
}

void capped_sums(const operand_side& side, const double* scale, double* sums) {
  for_each_lane<capped>(
      side,
      [&](auto& s, auto x, long long l, bool across) {
        using L = decltype(x);
        s.take(x, across ? io<L>::load(scale + l) : splat<L>(scale[l]));
      },
      [&](long long l, const auto& s) {
        for (int c = 0; c < cap_count; ++c)
          io<decltype(s.sum[0] + s.sum[0])>::store(sums + c * side.lanes + l, s.sum[c]);
      });
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
  t.integer_finish[N] = &integer_finish<N>;
  if constexpr (N > 1) t.mixed_finish[N] = &mixed_finish<N>;
  t.floating_tile[N] = &floating_tile<N>;
  t.floating_finish[N] = &floating_finish<N>;
}

direct_ops make_table() {
  direct_ops t{};
  t.scan = &scan;
  t.capped_sums = &capped_sums;
  t.scaled_minimum = &scaled_minimum;
  t.cut = &cut_panel;
  t.integer_tile = &integer_tile;
  t.mixed_tile = &mixed_tile;
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
