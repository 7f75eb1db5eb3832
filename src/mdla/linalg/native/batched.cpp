// SPDX-License-Identifier: BSD-3-Clause
#include "batched.hpp"

#include <cmath>
#include <vector>

#include "condition.hpp"
#include "lanes.hpp"
#include "reflector.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

using namespace linalg;

// The factorisation of one group of matrices, with more columns behind them if there are right-hand
// sides. As in LAPACK the reflectors replace what lies below the diagonal.
class group {
 public:
  group(const field& f, size m, size n, size more, size lanes)
      : f_(f),
        m_(m),
        n_(n),
        k_(std::min(m, n)),
        more_(more),
        lanes_(lanes),
        a_(f, m, n + more, lanes),
        tau_(f, 1, std::max<size>(k_, 1), lanes),
        x_(f, std::max<size>(m, 1), 1, lanes),
        scalars_(f, 3, 1, lanes),
        norm_(f.limbs * lanes),
        maker_(f, lanes),
        trivial_((std::size_t)lanes),
        column_exponents_((std::size_t)(n * lanes)) {}

  void load(const matrix_stack& a, size begin, size count) {
    clear(a_, 0, n_ + more_);
    a_.load(a, begin, count, 0);
  }
  void load_right_sides(const matrix_stack& b, size begin, size count) {
    a_.load(b, begin, count, n_);
  }
  const lane_matrix& matrices() const { return a_; }
  const lane_matrix& coefficients() const { return tau_; }

  // Rows to a largest entry in [1/2, 1), with the right-hand sides.
  void scale_rows() {
    std::vector<double> most((std::size_t)lanes_), factor((std::size_t)lanes_);
    for (size i = 0; i < m_; ++i) {
      std::fill(most.begin(), most.end(), 0.0);
      for (size j = 0; j < n_; ++j) take_largest(most, a_(i, j));
      for (size l = 0; l < lanes_; ++l)
        factor[(std::size_t)l] = std::ldexp(1.0, -exponent_above(most[(std::size_t)l]));
      for (size j = 0; j < n_ + more_; ++j) f_.scale(lanes_, a_(i, j), a_(i, j), factor.data(), 1);
    }
  }
  // Columns likewise; the exponents are kept.
  void scale_columns() {
    std::vector<double> most((std::size_t)lanes_);
    for (size j = 0; j < n_; ++j) {
      std::fill(most.begin(), most.end(), 0.0);
      for (size i = 0; i < m_; ++i) take_largest(most, a_(i, j));
      for (size l = 0; l < lanes_; ++l) {
        const int e = exponent_above(most[(std::size_t)l]);
        column_exponents_[(std::size_t)(j * lanes_ + l)] = std::ldexp(1.0, e);
        most[(std::size_t)l] = std::ldexp(1.0, -e);
      }
      for (size i = 0; i < m_; ++i) f_.scale(lanes_, a_(i, j), a_(i, j), most.data(), 1);
    }
  }
  // R of the matrix before its columns were scaled.
  void unscale_r() {
    for (size j = 0; j < n_; ++j)
      for (size i = 0; i < std::min(j + 1, m_); ++i) unscale(a_(i, j), j);
  }
  // Row i of the solution, likewise: column scaling D means x = D^-1 y for A D^-1 y = b.
  void divide_by_scale(numbers x, size j) {
    std::vector<double> factor((std::size_t)lanes_);
    for (size l = 0; l < lanes_; ++l)
      factor[(std::size_t)l] = 1.0 / column_exponents_[(std::size_t)(j * lanes_ + l)];
    f_.scale(lanes_, x, x, factor.data(), 1);
  }

  void factor() {
    const numbers w = scalars_(0, 0), z = scalars_(1, 0);
    for (size j = 0; j < k_; ++j) {
      reflect(j);
      f_.conj(lanes_, z, tau_(0, j));
      for (size c = j + 1; c < n_ + more_; ++c) apply(j, z, w, c, a_);
    }
  }

  // Columns of Q into q, by the reflectors from the last to the first.
  void form_q(const lane_matrix& q, size columns) {
    const numbers w = scalars_(0, 0);
    clear(q, 0, columns);
    for (size j = 0; j < std::min(m_, columns); ++j) std::fill_n(q(j, j).p, lanes_, 1.0);
    for (size j = k_ - 1; j >= 0; --j)
      for (size c = j; c < columns; ++c) apply(j, tau_(0, j), w, c, q);
  }

