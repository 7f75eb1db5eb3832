// SPDX-License-Identifier: BSD-3-Clause
// Condition of triangular matrices, from their leading limbs.
#pragma once

#include <vector>

#include "planes.hpp"

namespace mdla {

// An upper triangular matrix in doubles, entry (i, j) at [j n + i]; im is empty for a real one.
struct double_triangle {
  long long n;
  std::vector<double> re, im;
};

// About 1 / (||R||_1 ||R^-1||_1); 0 where the diagonal has a zero or the inverse overflows, nan
// where R is not finite. Exact up to rounding for small n, else from below: the norm of the inverse
// is estimated by Higham's algorithm (ACM TOMS 14 (1988) 381-396), which is rarely off by more than
// a factor of 3.
double reciprocal_condition(const double_triangle& r);

// The same for the upper triangle of planes (n, n).
double reciprocal_condition(const planes_view<double>& r);

// The same for A = L R, the multipliers of the unit lower triangular L below the diagonal of R,
// where `norm` is that of A with |re| + |im| for the size of an entry.
double reciprocal_condition_lu(const double_triangle& factors, double norm);
double reciprocal_condition_lu(const planes_view<double>& factors, double norm);

}  // namespace mdla
