// SPDX-License-Identifier: BSD-3-Clause
// Products of residue planes modulo m.
//
// A tile of 32 x 32 sums over up to 512 steps is below 2^23 in magnitude, exact in int32 and float,
// and its quotient by m below 2^15. It is then reduced and added to what earlier steps gave, so
// that the residue of any number of steps stays in 8 or, for pairs, 16 bits.
//
// For a pair modulus, with r = a + 128 b and s = a + b (Karatsuba),
//     r r' = -127 a a' + (128^2 - 128) b b' + 128 s s',
// so its three products are reduced one after the other, each times its factor.
//
// Cost of a tile: 2^15 multiply-adds a step; 64 tile products for 512 steps with AMX, behind which
// the reduction of the tile before it is hidden; 8192 dot products with VNNI.
#pragma once

#include "panel_product.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

constexpr int tile_entries = panel_lanes * panel_lanes;

// Rows 2 q and 2 q + 1 of a tile of sums, to the target.
template <residue_kind Kind, bool Add>
MDLA_INLINE void reduce_rows(const int* sums, void* target, int q, const multiply_job& job) {
  i32x16 v[4];
  if constexpr (Kind == residue_kind::byte) {
    signed char* p = (signed char*)target + 64 * q;
    MDLA_UNROLL
    for (int i = 0; i < 4; ++i) {
      v[i] = load16(sums + 64 * q + 16 * i);
      if (Add) v[i] = v[i] + load_bytes(p + 16 * i);
      v[i] = byte_residue(v[i], job.inverse, job.modulus, job.minus);
    }
    store_bytes(p, v[0], v[1], v[2], v[3]);
  } else {
    short* p = (short*)target + 64 * q;
    MDLA_UNROLL
    for (int i = 0; i < 4; ++i) {
      f32x16 x = residue(to_float(load16(sums + 64 * q + 16 * i)), job.inverse, job.modulus);
      x = x * job.factor;
      if (Add) x = x + to_float(load_shorts(p + 16 * i));
      store_shorts(p + 16 * i, to_int(residue(x, job.inverse, job.modulus)));
    }
  }
}

struct multiply_scratch {
  alignas(64) int sums[2][tile_entries];
#if !MDLA_AMX
  alignas(64) unsigned char left[2 * panel_lanes * chunk_steps_max];
  alignas(64) unsigned char right[2 * panel_lanes * chunk_steps_max];
  alignas(64) int bias[most_piece_panels][panel_lanes];
#endif
};

#if MDLA_AMX

// What is multiplied next, fetched into the second-level cache line by line.
struct fetched_lines {
  const signed char* p;
  int lines;  // a step
  MDLA_INLINE void fetch() {
    for (int i = 0; i < lines; ++i) __builtin_prefetch(p + 64 * i, 0, 2);
    p += 64 * lines;
  }
};

// Tiles 0-3 = A panel times B panel. A product is in the tiles, its sums go to memory while the
// next one begins, and are reduced to `before` during the one after that: so the engine never
// waits.
template <residue_kind Kind, bool Add>
MDLA_INLINE void tile_product(const signed char* a, const signed char* b, int steps, int* stored,
                              const int* waiting, void* before, void* target,
                              const multiply_job& job, fetched_lines& next_a,
                              fetched_lines& next_b) {
  constexpr int tile_lines = Kind == residue_kind::byte ? 16 : 32;
  const int share = (16 + steps - 1) / steps;
  memory_barrier();
  int q = 0;
  for (int s = 0; s < steps; ++s) {
    if (s == 0) MDLA_TILE_RESTART(0, stored, 128);
    MDLA_TILE_LOAD(4, a, 64);
    MDLA_TILE_LOAD(6, b, 64);
    MDLA_TILE_DOT(0, 4, 6);
    if (s == 0) MDLA_TILE_RESTART(1, stored + 16, 128);
    MDLA_TILE_LOAD(7, b + tile_bytes, 64);
    MDLA_TILE_DOT(1, 4, 7);
    if (s == 0) MDLA_TILE_RESTART(2, stored + 16 * panel_lanes, 128);
    MDLA_TILE_LOAD(5, a + tile_bytes, 64);
    MDLA_TILE_DOT(2, 5, 6);
    if (s == 0) MDLA_TILE_RESTART(3, stored + 16 * panel_lanes + 16, 128);
    MDLA_TILE_DOT(3, 5, 7);
    a += 2 * tile_bytes;
    b += 2 * tile_bytes;
    next_a.fetch();
    next_b.fetch();
    for (int i = 0; i < share && q < 16; ++i, ++q) {
      // Lines that are written two products later must be this core's by then.
      MDLA_UNROLL
      for (int x = 0; x < tile_lines / 16; ++x)
        __builtin_prefetch((const char*)target + 64 * (q * tile_lines / 16 + x), 1, 3);
      if (before) reduce_rows<Kind, Add>(waiting, before, q, job);
    }
  }
}

