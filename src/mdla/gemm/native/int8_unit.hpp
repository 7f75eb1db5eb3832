// SPDX-License-Identifier: BSD-3-Clause
// 16 integers or floats at a time, and the two products that a matrix engine offers: a tile of
// small constants times the bytes of integers, and a tile of residues times another.
//
// One of three engines is compiled in: AMX tiles, VNNI dot products of bytes, or multiplications of
// 16-bit integers with pairwise addition, which every instruction set has.
#pragma once

#include "pack.hpp"
#include "residue_ops.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AMX_INT8__)
#define MDLA_AMX 1
#endif
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define MDLA_VNNI 1
#endif
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define MDLA_WIDE 1
#endif

namespace mdla {
inline namespace MDLA_LEVEL {

typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef int i32x16_in_memory __attribute__((vector_size(64), aligned(1), may_alias));

MDLA_INLINE i32x16 splat16(int x) { return i32x16{} + x; }
MDLA_INLINE i32x16 load16(const void* p) { return *(const i32x16_in_memory*)p; }
MDLA_INLINE void store16(void* p, i32x16 x) { *(i32x16_in_memory*)p = x; }
MDLA_INLINE f32x16 to_float(i32x16 x) { return __builtin_convertvector(x, f32x16); }
MDLA_INLINE i32x16 to_int(f32x16 x) { return __builtin_convertvector(x, i32x16); }

// x - m round(x / m), exact for |x| <= 2^24: at most half of m in magnitude, or by an ulp of the
// quotient more. 4 operations.
MDLA_INLINE f32x16 residue(f32x16 x, float inverse, float m) {
  const float round = 0x1.8p23f;
#if MDLA_WIDE
  const __m512 q =
      _mm512_sub_ps(_mm512_fmadd_ps((__m512)x, _mm512_set1_ps(inverse), _mm512_set1_ps(round)),
                    _mm512_set1_ps(round));
  return (f32x16)_mm512_fnmadd_ps(q, _mm512_set1_ps(m), (__m512)x);
#else
  const f32x16 q = (x * inverse + round) - round;
  return x - q * m;
#endif
}

// The same for |x| <= 2^22.99 and |x / m| < 2^15: 3 operations where there are dot products.
MDLA_INLINE i32x16 byte_residue(i32x16 x, float inverse, float m, int minus) {
#if MDLA_WIDE && MDLA_VNNI
  (void)m;
  const __m512 t = _mm512_fmadd_ps(_mm512_cvtepi32_ps((__m512i)x), _mm512_set1_ps(inverse),
                                   _mm512_set1_ps(0x1.8p23f));
  return (i32x16)_mm512_dpwssd_epi32((__m512i)x, _mm512_castps_si512(t), _mm512_set1_epi32(minus));
#else
  (void)minus;
  return to_int(residue(to_float(x), inverse, m));
#endif
}

#if MDLA_WIDE
MDLA_INLINE __m512i packed_bytes(i32x16 a, i32x16 b, i32x16 c, i32x16 d) {
  return _mm512_packs_epi16(_mm512_packs_epi32((__m512i)a, (__m512i)b),
                            _mm512_packs_epi32((__m512i)c, (__m512i)d));
}
MDLA_INLINE __m512i ordered_bytes(i32x16 a, i32x16 b, i32x16 c, i32x16 d) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, packed_bytes(a, b, c, d));
}
#endif

// Four vectors of small integers -> 64 bytes in order; streamed, they go past the caches.
MDLA_INLINE void store_bytes(signed char* p, i32x16 a, i32x16 b, i32x16 c, i32x16 d) {
#if MDLA_WIDE
  _mm512_storeu_si512(p, ordered_bytes(a, b, c, d));
#else
  for (int i = 0; i < 16; ++i) {
    p[i] = (signed char)a[i];
    p[16 + i] = (signed char)b[i];
    p[32 + i] = (signed char)c[i];
    p[48 + i] = (signed char)d[i];
  }
#endif
}

MDLA_INLINE void stream_bytes(signed char* p, i32x16 a, i32x16 b, i32x16 c, i32x16 d) {
#if MDLA_WIDE
  _mm512_stream_si512((__m512i*)p, ordered_bytes(a, b, c, d));
#else
  store_bytes(p, a, b, c, d);
#endif
}

// The same with the bytes of one lane together: a0 b0 c0 d0 a1 b1 ...
MDLA_INLINE void stream_quads(signed char* p, i32x16 a, i32x16 b, i32x16 c, i32x16 d) {
#if MDLA_WIDE
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  _mm512_stream_si512((__m512i*)p, _mm512_shuffle_epi8(packed_bytes(a, b, c, d), order));
#else
  store16(p, (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24);
#endif
}

MDLA_INLINE i32x16 load_bytes(const signed char* p) {
#if MDLA_WIDE
  return (i32x16)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p));
