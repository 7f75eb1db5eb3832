// SPDX-License-Identifier: BSD-3-Clause
// Error-free transforms: s + e equals the exact sum or product of the arguments.
//
// two_sum       Knuth 1969, 6 flops, any arguments.
// fast_two_sum  Dekker 1971, 3 flops, when a is zero or its exponent is at least that of b.
// two_prod      one product and one fused multiply-add, 2 flops, exact while the product's last
//               bit is above the smallest subnormal.
#pragma once

#include "lane.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

template <class T>
struct exact {
  T value, error;
};

template <class T>
MDLA_INLINE exact<T> two_sum(T a, T b) {
  const T s = a + b;
  const T bb = s - a;
  return {s, (a - (s - bb)) + (b - bb)};
}

template <class T>
MDLA_INLINE exact<T> fast_two_sum(T a, T b) {
  const T s = a + b;
  return {s, b - (s - a)};
}

template <class T>
MDLA_INLINE exact<T> two_prod(T a, T b) {
  const T p = mul_rn(a, b);
  return {p, fma(a, b, -p)};
}

// The same in place: (a, b) becomes (value, error).
template <class T>
MDLA_INLINE void sum_in_place(T& a, T& b) {
  const exact<T> r = two_sum(a, b);
  a = r.value;
  b = r.error;
}
template <class T>
MDLA_INLINE void fast_sum_in_place(T& a, T& b) {
  const exact<T> r = fast_two_sum(a, b);
  a = r.value;
  b = r.error;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
