// SPDX-License-Identifier: BSD-3-Clause
// From integers in words to residues: a product of constants and bytes.
//
//     X mod m = sum_i byte_i (2^(8 i) mod m)   mod m,
//
// with signed constants of one byte for moduli of a byte. Modulo a pair modulus the constants are
// two digits, c + 128 d, in two rows. All moduli at once are one small matrix product, 16 rows of
// constants by 64 entries a time (the constant-reduction product of Matsuoka, "Ozaki 2.5"). One
// more word, always 1, takes the offset of the integers away.
//
// Sums stay below 2^24: 4 (W + 1) products of at most 255 * 127. Cost for 64 entries and a modulus:
// 4 (W + 1) dot products, or 1/4 of a tile product, and 4 * 3 operations to reduce.
#pragma once

#include "residue_cut.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

// Sums of a group of constants with 64 entries, to be reduced.
struct waiting_sums {
  const int* sums = nullptr;
  int group = 0;
  signed char* target = nullptr;
};

template <bool Columns>
MDLA_INLINE void store_line(signed char* p, i32x16 a, i32x16 b, i32x16 c, i32x16 d) {
  if (Columns) {
    stream_quads(p, a, b, c, d);
  } else {
    stream_bytes(p, a, b, c, d);
  }
}

// Four rows of a group: rows of constants are those of byte moduli, 16 to a group, then two rows
// for each pair.
template <bool Columns>
MDLA_INLINE void reduce_four(const waiting_sums& w, int row, const convert_job& job) {
  const residue_moduli& mod = job.moduli;
  const int byte_groups = (mod.bytes + 15) / 16;
  if (w.group < byte_groups) {
    const int first = 16 * w.group + row;
    const int count = mod.bytes - first < 4 ? mod.bytes - first : 4;
    for (int r = 0; r < count; ++r) {
      const int l = first + r;
      const float inverse = mod.inverse[l], m = mod.modulus[l];
      i32x16 v[4];
      MDLA_UNROLL
      for (int q = 0; q < 4; ++q)
        v[q] = byte_residue(load16(w.sums + 256 * q + 16 * (row + r)), inverse, m, mod.minus[l]);
      store_line<Columns>(w.target + l * job.plane, v[0], v[1], v[2], v[3]);
    }
    return;
  }
  const int first = 8 * (w.group - byte_groups) + row / 2;
  const int count = mod.pairs - first < 2 ? mod.pairs - first : 2;
  for (int r = 0; r < count; ++r) {
    const int l = mod.bytes + first + r;
    const float inverse = mod.inverse[l], m = mod.modulus[l];
    const int* sums = w.sums + 16 * (row + 2 * r);
    i32x16 a[4], b[4], s[4];
    MDLA_UNROLL
    for (int q = 0; q < 4; ++q) {
      const f32x16 low = to_float(load16(sums + 256 * q));
      const f32x16 high = to_float(load16(sums + 256 * q + 16));
      const f32x16 x = residue(low + residue(high, inverse, m) * 128.f, inverse, m);
      const f32x16 digit = (x * 0x1p-7f + 0x1.8p23f) - 0x1.8p23f;
      b[q] = to_int(digit);
      a[q] = to_int(x - digit * 128.f);
      s[q] = a[q] + b[q];
    }
    signed char* p = w.target + (mod.bytes + 3LL * (first + r)) * job.plane;
    store_line<Columns>(p, a[0], a[1], a[2], a[3]);
    store_line<Columns>(p + job.plane, b[0], b[1], b[2], b[3]);
    store_line<Columns>(p + 2 * job.plane, s[0], s[1], s[2], s[3]);
  }
}

// Groups are multiplied while those two before them are reduced.
struct convert_scratch {
  alignas(64) unsigned words[64 * most_words];
  alignas(64) int sums[3][group_sums];
  alignas(64) double stage[2 * max_cut_limbs * 64];
  alignas(64) double low[16], high[16];
  constant_products<false> products;
  waiting_sums waiting[2];
  int turn = 0;
};

// Where the tile of the strip of 16 lanes with step k begins.
MDLA_INLINE signed char* step_target(const convert_job& job, long long strip, long long k) {
  const long long chunk = k / chunk_steps_max * chunk_steps_max;
  return job.target + chunk * job.padded_lanes + strip % 2 * tile_bytes +
         (strip / 2 * (std::min<long long>(chunk_steps_max, round_up_64(job.steps) - chunk)) +
          (k - chunk) / 64 * 64) *
             panel_lanes;
}

MDLA_INLINE void start_conversion(convert_scratch& s, const convert_job& job) {
  for (int q = 0; q < 4; ++q) store16(s.words + 64 * job.parts * job.words + 16 * q, splat16(1));
#if MDLA_AMX
  const int words = job.parts * job.words + 1;
  configure_tiles(16, words < 16 ? words : 16);
#endif
}