#else
  i32x16 r;
  for (int i = 0; i < 16; ++i) r[i] = p[i];
  return r;
#endif
}

MDLA_INLINE i32x16 load_shorts(const short* p) {
#if MDLA_WIDE
  return (i32x16)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i*)p));
#else
  i32x16 r;
  for (int i = 0; i < 16; ++i) r[i] = p[i];
  return r;
#endif
}

MDLA_INLINE void store_shorts(short* p, i32x16 a) {
#if MDLA_WIDE
  _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16((__m512i)a));
#else
  for (int i = 0; i < 16; ++i) p[i] = (short)a[i];
#endif
}

// The compiler takes nothing in memory for known.
MDLA_INLINE void memory_barrier() { asm volatile("" ::: "memory"); }

// ---- AMX tiles ---------------------------------------------------------------------------------

#if MDLA_AMX

// Tiles 0-3 hold sums, 4-5 the left operand, 6-7 the right one. GCC's intrinsics tell the compiler
// nothing about the memory that tiles read, hence the barriers where scratch changes hands.
struct alignas(64) tile_shapes {
  unsigned char palette = 1, start = 0, reserved[14] = {};
  unsigned short bytes[16] = {};
  unsigned char rows[16] = {};
};

// sums: sum_rows x 64 bytes; left: sum_rows x 4 inner bytes; right: inner x 64 bytes.
MDLA_INLINE void configure_tiles(int sum_rows, int inner) {
  tile_shapes s;
  for (int t = 0; t < 8; ++t) {
    s.bytes[t] = (unsigned short)(t == 4 || t == 5 ? 4 * inner : 64);
    s.rows[t] = (unsigned char)(t < 6 ? sum_rows : inner);
  }
  asm volatile("ldtilecfg %0" ::"m"(s));
}

#define MDLA_TILE_LOAD(t, p, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(p), "r"((long)(stride)))
#define MDLA_TILE_STORE(t, p, stride) \
  asm volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(p), "r"((long)(stride)) : "memory")
#define MDLA_TILE_RESTART(t, p, stride) \
  do {                                  \
    MDLA_TILE_STORE(t, p, stride);      \
    MDLA_TILE_ZERO(t);                  \
  } while (0)
#define MDLA_TILE_ZERO(t) asm volatile("tilezero %%tmm" #t ::)
#define MDLA_TILE_DOT(c, a, b) asm volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

#endif

// ---- dot products of bytes ---------------------------------------------------------------------

// acc + sums of four products, u unsigned and s signed bytes.
#if MDLA_WIDE && MDLA_VNNI
MDLA_INLINE i32x16 dot_bytes(i32x16 acc, i32x16 u, i32x16 s) {
  // GCC 12 moves the sums of its intrinsic about: a third of the speed.
  asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(s));
  return acc;
}
#elif defined(__AVXVNNI__)
MDLA_INLINE i32x16 dot_bytes(i32x16 acc, i32x16 u, i32x16 s) {
  __m256i a[2], x[2], y[2];
  std::memcpy(a, &acc, 64);
  std::memcpy(x, &u, 64);
  std::memcpy(y, &s, 64);
  a[0] = _mm256_dpbusd_avx_epi32(a[0], x[0], y[0]);
  a[1] = _mm256_dpbusd_avx_epi32(a[1], x[1], y[1]);
  std::memcpy(&acc, a, 64);
  return acc;
}
#else
// Sums of two products of signed 16-bit integers.
MDLA_INLINE i32x16 dot_shorts(i32x16 x, i32x16 y) {
#if MDLA_WIDE
  return (i32x16)_mm512_madd_epi16((__m512i)x, (__m512i)y);
#elif defined(__AVX2__)
  __m256i a[2], b[2];
  std::memcpy(a, &x, 64);
  std::memcpy(b, &y, 64);
  a[0] = _mm256_madd_epi16(a[0], b[0]);
  a[1] = _mm256_madd_epi16(a[1], b[1]);
  std::memcpy(&x, a, 64);
  return x;
#elif defined(__SSE2__)
  __m128i a[4], b[4];
  std::memcpy(a, &x, 64);
  std::memcpy(b, &y, 64);
  for (int i = 0; i < 4; ++i) a[i] = _mm_madd_epi16(a[i], b[i]);
  std::memcpy(&x, a, 64);
  return x;
#else
  return (x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16);
#endif
}
typedef short i16x32 __attribute__((vector_size(64)));
// Bytes 0 and 2, or 1 and 3, of each word as signed 16-bit integers.
MDLA_INLINE i32x16 even_bytes(i32x16 x) { return (i32x16)((i16x32)x << 8 >> 8); }
MDLA_INLINE i32x16 odd_bytes(i32x16 x) { return (i32x16)((i16x32)x >> 8); }
MDLA_INLINE i32x16 dot_bytes(i32x16 acc, i32x16 u, i32x16 s) {
  return acc + dot_shorts(u & 0x00ff00ff, even_bytes(s)) +
         dot_shorts((u >> 8) & 0x00ff00ff, odd_bytes(s));
}
#endif