  // The right-hand sides become the solution, still scaled.
  void back_substitute() {
    for (size c = n_; c < n_ + more_; ++c)
      for (size j = n_ - 1; j >= 0; --j) {
        f_.div_real(lanes_, a_(j, c), a_(j, c), a_(j, j).re());
        for (size i = 0; i < j; ++i) f_.sub_mul(lanes_, a_(i, c), a_(i, j), a_(j, c));
      }
  }

  void clear_below_diagonal() {
    for (size j = 0; j < n_; ++j)
      for (size i = j + 1; i < m_; ++i) f_.clear(lanes_, a_(i, j));
  }

  // See condition.hpp.
  double reciprocal_condition(size lane) const {
    double_triangle r{n_, std::vector<double>((std::size_t)(n_ * n_)), {}};
    if (f_.parts == 2) r.im.resize(r.re.size());
    for (size j = 0; j < n_; ++j)
      for (size i = 0; i <= j; ++i) {
        r.re[(std::size_t)(j * n_ + i)] = part_of(i, j, 0, lane);
        if (f_.parts == 2) r.im[(std::size_t)(j * n_ + i)] = part_of(i, j, 1, lane);
      }
    return mdla::reciprocal_condition(r);
  }

 private:
  double part_of(size i, size j, int c, size lane) const {
    const numbers x = a_(i, j);
    return x.p[c * x.part + lane];
  }
  void clear(const lane_matrix& a, size first, size last) const {
    for (size j = first; j < last; ++j)
      for (size i = 0; i < m_; ++i) f_.clear(lanes_, a(i, j));
  }
  void take_largest(std::vector<double>& most, source_numbers x) const {
    for (int c = 0; c < f_.parts; ++c)
      for (size l = 0; l < lanes_; ++l) {
        double& best = most[(std::size_t)l];
        best = std::max(best, std::fabs(x.p[c * x.part + l]));
      }
  }
  void unscale(numbers x, size j) const {
    f_.scale(lanes_, x, x, &column_exponents_[(std::size_t)(j * lanes_)], 1);
  }

  void reflect(size j) {
    std::vector<double> head((std::size_t)lanes_), tail(head), up(head);
    take_largest(head, a_(j, j));
    for (size i = j + 1; i < m_; ++i) take_largest(tail, a_(i, j));
    for (size l = 0; l < lanes_; ++l) {
      const std::size_t s = (std::size_t)l;
      trivial_[s] = tail[s] == 0 && (f_.parts == 1 || part_of(j, j, 1, l) == 0);
      const int e = exponent_above(std::max(head[s], tail[s]));
      head[s] = std::ldexp(1.0, -e);
      up[s] = std::ldexp(1.0, e);
    }
    const result<double> norm{norm_.data(), lanes_};
    for (size i = j; i < m_; ++i) {
      f_.scale(lanes_, x_(i, 0), a_(i, j), head.data(), 1);
      f_.norm(lanes_, norm, x_(i, 0), i == j);
    }
    const numbers factor = scalars_(2, 0);
    maker_.make(lanes_, x_(j, 0), norm, trivial_.data(), tau_(0, j), norm, factor);
    for (size i = j + 1; i < m_; ++i) f_.mul(lanes_, a_(i, j), x_(i, 0), factor);
    const numbers diagonal = a_(j, j);
    f_.clear(lanes_, diagonal);
    f_.copy_part(lanes_, diagonal.re(), norm);
    f_.scale(lanes_, diagonal, diagonal, up.data(), 1);
  }

  // Column c of b: b_c -= v t (v^H b_c) with reflector j.
  void apply(size j, source_numbers t, numbers w, size c, const lane_matrix& b) const {
    const numbers spare = x_(0, 0);
    f_.copy(lanes_, w, b(j, c));
    for (size i = j + 1; i < m_; ++i) f_.add_mul_conj(lanes_, w, a_(i, j), b(i, c));
    f_.mul(lanes_, spare, w, t);
    f_.sub(lanes_, b(j, c), b(j, c), spare);
    for (size i = j + 1; i < m_; ++i) f_.sub_mul(lanes_, b(i, c), a_(i, j), spare);
  }

  const field& f_;
  size m_, n_, k_, more_, lanes_;
  lane_matrix a_, tau_, x_, scalars_;
  number_memory norm_;
  reflector_maker maker_;
  std::vector<unsigned char> trivial_;
  std::vector<double> column_exponents_;
};

