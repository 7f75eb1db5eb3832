// SPDX-License-Identifier: BSD-3-Clause
// Matrices in digits, one in each lane: entries minus sums of products, quotients by a pivot.
#pragma once

#include "digit_kernels.hpp"
#include "lane_systems.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace fixed {

template <int P>
class digit_matrices : protected lane_systems<P> {
 protected:
  using base = lane_systems<P>;
  using base::column_step;
  using base::D_;
  using base::entry;
  using base::gather;
  using base::inverse;
  using base::inverse_digits;
  using base::inverse_half;
  using base::inverse_part;
  using base::inverse_sign;
  using base::job_;
  using base::leading_parts;
  using base::N_;
  using base::n_;
  using base::noise_;
  using base::offset;
  using base::order;
  using base::order_;
  using base::ordered_factor;
  using base::part;
  using base::right_part;
  using base::row_factor;
  using base::row_sums;
  using base::times;

  digit_matrices(const elimination_job& job, int growth)
      : base(job, growth),
        to_limbs_(limbs_of_format(job.limbs)),
        kernels_(kernels_with(job.digits)),
        plan_(job.limbs, job.digits, growth),
        finish_(plan_.is_usual() ? kernels_.finish : &finish_entry<0>) {}

  // Limbs of the matrix in the order of the rows.
  void load_rows() {
    for (size i = 0; i < n_; ++i) {
      lane_view<const double> rows = job_.a;
      alignas(64) double f[W];
      for (int l = 0; l < W; ++l) {
        rows.p[l] += order_[l][i] * rows.row;
        f[l] = as_real(row_factor(order_[l][i])[l]);
      }
      store_real(ordered_factor(i), io<real>::load(f));
      gather_row(entry(i, 0), column_step(), part(), rows, 0, n_);
    }
  }
  // Numbers (0, first) .. of all lanes.
  void gather_row(u64* to, size step, size part, const lane_view<const double>& v, size first,
                  size count) const {
    for (int p = 0; p < P; ++p)
      for (int limb = 0; limb < N_; ++limb)
        gather(to + p * part + limb * W, step, v, offset(v, 0, first, p, limb), count);
  }

  // m[r] = part p of the sum over k < K of x_rk y_k, or of x_rk conj(y_k).
  template <int R, bool Conj>
  MDLA_INLINE void multiply_part(products_of products, u64* m, int p, int D, const u64* const* x,
                                 size x_step, size x_part, const u64* y, size y_step, size y_part,
                                 size K) const {
    const size m_row = most_words * W;
    if constexpr (P == 1) {
      products(m, m_row, D, x, x_step, y, y_step, (int)K, false);
    } else {
      // Two sums, the first of which may count negative.
      const u64* im[R];
      for (int r = 0; r < R; ++r) im[r] = x[r] + x_part;
      const bool first_im = p == 0, second_im = p == 1;
      products(m, m_row, D, first_im ? im : x, x_step, y + y_part, y_step, (int)K, false);
      if (Conj ? p == 1 : p == 0)
        for (int r = 0; r < R; ++r)
          for (int i = 0; i < D; ++i)
            store(m + r * m_row + i * W, constant(0) - load(m + r * m_row + i * W));
      products(m, m_row, D, second_im ? im : x, x_step, y, y_step, (int)K, true);
    }
  }

  // As many products can be added up before carries are taken.
  size most_products(int D) const { return 160 / (D * P); }

