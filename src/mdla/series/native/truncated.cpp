// SPDX-License-Identifier: BSD-3-Clause
#include "truncated.hpp"

#include <cmath>

namespace mdla {

namespace {

// Where the parts of a factor lie, as numbers or prepared.
struct side {
  const double* part[2];
  size plane;
};

}  // namespace

void truncated_series::mul(numbers out, size length, const series_factor& a,
                           const series_factor& b) const {
  if (lanes_ == 1) clear(b.n, b.length, std::min(b.length + lane_block, up_to_block(length_)));
  const convolve_ops& ops = active_convolve_ops();
  const side as_numbers[2] = {{{a.n.p, a.n.p + a.n.part}, a.n.plane},
                              {{b.n.p, b.n.p + b.n.part}, b.n.plane}};
  side taken[2] = {as_numbers[0], as_numbers[1]};
  const auto prepare = [&](int which, const series_factor& factor) {
    const size n = lanes_ == 1 ? std::min(plane_, margin_ + up_to_block(factor.length) + lane_block)
                               : factor.length * lanes_;
    for (int c = 0; c < factor.parts; ++c) {
      double* to = prepared_.data() + (2 * which + c) * planes_ * plane_;
      ops.prepare[f_.limbs](n, to, plane_, factor.n.p + c * factor.n.part - margin_,
                            factor.n.plane);
      taken[which].part[c] = to + margin_;
    }
    taken[which].plane = plane_;
  };
  if (planes_) {
    prepare(0, a);
    prepare(1, b);
  }
  // Part `to` of the product, from parts a0 and b0, and a1 and b1 where there are two pairs.
  const auto part = [&](int to, int pairs, int a0, int b0, int a1, int b1, bool subtract) {
    const auto call = [&](const side(&s)[2]) {
      return convolution{out.p + to * out.part,
                         {s[0].part[a0], s[0].part[a1]},
                         {s[1].part[b0], s[1].part[b1]},
                         out.plane,
                         s[0].plane,
                         s[1].plane,
                         pairs,
                         subtract,
                         std::min(a.length, length),
                         std::min(b.length, length),
                         length,
                         lanes_};
    };
    if (!ops.convolve[f_.limbs](call(taken))) mul_anew(call(as_numbers));
  };
  const bool both = a.parts == 2 && b.parts == 2;
  part(0, both ? 2 : 1, 0, 0, 1, 1, true);
  if (both) {
    part(1, 2, 0, 1, 1, 0, false);
  } else if (a.parts == 2 || b.parts == 2) {
    part(1, 1, a.parts - 1, b.parts - 1, 0, 0, false);
  }
}

// Results that are not finite are formed once more by the textbook loop, whose operations know
// infinities.
void truncated_series::mul_anew(const convolution& c) const {
  for (size k = 0; k < c.length; ++k)
    for (size l = 0; l < c.lanes; ++l) {
      double* out = c.out + k * c.lanes + l;
      if (std::isfinite(*out)) continue;
      for (int j = 0; j < f_.limbs; ++j) out[j * c.out_plane] = 0.0;
      const result<double> sum{out, c.out_plane};
      for (size i = std::max<size>(0, k - c.b_length + 1); i <= std::min(k, c.a_length - 1); ++i)
        for (int pair = 0; pair < c.pairs; ++pair) {
          const operand<double> x{c.a[pair] + i * c.lanes + l, c.a_plane, 1};
          const operand<double> y{c.b[pair] + (k - i) * c.lanes + l, c.b_plane, 1};
          (pair == 1 && c.subtract ? f_.ops.mul_sub : f_.ops.mul_add)(1, sum, x, y, sum);
        }
    }
}

}  // namespace mdla
