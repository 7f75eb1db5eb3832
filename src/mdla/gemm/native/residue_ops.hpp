// SPDX-License-Identifier: BSD-3-Clause
// Residue products: the kernels that exist once per matrix engine, as a table of functions.
//
// An operand is kept as planes of small integers, the values of linear forms of the parts of its
// entries: for a real one its residues; for a complex one x + i y those of x, y and x + y, or of
// x + j y and x - j y where j^2 = -1 modulo m. Each form takes one plane modulo a byte, and three
// modulo a pair modulus: digits a, b and a + b of r = a + 128 b. The kernels know forms only as
// rows of constants.
//
// Memory of residues
//   operand  [plane][chunk of 512 steps][panel of 32 lanes][64 steps][2 tiles of 1 KiB]
//            a tile of A: 16 rows of 64 steps; a tile of B: 16 quads of steps, of which each has 16
//            columns of 4 steps. These are the operands of AMX's tile product, and the other
//            engines read the same bytes.
//   product  [plane][row panel][column panel][32 x 32]: int8 for a byte modulus, int16 for a pair.
#pragma once

#include "config.hpp"

namespace mdla {

constexpr int panel_lanes = 32, chunk_steps_max = 512, tile_bytes = 1024;
constexpr int most_words = 388;  // of four bytes, in an integer or in the residues of a product
// Entries are scaled so that the last of D digits of 52 bits has the unit 2^(cut_origin - 52 D).
constexpr int cut_origin = 512;
// So the unit of the last digit is at least 2^-996, and nothing that counts underflows.
constexpr int most_cut_bits = 29 * 52 - 2;
constexpr int max_cut_limbs = 16;
constexpr int most_chunks = 56;  // of 32 bits, in a product that is put together
// Limbs are formed with the top chunk at this power of two, so that none of the others underflows.
constexpr int chunk_level(int chunks) { return chunks > 30 ? 896 : 0; }

// The modulus of each form, those of a byte first: 1 / m, m, and -m in the low half of a word.
struct residue_moduli {
  int bytes, pairs;
  const float *inverse, *modulus;
  const int* minus;
};

// Some lanes by all steps of an operand -> residues.
struct convert_job {
  // Limb i of part q of lane l, step k: source[q part + i limb + l lane + k step].
  const double* source;
  long long part, limb, lane, step;
  int parts;
  int limbs, lanes;
  long long steps;
  const double *low,
      *high;  // [lanes up to a multiple of 16], low high x is the scaled entry, see residue_cut.hpp
  int words, digits;             // of one part
  const signed char* constants;  // [groups][tiles][16][64], powers of 2^8 modulo the moduli
  int groups, tiles;
  residue_moduli moduli;
  signed char* target;    // the whole operand
  long long plane;        // bytes between planes
  long long first_strip;  // of 16 lanes, of these lanes in the operand
  long long padded_lanes;
};

constexpr long long round_up_64(long long n) { return (n + 63) / 64 * 64; }

// One plane of products: tiles of some row panels with some column panels, over all steps.
constexpr int most_piece_panels = 32;  // of each
enum class residue_kind { byte, digit };

struct multiply_job {
  const signed char *a, *b;             // chunk 0 of the plane
  long long row_panels, column_panels;  // of the whole blocks
  long long first_row, last_row;        // panels that are multiplied here
  long long first_column, last_column;
  long long steps;                     // a multiple of 64
  const signed char *next_a, *next_b;  // panels that are probably multiplied next: only a hint
  void* target;                        // tile of (row panel 0, column panel 0)
  residue_kind kind;
  bool add;  // to what the target holds
  float inverse, modulus, factor;
  int minus;
};

// A tile of residues of products -> limbs. Chunks of 32 bits count from the lowest that is formed.
struct reconstruct_job {
  const signed char* bytes;          // the tile of plane 0, of `byte_planes`
  const short* pairs;                // the tile of the first of `pair_planes`
  long long byte_plane, pair_plane;  // entries between planes
  int byte_planes, pair_planes;
  const signed char* weights;  // [chunks / 4][tiles][16][64]: bytes of the weights, for each quad
  int quads, tiles, chunks;
  const double* modulus;  // [chunks] of M
  double inverse;         // 2^(32 (chunks - 1)) / M
  int quantum;            // results are multiples of 2^quantum, at most 31
  double tie_width;       // closer to a tie than this, the sum does not tell how to round
  int limbs;
  // Results are scaled by 2^exponents, or by factors where these are far from the ends of the
  // range.
  const double *row_exponents, *column_exponents;  // [32]
  bool are_factors;
  double* out;          // [limbs][32][32]
  unsigned* undecided;  // [32], a bit for each column
};

struct residue_ops {
  void (*convert_rows)(const convert_job&);
  void (*convert_columns)(const convert_job&);
  void (*multiply)(const multiply_job&);
  void (*reconstruct)(const reconstruct_job&);
  // The end of reconstruct for one entry of the tile, from digits of 32 bits.
  void (*finish_entry)(const reconstruct_job&, const double* digits, int row, int column);
  // n doubles, into the caches or past them.
  void (*copy)(double* to, const double* from, int n);
  void (*stream)(double* to, const double* from, int n);
  void (*release)();
};

}  // namespace mdla
