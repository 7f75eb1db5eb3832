// SPDX-License-Identifier: BSD-3-Clause
// Cholesky factorisation of a small matrix: the leaf of the blocked factorisation.
#pragma once

#include "numbers.hpp"

namespace mdla {

// A = R^H R in place of the upper triangle of A (n, n); the rest is neither read nor written, and
// the imaginary parts of the diagonal count as zero. Returns the first j whose pivot is not
// positive, where it stops, or n.
//
// By rows, n^3 / 6 multiply-adds. R^H R = A + E with |E| <= c n eps |R^H| |R| (N. J. Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 10.3), c a small constant.
long long cholesky_leaf(const linalg::matrix& a);

}  // namespace mdla
