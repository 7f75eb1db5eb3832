// SPDX-License-Identifier: BSD-3-Clause
// SIMD packs: lanes.hpp's vocabulary for several numbers at once.
//
// simd<R> names the widest pack of the instruction set that this file is compiled for; without
// AVX2 it is the scalar R itself. Packs are written with intrinsics because compilers were measured
// to vectorise multiple-double code ten times slower than explicit vectors.
#pragma once

#include "lane.hpp"

#if !MDLA_DEVICE && defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace mdla {
inline namespace MDLA_LEVEL {

template <class R>
struct simd_of {
  using type = R;
};

template <class T>
struct io {  // unit-stride loads and stores
  static MDLA_INLINE T load(const T* p) { return *p; }
  static MDLA_INLINE void store(T* p, T a) { *p = a; }
};

#if !MDLA_DEVICE && defined(__AVX2__) && defined(__FMA__)

// Vec is a native register, Mask and Int its companions; P supplies the operations.
#define MDLA_PACK_OPERATORS(P)                               \
  MDLA_INLINE P operator+(P a, P b) { return P(a.v + b.v); } \
  MDLA_INLINE P operator-(P a, P b) { return P(a.v - b.v); } \
  MDLA_INLINE P operator/(P a, P b) { return P(a.v / b.v); } \
  MDLA_INLINE P operator-(P a) { return P(-a.v); }           \
  MDLA_INLINE P mul_rn(P a, P b) { return P(a.v * b.v); }

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512IFMA__)

template <class R>
struct mask512 {
  using bits = typename lane_traits<R>::integer;
  u32 m;
  explicit MDLA_INLINE mask512(u32 x) : m(x) {}
};
template <class R>
MDLA_INLINE mask512<R> operator|(mask512<R> a, mask512<R> b) {
  return mask512<R>(a.m | b.m);
}
template <class R>
MDLA_INLINE mask512<R> operator&(mask512<R> a, mask512<R> b) {
  return mask512<R>(a.m & b.m);
}
template <class R>
MDLA_INLINE mask512<R> operator!(mask512<R> a) {
  return mask512<R>(~a.m & (sizeof(R) == 8 ? 0xffu : 0xffffu));
}
template <class R>
MDLA_INLINE bool any(mask512<R> a) {
  return a.m != 0;
}

struct int64x8 {
  __m512i v;
  MDLA_INLINE int64x8() {}
  explicit MDLA_INLINE int64x8(__m512i x) : v(x) {}
  explicit MDLA_INLINE int64x8(u64 x) : v(_mm512_set1_epi64((i64)x)) {}
};
MDLA_INLINE int64x8 operator+(int64x8 a, int64x8 b) { return int64x8(_mm512_add_epi64(a.v, b.v)); }
MDLA_INLINE int64x8 operator-(int64x8 a, int64x8 b) { return int64x8(_mm512_sub_epi64(a.v, b.v)); }
MDLA_INLINE int64x8 operator&(int64x8 a, int64x8 b) { return int64x8(_mm512_and_si512(a.v, b.v)); }
MDLA_INLINE int64x8 operator|(int64x8 a, int64x8 b) { return int64x8(_mm512_or_si512(a.v, b.v)); }
MDLA_INLINE int64x8 operator^(int64x8 a, int64x8 b) { return int64x8(_mm512_xor_si512(a.v, b.v)); }
MDLA_INLINE int64x8 operator<<(int64x8 a, int n) {
  return int64x8(_mm512_slli_epi64(a.v, (unsigned)n));
}
MDLA_INLINE int64x8 operator>>(int64x8 a, int n) {
  return int64x8(_mm512_srli_epi64(a.v, (unsigned)n));
}
MDLA_INLINE int64x8 madd52lo(int64x8 c, int64x8 a, int64x8 b) {
  return int64x8(_mm512_madd52lo_epu64(c.v, a.v, b.v));
}
MDLA_INLINE int64x8 madd52hi(int64x8 c, int64x8 a, int64x8 b) {
  return int64x8(_mm512_madd52hi_epu64(c.v, a.v, b.v));
}

