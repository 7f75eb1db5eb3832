// SPDX-License-Identifier: BSD-3-Clause
// Truncated power series in memory of their own, and their products.
#pragma once

#include "convolve_ops.hpp"
#include "numbers.hpp"

namespace mdla {

using linalg::field;
using linalg::lane_block;
using linalg::numbers;
using linalg::source_numbers;
using linalg::up_to_block;
using size = long long;

// A factor: coefficients from `length` on are zero, whatever lies there.
struct series_factor {
  numbers n;
  int parts;
  size length;
};

// Series with up to `length` coefficients, one of them or a multiple of 8 side by side: number k of
// lane l lies at k * lanes + l. One series has room for vectors that reach beyond its ends.
class truncated_series {
 public:
  truncated_series(const field& f, size length, size lanes)
      : f_(f),
        length_(length),
        lanes_(lanes),
        margin_(lanes == 1 ? lane_block : 0),
        plane_(margin_ + up_to_block(length * lanes)),
        planes_(active_convolve_ops().prepared_planes[f.limbs]),
        prepared_(4 * planes_ * plane_) {}

  size length() const { return length_; }
  size lanes() const { return lanes_; }
  // Doubles that one takes.
  size room() const { return plane_ * f_.parts * f_.limbs; }
  numbers over(double* p) const { return {p + margin_, plane_, plane_ * f_.limbs}; }

  // Coefficients from .. to become zero.
  void clear(numbers a, size from, size to) const {
    for (int c = 0; c < f_.parts; ++c)
      for (int k = 0; k < f_.limbs; ++k)
        std::fill(a.p + c * a.part + k * a.plane + from * lanes_,
                  a.p + c * a.part + k * a.plane + to * lanes_, 0.0);
  }

  // The first coefficients of a b, see convolve.hpp; the zeros that b lacks are written behind it.
  // out is neither a nor b. It has two parts where one of the factors has.
  void mul(numbers out, size length, const series_factor& a, const series_factor& b) const;

 private:
  void mul_anew(const convolution& c) const;

  const field& f_;
  size length_, lanes_, margin_, plane_;
  // Room for the parts of two prepared factors.
  size planes_;
  linalg::number_memory prepared_;
};

}  // namespace mdla
