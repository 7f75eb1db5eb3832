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

// A vector in doubles; im is empty for a real one.
struct double_vector {
  std::vector<double> re, im;

  double_vector(size n, bool is_complex)
      : re((std::size_t)n), im(is_complex ? (std::size_t)n : 0) {}
  void fill(double value) {
    std::fill(re.begin(), re.end(), value);
    std::fill(im.begin(), im.end(), 0.0);
  }
  double size_at(std::size_t i) const { return size_of(re[i], im.empty() ? 0.0 : im[i]); }
  double length() const {
    double sum = 0;
    for (std::size_t i = 0; i < re.size(); ++i) sum += size_at(i);
    return sum;
  }
};

// x[first, last) -= a t, column j of a matrix.
void subtract_column(double_vector& x, const double_triangle& a, size j, size first, size last) {
  const double* re = a.re.data() + j * a.n;
  const double t = x.re[(std::size_t)j];
  double* to = x.re.data();
  if (a.im.empty()) {
    for (size i = first; i < last; ++i) to[i] -= re[i] * t;
    return;
  }
  const double* im = a.im.data() + j * a.n;
  const double u = x.im[(std::size_t)j];
  double* and_to = x.im.data();
  for (size i = first; i < last; ++i) {
    to[i] -= re[i] * t - im[i] * u;
    and_to[i] -= re[i] * u + im[i] * t;
  }
}

// x[j] -= sum over i in [first, last) of conj(a_ij) x_i
void subtract_dot(double_vector& x, const double_triangle& a, size j, size first, size last) {
  const double* re = a.re.data() + j * a.n;
  const double* from = x.re.data();
  // In four sums, or each addition would wait for the one before.
  double sum[4] = {0, 0, 0, 0}, other[4] = {0, 0, 0, 0};
  if (a.im.empty()) {
    for (size i = first; i < last; ++i) sum[i & 3] += re[i] * from[i];
  } else {
    const double* im = a.im.data() + j * a.n;
    const double* and_from = x.im.data();
    for (size i = first; i < last; ++i) {
      sum[i & 3] += re[i] * from[i] + im[i] * and_from[i];
      other[i & 3] += re[i] * and_from[i] - im[i] * from[i];
    }
    x.im[(std::size_t)j] -= (other[0] + other[1]) + (other[2] + other[3]);
  }
  x.re[(std::size_t)j] -= (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// x[j] /= a + i b
void divide(double_vector& x, size j, double a, double b) {
  double& p = x.re[(std::size_t)j];
  if (x.im.empty()) {
    p /= a;
    return;
  }
  double& q = x.im[(std::size_t)j];
  const double s = std::max(std::fabs(a), std::fabs(b)), c = a / s, d = b / s;
  const double u = p / s, v = q / s, t = c * c + d * d;
  p = (u * c + v * d) / t;
  q = (v * c - u * d) / t;
}

// Systems with R, x <- R^-1 x and x <- R^-H x, in place.
class upper_systems {
 public:
  explicit upper_systems(const double_triangle& r) : r_(r) {}
  const double_triangle& factors() const { return r_; }

  void solve(double_vector& x) const { solve_first(x, r_.n); }
  void solve_unit(double_vector& x, size j) const { solve_first(x, j + 1); }
  void solve_adjoint(double_vector& x) const {
    for (size j = 0; j < r_.n; ++j) {
      subtract_dot(x, r_, j, 0, j);
      divide(x, j, diagonal(r_.re, j), -diagonal(r_.im, j));
    }
  }

 protected:
  // Where x is zero from entry n on.
  void solve_first(double_vector& x, size n) const {
    for (size j = n - 1; j >= 0; --j) {
      divide(x, j, diagonal(r_.re, j), diagonal(r_.im, j));
      subtract_column(x, r_, j, 0, j);
    }
  }
  double diagonal(const std::vector<double>& part, size j) const {
    return part.empty() ? 0.0 : part[(std::size_t)(j * r_.n + j)];
  }
  const double_triangle& r_;
};

// Systems with L R, the multipliers of L below the diagonal of R.
class lu_systems : public upper_systems {
 public:
  using upper_systems::upper_systems;

  void solve(double_vector& x) const { solve_unit(x, 0); }
  void solve_unit(double_vector& x, size first) const {
    for (size j = first; j < r_.n; ++j) subtract_column(x, r_, j, j + 1, r_.n);
    solve_first(x, r_.n);
  }
  void solve_adjoint(double_vector& x) const {
    upper_systems::solve_adjoint(x);
    for (size j = r_.n - 1; j >= 0; --j) subtract_dot(x, r_, j, j + 1, r_.n);
  }
};

double upper_norm(const double_triangle& r) {
  double most = 0;
  for (size j = 0; j < r.n; ++j) {
    double sum = 0;
    for (size i = 0; i <= j; ++i) {
      const std::size_t at = (std::size_t)(j * r.n + i);
      sum += size_of(r.re[at], r.im.empty() ? 0.0 : r.im[at]);
    }
    if (!(sum <= most)) most = sum;
  }
  return most;
}

// The 1-norm of the inverse.
template <class Systems>
class estimator {
 public:
  explicit estimator(const Systems& systems)
      : systems_(systems), n_(systems.factors().n), x_(n_, !systems.factors().im.empty()) {}

  double inverse_norm() { return n_ <= explicit_order ? by_columns() : by_estimate(); }

 private:
  double by_columns() {
    double most = 0;
    for (size j = 0; j < n_; ++j) {
      unit(j);
      systems_.solve_unit(x_, j);
      const double sum = x_.length();
      if (!(sum <= most)) most = sum;
    }
    return most;
  }

  double by_estimate() {
    x_.fill(1.0 / (double)n_);
    systems_.solve(x_);
    double best = x_.length();
    signs();
    systems_.solve_adjoint(x_);
    std::size_t j = largest();
    for (int round = 0; round < 5; ++round) {
      unit((size)j);
      systems_.solve_unit(x_, (size)j);
      const double now = x_.length();
      if (!(now > best)) break;
      best = now;
      signs();
      systems_.solve_adjoint(x_);
      const std::size_t next = largest();
      if (x_.size_at(next) == x_.size_at(j)) break;
      j = next;
    }
    x_.fill(0);
    for (size i = 0; i < n_; ++i)
      x_.re[(std::size_t)i] = (i % 2 ? -1.0 : 1.0) * (1.0 + (double)i / (double)(n_ - 1));
    systems_.solve(x_);
    const double other = 2 * x_.length() / (3 * (double)n_);
    return other > best || other != other ? other : best;
  }

  void unit(size j) {
    x_.fill(0);
    x_.re[(std::size_t)j] = 1;
  }
  void signs() {
    for (std::size_t i = 0; i < x_.re.size(); ++i) {
      const double im = x_.im.empty() ? 0.0 : x_.im[i];
      const double length = x_.im.empty() ? std::fabs(x_.re[i]) : std::hypot(x_.re[i], im);
      const bool some = length > 0 && std::isfinite(length);
      x_.re[i] = some ? x_.re[i] / length : 1.0;
      if (!x_.im.empty()) x_.im[i] = some ? im / length : 0.0;
    }
  }
  std::size_t largest() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < x_.re.size(); ++i)
      if (x_.size_at(i) > x_.size_at(best)) best = i;
    return best;
  }

  Systems systems_;
  size n_;
  double_vector x_;
};

