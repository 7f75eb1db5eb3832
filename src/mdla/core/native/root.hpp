// SPDX-License-Identifier: BSD-3-Clause
// sqrt(x). Relative error below eps = 2^(-52 N); sqrt(-0) = -0, sqrt of a negative number is nan.
//
// N = 2: one correction of the root of the leading limb (Lefevre, Louvet, Muller, Picot, Rideau,
// ACM TOMS 2023, SQRTDWtoDW): 8 flops, error at most 25/8 u^2 = 0.79 eps.
// N >= 3: Newton's iteration for 1/sqrt(x), z + z (1 - x z^2) / 2, with doubling length, the last
// step applied to the root itself (Karp and Markstein, ACM TOMS 1997): s + (x - s^2) z / 2 with s,
// z of more than half the length; about 3.5 products. The residual x - s^2 carries the error of one
// product relative to x and is halved: error below (mul + add) / 2.
#pragma once

#include "product.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace root {

template <int M, class T, int N>
MDLA_INLINE expansion<T, M> reciprocal_sqrt(const expansion<T, N>& x) {
  if constexpr (M == 1) {
    return {{splat<T>(1) / sqrt(x.limb[0])}};
  } else {
    constexpr int H = (M + 1) / 2;
    const expansion<T, M> z = resize<M>(reciprocal_sqrt<H>(x));
    const expansion<T, M> one = from_lane<M>(splat<T>(1));
    const expansion<T, M> half_z = scale(z, splat<T>(base_t<T>(0.5)));
    const expansion<T, M> r = sub_finite(one, mul_finite(resize<M>(x), mul_finite(z, z)));
    return add_finite(z, mul_finite(r, half_z));
  }
}

}  // namespace root

template <class T, int N>
MDLA_INLINE expansion<T, N> sqrt(const expansion<T, N>& x) {
  const T ieee = sqrt(x.limb[0]);
  if constexpr (N == 1) {
    return {{ieee}};
  } else if constexpr (N == 2) {
    const T rest = fma(-ieee, ieee, x.limb[0]) + x.limb[1];
    const exact<T> r = fast_two_sum(ieee, rest / (ieee + ieee));
    return settle_specials(expansion<T, 2>{{r.value, r.error}}, ieee);
  } else {
    constexpr int H = (N + 2) / 2;  // more than half: both errors multiply
    using R = base_t<T>;
    // down^2 x is in [1, 4): half the binade's exponent, rounded down, both ways.
    const binade<T> b = binade_of(x.limb[0]);
    constexpr int f = ieee_format<R>::fraction;
    constexpr u64 bias = ieee_format<R>::bias;
    const int_t<T> field = (as_int(b.up) >> (f + 1)) + splat_int<T>((bias + 1) / 2);
    const T up = as_real(field << f);
    const T down = as_real((splat_int<T>(2 * bias) - field) << f);
    const expansion<T, N> a = scale(scale(x, down), down);
    const expansion<T, H> z = root::reciprocal_sqrt<H>(a);
    const expansion<T, N> s = resize<N>(mul_finite(resize<H>(a), z));
    const expansion<T, N> r = sub_finite(a, mul_finite(s, s));
    const expansion<T, H> half_z = scale(z, splat<T>(R(0.5)));
    const expansion<T, N> t = add_finite(s, resize<N>(mul_finite(resize<H>(r), half_z)));
    return settle_specials(scale(t, up), ieee);
  }
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
