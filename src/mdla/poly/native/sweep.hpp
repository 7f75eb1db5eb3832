// SPDX-License-Identifier: BSD-3-Clause
// Polynomials and their derivatives at many points: a straight-line program, run with vectors whose
// lanes are the points.
#pragma once

#include "planes.hpp"

namespace mdla {

// What a step (operation, out, a, b) of a program does. Slots hold one vector of numbers each.
enum class sweep_operation : int {
  mul,         // slot out = slot a * slot b
  add,         // slot out = slot a + slot b
  sub,         // slot out = slot a - slot b
  scale,       // slot out = slot a * constant b
  scale_real,  // likewise; the imaginary part of the constant is zero
  scale_lane,  // likewise; only its first limb is not zero
  fill,        // slot out = constant a
  store,       // result out = slot a
  count
};

// Steps as rows of four integers; slots 0, 1, ... hold the coordinates of the points at first.
struct sweep_program {
  const int* steps;
  long long count, slots;
};

// Why a program must not be run on operands of these sizes, or null when it may: an index is out of
// range, a product would overwrite its own factor, or real constants are taken for complex ones.
struct sweep_sizes {
  long long variables, constants, results;
  bool complex_points, complex_constants;
};
const char* flaw_of(const sweep_program& program, const sweep_sizes& sizes);

// Results 0, 1, ... for each of B points: first the columns of `values` (B, m), then those of
// `derivatives` (B, k). The points are x (B, n); the constants (K) are real or have as many parts
// as the points. What no step stores is left as it is.
//
// The work is that of the steps, for each point: a complex product is four real products and two
// sums. Every operation has a relative error of at most eps, a complex product one of at most
// (1 + sqrt 2) eps in norm. Lanes do not meet, so a point gives the same bits in every batch.
void sweep(const planes_view<double>& values, const planes_view<double>& derivatives,
           const planes_view<double>& x, const planes_view<double>& constants,
           const sweep_program& program);

}  // namespace mdla