// f(begin, count) for every group of the batch.
template <class F>
void for_groups(const field& f, size batch, size entries, double work, const F& body) {
  const size lanes = std::min(lanes_for(f, entries), up_to_block(batch));
  const size groups = (batch + lanes - 1) / lanes;
  work *= (double)batch * f.parts * f.parts * f.limbs * f.limbs;
  parallel_for(groups, threads_for(work, 1e5), [&](size first, size last) {
    for (size g = first; g < last; ++g) body(g * lanes, std::min(lanes, batch - g * lanes), lanes);
  });
}

}  // namespace

void batched_qr(const planes_view<double>& a, const qr_results& out) {
  const matrix_stack from(a);
  const field f(a.parts, a.limbs);
  const size m = from.first.rows, n = from.first.columns, k = std::min(m, n);
  for_groups(f, from.count, m * n, (double)m * (double)n * (double)k,
             [&](size begin, size count, size lanes) {
               group g(f, m, n, 0, lanes);
               g.load(from, begin, count);
               g.scale_columns();
               g.factor();
               if (out.q) {
                 const matrix_stack to(*out.q);
                 const lane_matrix q(f, m, to.first.columns, lanes);
                 g.form_q(q, to.first.columns);
                 q.store(to, begin, count, 0);
               }
               g.unscale_r();
               if (out.h) g.matrices().store(matrix_stack(*out.h), begin, count, 0);
               if (out.tau) {
                 // (B, k) as matrices of one row.
                 planes_view<double> row = *out.tau;
                 row.shape = {out.tau->shape[0], 1, k};
                 row.strides = {out.tau->strides[0], 0, out.tau->strides[1]};
                 g.coefficients().store(matrix_stack(row), begin, count, 0);
               }
               if (out.r) {
                 g.clear_below_diagonal();
                 g.matrices().store(matrix_stack(*out.r), begin, count, 0);
               }
             });
}

void batched_solve_by_qr(const planes_view<double>& x, double* rcond, const planes_view<double>& a,
                         const planes_view<double>& b, const std::vector<size>& which) {
  const matrix_stack from(a, which.data()), right(b, which.data()), to(x, which.data());
  const field f(a.parts, a.limbs);
  const size n = from.first.rows, k = right.first.columns;
  for_groups(f, (size)which.size(), n * (n + k), (double)(n * n) * (double)(n + k),
             [&](size begin, size count, size lanes) {
               group g(f, n, n, k, lanes);
               g.load(from, begin, count);
               g.load_right_sides(right, begin, count);
               g.scale_rows();
               g.scale_columns();
               g.factor();
               for (size lane = 0; lane < count; ++lane)
                 rcond[which[(std::size_t)(begin + lane)]] = g.reciprocal_condition(lane);
               g.back_substitute();
               for (size c = n; c < n + k; ++c)
                 for (size j = 0; j < n; ++j) g.divide_by_scale(g.matrices()(j, c), j);
               g.matrices().store(to, begin, count, n);
             });
}

void batched_lstsq(const planes_view<double>& x, const planes_view<double>& rest, double* rcond,
                   const planes_view<double>& a, const planes_view<double>& b) {
  const matrix_stack from(a), right(b), to(x), residual(rest);
  const field f(a.parts, a.limbs);
  const size m = from.first.rows, n = from.first.columns, k = right.first.columns;
  for_groups(f, from.count, m * (n + k), (double)(m * n) * (double)(n + k),
             [&](size begin, size count, size lanes) {
               group g(f, m, n, k, lanes);
               g.load(from, begin, count);
               g.load_right_sides(right, begin, count);
               g.factor();
               for (size lane = 0; lane < count; ++lane)
                 rcond[begin + lane] = g.reciprocal_condition(lane);
               g.matrices().store(residual, begin, count, n, n);
               g.back_substitute();
               g.matrices().store(to, begin, count, n);
             });
}

void batched_substitute(const planes_view<double>& t, const planes_view<double>& b, triangle kind) {
  const size batch = t.shape[0];
  const auto one = [](const matrix_stack& stack, size i) {
    matrix m = stack.first;
    m.p += i * stack.stride;
    return m;
  };
  const matrix_stack left(t), right(b);
  const double work = (double)b.size() * (double)t.shape[1] * t.limbs * t.limbs * t.parts * t.parts;
  parallel_for(batch, threads_for(work, 1e5), [&](size first, size last) {
    for (size i = first; i < last; ++i) substitute(one(left, i), one(right, i), kind);
  });
}

}  // namespace mdla
