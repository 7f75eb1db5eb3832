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
// Panels: `width` rows of A (tile_rows) or columns of B (a multiple of 8, at most tile_columns) side
// by side, [digit][k][width], so that the inner loop walks along both panels with unit stride.
// Diagonals are summed one after the other, each held in registers over a block of k.
#pragma once

#include "digits.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

// Values of k between carries: a column of digit products grows by at most (2 D - 1) 2^52 a step,
// and (2 D - 1) block 2^52 + 2^62 < 2^64. More than 256 gains nothing.
MDLA_INLINE int block_steps(int D) {
  const int most = 3071 / (2 * D - 1);
  return most > 256 ? 256 : most;
}

// sums[D + 1][tile_rows][8 V] += digit products of two panels. The last diagonal has no low halves
// and so fits into registers for all rows at once.
template <int V>
void tile_of(u64* sums, const digit* a, const digit* b, int D, long long steps, long long a_digit,
             long long b_digit, int rows) {
  constexpr int half = tile_rows / 2, count = tile_rows * 8 * V;
  alignas(64) u64 halves[2][count];
  const int block = block_steps(D);
  for (long long k = 0; k < steps; k += block) {
    const int n = (int)(steps - k < block ? steps - k : block);
    const digit* x = a + k * tile_rows;
    const digit* y = b + k * 8 * V;
    for (int i = 0; i < count; ++i) halves[0][i] = halves[1][i] = 0;
    for (int c = 0; c < D; ++c) {
      u64* high = halves[c % 2];
      u64* low = halves[1 - c % 2];
      if (rows <= half) {
        if (c < D - 1) {
          diagonal<V, half, true>(high, low, x, y, c, n, a_digit, b_digit);
        } else {
          diagonal<V, half, false>(high, low, x, y, c, n, a_digit, b_digit);
        }
      } else if (c < D - 1) {
        for (int r = 0; r < tile_rows; r += half)
          diagonal<V, half, true>(high + r * 8 * V, low + r * 8 * V, x + r, y, c, n, a_digit,
                                  b_digit);
      } else {
        diagonal<V, tile_rows, false>(high, low, x, y, c, n, a_digit, b_digit);
      }
      carry_into(sums, high, c + 1, count);
    }
  }
}

inline void integer_tile(u64* sums, const void* a, const void* b, int D, long long steps,
                         long long a_digit, long long b_digit, int rows, int V) {
  const digit* x = (const digit*)a;
  const digit* y = (const digit*)b;
  switch (V) {
    case 1:
      return tile_of<1>(sums, x, y, D, steps, a_digit, b_digit, rows);
    case 2:
      return tile_of<2>(sums, x, y, D, steps, a_digit, b_digit, rows);
    default:
      return tile_of<3>(sums, x, y, D, steps, a_digit, b_digit, rows);
  }
}

template <int N>
void finish_tile(const finish_job& job) {
  using T = simd<double>;
  using I = int_t<T>;
  constexpr int lanes = width_v<T>;
  const int D = job.digits, width = 8 * job.vectors;
  const I mask = splat_int<T>(digit_mask);
  const T noise = splat<T>(job.noise);
  alignas(64) double line[N * tile_columns];
  for (int r = 0; r < job.rows; ++r) {
    for (int v = 0; v < width; v += lanes) {
      I d[max_digits + 1];
      I carry = splat_int<T>(0);
      for (int t = D; t >= 0; --t) {
        const u64* s = job.sums + ((long long)t * tile_rows + r) * width + v;
        const u64* c = job.column_terms + (long long)t * width + v;
        const I total = load_words(s) - load_words(c) -
                        splat_int<T>(job.row_terms[t * tile_rows + r]) + carry;
        const I biased = total + splat_int<T>(job.constants[t] + (1ULL << 51) + (1ULL << 62));
        d[t] = (biased & mask) - splat_int<T>(1ULL << 51);
        carry = (biased >> 52) - splat_int<T>(1ULL << 10);
      }
      const T exponent =
          splat<T>(job.row_exponents[r]) + io<T>::load(job.column_exponents + v);
      const expansion<T, N> x = from_digits<N, T>(d, D, exponent, noise);
      for (int i = 0; i < N; ++i) io<T>::store(line + i * tile_columns + v, x.limb[i]);
    }
    store_line(job.out, r, line, N, job.columns);
  }
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
