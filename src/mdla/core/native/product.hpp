// SPDX-License-Identifier: BSD-3-Clause
// x * y. Relative error below eps = 2^(-52 N), commutative bit for bit.
//
//   N  algorithm                                              flops  error / eps
//   1  IEEE                                                       1  2^-1
//   2  accurate product: all four partial products               25  2^-1
//   3  accurate product: all terms above the third limb exact     91  2^-1
//   4  Zhang and Aiken, SC'25, with the lowest products          147  2^-0.4
//  5+  integer windows of 50 bits, D = N + 1, D^2 integer
//      multiply-adds of 52 bits (8: about 800 instructions,
//      16: about 2500)                                               2^-2.4 seen
// Zhang and Aiken's 9-flop product of N = 2 exceeds 2^-104 by a quarter for some arguments (the
// tests hold one), so the 25-flop form is used. The windows' error is that of the dropped columns,
// 8 D 2^(-50 D), plus the rounding to N limbs.
#pragma once

#include "sum.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace product_network {

template <class T>
MDLA_INLINE expansion<T, 1> mul(const expansion<T, 1>& x, const expansion<T, 1>& y) {
  return {{mul_rn(x.limb[0], y.limb[0])}};
}

template <class T>
MDLA_INLINE expansion<T, 2> mul(const expansion<T, 2>& x, const expansion<T, 2>& y) {
  auto [p, e] = two_prod(x.limb[0], y.limb[0]);
  auto [u, v] = two_sum(mul_rn(x.limb[0], y.limb[1]), mul_rn(x.limb[1], y.limb[0]));
  v = fma(x.limb[1], y.limb[1], v);
  sum_in_place(e, u);
  u = u + v;
  fast_sum_in_place(p, e);
  e = e + u;
  fast_sum_in_place(p, e);
  return {{p, e}};
}

// pIJ is the rounded product of limbs I and J, eIJ its error. The terms of order u^2 (u = 2^-53)
// are added exactly, their errors in `low`: what is left is one rounding of their sum, at most
// 4 u^3 as that is below 8 u^2. Zhang and Aiken's 46 flops add them plainly and reach 1.19 eps.
template <class T>
MDLA_INLINE expansion<T, 3> mul(const expansion<T, 3>& x, const expansion<T, 3>& y) {
  const T *a = x.limb, *b = y.limb;
  auto [p00, e00] = two_prod(a[0], b[0]);
  auto [p01, e01] = two_prod(a[0], b[1]);
  auto [p10, e10] = two_prod(a[1], b[0]);
  auto [p02, e02] = two_prod(a[0], b[2]);
  auto [p20, e20] = two_prod(a[2], b[0]);
  auto [p11, e11] = two_prod(a[1], b[1]);
  T low = (mul_rn(a[1], b[2]) + mul_rn(a[2], b[1])) + ((e02 + e20) + e11);
  sum_in_place(p01, p10);
  sum_in_place(e01, e10);
  sum_in_place(p02, p20);
  low = low + (e10 + p20);
  sum_in_place(e00, p01);
  fast_sum_in_place(p00, e00);
  sum_in_place(p02, p11);
  sum_in_place(e01, p02);
  sum_in_place(p01, p10);
  sum_in_place(p01, e01);
  low = low + ((p11 + p02) + (p10 + e01));
  p01 = p01 + low;
  sum_in_place(e00, p01);
  fast_sum_in_place(p00, e00);
  fast_sum_in_place(e00, p01);
  fast_sum_in_place(p00, e00);
  return {{p00, e00, p01}};
}

