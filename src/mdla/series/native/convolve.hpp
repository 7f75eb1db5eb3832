// SPDX-License-Identifier: BSD-3-Clause
// Truncated Cauchy products of power series, for many pairs of them.
#pragma once

#include "planes.hpp"

namespace mdla {

// out[..., k] = sum_(i <= k) a[..., i] b[..., k - i] for all k of out; coefficients beyond the ends
// of a and b are zero. The leading axes of a and b are those of out, or repeated (stride 0). Out
// has two parts where one factor has; a factor may have fewer limbs than out. Results do not
// overlap the factors.
//
// Terms are added by increasing i, the error of a coefficient is at most about (k + 2) eps times
// sum_i |a_i| |b_(k-i)| (convolve_kernels.cpp and digit_convolution.hpp have the proved bounds),
// and 2.5 times that in norm for complex numbers. A coefficient depends on those up to k alone,
// with the infinities and nans of IEEE arithmetic, and on no other series of the batch.
//
// Groups of 8 series run side by side through vectors, few or single ones with vectors along their
// coefficients; both give the same bits.
void convolve(const planes_view<double>& out, const planes_view<double>& a,
              const planes_view<double>& b);

}  // namespace mdla
