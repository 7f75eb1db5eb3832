// SPDX-License-Identifier: BSD-3-Clause
#include "elementwise.hpp"

#include <algorithm>
#include <cmath>

#include "blocks.hpp"

namespace mdla {
namespace {

// Everything that one block of a complex operation needs.
template <class R>
struct block {
  const vector_ops<R>& ops;
  size n;
  result<R> re, im;
};

template <class R>
void negate(size n, int limbs, result<R> out, operand<R> a) {
  for (size i = 0; i < n; ++i) out.p[i] = -a.p[i * a.step];
  for (int k = 1; k < limbs; ++k)
    for (size i = 0; i < n; ++i) out.p[k * out.plane + i] = R(0) - a.p[k * a.plane + i * a.step];
}

template <class R>
void copy(size n, int limbs, result<R> out, operand<R> a) {
  for (int k = 0; k < limbs; ++k)
    for (size i = 0; i < n; ++i) out.p[k * out.plane + i] = a.p[k * a.plane + i * a.step];
}

template <class R>
void absolute(size n, int limbs, result<R> out, operand<R> a) {
  for (size i = 0; i < n; ++i) {
    const R lead = a.p[i * a.step];
    out.p[i] = std::fabs(lead);
    for (int k = 1; k < limbs; ++k) {
      const R v = a.p[k * a.plane + i * a.step];
      out.p[k * out.plane + i] = lead < 0 ? R(0) - v : v;
    }
  }
}

// factor[i] = 2^-e with e the exponent of the larger of |a|, |b|; 1 where that is 0 or not finite.
// Even exponents only, so that a square root can undo it.
template <class R>
void common_scale(size n, R* factor, operand<R> a, operand<R> b) {
  for (size i = 0; i < n; ++i) {
    const R m = std::max(std::fabs(a.p[i * a.step]), std::fabs(b.p[i * b.step]));
    int e = 0;
    if (m > 0 && std::isfinite(m)) std::frexp(m, &e);
    e &= ~1;
    const int most = sizeof(R) == 8 ? 1020 : 124;
    factor[i] = std::ldexp(R(1), -std::max(-most, std::min(most, e)));
  }
}

template <class R>
void times_power(size n, int limbs, result<R> out, operand<R> a, const R* factor) {
  for (int k = 0; k < limbs; ++k)
    for (size i = 0; i < n; ++i)
      out.p[k * out.plane + i] = a.p[k * a.plane + i * a.step] * factor[i];
}

template <class R>
void over_power(size n, int limbs, result<R> out, const R* factor) {
  for (int k = 0; k < limbs; ++k)
    for (size i = 0; i < n; ++i) out.p[k * out.plane + i] /= factor[i];
}

// (a + ib)(c + id): each part is a sum of two products, errors at most eps (|z| |w|) per part.
template <class R>
void complex_mul(block<R> z, operand<R> a, operand<R> b, operand<R> c, operand<R> d) {
  scratch<R> t(z.ops.limbs, z.n);
  z.ops.mul(z.n, t, a, c);
  z.ops.mul_sub(z.n, z.re, b, d, t);
  z.ops.mul(z.n, t, a, d);
  z.ops.mul_add(z.n, z.im, b, c, t);
}

// |a + ib| = sqrt(a^2 + b^2) after exact scaling.
template <class R>
void complex_abs(const vector_ops<R>& ops, size n, result<R> out, operand<R> a, operand<R> b) {
  std::vector<R> f((std::size_t)n);
  scratch<R> x(ops.limbs, n), y(ops.limbs, n), t(ops.limbs, n);
  common_scale(n, f.data(), a, b);
  times_power<R>(n, ops.limbs, x, a, f.data());
  times_power<R>(n, ops.limbs, y, b, f.data());
  ops.mul(n, t, x, x);
  ops.mul_add(n, t, y, y, t);
  ops.sqrt(n, out, t);
  over_power<R>(n, ops.limbs, out, f.data());
  for (size i = 0; i < n; ++i) {
    if (std::isinf(a.p[i * a.step]) || std::isinf(b.p[i * b.step])) {
      out.p[i] = R(INFINITY);
      for (int k = 1; k < ops.limbs; ++k) out.p[k * out.plane + i] = 0;
    }
  }
}

// (a + ib) / (c + id) = (a + ib)(c - id) / (c^2 + d^2), numerator and denominator scaled by powers
// of two so that nothing over- or underflows on the way; error at most 4 eps |quotient|.
template <class R>
void complex_div(block<R> z, operand<R> a, operand<R> b, operand<R> c, operand<R> d) {
  const vector_ops<R>& ops = z.ops;
  std::vector<R> f((std::size_t)z.n), g((std::size_t)z.n);
  scratch<R> x(ops.limbs, z.n), y(ops.limbs, z.n), u(ops.limbs, z.n), v(ops.limbs, z.n);
  scratch<R> t(ops.limbs, z.n), den(ops.limbs, z.n);
  common_scale(z.n, g.data(), a, b);
  common_scale(z.n, f.data(), c, d);
  times_power<R>(z.n, ops.limbs, x, a, g.data());
  times_power<R>(z.n, ops.limbs, y, b, g.data());
  times_power<R>(z.n, ops.limbs, u, c, f.data());
  times_power<R>(z.n, ops.limbs, v, d, f.data());
  ops.mul(z.n, den, u, u);
  ops.mul_add(z.n, den, v, v, den);
  ops.mul(z.n, t, x, u);
  ops.mul_add(z.n, t, y, v, t);
  ops.div(z.n, z.re, t, den);
  ops.mul(z.n, t, y, u);
  ops.mul_sub(z.n, t, x, v, t);
  ops.div(z.n, z.im, t, den);
  for (result<R> part : {z.re, z.im}) {
    // The larger factor first, so that no limb is lost on the way to a moderate result.
    for (int k = 0; k < ops.limbs; ++k)
      for (size i = 0; i < z.n; ++i) {
        const R up = f[(std::size_t)i], down = R(1) / g[(std::size_t)i];
        R& r = part.p[k * part.plane + i];
        r = r * std::max(up, down) * std::min(up, down);
      }
  }
}

// Principal root: t = sqrt((|z| + |a|) / 2), then (t, b / 2t) or (|b| / 2t, +-t) by the sign of a.
template <class R>
void complex_sqrt(block<R> z, operand<R> a, operand<R> b) {
  const vector_ops<R>& ops = z.ops;
  const int limbs = ops.limbs;
  std::vector<R> f((std::size_t)z.n), root_f((std::size_t)z.n);
  scratch<R> x(limbs, z.n), y(limbs, z.n), t(limbs, z.n), m(limbs, z.n), q(limbs, z.n);
  common_scale(z.n, f.data(), a, b);
  for (size i = 0; i < z.n; ++i) {
    f[(std::size_t)i] *= R(0.25);  // |z| stays below 1 / 2: the halving below is this factor
    root_f[(std::size_t)i] = std::sqrt(f[(std::size_t)i]);
  }
  times_power<R>(z.n, limbs, x, a, f.data());
  times_power<R>(z.n, limbs, y, b, f.data());
  complex_abs<R>(ops, z.n, m, x, y);
  absolute<R>(z.n, limbs, t, x);
  ops.add(z.n, m, m, t);
  std::vector<R> half((std::size_t)z.n, R(0.5));
  times_power<R>(z.n, limbs, m, m, half.data());
  ops.sqrt(z.n, t, m);
  times_power<R>(z.n, limbs, m, y, half.data());
  ops.div(z.n, q, m, t);
  for (size i = 0; i < z.n; ++i) {
    const R lead = x.limb(0)[i], imag = y.limb(0)[i];
    const bool zero = lead == 0 && imag == 0;
    const bool left = lead < 0;
    const R s = std::signbit(imag) ? R(-1) : R(1);
    for (int k = 0; k < limbs; ++k) {
      const R tk = t.limb(k)[i], qk = zero ? y.limb(k)[i] : q.limb(k)[i];
      R re = left ? s * qk : tk, im = left ? s * tk : qk;
      const R rf = root_f[(std::size_t)i];
      re /= rf;
      im /= rf;
      z.re.p[k * z.re.plane + i] = k > 0 ? re + R(0) : re;
      z.im.p[k * z.im.plane + i] = k > 0 ? im + R(0) : im;
    }
  }
}

enum class operation { add, sub, mul, div, fma, sqrt, abs, neg };

struct named_operation {
  const char* name;
  operation op;
  std::size_t operands;
};
constexpr named_operation operations[] = {
    {"add", operation::add, 2}, {"sub", operation::sub, 2}, {"mul", operation::mul, 2},
    {"div", operation::div, 2}, {"fma", operation::fma, 3}, {"sqrt", operation::sqrt, 1},
    {"abs", operation::abs, 1}, {"neg", operation::neg, 1},
};

operation find_operation(const std::string& name, std::size_t operands) {
  for (const auto& o : operations)
    if (name == o.name && operands == o.operands) return o.op;
  throw bad_operands{"no elementwise operation '" + name + "' of " + std::to_string(operands) +
                     " operands"};
}

template <class R>
class evaluation {
 public:
  evaluation(operation op, planes_view<R> out, std::vector<planes_view<R>> operands)
      : op_(op), out_(out), views_(std::move(operands)), ops_(vector_ops_for<R>(out_.limbs)) {
    if (!ops_) throw bad_operands{"no arithmetic for " + std::to_string(out_.limbs) + " limbs"};
    coalesce<R>({&out_}, views_.data(), (int)views_.size());
    for (const auto& v : views_) complex_ = complex_ || v.parts == 2;
    if (out_.parts != (complex_ && op_ != operation::abs ? 2 : 1))
      throw bad_operands{"the result has the wrong number of parts"};
  }

