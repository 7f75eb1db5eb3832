// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices of bytes, with sums in 32 bits.
#pragma once

#include "residue_ops.hpp"

namespace mdla {

// Panels of 32 rows of A, or of 32 columns of B: [64 steps][2 tiles], see residue_ops.hpp. A chunk
// of steps is multiplied at a time, so that a block of panels of B stays in the second-level cache.
constexpr int int8_chunk = 2048, int8_block = 16;
// Sums of so many products of bytes fit 32 bits.
constexpr long long int8_most_steps = 131071;

// A panel of A times some panels of B, over a chunk of steps.
struct int8_job {
  const signed char* a;
  const signed char* b;  // the first panel of columns
  long long panel;       // bytes between panels of B
  int steps;             // groups of 64
  int rows;              // that are present
  long long columns;
  int* out;  // row r, column c at out[r pitch + c]
  long long pitch;
  bool add;  // to what `out` holds
};

struct int8_ops {
  // A tile of B: 64 steps of 16 neighbouring columns, step k at from[k step].
  void (*pack_tile)(signed char* tile, const signed char* from, long long step);
  void (*multiply)(const int8_job&);
  void (*release)();
};

// The kernels of the fastest engine that this machine has.
const int8_ops& active_int8_ops();

// Entry (i, k) at p[i lane + k step]: lanes are rows of A or columns of B.
struct bytes_view {
  const signed char* p;
  long long lane, step;
  long long lanes, steps;
};

// out[i n + j] = sum over k of a(i, k) b(j, k).
void int8_product(const bytes_view& a, const bytes_view& b, int* out);

}  // namespace mdla
