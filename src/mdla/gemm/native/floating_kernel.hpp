// SPDX-License-Identifier: BSD-3-Clause
// Floating carry-save product: running sums for any exponents, no scaling.
//
// Diagonal d of a product of two N-limb numbers is sum_{i+j=d} a_i b_j, of relative size 2^(-53 d).
// One step of k forms the first M diagonals of a_ik b_kj: two_prod and two_sum, their errors handed
// to the next diagonal, the last one summed plainly. It adds them to N running sums by two_sum,
// whose errors go down likewise; what leaves the last sum is collected in one more double. Every
// `carry_steps` values of k a pass from the top restores sum[d+1] <= ulp(sum[d]), so that rounding
// errors grow linearly with k. M = N up to four limbs, where few roundings happen on the last
// diagonal; beyond, M = N + 1. docs/direct.md has the bound.
//
// The order of operations in k is that of the textbook loop, for every instruction set, block size
// and number of threads, and a step is symmetric in a and b: (A B)^T has the bits of B^T A^T.
#pragma once

#include "digits.hpp"
#include "direct_ops.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

template <int N>
constexpr int diagonals_of = N <= 4 ? N : N + 1;

// Values of k between carries: docs/direct.md, "growth".
template <int N>
constexpr int carry_steps = N <= 5    ? 64
                            : N <= 8  ? 16
                            : N <= 10 ? 8
                                      : 2;

template <int N, class T>
MDLA_INLINE void carry_down(T* sum) {
  MDLA_UNROLL
  for (int d = 0; d < N; ++d) sum_in_place(sum[d], sum[d + 1]);
}

// q[0..M) = diagonals of a b, symmetric in a and b: products a_i b_j and a_j b_i are added to each
// other before anything else. terms[0] is the list still to be added to the present diagonal,
// terms[1] that of the next one, terms[2] of the one after.
template <int N, int M, class T>
MDLA_INLINE void diagonals(T* q, const T* a, const T* b) {
  T terms[3][M * M];
  int count[3] = {0, 0, 0};
  MDLA_UNROLL
  for (int d = 0; d < M - 1; ++d) {
    const bool next_is_last = d == M - 2;
    const int first = d < N ? 0 : d - N + 1;
    T s;
    MDLA_UNROLL
    for (int i = first; 2 * i <= d; ++i) {
      exact<T> p = two_prod(a[i], b[d - i]);
      if (2 * i < d) {
        const exact<T> t = two_prod(a[d - i], b[i]);
        const exact<T> r = two_sum(p.value, t.value);
        p.value = r.value;
        terms[1][count[1]++] = r.error;
        if (next_is_last) {
          p.error = p.error + t.error;
        } else {
          const exact<T> e = two_sum(p.error, t.error);
          p.error = e.value;
          terms[2][count[2]++] = e.error;
        }
      }
      terms[1][count[1]++] = p.error;
      if (i == first) {
        s = p.value;
      } else {
        sum_in_place(s, p.value);
        terms[1][count[1]++] = p.value;
      }
    }
    MDLA_UNROLL
    for (int t = 0; t < count[0]; ++t) {
      sum_in_place(s, terms[0][t]);
      terms[1][count[1]++] = terms[0][t];
    }
    q[d] = s;
    count[0] = count[1];
    MDLA_UNROLL
    for (int t = 0; t < count[0]; ++t) terms[0][t] = terms[1][t];
    count[1] = count[2];
    MDLA_UNROLL
    for (int t = 0; t < count[1]; ++t) terms[1][t] = terms[2][t];
    count[2] = 0;
  }
  T s = terms[0][0];
  MDLA_UNROLL
  for (int t = 1; t < count[0]; ++t) s = s + terms[0][t];
  MDLA_UNROLL
  for (int i = M - N; 2 * i < M - 1; ++i)
    s = s + (mul_rn(a[i], b[M - 1 - i]) + mul_rn(a[M - 1 - i], b[i]));
  if (M % 2 == 1) s = fma(a[M / 2], b[M / 2], s);
  q[M - 1] = s;
}

// sum[0..N] += q[0..M).
template <int N, int M, class T>
MDLA_INLINE void add_diagonals(T* sum, T* q) {
  if constexpr (N == 2) {  // one error only: rounding it is linear in k already
    sum_in_place(sum[0], q[0]);
    q[1] = q[1] + q[0];
    sum_in_place(sum[1], q[1]);
    sum[2] = sum[2] + q[1];
  } else {
    T errors[N];
    MDLA_UNROLL
    for (int d = 0; d < N; ++d) {
      sum_in_place(sum[d], q[d]);
      MDLA_UNROLL
      for (int t = 0; t < d; ++t) sum_in_place(sum[d], errors[t]);
      errors[d] = q[d];
    }
    T rest = errors[0];
    MDLA_UNROLL
    for (int t = 1; t < N; ++t) rest = rest + errors[t];
    if constexpr (M > N) rest = rest + q[N];
    sum[N] = sum[N] + rest;
  }
}

