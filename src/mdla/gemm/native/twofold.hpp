// SPDX-License-Identifier: BSD-3-Clause
// Two packs side by side as one lane type. Where every operation waits for the one before it, two
// chains whose instructions alternate take hardly longer than one: a core looks ahead only about a
// hundred instructions for some that can start.
#pragma once

#include "pack.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

// V is a lane type, its integer view or its mask.
template <class V>
struct twofold {
  V a, b;
  MDLA_INLINE twofold() {}
  // Member by member: compilers keep copies of whole structures in memory.
  MDLA_INLINE twofold(const twofold& x) : a(x.a), b(x.b) {}
  MDLA_INLINE twofold& operator=(const twofold& x) {
    a = x.a;
    b = x.b;
    return *this;
  }
  MDLA_INLINE twofold(V x, V y) : a(x), b(y) {}
  template <class R>
  explicit MDLA_INLINE twofold(R x) : a(V(x)), b(V(x)) {}
};

#define MDLA_TWOFOLD_OPERATOR(op)                                  \
  template <class V>                                               \
  MDLA_INLINE twofold<V> operator op(twofold<V> x, twofold<V> y) { \
    return twofold<V>((V)(x.a op y.a), (V)(x.b op y.b));           \
  }
MDLA_TWOFOLD_OPERATOR(+)
MDLA_TWOFOLD_OPERATOR(-)
MDLA_TWOFOLD_OPERATOR(&)
MDLA_TWOFOLD_OPERATOR(|)
#undef MDLA_TWOFOLD_OPERATOR

template <class V>
MDLA_INLINE twofold<V> operator-(twofold<V> x) {
  return {-x.a, -x.b};
}
template <class V>
MDLA_INLINE twofold<V> operator!(twofold<V> x) {
  return {!x.a, !x.b};
}
template <class V>
MDLA_INLINE twofold<V> operator>>(twofold<V> x, int n) {
  return {x.a >> n, x.b >> n};
}
template <class V>
MDLA_INLINE twofold<V> mul_rn(twofold<V> x, twofold<V> y) {
  return {mul_rn(x.a, y.a), mul_rn(x.b, y.b)};
}
template <class V>
MDLA_INLINE twofold<V> fma(twofold<V> x, twofold<V> y, twofold<V> z) {
  return {fma(x.a, y.a, z.a), fma(x.b, y.b, z.b)};
}
template <class V>
MDLA_INLINE twofold<V> abs(twofold<V> x) {
  return {abs(x.a), abs(x.b)};
}
template <class V>
MDLA_INLINE twofold<mask_t<V>> lt(twofold<V> x, twofold<V> y) {
  return {lt(x.a, y.a), lt(x.b, y.b)};
}
template <class V>
MDLA_INLINE twofold<mask_t<V>> eq(twofold<V> x, twofold<V> y) {
  return {eq(x.a, y.a), eq(x.b, y.b)};
}
template <class V>
MDLA_INLINE bool any(twofold<V> x) {
  return any(x.a | x.b);
}
template <class V>
MDLA_INLINE twofold<V> select(twofold<mask_t<V>> m, twofold<V> x, twofold<V> y) {
  return {select(m.a, x.a, y.a), select(m.b, x.b, y.b)};
}
template <class V>
MDLA_INLINE twofold<int_t<V>> as_int(twofold<V> x) {
  return {as_int(x.a), as_int(x.b)};
}

template <class V>
struct lane_traits<twofold<V>> {
  using base = base_t<V>;
  using mask = twofold<mask_t<V>>;
  using integer = twofold<int_t<V>>;
  static constexpr int width = 2 * width_v<V>;
};
template <class V>
struct io<twofold<V>> {
  static MDLA_INLINE twofold<V> load(const base_t<V>* p) {
    return {io<V>::load(p), io<V>::load(p + width_v<V>)};
  }
  static MDLA_INLINE void store(base_t<V>* p, twofold<V> x) {
    io<V>::store(p, x.a);
    io<V>::store(p + width_v<V>, x.b);
  }
};

// Pack i of those side by side.
template <class P>
MDLA_INLINE P part(P x, int) {
  return x;
}
template <class P, class V>
MDLA_INLINE P part(const twofold<V>& x, int i) {
  constexpr int half = width_v<V> / width_v<P>;
  return i < half ? part<P>(x.a, i) : part<P>(x.b, i - half);
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
