// SPDX-License-Identifier: BSD-3-Clause
#include "lu.hpp"

#include <cmath>
#include <utility>

#include "products.hpp"
#include "reflector.hpp"
#include "threads.hpp"
#include "triangular.hpp"

namespace mdla {
namespace {

using namespace linalg;

// A panel of columns that lie one behind the other, each padded with zeros. The vectors run along
// the rows; operations on the rows from j + 1 on begin at the block of row j, with multipliers that
// are zero up to row j.
class lu_panel {
 public:
  explicit lu_panel(const matrix& a)
      : f_(a.parts, a.limbs),
        m_(a.rows),
        w_(a.columns),
        mp_(padded(m_)),
        memory_(f_.room(mp_) * w_),
        multiplier_memory_(f_.room(mp_)),
        head_memory_(f_.room(w_)),
        inverse_memory_(f_.room(1) + 2 * f_.limbs) {
    transfer(a, [](double& here, double* there) { here = *there; });
  }

  void factor(size* pivots) {
    for (size j = 0; j < w_; ++j) {
      const size p = pivot(j);
      pivots[j] = p;
      if (p != j) exchange(j, p);
      if (size_at(j, j) == 0) continue;
      make_multipliers(j);
      for (size c = j + 1; c < w_; ++c) f_.copy(1, head(c), column(c).at(j));
      const double work =
          (double)(w_ - j) * (double)(m_ - j) * f_.parts * f_.parts * f_.limbs * f_.limbs;
      parallel_for(w_ - j - 1, threads_for(work, 1e5), [&](size first, size last) {
        const size s = start(j), n = mp_ - s;
        for (size c = j + 1 + first; c < j + 1 + last; ++c)
          f_.sub_mul(n, column(c).at(s), multipliers().at(s), head(c).repeat(0));
      });
      f_.copy(m_ - j - 1, column(j).at(j + 1), multipliers().at(j + 1));
    }
  }

  void store(const matrix& out) const {
    transfer(out, [](double& here, double* there) { *there = here; });
  }

 private:
  size start(size j) const { return j / lane_block * lane_block; }
  numbers column(size j) const { return f_.over(memory_.data() + f_.room(mp_) * j, mp_); }
  numbers multipliers() const { return f_.over(multiplier_memory_.data(), mp_); }
  // Entry (j, c) of U, apart from the column that it is used on.
  numbers head(size c) const { return f_.over(head_memory_.data() + f_.room(1) * c, 1); }

  // Eight rows at a time, so that both sides use whole cache lines.
  template <class F>
  void transfer(const matrix& a, F move) const {
    for (int c = 0; c < f_.parts; ++c)
      for (int k = 0; k < f_.limbs; ++k)
        for (size i0 = 0; i0 < m_; i0 += lane_block)
          for (size j = 0; j < w_; ++j) {
            double* here = memory_.data() + f_.room(mp_) * j + (c * f_.limbs + k) * mp_;
            double* there = a.at(0, j) + c * a.part + k * a.limb;
            for (size i = i0; i < std::min(m_, i0 + lane_block); ++i)
              move(here[i], there + i * a.row);
          }
  }

  double size_at(size i, size j) const {
    const numbers x = column(j);
    return std::fabs(x.p[i]) + (f_.parts == 2 ? std::fabs(x.p[x.part + i]) : 0.0);
  }

  size pivot(size j) const {
    size best = j;
    double most = size_at(j, j);
    for (size i = j + 1; i < m_; ++i) {
      const double s = size_at(i, j);
      if (s > most) {
        most = s;
        best = i;
      }
    }
    return best;
  }

  void exchange(size i, size j) const {
    for (size c = 0; c < w_; ++c) {
      double* p = column(c).p;
      for (int k = 0; k < f_.parts * f_.limbs; ++k) std::swap(p[k * mp_ + i], p[k * mp_ + j]);
    }
  }

  // The entries below the pivot divided by it: real ones by division, complex ones times 1 / pivot
  // = conj(p) / |p|^2, p scaled so that the square stays in range.
  void make_multipliers(size j) const {
    const size s = start(j), n = mp_ - s;
    const numbers l = multipliers(), x = column(j);
    if (f_.parts == 1) {
      f_.ops.div(n, l.at(s).re(), x.at(s).re(), x.repeat(j).re());
    } else {
      const numbers inverse = f_.over(inverse_memory_.data(), 1);
      const result<double> square{inverse_memory_.data() + f_.room(1), 1};
      const int e = exponent_above(std::max(std::fabs(x.p[j]), std::fabs(x.p[x.part + j])));
      const double down = std::ldexp(1.0, -e);
      f_.scale(1, inverse, x.repeat(j), &down, 0);
      f_.norm(1, square, inverse, true);
      f_.negate(1, inverse.im());
      f_.div_real(1, inverse, inverse, square);
      f_.mul(n, l.at(s), x.at(s), inverse.repeat(0));
      f_.scale(n, l.at(s), l.at(s), &down, 0);
    }
    f_.clear(j + 1 - s, l.at(s));
  }

  field f_;
  size m_, w_, mp_;
  number_memory memory_, multiplier_memory_, head_memory_, inverse_memory_;
};

void exchange(const matrix& a, const size* pivots, size count) {
  for (int c = 0; c < a.parts; ++c)
    for (int k = 0; k < a.limbs; ++k)
      for (size i = 0; i < count; ++i) {
        if (pivots[i] == i) continue;
        double* p = a.at(i, 0) + c * a.part + k * a.limb;
        std::swap_ranges(p, p + a.columns, a.at(pivots[i], 0) + c * a.part + k * a.limb);
      }
}

void factor(size* pivots, const matrix& a, size leaf) {
  const size w = a.columns;
  if (w <= leaf) {
    lu_panel panel(a);
    panel.factor(pivots);
    panel.store(a);
    return;
  }
  size half = leaf;
  while (2 * half < w) half *= 2;
  factor(pivots, a.block(0, 0, a.rows, half), leaf);
  const matrix right = a.from(0, half), top = right.block(0, 0, half, w - half);
  const matrix rest = a.from(half, half), below = a.block(half, 0, a.rows - half, half);
  exchange(right, pivots, half);
  substitute_block(a.block(0, 0, half, half), top, {true, true});
  subtract_in_place(rest, product(below, none, top).view());
  factor(pivots + half, rest, leaf);
  exchange(below, pivots + half, w - half);
  for (size j = half; j < w; ++j) pivots[j] += half;
}

}  // namespace

void lu_block(std::vector<long long>& pivots, const matrix& a, long long leaf) {
  pivots.resize((std::size_t)a.columns);
  if (a.columns > 0) factor(pivots.data(), a, leaf);
}

void exchange_rows(const matrix& a, const std::vector<long long>& pivots) {
  exchange(a, pivots.data(), (size)pivots.size());
}

}  // namespace mdla