  void run() {
    if (out_.size() == 0) return;
    const double work = (double)out_.size() * out_.limbs * out_.limbs;
    for_each_block(out_.shape, block_length(out_.limbs), work, [&] {
      std::vector<reader<R>> readers;
      readers.reserve(views_.size());
      for (const auto& v : views_) readers.emplace_back(v, out_.limbs);
      return [this, readers = std::move(readers)](size start, size n) mutable {
        one_block(readers, start, n);
      };
    });
  }

 private:
  result<R> destination(int part, size start) const {
    return {out_.p + part * out_.part_stride + start, out_.limb_stride};
  }

  void one_block(std::vector<reader<R>>& x, size start, size n) const {
    const result<R> re = destination(0, start);
    if (!complex_) {
      std::vector<operand<R>> a;
      if ((op_ == operation::add || op_ == operation::mul) && lane_block(x, re, start, n)) return;
      for (auto& r : x) a.push_back(r.block(0, start, n));
      real(n, re, a);
      return;
    }
    // Parts are read through copies of the readers, since a reader owns one buffer.
    std::vector<reader<R>> y(x);
    std::vector<scratch<R>> zeros;
    std::vector<operand<R>> parts_re, parts_im;
    for (std::size_t i = 0; i < x.size(); ++i) {
      parts_re.push_back(x[i].block(0, start, n));
      if (x[i].parts() == 2) {
        parts_im.push_back(y[i].block(1, start, n));
      } else {
        if (zeros.empty()) zeros.emplace_back(ops_->limbs, n);
        parts_im.push_back(zeros.back());
      }
    }
    complex(n, re, start, x, parts_re, parts_im);
  }

