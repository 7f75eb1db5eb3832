// SPDX-License-Identifier: BSD-3-Clause
// The kernel of int8_product.hpp for one matrix engine; compiled once for each.
//
// Sums are formed modulo 2^32, which is exact for those that fit 32 bits. A tile of 32 x 32 results
// and 64 steps takes 2^16 multiply-adds: 4 tile products with AMX, 1024 dot products with VNNI.
#include "int8_product.hpp"
#include "int8_unit.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {
namespace {

struct scratch {
  alignas(64) int sums[panel_lanes * panel_lanes];
#if !MDLA_AMX
  alignas(64) unsigned char left[2 * panel_lanes * int8_chunk];
  alignas(64) unsigned char right[2 * panel_lanes * int8_chunk];
#endif
};

#if MDLA_AMX

MDLA_INLINE void prepare(scratch&, const signed char*, int) { configure_tiles(16, 16); }

MDLA_INLINE void tile_product(scratch& s, const signed char* a, const signed char* b, int steps) {
  memory_barrier();
  MDLA_TILE_ZERO(0);
  MDLA_TILE_ZERO(1);
  MDLA_TILE_ZERO(2);
  MDLA_TILE_ZERO(3);
  for (int k = 0; k < steps; ++k, a += 2 * tile_bytes, b += 2 * tile_bytes) {
    MDLA_TILE_LOAD(4, a, 64);
    MDLA_TILE_LOAD(6, b, 64);
    MDLA_TILE_DOT(0, 4, 6);
    MDLA_TILE_LOAD(7, b + tile_bytes, 64);
    MDLA_TILE_DOT(1, 4, 7);
    MDLA_TILE_LOAD(5, a + tile_bytes, 64);
    MDLA_TILE_DOT(2, 5, 6);
    MDLA_TILE_DOT(3, 5, 7);
  }
  MDLA_TILE_STORE(0, s.sums, 128);
  MDLA_TILE_STORE(1, s.sums + 16, 128);
  MDLA_TILE_STORE(2, s.sums + 16 * panel_lanes, 128);
  MDLA_TILE_STORE(3, s.sums + 16 * panel_lanes + 16, 128);
}

#else

#if MDLA_WIDE
constexpr int rows_together = 8;
#else
constexpr int rows_together = 2;  // registers hold a part of a vector
#endif

#if MDLA_VNNI

// The left operand as unsigned bytes, 128 more; what that adds is taken off at the end.
MDLA_INLINE void prepare(scratch& s, const signed char* a, int steps) {
  for (int i = 0; i < 2 * steps * tile_bytes; i += 64)
    store16(s.left + i, load16(a + i) ^ (int)0x80808080);
}

MDLA_INLINE void tile_product(scratch& s, const signed char*, const signed char* b, int steps) {
  i32x16 bias[2] = {};
  for (int r = 0; r < panel_lanes; r += rows_together) {
    i32x16 c[rows_together][2] = {};
    for (int k = 0; k < steps; ++k) {
      const unsigned char* x = s.left + (2 * k + r / 16) * tile_bytes + (r % 16) * 64;
      const signed char* y = b + 2 * k * tile_bytes;
      for (int q = 0; q < 16; ++q) {
        const i32x16 y0 = load16(y + 64 * q), y1 = load16(y + tile_bytes + 64 * q);
        if (r == 0) {
          bias[0] = dot_bytes(bias[0], splat16((int)0x80808080), y0);
          bias[1] = dot_bytes(bias[1], splat16((int)0x80808080), y1);
        }
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
      store16(s.sums + (r + i) * panel_lanes, c[i][0] - bias[0]);
      store16(s.sums + (r + i) * panel_lanes + 16, c[i][1] - bias[1]);
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
MDLA_INLINE void prepare(scratch& s, const signed char* a, int steps) { widen(s.left, a, steps); }

MDLA_INLINE void tile_product(scratch& s, const signed char*, const signed char* b, int steps) {
  widen(s.right, b, steps);
  for (int r = 0; r < panel_lanes; r += rows_together) {
    i32x16 c[rows_together][2] = {};
    for (int k = 0; k < steps; ++k) {
      const unsigned char* x = s.left + (4 * k + 2 * (r / 16)) * tile_bytes + (r % 16) * 128;
      const unsigned char* y = s.right + 4 * k * tile_bytes;
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
      store16(s.sums + (r + i) * panel_lanes, c[i][0]);
      store16(s.sums + (r + i) * panel_lanes + 16, c[i][1]);
    }
  }
}

#endif
#endif

MDLA_INLINE void put(const scratch& s, int* out, int columns, const int8_job& job) {
  for (int r = 0; r < job.rows; ++r) {
    const int* from = s.sums + r * panel_lanes;
    int* to = out + r * job.pitch;
    if (columns == panel_lanes) {
      for (int c = 0; c < panel_lanes; c += 16)
        store16(to + c, job.add ? load16(to + c) + load16(from + c) : load16(from + c));
    } else {
      for (int c = 0; c < columns; ++c) to[c] = job.add ? to[c] + from[c] : from[c];
    }
  }
}

void pack_tile(signed char* tile, const signed char* from, long long step) {
  for (int q = 0; q < 16; ++q) {
    const signed char* p = from + 4 * q * step;
    store16(tile + 64 * q, (load_bytes(p) & 255) | (load_bytes(p + step) & 255) << 8 |
                               (load_bytes(p + 2 * step) & 255) << 16 |
                               load_bytes(p + 3 * step) << 24);
  }
}

void multiply(const int8_job& job) {
  scratch s;
  prepare(s, job.a, job.steps);
  for (long long c = 0; c < job.columns; c += panel_lanes) {
    tile_product(s, job.a, job.b + c / panel_lanes * job.panel, job.steps);
    put(s, job.out + c, (int)(job.columns - c < panel_lanes ? job.columns - c : panel_lanes), job);
  }
}

void release() {
#if MDLA_AMX
  asm volatile("tilerelease" ::);
#endif
}

}  // namespace

const int8_ops& int8_table() {
  static const int8_ops table = {&pack_tile, &multiply, &release};
  return table;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
