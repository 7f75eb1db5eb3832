// SPDX-License-Identifier: BSD-3-Clause
#include "condition.hpp"

#include <cmath>
#include <limits>

#include "numbers.hpp"

namespace mdla {
namespace {

using size = long long;

// Inverses of this order are formed explicitly.
constexpr size explicit_order = 48;

// The 1-norms of real and complex vectors differ from this by a factor of at most sqrt(2).
double size_of(double re, double im) { return std::fabs(re) + std::fabs(im); }

class estimator {
 public:
  explicit estimator(const double_triangle& r)
      : r_(r), n_(r.n), x_((std::size_t)n_), y_((std::size_t)n_) {}

  double norm() const {
    double most = 0;
    for (size j = 0; j < n_; ++j) {
      double sum = 0;
      for (size i = 0; i <= j; ++i) sum += size_of(re(i, j), im(i, j));
      if (!(sum <= most)) most = sum;
    }
    return most;
  }

  double inverse_norm() { return n_ <= explicit_order ? by_columns() : by_estimate(); }

 private:
  double re(size i, size j) const { return r_.re[(std::size_t)(j * n_ + i)]; }
  double im(size i, size j) const { return r_.im.empty() ? 0.0 : r_.im[(std::size_t)(j * n_ + i)]; }

  double by_columns() {
    double most = 0;
    for (size j = 0; j < n_; ++j) {
      unit(j);
      solve(j + 1);
      const double sum = length();
      if (!(sum <= most)) most = sum;
    }
    return most;
  }

  double by_estimate() {
    std::fill(x_.begin(), x_.end(), 1.0 / (double)n_);
    std::fill(y_.begin(), y_.end(), 0.0);
    solve(n_);
    double best = length();
    signs();
    solve_adjoint();
    size j = largest();
    for (int round = 0; round < 5; ++round) {
      unit(j);
      solve(n_);
      const double now = length();
      if (!(now > best)) break;
      best = now;
      signs();
      solve_adjoint();
      const size next = largest();
      if (size_of(x_[(std::size_t)next], y_[(std::size_t)next]) ==
          size_of(x_[(std::size_t)j], y_[(std::size_t)j]))
        break;
      j = next;
    }
    for (size i = 0; i < n_; ++i) {
      x_[(std::size_t)i] = (i % 2 ? -1.0 : 1.0) * (1.0 + (double)i / (double)(n_ - 1));
      y_[(std::size_t)i] = 0;
    }
    solve(n_);
    const double other = 2 * length() / (3 * (double)n_);
    return other > best || other != other ? other : best;
  }

  void unit(size j) {
    std::fill(x_.begin(), x_.end(), 0.0);
    std::fill(y_.begin(), y_.end(), 0.0);
    x_[(std::size_t)j] = 1;
  }
  double length() const {
    double sum = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) sum += size_of(x_[i], y_[i]);
    return sum;
  }
  void signs() {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double length = std::hypot(x_[i], y_[i]);
      const bool some = length > 0 && std::isfinite(length);
      x_[i] = some ? x_[i] / length : 1.0;
      y_[i] = some ? y_[i] / length : 0.0;
    }
  }
  size largest() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < x_.size(); ++i)
      if (size_of(x_[i], y_[i]) > size_of(x_[best], y_[best])) best = i;
    return (size)best;
  }
  void divide(size i, double a, double b) {
    double &x = x_[(std::size_t)i], &y = y_[(std::size_t)i];
    if (b == 0) {
      x /= a;
      y /= a;
      return;
    }
    const double s = std::max(std::fabs(a), std::fabs(b)), c = a / s, d = b / s;
    const double u = x / s, v = y / s, t = c * c + d * d;
    x = (u * c + v * d) / t;
    y = (v * c - u * d) / t;
  }
  // x <- R^-1 x, where x is zero from entry n on
  void solve(size n) {
    for (size j = n - 1; j >= 0; --j) {
      divide(j, re(j, j), im(j, j));
      const double x = x_[(std::size_t)j], y = y_[(std::size_t)j];
      for (size i = 0; i < j; ++i) {
        const double a = re(i, j), b = im(i, j);
        x_[(std::size_t)i] -= a * x - b * y;
        y_[(std::size_t)i] -= a * y + b * x;
      }
    }
  }
  // x <- R^-H x
  void solve_adjoint() {
    for (size j = 0; j < n_; ++j) {
      double x = x_[(std::size_t)j], y = y_[(std::size_t)j];
      for (size i = 0; i < j; ++i) {
        const double a = re(i, j), b = -im(i, j);
        x -= a * x_[(std::size_t)i] - b * y_[(std::size_t)i];
        y -= a * y_[(std::size_t)i] + b * x_[(std::size_t)i];
      }
      x_[(std::size_t)j] = x;
      y_[(std::size_t)j] = y;
      divide(j, re(j, j), -im(j, j));
    }
  }

  const double_triangle& r_;
  size n_;
  std::vector<double> x_, y_;
};

}  // namespace

double reciprocal_condition(const double_triangle& r) {
  if (r.n == 0) return 1;
  for (const std::vector<double>* part : {&r.re, &r.im})
    for (double x : *part)
      if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  for (size j = 0; j < r.n; ++j) {
    const std::size_t d = (std::size_t)(j * r.n + j);
    if (r.re[d] == 0 && (r.im.empty() || r.im[d] == 0)) return 0;
  }
  estimator e(r);
  const double rcond = 1 / e.norm() / e.inverse_norm();
  return rcond == rcond ? rcond : 0.0;
}

double reciprocal_condition(const planes_view<double>& r) {
  const linalg::matrix a(r);
  double_triangle t{a.rows, {}, {}};
  t.re.resize((std::size_t)(t.n * t.n));
  if (r.parts == 2) t.im.resize(t.re.size());
  for (size j = 0; j < t.n; ++j)
    for (size i = 0; i <= j; ++i) {
      t.re[(std::size_t)(j * t.n + i)] = *a.at(i, j);
      if (r.parts == 2) t.im[(std::size_t)(j * t.n + i)] = a.at(i, j)[a.part];
    }
  return reciprocal_condition(t);
}

}  // namespace mdla
