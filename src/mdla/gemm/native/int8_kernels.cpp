// SPDX-License-Identifier: BSD-3-Clause
// The kernel of int8_product.hpp for one matrix engine; compiled once for each.
//
// Sums are formed modulo 2^32, which is exact for those that fit 32 bits. A tile of 32 x 32 results
// and 64 steps takes 2^16 multiply-adds: 4 tile products with AMX, 1024 dot products with VNNI.
#include "int8_product.hpp"
#include "panel_product.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {
namespace {

struct scratch {
  alignas(64) int sums[panel_lanes * panel_lanes];
#if !MDLA_AMX
  alignas(64) unsigned char left[2 * panel_lanes * int8_chunk];
  alignas(64) unsigned char right[2 * panel_lanes * int8_chunk];
  alignas(64) int bias[panel_lanes];
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

MDLA_INLINE void prepare(scratch& s, const signed char* a, int steps) {
  prepare_left(s.left, a, steps);
}

MDLA_INLINE void tile_product(scratch& s, const signed char*, const signed char* b, int steps) {
  prepare_bias(s.bias, b, steps);
  product_of_panels(s.sums, s.left, prepare_right(s.right, b, steps), s.bias, steps);
}

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
