// SPDX-License-Identifier: BSD-3-Clause
// Systems side by side, one in each lane: their memory, their scale, and what is worked out in
// doubles from leading limbs: the order of the rows and the condition.
#pragma once

#include "elimination.hpp"
#include "fixed_point.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace fixed {

// 2^-e for |x| in [2^(e - 1), 2^e), and e; 1 and 0 for zero.
struct binary_scale {
  real factor, exponent;
};
MDLA_INLINE binary_scale scale_of(real x) {
  const word field = as_int(x) >> 52;
  const mask_t<real> zero = eq(x, value(0));
  binary_scale s;
  s.factor = select(zero, value(1), as_real((constant(2045) - field) << 52));
  s.exponent = select(zero, value(0), to_real(field) - value(1022));
  return s;
}
// Numbers have P parts.
template <int P>
class lane_systems {
 protected:
  lane_systems(const elimination_job& job, int growth)
      : job_(job),
        n_(job.n),
        D_(job.digits),
        N_(job.limbs),
        growth_(growth),
        noise_(noise_bits(P, job.limbs, job.n)),
        at_(P, job.limbs, job.digits, job.n),
        m_(job.memory) {}

  // ---- memory ---------------------------------------------------------------------------------

  u64* words(size at) const { return m_ + at * W; }
  u64* entry(size i, size j) const { return words(at_.entries + (i * n_ + j) * P * at_.entry); }
  size part() const { return at_.entry * W; }
  size row_step() const { return n_ * P * at_.entry * W; }
  size column_step() const { return P * at_.entry * W; }
  u64* row_sums(size i) const { return words(at_.row_sums + i * P * D_); }
  u64* column_sums(size j) const { return words(at_.column_sums + j * P * D_); }
  // Leading parts of the scaled matrix, then of L and U.
  u64* leading_parts(size i, size j) const { return words(at_.doubles + (i * n_ + j) * P); }
  u64* row_factor(size i) const { return words(at_.factors + i); }
  u64* column_factor(size j) const { return words(at_.factors + n_ + j); }
  u64* ordered_factor(size i) const { return words(at_.factors + 2 * n_ + i); }
  real column_exponent(size j) const { return load_real(words(at_.factors + 3 * n_ + j)); }
  // Of pivot j: |parts| of a reciprocal (D + 1 digits), half their sum, signs, digits to shift by.
  size inverse_words() const { return P * (2 * D_ + 4) + 3; }
  u64* inverse(size j) const { return words(at_.inverses + j * inverse_words()); }
  size inverse_part() const { return (D_ + 1) * W; }
  u64* inverse_sign(size j, int p) const { return inverse(j) + (P * (D_ + 1) + p) * W; }
  u64* inverse_digits(size j) const { return inverse(j) + (P * (D_ + 1) + P) * W; }
  u64* inverse_half(size j) const { return inverse(j) + (P * (D_ + 1) + P + 1) * W; }
  // Number i of right-hand side r.
  size right_part() const { return std::max<size>(D_ + 1, N_) * W; }
  size right_step() const { return P * right_part(); }
  u64* right(int r, size i) const { return words(at_.right) + (r * (n_ + 1) + i) * right_step(); }
  u64* right_sums(int r) const { return right(r, n_); }
  // ---- input ----------------------------------------------------------------------------------

  // Numbers (0, first) .. (0, first + count) of all lanes at `where`, limb `limb` of part p: word j
  // goes to to[j step].
  static void gather(u64* to, size step, const lane_view<const double>& v, size where, size count) {
    size j = 0;
    if (v.column == 1) {
      for (; j + W <= count; j += W) {
        real x[W];
        load_turned(x, v.p, where + j);
        MDLA_UNROLL
        for (int i = 0; i < W; ++i) store_real(to + (j + i) * step, x[i]);
      }
    }
    for (; j < count; ++j) {
      alignas(64) double x[W];
      for (int l = 0; l < W; ++l) x[l] = v.p[l][where + j * v.column];
      store_real(to + j * step, io<real>::load(x));
    }
  }
  template <class V>
  static size offset(const V& v, size i, size j, int p, int limb) {
    return p * v.part + limb * v.limb + i * v.row + j * v.column;
  }

