// SPDX-License-Identifier: BSD-3-Clause
// sum c_k z^k in fixed point, for |z| < 1 and a sum near 1: Horner's rule on digits of 50 bits.
//
// In windows of 50 bits (product.hpp) a sum costs next to nothing, and a term needs only the digits
// that its power of z leaves over; an expansion would have to be normalised after every operation.
// Step k takes about m_k^2 integer multiply-adds of 52 bits, m_k its digits. What a step drops is
// below 2 (N + 2) 2^2 units of its last digit, so the absolute error of the sum is below
// 2^(-50 (N + 1) + 8) for the first term, and the others add less than that by the choice of m_k.
#pragma once

#include "product.hpp"
#include "vector_ops.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

template <class T, int N>
MDLA_OUTLINE expansion<T, N> fixed_point_series(const expansion<T, N>& x,
                                                const digit_series& terms) {
  constexpr int D = N + 1;  // digits after the point; digit 0 is the integer part
  constexpr int bits = windows::bits;
  constexpr u64 bias = (u64)1 << 60;
  int_t<T> z[D + 1], sum[D + 1], next[D + 1];
  const T zero = splat<T>(0);
  const mask_t<T> negative = lt(x.limb[0], zero);
  const int_t<T> flip = as_int(select(negative, as_real(splat_int<T>(~(u64)0)), zero));
  const T four = select(negative, splat<T>(-4.0), splat<T>(4.0));
  windows::cut<D>(z + 1, scale(x, four));
  int k = terms.count - 1;
  int have = terms.digits[k];
  for (int t = 0; t <= have; ++t) sum[t] = splat_int<T>(terms.c[k * (D + 1) + t]);
  while (k-- > 0) {
    const int want = terms.digits[k];
    const u64* c = terms.c + k * (D + 1);
    int_t<T> carry = splat_int<T>(0);
    for (int t = want; t >= 0; --t) {
      // sum_i z_j with i + j = t gives its low half here, i + j = t + 1 its high half.
      int_t<T> high = splat_int<T>(0), low = splat_int<T>(0);
      for (int i = t - D < 0 ? 0 : t - D; i <= have && i < t; ++i)
        low = madd52lo(low, sum[i], z[t - i]);
      for (int i = t + 1 - D < 0 ? 0 : t + 1 - D; i <= have && i <= t; ++i)
        high = madd52hi(high, sum[i], z[t + 1 - i]);
      const int_t<T> column = low + (high << 2);
      const int_t<T> v = ((column ^ flip) - flip) + splat_int<T>(c[t]) + carry + splat_int<T>(bias);
      next[t] = t > 0 ? v & splat_int<T>(windows::digit_mask) : v - splat_int<T>(bias);
      carry = (v >> bits) - splat_int<T>(bias >> bits);
    }
    for (int t = 0; t <= want; ++t) sum[t] = next[t];
    have = want;
  }
  T w[D + 1];
  double unit = 1.0;
  for (int t = 0; t <= D; ++t) {
    const T big = splat<T>(0x1p52);
    w[t] = t <= have ? mul_rn(as_real(sum[t] | as_int(big)) - big, splat<T>(unit)) : zero;
    unit *= windows::power_of_two(-bits);
  }
  triangle<N>(w, D + 1, N);
  return settle<N>(w);
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
