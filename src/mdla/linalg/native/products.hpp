// SPDX-License-Identifier: BSD-3-Clause
// Small matrix products inside the native blocks of the factorisations, by the direct scheme.
#pragma once

#include "numbers.hpp"

namespace mdla {
namespace linalg {

// A matrix of its own, row by row.
class matrix_memory {
 public:
  matrix_memory(int parts, int limbs, size rows, size columns)
      : memory_(parts * limbs * rows * columns) {
    view_.p = memory_.data();
    view_.parts = parts;
    view_.limbs = limbs;
    view_.limb = rows * columns;
    view_.part = limbs * view_.limb;
    view_.rows = rows;
    view_.columns = columns;
    view_.row = columns;
    view_.column = 1;
  }
  const matrix& view() const { return view_; }

 private:
  number_memory memory_;
  matrix view_;
};

inline matrix transposed(matrix a) {
  std::swap(a.rows, a.columns);
  std::swap(a.row, a.column);
  return a;
}

void copy(const matrix& to, const matrix& from);
void negate(const matrix& to, const matrix& from);

enum operation { none, adjoint };

// out = op(a) op(b); every part of out must be contiguous if the numbers are complex.
void multiply(const matrix& out, const matrix& a, operation op_a, const matrix& b, operation op_b);

// op(a) b in memory of its own.
class product {
 public:
  product(const matrix& a, operation op_a, const matrix& b)
      : out_(a.parts, a.limbs, op_a == adjoint ? a.columns : a.rows, b.columns) {
    multiply(out_.view(), a, op_a, b, none);
  }
  const matrix& view() const { return out_.view(); }

 private:
  matrix_memory out_;
};

}  // namespace linalg
}  // namespace mdla
