// SPDX-License-Identifier: BSD-3-Clause
// Elementary functions of numbers: exp, log, sin, cos, atan2 and their kin, on blocks of numbers.
//
// Everything here is compiled once. Numbers go through the tables of vector_ops, which give the
// same bits on every instruction set; what is done one number at a time (choosing table entries,
// exponents, special values, the reduction modulo pi / 2) uses IEEE operations on doubles and
// integers, and nothing of the C library's mathematics, whose results differ between machines.
#pragma once

#include <string>
#include <vector>

#include "planes.hpp"

namespace mdla {

// A polynomial sum of c_k z^k near 1. Up to 4 limbs Horner's rule runs on expansions, term k with
// limbs[k] limbs, as few as its size beside the result allows; coefficient k starts at
// c + k * step. With more limbs it runs on digits (series.hpp).
struct series {
  const double* c = nullptr;
  long long step = 0;
  std::vector<int> limbs;
  std::vector<int> digits;
  std::vector<unsigned long long> digit_table;
};

// All constants for numbers of `limbs` limbs.
struct elementary_tables {
  int limbs = 0;
  // Of arguments j / 128: e^a, e^a - 1, the double d nearest to 1 / (1 + a) - 1 with -log(1 + d),
  // and atan a, for j = -128 .. 128; sin and cos for j = 0 .. 101. Numbers are limb after limb.
  std::vector<double> exp, expm1, shift, log, atan;
  std::vector<double> sin, cos;
  std::vector<double> factorials;                    // 1 / k!
  std::vector<double> odds;                          // 1 / (2 k + 1)
  std::vector<double> factorial_digits, odd_digits;  // the same in digits of 50 bits
  std::vector<double> ln2_high, ln2_low;             // of which the first has 12 bits to spare
  std::vector<double> ln2, inverse_ln2, log10_2, inverse_ln10, half_pi;
  std::vector<double> pi_quarters;    // k pi / 4, k = 0 .. 4
  std::vector<unsigned> two_over_pi;  // its bits after the point, 32 at a time
  series exp_series, sin_series, cos_series, atan_series;
};

// The tables for a number of limbs, to be filled once; null where they are not defined yet.
const elementary_tables* elementary_tables_for(int limbs);

// Takes over the constants, plans the series, and makes them known.
void define_elementary_tables(elementary_tables tables);

// Whether `name` is a function of this many operands: exp expm1 log log1p log2 log10 sin cos tan
// sincos sinh cosh tanh arcsin arccos arctan (one), arctan2 (two: y, x).
bool is_elementary(const std::string& name, std::size_t operands);

// out = name(operands...) for real operands with out's shape and limbs; sincos has the two parts
// cos + i sin.
void elementary(const std::string& name, planes_view<double> out,
                std::vector<planes_view<double>> operands);

}  // namespace mdla
