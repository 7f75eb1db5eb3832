// SPDX-License-Identifier: BSD-3-Clause
#include "truncated.hpp"

#include <cmath>

namespace mdla {

void truncated_series::mul(numbers out, size length, const series_factor& a,
                           const series_factor& b) const {
  if (lanes_ == 1) clear(b.n, b.length, std::min(b.length + lane_block, up_to_block(length_)));
  convolution c{};
  c.out_plane = out.plane;
  c.a_plane = a.n.plane;
  c.b_plane = b.n.plane;
  c.a_length = std::min(a.length, length);
  c.b_length = std::min(b.length, length);
  c.length = length;
  c.lanes = lanes_;
  const double *ar = a.n.p, *ai = a.n.p + a.n.part, *br = b.n.p, *bi = b.n.p + b.n.part;
  const auto part = [&](double* to, int pairs, const double* a0, const double* b0, const double* a1,
                        const double* b1, bool subtract) {
    c.out = to;
    c.pairs = pairs;
    c.a[0] = a0;
    c.b[0] = b0;
    c.a[1] = a1;
    c.b[1] = b1;
    c.subtract = subtract;
    mul_part(c);
  };
  const bool both = a.parts == 2 && b.parts == 2;
  part(out.p, both ? 2 : 1, ar, br, ai, bi, true);
  if (both) {
    part(out.p + out.part, 2, ar, bi, ai, br, false);
  } else if (b.parts == 2) {
    part(out.p + out.part, 1, ar, bi, nullptr, nullptr, false);
  } else if (a.parts == 2) {
    part(out.p + out.part, 1, ai, br, nullptr, nullptr, false);
  }
}

void truncated_series::mul_part(convolution& c) const {
  if (f_.limbs > convolve_ops::most_limbs) {
    mul_with_ops(c);
  } else if (!active_convolve_ops().convolve[f_.limbs](c)) {
    mul_anew(c);
  }
}

// n sums += the terms of one a (repeated, or neighbours) and neighbours of b.
void truncated_series::add_term(const convolution& c, size n, double* out, size at_a, size step_a,
                                size at_b) const {
  const result<double> sum{out, c.out_plane};
  for (int pair = 0; pair < c.pairs; ++pair) {
    const operand<double> a{c.a[pair] + at_a, c.a_plane, step_a}, b{c.b[pair] + at_b, c.b_plane, 1};
    (pair == 1 && c.subtract ? f_.ops.mul_sub : f_.ops.mul_add)(n, sum, a, b, sum);
  }
}

// The textbook loop.
void truncated_series::mul_with_ops(const convolution& c) const {
  for (int j = 0; j < f_.limbs; ++j) std::fill_n(c.out + j * c.out_plane, c.length * c.lanes, 0.0);
  if (c.lanes == 1) {
    for (size i = 0; i < c.a_length; ++i)
      add_term(c, std::min(c.length - i, c.b_length), c.out + i, i, 0, 0);
  } else {
    for (size k = 0; k < c.length; ++k)
      for (size i = std::max<size>(0, k - c.b_length + 1); i <= std::min(k, c.a_length - 1); ++i)
        add_term(c, c.lanes, c.out + k * c.lanes, i * c.lanes, 1, (k - i) * c.lanes);
  }
}

// Results that running sums have not as finite numbers, by the textbook loop, whose operations know
// infinities.
void truncated_series::mul_anew(const convolution& c) const {
  for (size k = 0; k < c.length; ++k)
    for (size l = 0; l < c.lanes; ++l) {
      double* out = c.out + k * c.lanes + l;
      if (std::isfinite(*out)) continue;
      for (int j = 0; j < f_.limbs; ++j) out[j * c.out_plane] = 0.0;
      for (size i = std::max<size>(0, k - c.b_length + 1); i <= std::min(k, c.a_length - 1); ++i)
        add_term(c, 1, out, i * c.lanes + l, 1, (k - i) * c.lanes + l);
    }
}

}  // namespace mdla