template <bool Columns>
MDLA_INLINE void reduce_waiting(const waiting_sums& w, const convert_job& job) {
  if (w.sums)
    for (int row = 0; row < 16; row += 4) reduce_four<Columns>(w, row, job);
}

template <bool Columns>
MDLA_INLINE void finish_conversion(convert_scratch& s, const convert_job& job) {
  s.products.finish();
  reduce_waiting<Columns>(s.waiting[0], job);
  reduce_waiting<Columns>(s.waiting[1], job);
}

template <bool Columns, int N, int D>
MDLA_INLINE void convert_64(convert_scratch& s, const double* source, long long part,
                            long long limb, long long group, const double* low, const double* high,
                            signed char* target, const convert_job& job) {
  for (int x = 0; x < job.parts; ++x)
    for (int q = 0; q < 4; ++q)
      cut_16<N, D>(s.words + 64 * x * job.words + 16 * q, source + x * part + q * group, limb, low,
                   high, job);
  for (int g = 0; g < job.groups; ++g) {
    int* sums = s.sums[s.turn];
    const waiting_sums oldest = s.waiting[0];
    s.products.multiply(sums, job.constants + (long long)g * job.tiles * tile_bytes, s.words,
                        job.parts * job.words + 1, [&] { reduce_waiting<Columns>(oldest, job); });
    s.waiting[0] = s.waiting[1];
    s.waiting[1] = {sums, g, target};
    s.turn = s.turn == 2 ? 0 : s.turn + 1;
  }
}

// Strips of 16 rows of A: a line of a tile is a row with 64 steps.
template <int N, int D>
void convert_rows_of(const convert_job& job) {
  convert_scratch s;
  start_conversion(s, job);
  for (int r = 0; r < job.lanes; ++r) {
    for (int l = 0; l < 16; ++l) s.low[l] = job.low[r], s.high[l] = job.high[r];
    for (long long k = 0; k < job.steps; k += 64) {
      signed char* target = step_target(job, job.first_strip + r / 16, k) + 64 * (r % 16);
      const long long left = job.steps - k;
      const double* p = job.source + r * job.lane + k * job.step;
      if (left >= 64 && job.step == 1) {
        convert_64<false, N, D>(s, p, job.part, job.limb, 16, s.low, s.high, target, job);
        continue;
      }
      for (int q = 0; q < job.parts; ++q)
        for (int i = 0; i < job.limbs; ++i)
          for (int x = 0; x < 64; ++x)
            s.stage[(q * job.limbs + i) * 64 + x] =
                x < left ? p[q * job.part + i * job.limb + x * job.step] : 0;
      convert_64<false, N, D>(s, s.stage, 64 * job.limbs, 64, 16, s.low, s.high, target, job);
    }
  }
  finish_conversion<false>(s, job);
}

// Rows lie far apart: what is needed some steps later is asked for early.
constexpr int fetched_steps = 8;

MDLA_INLINE void fetch_rows(const double* p, const convert_job& job) {
  for (int q = 0; q < job.parts; ++q)
    for (int i = 0; i < job.limbs; ++i)
      for (int y = 0; y < 4; ++y) {
        __builtin_prefetch(p + q * job.part + i * job.limb + y * job.step, 0, 2);
        __builtin_prefetch(p + q * job.part + i * job.limb + y * job.step + 8, 0, 2);
      }
}

// Strips of 16 columns of B: a line of a tile is 4 steps of all columns. All strips take 4 steps
// before the next 4, so that what lies side by side in memory is read together.
template <int N, int D>
void convert_columns_of(const convert_job& job) {
  convert_scratch s;
  start_conversion(s, job);
  for (long long k = 0; k < round_up_64(job.steps); k += 4) {
    const long long left = job.steps - k;
    for (int first = 0; first < job.lanes; first += 16) {
      const int lanes = job.lanes - first < 16 ? job.lanes - first : 16;
      const double *low = job.low + first, *high = job.high + first;
      signed char* target = step_target(job, job.first_strip + first / 16, k) + 16 * (k % 64);
      const double* p = job.source + k * job.step + first * job.lane;
      if (lanes == 16 && left >= 4 && job.lane == 1) {
        fetch_rows(p + fetched_steps * job.step, job);
        convert_64<true, N, D>(s, p, job.part, job.limb, job.step, low, high, target, job);
        continue;
      }
      for (int q = 0; q < job.parts; ++q)
        for (int i = 0; i < job.limbs; ++i)
          for (int y = 0; y < 4; ++y)
            for (int l = 0; l < 16; ++l)
              s.stage[(q * job.limbs + i) * 64 + 16 * y + l] =
                  y < left && l < lanes
                      ? p[q * job.part + i * job.limb + y * job.step + l * job.lane]
                      : 0;
      convert_64<true, N, D>(s, s.stage, 64 * job.limbs, 64, 16, low, high, target, job);
    }
  }
  finish_conversion<true>(s, job);
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
