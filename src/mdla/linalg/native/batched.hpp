// SPDX-License-Identifier: BSD-3-Clause
// Many small problems at once: every vector operation runs across the batch.
#pragma once

#include <vector>

#include "planes.hpp"
#include "triangular.hpp"

namespace mdla {

// Where the results of batched_qr go; a null pointer is a result that is not wanted.
struct qr_results {
  const planes_view<double>* r = nullptr;    // (B, min(m, n) or m, n), zeros below the diagonal
  const planes_view<double>* q = nullptr;    // (B, m, columns of Q)
  const planes_view<double>* h = nullptr;    // (B, m, n): R, and the tails of the reflectors below
  const planes_view<double>* tau = nullptr;  // (B, min(m, n))
};

// QR of each matrix of a (B, m, n) by Householder reflectors.
void batched_qr(const planes_view<double>& a, const qr_results& out);

// x[i] = a[i]^-1 b[i] after scaling rows and columns by powers of two, for a (B, n, n) and b, x
// (B, n, k), by LU in fixed point or, where exponents are too far apart for that, by QR. rcond[i]
// estimates the reciprocal condition of the scaled matrix in the 1-norm (0 where it is exactly
// singular, and x is of no use).
void batched_solve(const planes_view<double>& x, double* rcond, const planes_view<double>& a,
                   const planes_view<double>& b);

// The same by QR, for the systems `which`.
void batched_solve_by_qr(const planes_view<double>& x, double* rcond, const planes_view<double>& a,
                         const planes_view<double>& b, const std::vector<long long>& which);

// a[i][pivots[i]] = L U for each of a (B, n, n) by partial pivoting: U, and L below the diagonal.
void batched_lu(const planes_view<double>& lu, int* pivots, const planes_view<double>& a);

// The lower triangle of a[i] = L L^H goes to that of l[i], from the lower triangle of a (B, n, n);
// failed[i] is the first column whose pivot is not positive, or -1; then l[i] is of no use.
void batched_cholesky(const planes_view<double>& l, int* failed, const planes_view<double>& a);

// a[i] = Q R for a (B, m, n), m >= n, without scaling: x[i] = R^-1 times the first rows of Q^H
// b[i], rest[i] the others (B, m - n, k), and reciprocal conditions of R.
void batched_lstsq(const planes_view<double>& x, const planes_view<double>& rest, double* rcond,
                   const planes_view<double>& a, const planes_view<double>& b);

// substitute for each of t (B, n, n) and b (B, n, k).
void batched_substitute(const planes_view<double>& t, const planes_view<double>& b, triangle kind);

}  // namespace mdla
