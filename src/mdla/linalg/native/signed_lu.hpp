// SPDX-License-Identifier: BSD-3-Clause
// LU factorisation of a small matrix that is shifted by signs on the way.
#pragma once

#include <vector>

#include "numbers.hpp"

namespace mdla {

// A - S = L U in place of A (n, n): U on and above the diagonal, the multipliers of the unit lower
// triangular L below it. S is diagonal; at step j, S[j] = -1 where the real part of the pivot is
// not negative and 1 elsewhere, so that pivots grow by 1 at least. For the top of a matrix with
// orthonormal columns all multipliers are bounded by 1 and no rows need be exchanged (G. Ballard,
// J. Demmel, L. Grigori, M. Jacquelin, N. Knight and H. D. Nguyen, J. Parallel Distrib. Comput. 85
// (2015) 3-31, section 5).
//
// By rows, n^3 / 3 multiply-adds. L U = A - S + E with |E| <= c n eps |L| |U| (N. J. Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 9.3), c a small constant.
void signed_lu_leaf(std::vector<long long>& signs, const linalg::matrix& a);

}  // namespace mdla
