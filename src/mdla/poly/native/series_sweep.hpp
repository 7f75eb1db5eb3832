// SPDX-License-Identifier: BSD-3-Clause
// Polynomials and their derivatives at points whose coordinates are truncated power series: the
// program of sweep.hpp, run on slots that hold series.
#pragma once

#include "sweep.hpp"

namespace mdla {

// As `sweep`, with one more axis, of coefficients: values (B, m, d + 1), derivatives (B, k, d + 1),
// x (B, n, d + 1); the constants are numbers.
//
// A product takes (d + 1)(d + 2) / 2 products of coefficients for each pair of parts, and fewer
// where factors are polynomials of low degree: trailing coefficients of coordinates that are zero
// in a group of points are known to be so in all that is made of them. Errors of products are those
// of convolve.hpp, of sums at most eps in each coefficient. A point gives the same bits in every
// batch (unless a coefficient of its group is not finite: then zeros are multiplied like others).
void series_sweep(const planes_view<double>& values, const planes_view<double>& derivatives,
                  const planes_view<double>& x, const planes_view<double>& constants,
                  const sweep_program& program);

}  // namespace mdla
