// SPDX-License-Identifier: BSD-3-Clause
// Cholesky factorisation in fixed point, one matrix in each lane.
//
// Left-looking by columns: s_ij = a_ij - sum_{k<j} l_ik conj(l_jk), l_ij = s_ij / sqrt(s_jj) (G.
// Golub, C. Van Loan, Matrix Computations, 4th ed., algorithm 4.2.1), n^3 / 3 flops. The matrix is
// scaled on both sides by powers of two so that its diagonal is in [1/4, 1); then |l_ij| < 1. Each
// s_ij is wrong by at most 2^noise units of the last digit, that is by eps / 2 of the least entry
// that is not zero, and each l_ij by 2^9 units: A - L L^H stays below n eps in the scaled matrix.
#pragma once

#include "digit_matrices.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {
namespace fixed {

template <int P>
class cholesky_factor : digit_matrices<P> {
  using base = digit_matrices<P>;
  using base::add_to_sums;
  using base::check;
  using base::column_factor;
  using base::column_step;
  using base::column_sums;
  using base::D_;
  using base::deliver;
  using base::entry;
  using base::inverse;
  using base::inverse_digits;
  using base::inverse_half;
  using base::job_;
  using base::kernels_;
  using base::leading_parts;
  using base::least_;
  using base::move_down;
  using base::n_;
  using base::order_;
  using base::ordered_factor;
  using base::part;
  using base::row_factor;
  using base::row_sums;

 public:
  explicit cholesky_factor(const elimination_job& job) : base(job, cholesky_growth) {}

  void run() {
    scale();
    if (base::report()) return;
    for (int l = 0; l < W; ++l)
      for (size i = 0; i < n_; ++i) order_[l][i] = (int)i;
    base::load_rows();
    failed_ = value(-1);
    for (size i = 0; i < n_; ++i) store_real(doomed(i), value(0));
    for (size i = 0; i < n_; ++i)
      for (int c = 0; c < P * D_; ++c) {
        store(row_sums(i) + c * W, constant(0));
        store(column_sums(i) + c * W, constant(0));
      }
    for (size j = 0; j < n_; ++j) {
      size i = j;
      for (; i + 4 <= n_; i += 4) entries<4>(i, j);
      for (; i + 2 <= n_; i += 2) entries<2>(i, j);
      for (; i < n_; ++i) entries<1>(i, j);
      invert_root(j);
      for (i = j; i < n_; ++i) divide(i, j);
    }
    for (size i = 0; i < n_; ++i)
      for (size j = 0; j <= i; ++j) deliver(i, j, entry(i, j), D_, value(2) + exponent(i));
    alignas(64) double failed[W];
    io<real>::store(failed, failed_);
    for (int l = 0; l < job_.lanes; ++l)
      if (job_.needed[l] == D_) job_.pivots[l][0] = (int)failed[l];
  }

 private:
  real exponent(size i) const { return load_real(base::words(base::at_.factors + 3 * n_ + i)); }

  // Whether the pivot of row i cannot be positive.
  u64* doomed(size i) const { return base::words(base::at_.spare + i); }

  // Factors 2^-e with a_ii 4^-e in [1/4, 1). A diagonal that is not positive, or an entry too large
  // for a positive definite matrix, is left to others.
  void scale() {
    least_ = value(1);
    for (size i = 0; i < n_; ++i) {
      for (int p = 0; p < P; ++p)
        base::gather(leading_parts(i, 0) + p * W, P * W, job_.a, base::offset(job_.a, i, 0, p, 0),
                     i + 1);
      base::fetch_row(i);
      const real d = load_real(leading_parts(i, i));
      check(select(lt(value(0), d), d, value(lane_traits<double>::infinity())));
      // The exponent of d, halved upwards: the integer is in the last bits.
      const real e = scale_of(d).exponent;
      const real half = (mul_rn(e, value(0.5)) + value(0.25) + value(0x1.8p52)) - value(0x1.8p52);
      store_real(base::words(base::at_.factors + 3 * n_ + i), half);
      const real factor = as_real(as_int(value(0x1p52 + 1023) - half) << 52);
      store_real(row_factor(i), factor);
      store_real(column_factor(i), factor);
      store_real(ordered_factor(i), factor);
      for (size j = 0; j <= i; ++j) {
        u64* x = leading_parts(i, j);
        base::scale_by(x, factor);
        base::scale_by(x, load_real(row_factor(j)));
        const real s = base::size_of(x);
        base::take_least(s);
        check(select(lt(s, value(1)), value(1), value(lane_traits<double>::infinity())));
      }
    }
  }

  // Entries (i + r, j).
  template <int R>
  void entries(size i, size j) const {
    const u64 *x[R], *sums[R];
    u64* to[R];
    real f[R], g[R];
    for (int r = 0; r < R; ++r) {
      x[r] = entry(i + r, 0);
      to[r] = entry(i + r, j);
      sums[r] = row_sums(i + r);
      f[r] = load_real(row_factor(i + r));
      g[r] = mul_rn(load_real(column_factor(j)), power(cut_origin));
    }
    this->template finish_entries<R, true>(to, part(), f, g, x, column_step(), part(), entry(j, 0),
                                           column_step(), j, sums, D_ * W, column_sums(j));
  }