// Zhang and Aiken's network with the products of order u^4 added in `low`, and with the errors of
// the last three sums of order u^3 kept: without these 24 flops the error reaches 1.06 eps.
template <class T>
MDLA_INLINE expansion<T, 4> mul(const expansion<T, 4>& x, const expansion<T, 4>& y) {
  const T *a = x.limb, *b = y.limb;
  auto [p00, e00] = two_prod(a[0], b[0]);
  auto [p01, e01] = two_prod(a[0], b[1]);
  auto [p10, e10] = two_prod(a[1], b[0]);
  auto [p02, e02] = two_prod(a[0], b[2]);
  auto [p11, e11] = two_prod(a[1], b[1]);
  auto [p20, e20] = two_prod(a[2], b[0]);
  T p03 = mul_rn(a[0], b[3]) + mul_rn(a[3], b[0]);
  const T p12 = mul_rn(a[1], b[2]) + mul_rn(a[2], b[1]);
  const T low = fma(a[2], b[2], mul_rn(a[1], b[3]) + mul_rn(a[3], b[1]));
  sum_in_place(p01, p10);
  sum_in_place(e01, e10);
  sum_in_place(p02, p20);
  e02 = e02 + e20;
  sum_in_place(e00, p01);
  sum_in_place(e01, p11);
  e10 = e10 + e02;
  p20 = p20 + e11;
  p03 = p03 + p12;
  fast_sum_in_place(p00, e00);
  fast_sum_in_place(p01, p10);
  sum_in_place(e01, p02);
  e10 = e10 + p03;
  p11 = p11 + p20;
  sum_in_place(p01, e01);
  p10 = p10 + p11;
  sum_in_place(e10, p02);
  sum_in_place(p10, e01);
  sum_in_place(p01, p10);
  sum_in_place(e00, p01);
  sum_in_place(p10, e10);
  p10 = p10 + ((e10 + low) + (p02 + e01));
  fast_sum_in_place(p00, e00);
  sum_in_place(p01, p10);
  sum_in_place(e00, p01);
  fast_sum_in_place(p00, e00);
  fast_sum_in_place(p01, p10);
  fast_sum_in_place(e00, p01);
  fast_sum_in_place(p00, e00);
  fast_sum_in_place(p01, p10);
  fast_sum_in_place(e00, p01);
  fast_sum_in_place(p01, p10);
  return {{p00, e00, p01, p10}};
}

}  // namespace product_network

// A number's own power of two: down * x lies in [2, 4), up1 * up2 * (down * x) = x. Zero and
// subnormal leading limbs count as exponent -1022, so nothing here makes a nan of a finite number.
template <class T>
struct binade {
  T down, up;
};

template <class T>
MDLA_INLINE binade<T> binade_of(T leading) {
  using R = base_t<T>;
  constexpr int f = ieee_format<R>::fraction;
  constexpr u64 bias = ieee_format<R>::bias;
  // exponent field e in [0, 2 bias]; down = 2^(bias + 1 - e), up = 2^(e - bias - 1), halved where
  // the power itself is not a normal number: e = 0 is treated as e = 2.
  const int_t<T> field = as_int(leading) & splat_int<T>(ieee_format<R>::exponent);
  T up = as_real(field - splat_int<T>((u64)1 << f));  // 2^(e - 1 - bias), wrong only for e <= 1
  const mask_t<T> tiny = lt(abs(leading), splat<T>(as_real(splat_int<R>((u64)2 << f))));
  up = select(tiny, splat<T>(as_real(splat_int<R>((u64)1 << f))), up);
  const T down = as_real(splat_int<T>((2 * bias) << f) - as_int(up));
  return {down, up};
}

