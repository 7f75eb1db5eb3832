// SPDX-License-Identifier: BSD-3-Clause
// Substitution with a small triangular matrix: the leaf of the blocked solution.
#pragma once

#include "numbers.hpp"

namespace mdla {

struct triangle {
  bool lower, unit;
};

// X = T^-1 B in place of B, for T (n, n) of which only one triangle is read, and B (n, k). Every
// entry of X is computed by the same operations whatever k is: x_j = b_j / t_jj, then b_i -= t_ij
// x_j. The diagonal must not be zero.
void substitute(const linalg::matrix& t, const linalg::matrix& b, triangle kind);

// The same by halves of T, with matrix products of the direct scheme, for B whose rows are at unit
// stride.
void substitute_block(const linalg::matrix& t, const linalg::matrix& b, triangle kind);

// C -= P in place, (m, n) with unit-stride rows in both.
void subtract_in_place(const linalg::matrix& c, const linalg::matrix& p);

}  // namespace mdla
