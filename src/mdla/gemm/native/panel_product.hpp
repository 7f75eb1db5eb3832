// SPDX-License-Identifier: BSD-3-Clause
// The product of two panels of 32 lanes of bytes, with 32-bit sums, where there are no tiles:
// 1024 dot products of VNNI for 64 steps, or 2048 multiplications of 16-bit integers with
// pairwise addition.
#pragma once

#include "int8_unit.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

#if !MDLA_AMX

#if MDLA_WIDE || MDLA_VNNI
constexpr int rows_together = 8;  // with AVX-VNNI, too: sums in memory cost less than more loads
#else
constexpr int rows_together = 2;  // registers hold a quarter or an eighth of a vector
#endif

#if MDLA_VNNI

// The left operand as unsigned bytes, 128 more; what that adds is taken off by the start values.
MDLA_INLINE void prepare_left(unsigned char* left, const signed char* a, int steps) {
  for (int i = 0; i < 2 * steps * tile_bytes; i += 64)
    store16(left + i, load16(a + i) ^ (int)0x80808080);
}
MDLA_INLINE void prepare_bias(int* bias, const signed char* b, int steps) {
  i32x16 sums[2] = {};
  for (int k = 0; k < steps; ++k)
    for (int t = 0; t < 2; ++t)
      for (int q = 0; q < 16; ++q)
        sums[t] = dot_bytes(sums[t], splat16((int)0x80808080),
                            load16(b + (2 * k + t) * tile_bytes + 64 * q));
  store16(bias, -sums[0]);
  store16(bias + 16, -sums[1]);
}
MDLA_INLINE const signed char* prepare_right(unsigned char*, const signed char* b, int) {
  return b;
}

MDLA_INLINE void product_of_panels(int* sums, const unsigned char* left, const signed char* b,
                                   const int* bias, int steps) {
  for (int r = 0; r < panel_lanes; r += rows_together) {
    i32x16 c[rows_together][2];
    MDLA_UNROLL
    for (int i = 0; i < rows_together; ++i) c[i][0] = load16(bias), c[i][1] = load16(bias + 16);
    for (int k = 0; k < steps; ++k) {
      const unsigned char* x = left + (2 * k + r / 16) * tile_bytes + (r % 16) * 64;
      const signed char* y = b + 2 * k * tile_bytes;
      for (int q = 0; q < 16; ++q) {
        const i32x16 y0 = load16(y + 64 * q), y1 = load16(y + tile_bytes + 64 * q);
        MDLA_UNROLL
        for (int i = 0; i < rows_together; ++i) {
          int w;
          std::memcpy(&w, x + 64 * i + 4 * q, 4);
          const i32x16 u = splat16(w);
          c[i][0] = dot_bytes(c[i][0], u, y0);
          c[i][1] = dot_bytes(c[i][1], u, y1);
        }
      }
    }
    MDLA_UNROLL
    for (int i = 0; i < rows_together; ++i) {
      store16(sums + (r + i) * panel_lanes, c[i][0]);
      store16(sums + (r + i) * panel_lanes + 16, c[i][1]);
    }
  }
}

#else

// Both operands as 16-bit integers: of 4 steps, 0 and 2 first, then 1 and 3.
MDLA_INLINE void widen(unsigned char* to, const signed char* from, int steps) {
  for (int i = 0; i < 2 * steps * tile_bytes; i += 64) {
    const i32x16 x = load16(from + i);
    store16(to + 2 * i, even_bytes(x));
    store16(to + 2 * i + 64, odd_bytes(x));
  }
}
MDLA_INLINE void prepare_left(unsigned char* left, const signed char* a, int steps) {
  widen(left, a, steps);
}
MDLA_INLINE const signed char* prepare_right(unsigned char* right, const signed char* b,
                                             int steps) {
  widen(right, b, steps);
  return (const signed char*)right;
}

MDLA_INLINE void prepare_bias(int*, const signed char*, int) {}

MDLA_INLINE void product_of_panels(int* sums, const unsigned char* left, const signed char* b,
                                   const int*, int steps) {
  for (int r = 0; r < panel_lanes; r += rows_together) {
    i32x16 c[rows_together][2] = {};
    for (int k = 0; k < steps; ++k) {
      const unsigned char* x = left + (4 * k + 2 * (r / 16)) * tile_bytes + (r % 16) * 128;
      const signed char* y = b + 4 * k * tile_bytes;
      for (int h = 0; h < 32; ++h) {  // halves of quads
        const i32x16 y0 = load16(y + 64 * h), y1 = load16(y + 2 * tile_bytes + 64 * h);
        MDLA_UNROLL
        for (int i = 0; i < rows_together; ++i) {
          int w;
          std::memcpy(&w, x + 128 * i + 64 * (h % 2) + 4 * (h / 2), 4);
          const i32x16 u = splat16(w);
          c[i][0] = c[i][0] + dot_shorts(u, y0);
          c[i][1] = c[i][1] + dot_shorts(u, y1);
        }
      }
    }
    MDLA_UNROLL
    for (int i = 0; i < rows_together; ++i) {
      store16(sums + (r + i) * panel_lanes, c[i][0]);
      store16(sums + (r + i) * panel_lanes + 16, c[i][1]);
    }
  }
}

#endif

#endif

}  // namespace MDLA_LEVEL
}  // namespace mdla