  // Largest part of the number at x.
  static real size_of(const u64* x) {
    real s = abs(load_real(x));
    if constexpr (P == 2) {
      const real t = abs(load_real(x + W));
      s = select(lt(s, t), t, s);
    }
    return s;
  }
  // |re| + |im|
  static real length_of(const u64* x) {
    real s = abs(load_real(x));
    if constexpr (P == 2) s = s + abs(load_real(x + W));
    return s;
  }
  static real larger(real x, real y) { return select(lt(x, y), y, x); }
  static void scale_by(u64* x, real f) {
    for (int p = 0; p < P; ++p) store_real(x + p * W, mul_rn(load_real(x + p * W), f));
  }

  // Factors of rows, if wanted, and of columns, that bring the largest parts to [1/2, 1); the least
  // of the numbers that are not zero, and the 1-norm.
  void scale(bool rows) {
    for (size i = 0; i < n_; ++i) {
      real most = value(0), poison = value(0);
      for (int p = 0; p < P; ++p)
        gather(leading_parts(i, 0) + p * W, P * W, job_.a, offset(job_.a, i, 0, p, 0), n_);
      fetch_row(i);
      for (size j = 0; j < n_; ++j) {
        const u64* x = leading_parts(i, j);
        most = larger(most, size_of(x));
        poison = poison + mul_rn(length_of(x), value(0));
      }
      check(most + poison);
      store_real(row_factor(i), rows ? scale_of(most).factor : value(1));
    }
    least_ = value(1);
    norm_ = value(0);
    for (size j = 0; j < n_; ++j) {
      real most = value(0), sum = value(0);
      for (size i = 0; i < n_; ++i) {
        scale_by(leading_parts(i, j), load_real(row_factor(i)));
        most = larger(most, size_of(leading_parts(i, j)));
      }
      check(most);
      const binary_scale s = scale_of(most);
      store_real(column_factor(j), s.factor);
      store_real(words(at_.factors + 3 * n_ + j), -s.exponent);
      for (size i = 0; i < n_; ++i) {
        u64* x = leading_parts(i, j);
        scale_by(x, s.factor);
        take_least(size_of(x));
        sum = sum + length_of(x);
      }
      norm_ = larger(norm_, sum);
    }
  }

  void take_least(real x) { least_ = select(lt(x, least_) & lt(value(0), x), x, least_); }
  // Only numbers of moderate size can be scaled in one step.
  void check(real most) {
    const mask_t<real> good =
        (lt(value(0x1p-400), most) & lt(most, value(0x1p400))) | eq(most, value(0));
    least_in_range_ = select(good, least_in_range_, value(0));
  }

  void scale_right_sides() {
    for (size c = 0; c < job_.k; ++c) {
      const binary_scale s = right_scale(c);
      for (size i = 0; i < n_; ++i) take_least(mul_rn(size_of(right_leading(i)), s.factor));
    }
  }
  u64* right_leading(size i) const { return words(at_.spare + i * P); }
  // Leaves the leading parts, with the rows scaled, in right_leading.
  binary_scale right_scale(size c) {
    real most = value(0), poison = value(0);
    lane_view<const double> turned = job_.b;
    turned.column = turned.row;
    for (int p = 0; p < P; ++p)
      gather(right_leading(0) + p * W, P * W, turned, offset(job_.b, 0, c, p, 0), n_);
    for (size i = 0; i < n_; ++i) {
      u64* x = right_leading(i);
      scale_by(x, load_real(row_factor(i)));
      most = larger(most, size_of(x));
      poison = poison + mul_rn(length_of(x), value(0));
    }
    check(most + poison);
    return scale_of(most);
  }

  // Whether no lane is to be worked on with these digits.
  bool report() {
    alignas(64) double least[W], good[W];
    io<real>::store(least, least_);
    io<real>::store(good, least_in_range_);
    bool none = true;
    for (int l = 0; l < job_.lanes; ++l) {
      const int span = (int)(1022 - (as_int(least[l]) >> 52));
      job_.needed[l] =
          good[l] != 0 ? digits_needed(P, N_, n_, growth_, std::max(span, 0)) : no_digits;
      none = none && job_.needed[l] != D_;
    }
    return none;
  }

