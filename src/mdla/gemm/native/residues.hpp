// SPDX-License-Identifier: BSD-3-Clause
// Products by residues on the host: engines, threads, and what needs large integers.
#pragma once

#include <cstdint>
#include <vector>

#include "direct.hpp"
#include "residue_ops.hpp"

namespace mdla {

// The kernels of an engine: "int8-amx", "int8-vnni" or "int8-portable"; null where this machine,
// or the level in use, does not have it.
const residue_ops* residue_engine(const char* name);

// The linear forms of an operand: the modulus of each, bytes first.
class residue_forms {
 public:
  residue_forms(const std::vector<int>& bytes, const std::vector<int>& pairs);
  residue_moduli moduli() const;
  int byte_count() const { return bytes_; }
  int pair_count() const { return pairs_; }
  long long operand_planes() const { return bytes_ + 3LL * pairs_; }
  int modulus_of(int form) const { return (int)modulus_[(std::size_t)form]; }

 private:
  int bytes_, pairs_;
  std::vector<float> inverse_, modulus_;
  std::vector<int> minus_;
};

// Residues in memory, see residue_ops.hpp. Planes begin in different sets of the caches.
constexpr long long plane_gap = 17 * 64;
struct operand_layout {
  long long lanes, steps;
  long long padded_lanes() const { return (lanes + panel_lanes - 1) / panel_lanes * panel_lanes; }
  long long panels() const { return padded_lanes() / panel_lanes; }
  long long plane() const { return padded_lanes() * round_up_64(steps) + plane_gap; }
};
struct product_layout {
  operand_layout rows, columns;
  long long entries() const { return rows.padded_lanes() * columns.padded_lanes(); }
  long long byte_plane() const { return entries() + plane_gap; }
  long long pair_plane() const { return entries() + plane_gap; }  // of 16 bits each
};

// Entries x of part q, limb i, lane l, step k at p[q part + i limb + l lane + k step].
struct entries_view {
  const double* p;
  long long part, limb, lane, step;
  int parts, limbs;
  long long lanes, steps;
};

struct integer_format {
  int bits, words;
  const int* exponents;  // of the lanes; zero_lane and special_lane stand for lanes of zeros
  const signed char* constants;  // [groups][tiles][16][64]
  int groups, tiles;
};

void residue_convert(const residue_ops& ops, bool columns, const entries_view& x,
                     const integer_format& format, const residue_forms& forms, signed char* target);

void residue_multiply(const residue_ops& ops, const operand_layout& rows,
                      const operand_layout& columns, const residue_forms& forms,
                      const signed char* a, const signed char* b, signed char* product, bool add);

// What puts one part of a product together: bytes of the weights of all residues, M, and, for
// entries close to a tie, the same as large integers.
struct reconstruction {
  const signed char* weights;
  int quads, tiles, chunks;
  const double* modulus;
  double inverse;
  int quantum, shift;  // of chunk 0: its unit is 2^shift
  double tie_width;
  const std::uint32_t* whole_weights;  // [residues][whole_words]
  const std::uint32_t* whole_modulus;  // [whole_words]
  int whole_words;
  int exponent;  // results are C 2^(exponent + E_i + F_j)
  const int *row_exponents, *column_exponents;
};

struct result_view {
  double* p;
  long long limb, row, column;
};

// out = alpha times the product + beta out; alpha and beta are numbers of the result's format.
struct update_factors {
  const double *alpha, *beta;  // null: 1, and 0
};

void residue_reconstruct(const residue_ops& ops, const operand_layout& rows,
                         const operand_layout& columns, const residue_forms& forms,
                         const signed char* product, const reconstruction& how, int limbs,
                         const result_view& out, const update_factors& factors);

}  // namespace mdla
