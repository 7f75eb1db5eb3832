// SPDX-License-Identifier: BSD-3-Clause
// Balanced digits: numbers as sums of signed 52-bit integers, their products, and the way back.
//
// A number |x| < 1/2 is written as
//     x = sum_{i < D} c_i 2^(-52(i+1)) + r,   |c_i| <= 2^51.
// What multiplies is d_i = c_i + 2^51, unsigned, so that no sign is handled. One instruction pair
// gives the low and high halves of 8 products of digits; where it is missing, the same integers
// come from fused multiply-adds or from 128-bit integers.
#pragma once

#include "direct_ops.hpp"
#include "pack.hpp"
#include "renormalize.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

constexpr u64 digit_mask = (1ULL << 52) - 1;

#if defined(__AVX512IFMA__)
MDLA_INLINE int64x8 load_words(const u64* p) { return int64x8(_mm512_loadu_si512(p)); }
MDLA_INLINE void store_words(u64* p, int64x8 d) { _mm512_storeu_si512(p, d.v); }
#elif defined(__AVX2__) && defined(__FMA__)
MDLA_INLINE int64x4 load_words(const u64* p) {
  return int64x4(_mm256_loadu_si256((const __m256i*)p));
}
MDLA_INLINE void store_words(u64* p, int64x4 d) { _mm256_storeu_si256((__m256i*)p, d.v); }
#else
MDLA_INLINE u64 load_words(const u64* p) { return *p; }
MDLA_INLINE void store_words(u64* p, u64 d) { *p = d; }
#endif

// ---- digit products: the level's own part ------------------------------------------------------

#if defined(__AVX512IFMA__)

using digit = u64;
MDLA_INLINE void store_digit(digit* p, int64x8 d) { store_words(p, d); }

// high[r][v] += sum of high halves, low[r][v] = sum of low halves of a_i b_j over i + j = c.
template <int V, int R, bool Low>
MDLA_INLINE void diagonal(u64* high, u64* low, const digit* a, const digit* b, int c, int steps,
                          long long a_digit, long long b_digit) {
  __m512i h[R][V], l[R][V];
  MDLA_UNROLL
  for (int r = 0; r < R; ++r) {
    MDLA_UNROLL
    for (int v = 0; v < V; ++v) {
      h[r][v] = _mm512_loadu_si512(high + (r * V + v) * 8);
      l[r][v] = _mm512_setzero_si512();
    }
  }
  for (int i = 0; i <= c; ++i) {
    const digit* x = a + i * a_digit;
    const digit* y = b + (c - i) * b_digit;
#pragma GCC unroll 4
    for (int k = 0; k < steps; ++k) {
      __m512i w[V];
      MDLA_UNROLL
      for (int v = 0; v < V; ++v) w[v] = _mm512_loadu_si512(y + 8 * v);
      MDLA_UNROLL
      for (int r = 0; r < R; ++r) {
        const __m512i u = _mm512_set1_epi64((i64)x[r]);
        MDLA_UNROLL
        for (int v = 0; v < V; ++v) {
          h[r][v] = _mm512_madd52hi_epu64(h[r][v], u, w[v]);
          if (Low) l[r][v] = _mm512_madd52lo_epu64(l[r][v], u, w[v]);
        }
      }
      x += tile_rows;
      y += 8 * V;
    }
  }
  MDLA_UNROLL
  for (int r = 0; r < R; ++r) {
    MDLA_UNROLL
    for (int v = 0; v < V; ++v) {
      _mm512_storeu_si512(high + (r * V + v) * 8, h[r][v]);
      if (Low) _mm512_storeu_si512(low + (r * V + v) * 8, l[r][v]);
    }
  }
}

#elif defined(__AVX2__) && defined(__FMA__)

// Digits as doubles: 2^104 + a b rounds at 2^52, what is left over is exact (Emmart's form).
using digit = double;
MDLA_INLINE void store_digit(digit* p, int64x4 d) {
  io<doublex4>::store(p, as_real(d | as_int(doublex4(0x1p52))) - doublex4(0x1p52));
}