#endif

// The panels of the job in one chunk of an operand.
struct panel_pair {
  const signed char *a, *b;
};

// One chunk of steps for the panels of the job; `next` is what is multiplied after it.
template <residue_kind Kind, bool Add>
MDLA_INLINE void multiply_chunk(multiply_scratch& scratch, const multiply_job& job,
                                const panel_pair& panels, int steps, const panel_pair& next) {
  constexpr int entry = Kind == residue_kind::byte ? 1 : 2;
  const long long panel = 2LL * steps * tile_bytes;
  const int rows = (int)(job.last_row - job.first_row);
  const int columns = (int)(job.last_column - job.first_column);
  const auto target = [&](int i, int j) {
    const long long tile = (job.first_row + i) * job.column_panels + job.first_column + j;
    return (char*)job.target + tile * tile_entries * entry;
  };
#if MDLA_AMX
  void* before[2] = {nullptr, nullptr};
  int turn = 0;
  fetched_lines next_a{next.a, (panel_lanes + columns - 1) / columns};
  fetched_lines next_b{next.b, (panel_lanes + rows - 1) / rows};
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) {
      tile_product<Kind, Add>(panels.a + i * panel, panels.b + j * panel, steps, scratch.sums[turn],
                              scratch.sums[turn ^ 1], before[0], target(i, j), job, next_a, next_b);
      before[0] = before[1];
      before[1] = target(i, j);
      turn ^= 1;
    }
  }
  memory_barrier();
  MDLA_TILE_STORE(0, scratch.sums[turn], 128);
  MDLA_TILE_STORE(1, scratch.sums[turn] + 16, 128);
  MDLA_TILE_STORE(2, scratch.sums[turn] + 16 * panel_lanes, 128);
  MDLA_TILE_STORE(3, scratch.sums[turn] + 16 * panel_lanes + 16, 128);
  for (int x = 0; x < 2; ++x)
    for (int q = 0; before[x] && q < 16; ++q)
      reduce_rows<Kind, Add>(scratch.sums[turn ^ 1 ^ x], before[x], q, job);
#else
  (void)next;
  for (int j = 0; j < columns; ++j) prepare_bias(scratch.bias[j], panels.b + j * panel, steps);
  for (int i = 0; i < rows; ++i) {
    prepare_left(scratch.left, panels.a + i * panel, steps);
    for (int j = 0; j < columns; ++j) {
      const signed char* right = prepare_right(scratch.right, panels.b + j * panel, steps);
      product_of_panels(scratch.sums[0], scratch.left, right, scratch.bias[j], steps);
      for (int q = 0; q < 16; ++q) reduce_rows<Kind, Add>(scratch.sums[0], target(i, j), q, job);
    }
  }
#endif
}

template <residue_kind Kind>
void multiply_of(const multiply_job& job) {
  multiply_scratch scratch;
#if MDLA_AMX
  configure_tiles(16, 16);
#endif
  const auto length = [&](long long k) {
    return job.steps - k < chunk_steps_max ? job.steps - k : chunk_steps_max;
  };
  const auto panels = [&](long long k) -> panel_pair {
    return {job.a + (k * job.row_panels + length(k) * job.first_row) * panel_lanes,
            job.b + (k * job.column_panels + length(k) * job.first_column) * panel_lanes};
  };
  for (long long k = 0, next = chunk_steps_max; k < job.steps; k = next, next += chunk_steps_max) {
    const panel_pair after = next < job.steps ? panels(next) : panel_pair{job.next_a, job.next_b};
    const int steps = (int)(length(k) / 64);
    if (k == 0 && !job.add) {
      multiply_chunk<Kind, false>(scratch, job, panels(k), steps, after);
    } else {
      multiply_chunk<Kind, true>(scratch, job, panels(k), steps, after);
    }
  }
}

inline void multiply_plane(const multiply_job& job) {
  if (job.kind == residue_kind::byte) {
    multiply_of<residue_kind::byte>(job);
  } else {
    multiply_of<residue_kind::digit>(job);
  }
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