  // With f = s_jj 4^h in [1/4, 1), s_jj now being a quarter of what it stands for: 1 / (2 sqrt f),
  // times 2^(h - 52 q) 2^-52, where q = h / 52.
  void invert_root(size j) {
    alignas(64) u64 f[most_words * W], z[most_words * W], t[most_words * W], e[most_words * W];
    const int E = D_ + 1;
    const u64* s = entry(j, j);
    for (int c = 0; c < D_; ++c)
      store(f + c * W, load(s + c * W) ^ constant(c == 0 ? half_digit : 0));
    const real lead = leading(s, D_, (double)half_digit);
    const mask_t<real> bad = !lt(value(0), lead) | !eq(load_real(doomed(j)), value(0));
    failed_ = select(bad & lt(failed_, value(0)), value((double)j), failed_);
    if (any(bad))
      for (int c = 0; c < D_; ++c)
        store(f + c * W, choose(bad, constant(c == 0 ? half_digit >> 1 : 0), load(f + c * W)));
    // h and 2h = 52 a + b from the exponent of the leading part.
    const real exponent = select(bad, value(-1), scale_of(lead).exponent);
    const real round = value(0x1.8p52);
    const real h = (mul_rn(-exponent, value(0.5)) - value(0.25) + round) - round;
    const real q = (mul_rn(h, value(1 / 52.0)) - value(0.4951) + round) - round;
    const real a = (mul_rn(h, value(1 / 26.0)) - value(0.4901) + round) - round;
    shift_digits(f, D_, a);
    shift_bits(f, D_, two_to(h + h - mul_rn(a, value(52))));
    const real fd = leading(f, D_, 0);
    const real start = mul_rn(value(0x1p51) / sqrt(fd), value(1 - 0x1p-48));
    for (int c = 0; c < E; ++c) store(z + c * W, constant(0));
    store(z, to_digit(start));
    // z += 2 z (1/4 - f z^2), from below.
    for (int right = 47;; right = 2 * right - 2) {
      const int enough = (2 * right + 16 + 51) / 52, now = enough < E ? enough : E;
      multiply(t, now, z, now, z, now, 0);
      multiply(e, now, f, D_ < now ? D_ : now, t, now, 0);
      for (int c = 0; c < now; ++c)
        store(e + c * W, constant(c == 0 ? 1ULL << 50 : 0) - load(e + c * W));
      carry(e, e, now, 0);
      multiply(t, now, z, now, e, now, 1);
      for (int c = 0; c < now; ++c) store(t + c * W, load(t + c * W) + load(z + c * W));
      store(t + (now - 1) * W, load(t + (now - 1) * W) - constant(4096));
      carry(z, t, now, 0);
      if (2 * right >= 52 * (E - 1) + 16) break;
    }
    store_real(inverse_digits(j), q);
    move_down(inverse(j), z, E, two_to(h - mul_rn(q, value(52))), lt(value(0), value(0)));
    root_ = sqrt(select(bad, value(1), lead));
    word above = constant(0);
    for (int c = 0; c <= E; ++c) {
      const word x = c < E ? load(inverse(j) + c * W) : constant(0);
      store(inverse_half(j) + c * W, (x >> 1) + (above << 51));
      above = x & constant(1);
    }
  }
  // 2^e as digits, 0 <= e < 52.
  static word two_to(real e) { return to_digit(as_real(as_int(e + value(0x1p52 + 1023)) << 52)); }

  // s_ij -> l_ij / 4.
  void divide(size i, size j) const {
    u64* x = entry(i, j);
    const real digits = load_real(inverse_digits(j));
    const bool some = any(!eq(digits, value(0)));
    for (int p = 0; p < P; ++p) {
      u64* s = x + p * part();
      // |l_ij| >= 1: the pivot of row i is going to be negative, and digits do not hold l_ij.
      const real size = abs(leading(s, D_, (double)half_digit));
      const mask_t<real> good = lt(size, mul_rn(root_, value(0.51)));
      store_real(doomed(i), select(good, load_real(doomed(i)), value(1)));
      if (p == 1 && i == j) {
        for (int c = 0; c < D_; ++c) store(s + c * W, constant(c == 0 ? half_digit : 0));
        break;
      }
      if (some) {
        store(s, load(s) ^ constant(half_digit));
        shift_digits(s, D_, digits);
        store(s, load(s) ^ constant(half_digit));
      }
      const u64 *from[1] = {s}, *y[1] = {inverse(j)};
      if (kernels_.divide_real) {
        const word sign[1] = {constant(0)};
        kernels_.divide_real(s, from, sign, y, inverse_half(j), 9);
      } else {
        alignas(64) u64 w[most_words * W];
        kernels_.divide(w, 0, D_ + 1, from, 0, y[0], 0, 1, false);
        for (int c = 0; c <= D_; ++c)
          store(w + c * W, load(w + c * W) - load(inverse_half(j) + c * W));
        carry(w, w, D_ + 1, 9);
        for (int c = 0; c < D_; ++c)
          store(s + c * W, load(w + (c + 1) * W) ^ constant(c == 0 ? half_digit : 0));
      }
    }
    for (int c = 0; c < D_; ++c) {
      u64 *as_x = row_sums(i) + c * W, *as_y = column_sums(i) + c * W;
      const word re = load(x + c * W);
      if constexpr (P == 1) {
        store(as_x, load(as_x) + re);
        store(as_y, load(as_y) + re);
      } else {
        const word im = load(x + part() + c * W);
        store(as_x, load(as_x) + (re + im));
        store(as_y, load(as_y) + (re + im));
        store(as_x + D_ * W, load(as_x + D_ * W) + (im - re));
        store(as_y + D_ * W, load(as_y + D_ * W) + (re - im));
      }
    }
  }

  real failed_, root_;
};

}  // namespace fixed
}  // namespace MDLA_LEVEL
}  // namespace mdla