template <int V, int R, bool Low>
MDLA_INLINE void diagonal(u64* high, u64* low, const digit* a, const digit* b, int c, int steps,
                          long long a_digit, long long b_digit) {
  const doublex4 big(0x1p104), half(0x1.8p52);
  const int64x4 big_bits = as_int(big), half_bits = as_int(half);
  for (int r = 0; r < R; r += 2) {
    for (int v = 0; v < 2 * V; v += 2) {
      int64x4 h[2][2], l[2][2];
      for (int s = 0; s < 4; ++s) {
        h[s / 2][s % 2] = int64x4(0ULL);
        l[s / 2][s % 2] = int64x4(0ULL);
      }
      for (int i = 0; i <= c; ++i) {
        const digit* x = a + i * a_digit + r;
        const digit* y = b + (c - i) * b_digit + 4 * v;
        for (int k = 0; k < steps; ++k) {
          MDLA_UNROLL
          for (int s = 0; s < 4; ++s) {
            const doublex4 p(x[s / 2]), q = io<doublex4>::load(y + 4 * (s % 2));
            const doublex4 top = fma(p, q, big);
            const doublex4 rest = fma(p, q, big - top);
            int64x4& hs = h[s / 2][s % 2];
            int64x4& ls = l[s / 2][s % 2];
            if (Low) {
              hs = hs + (as_int(top) - big_bits);
              ls = ls + (as_int(rest + half) - half_bits);
            } else {  // a negative rest lends one unit: the high half is the floor
              hs = hs + (as_int(top) - big_bits) - (as_int(rest) >> 63);
            }
          }
          x += tile_rows;
          y += 8 * V;
        }
      }
      for (int s = 0; s < 4; ++s) {
        const long long at = (long long)((r + s / 2) * V) * 8 + 4 * (v + s % 2);
        store_words(high + at, load_words(high + at) + h[s / 2][s % 2]);
        if (Low) store_words(low + at, l[s / 2][s % 2]);
      }
    }
  }
}

#else

using digit = u64;
MDLA_INLINE void store_digit(digit* p, u64 d) { *p = d; }

template <int V, int R, bool Low>
MDLA_INLINE void diagonal(u64* high, u64* low, const digit* a, const digit* b, int c, int steps,
                          long long a_digit, long long b_digit) {
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < 8 * V; ++v) {
      u64 h = high[r * 8 * V + v], l = 0;
      for (int i = 0; i <= c; ++i) {
        const digit* x = a + i * a_digit + r;
        const digit* y = b + (c - i) * b_digit + v;
        for (int k = 0; k < steps; ++k) {
          h = madd52hi(h, x[k * tile_rows], y[k * 8 * V]);
          if (Low) l = madd52lo(l, x[k * tile_rows], y[k * 8 * V]);
        }
      }
      high[r * 8 * V + v] = h;
      if (Low) low[r * 8 * V + v] = l;
    }
  }
}

#endif

// sums[t] + add -> digit in [0, 2^52) and a carry into sums[t - 1]. Sums may be negative by less
// than 2^62: the low halves of the FMA form are signed.
MDLA_INLINE void carry_into(u64* sums, const u64* add, int t, int count) {
  using I = int_t<simd<double>>;
  u64* s = sums + (long long)t * count;
  u64* above = s - count;
  const I bias = splat_int<simd<double>>(1ULL << 62), lent = splat_int<simd<double>>(1ULL << 10),
          mask = splat_int<simd<double>>(digit_mask);
  for (int x = 0; x < count; x += width_v<simd<double>>) {
    const I v = load_words(s + x) + load_words(add + x) + bias;
    store_words(s + x, v & mask);
    store_words(above + x, load_words(above + x) + (v >> 52) - lent);
  }
}

// ---- from doubles to digits --------------------------------------------------------------------

// Adding the anchor rounds to the unit of digit j and leaves the digit in the last bits.
MDLA_INLINE double digit_anchor(int j) {
  return as_real((u64)(1023 + scale_origin - 52 * j) << 52 | 1ULL << 51);
}