bool is_finite(const double_triangle& r) {
  for (const std::vector<double>* part : {&r.re, &r.im})
    for (double x : *part)
      if (!std::isfinite(x)) return false;
  return true;
}

bool has_zero_pivot(const double_triangle& r) {
  for (size j = 0; j < r.n; ++j) {
    const std::size_t d = (std::size_t)(j * r.n + j);
    if (r.re[d] == 0 && (r.im.empty() || r.im[d] == 0)) return true;
  }
  return false;
}

template <class Systems>
double reciprocal(const double_triangle& r, double norm) {
  if (r.n == 0) return 1;
  if (!is_finite(r) || !std::isfinite(norm)) return std::numeric_limits<double>::quiet_NaN();
  if (has_zero_pivot(r)) return 0;
  const double rcond = 1 / norm / estimator<Systems>(Systems(r)).inverse_norm();
  return rcond == rcond ? rcond : 0.0;
}

// The leading limbs column by column, from blocks of whole cache lines.
double_triangle leading_limbs(const planes_view<double>& planes) {
  const linalg::matrix a(planes);
  double_triangle t{a.rows, {}, {}};
  t.re.resize((std::size_t)(t.n * t.n));
  if (planes.parts == 2) t.im.resize(t.re.size());
  constexpr size block = linalg::lane_block;
  for (size j0 = 0; j0 < t.n; j0 += block)
    for (size i = 0; i < t.n; ++i)
      for (size j = j0; j < std::min(t.n, j0 + block); ++j) {
        t.re[(std::size_t)(j * t.n + i)] = *a.at(i, j);
        if (planes.parts == 2) t.im[(std::size_t)(j * t.n + i)] = a.at(i, j)[a.part];
      }
  return t;
}

}  // namespace

double reciprocal_condition(const double_triangle& r) {
  return reciprocal<upper_systems>(r, upper_norm(r));
}

double reciprocal_condition_lu(const double_triangle& factors, double norm) {
  return reciprocal<lu_systems>(factors, norm);
}

double reciprocal_condition(const planes_view<double>& r) {
  return reciprocal_condition(leading_limbs(r));
}

double reciprocal_condition_lu(const planes_view<double>& factors, double norm) {
  double_triangle t = leading_limbs(factors);
  return reciprocal_condition_lu(t, norm);
}

}  // namespace mdla
