// SPDX-License-Identifier: BSD-3-Clause
// Products by residues in float64: what comes before and after a BLAS product of residues.
//
// Moduli are primes m below 2^23, residues doubles of at most (m/2)(1 + 2^-20) in magnitude, so
// sums of 512 products stay below 2^53 and are exact in any order. Products are reduced and kept as
// three signed bytes, which residue_reconstruct puts together like residues of bytes.
//
// An operand has one form of each entry for a modulus: for a real one x itself; for a complex one
// x + j y and x - j y with j^2 = -1 modulo m, whose products P, Q give (P + Q) / 2 and
// (P - Q) / 2j.
#pragma once

#include "residues.hpp"

namespace mdla {

constexpr int wide_bits = 23, wide_steps = 512, wide_bytes = 3;
constexpr int most_halves = 128;  // of 16 bits, in an entry
// Residues are written in lines of a multiple of this many.
constexpr int wide_line = 32;

// Lines of an operand -> residues. The entries of a line are lanes or steps, whichever lie side by
// side in memory.
struct wide_convert_job {
  // Limb i of part q of entry k of line l: source[q part + i limb + l line + k entry].
  const double* source;
  long long part, limb, line, entry;
  int parts, limbs;
  long long first_line, last_line, entries;
  // low high x is the scaled entry, see residue_cut.hpp: of each entry of a line, up to a multiple
  // of 16, or of each line.
  const double *low, *high;
  bool lanes_are_lines;
  int words, digits;        // of one part
  const double* constants;  // [forms][2 parts words + 1], powers of 2^16 modulo m and the offset
  const double *modulus, *inverse;
  int forms;
  double* target;  // [forms][lines][pitch]
  long long plane, pitch;
};

// One row of products modulo one m -> bytes of residues.
struct wide_reduce_job {
  const double *p, *q;  // products of the first and, for complex entries, of the second form
  long long columns;
  double modulus, inverse;
  double half, over;              // 1/2 and 1/2j modulo m
  signed char *real, *imaginary;  // byte 0 in the tile of column 0
  long long plane;                // bytes between bytes 0 and 1
  bool add;                       // to what the bytes hold
};

struct wide_ops {
  void (*convert)(const wide_convert_job&);
  void (*reduce_real)(const wide_reduce_job&);
  void (*reduce_complex)(const wide_reduce_job&);
};

const wide_ops& active_wide_ops();

// Integers of `bits` bits as in residue_convert: so engines multiply the same ones.
struct wide_format {
  int bits, words;
  const int* exponents;  // of the lanes
  bool lanes_are_lines;
  const double* constants;
  const double* moduli;  // of the forms
  int forms;
};

// x.lane and x.step belong to lines and to the entries of a line.
void wide_convert(const entries_view& x, const wide_format& format, double* target,
                  long long pitch);

// Products of all forms of one modulus, [forms][rows][columns].
struct wide_products {
  const double* p;
  int parts;
  long long rows, columns;
  double modulus, half, over;
};

// `target` holds `planes` byte planes for each part; residues go to the three from `first` on.
void wide_reduce(const wide_products& x, signed char* target, int planes, int first, bool add);

}  // namespace mdla