  // t[r] -= 4 sum over k < K of x_rk y_k or x_rk conj(y_k), for numbers with the offset, given the
  // sums of x and y: for complex numbers those of re - im and of re + im, or with conj those of
  // re + im twice and of im - re for x, re - im for y. t has D digits, y that many or one less.
  template <int R, bool Conj = false>
  void eliminate(products_of products, u64* t, size t_row, int D, int y_digits, const u64* const* x,
                 size x_step, size x_part, const u64* y, size y_step, size y_part, size K,
                 const u64* const* x_sums, size x_sum_part, const u64* y_sums,
                 size y_sum_part) const {
    alignas(64) u64 m[R * most_words * W];
    const size m_row = most_words * W, chunk = most_products(D);
    for (int p = 0; p < P; ++p)
      for (int r = 0; r < R; ++r) {
        u64* to = t + r * t_row + p * D * W;
        for (int c = 0; c < D; ++c) {
          word s = load(x_sums[r] + p * x_sum_part + c * W);
          if (c < y_digits) s = s + load(y_sums + p * y_sum_part + c * W);
          store(to + c * W, load(to + c * W) + (s << 1));
        }
      }
    for (size k = 0; k < K; k += chunk) {
      const u64* from[R];
      for (int r = 0; r < R; ++r) from[r] = x[r] + k * x_step;
      for (int p = 0; p < P; ++p) {
        multiply_part<R, Conj>(products, m, p, D, from, x_step, x_part, y + k * y_step, y_step,
                               y_part, std::min(chunk, K - k));
        for (int r = 0; r < R; ++r) {
          u64* to = t + r * t_row + p * D * W;
          for (int i = 0; i < D; ++i)
            store(to + i * W, load(to + i * W) - (load(m + r * m_row + i * W) << 2));
          if (k + chunk < K) carry(to, to, D, 0);
        }
      }
    }
  }

  // Sums of D digits, see eliminate.
  static void add_to_sums(u64* sums, size sum_part, const u64* x, size x_part, int D) {
    for (int c = 0; c < D; ++c) {
      u64* s = sums + c * W;
      const word re = load(x + c * W);
      if constexpr (P == 1) {
        store(s, load(s) + re);
      } else {
        const word im = load(x + x_part + c * W);
        store(s, load(s) + (re - im));
        store(s + sum_part, load(s + sum_part) + (re + im));
      }
    }
  }

