// SPDX-License-Identifier: BSD-3-Clause
// From a list of lanes to a normalised expansion.
//
// vec_sum   (Ogita, Rump, Oishi 2005, algorithm VecSum) adds from the last lane upwards and leaves
//           every rounding error in its place: the sum of the list is unchanged.
// triangle  vec_sum on lanes 0.., 1.., 2..: after pass k lane k holds the rounded sum of all below.
// The tie repair in `settle` moves a lane that is exactly half an ulp of the one before it to the
// other side when the rest of the number has its sign, so that each limb is the double nearest to
// what the limbs before it leave over.
//
// Loops over limbs are unrolled into registers up to 8 limbs and on a device; beyond that the host
// keeps the list in the first-level cache.
#pragma once

#include "eft.hpp"
#include "expansion.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

template <int N>
constexpr bool in_registers = N <= 8 || MDLA_DEVICE;

// w[0..n) becomes (rounded sum, errors); fast_two_sum form for lists ordered by magnitude.
template <class T>
MDLA_INLINE void vec_sum(T* w, int n) {
  T s = w[n - 1];
  MDLA_UNROLL
  for (int i = n - 2; i >= 0; --i) {
    const exact<T> r = two_sum(w[i], s);
    w[i + 1] = r.error;
    s = r.value;
  }
  w[0] = s;
}

template <class T>
MDLA_INLINE void fast_vec_sum(T* w, int n) {
  T s = w[n - 1];
  MDLA_UNROLL
  for (int i = n - 2; i >= 0; --i) {
    const exact<T> r = fast_two_sum(w[i], s);
    w[i + 1] = r.error;
    s = r.value;
  }
  w[0] = s;
}

// `passes` fast_vec_sum passes on w[0..n), w[1..n), ...
template <int N, class T>
MDLA_INLINE void triangle(T* w, int n, int passes) {
  if constexpr (in_registers<N>) {
    MDLA_UNROLL
    for (int k = 0; k < passes; ++k) fast_vec_sum(w + k, n - k);
  } else {
    for (int k = 0; k < passes; ++k) fast_vec_sum(w + k, n - k);
  }
}

// One pass of the final triangle on w[0..n) with the repair of a tie between before and w[0].
template <class T>
MDLA_INLINE void repaired_pass(T& before, T* w, int n) {
  T s = w[n - 1];
  MDLA_UNROLL
  for (int i = n - 2; i >= 1; --i) {
    const exact<T> r = fast_two_sum(w[i], s);
    w[i + 1] = r.error;
    s = r.value;
  }
  const T zero = splat<T>(0);
  T v = w[0];
  const T twice = v + v, moved = before + twice;
  const mask_t<T> half_ulp = eq(moved - before, twice);
  const mask_t<T> same_sign = (lt(zero, s) & lt(zero, v)) | (lt(s, zero) & lt(v, zero));
  const mask_t<T> repair = half_ulp & same_sign;
  before = select(repair, moved, before);
  v = select(repair, -v, v);
  const exact<T> r = fast_two_sum(v, s);
  w[0] = r.value;
  w[1] = r.error;
}

// w[0..N] after a first triangle -> N normalised limbs; adding zero turns -0 into +0, so that the
// bits do not depend on which of two zeros a merge put first.
template <int N, class T>
MDLA_INLINE expansion<T, N> settle(T* w) {
  fast_vec_sum(w, N + 1);
  if constexpr (in_registers<N>) {
    MDLA_UNROLL
    for (int k = 1; k < N; ++k) repaired_pass(w[k - 1], w + k, N + 1 - k);
  } else {
    for (int k = 1; k < N; ++k) repaired_pass(w[k - 1], w + k, N + 1 - k);
  }
  expansion<T, N> r;
  MDLA_UNROLL
  for (int i = 0; i < N; ++i) r.limb[i] = w[i] + splat<T>(0);
  return r;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