  // add and mul with an operand of one limb take the shorter kernels.
  bool lane_block(std::vector<reader<R>>& x, result<R> re, size start, size n) const {
    if (out_.limbs == 1 || x[0].limbs() == x[1].limbs()) return false;
    const int lane = x[0].limbs() == 1 ? 0 : 1;
    reader<R> one(views_[(std::size_t)lane], 1);
    const operand<R> a = x[(std::size_t)(1 - lane)].block(0, start, n), b = one.block(0, start, n);
    (op_ == operation::add ? ops_->add_lane : ops_->mul_lane)(n, re, a, b);
    return true;
  }

  void real(size n, result<R> out, const std::vector<operand<R>>& a) const {
    if (op_ == operation::add) return ops_->add(n, out, a[0], a[1]);
    if (op_ == operation::sub) return ops_->sub(n, out, a[0], a[1]);
    if (op_ == operation::mul) return ops_->mul(n, out, a[0], a[1]);
    if (op_ == operation::div) return ops_->div(n, out, a[0], a[1]);
    if (op_ == operation::fma) return ops_->fma(n, out, a[0], a[1], a[2]);
    if (op_ == operation::sqrt) return ops_->sqrt(n, out, a[0]);
    if (op_ == operation::abs) return absolute(n, ops_->limbs, out, a[0]);
    negate(n, ops_->limbs, out, a[0]);
  }

  void complex(size n, result<R> re, size start, const std::vector<reader<R>>& x,
               const std::vector<operand<R>>& a, const std::vector<operand<R>>& b) const {
    if (op_ == operation::abs) return complex_abs(*ops_, n, re, a[0], b[0]);
    const result<R> im = destination(1, start);
    const block<R> z{*ops_, n, re, im};
    if (op_ == operation::add || op_ == operation::sub || op_ == operation::neg) {
      real(n, re, a);
      real(n, im, b);
    } else if (op_ == operation::mul && x[0].parts() != x[1].parts()) {
      const std::size_t real_one = x[0].parts() == 1 ? 0 : 1;
      ops_->mul(n, re, a[1 - real_one], a[real_one]);
      ops_->mul(n, im, b[1 - real_one], a[real_one]);
    } else if (op_ == operation::mul) {
      complex_mul(z, a[0], b[0], a[1], b[1]);
    } else if (op_ == operation::div && x[1].parts() == 1) {
      ops_->div(n, re, a[0], a[1]);
      ops_->div(n, im, b[0], a[1]);
    } else if (op_ == operation::div) {
      complex_div(z, a[0], b[0], a[1], b[1]);
    } else if (op_ == operation::sqrt) {
      complex_sqrt(z, a[0], b[0]);
    } else {
      // fma: each part two fused steps
      scratch<R> t(ops_->limbs, n), minus(ops_->limbs, n);
      negate<R>(n, ops_->limbs, minus, b[0]);
      ops_->fma(n, t, a[0], a[1], a[2]);
      ops_->fma(n, re, minus, b[1], t);
      ops_->fma(n, t, a[0], b[1], b[2]);
      ops_->fma(n, im, b[0], a[1], t);
    }
  }