  // to[r] = digits of the limbs there, scaled, minus 4 times the sum over k < K of x_rk y_k or
  // x_rk conj(y_k); sums as above.
  template <int R, bool Conj = false>
  void finish_entries(u64* const* to, size to_part, const real* f, const real* g,
                      const u64* const* x, size x_step, size x_part, const u64* y, size y_step,
                      size K, const u64* const* x_sums, size x_sum_part, const u64* y_sums) const {
    const size sum_part = D_ * W;
    if (K <= most_products(D_)) {
      alignas(64) u64 m[P][R * most_words * W];
      for (int p = 0; p < P; ++p)
        multiply_part<R, Conj>(kernels_.factor[R], m[p], p, D_, x, x_step, x_part, y, y_step,
                               part(), K);
      for (int p = 0; p < P; ++p)
        for (int r = 0; r < R; ++r)
          finish_(to[r] + p * to_part, to[r] + p * to_part, f[r], g[r], plan_,
                  m[p] + r * most_words * W, x_sums[r] + p * x_sum_part, y_sums + p * sum_part,
                  noise_);
      return;
    }
    alignas(64) u64 t[R * P * most_words * W];
    const size t_row = P * D_ * W;
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p)
        cut_limbs(t + r * t_row + p * D_ * W, to[r] + p * to_part, f[r], g[r], plan_);
    eliminate<R, Conj>(kernels_.factor[R], t, t_row, D_, D_, x, x_step, x_part, y, y_step, part(),
                       K, x_sums, x_sum_part, y_sums, sum_part);
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p)
        carry(to[r] + p * to_part, t + r * t_row + p * D_ * W, D_, noise_);
  }

  void note_leading(size i, size j) const {
    for (int p = 0; p < P; ++p)
      store_real(leading_parts(i, j) + p * W,
                 leading(entry(i, j) + p * part(), D_, (double)half_digit));
  }
  // With |u_jj| 2^(52 q + r) in [1/2, 1): 2^(r - 54) over that, q, signs.
  void invert_pivot(size j) const {
    alignas(64) u64 f[2][most_words * W], z[most_words * W];
    const int E = D_ + 1;
    const word mask = constant(digit_mask);
    mask_t<real> zero = eq(value(0), value(0));
    word top = constant(0);
    for (int p = 0; p < P; ++p) {
      const u64* u = entry(j, j) + p * part();
      const word sign = choose(lt(to_real(load(u)), value((double)half_digit)), mask, constant(0));
      store(inverse_sign(j, p), sign);
      // The complement is one unit too small.
      for (int c = 0; c < D_; ++c)
        store(f[p] + c * W, ((load(u + c * W) ^ sign) ^ constant(c == 0 ? half_digit : 0)) +
                                (sign & constant(c == D_ - 1 ? 1 : 0)));
      carry(f[p], f[p], D_, 0);
    }
    real digits = value(0);
    for (int c = 0; c < D_; ++c) {
      word all = load(f[0] + c * W);
      if constexpr (P == 2) all = all | load(f[1] + c * W);
      zero = zero & eq(to_real(all), value(0));
      if (!any(zero)) break;
      digits = select(zero, digits + value(1), digits);
    }
    for (int p = 0; p < P; ++p) {
      if (any(!eq(digits, value(0)))) shift_digits(f[p], D_, digits);
      top = top | load(f[p]);
    }
    // A zero pivot is not divided by: any number will do. (Its digits are all shifted out.)
    top = choose(zero, constant(half_digit), top);
    if (any(zero)) store(f[0], choose(zero, constant(half_digit), load(f[0])));
    const word exponent = as_int(to_real(top)) >> 52;
    const word up = to_digit(as_real((constant(2 * 1023 + 51) - exponent) << 52));
    for (int p = 0; p < P; ++p) shift_bits(f[p], D_, up);
    u64* to = inverse(j);
    // Numbers up to the pivot, times 2^(52 q), have to stay below 1/2: above 1/4 one digit less.
    const mask_t<real> large =
        lt(value((double)(half_digit >> 1)), to_real(top) + value(0.5)) & lt(value(0), digits);
    store_real(inverse_digits(j), select(large, digits - value(1), digits));
    if constexpr (P == 1) {
      reciprocal(z, E, f[0], D_, 2);
      move_down(to, z, E, up, large);
    } else {
      // |f|^2 / 4 in [1/16, 1/2), and 1/32 over it; then twice f / 32 over it.
      alignas(64) u64 h[most_words * W], square[most_words * W];
      multiply(h, E, f[0], D_, f[0], D_, 0);
      multiply(square, E, f[1], D_, f[1], D_, 0);
      for (int c = 0; c < E; ++c) store(h + c * W, load(h + c * W) + load(square + c * W));
      word above = constant(0);
      for (int c = 0; c < E; ++c) {
        const word x = load(h + c * W);
        store(square + c * W, (x >> 2) + (above << 50));
        above = x & constant(3);
      }
      carry(h, square, E, 0);
      reciprocal(z, E, h, E, 5);
      for (int p = 0; p < 2; ++p) {
        multiply(h, E, f[p], D_, z, E, 1);
        move_down(to + p * inverse_part(), h, E, up, large);
      }
    }
    u64* half = inverse_half(j);
    word above = constant(0);
    for (int c = 0; c <= E; ++c) {
      word x = constant(0);
      if (c < E) {
        x = load(to + c * W);
        if constexpr (P == 2) x = x + load(to + inverse_part() + c * W);
      }
      store(half + c * W, (x >> 1) + (above << 51));
      above = x & constant(1);
    }
  }
  // z up 2^-52, or z up where it is `large`.
  static void move_down(u64* to, const u64* z, int E, word up, mask_t<real> large) {
    word low = constant(0), here = madd52lo(constant(0), load(z), up);
    for (int c = 0; c < E; ++c) {
      const word next = c + 1 < E ? load(z + (c + 1) * W) : constant(0);
      const word down = madd52hi(low, load(z + c * W), up), stay = madd52hi(here, next, up);
      store(to + c * W, choose(large, stay, down));
      low = here;
      here = madd52lo(constant(0), next, up);
    }
  }

  // p[part][0..D + 1) = digits, modulo 1, of 2^-52 x / (4 |u_jj| 2^(52 q)) for a number x with the
  // offset and D digits.
  void quotient(products_of products, u64* p, size p_part, const u64* x, size x_part, int D, size j,
                int noise) const {
    alignas(64) u64 s[2 * most_words * W], w[most_words * W];
    for (int i = 0; i < P; ++i) {
      // Re: x_r y_r - x_i y_i with conj(u) in y: signs as those of u, and (-) (-) = +; likewise Im.
      for (int a = 0; a < P; ++a) {
        const int b = i == 0 ? a : 1 - a;
        word sign = load(inverse_sign(j, b));
        if (P == 2 && i == 1 && b == 1) sign = sign ^ constant(digit_mask);
        for (int c = 0; c < D; ++c) store(s + (a * D + c) * W, load(x + a * x_part + c * W) ^ sign);
      }
      const u64* from[1] = {s};
      const bool reversed = P == 2 && i == 1;
      products(w, 0, D + 1, from, D * W, inverse(j) + (reversed ? inverse_part() : 0),
               reversed ? -inverse_part() : inverse_part(), P, false);
      const u64* half = inverse_half(j);
      for (int c = 0; c <= D && c <= D_ + 1; ++c)
        store(w + c * W, load(w + c * W) - load(half + c * W));
      // Complements are one unit too small.
      word missing = load(w + D * W);
      for (int a = 0; a < P; ++a) {
        const int b = i == 0 ? a : 1 - a;
        const word flip = constant(P == 2 && i == 1 && b == 1 ? digit_mask : 0);
        missing =
            missing + ((load(inverse_sign(j, b)) ^ flip) & load(inverse(j) + b * inverse_part()));
      }
      store(w + D * W, missing);
      carry(p + i * p_part, w, D + 1, noise);
    }
  }

  // s_ij -> l_ij / 4, and its leading part.
  void divide_entry(size i, size j) const {
    alignas(64) u64 p[2 * most_words * W];
    const size p_part = most_words * W;
    u64* x = entry(i, j);
    const real digits = load_real(inverse_digits(j));
    if (any(!eq(digits, value(0))))
      for (int k = 0; k < P; ++k) {
        u64* s = x + k * part();
        store(s, load(s) ^ constant(half_digit));
        shift_digits(s, D_, digits);
        store(s, load(s) ^ constant(half_digit));
      }
    if (kernels_.divide_real) {
      alignas(64) u64 im[most_words * W];
      const u64 *from[2] = {x, x + part()}, *y[2] = {inverse(j), inverse(j) + inverse_part()};
      word signs[2] = {load(inverse_sign(j, 0)), load(inverse_sign(j, P - 1))};
      if constexpr (P == 1) {
        kernels_.divide_real(x, from, signs, y, inverse_half(j), 9);
      } else {
        const u64* reversed[2] = {y[1], y[0]};
        const word crossed[2] = {signs[1] ^ constant(digit_mask), signs[0]};
        kernels_.divide_complex(im, from, crossed, reversed, inverse_half(j), 9);
        kernels_.divide_complex(x, from, signs, y, inverse_half(j), 9);
        for (int c = 0; c < D_; ++c) store(x + part() + c * W, load(im + c * W));
      }
    } else {
      quotient(kernels_.divide, p, p_part, x, part(), D_, j, 9);
      for (int k = 0; k < P; ++k)
        for (int c = 0; c < D_; ++c)
          store(x + k * part() + c * W,
                load(p + k * p_part + (c + 1) * W) ^ constant(c == 0 ? half_digit : 0));
    }
    for (int k = 0; k < P; ++k)
      store_real(leading_parts(i, j) + k * W,
                 mul_rn(value(4), leading(x + k * part(), 2, (double)half_digit)));
    add_to_sums(row_sums(i), D_ * W, x, part(), D_);
  }
  // ---- output -----------------------------------------------------------------------------------

  // A number with the offset times 2^exponent goes to (i, j).
  void deliver(size i, size j, const u64* x, int D, real exponent) const {
    const size step = D == D_ ? part() : right_part();
    for (int p = 0; p < P; ++p) {
      word d[max_digits + 1];
      word up = constant(0);
      for (int c = D - 1; c >= 0; --c) {
        const word biased = load(x + p * step + c * W) + up + constant(c > 0 ? half_digit : 0);
        d[c + 1] = (biased & constant(digit_mask)) - constant(half_digit);
        up = biased >> 52;
      }
      d[0] = up;
      alignas(64) double limbs[max_limbs * W];
      to_limbs_(limbs, d, D, exponent);
      for (int lane = 0; lane < job_.lanes; ++lane) {
        if (job_.needed[lane] != D_) continue;
        double* to = job_.to.p[lane] + offset(job_.to, i, j, p, 0);
        for (int limb = 0; limb < N_; ++limb) to[limb * job_.to.limb] = limbs[limb * W + lane];
      }
    }
  }
  const limbs_of to_limbs_;
  const product_kernels& kernels_;
  const cut_plan plan_;
  const finish_of finish_;
};

}  // namespace fixed

}  // namespace MDLA_LEVEL
}  // namespace mdla
