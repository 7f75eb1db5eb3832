// SPDX-License-Identifier: BSD-3-Clause
// Integer carry-save product: sums of products of 52-bit digits, exact until one rounding.
//
// Rows of A and columns of B are scaled by powers of two to |x| < 1/2 and cut into D digits, see
// digits.hpp, up to |r| <= N/2 units of 2^(-52 D). The sums
//     sum_k c_i c'_j = sum_k d_i d'_j - 2^51 (sum_k d_i + sum_k d'_j) + 2^102 k
// follow from row sums and column sums formed once. Of the digit products, those with i + j < D
// are taken, the last diagonal i + j = D - 1 without its low halves: D^2 instructions for 8
// multiply-adds. docs/direct.md has the bound.
//
// Panels: `width` rows of A (tile_rows) or columns of B (a multiple of 8, at most tile_columns)
// side by side, [digit][k][width], so that the inner loop walks along both panels with unit stride.
// Diagonals are summed one after the other, each held in registers over a block of k.
#pragma once

#include "digits.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

// Values of k between carries: a column of digit products grows by at most 2 D 2^52 a step, and
// 2 D block 2^52 + 2^62 < 2^64. More than 256 gains nothing.
MDLA_INLINE int block_steps(int D) {
  const int most = 3070 / (2 * D);
  return most > 256 ? 256 : most;
}

// sums[t][tile_rows][8 V] += digit products of two panels over the first `diagonals` diagonals;
// products of diagonal c have weights t = c + 1 (high halves) and c + 2 (low halves). The last
// diagonal, if `truncated`, has no low halves and so fits into registers for all rows at once.
template <int V>
void digit_products(u64* sums, const digit* a, const digit* b, int diagonals, bool truncated,
                    long long steps, long long a_digit, long long b_digit, int rows) {
  constexpr int half = tile_rows / 2, count = tile_rows * 8 * V;
  alignas(64) u64 halves[2][count];
  const int block = block_steps(diagonals);
  for (long long k = 0; k < steps; k += block) {
    const int n = (int)(steps - k < block ? steps - k : block);
    const digit* x = a + k * tile_rows;
    const digit* y = b + k * 8 * V;
    for (int i = 0; i < count; ++i) halves[0][i] = halves[1][i] = 0;
    for (int c = 0; c < diagonals; ++c) {
      u64* high = halves[c % 2];
      u64* low = halves[1 - c % 2];
      if (!truncated || c < diagonals - 1) {
        for (int r = 0; r < rows; r += half)
          diagonal<V, half, true>(high + r * 8 * V, low + r * 8 * V, x + r, y, c, n, a_digit,
                                  b_digit);
      } else if (rows <= half) {
        diagonal<V, half, false>(high, low, x, y, c, n, a_digit, b_digit);
      } else {
        diagonal<V, tile_rows, false>(high, low, x, y, c, n, a_digit, b_digit);
      }
      carry_into(sums, high, c + 1, count);
    }
    if (!truncated) carry_into(sums, halves[diagonals % 2], diagonals + 1, count);
  }
}

inline void integer_tile(u64* sums, const void* a, const void* b, int D, long long steps,
                         long long a_digit, long long b_digit, int rows, int V) {
  const digit* x = (const digit*)a;
  const digit* y = (const digit*)b;
  switch (V) {
    case 1:
      return digit_products<1>(sums, x, y, D, true, steps, a_digit, b_digit, rows);
    case 2:
      return digit_products<2>(sums, x, y, D, true, steps, a_digit, b_digit, rows);
    default:
      return digit_products<3>(sums, x, y, D, true, steps, a_digit, b_digit, rows);
  }
}

// Sums of a tile, rounded to multiples of 2^noise_bits of the last digit -> digits of weight 2^(-52
// t), t = 0..D, -> limbs. More(r, v, extra) may add to the digits of the vector of results at row
// r, column v.
template <int N, class More>
MDLA_INLINE void finish_digits(const finish_job& job, int D, const More& more) {
  using T = simd<double>;
  using I = int_t<T>;
  constexpr int lanes = width_v<T>;
  const int width = 8 * job.vectors;
  const I mask = splat_int<T>(digit_mask);
  const u64 noise = 1ULL << job.noise_bits;
  for (int r = 0; r < job.rows; ++r) {
    for (int v = 0; v < width; v += lanes) {
      I d[max_digits + 1];
      for (int t = 0; t <= job.digits; ++t) {
        const u64* s = job.sums + ((long long)t * tile_rows + r) * width + v;
        const u64* c = job.column_terms + (long long)t * width + v;
        const u64 constant = job.constants[t] - job.row_terms[t * tile_rows + r];
        d[t] = load_words(s) - load_words(c) + splat_int<T>(constant);
      }
      d[job.digits] = (d[job.digits] + splat_int<T>(noise >> 1)) & splat_int<T>(~(noise - 1));
      more(r, v, d);
      I carry = splat_int<T>((1ULL << 51) + (1ULL << 62));
      for (int t = D; t >= 0; --t) {
        const I biased = d[t] + carry;
        d[t] = (biased & mask) - splat_int<T>(1ULL << 51);
        carry = (biased >> 52) + splat_int<T>((1ULL << 51) + (1ULL << 62) - (1ULL << 10));
      }
      result_scale<T> scale{job.row_factors != nullptr, splat<T>(0), splat<T>(0)};
      if (scale.is_factor)
        scale.factor = mul_rn(splat<T>(job.row_factors[r]), io<T>::load(job.column_factors + v));
      scale.exponent = splat<T>(job.row_exponents[r]) + io<T>::load(job.column_exponents + v);
      store_results<N, T>(job.out, r, v, job.columns, from_digits<N, T>(d, D, scale));
    }
  }
}

template <int N>
void integer_finish(const finish_job& job) {
  finish_digits<N>(job, job.digits, [](int, int, int_t<simd<double>>*) {});
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
