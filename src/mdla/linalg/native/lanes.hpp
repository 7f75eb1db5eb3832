// SPDX-License-Identifier: BSD-3-Clause
// Small matrices side by side: entry (i, j) of all of them is one vector over the batch.
#pragma once

#include "numbers.hpp"

namespace mdla {
namespace linalg {

// A stack of matrices with any strides; where `which` is given, number i is matrix which[i].
struct matrix_stack {
  matrix first;
  size count, stride;
  const size* which;

  matrix_stack(const planes_view<double>& v, const size* which_ = nullptr)
      : first(v), count(v.shape[0]), stride(v.strides[0]), which(which_) {}
  size offset(size i) const { return (which ? which[i] : i) * stride; }
};

// `lanes` matrices of some shape, columns one behind the other.
class lane_matrix {
 public:
  lane_matrix(const field& f, size rows, size columns, size lanes)
      : f_(f), rows_(rows), lanes_(lanes), memory_(f.room(lanes) * rows * columns) {}

  numbers operator()(size i, size j) const {
    return f_.over(memory_.data() + f_.room(lanes_) * (j * rows_ + i), lanes_);
  }

  // Matrices begin .. begin + count of a stack, into column `to_column` and following.
  void load(const matrix_stack& from, size begin, size count, size to_column) const {
    transfer(from, begin, count, 0, to_column, from.first.rows, from.first.columns,
             [](double* memory, double& lane) { lane = *memory; });
  }
  // Rows and columns of these matrices from somewhere on, as many as the stack has.
  void store(const matrix_stack& to, size begin, size count, size from_column,
             size from_row = 0) const {
    transfer(to, begin, count, from_row, from_column, to.first.rows, to.first.columns,
             [](double* memory, double& lane) { *memory = lane; });
  }

 private:
  // Eight neighbours of a row at a time, so that both sides use whole cache lines.
  template <class F>
  void transfer(const matrix_stack& stack, size begin, size count, size row, size column, size rows,
                size columns, F move) const {
    const matrix& one = stack.first;
    const size next_column = f_.room(lanes_) * rows_;
    for (int c = 0; c < f_.parts; ++c)
      for (int k = 0; k < f_.limbs; ++k)
        for (size i = 0; i < rows; ++i)
          for (size j0 = 0; j0 < columns; j0 += lane_block) {
            const size width = std::min(columns - j0, lane_block);
            double* here = (*this)(row + i, column + j0).p + (c * f_.limbs + k) * lanes_;
            double* there = one.at(i, j0) + c * one.part + k * one.limb;
            for (size lane = 0; lane < count; ++lane) {
              double* p = there + stack.offset(begin + lane);
              for (size j = 0; j < width; ++j)
                move(p + j * one.column, here[j * next_column + lane]);
            }
          }
  }

  const field& f_;
  size rows_, lanes_;
  number_memory memory_;
};

// How many matrices of `entries` entries go side by side: vectors long enough to hide the cost of
// calls, and a group that stays in the second-level cache.
inline size lanes_for(const field& f, size entries) {
  const size numbers = f.limbs * f.parts;
  const size lanes = std::min(256 / numbers, 131072 / (numbers * std::max<size>(entries, 1)));
  return std::max(lane_block, lanes / lane_block * lane_block);
}

}  // namespace linalg
}  // namespace mdla