  operation op_;
  planes_view<R> out_;
  std::vector<planes_view<R>> views_;
  const vector_ops<R>* ops_ = nullptr;
  bool complex_ = false;
};

// Distillation: order by magnitude and add exactly until no limb changes, then take N limbs from
// the top. Scalar and rare.
template <class R>
void normalize_one(std::vector<R>& w, int limbs, R* out, size plane) {
  const int n = (int)w.size();
  R plain = 0;
  for (R v : w) plain += v;
  bool finite = std::isfinite(plain);
  for (R v : w) finite = finite && std::isfinite(v);
  if (!finite) {
    out[0] = plain;
    for (int k = 1; k < limbs; ++k) out[k * plane] = 0;
    return;
  }
  for (bool changed = true; changed;) {
    std::stable_sort(w.begin(), w.end(), [](R a, R b) { return std::fabs(a) > std::fabs(b); });
    changed = false;
    for (int i = n - 2; i >= 0; --i) {
      const R s = w[i] + w[i + 1], bb = s - w[i];
      const R e = (w[i] - (s - bb)) + (w[i + 1] - bb);
      changed = changed || s != w[i];
      w[i] = s;
      w[i + 1] = e;
    }
  }
  // Each limb now changes nothing above it, so it is at most half an ulp of the one before; a limb
  // that is exactly half is moved to the side where the rest of the number lies. Below such a limb
  // nothing is moved: the limb would grow beyond half an ulp, or its own ulp shrink.
  bool tied = false;
  for (int i = 0; i + 2 < n; ++i) {
    const R twice = w[i + 1] + w[i + 1];
    const bool tie = w[i + 1] != 0 && (w[i] + twice) - w[i] == twice;
    if (tie && !tied && w[i + 2] != 0 && (w[i + 2] > 0) == (w[i + 1] > 0)) {
      w[i] += twice;
      w[i + 1] = -w[i + 1];
    }
    tied = tie;
  }
  for (int k = 0; k < limbs; ++k) out[k * plane] = k < n ? w[k] + R(0) : R(0);
}

}  // namespace

template <class R>
void elementwise(const std::string& name, planes_view<R> out,
                 std::vector<planes_view<R>> operands) {
  const operation op = find_operation(name, operands.size());
  evaluation<R>(op, out, std::move(operands)).run();
}

template <class R>
void compare_signs(signed char* sign, planes_view<R> a, planes_view<R> b) {
  coalesce<R>({&a, &b});
  const int limbs = std::max(a.limbs, b.limbs);
  const vector_ops<R>* ops = vector_ops_for<R>(limbs);
  if (!ops) throw bad_operands{"no arithmetic for " + std::to_string(limbs) + " limbs"};
  const size total = a.size(), length = block_length(limbs);
  reader<R> x(a, limbs), y(b, limbs);
  for (size start = 0; start < total; start += length) {
    const size n = std::min(length, total - start);
    ops->compare(n, sign + start, x.block(0, start, n), y.block(0, start, n));
  }
}

template <class R>
void normalize(planes_view<R> out, planes_view<R> a) {
  coalesce<R>({&out, &a});
  const size total = out.size();
  std::vector<R> w;
  for (int part = 0; part < out.parts; ++part) {
    reader<R> x(a, a.limbs);
    for (size start = 0; start < total; start += 256) {
      const size n = std::min<size>(256, total - start);
      const operand<R> from = x.block(part, start, n);
      for (size i = 0; i < n; ++i) {
        w.clear();
        for (int k = 0; k < a.limbs; ++k) w.push_back(from.p[k * from.plane + i * from.step]);
        normalize_one(w, out.limbs, out.p + part * out.part_stride + start + i, out.limb_stride);
      }
    }
  }
}

template void elementwise<double>(const std::string&, planes_view<double>,
                                  std::vector<planes_view<double>>);
template void elementwise<float>(const std::string&, planes_view<float>,
                                 std::vector<planes_view<float>>);
template void compare_signs<double>(signed char*, planes_view<double>, planes_view<double>);
template void compare_signs<float>(signed char*, planes_view<float>, planes_view<float>);
template void normalize<double>(planes_view<double>, planes_view<double>);
template void normalize<float>(planes_view<float>, planes_view<float>);

}  // namespace mdla
