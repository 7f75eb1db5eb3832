// SPDX-License-Identifier: BSD-3-Clause
// x + y and x - y. Relative error below eps = 2^(-52 N), commutative bit for bit.
//
//   N  algorithm                                              flops  error / eps
//   1  IEEE                                                       1  2^-1
//   2  Zhang and Aiken, SC'25 (accumulation networks)            20  2^-1.4
//   3  Zhang and Aiken, SC'25                                    64  2^-3
//   4  Zhang and Aiken, SC'25                                   124  2^-4
//  5+  merge by magnitude, exact VecSum, triangles, tie repair
//      (8: about 640 instructions, 16: about 2100)                   2^-15 (8), 2^-31 (16)
// The errors of 2..4 are the papers' verified bounds up to the factor seen in adversarial search;
// those of 5 and more are the largest seen in millions of adversarial cases, not proofs.
#pragma once

#include "renormalize.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace sum_network {

template <class T>
MDLA_INLINE expansion<T, 1> add(const expansion<T, 1>& x, const expansion<T, 1>& y) {
  return {{x.limb[0] + y.limb[0]}};
}

template <class T>
MDLA_INLINE expansion<T, 2> add(const expansion<T, 2>& x, const expansion<T, 2>& y) {
  auto [s0, e0] = two_sum(x.limb[0], y.limb[0]);
  auto [s1, e1] = two_sum(x.limb[1], y.limb[1]);
  fast_sum_in_place(s0, s1);
  e0 = (e0 + e1) + s1;
  fast_sum_in_place(s0, e0);
  return {{s0, e0}};
}

// s: sums of limb pairs, e: their errors; each row of the network exchanges value and error
// between neighbouring orders of magnitude.
template <class T>
MDLA_INLINE expansion<T, 3> add(const expansion<T, 3>& x, const expansion<T, 3>& y) {
  auto [s0, e0] = two_sum(x.limb[0], y.limb[0]);
  auto [s1, e1] = two_sum(x.limb[1], y.limb[1]);
  auto [s2, e2] = two_sum(x.limb[2], y.limb[2]);
  fast_sum_in_place(s0, s1);
  e0 = e0 + e2;
  sum_in_place(e1, s2);
  fast_sum_in_place(s0, e1);
  sum_in_place(e0, s1);
  s1 = s1 + s2;
  sum_in_place(s1, e1);
  sum_in_place(e0, s1);
  fast_sum_in_place(s0, e0);
  s1 = s1 + e1;
  fast_sum_in_place(e0, s1);
  fast_sum_in_place(s0, e0);
  fast_sum_in_place(e0, s1);
  return {{s0, e0, s1}};
}

template <class T>
MDLA_INLINE expansion<T, 4> add(const expansion<T, 4>& x, const expansion<T, 4>& y) {
  auto [s0, e0] = two_sum(x.limb[0], y.limb[0]);
  auto [s1, e1] = two_sum(x.limb[1], y.limb[1]);
  auto [s2, e2] = two_sum(x.limb[2], y.limb[2]);
  auto [s3, e3] = two_sum(x.limb[3], y.limb[3]);
  fast_sum_in_place(s0, s1);
  e0 = e0 + e3;
  sum_in_place(e1, s2);
  sum_in_place(e2, s3);
  sum_in_place(e0, s3);
  fast_sum_in_place(s1, e1);
  sum_in_place(s2, e2);
  fast_sum_in_place(s0, s1);
  fast_sum_in_place(e1, s2);
  sum_in_place(e0, e1);
  fast_sum_in_place(s1, s3);
  s2 = s2 + e2;
  sum_in_place(e0, s1);
  sum_in_place(e1, s2);
  fast_sum_in_place(s0, e0);
  sum_in_place(s1, e1);
  s2 = s2 + s3;
  fast_sum_in_place(e0, s1);
  sum_in_place(e1, s2);
  fast_sum_in_place(s0, e0);
  fast_sum_in_place(s1, e1);
  fast_sum_in_place(e0, s1);
  e1 = e1 + s2;
  fast_sum_in_place(s0, e0);
  fast_sum_in_place(s1, e1);
  fast_sum_in_place(e0, s1);
  fast_sum_in_place(s1, e1);
  return {{s0, e0, s1, e1}};
}

}  // namespace sum_network

MDLA_CONSTEXPR int power_of_two_at_least(int n) {
  int p = 1;
  while (p < n) p *= 2;
  return p;
}

// The limbs of x and y in order of magnitude: bitonic merge (Batcher 1968), padded with zeros.
template <class T, int N>
MDLA_INLINE void merge(T* w, const expansion<T, N>& x, const expansion<T, N>& y) {
  constexpr int P = power_of_two_at_least(N);
  MDLA_UNROLL
  for (int i = 0; i < P; ++i) {
    w[i] = i < N ? x.limb[i < N ? i : 0] : splat<T>(0);
    w[2 * P - 1 - i] = i < N ? y.limb[i < N ? i : 0] : splat<T>(0);
  }
  MDLA_UNROLL
  for (int half = P; half >= 1; half /= 2) {
    MDLA_UNROLL
    for (int pair = 0; pair < P; ++pair) {
      const int i = (pair / half) * 2 * half + pair % half;
      const T a = w[i], b = w[i + half];
      w[i] = max_abs(a, b);
      w[i + half] = min_abs(a, b);
    }
  }
}

template <class T, int N>
MDLA_OUTLINE expansion<T, N> add_merged(const expansion<T, N>& x, const expansion<T, N>& y) {
  T w[2 * power_of_two_at_least(N)];
  merge(w, x, y);
  vec_sum(w, 2 * N);
  triangle<N>(w, 2 * N, N + 1);
  return settle<N>(w);
}

// Without the treatment of zeros and non-finite numbers, for use inside other operations.
template <class T, int N>
MDLA_INLINE expansion<T, N> add_finite(const expansion<T, N>& x, const expansion<T, N>& y) {
  if constexpr (N <= 4) {
    return sum_network::add(x, y);
  } else {
    return add_merged(x, y);
  }
}

template <class T, int N>
MDLA_INLINE expansion<T, N> sub_finite(const expansion<T, N>& x, const expansion<T, N>& y) {
  return add_finite(x, neg(y));
}

template <class T, int N>
MDLA_INLINE expansion<T, N> add(const expansion<T, N>& x, const expansion<T, N>& y) {
  return settle_specials(add_finite(x, y), x.limb[0] + y.limb[0]);
}

template <class T, int N>
MDLA_INLINE expansion<T, N> sub(const expansion<T, N>& x, const expansion<T, N>& y) {
  return add(x, neg(y));
}

// x + b for a single lane b: insertion of b into x by two_sum, exact until the last step.
// 6 N + 3 N^2 flops at most; same error as add.
template <class T, int N>
MDLA_INLINE expansion<T, N> add(const expansion<T, N>& x, T b) {
  if constexpr (N == 1) {
    return {{x.limb[0] + b}};
  } else if constexpr (N == 2) {
    auto [s, e] = two_sum(x.limb[0], b);
    e = e + x.limb[1];
    fast_sum_in_place(s, e);
    return settle_specials(expansion<T, 2>{{s, e}}, x.limb[0] + b);
  } else {
    return add(x, from_lane<N>(b));
  }
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
