// SPDX-License-Identifier: BSD-3-Clause
// QR of a block of columns: recursion from the block down to panels.
#pragma once

#include "numbers.hpp"

namespace mdla {

// A (m, w), m >= w, is triangularised as in panel.hpp by H_0 ... H_{w-1} = I - V U^H with
// U = V T^H; V and U (m, w) are filled, V must be zero before. tau (1, w) receives the diagonal of
// T. Panels have at most `leaf` columns; between them the updates are matrix products of the direct
// scheme (E. Elmroth and F. Gustavson, IBM J. Res. Dev. 44 (2000) 605-624).
void qr_block(const linalg::matrix& v, const linalg::matrix& u, const linalg::matrix& tau,
              const linalg::matrix& a, long long leaf);

}  // namespace mdla