struct doublex8 {
  __m512d v;
  MDLA_INLINE doublex8() {}
  explicit MDLA_INLINE doublex8(__m512d x) : v(x) {}
  explicit MDLA_INLINE doublex8(double x) : v(_mm512_set1_pd(x)) {}
};
MDLA_PACK_OPERATORS(doublex8)
MDLA_INLINE doublex8 fma(doublex8 a, doublex8 b, doublex8 c) {
  return doublex8(_mm512_fmadd_pd(a.v, b.v, c.v));
}
MDLA_INLINE doublex8 sqrt(doublex8 a) { return doublex8(_mm512_sqrt_pd(a.v)); }
MDLA_INLINE doublex8 abs(doublex8 a) { return doublex8(_mm512_abs_pd(a.v)); }
MDLA_INLINE mask512<double> lt(doublex8 a, doublex8 b) {
  return mask512<double>(_mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ));
}
MDLA_INLINE mask512<double> eq(doublex8 a, doublex8 b) {
  return mask512<double>(_mm512_cmp_pd_mask(a.v, b.v, _CMP_EQ_OQ));
}
MDLA_INLINE doublex8 select(mask512<double> m, doublex8 a, doublex8 b) {
  return doublex8(_mm512_mask_blend_pd((__mmask8)m.m, b.v, a.v));
}
MDLA_INLINE doublex8 max_abs(doublex8 a, doublex8 b) {
  return doublex8(_mm512_range_pd(a.v, b.v, 0b0111));
}
MDLA_INLINE doublex8 min_abs(doublex8 a, doublex8 b) {
  return doublex8(_mm512_range_pd(a.v, b.v, 0b0110));
}
MDLA_INLINE mask512<double> is_not_finite(doublex8 a) {
  return mask512<double>(_mm512_fpclass_pd_mask(a.v, 0x01 | 0x08 | 0x10 | 0x80));
}
MDLA_INLINE mask512<double> is_special(doublex8 a) {
  return mask512<double>(_mm512_fpclass_pd_mask(a.v, 0x01 | 0x02 | 0x04 | 0x08 | 0x10 | 0x80));
}
MDLA_INLINE int64x8 as_int(doublex8 a) { return int64x8(_mm512_castpd_si512(a.v)); }
MDLA_INLINE doublex8 as_real(int64x8 a) { return doublex8(_mm512_castsi512_pd(a.v)); }

struct floatx16 {
  __m512 v;
  MDLA_INLINE floatx16() {}
  explicit MDLA_INLINE floatx16(__m512 x) : v(x) {}
  explicit MDLA_INLINE floatx16(float x) : v(_mm512_set1_ps(x)) {}
};
MDLA_PACK_OPERATORS(floatx16)
MDLA_INLINE floatx16 fma(floatx16 a, floatx16 b, floatx16 c) {
  return floatx16(_mm512_fmadd_ps(a.v, b.v, c.v));
}
MDLA_INLINE floatx16 sqrt(floatx16 a) { return floatx16(_mm512_sqrt_ps(a.v)); }
MDLA_INLINE floatx16 abs(floatx16 a) { return floatx16(_mm512_abs_ps(a.v)); }
MDLA_INLINE mask512<float> lt(floatx16 a, floatx16 b) {
  return mask512<float>(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ));
}
MDLA_INLINE mask512<float> eq(floatx16 a, floatx16 b) {
  return mask512<float>(_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ));
}
MDLA_INLINE floatx16 select(mask512<float> m, floatx16 a, floatx16 b) {
  return floatx16(_mm512_mask_blend_ps((__mmask16)m.m, b.v, a.v));
}

