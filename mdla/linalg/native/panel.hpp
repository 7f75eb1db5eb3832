// SPDX-License-Identifier: BSD-3-Clause
// QR of a panel of columns by Householder reflectors: the leaf of the blocked factorisation.
#pragma once

#include <vector>

#include "planes.hpp"

namespace mdla {

// The first k columns of A (m, w), k <= min(m, w), are triangularised by H^H with
// H = I - V T V^H: A <- H^H A, with zeros below the diagonal of the first k columns. V (m, k) is unit
// lower trapezoidal, T (k, k) upper triangular with the coefficients tau of the reflectors on its
// diagonal; their zeros are written. Null where they are not wanted. Views of any strides.
void qr_panel(const planes_view<double>* v, const planes_view<double>* t,
              const planes_view<double>& a, long long k);

// The order in which QR with column pivoting takes the columns of A, whose limbs after the first are
// ignored: at each step the column with the longest rest, the first of equals. Stops before the
// first column that is shorter than `stop` times the first one; returns how many were taken. The
// others follow in some order.
long long pivot_order(std::vector<long long>& order, planes_view<double> a, double stop);

}  // namespace mdla
