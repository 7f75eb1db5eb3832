// SPDX-License-Identifier: BSD-3-Clause
// LU with partial pivoting in fixed point, one system in each lane; compiled once per instruction
// set.
#include "cholesky_kernel.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace {

using namespace fixed;

// Solutions up to this power of two need no second look.
constexpr int reach = 26;

// Elimination with numbers of P parts.
template <int P>
class elimination : digit_matrices<P> {
  using base = digit_matrices<P>;
  using base::add_to_sums;
  using base::at_;
  using base::column_exponent;
  using base::column_factor;
  using base::column_step;
  using base::column_sums;
  using base::condition;
  using base::D_;
  using base::deliver;
  using base::divide_entry;
  using base::entry;
  using base::gather_row;
  using base::growth_;
  using base::inverse_digits;
  using base::invert_pivot;
  using base::job_;
  using base::kernels_;
  using base::leading_parts;
  using base::length_of;
  using base::load_rows;
  using base::n_;
  using base::noise_;
  using base::note_leading;
  using base::offset;
  using base::order;
  using base::order_;
  using base::ordered_factor;
  using base::part;
  using base::pick;
  using base::quotient;
  using base::report;
  using base::right;
  using base::right_part;
  using base::right_scale;
  using base::right_step;
  using base::right_sums;
  using base::row_step;
  using base::row_sums;
  using base::scale;
  using base::scale_right_sides;
  using base::swap_words;
  using base::times;
  using base::words;

 public:
  explicit elimination(const elimination_job& job) : base(job, growth_bits(P, job.n)) {}

  void solve() {
    scale(true);
    scale_right_sides();
    if (report()) return;
    order();
    load_rows();
    factor();
    condition();
    for (size c = 0; c < job_.k; c += right_sides)
      substitute(c, (int)std::min<size>(right_sides, job_.k - c));
  }

  void lu() {
    scale(false);
    if (report()) return;
    order();
    load_rows();
    factor();
    for (size i = 0; i < n_; ++i)
      for (size j = 0; j < n_; ++j)
        deliver(i, j, entry(i, j), D_, i > j ? value(2) : value(growth_) - column_exponent(j));
    for (int lane = 0; lane < job_.lanes; ++lane)
      for (size i = 0; i < n_; ++i) job_.pivots[lane][i] = order_[lane][i];
  }

 private:
  // Entries (i + r, j), r < R, of column j for rows from j on.
  template <int R>
  void column_entries(size i, size j) const {
    const u64 *x[R], *sums[R];
    u64* to[R];
    real f[R], g[R];
    for (int r = 0; r < R; ++r) {
      x[r] = entry(i + r, 0);
      to[r] = entry(i + r, j);
      sums[r] = row_sums(i + r);
      f[r] = load_real(ordered_factor(i + r));
      g[r] = mul_rn(load_real(column_factor(j)), power(cut_origin));
    }
    this->template finish_entries<R>(to, part(), f, g, x, column_step(), part(), entry(0, j),
                                     row_step(), j, sums, D_ * W, column_sums(j));
  }
  // Entries (j, c + r) of row j.
  template <int R>
  void row_entries(size j, size c) const {
    const u64 *x[R], *sums[R];
    u64* to[R];
    real f[R], g[R];
    for (int r = 0; r < R; ++r) {
      x[r] = entry(0, c + r);
      to[r] = entry(j, c + r);
      sums[r] = column_sums(c + r);
      f[r] = load_real(ordered_factor(j));
      g[r] = mul_rn(load_real(column_factor(c + r)), power(cut_origin));
    }
    this->template finish_entries<R>(to, part(), f, g, x, row_step(), part(), entry(j, 0),
                                     column_step(), j, sums, D_ * W, row_sums(j));
  }

