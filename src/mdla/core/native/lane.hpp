// SPDX-License-Identifier: BSD-3-Clause
// Lanes: the floating-point operations that all arithmetic is written in, for one number at a time.
//
// A lane type T (double, float, or a SIMD pack of pack.hpp) offers
//   + - * / unary-   round-to-nearest IEEE operations, never contracted,
//   fma sqrt abs     likewise,
//   max_abs min_abs  of two values by magnitude; of equal magnitudes of opposite sign the positive
//                    one is the maximum, so that both are symmetric in their arguments,
//   lt eq select any comparisons as masks of type mask_t<T>, and selection by a mask,
//   and, for doubles, the integer view (int_t<T>): as_int, as_real, madd52hi, madd52lo.
// Everything above this file is the same source for scalars, packs and CUDA threads.
#pragma once

#include "config.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

template <class T>
struct lane_traits;

template <>
struct lane_traits<double> {
  using base = double;
  using mask = bool;
  using integer = u64;
  static constexpr int width = 1;
#if MDLA_DEVICE
  static MDLA_INLINE double infinity() { return __longlong_as_double(0x7ffLL << 52); }
#else
  static MDLA_INLINE double infinity() { return __builtin_inf(); }
#endif
};

template <>
struct lane_traits<float> {
  using base = float;
  using mask = bool;
  using integer = u32;
  static constexpr int width = 1;
#if MDLA_DEVICE
  static MDLA_INLINE float infinity() { return __int_as_float(0xff << 23); }
#else
  static MDLA_INLINE float infinity() { return __builtin_inff(); }
#endif
};

template <class T>
using base_t = typename lane_traits<T>::base;
template <class T>
using mask_t = typename lane_traits<T>::mask;
template <class T>
using int_t = typename lane_traits<T>::integer;
template <class T>
constexpr int width_v = lane_traits<T>::width;

// Products are formed here and nowhere else: on a device the _rn intrinsics forbid the compiler to
// fuse them, on the host -ffp-contract=off does.
#if MDLA_DEVICE
MDLA_INLINE double mul_rn(double a, double b) { return __dmul_rn(a, b); }
MDLA_INLINE float mul_rn(float a, float b) { return __fmul_rn(a, b); }
MDLA_INLINE double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
MDLA_INLINE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
MDLA_INLINE double sqrt(double a) { return __dsqrt_rn(a); }
MDLA_INLINE float sqrt(float a) { return __fsqrt_rn(a); }
MDLA_INLINE double abs(double a) { return ::fabs(a); }
MDLA_INLINE float abs(float a) { return ::fabsf(a); }
MDLA_INLINE u64 as_int(double a) { return (u64)__double_as_longlong(a); }
MDLA_INLINE double as_real(u64 a) { return __longlong_as_double((i64)a); }
MDLA_INLINE u32 as_int(float a) { return __float_as_uint(a); }
MDLA_INLINE float as_real(u32 a) { return __uint_as_float(a); }
MDLA_INLINE u64 mul64hi(u64 a, u64 b) { return __umul64hi(a, b); }
#else
MDLA_INLINE double mul_rn(double a, double b) { return a * b; }
MDLA_INLINE float mul_rn(float a, float b) { return a * b; }
MDLA_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
MDLA_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MDLA_INLINE double sqrt(double a) { return __builtin_sqrt(a); }
MDLA_INLINE float sqrt(float a) { return __builtin_sqrtf(a); }
MDLA_INLINE double abs(double a) { return __builtin_fabs(a); }
MDLA_INLINE float abs(float a) { return __builtin_fabsf(a); }
MDLA_INLINE u64 as_int(double a) {
  u64 r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
MDLA_INLINE double as_real(u64 a) {
  double r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
MDLA_INLINE u32 as_int(float a) {
  u32 r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
MDLA_INLINE float as_real(u32 a) {
  float r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
MDLA_INLINE u64 mul64hi(u64 a, u64 b) {
  return (u64)(((unsigned __int128)a * (unsigned __int128)b) >> 64);
}
#endif

MDLA_INLINE bool lt(double a, double b) { return a < b; }
MDLA_INLINE bool lt(float a, float b) { return a < b; }
MDLA_INLINE bool eq(double a, double b) { return a == b; }
MDLA_INLINE bool eq(float a, float b) { return a == b; }
MDLA_INLINE bool any(bool m) { return m; }
MDLA_INLINE double select(bool m, double a, double b) { return m ? a : b; }
MDLA_INLINE float select(bool m, float a, float b) { return m ? a : b; }

// High and low 52 bits of the 104-bit product of two integers below 2^52, added to c.
MDLA_INLINE u64 madd52lo(u64 c, u64 a, u64 b) { return c + ((a * b) & 0xfffffffffffffULL); }
MDLA_INLINE u64 madd52hi(u64 c, u64 a, u64 b) {
  return c + ((mul64hi(a, b) << 12) | ((a * b) >> 52));
}

template <class T>
MDLA_INLINE T splat(base_t<T> a) {
  return T(a);
}
template <class T>
MDLA_INLINE int_t<T> splat_int(u64 a) {
  return int_t<T>(a);
}

template <class T>
MDLA_INLINE T max_abs(T a, T b) {
  const T x = abs(a), y = abs(b);
  return select(lt(x, y) | (eq(x, y) & lt(a, b)), b, a);
}
template <class T>
MDLA_INLINE T min_abs(T a, T b) {
  const T x = abs(a), y = abs(b);
  return select(lt(x, y) | (eq(x, y) & lt(a, b)), a, b);
}

template <class T>
MDLA_INLINE mask_t<T> is_not_finite(T a) {
  return !lt(abs(a), splat<T>(lane_traits<base_t<T>>::infinity()));
}

// Zeros, infinities and nans: the lanes that the hot path cannot settle.
template <class T>
MDLA_INLINE mask_t<T> is_special(T a) {
  return eq(a, splat<T>(0)) | is_not_finite(a);
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
