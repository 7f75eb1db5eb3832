// SPDX-License-Identifier: BSD-3-Clause
// Mixed product: digit products summed exactly but for the last diagonal, which is in doubles.
//
// Entries are cut into N digits as in digits.hpp, the last one a double that takes what is left
// below it. The digit products with i + j <= N - 2 are summed as integers, N (N - 1) instructions
// for 8 multiply-adds; those with i + j = N - 1 by N fused multiply-adds, in two running sums for
// even and odd k over 32 values of k, whose totals are added up; the rest is dropped. The error is
// below k eps sum |a b| where that sum is large enough, which `mixed_suffices` finds out
// beforehand; docs/direct.md has the bound.
//
// Products of digits i, j and j, i are added to each other first, so that the sum is symmetric in
// a and b, and terms of neighbouring k that cancel do so exactly.
#pragma once

#include "integer_kernel.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

constexpr int mixed_block = 64, short_sum = 32;

// total[r][v] = sum over k of x_k[r] y_k[v].
template <int R, int W>
MDLA_INLINE void inner_products(simd<double> (&total)[R][W], const double* x, const double* y,
                                int steps, int width) {
  using T = simd<double>;
  constexpr int lanes = width_v<T>;
  T s[2][R][W];
  MDLA_UNROLL
  for (int q = 0; q < 2; ++q) {
    MDLA_UNROLL
    for (int i = 0; i < R * W; ++i) s[q][i / W][i % W] = splat<T>(0);
  }
  int k = 0;
#pragma GCC unroll 2
  for (; k + 2 <= steps; k += 2) {
    MDLA_UNROLL
    for (int q = 0; q < 2; ++q) {
      T b[W];
      MDLA_UNROLL
      for (int w = 0; w < W; ++w) b[w] = io<T>::load(y + (k + q) * width + w * lanes);
      MDLA_UNROLL
      for (int r = 0; r < R; ++r) {
        const T a = splat<T>(x[(k + q) * tile_rows + r]);
        MDLA_UNROLL
        for (int w = 0; w < W; ++w) s[q][r][w] = fma(a, b[w], s[q][r][w]);
      }
    }
  }
  MDLA_UNROLL
  for (int r = 0; r < R; ++r) {
    MDLA_UNROLL
    for (int w = 0; w < W; ++w) {
      if (k < steps)
        s[0][r][w] =
            fma(splat<T>(x[k * tile_rows + r]), io<T>::load(y + k * width + w * lanes), s[0][r][w]);
      total[r][w] = s[0][r][w] + s[1][r][w];
    }
  }
}

// sums += the last diagonal over at most mixed_block steps, for R rows and W vectors.
template <int R, int W>
MDLA_INLINE void last_diagonal(double* sums, const double* a, const double* b, int N, int steps,
                               long long a_digit, long long b_digit, int width) {
  using T = simd<double>;
  constexpr int lanes = width_v<T>;
  T sum[R][W];
  bool first = true;
  for (int k = 0; k < steps; k += short_sum) {
    const int n = steps - k < short_sum ? steps - k : short_sum;
    const double* x = a + k * tile_rows;
    const double* y = b + k * width;
    for (int i = 0; 2 * i < N; ++i) {
      const int j = N - 1 - i;
      T t[R][W];
      inner_products<R, W>(t, x + i * a_digit, y + j * b_digit, n, width);
      if (i < j) {
        T u[R][W];
        inner_products<R, W>(u, x + j * a_digit, y + i * b_digit, n, width);
        MDLA_UNROLL
        for (int c = 0; c < R * W; ++c) t[c / W][c % W] = t[c / W][c % W] + u[c / W][c % W];
      }
      MDLA_UNROLL
      for (int c = 0; c < R * W; ++c)
        sum[c / W][c % W] = first ? t[c / W][c % W] : sum[c / W][c % W] + t[c / W][c % W];
      first = false;
    }
  }
  MDLA_UNROLL
  for (int r = 0; r < R; ++r) {
    MDLA_UNROLL
    for (int w = 0; w < W; ++w) {
      double* p = sums + r * width + w * lanes;
      io<T>::store(p, io<T>::load(p) + sum[r][w]);
    }
  }
}

// Panels hold N - 1 planes of digits, then N planes of doubles. sums are N + 1 planes of digit sums
// and one of doubles.
template <int V>
void mixed_tile_of(u64* sums, const void* a_panel, const void* b_panel, int N, long long steps,
                   long long a_digit, long long b_digit, int rows) {
  constexpr int width = 8 * V, lanes = width_v<simd<double>>;
  constexpr int R = lanes == 8 ? 4 : 2, W = lanes == 8 ? V : 2;
  digit_products<V>(sums, (const digit*)a_panel, (const digit*)b_panel, N - 1, false, steps,
                    a_digit, b_digit, rows);
  double* last = (double*)(sums + (N + 1) * tile_rows * width);
  const double* a = (const double*)a_panel + (N - 1) * a_digit;
  const double* b = (const double*)b_panel + (N - 1) * b_digit;
  for (long long k = 0; k < steps; k += mixed_block) {
    const int n = (int)(steps - k < mixed_block ? steps - k : mixed_block);
    for (int r = 0; r < rows; r += R)
      for (int c = 0; c < width; c += W * lanes)
        last_diagonal<R, W>(last + r * width + c, a + k * tile_rows + r, b + k * width + c, N, n,
                            a_digit, b_digit, width);
  }
}

inline void mixed_tile(u64* sums, const void* a, const void* b, int N, long long steps,
                       long long a_digit, long long b_digit, int rows, int V) {
  switch (V) {
    case 1:
      return mixed_tile_of<1>(sums, a, b, N, steps, a_digit, b_digit, rows);
    case 2:
      return mixed_tile_of<2>(sums, a, b, N, steps, a_digit, b_digit, rows);
    default:
      return mixed_tile_of<3>(sums, a, b, N, steps, a_digit, b_digit, rows);
  }
}

// The sum of the last diagonal has weight 2^(-52 (N + 1)): it is cut into digits N - 1, N, N + 1
// like the operands were.
template <int N>
void mixed_finish(const finish_job& job) {
  using T = simd<double>;
  using I = int_t<T>;
  const int width = 8 * job.vectors;
  const double* last = (const double*)(job.sums + (N + 1) * tile_rows * width);
  finish_digits<N>(job, N + 1, [&](int r, int v, I* d) {
    const T round = splat<T>(0x1.8p52);
    const I bits = as_int(round);
    const T x = mul_rn(io<T>::load(last + r * width + v), splat<T>(0x1p-52));
    const T top = mul_rn(x, splat<T>(0x1p-52)) + round;
    const T y = x - mul_rn(top - round, splat<T>(0x1p52));
    const T middle = y + round;
    const T z = mul_rn(y - (middle - round), splat<T>(0x1p52));
    d[N - 1] = d[N - 1] + as_int(top) - bits;
    d[N] = d[N] + as_int(middle) - bits;
    d[N + 1] = as_int(z + round) - bits;
  });
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
