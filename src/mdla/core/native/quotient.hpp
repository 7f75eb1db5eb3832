// SPDX-License-Identifier: BSD-3-Clause
// x / y. Relative error below eps = 2^(-52 N).
//
//   N   algorithm                                                             flops
//   1   IEEE                                                                      1
//   2   two corrections of the quotient of the leading limbs, one division       37
//   3   long division, 4 quotients of leading limbs                            ~500
//   4+  Newton's reciprocal with doubling precision, last step applied to the
//       quotient itself (Karp and Markstein, ACM TOMS 1997)           ~3.5 products
// Errors. N = 2: the first remainder is exact but for one rounding of x1 - q0 y1, below u^2 |x|
// (u = 2^-53); the rounding of the result and of what q1 leaves come on top. Long division: each
// remainder has the error of mul and sub relative to the one before, so the first decides. Newton:
// the residual x - y q of a q of more than half the length has the error of one product relative to
// x; the errors of q and of the reciprocal multiply.
// From 3 limbs on both operands are scaled by their own powers of two, so that no intermediate
// over- or underflows; 2 limbs do so only where an exponent is extreme.
// Hill climbing over the bits of the limbs reached 0.63, 0.41, 0.62 eps for N = 2, 3, 4.
#pragma once

#include "product.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace division {

template <class T>
MDLA_INLINE expansion<T, 2> two_corrections(const expansion<T, 2>& x, const expansion<T, 2>& y) {
  const T inverse = splat<T>(1) / y.limb[0];
  const T q0 = mul_rn(x.limb[0], inverse);
  const exact<T> p = two_prod(q0, y.limb[0]);
  const exact<T> lead = two_sum(x.limb[0] - p.value, -p.error);
  const exact<T> rest = two_sum(lead.value, fma(-q0, y.limb[1], x.limb[1]));
  const T q1 = mul_rn(rest.value, inverse);
  const T low = fma(-q1, y.limb[1], lead.error + rest.error);
  const T q2 = mul_rn(fma(-q1, y.limb[0], rest.value) + low, inverse);
  exact<T> r = fast_two_sum(q0, q1);
  r = fast_two_sum(r.value, r.error + q2);
  return {{r.value, r.error}};
}

// Three limbs, both operands in [2, 4) in magnitude.
template <class T, int N>
MDLA_INLINE expansion<T, N> long_division(expansion<T, N> x, const expansion<T, N>& y) {
  T q[N + 1];
  MDLA_UNROLL
  for (int k = 0; k < N; ++k) {
    q[k] = x.limb[0] / y.limb[0];
    x = sub_finite(x, mul(y, q[k]));
  }
  q[N] = x.limb[0] / y.limb[0];
  triangle<N>(q, N + 1, N);
  return settle<N>(q);
}

// 1 / y to M limbs by Newton's iteration z + z (1 - y z), each step at twice the length.
template <int M, class T, int N>
MDLA_INLINE expansion<T, M> reciprocal(const expansion<T, N>& y) {
  if constexpr (M == 1) {
    return {{splat<T>(1) / y.limb[0]}};
  } else {
    constexpr int H = (M + 1) / 2;
    const expansion<T, M> z = resize<M>(reciprocal<H>(y));
    const expansion<T, M> one = from_lane<M>(splat<T>(1));
    const expansion<T, M> r = sub_finite(one, mul_finite(resize<M>(y), z));
    return add_finite(z, mul_finite(r, z));
  }
}

template <class T, int N>
MDLA_INLINE expansion<T, N> newton(const expansion<T, N>& x, const expansion<T, N>& y) {
  constexpr int H = (N + 2) / 2;  // more than half: both errors multiply
  const expansion<T, H> z = reciprocal<H>(y);
  const expansion<T, N> q = resize<N>(mul_finite(resize<H>(x), z));
  const expansion<T, N> r = sub_finite(x, mul_finite(y, q));
  return add_finite(q, resize<N>(mul_finite(resize<H>(r), z)));
}

}  // namespace division

namespace division {

template <class T, int N>
MDLA_INLINE expansion<T, N> scaled(const expansion<T, N>& x, const expansion<T, N>& y) {
  const binade<T> bx = binade_of(x.limb[0]), by = binade_of(y.limb[0]);
  const expansion<T, N> a = scale(x, bx.down), b = scale(y, by.down);
  expansion<T, N> r;
  if constexpr (N == 2) {
    r = two_corrections(a, b);
  } else if constexpr (N == 3) {
    r = long_division(a, b);
  } else {
    r = newton(a, b);
  }
  // r is in (1/2, 2); x / y = r * up_x * down_y, the larger power first.
  const mask_t<T> ordered = lt(by.down, bx.up);
  r = scale(r, select(ordered, bx.up, by.down));
  return scale(r, select(ordered, by.down, bx.up));
}

// True where an exponent is so large or small that a quotient or a residual could leave the range.
template <class T>
MDLA_INLINE mask_t<T> is_extreme(T a) {
  using R = base_t<T>;
  const T high = splat<T>(sizeof(R) == 8 ? R(0x1p450) : R(0x1p50f));
  const T low = splat<T>(sizeof(R) == 8 ? R(0x1p-450) : R(0x1p-50f));
  return !(lt(abs(a), high) & lt(low, abs(a)));
}

}  // namespace division

template <class T, int N>
MDLA_INLINE expansion<T, N> div(const expansion<T, N>& x, const expansion<T, N>& y) {
  if constexpr (N == 1) {
    return {{x.limb[0] / y.limb[0]}};
  } else {
    expansion<T, N> r;
    if constexpr (N == 2) {
      r = division::two_corrections(x, y);
      const mask_t<T> extreme = division::is_extreme(x.limb[0]) | division::is_extreme(y.limb[0]);
      if (__builtin_expect(!any(extreme), 1)) return r;
      // Each lane takes its own way: what it gives must not depend on its neighbours.
      r = select(extreme, division::scaled(x, y), r);
    } else {
      r = division::scaled(x, y);
    }
    // Zero and infinite operands have no binade: settled by the leading limbs.
    const T ieee = x.limb[0] / y.limb[0];
    const mask_t<T> special =
        is_special(r.limb[0]) | is_special(y.limb[0]) | is_not_finite(x.limb[0]);
    if (__builtin_expect(any(special), 0)) r = select(special, from_lane<N>(ieee), r);
    return r;
  }
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