  void factor() {
    for (size i = 0; i < n_; ++i)
      for (int c = 0; c < P * D_; ++c) {
        store(row_sums(i) + c * W, constant(0));
        store(column_sums(i) + c * W, constant(0));
      }
    for (size j = 0; j < n_; ++j) {
      size i = j;
      for (; i + 4 <= n_; i += 4) column_entries<4>(i, j);
      for (; i + 2 <= n_; i += 2) column_entries<2>(i, j);
      for (; i < n_; ++i) column_entries<1>(i, j);
      for (i = j; i < n_; ++i) note_leading(i, j);
      pick(
          j, [&](size r) { return length_of(leading_parts(r, j)); },
          [&](int lane, size p) { swap_rows(lane, j, p); });
      invert_pivot(j);
      size c = j + 1;
      for (; c + 4 <= n_; c += 4) row_entries<4>(j, c);
      for (; c + 2 <= n_; c += 2) row_entries<2>(j, c);
      for (; c < n_; ++c) row_entries<1>(j, c);
      for (c = j + 1; c < n_; ++c) {
        add_to_sums(column_sums(c), D_ * W, entry(j, c), part(), D_);
        note_leading(j, c);
      }
      for (i = j + 1; i < n_; ++i) divide_entry(i, j);
    }
  }
  void swap_rows(int lane, size i, size j) {
    swap_words(entry(i, 0), entry(j, 0), n_ * P * at_.entry, lane);
    swap_words(row_sums(i), row_sums(j), P * D_, lane);
    swap_words(leading_parts(i, 0), leading_parts(j, 0), n_ * P, lane);
    swap_words(ordered_factor(i), ordered_factor(j), 1, lane);
  }
  // ---- substitution -----------------------------------------------------------------------------

  void substitute(size c, int count) {
    if (count == 1) {
      columns_of<1>(c);
    } else {
      // Repeated columns fill the block up.
      columns_of<right_sides>(c, count);
    }
  }

  template <int R>
  void columns_of(size first, int count = R) {
    const int B = D_ + 1;
    real factor[R], exponent[R], shift[R];
    alignas(64) u64 t[R * P * most_words * W];
    const u64 *x[R], *sums[R];
    // Forwards: y = L^-1 P b, in D digits and scaled like U.
    for (int r = 0; r < R; ++r) {
      const size c = first + std::min(r, count - 1);
      const binary_scale s = right_scale(c);
      exponent[r] = s.exponent;
      shift[r] = value(0);
      for (size i = 0; i < n_; ++i) {
        lane_view<const double> rows = job_.b;
        for (int l = 0; l < W; ++l) rows.p[l] += order_[l][i] * rows.row;
        gather_row(right(r, i), 0, right_part(), rows, c, 1);
      }
      clear_sums(r);
      factor[r] = mul_rn(s.factor, power(cut_origin));
    }
    for (size i = 0; i < n_; ++i) {
      u64* to[R];
      real f[R];
      for (int r = 0; r < R; ++r) {
        x[r] = right(r, 0);
        to[r] = right(r, i);
        sums[r] = right_sums(r);
        f[r] = load_real(ordered_factor(i));
      }
      this->template finish_entries<R>(to, right_part(), f, factor, x, right_step(), right_part(),
                                       entry(i, 0), column_step(), i, sums, right_part(),
                                       row_sums(i));
      for (int r = 0; r < R; ++r)
        add_to_sums(right_sums(r), right_part(), right(r, i), right_part(), D_);
    }
    // Backwards: x 2^-(reach + 2 + 52 shift), in D + 1 digits.
    for (int r = 0; r < R; ++r) clear_sums(r);
    alignas(64) u64 p[2 * most_words * W], row[2 * most_words * W];
    const size p_part = most_words * W;
    for (size i = n_; i-- > 0;) {
      for (int c = 0; c < 2 * most_words; ++c) store(row + c * W, constant(0));
      for (size k = i + 1; k < n_; ++k) add_to_sums(row, p_part, entry(i, k), part(), D_);
      for (int r = 0; r < R; ++r) {
        x[r] = right(r, i + 1);
        sums[r] = right_sums(r);
        for (int q = 0; q < P; ++q)
          lower(t + (r * P + q) * B * W, right(r, i) + q * right_part(), shift[r]);
      }
      this->template eliminate<R>(kernels_.substitute[R], t, P * B * W, B, D_, x, right_step(),
                                  right_part(), entry(i, i + 1), column_step(), part(), n_ - 1 - i,
                                  sums, right_part(), row, p_part);
      for (int r = 0; r < R; ++r) {
        for (int q = 0; q < P; ++q) {
          u64* s = t + (r * P + q) * B * W;
          carry(s, s, B, noise_);
        }
        quotient(kernels_.divide_longer, p, p_part, t + r * P * B * W, B * W, B, i, 40);
        mask_t<real> odd = !eq(load_real(inverse_digits(i)), value(0));
        for (int q = 0; q < P; ++q) {
          const u64* from = p + q * p_part;
          const word sign = load(from + W) >> 51;
          odd = odd | !eq(to_real((load(from) + sign) & constant(digit_mask)), value(0));
          for (int c = 0; c < B; ++c)
            store(right(r, i) + q * right_part() + c * W,
                  load(from + (c + 1) * W) ^ constant(c == 0 ? half_digit : 0));
        }
        if (__builtin_expect(any(odd), 0)) {
          place(r, i, p, p_part, shift[r]);
        } else {
          add_to_sums(right_sums(r), right_part(), right(r, i), right_part(), B);
        }
      }
    }
    for (int r = 0; r < count; ++r)
      for (size i = 0; i < n_; ++i)
        deliver(i, first + r, right(r, i), B,
                value(reach + 2) + mul_rn(value(52), shift[r]) + exponent[r] + column_exponent(i));
  }

