// SPDX-License-Identifier: BSD-3-Clause
// Householder reflectors, n of them side by side.
//
// H = I - tau v v^H with v[0] = 1 and H^H x = beta e_1. As in LAPACK beta is real and has the sign
// opposite to the real part of x[0], where zero counts as positive; tau = 0 (H = I) for an x that
// has this form already.
#pragma once

#include "numbers.hpp"

namespace mdla {
namespace linalg {

class reflector_maker {
 public:
  reflector_maker(const field& f, size lanes)
      : f_(f), lanes_(lanes), memory_(f.limbs * lanes * 3), one_(f.limbs) {
    one_.data()[0] = 1;
  }

  // From alpha = x[0], norm_squared = ||x||^2, and trivial[i] != 0 where tau shall be 0:
  // tau, beta and the factor 1 / (alpha - beta) that turns the tail of x into that of v.
  // x must be scaled so that nothing over- or underflows. norm_squared is overwritten.
  void make(size n, source_numbers alpha, result<double> norm_squared, const unsigned char* trivial,
            numbers tau, result<double> beta, numbers factor) {
    const vector_ops<double>& ops = f_.ops;
    const operand<double> one{one_.data(), 1, 0};
    const result<double> s{memory_.data(), lanes_}, d{memory_.data() + f_.limbs * lanes_, lanes_};
    for (size i = 0; i < n; ++i)
      if (trivial[i]) put(norm_squared, i, 1.0);
    ops.sqrt(n, s, norm_squared);
    for (size i = 0; i < n; ++i)
      if (alpha.p[i * alpha.step] < 0)
        for (int k = 0; k < f_.limbs; ++k)
          s.p[k * s.plane + i] = f_.negative(s.p[k * s.plane + i], k);
    // s = -beta; mu = alpha + s; tau = mu / s; factor = 1 / mu
    const numbers mu = factor;
    ops.add(n, mu.re(), alpha.re(), s);
    if (f_.parts == 1) {
      ops.div(n, tau.re(), mu.re(), s);
      ops.div(n, factor.re(), one, mu.re());
    } else {
      f_.copy_part(n, mu.im(), alpha.im());
      f_.div_real(n, tau, mu, s);
      ops.mul(n, d, mu.re(), mu.re());
      ops.mul_add(n, d, mu.im(), mu.im(), d);
      f_.div_real(n, factor, mu, d);
      f_.negate(n, factor.im());
    }
    for (int k = 0; k < f_.limbs; ++k)
      for (size i = 0; i < n; ++i)
        beta.p[k * beta.plane + i] = f_.negative(s.p[k * s.plane + i], k);
    for (size i = 0; i < n; ++i) {
      if (!trivial[i]) continue;
      for (int k = 0; k < f_.limbs; ++k) {
        beta.p[k * beta.plane + i] = alpha.p[k * alpha.plane + i * alpha.step];
        for (int c = 0; c < f_.parts; ++c) {
          tau.p[c * tau.part + k * tau.plane + i] = 0;
          factor.p[c * factor.part + k * factor.plane + i] = 0;
        }
      }
    }
  }

 private:
  void put(result<double> a, size i, double value) const {
    for (int k = 0; k < f_.limbs; ++k) a.p[k * a.plane + i] = k == 0 ? value : 0.0;
  }
  const field& f_;
  size lanes_;
  number_memory memory_, one_;
};

// The exponent e with 2^(e-1) <= largest < 2^e, kept where 2^e and 2^-e are normal; 0 for nothing
// to scale.
inline int exponent_above(double largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return 0;
  int e = 0;
  std::frexp(largest, &e);
  return std::max(-1000, std::min(1000, e));
}

}  // namespace linalg
}  // namespace mdla
