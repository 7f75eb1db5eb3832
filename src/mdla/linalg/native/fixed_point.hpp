// SPDX-License-Identifier: BSD-3-Clause
// Fixed-point numbers side by side: digits of 52 bits, one number in each lane.
//
// A number x in [-1/2, 1/2) is held as x + 1/2 = sum_c d_c 2^(-52 (c + 1)) with digits d_c in
// [0, 2^52), so that no product handles a sign:
//     sum_k (v_k - 1/2)(w_k - 1/2) = sum_k v_k w_k - sum_k v_k / 2 - sum_k w_k / 2 + K / 4.
// All sums are taken modulo 1: what leaves the first digit does not matter as long as the result
// is in range. A product of digits has halves of 52 bits, whose sums are exact in 64-bit words; a
// word is a digit that carries are still to be taken from. Magnitudes are in [0, 1) and have no
// offset.
//
// Word c of W numbers lies at p + c * W.
#pragma once

#include <algorithm>

#include "digits.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {
namespace fixed {

using real = simd<double>;
using word = int_t<real>;
using size = long long;
constexpr int W = width_v<real>;
constexpr u64 half_digit = 1ULL << 51;
constexpr int most_words = max_digits + 4;

MDLA_INLINE word load(const u64* p) { return load_words(p); }
MDLA_INLINE void store(u64* p, word x) { store_words(p, x); }
MDLA_INLINE word constant(u64 x) { return splat_int<real>(x); }
MDLA_INLINE real value(double x) { return splat<real>(x); }
MDLA_INLINE real power(int e) { return value(as_real((u64)(1023 + e) << 52)); }
MDLA_INLINE real load_real(const u64* p) { return as_real(load_words(p)); }
MDLA_INLINE void store_real(u64* p, real x) { store_words(p, as_int(x)); }
MDLA_INLINE word choose(mask_t<real> m, word a, word b) {
  return as_int(select(m, as_real(a), as_real(b)));
}
// Digits as doubles, and doubles in [0, 2^52) rounded to digits.
MDLA_INLINE real to_real(word d) { return as_real(d | constant(1075ULL << 52)) - value(0x1p52); }
MDLA_INLINE word to_digit(real x) { return as_int(x + value(0x1p52)) & constant(digit_mask); }

// W neighbours of each of W rows, turned: x[j] has number j of all rows.
#if defined(__AVX512IFMA__)
MDLA_INLINE void load_turned(real* x, const double* const* rows, size at) {
  __m512d r[8], s[8];
  MDLA_UNROLL
  for (int i = 0; i < 8; ++i) r[i] = _mm512_loadu_pd(rows[i] + at);
  MDLA_UNROLL
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
    s[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
  }
  MDLA_UNROLL
  for (int i = 0; i < 2; ++i) {
    r[i] = _mm512_shuffle_f64x2(s[i], s[i + 2], 0x88);
    r[i + 2] = _mm512_shuffle_f64x2(s[i], s[i + 2], 0xdd);
    r[i + 4] = _mm512_shuffle_f64x2(s[i + 4], s[i + 6], 0x88);
    r[i + 6] = _mm512_shuffle_f64x2(s[i + 4], s[i + 6], 0xdd);
  }
  MDLA_UNROLL
  for (int i = 0; i < 4; ++i) {
    x[i] = real(_mm512_shuffle_f64x2(r[i], r[i + 4], 0x88));
    x[i + 4] = real(_mm512_shuffle_f64x2(r[i], r[i + 4], 0xdd));
  }
}
#elif defined(__AVX2__) && defined(__FMA__)
MDLA_INLINE void load_turned(real* x, const double* const* rows, size at) {
  const __m256d a = _mm256_loadu_pd(rows[0] + at), b = _mm256_loadu_pd(rows[1] + at),
                c = _mm256_loadu_pd(rows[2] + at), d = _mm256_loadu_pd(rows[3] + at);
  const __m256d ab = _mm256_unpacklo_pd(a, b), ba = _mm256_unpackhi_pd(a, b),
                cd = _mm256_unpacklo_pd(c, d), dc = _mm256_unpackhi_pd(c, d);
  x[0] = real(_mm256_permute2f128_pd(ab, cd, 0x20));
  x[1] = real(_mm256_permute2f128_pd(ba, dc, 0x20));
  x[2] = real(_mm256_permute2f128_pd(ab, cd, 0x31));
  x[3] = real(_mm256_permute2f128_pd(ba, dc, 0x31));
}
#else
MDLA_INLINE void load_turned(real* x, const double* const* rows, size at) { x[0] = rows[0][at]; }
#endif

// Word `at`[lane] of each lane.
MDLA_INLINE real load_each(const u64* p, const i64* at) {
#if defined(__AVX512IFMA__)
  return real(_mm512_i64gather_pd(_mm512_load_si512(at), p, 8));
#else
  alignas(64) double x[W];
  for (int l = 0; l < W; ++l) x[l] = as_real(p[at[l]]);
  return io<real>::load(x);
#endif
}

// Signed words t[0..D) -> digits, modulo 1, rounded to a multiple of 2^noise.
MDLA_INLINE void carry(u64* to, const u64* t, int D, int noise) {
  constexpr u64 bias = 1ULL << 63;
  word up = constant(bias + (1ULL << noise >> 1));
  word keep = constant(digit_mask & ~((1ULL << noise) - 1));
  for (int c = D - 1; c >= 0; --c) {
    const word x = load(t + c * W) + up;
    store(to + c * W, x & keep);
    up = (x >> 52) + constant(bias - (bias >> 52));
    keep = constant(digit_mask);
  }
}

// w[0..D) <<= digits, a number of digits for each lane; zeros follow.
inline void shift_digits(u64* w, int D, real digits) {
  for (int step = 16; step > 0; step /= 2) {
    const mask_t<real> some = !lt(digits, value(step));
    if (!any(some)) continue;
    digits = select(some, digits - value(step), digits);
    for (int c = 0; c < D; ++c) {
      const word from = c + step < D ? load(w + (c + step) * W) : constant(0);
      store(w + c * W, choose(some, from, load(w + c * W)));
    }
  }
}

// w[0..D) times the digits `power` = 2^r, r < 52; what leaves the first digit is lost.
inline void shift_bits(u64* w, int D, word power) {
  for (int c = 0; c < D; ++c) {
    const word low = madd52lo(constant(0), load(w + c * W), power);
    store(w + c * W, c + 1 < D ? madd52hi(low, load(w + (c + 1) * W), power) : low);
  }
}

// The double nearest to a number: digits from the first on, where cancellation is exact.
MDLA_INLINE real leading(const u64* d, int D, double offset) {
  real x = to_real(load(d)) - value(offset);
  double unit = 1;
  for (int c = 1; c < D; ++c) {
    unit *= 0x1p-52;
    x = x + mul_rn(to_real(load(d + c * W)), value(unit));
  }
  return mul_rn(x, value(0x1p-52));
}

}  // namespace fixed
}  // namespace MDLA_LEVEL
}  // namespace mdla