  void clear_sums(int r) const {
    for (int p = 0; p < P; ++p)
      for (int c = 0; c <= D_; ++c) store(right_sums(r) + p * right_part() + c * W, constant(0));
  }

  // y of D digits times 2^-(reach + 52 shift), as D + 1 words with the offset.
  void lower(u64* t, const u64* y, real shift) const {
    const int B = D_ + 1;
    word above = constant(0);
    for (int c = 0; c < B; ++c) {
      const word d = c < D_ ? load(y + c * W) : constant(0);
      store(t + c * W, (d >> reach) + above);
      above = (d << (52 - reach)) & constant(digit_mask);
    }
    const u64 offset = half_digit >> reach;
    store(t, load(t) + constant(half_digit - offset));
    if (__builtin_expect(!any(!eq(shift, value(0))), 1)) return;
    alignas(64) double digits[W];
    io<real>::store(digits, shift);
    for (int l = 0; l < W; ++l) shift_down(t + l, B, (int)digits[l]);
  }
  // A number with the offset in one lane, by a number of digits.
  static void shift_down(u64* x, int B, int digits) {
    if (digits <= 0) return;
    x[0] ^= half_digit;
    const u64 sign = x[0] >> 51 & 1 ? digit_mask : 0;
    for (int c = B - 1; c >= 0; --c) x[c * W] = c >= digits ? x[(c - digits) * W] : sign;
    x[0] ^= half_digit;
  }

  // Lanes of x_i = p 2^(52 (1 + q)) in the present scale where the pivot is small or x_i does not
  // fit: as many digits up as it can go; if that is not all, what was found before moves down.
  void place(int r, size i, const u64* p, size p_part, real& shift) const {
    const int B = D_ + 1;
    alignas(64) double lanes[W];
    io<real>::store(lanes, shift);
    for (int l = 0; l < W; ++l) {
      const int wanted = 1 + (int)as_real(inverse_digits(i)[l]);
      int up = wanted;
      for (int q = 0; q < P; ++q) {
        const u64* from = p + q * p_part + l;
        const u64 sign = from[0] >> 51 & 1;
        int m = 0;
        while (m < B && m < up && from[m * W] == (sign ? digit_mask : 0) &&
               (from[(m + 1) * W] >> 51 & 1) == sign)
          ++m;
        bool vanishes = m == B;
        for (int c = 0; c <= B; ++c) vanishes = vanishes && from[c * W] == 0;
        if (!vanishes) up = m;
      }
      for (int q = 0; q < P; ++q) {
        const u64* from = p + q * p_part + l;
        u64* to = right(r, i) + q * right_part() + l;
        for (int c = 0; c < B; ++c) to[c * W] = c + up <= B ? from[(c + up) * W] : 0;
        to[0] ^= half_digit;
      }
      const int down = wanted - up;
      if (down == 0) continue;
      lanes[l] += down;
      for (size k = i + 1; k < n_; ++k)
        for (int q = 0; q < P; ++q) shift_down(right(r, k) + q * right_part() + l, B, down);
    }
    shift = io<real>::load(lanes);
    clear_sums(r);
    for (size k = i; k < n_; ++k)
      add_to_sums(right_sums(r), right_part(), right(r, k), right_part(), B);
  }
};

void solve(const elimination_job& job) {
  return job.parts == 1 ? elimination<1>(job).solve() : elimination<2>(job).solve();
}
void lu(const elimination_job& job) {
  return job.parts == 1 ? elimination<1>(job).lu() : elimination<2>(job).lu();
}
void cholesky(const elimination_job& job) {
  return job.parts == 1 ? cholesky_factor<1>(job).run() : cholesky_factor<2>(job).run();
}

}  // namespace

const elimination_ops& elimination_table() {
  static const elimination_ops table = {W, &solve, &lu, &cholesky};
  return table;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