namespace windows {

constexpr int bits = 50;
constexpr u64 digit_mask = ((u64)1 << bits) - 1;

MDLA_CONSTEXPR double power_of_two(int e) {
  double p = 1.0;
  for (; e > 0; --e) p *= 2.0;
  for (; e < 0; ++e) p *= 0.5;
  return p;
}

// |x| with x in [2, 4) in magnitude, cut into D digits of 50 bits: x = sum digit[k] 2^(2 - 50
// (k+1)). Adding 1.5 * 2^52 units of a window rounds a limb to that window; limb i reaches windows
// i and up.
template <int D, class T, int N>
MDLA_INLINE void cut(int_t<T>* digit, const expansion<T, N>& x) {
  T rest[N];
  MDLA_UNROLL
  for (int i = 0; i < N; ++i) rest[i] = x.limb[i];
  double unit = power_of_two(2 - bits);
  const auto one_window = [&](int k) {
    const T big = splat<T>(0x1.8p52 * unit);
    const int_t<T> base = as_int(big);
    int_t<T> sum = splat_int<T>(0);
    MDLA_UNROLL
    for (int i = 0; i < N; ++i) {
      if (i > k) break;
      const T shifted = rest[i] + big;
      rest[i] = rest[i] - (shifted - big);
      sum = sum + (as_int(shifted) - base);
    }
    digit[k] = sum;
    unit *= power_of_two(-bits);
  };
  if constexpr (in_registers<N>) {
    MDLA_UNROLL
    for (int k = 0; k < D; ++k) one_window(k);
  } else {
    for (int k = 0; k < D; ++k) one_window(k);
  }
  // Carry upwards; the bias makes the signed shift a logical one.
  constexpr u64 bias = (u64)1 << 60;
  int_t<T> carry = splat_int<T>(0);
  MDLA_UNROLL
  for (int k = D - 1; k > 0; --k) {
    const int_t<T> v = digit[k] + carry + splat_int<T>(bias);
    digit[k] = v & splat_int<T>(digit_mask);
    carry = (v >> bits) - splat_int<T>(bias >> bits);
  }
  digit[0] = digit[0] + carry;
}

template <class T, int N>
MDLA_OUTLINE expansion<T, N> mul(const expansion<T, N>& x, const expansion<T, N>& y) {
  constexpr int D = N + 1;
  const binade<T> bx = binade_of(x.limb[0]), by = binade_of(y.limb[0]);
  const T zero = splat<T>(0);
  const T one = splat<T>(1);
  const T sign_x = select(lt(x.limb[0], zero), -one, one);
  const T sign_y = select(lt(y.limb[0], zero), -one, one);
  int_t<T> a[D], b[D], column[D];
  cut<D>(a, scale(x, mul_rn(bx.down, sign_x)));
  cut<D>(b, scale(y, mul_rn(by.down, sign_y)));
  // Column k collects 4 high(a_i b_j), i + j = k, and low(a_i b_j), i + j = k - 1.
  const auto one_column = [&](int k) {
    int_t<T> high = splat_int<T>(0), low = splat_int<T>(0);
    MDLA_UNROLL
    for (int i = 0; i < D; ++i) {
      if (i > k) break;
      high = madd52hi(high, a[i], b[k - i]);
      if (i < k) low = madd52lo(low, a[i], b[k - 1 - i]);
    }
    column[k] = (high << 2) + low;
  };
  if constexpr (in_registers<N>) {
    MDLA_UNROLL
    for (int k = 0; k < D; ++k) one_column(k);
  } else {
    for (int k = 0; k < D; ++k) one_column(k);
  }
  int_t<T> carry = splat_int<T>(0);
  T w[D];
  // A digit below 2^52 becomes a double by its bits; the sum is the product over 16, below 1.
  double unit = power_of_two(-bits * D);
  MDLA_UNROLL
  for (int k = D - 1; k >= 0; --k) {
    const int_t<T> v = column[k] + carry;
    const int_t<T> digit = k > 0 ? v & splat_int<T>(digit_mask) : v;
    carry = v >> bits;
    const T big = splat<T>(0x1p52);
    w[k] = mul_rn(as_real(digit | as_int(big)) - big, splat<T>(unit));
    unit *= power_of_two(bits);
  }
  triangle<N>(w, D, N);
  expansion<T, N> r = settle<N>(w);
  // The larger power first: then no limb is lost on the way to a product of moderate size.
  const mask_t<T> ordered = lt(by.up, bx.up);
  const T large = select(ordered, bx.up, by.up), small = select(ordered, by.up, bx.up);
  r = scale(r, mul_rn(large, mul_rn(sign_x, sign_y)));
  r = scale(r, mul_rn(small, splat<T>(16.0)));
  MDLA_UNROLL
  for (int i = 1; i < N; ++i) r.limb[i] = r.limb[i] + zero;
  return r;
}

}  // namespace windows

// Without the treatment of zeros and non-finite numbers, for use inside other operations.
template <class T, int N>
MDLA_INLINE expansion<T, N> mul_finite(const expansion<T, N>& x, const expansion<T, N>& y) {
  if constexpr (N <= 4) {
    return product_network::mul(x, y);
  } else {
    return windows::mul(x, y);
  }
}

template <class T, int N>
MDLA_INLINE expansion<T, N> mul(const expansion<T, N>& x, const expansion<T, N>& y) {
  return settle_specials(mul_finite(x, y), mul_rn(x.limb[0], y.limb[0]));
}

// x * b for a single lane b, with the error of the full product.
template <class T, int N>
MDLA_INLINE expansion<T, N> mul(const expansion<T, N>& x, T b) {
  if constexpr (N == 1) {
    return {{mul_rn(x.limb[0], b)}};
  } else if constexpr (N == 2) {
    // Joldes, Muller, Popescu, ACM TOMS 2017, algorithm 9: 6 flops, error at most eps / 2.
    auto [p, e] = two_prod(x.limb[0], b);
    e = fma(x.limb[1], b, e);
    fast_sum_in_place(p, e);
    return settle_specials(expansion<T, 2>{{p, e}}, mul_rn(x.limb[0], b));
  } else {
    return mul(x, from_lane<N>(b));
  }
}

// The exact product of two lanes.
template <int N, class T>
MDLA_INLINE expansion<T, N> mul_lanes(T a, T b) {
  const exact<T> p = two_prod(a, b);
  return settle_specials(resize<N>(expansion<T, 2>{{p.value, p.error}}), p.value);
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