  // The order of the rows that elimination in doubles finds: the true one but for rounding. Rows
  // stay where they are; those that have been pivots in a lane are marked, and left alone there.
  void order() {
    u64* used = words(at_.spare);
    u64* pivot = used + n_ * W;
    for (size i = 0; i < n_; ++i) store_real(used + i * W, value(0));
    for (size j = 0; j < n_; ++j) {
      real best = value(-1), at = value(0);
      for (size i = 0; i < n_; ++i) {
        const real s = length_of(leading_parts(i, j));
        const mask_t<real> better =
            eq(load_real(used + i * W), value(0)) & !lt(s, best) & (!eq(s, best));
        best = select(better, s, best);
        at = select(better, value((double)i), at);
      }
      alignas(64) double row[W];
      alignas(64) i64 start[W];
      io<real>::store(row, at);
      for (int lane = 0; lane < W; ++lane) {
        order_[lane][j] = (int)row[lane];
        start[lane] = (i64)row[lane] * n_ * P * W + lane;
      }
      for (size c = j * P; c < n_ * P; ++c)
        store_real(pivot + c * W, load_each(leading_parts(0, 0) + c * W, start));
      real inverse[P];
      invert(inverse, pivot + j * P * W);
      for (size i = 0; i < n_; ++i) {
        const mask_t<real> now = eq(at, value((double)i));
        const real mark = select(now, value(1), load_real(used + i * W));
        store_real(used + i * W, mark);
        real l[P];
        times(l, leading_parts(i, j), inverse);
        for (int p = 0; p < P; ++p) l[p] = select(eq(mark, value(0)), l[p], value(0));
        for (size c = j + 1; c < n_; ++c)
          subtract_product(leading_parts(i, c), l, pivot + c * P * W);
      }
    }
  }

  template <class Size, class Swap>
  void pick(size j, const Size& size_at, const Swap& swap) {
    real best = size_at(j), at = value((double)j);
    for (size i = j + 1; i < n_; ++i) {
      const real s = size_at(i);
      const mask_t<real> better = lt(best, s);
      best = select(better, s, best);
      at = select(better, value((double)i), at);
    }
    if (!any(!eq(at, value((double)j)))) return;
    alignas(64) double p[W];
    io<real>::store(p, at);
    for (int lane = 0; lane < W; ++lane) {
      const size with = (size)p[lane];
      if (with == j) continue;
      std::swap(order_[lane][j], order_[lane][with]);
      swap(lane, with);
    }
  }
  static void swap_words(u64* x, u64* y, size count, int lane) {
    for (size i = 0; i < count; ++i) std::swap(x[i * W + lane], y[i * W + lane]);
  }

  // ---- arithmetic in doubles --------------------------------------------------------------------

  static void invert(real* to, const u64* x) {
    if constexpr (P == 1) {
      to[0] = value(1) / load_real(x);
    } else {
      const real re = load_real(x), im = load_real(x + W), s = size_of(x);
      const real c = re / s, d = im / s, t = mul_rn(fma(c, c, mul_rn(d, d)), s);
      to[0] = c / t;
      to[1] = -(d / t);
    }
  }
  static void times(real* to, const u64* x, const real* y) {
    if constexpr (P == 1) {
      to[0] = mul_rn(load_real(x), y[0]);
    } else {
      const real a = load_real(x), b = load_real(x + W);
      to[0] = fma(a, y[0], -mul_rn(b, y[1]));
      to[1] = fma(a, y[1], mul_rn(b, y[0]));
    }
  }
  static void subtract_product(real* from, const real* x, const u64* y) {
    const real c = load_real(y);
    from[0] = fma(-x[0], c, from[0]);
    if constexpr (P == 2) {
      const real d = load_real(y + W);
      from[0] = fma(x[1], d, from[0]);
      from[1] = fma(-x[0], d, fma(-x[1], c, from[1]));
    }
  }
  static void subtract_product(u64* from, const real* x, const u64* y) {
    real s[P];
    for (int p = 0; p < P; ++p) s[p] = load_real(from + p * W);
    subtract_product(s, x, y);
    for (int p = 0; p < P; ++p) store_real(from + p * W, s[p]);
  }
  // What the limbs are going to be read from, while there is other work.
  void fetch_row(size i) const {
    if (job_.a.column != 1) return;
    for (int p = 0; p < P; ++p)
      for (int limb = p == 0 ? 1 : 0; limb < N_; ++limb)
        for (size j = 0; j < n_; j += 8)
          for (int l = 0; l < W; ++l)
            __builtin_prefetch(job_.a.p[l] + offset(job_.a, i, j, p, limb), 0, 2);
  }
  // ---- condition
  // ----------------------------------------------------------------------------------