// R rows and one vector of a tile over at most carry_steps values of k.
template <int N, int R>
MDLA_INLINE void floating_block(double* sums, const double* a, const double* b, int steps,
                                int width) {
  using T = simd<double>;
  constexpr int M = diagonals_of<N>;
  const int plane = tile_rows * width;
  T sum[R][N + 1];
  MDLA_UNROLL
  for (int r = 0; r < R; ++r) {
    MDLA_UNROLL
    for (int d = 0; d <= N; ++d) sum[r][d] = io<T>::load(sums + d * plane + r * width);
  }
  for (int k = 0; k < steps; ++k) {
    T y[N];
    MDLA_UNROLL
    for (int i = 0; i < N; ++i) y[i] = io<T>::load(b + i * width);
    MDLA_UNROLL
    for (int r = 0; r < R; ++r) {
      T x[N], products[M];
      MDLA_UNROLL
      for (int i = 0; i < N; ++i) x[i] = splat<T>(a[i * tile_rows + r]);
      diagonals<N, M>(products, x, y);
      add_diagonals<N, M>(sum[r], products);
    }
    a += N * tile_rows;
    b += N * width;
  }
  MDLA_UNROLL
  for (int r = 0; r < R; ++r) {
    carry_down<N>(sum[r]);
    MDLA_UNROLL
    for (int d = 0; d <= N; ++d) io<T>::store(sums + d * plane + r * width, sum[r][d]);
  }
}

// One limb: fused multiply-adds into two sums, for even and odd k, so that x y - y x is zero; R
// rows and V vectors side by side, because each waits for the one before it in its sum.
template <int R, int V>
MDLA_INLINE void plain_block(double* sums, const double* a, const double* b, long long steps,
                             int width) {
  using T = simd<double>;
  constexpr int lanes = width_v<T>;
  const int plane = tile_rows * width;
  T s[2][R][V];
  MDLA_UNROLL
  for (int q = 0; q < 2; ++q) {
    MDLA_UNROLL
    for (int i = 0; i < R * V; ++i)
      s[q][i / V][i % V] = io<T>::load(sums + q * plane + i / V * width + i % V * lanes);
  }
  for (long long k = 0; k < steps; k += 2) {
    MDLA_UNROLL
    for (int q = 0; q < 2; ++q) {
      if (k + q == steps) break;
      T y[V];
      MDLA_UNROLL
      for (int v = 0; v < V; ++v) y[v] = io<T>::load(b + (k + q) * width + v * lanes);
      MDLA_UNROLL
      for (int r = 0; r < R; ++r) {
        const T x = splat<T>(a[(k + q) * tile_rows + r]);
        MDLA_UNROLL
        for (int v = 0; v < V; ++v) s[q][r][v] = fma(x, y[v], s[q][r][v]);
      }
    }
  }
  MDLA_UNROLL
  for (int q = 0; q < 2; ++q) {
    MDLA_UNROLL
    for (int i = 0; i < R * V; ++i)
      io<T>::store(sums + q * plane + i / V * width + i % V * lanes, s[q][i / V][i % V]);
  }
}

template <int N>
void floating_tile(double* sums, const double* a, const double* b, long long steps, int rows,
                   int vectors) {
  constexpr int lanes = width_v<simd<double>>;
  const int width = 8 * vectors;
  int r = 0;
  if constexpr (N == 1) {
    for (; r + 4 <= rows; r += 4) {
      int c = 0;
      for (; c + 3 * lanes <= width; c += 3 * lanes)
        plain_block<4, 3>(sums + r * width + c, a + r, b + c, steps, width);
      for (; c < width; c += lanes)
        plain_block<4, 1>(sums + r * width + c, a + r, b + c, steps, width);
    }
    for (; r < rows; ++r)
      for (int c = 0; c < width; c += lanes)
        plain_block<1, 1>(sums + r * width + c, a + r, b + c, steps, width);
  } else {
    // Blocks of k outside: their panels stay in the first-level cache.
    constexpr int R = N <= 3 ? 2 : 1;
    for (long long k = 0; k < steps; k += carry_steps<N>) {
      const int n = (int)(steps - k < carry_steps<N> ? steps - k : carry_steps<N>);
      for (r = 0; r < rows; r += R)
        for (int c = 0; c < width; c += lanes)
          floating_block<N, R>(sums + r * width + c, a + k * N * tile_rows + r,
                               b + k * N * width + c, n, width);
    }
  }
}

// The running sums may cancel: exact passes over all of them bring the value to the front before
// the triangle rounds it.
template <int N>
bool floating_finish(const double* sums, int vectors, int rows, int columns,
                     const result_tile& out) {
  using T = simd<double>;
  constexpr int lanes = width_v<T>;
  const int width = 8 * vectors, plane = tile_rows * width;
  bool all_finite = true;
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < width; v += lanes) {
      T w[N + 1];
      for (int d = 0; d <= N; ++d) w[d] = io<T>::load(sums + d * plane + r * width + v);
      expansion<T, N> x;
      if constexpr (N == 1) {
        x.limb[0] = w[0] + w[1];
      } else {
        carry_down<N>(w);
        for (int pass = 0; pass <= N; ++pass) vec_sum(w, N + 1);
        triangle<N>(w, N + 1, N + 1);
        x = settle<N>(w);
      }
      const mask_t<T> finite = lt(abs(x.limb[0]), splat<T>(__builtin_inf()));
      if (any(!finite)) all_finite = false;
      store_results<N, T>(out, r, v, columns, x);
    }
  }
  return all_finite;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
