// SPDX-License-Identifier: BSD-3-Clause
// What the truncated product of series asks of an instruction set.
#pragma once

#include "config.hpp"

namespace mdla {

// One part (real or imaginary) of a product, out_k = sum_i a_i b_(k-i) over one pair of parts, or
// over two of them, the second one added or subtracted:
//
//   out_k = a_0 b_k (+- a'_0 b'_k) + a_1 b_(k-1) (+- a'_1 b'_(k-1)) + ...,  k < length.
//
// Limb j of coefficient i of lane l lies at p + j * plane + i * lanes + l. `lanes` is 1, or as many
// series side by side, a multiple of 8. With one lane vectors run along the coefficients: there
// must be 8 doubles before the first coefficient of b, those from b_length on must be zeros, and
// `out` and b have room for `length` rounded up to a multiple of 8.
struct convolution {
  double* out;
  const double *a[2], *b[2];
  long long out_plane, a_plane, b_plane;
  int pairs;
  bool subtract;
  long long a_length, b_length, length, lanes;
};

struct convolve_ops {
  static constexpr int most_limbs = 16;
  // For each number of limbs. Returns false when some result may not be finite.
  bool (*convolve[most_limbs + 1])(const convolution&);
  // Where factors must be prepared, how many planes that takes, else 0; and n numbers, a multiple
  // of 8, prepared: `convolve` then takes what is at `to`.
  int prepared_planes[most_limbs + 1];
  void (*prepare[most_limbs + 1])(long long n, double* to, long long to_plane, const double* from,
                                  long long from_plane);
};

const convolve_ops& active_convolve_ops();

}  // namespace mdla
