// SPDX-License-Identifier: BSD-3-Clause
// QR of a block of columns: recursion from the block down to panels.
#pragma once

#include "numbers.hpp"

namespace mdla {

// A (m, w), m >= w, is triangularised as in panel.hpp by H_0 ... H_{w-1} = I - V T V^H.
// V (m, w) and T (w, w), upper triangular, are filled; both must be zero before. Panels have at
// most `leaf` columns; between them the updates are matrix products of the direct scheme
// (E. Elmroth and F. Gustavson, IBM J. Res. Dev. 44 (2000) 605-624).
void qr_block(const linalg::matrix& v, const linalg::matrix& t, const linalg::matrix& a,
              long long leaf);

}  // namespace mdla
