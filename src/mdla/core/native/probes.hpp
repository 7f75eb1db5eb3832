// SPDX-License-Identifier: BSD-3-Clause
// What the arithmetic relies on, asked of the running machine and of the shipped binary.
#pragma once

#include <vector>

namespace mdla {

struct cpu_feature {
  const char* name;
  bool present;
};
std::vector<cpu_feature> cpu_features();

// One lane of the capability report by name; false for unknown names.
//   fused_multiply_add   the residual of a product whose parts are all normal is exact
//   subnormal_add, subnormal_mul, subnormal_fma, subnormal_residual, subnormal_sign
//                        gradual underflow in each kind of operation
//   two_sum              the error term of 1 + 2^-60 survived the compiler
bool probe(const char* lane);

}  // namespace mdla
