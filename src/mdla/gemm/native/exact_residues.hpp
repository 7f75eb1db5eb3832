// SPDX-License-Identifier: BSD-3-Clause
// One entry of a product from its residues by large integers: the specification of
// residue_reconstruct.hpp, and what decides where that cannot.
#pragma once

#include "residues.hpp"

namespace mdla {

class exact_residues {
 public:
  exact_residues(const residue_forms& forms, const product_layout& layout,
                 const signed char* product, const reconstruction& how)
      : forms_(forms), layout_(layout), product_(product), how_(how) {}

  // C rounded to a multiple of 2^(quantum + shift), ties to even, as digits of 32 bits of
  // weight 2^(shift + 32 c).
  void digits(double* to, long long entry) const;

 private:
  const residue_forms& forms_;
  product_layout layout_;
  const signed char* product_;
  const reconstruction& how_;
};

}  // namespace mdla
