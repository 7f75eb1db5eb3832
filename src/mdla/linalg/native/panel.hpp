// SPDX-License-Identifier: BSD-3-Clause
// QR of a panel of columns by Householder reflectors: the leaf of the blocked factorisation.
#pragma once

#include <vector>

#include "numbers.hpp"

namespace mdla {

// The first k columns of A (m, w), k <= min(m, w), are triangularised by reflectors
// H_j = I - tau_j v_j v_j^H: A <- H_{k-1}^H ... H_0^H A, with zeros below the diagonal of the first
// k columns. The v_j become the columns of V (m, k), unit lower trapezoidal with its zeros written,
// the tau_j the diagonal of T (k, k); null where they are not wanted. Views of any strides.
void qr_panel(const linalg::matrix* v, const linalg::matrix* t, const linalg::matrix& a,
              long long k);

// H_0 ... H_{k-1} = I - V T V^H: the upper triangular T from its diagonal and gram = V^H V, by
// T[:j, j] = -tau_j T[:j, :j] gram[:j, j]. The zeros below the diagonal are written.
void compact_form(const linalg::matrix& t, const linalg::matrix& gram);

// The order in which QR with column pivoting takes the columns of A, whose limbs after the first
// are ignored: at each step the column with the longest rest, the first of equals. Stops after
// `most` columns and before the first one that is shorter than `stop` times the first of all;
// returns how many were taken. The others follow in some order.
long long pivot_order(std::vector<long long>& order, linalg::matrix a, double stop, long long most);

}  // namespace mdla