struct int32x16 {
  __m512i v;
  MDLA_INLINE int32x16() {}
  explicit MDLA_INLINE int32x16(__m512i x) : v(x) {}
  explicit MDLA_INLINE int32x16(u64 x) : v(_mm512_set1_epi32((i32)x)) {}
};
MDLA_INLINE int32x16 operator+(int32x16 a, int32x16 b) {
  return int32x16(_mm512_add_epi32(a.v, b.v));
}
MDLA_INLINE int32x16 operator-(int32x16 a, int32x16 b) {
  return int32x16(_mm512_sub_epi32(a.v, b.v));
}
MDLA_INLINE int32x16 operator&(int32x16 a, int32x16 b) {
  return int32x16(_mm512_and_si512(a.v, b.v));
}
MDLA_INLINE int32x16 operator|(int32x16 a, int32x16 b) {
  return int32x16(_mm512_or_si512(a.v, b.v));
}
MDLA_INLINE int32x16 operator^(int32x16 a, int32x16 b) {
  return int32x16(_mm512_xor_si512(a.v, b.v));
}
MDLA_INLINE int32x16 operator<<(int32x16 a, int n) {
  return int32x16(_mm512_slli_epi32(a.v, (unsigned)n));
}
MDLA_INLINE int32x16 operator>>(int32x16 a, int n) {
  return int32x16(_mm512_srli_epi32(a.v, (unsigned)n));
}
MDLA_INLINE int32x16 as_int(floatx16 a) { return int32x16(_mm512_castps_si512(a.v)); }
MDLA_INLINE floatx16 as_real(int32x16 a) { return floatx16(_mm512_castsi512_ps(a.v)); }

template <>
struct lane_traits<doublex8> {
  using base = double;
  using mask = mask512<double>;
  using integer = int64x8;
  static constexpr int width = 8;
};
template <>
struct lane_traits<floatx16> {
  using base = float;
  using mask = mask512<float>;
  using integer = int32x16;
  static constexpr int width = 16;
};
template <>
struct simd_of<double> {
  using type = doublex8;
};
template <>
struct simd_of<float> {
  using type = floatx16;
};
template <>
struct io<doublex8> {
  static MDLA_INLINE doublex8 load(const double* p) { return doublex8(_mm512_loadu_pd(p)); }
  static MDLA_INLINE void store(double* p, doublex8 a) { _mm512_storeu_pd(p, a.v); }
};
template <>
struct io<floatx16> {
  static MDLA_INLINE floatx16 load(const float* p) { return floatx16(_mm512_loadu_ps(p)); }
  static MDLA_INLINE void store(float* p, floatx16 a) { _mm512_storeu_ps(p, a.v); }
};

#else  // AVX2 and FMA

template <class R>
struct mask256 {
  __m256i m;
  explicit MDLA_INLINE mask256(__m256i x) : m(x) {}
};
template <class R>
MDLA_INLINE mask256<R> operator|(mask256<R> a, mask256<R> b) {
  return mask256<R>(_mm256_or_si256(a.m, b.m));
}
template <class R>
MDLA_INLINE mask256<R> operator&(mask256<R> a, mask256<R> b) {
  return mask256<R>(_mm256_and_si256(a.m, b.m));
}
template <class R>
MDLA_INLINE mask256<R> operator!(mask256<R> a) {
  return mask256<R>(_mm256_xor_si256(a.m, _mm256_set1_epi32(-1)));
}
template <class R>
MDLA_INLINE bool any(mask256<R> a) {
  return _mm256_testz_si256(a.m, a.m) == 0;
}

