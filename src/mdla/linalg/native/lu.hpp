// SPDX-License-Identifier: BSD-3-Clause
// LU factorisation of a block of columns with partial pivoting: recursion down to narrow panels.
#pragma once

#include <vector>

#include "numbers.hpp"

namespace mdla {

// P A = L U in place of A (m, w), m >= w, rows at unit stride: U on and above the diagonal, the
// multipliers of L below it. Step j exchanges rows j and pivots[j] >= j of all w columns. The pivot
// is the entry with the largest |re| + |im| of leading limbs, as in LAPACK, the first of equals; a
// column without an entry other than zero is left as it is. The columns are halved down to panels
// of `leaf` columns; between them the updates are matrix products of the direct scheme (S. Toledo,
// SIAM J. Matrix Anal. Appl. 18 (1997) 1065-1081).
//
// w^2 (m - w/3) multiply-adds. The factors of P (A + E) = L U satisfy |E| <= c w eps |L| |U| (N. J.
// Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 9.3), c a small
// constant.
void lu_block(std::vector<long long>& pivots, const linalg::matrix& a, long long leaf);

// Rows i and pivots[i] of A change places, for i = 0, 1, ...; rows at unit stride.
void exchange_rows(const linalg::matrix& a, const std::vector<long long>& pivots);

}  // namespace mdla