// Moves the multiples of a digit's unit from x into the digit.
template <class T>
MDLA_INLINE T take_digit(int_t<T>& d, T x, double anchor) {
  const T t = x + splat<T>(anchor);
  d = d + as_int(t) - as_int(splat<T>(anchor));
  return x - (t - splat<T>(anchor));
}

// FixedN and FixedD other than 0 unroll the loops. Mixed: digit D - 1 is not an integer but what
// all others leave, a double; all digits are stored as doubles, and all but the last as integers
// too.
template <int FixedN, int FixedD, bool Mixed>
void cut_of(const cut_job& job) {
  using T = simd<double>;
  using I = int_t<T>;
  constexpr int lanes = width_v<T>;
  const int N = FixedN ? FixedN : job.limbs, D = FixedD ? FixedD : job.digits;
  const int integers = Mixed ? D - 1 : D;
  if (N < 1 || integers < 1) return;
  const I mask = splat_int<T>(digit_mask);
  // Scaled values times this are in units of digit D - 1.
  const T last_unit = splat<T>(as_real((u64)(1023 - scale_origin + 52 * D) << 52));
  for (int v = 0; v < job.width; v += lanes) {
    const T low = io<T>::load(job.low + v), high = io<T>::load(job.high + v);
    I sums[max_digits];
    for (int j = 0; j < integers; ++j) sums[j] = splat_int<T>(0);
    for (long long k = 0; k < job.steps; ++k) {
      const double* p = job.source + k * job.pitch + v;
      I d[max_digits];
      T left[max_limbs];
      MDLA_UNROLL
      for (int j = 0; j < integers; ++j) d[j] = splat_int<T>(0);
      MDLA_UNROLL
      for (int i = 0; i < N; ++i) {
        T x = mul_rn(mul_rn(io<T>::load(p + i * job.limb), low), high);
        MDLA_UNROLL
        for (int j = i; j < integers; ++j) x = take_digit(d[j], x, digit_anchor(j));
        left[i] = x;
      }
      if constexpr (Mixed) {
        // What is left, from the smallest limb up; once more a multiple of the last unit is taken
        // out, so that at most half a unit stays. All this is odd in x.
        T rest = left[N - 1];
        MDLA_UNROLL
        for (int i = N - 2; i >= 0; --i) rest = rest + left[i];
        rest = take_digit(d[D - 2], rest, digit_anchor(D - 2));
        io<T>::store((double*)job.target + 2 * (D - 1) * job.digit_stride + k * job.width + v,
                     mul_rn(rest, last_unit));
      }
      // |d_j| < 2^57: the offset 2^51 and a bias keep everything positive while carries go up.
      I carry = splat_int<T>(0);
      MDLA_UNROLL
      for (int j = integers - 1; j >= 0; --j) {
        const I s = d[j] + carry + splat_int<T>((1ULL << 51) + (1ULL << 62));
        const I kept = s & mask;
        carry = (s >> 52) - splat_int<T>(1ULL << 10);
        const long long at = j * job.digit_stride + k * job.width + v;
        sums[j] = sums[j] + kept;
        store_digit((digit*)job.target + at, kept);
        if constexpr (Mixed)
          io<T>::store((double*)job.target + at + (D - 1) * job.digit_stride,
                       as_real(kept | as_int(splat<T>(0x1p52))) - splat<T>(0x1.8p52));
      }
    }
    for (int j = 0; j < integers; ++j) {
      u64* s = job.sums + (long long)j * job.width + v;
      store_words(s, load_words(s) + sums[j]);
    }
  }
}

inline void cut_panel(const cut_job& job) {
  if (job.mixed) {
    switch (job.limbs) {
      case 2:
        return cut_of<2, 2, true>(job);
      case 3:
        return cut_of<3, 3, true>(job);
      case 4:
        return cut_of<4, 4, true>(job);
      default:
        return cut_of<0, 0, true>(job);
    }
  }
  if (job.digits == job.limbs + 1) {
    switch (job.limbs) {
      case 2:
        return cut_of<2, 3, false>(job);
      case 3:
        return cut_of<3, 4, false>(job);
      case 4:
        return cut_of<4, 5, false>(job);
    }
  }
  cut_of<0, 0, false>(job);
}