struct int64x4 {
  __m256i v;
  MDLA_INLINE int64x4() {}
  explicit MDLA_INLINE int64x4(__m256i x) : v(x) {}
  explicit MDLA_INLINE int64x4(u64 x) : v(_mm256_set1_epi64x((i64)x)) {}
};
MDLA_INLINE int64x4 operator+(int64x4 a, int64x4 b) { return int64x4(_mm256_add_epi64(a.v, b.v)); }
MDLA_INLINE int64x4 operator-(int64x4 a, int64x4 b) { return int64x4(_mm256_sub_epi64(a.v, b.v)); }
MDLA_INLINE int64x4 operator&(int64x4 a, int64x4 b) { return int64x4(_mm256_and_si256(a.v, b.v)); }
MDLA_INLINE int64x4 operator|(int64x4 a, int64x4 b) { return int64x4(_mm256_or_si256(a.v, b.v)); }
MDLA_INLINE int64x4 operator^(int64x4 a, int64x4 b) { return int64x4(_mm256_xor_si256(a.v, b.v)); }
MDLA_INLINE int64x4 operator<<(int64x4 a, int n) { return int64x4(_mm256_slli_epi64(a.v, n)); }
MDLA_INLINE int64x4 operator>>(int64x4 a, int n) { return int64x4(_mm256_srli_epi64(a.v, n)); }

struct doublex4 {
  __m256d v;
  MDLA_INLINE doublex4() {}
  explicit MDLA_INLINE doublex4(__m256d x) : v(x) {}
  explicit MDLA_INLINE doublex4(double x) : v(_mm256_set1_pd(x)) {}
};
MDLA_PACK_OPERATORS(doublex4)
MDLA_INLINE doublex4 fma(doublex4 a, doublex4 b, doublex4 c) {
  return doublex4(_mm256_fmadd_pd(a.v, b.v, c.v));
}
MDLA_INLINE doublex4 sqrt(doublex4 a) { return doublex4(_mm256_sqrt_pd(a.v)); }
MDLA_INLINE doublex4 abs(doublex4 a) {
  return doublex4(_mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v));
}
MDLA_INLINE mask256<double> lt(doublex4 a, doublex4 b) {
  return mask256<double>(_mm256_castpd_si256(_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ)));
}
MDLA_INLINE mask256<double> eq(doublex4 a, doublex4 b) {
  return mask256<double>(_mm256_castpd_si256(_mm256_cmp_pd(a.v, b.v, _CMP_EQ_OQ)));
}
MDLA_INLINE doublex4 select(mask256<double> m, doublex4 a, doublex4 b) {
  return doublex4(_mm256_blendv_pd(b.v, a.v, _mm256_castsi256_pd(m.m)));
}
MDLA_INLINE int64x4 as_int(doublex4 a) { return int64x4(_mm256_castpd_si256(a.v)); }
MDLA_INLINE doublex4 as_real(int64x4 a) { return doublex4(_mm256_castsi256_pd(a.v)); }

// High and low halves of 52-bit products without IFMA: 2^104 + a*b rounds at 2^52, the remainder is
// exact, and a negative remainder lends one unit from the high half (Emmart's double-precision
// form).
struct halves52 {
  int64x4 high, low;
};
MDLA_INLINE halves52 split52(int64x4 a, int64x4 b) {
  const int64x4 magic = as_int(doublex4(0x1p52));
  const doublex4 x = as_real(a | magic) - doublex4(0x1p52);
  const doublex4 y = as_real(b | magic) - doublex4(0x1p52);
  const doublex4 big(0x1p104), half(0x1.8p52);
  const doublex4 h = fma(x, y, big);
  const doublex4 l = fma(x, y, big - h);
  const int64x4 high = as_int(h) - as_int(big);
  const int64x4 low = as_int(l + half) - as_int(half);
  const int64x4 borrow = low >> 63;
  return {high - borrow, low + (borrow << 52)};
}
MDLA_INLINE int64x4 madd52lo(int64x4 c, int64x4 a, int64x4 b) { return c + split52(a, b).low; }
MDLA_INLINE int64x4 madd52hi(int64x4 c, int64x4 a, int64x4 b) { return c + split52(a, b).high; }