// ---- constants times bytes ---------------------------------------------------------------------

// Sums of a group of 16 rows of constants with 64 lanes: sums[256 q + 16 r + lane].
constexpr int group_sums = 1024;

// sums[q][r][lane] = sum over words w, bytes i of constant[r][4 w + i] byte i of words[w][q][lane],
// for 4 sets q of 16 lanes; constants signed, [tiles][16][64], bytes unsigned, or signed.
//
// The sums of a group are complete when those of the next have been asked for, or after `finish`:
// while the engine works, f(), their user, works on others, so that neither waits.
template <bool Signed>
class constant_products {
 public:
#if MDLA_AMX
  // The last tile may be only partly used: constants beyond the words are zero.
  template <class F>
  MDLA_INLINE void multiply(int* sums, const signed char* constants, const unsigned* words,
                            int count, const F& f) {
    memory_barrier();
    int* last = unstored_ ? unstored_ : sums;
    for (int w = 0; w < count; w += 16, constants += tile_bytes, words += 16 * 64) {
      MDLA_TILE_LOAD(4, constants, 64);
      if (w == 0) MDLA_TILE_RESTART(0, last, 64);
      MDLA_TILE_LOAD(6, words, 256);
      dot<0, 6>();
      if (w == 0) MDLA_TILE_RESTART(1, last + 256, 64);
      MDLA_TILE_LOAD(7, words + 16, 256);
      dot<1, 7>();
      if (w == 0) MDLA_TILE_RESTART(2, last + 512, 64);
      MDLA_TILE_LOAD(6, words + 32, 256);
      dot<2, 6>();
      if (w == 0) MDLA_TILE_RESTART(3, last + 768, 64);
      MDLA_TILE_LOAD(7, words + 48, 256);
      dot<3, 7>();
    }
    unstored_ = sums;
    f();
  }
  MDLA_INLINE void finish() {
    if (!unstored_) return;
    MDLA_TILE_STORE(0, unstored_, 64);
    MDLA_TILE_STORE(1, unstored_ + 256, 64);
    MDLA_TILE_STORE(2, unstored_ + 512, 64);
    MDLA_TILE_STORE(3, unstored_ + 768, 64);
    unstored_ = nullptr;
  }

 private:
  template <int Sums, int Words>
  MDLA_INLINE void dot() {
    if constexpr (Signed) {
      asm volatile("tdpbssd %%tmm%c1, %%tmm4, %%tmm%c0" ::"i"(Sums), "i"(Words));
    } else {
      asm volatile("tdpbsud %%tmm%c1, %%tmm4, %%tmm%c0" ::"i"(Sums), "i"(Words));
    }
  }

  int* unstored_ = nullptr;
#else
  template <class F>
  MDLA_INLINE void multiply(int* sums, const signed char* constants, const unsigned* words,
                            int count, const F& f) {
    f();
    // Signed bytes are read as unsigned, 128 more: what that adds is summed up, too.
    const i32x16 flip = splat16(Signed ? (int)0x80808080 : 0);
    for (int r = 0; r < 16; r += rows_at_once) {
      i32x16 s[rows_at_once][4] = {}, more[rows_at_once] = {};
      for (int w = 0; w < count; ++w) {
        const signed char* c = constants + (w / 16) * tile_bytes + r * 64 + (w % 16) * 4;
        i32x16 x[4];
        MDLA_UNROLL
        for (int q = 0; q < 4; ++q) x[q] = load16(words + 64 * w + 16 * q) ^ flip;
        MDLA_UNROLL
        for (int y = 0; y < rows_at_once; ++y) {
          int four;
          std::memcpy(&four, c + 64 * y, 4);
          const i32x16 k = splat16(four);
          MDLA_UNROLL
          for (int q = 0; q < 4; ++q) s[y][q] = dot_bytes(s[y][q], x[q], k);
          if (Signed) more[y] = dot_bytes(more[y], flip, k);
        }
      }
      MDLA_UNROLL
      for (int y = 0; y < rows_at_once; ++y) {
        MDLA_UNROLL
        for (int q = 0; q < 4; ++q) store16(sums + 256 * q + 16 * (r + y), s[y][q] - more[y]);
      }
    }
  }
  MDLA_INLINE void finish() {}

 private:
#if MDLA_WIDE
  static constexpr int rows_at_once = 4;
#else
  static constexpr int rows_at_once = 1;  // a vector is two or four registers
#endif
#endif
};

}  // namespace MDLA_LEVEL
}  // namespace mdla
