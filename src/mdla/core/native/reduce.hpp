// SPDX-License-Identifier: BSD-3-Clause
// Sums along one axis in a fixed order, so that the bits depend neither on threads nor on lanes.
//
// The tree (version 1): elements fall into tiles of 32 x 128; lane j of a tile adds elements j,
// j + 128, j + 256, ... in order; the lanes are added in halves, lane j += lane j + h for h = 64,
// 32, ..., 1 where both exist; the results of the tiles are reduced the same way again.
// Error of a sum of K numbers: at most (log2 K + 32 ceil(log_4096 K)) eps sum |a|.
#pragma once

#include "planes.hpp"

namespace mdla {

constexpr int tree_version = 1;
constexpr long long tree_lanes = 128, tree_rows = 32;

// out[m] = sum over k of a[m, k]; out has shape (M), a shape (M, K).
template <class R>
void sum(planes_view<R> out, planes_view<R> a);

// out[m] = sum over k of a[m, k] b[m, k], without conjugation.
template <class R>
void dot(planes_view<R> out, planes_view<R> a, planes_view<R> b);

}  // namespace mdla
