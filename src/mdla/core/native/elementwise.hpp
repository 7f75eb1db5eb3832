// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operations on strided, broadcast planes. Compiled once; arithmetic goes through
// vector_ops.
#pragma once

#include <string>
#include <vector>

#include "planes.hpp"

namespace mdla {

// Thrown for a name or a combination of operands that does not exist; the text says what is wrong.
struct bad_operands {
  std::string text;
};

// out = name(operands...): add sub mul div fma sqrt abs neg. All views have out's shape (broadcast
// axes have stride 0) and out's limbs, or one limb. out is contiguous and overlaps no operand.
template <class R>
void elementwise(const std::string& name, planes_view<R> out, std::vector<planes_view<R>> operands);

// sign[i] = sign of a - b, 2 for unordered; real.
template <class R>
void compare_signs(signed char* sign, planes_view<R> a, planes_view<R> b);

// out = the sum of a's limbs (any doubles in any order), normalised.
template <class R>
void normalize(planes_view<R> out, planes_view<R> a);

}  // namespace mdla
