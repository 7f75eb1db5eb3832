// SPDX-License-Identifier: BSD-3-Clause
#include "panel.hpp"

#include <cmath>

#include "reflector.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

using namespace linalg;

// A dot product runs over 64 lanes, which are then added in halves.
constexpr size dot_lanes = 64;

// The columns lie one behind the other, each padded with zeros; column j from row start(j) on,
// a multiple of the block. Reflector j is zero above row j, so operations may begin at start(j).
class panel {
 public:
  panel(const matrix& a, size k)
      : f_(a.parts, a.limbs),
        m_(a.rows),
        w_(a.columns),
        k_(k),
        mp_(padded(m_)),
        wp_(up_to_block(std::max<size>(w_, 1))),
        a_memory_(f_.room(mp_) * w_),
        v_memory_(f_.room(mp_) * k_),
        tau_memory_(f_.room(padded(k_))),
        partial_memory_(f_.room(lane_block * wp_)),
        coefficient_memory_(f_.room(wp_)),
        scalar_memory_(f_.room(lane_block) * 3 + f_.limbs * dot_lanes),
        maker_(f_, lane_block) {
    load(a);
  }

  void factor() {
    for (size j = 0; j < k_; ++j) {
      if (j > 0) update(j - 1, j, j + 1);
      reflect(j);
      project(j, j > 0);
    }
    if (k_ > 0) update(k_ - 1, k_, w_);
  }

  size factor_with_pivots(std::vector<size>& order, double stop) {
    order.resize((std::size_t)w_);
    for (size c = 0; c < w_; ++c) order[(std::size_t)c] = c;
    double first = 0;
    for (size j = 0; j < k_; ++j) {
      if (j > 0) update(j - 1, j, w_);
      size best = j;
      double longest = column_norm(j, j);
      for (size c = j + 1; c < w_; ++c) {
        const double length = column_norm(c, j);
        if (length > longest) {
          best = c;
          longest = length;
        }
      }
      if (j == 0) first = longest;
      if (!(longest >= stop * first) || longest == 0) return j;
      std::swap(order[(std::size_t)j], order[(std::size_t)best]);
      if (best != j) std::swap_ranges(column(j).p, column(j).p + f_.room(mp_), column(best).p);
      reflect(j);
      project(j, false);
    }
    return k_;
  }

  void store_v(const matrix& out) const { store(v_memory_.data(), out); }
  void store_a(const matrix& out) const {
    for (size j = 0; j < k_; ++j) f_.clear(m_ - j - 1, column(j).at(j + 1));
    store(a_memory_.data(), out);
  }
  // The coefficients of the reflectors, on the diagonal.
  void store_tau(const matrix& to) const {
    for (int c = 0; c < f_.parts; ++c)
      for (int k = 0; k < f_.limbs; ++k)
        for (size j = 0; j < k_; ++j)
          to.at(j, j)[c * to.part + k * to.limb] = tau(j).p[c * tau(j).part + k * tau(j).plane];
  }

 private:
  size start(size j) const { return j / lane_block * lane_block; }
  numbers column(size j) const { return f_.over(a_memory_.data() + f_.room(mp_) * j, mp_); }
  numbers reflector(size j) const { return f_.over(v_memory_.data() + f_.room(mp_) * j, mp_); }
  numbers tau(size j) const { return f_.over(tau_memory_.data(), padded(k_)).at(j); }
  // [lane][column]
  numbers partial() const { return f_.over(partial_memory_.data(), lane_block * wp_); }
  numbers coefficients() const { return f_.over(coefficient_memory_.data(), wp_); }
  numbers scalar(int i) const {
    return f_.over(scalar_memory_.data() + f_.room(lane_block) * i, lane_block);
  }

  void load(const matrix& a) const {
    transfer(a_memory_.data(), a, [](double& here, double* there) { here = *there; });
  }
  void store(double* memory, const matrix& out) const {
    transfer(memory, out, [](double& here, double* there) { *there = here; });
  }
  // Between columns in memory and a matrix, eight rows at a time: both sides use whole cache lines.
  template <class F>
  void transfer(double* memory, const matrix& a, F move) const {
    for (int c = 0; c < f_.parts; ++c)
      for (int k = 0; k < f_.limbs; ++k)
        for (size i0 = 0; i0 < m_; i0 += lane_block)
          for (size j = 0; j < a.columns; ++j) {
            double* here = memory + f_.room(mp_) * j + (c * f_.limbs + k) * mp_;
            double* there = a.at(0, j) + c * a.part + k * a.limb;
            for (size i = i0; i < std::min(m_, i0 + lane_block); ++i)
              move(here[i], there + i * a.row);
          }
  }
  size limb_count(size n) const { return f_.limbs * n; }

