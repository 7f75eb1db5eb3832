// SPDX-License-Identifier: BSD-3-Clause
// Expansion<T, N>: a number held as the unevaluated sum of N lanes, largest first.
//
// Normalised: each limb is at most half an ulp of the one before it, zeros only at the end. Every
// operation of sum.hpp, product.hpp, quotient.hpp and root.hpp takes and returns normalised
// expansions. eps(N) = 2^(-52 N) for doubles, 2^(-23 N) for floats.
#pragma once

#include "pack.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

template <class T, int N>
struct expansion {
  T limb[N];
};

template <class T, int N>
MDLA_INLINE expansion<T, N> zero_expansion() {
  expansion<T, N> r;
  MDLA_UNROLL
  for (int i = 0; i < N; ++i) r.limb[i] = splat<T>(0);
  return r;
}

// The first M limbs, or all of them followed by zeros.
template <int M, class T, int N>
MDLA_INLINE expansion<T, M> resize(const expansion<T, N>& x) {
  expansion<T, M> r;
  MDLA_UNROLL
  for (int i = 0; i < M; ++i) r.limb[i] = i < N ? x.limb[i < N ? i : 0] : splat<T>(0);
  return r;
}

template <int N, class T>
MDLA_INLINE expansion<T, N> from_lane(T a) {
  expansion<T, 1> x;
  x.limb[0] = a;
  return resize<N>(x);
}

// Exact for |n| < 2^63 and N >= 2, rounded to nearest for N = 1.
template <int N>
MDLA_INLINE expansion<double, N> from_integer(i64 n) {
  expansion<double, N> r = from_lane<N>((double)n);
  if constexpr (N >= 2) {
    // (double)n may round up to 2^63, one more than the largest i64: subtract in halves.
    const i64 half = (i64)(r.limb[0] * 0.5);
    r.limb[1] = (double)((n - half) - half - (i64)(r.limb[0] - 2.0 * (double)half));
  }
  return r;
}

template <class T, int N>
MDLA_INLINE expansion<T, N> neg(const expansion<T, N>& x) {
  expansion<T, N> r;
  MDLA_UNROLL
  for (int i = 0; i < N; ++i) r.limb[i] = -x.limb[i];
  return r;
}

template <class T, int N>
MDLA_INLINE expansion<T, N> select(mask_t<T> m, const expansion<T, N>& a,
                                   const expansion<T, N>& b) {
  expansion<T, N> r;
  MDLA_UNROLL
  for (int i = 0; i < N; ++i) r.limb[i] = select(m, a.limb[i], b.limb[i]);
  return r;
}

// |x|: the sign of a normalised expansion is that of its first limb; |-0| = 0.
template <class T, int N>
MDLA_INLINE expansion<T, N> abs(const expansion<T, N>& x) {
  expansion<T, N> r = select(lt(x.limb[0], splat<T>(0)), neg(x), x);
  r.limb[0] = abs(r.limb[0]);
  return r;
}

// Every limb times s, which must be a power of two: exact unless it under- or overflows.
template <class T, int N>
MDLA_INLINE expansion<T, N> scale(const expansion<T, N>& x, T s) {
  expansion<T, N> r;
  MDLA_UNROLL
  for (int i = 0; i < N; ++i) r.limb[i] = mul_rn(x.limb[i], s);
  return r;
}

// The end of every operation: where the leading limb of r is zero or not finite, or `ieee` (the
// same operation on the leading limbs alone) is not finite, the answer is `ieee` with no tail,
// except that a sum which vanishes only together with its tails is +0. The test fails for ordinary
// numbers, so it costs a compare or two and one predicted branch. The networks of up to 4 limbs
// carry a non-finite `ieee` into their leading limb; merging and cutting beyond may lose it.
template <class T, int N>
MDLA_INLINE expansion<T, N> settle_specials(expansion<T, N> r, T ieee) {
  mask_t<T> special = is_special(r.limb[0]);
  if constexpr (N > 4) special = special | is_not_finite(ieee);
  if (__builtin_expect(any(special), 0)) {
    const T zero = splat<T>(0);
    const mask_t<T> vanished = eq(r.limb[0], zero) & !is_special(ieee);
    r = select(special, from_lane<N>(select(vanished, zero, ieee)), r);
  }
  return r;
}

// Biased exponents of float or double lanes as powers of two, without branches.
template <class R>
struct ieee_format;
template <>
struct ieee_format<double> {
  static constexpr int fraction = 52;
  static constexpr u64 exponent = 0x7ffULL << 52;
  static constexpr u64 bias = 1023;
};
template <>
struct ieee_format<float> {
  static constexpr int fraction = 23;
  static constexpr u64 exponent = 0xffULL << 23;
  static constexpr u64 bias = 127;
};

}  // namespace MDLA_LEVEL
}  // namespace mdla
