// SPDX-License-Identifier: BSD-3-Clause
// From multiple doubles to integers in words of 32 bits.
//
// An entry x of a lane with |x| <= 2^E stands for the integer X = round(x 2^(bits - E)): every limb
// is split into multiples of 2^(52 j), what is left below the unit is added up and rounded once
// more, so |X - x 2^(bits - E)| <= 1/2 + 2^-50 for normalised limbs. Stored is X + 2^(32 W - 1),
// which is not negative, as W words.
//
// Cost for 8 entries: 4 operations for each of the N to N (D + 1) / 2 pairs of a limb and a digit
// that it can reach, 5 for each digit, 5 for each word.
#pragma once

#include "int8_unit.hpp"
#include "twofold.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

constexpr int most_cut_digits = 40;
constexpr u64 digit_mask_52 = (1ULL << 52) - 1;

// Adding the anchor rounds to the unit of digit j and leaves the digit in the last bits.
MDLA_INLINE double cut_anchor(int j) {
  return as_real((u64)(1023 + cut_origin - 52 * j) << 52 | 1ULL << 51);
}

template <class T>
MDLA_INLINE T move_multiples(int_t<T>& d, T x, double anchor) {
  const T t = x + splat<T>(anchor);
  d = d + as_int(t) - as_int(splat<T>(anchor));
  return x - (t - splat<T>(anchor));
}

// The vector of the level as 64-bit words in memory.
template <class I>
MDLA_INLINE void store_u64(u64* p, I d) {
  std::memcpy(p, &d, sizeof d);
}
template <class I>
MDLA_INLINE void store_u64(u64* p, twofold<I> d) {
  store_u64(p, d.a);
  store_u64(p + sizeof(I) / sizeof(u64), d.b);
}

// 16 entries: limb i of entry l at source[i limb + l]; words[64 w + l] for w < W.
template <int FixedN, int FixedD>
MDLA_INLINE void cut_16(unsigned* words, const double* source, long long limb, const double* low,
                        const double* high, const convert_job& job) {
  using T = twofold<simd<double>>;
  using I = int_t<T>;
  constexpr int lanes = width_v<T>;
  const int N = FixedN ? FixedN : job.limbs, D = FixedD ? FixedD : job.digits, W = job.words;
  alignas(64) u64 fields[most_cut_digits + 2][16];
  for (int v = 0; v < 16; v += lanes) {
    const T lo = io<T>::load(low + v), hi = io<T>::load(high + v);
    I d[FixedD ? FixedD : most_cut_digits];
    T rest = splat<T>(0);
    MDLA_UNROLL
    for (int j = 0; j < D; ++j) d[j] = splat_int<T>(0);
    // From the last limb up, so that what is left is summed from the smallest.
    MDLA_UNROLL
    for (int i = N - 1; i >= 0; --i) {
      T x = mul_rn(mul_rn(io<T>::load(source + i * limb + v), lo), hi);
      // Limb i lies below digit i - 1: |x| <= 2^(bits - 53 i), bits <= 52 D - 2.
      if (FixedN) {
        MDLA_UNROLL
        for (int j = i; j < D; ++j) x = move_multiples<T>(d[j], x, cut_anchor(j));
      } else {
        for (int j = i; j < D && any(!eq(x, splat<T>(0))); ++j)
          x = move_multiples<T>(d[j], x, cut_anchor(j));
      }
      rest = rest + x;
    }
    move_multiples<T>(d[D - 1], rest, cut_anchor(D - 1));
    // The offset 2^(32 W - 1), a bias that keeps sums positive, and carries.
    const int top = (32 * W - 1) / 52, shift = (32 * W - 1) % 52;
    I carry = splat_int<T>(0);
    MDLA_UNROLL
    for (int j = D - 1; j >= 0; --j) {
      const int f = D - 1 - j;
      const u64 offset = (1ULL << 62) + (f == top ? 1ULL << shift : 0);
      const I s = d[j] + carry + splat_int<T>(offset);
      store_u64(&fields[f][v], s & splat_int<T>(digit_mask_52));
      carry = (s >> 52) - splat_int<T>(1ULL << 10);
    }
    // Words may reach beyond the digits: sign extension.
    for (int f = D; 52 * f < 32 * W; ++f) {
      const I s = carry + splat_int<T>((1ULL << 62) + (f == top ? 1ULL << shift : 0));
      store_u64(&fields[f][v], s & splat_int<T>(digit_mask_52));
      carry = (s >> 52) - splat_int<T>(1ULL << 10);
    }
    const int end = D > (32 * W + 51) / 52 ? D : (32 * W + 51) / 52;
    store_u64(&fields[end][v], splat_int<T>(0));
  }
  for (int w = 0; w < W; w += 2) {  // 64 bits from bit 32 w on
    const int f = 32 * w / 52, s = 32 * w % 52;
#if MDLA_WIDE
    __m512i x[2];
    for (int h = 0; h < 2; ++h) {
      const __m512i a = _mm512_load_si512(&fields[f][8 * h]);
      const __m512i b = _mm512_load_si512(&fields[f + 1][8 * h]);
      x[h] = _mm512_or_si512(_mm512_srl_epi64(a, _mm_cvtsi32_si128(s)),
                             _mm512_sll_epi64(b, _mm_cvtsi32_si128(52 - s)));
      if (s > 40) {
        const __m512i c = _mm512_load_si512(&fields[f + 2][8 * h]);
        x[h] = _mm512_or_si512(x[h], _mm512_sll_epi64(c, _mm_cvtsi32_si128(104 - s)));
      }
    }
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
    _mm512_store_si512(words + 64 * w, _mm512_permutex2var_epi32(x[0], even, x[1]));
    if (w + 1 < W)
      _mm512_store_si512(words + 64 * (w + 1), _mm512_permutex2var_epi32(x[0], odd, x[1]));
#else
    for (int l = 0; l < 16; ++l) {
      u64 x = fields[f][l] >> s | fields[f + 1][l] << (52 - s);
      if (s > 40) x |= fields[f + 2][l] << (104 - s);
      words[64 * w + l] = (unsigned)x;
      if (w + 1 < W) words[64 * (w + 1) + l] = (unsigned)(x >> 32);
    }
#endif
  }
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