  // Threads for an operation on `columns` columns from row i on.
  int threads(size columns, size i) const {
    const double work =
        (double)columns * (double)(m_ - i) * f_.parts * f_.parts * f_.limbs * f_.limbs;
    return threads_for(work, 1e5);
  }

  // Largest leading limb from row i on.
  double largest(size j, size i) const {
    double most = 0;
    const size whole = std::min(up_to_block(i), mp_);
    for (int c = 0; c < f_.parts; ++c) {
      const double* p = column(j).p + c * limb_count(mp_);
      double lane[lane_block] = {0};
      for (size l = i; l < whole; ++l) lane[0] = std::max(lane[0], std::fabs(p[l]));
      for (size l = whole; l < mp_; l += lane_block)
        for (int q = 0; q < lane_block; ++q) lane[q] = std::max(lane[q], std::fabs(p[l + q]));
      for (double x : lane) most = std::max(most, x);
    }
    return most;
  }

  // ||column j from row i on|| to double accuracy, in an order of its own.
  double column_norm(size j, size i) const {
    const double most = largest(j, i);
    if (!(most > 0) || !std::isfinite(most)) return most;
    const int e = exponent_above(most);
    const double factor = std::ldexp(1.0, -e);
    double lane[lane_block] = {0};
    for (int c = 0; c < f_.parts; ++c) {
      const double* p = column(j).p + c * limb_count(mp_);
      for (size l = start(i); l < mp_; l += lane_block)
        for (int q = 0; q < lane_block; ++q) {
          const double x = l + q < i ? 0.0 : p[l + q] * factor;
          lane[q] += x * x;
        }
    }
    double total = 0;
    for (double x : lane) total += x;
    return std::ldexp(std::sqrt(total), e);
  }

  // Reflector j from column j: v, tau, and R[j, j] into the column.
  void reflect(size j) {
    const numbers x = column(j), v = reflector(j), factor = scalar(1);
    const result<double> norm = scalar(2).re();
    const double head = lead_at(x, j), tail = largest(j, j + 1);
    const int e = exponent_above(std::max(head, tail));
    const double down = std::ldexp(1.0, -e), up = std::ldexp(1.0, e);
    const size s = start(j), n = mp_ - s;
    f_.scale(n, v.at(s), x.at(s), &down, 0);
    f_.clear(j - s, v.at(s));
    sum_of_squares(n, norm, v.at(s));
    const unsigned char trivial = tail == 0 && (f_.parts == 1 || x.p[x.part + j] == 0);
    maker_.make(1, v.repeat(j), norm, &trivial, tau(j), norm, factor);
    // The tail of v; complex products need a place apart, which is the column itself.
    if (f_.parts == 1) {
      f_.mul(n, v.at(s), v.at(s), factor.repeat(0));
    } else {
      const numbers spare = x.at(s);
      keep_above(j, s);
      f_.mul(n, spare, v.at(s), factor.repeat(0));
      f_.copy(n, v.at(s), spare);
      restore_above(j, s);
    }
    f_.clear(1, v.at(j));
    v.p[j] = 1;
    f_.clear(1, x.at(j));
    for (int k = 0; k < f_.limbs; ++k) x.p[k * x.plane + j] = norm.p[k * norm.plane] * up;
    f_.clear(j - s, v.at(s));
  }

  double lead_at(source_numbers x, size i) const {
    const double re = std::fabs(x.p[i]);
    return f_.parts == 1 ? re : std::max(re, std::fabs(x.p[x.part + i]));
  }

  // Rows start(j) .. j of column j belong to R.
  void keep_above(size j, size s) { f_.copy(j - s, kept(), column(j).at(s)); }
  void restore_above(size j, size s) { f_.copy(j - s, column(j).at(s), kept()); }
  numbers kept() const { return partial(); }

  // out[0] = sum |v|^2 over n numbers.
  void sum_of_squares(size n, result<double> out, source_numbers v) const {
    const result<double> acc{scalar_memory_.data() + 3 * f_.room(lane_block), dot_lanes};
    const size lanes = std::min(n, dot_lanes);
    for (size i = 0; i < n; i += dot_lanes)
      f_.norm(std::min(dot_lanes, n - i), acc, v.at(i), i == 0);
    size live = lanes;
    for (size h = dot_lanes / 2; h >= 1; h /= 2) {
      if (live <= h) continue;
      f_.ops.add(live - h, acc, acc, acc.at(h));
      live = h;
    }
    for (int k = 0; k < f_.limbs; ++k) out.p[k * out.plane] = acc.p[k * acc.plane];
  }