struct floatx8 {
  __m256 v;
  MDLA_INLINE floatx8() {}
  explicit MDLA_INLINE floatx8(__m256 x) : v(x) {}
  explicit MDLA_INLINE floatx8(float x) : v(_mm256_set1_ps(x)) {}
};
MDLA_PACK_OPERATORS(floatx8)
MDLA_INLINE floatx8 fma(floatx8 a, floatx8 b, floatx8 c) {
  return floatx8(_mm256_fmadd_ps(a.v, b.v, c.v));
}
MDLA_INLINE floatx8 sqrt(floatx8 a) { return floatx8(_mm256_sqrt_ps(a.v)); }
MDLA_INLINE floatx8 abs(floatx8 a) { return floatx8(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)); }
MDLA_INLINE mask256<float> lt(floatx8 a, floatx8 b) {
  return mask256<float>(_mm256_castps_si256(_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)));
}
MDLA_INLINE mask256<float> eq(floatx8 a, floatx8 b) {
  return mask256<float>(_mm256_castps_si256(_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)));
}
MDLA_INLINE floatx8 select(mask256<float> m, floatx8 a, floatx8 b) {
  return floatx8(_mm256_blendv_ps(b.v, a.v, _mm256_castsi256_ps(m.m)));
}
struct int32x8 {
  __m256i v;
  MDLA_INLINE int32x8() {}
  explicit MDLA_INLINE int32x8(__m256i x) : v(x) {}
  explicit MDLA_INLINE int32x8(u64 x) : v(_mm256_set1_epi32((i32)x)) {}
};
MDLA_INLINE int32x8 operator+(int32x8 a, int32x8 b) { return int32x8(_mm256_add_epi32(a.v, b.v)); }
MDLA_INLINE int32x8 operator-(int32x8 a, int32x8 b) { return int32x8(_mm256_sub_epi32(a.v, b.v)); }
MDLA_INLINE int32x8 operator&(int32x8 a, int32x8 b) { return int32x8(_mm256_and_si256(a.v, b.v)); }
MDLA_INLINE int32x8 operator|(int32x8 a, int32x8 b) { return int32x8(_mm256_or_si256(a.v, b.v)); }
MDLA_INLINE int32x8 operator^(int32x8 a, int32x8 b) { return int32x8(_mm256_xor_si256(a.v, b.v)); }
MDLA_INLINE int32x8 operator<<(int32x8 a, int n) { return int32x8(_mm256_slli_epi32(a.v, n)); }
MDLA_INLINE int32x8 operator>>(int32x8 a, int n) { return int32x8(_mm256_srli_epi32(a.v, n)); }
MDLA_INLINE int32x8 as_int(floatx8 a) { return int32x8(_mm256_castps_si256(a.v)); }
MDLA_INLINE floatx8 as_real(int32x8 a) { return floatx8(_mm256_castsi256_ps(a.v)); }

template <>
struct lane_traits<doublex4> {
  using base = double;
  using mask = mask256<double>;
  using integer = int64x4;
  static constexpr int width = 4;
};
template <>
struct lane_traits<floatx8> {
  using base = float;
  using mask = mask256<float>;
  using integer = int32x8;
  static constexpr int width = 8;
};
template <>
struct simd_of<double> {
  using type = doublex4;
};
template <>
struct simd_of<float> {
  using type = floatx8;
};
template <>
struct io<doublex4> {
  static MDLA_INLINE doublex4 load(const double* p) { return doublex4(_mm256_loadu_pd(p)); }
  static MDLA_INLINE void store(double* p, doublex4 a) { _mm256_storeu_pd(p, a.v); }
};
template <>
struct io<floatx8> {
  static MDLA_INLINE floatx8 load(const float* p) { return floatx8(_mm256_loadu_ps(p)); }
  static MDLA_INLINE void store(float* p, floatx8 a) { _mm256_storeu_ps(p, a.v); }
};

#endif  // AVX-512 or AVX2
#undef MDLA_PACK_OPERATORS
#endif  // SIMD

template <class R>
using simd = typename simd_of<R>::type;

}  // namespace MDLA_LEVEL
}  // namespace mdla