  // From the leading parts of L and U / 2^growth: columns of the inverse, R at a time.
  void condition() const {
    constexpr int R = inverse_columns;
    u64* x = words(at_.spare);
    u64* inverses = x + n_ * R * P * W;
    for (size i = 0; i < n_; ++i) {
      real v[P];
      invert(v, leading_parts(i, i));
      for (int p = 0; p < P; ++p) store_real(inverses + (i * P + p) * W, v[p]);
    }
    const auto at = [&](size i, int r) { return x + (i * R + r) * P * W; };
    real most = value(0);
    for (size c = 0; c < n_; c += R) {
      real sum[R];
      for (size i = 0; i < n_; ++i)
        for (int r = 0; r < R; ++r) {
          store_real(at(i, r), value(i == c + r ? 1 : 0));
          if (P == 2) store_real(at(i, r) + W, value(0));
        }
      for (size i = c + 1; i < n_; ++i) inner(at, i, c, i);
      for (int r = 0; r < R; ++r) sum[r] = value(0);
      for (size i = n_; i-- > 0;) {
        inner(at, i, i + 1, n_);
        for (int r = 0; r < R; ++r) {
          real v[P], w[P];
          for (int p = 0; p < P; ++p) v[p] = load_real(inverses + (i * P + p) * W);
          times(w, at(i, r), v);
          for (int p = 0; p < P; ++p) {
            store_real(at(i, r) + p * W, w[p]);
            sum[r] = sum[r] + abs(w[p]);
          }
        }
      }
      for (int r = 0; r < R; ++r)
        if (c + r < n_) most = select(lt(sum[r], most), most, sum[r]);
    }
    const real rcond = value(1) / mul_rn(norm_, power(-growth_)) / most;
    alignas(64) double out[W];
    io<real>::store(out, rcond);
    for (int l = 0; l < job_.lanes; ++l) {
      if (job_.needed[l] != D_) continue;
      bool zero = false;
      for (size i = 0; i < n_; ++i) {
        bool any_part = false;
        for (int p = 0; p < P; ++p)
          any_part = any_part || as_real(leading_parts(i, i)[p * W + l]) != 0;
        zero = zero || !any_part;
      }
      job_.rcond[l] = n_ == 0 ? 1 : zero || !(out[l] == out[l]) ? 0 : out[l];
    }
  }
  // x_i -= sum over k in [first, last) of (L or U)_ik x_k
  template <class At>
  MDLA_INLINE void inner(const At& at, size i, size first, size last) const {
    constexpr int R = inverse_columns;
    real s[R][P];
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p) s[r][p] = load_real(at(i, r) + p * W);
    for (size k = first; k < last; ++k) {
      real y[P];
      for (int p = 0; p < P; ++p) y[p] = load_real(leading_parts(i, k) + p * W);
      MDLA_UNROLL
      for (int r = 0; r < R; ++r) subtract_product(s[r], y, at(k, r));
    }
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p) store_real(at(i, r) + p * W, s[r][p]);
  }
  const elimination_job& job_;
  const size n_;
  const int D_, N_, growth_, noise_;
  const elimination_layout at_;
  u64* const m_;
  int order_[W][most_order];
  real least_, norm_, least_in_range_ = value(1);
};

}  // namespace fixed

}  // namespace MDLA_LEVEL
}  // namespace mdla