  // With reflector j: the coefficients conj(tau) v^H a_c of the columns c > j, to be applied by
  // update. On the way the update of reflector j - 1 is done where it is due, so that columns
  // travel through the cache once per reflector.
  void project(size j, bool update_is_due) {
    const size first = j + 1;
    if (first >= w_) return;
    parallel_for(w_ - first, threads(w_ - first, j), [&](size begin, size end) {
      number_memory memory(f_.room(dot_lanes));
      const numbers acc = f_.over(memory.data(), dot_lanes);
      for (size c = first + begin; c < first + end; ++c) {
        if (update_is_due) update_column(j - 1, c);
        partial_dot(acc, reflector(j), column(c), c, start(j));
      }
    });
    const numbers p = partial();
    f_.add(4 * wp_, p, p, p.at(4 * wp_));
    f_.add(2 * wp_, p, p, p.at(2 * wp_));
    f_.add(wp_, p, p, p.at(wp_));
    const numbers conjugate = scalar(0);
    f_.conj(1, conjugate, tau(j));
    f_.mul(wp_, coefficients(), p, conjugate.repeat(0));
  }

  // Eight lanes of x^H y from row s on, into [lane][c].
  void partial_dot(numbers acc, source_numbers x, source_numbers y, size c, size s) const {
    for (size i = s; i < mp_; i += dot_lanes) {
      const size l = std::min(dot_lanes, mp_ - i);
      if (i == s) {
        f_.mul_conj(l, acc, x.at(i), y.at(i));
      } else {
        f_.add_mul_conj(l, acc, x.at(i), y.at(i));
      }
    }
    size live = std::min(mp_ - s, dot_lanes);
    for (size h = dot_lanes / 2; h >= lane_block; h /= 2) {
      if (live <= h) continue;
      f_.add(live - h, acc, acc, acc.at(h));
      live = h;
    }
    const numbers p = partial();
    for (int part = 0; part < f_.parts; ++part)
      for (int k = 0; k < f_.limbs; ++k) {
        double* to = p.p + part * p.part + k * p.plane + c;
        const double* from = acc.p + part * acc.part + k * acc.plane;
        for (size lane = 0; lane < lane_block; ++lane) to[lane * wp_] = from[lane];
      }
  }

  // a_c -= v_j coefficient_c
  void update_column(size j, size c) const {
    const size s = start(j);
    f_.sub_mul(mp_ - s, column(c).at(s), reflector(j).at(s), coefficients().repeat(c));
  }

  void update(size j, size first, size last) const {
    if (first >= last) return;
    parallel_for(last - first, threads(last - first, j), [&](size begin, size end) {
      for (size c = first + begin; c < first + end; ++c) update_column(j, c);
    });
  }

  field f_;
  size m_, w_, k_, mp_, wp_;
  number_memory a_memory_, v_memory_, tau_memory_, partial_memory_, coefficient_memory_,
      scalar_memory_;
  reflector_maker maker_;
};

}  // namespace

void qr_panel(const matrix* v, const matrix* t, const matrix& a, long long k) {
  panel p(a, k);
  p.factor();
  if (v) p.store_v(*v);
  if (t) p.store_tau(*t);
  p.store_a(a);
}

void compact_form(const matrix& to, const matrix& gram) {
  const field f(to.parts, to.limbs);
  const size k = to.rows, kp = padded(k);
  number_memory memory(f.room(kp) * (k + 1)), scalar_memory(f.room(lane_block));
  const numbers z = f.over(scalar_memory.data(), lane_block);
  for (size j = 0; j < k; ++j) {
    const numbers column = f.over(memory.data() + f.room(kp) * j, kp);
    const source_numbers tau = to.repeat(j, j);
    for (size i = 0; i < j; ++i) {
      f.mul(1, z, gram.repeat(i, j), tau);
      f.sub_mul(up_to_block(i + 1), column, f.over(memory.data() + f.room(kp) * i, kp),
                z.repeat(0));
    }
    f.copy(1, column.at(j), tau);
    for (int c = 0; c < f.parts; ++c)
      for (int l = 0; l < f.limbs; ++l)
        for (size i = 0; i < k; ++i)
          to.at(i, j)[c * to.part + l * to.limb] = column.p[c * column.part + l * column.plane + i];
  }
}

long long pivot_order(std::vector<long long>& order, matrix a, double stop, size most) {
  a.limbs = 1;
  panel p(a, std::min({a.rows, a.columns, most}));
  return p.factor_with_pivots(order, stop);
}

}  // namespace mdla