// ---- from digits to limbs ----------------------------------------------------------------------

// 2^e as four factors for lanes of exponents e in [-4000, 4000], so that scaling under- or
// overflows only where the result does.
template <class T>
struct power_of_two {
  T quarter, rest;
  explicit MDLA_INLINE power_of_two(T e) {
    const T round = splat<T>(0x1.8p52);
    const T q = (mul_rn(e, splat<T>(0.25)) + round) - round;
    quarter = exponential(q);
    rest = exponential(e - mul_rn(q, splat<T>(3)));
  }
  static MDLA_INLINE T exponential(T e) {
    const T biased = e + splat<T>(0x1p52 + 1023);
    return as_real(as_int(biased) << 52);
  }
  MDLA_INLINE T apply(T x) const {
    return mul_rn(mul_rn(mul_rn(x, quarter), mul_rn(quarter, quarter)), rest);
  }
};

// Results at row r, columns v.. of a tile, of which those below `columns` are wanted.
template <int N, class T>
MDLA_INLINE void store_results(const result_tile& out, int r, int v, int columns,
                               const expansion<T, N>& x) {
  constexpr int lanes = width_v<T>;
  double* to = out.p + r * out.row + v * out.column;
  for (int i = 0; i < N; ++i) {
    if (out.column == 1 && v + lanes <= columns) {
      io<T>::store(to + i * out.limb, x.limb[i]);
    } else {
      alignas(64) double line[lanes];
      io<T>::store(line, x.limb[i]);
      for (int l = 0; l < lanes && v + l < columns; ++l)
        to[i * out.limb + l * out.column] = line[l];
    }
  }
}

// What results of a tile are scaled by: 2^exponent, or `factor` where that is a double well inside
// the range for all results of the product.
template <class T>
struct result_scale {
  bool is_factor;
  T factor, exponent;
};

// Digits of `lanes` results -> N limbs. d[0..D] are balanced digits of weight 2^(-52 t).
template <int N, class T>
MDLA_INLINE expansion<T, N> from_digits(const int_t<T>* d, int D, const result_scale<T>& scale) {
  constexpr int M = N + 2;
  const T zero = splat<T>(0);
  T w[max_digits + 1], shift = zero;
  if (D == N + 1) {
    MDLA_UNROLL
    for (int t = 0; t < M; ++t) {
      const T round = splat<T>(as_real((u64)(1023 + 52 - 52 * t) << 52 | 1ULL << 51));
      w[t] = as_real(d[t] + as_int(round)) - round;
    }
  } else {
    const T round = splat<T>(0x1.8p52);
    for (int t = 0; t <= D; ++t) w[t] = as_real(d[t] + as_int(round)) - round;
    // Leading zero digits of long windows are moved out.
    for (int t = D; t > N + 1; --t) {
      const mask_t<T> leading = eq(w[0], zero);
      for (int s = 0; s < t; ++s) w[s] = select(leading, w[s + 1], w[s]);
      shift = select(leading, shift + splat<T>(52), shift);
    }
    MDLA_UNROLL
    for (int t = 0; t < M; ++t) w[t] = mul_rn(w[t], splat<T>(as_real((u64)(1023 - 52 * t) << 52)));
  }
  triangle<N>(w, M, N + 1);
  expansion<T, N> r = settle<N>(w);
  if (scale.is_factor && D == N + 1) {
    MDLA_UNROLL
    for (int i = 0; i < N; ++i) r.limb[i] = mul_rn(r.limb[i], scale.factor);
  } else {
    const power_of_two<T> power(scale.exponent - shift);
    MDLA_UNROLL
    for (int i = 0; i < N; ++i) r.limb[i] = power.apply(r.limb[i]);
    const mask_t<T> finite = lt(abs(r.limb[0]), splat<T>(__builtin_inf()));
    MDLA_UNROLL
    for (int i = 1; i < N; ++i) r.limb[i] = select(finite, r.limb[i], zero);
  }
  return r;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
