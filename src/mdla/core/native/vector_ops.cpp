// SPDX-License-Identifier: BSD-3-Clause
// Compiled once per instruction set; see vector_ops.hpp.
#include "vector_ops.hpp"

#include "arithmetic.hpp"
#include "series.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {
namespace {

using size = long long;

// The operation of a loop must live in registers with it.
#define MDLA_LAMBDA __attribute__((always_inline))

// A repeated operand is copied once into a pack of equal lanes, so that loops only ever load.
template <class R, int N>
struct source {
  static constexpr int W = width_v<simd<R>>;
  const R* p;
  size plane, step;
  alignas(64) R repeated[N * W];

  explicit source(operand<R> a) : p(a.p), plane(a.plane), step(a.step) {
    if (step == 0) {
      for (int i = 0; i < N; ++i)
        for (int w = 0; w < W; ++w) repeated[i * W + w] = a.p[i * a.plane];
      p = repeated;
      plane = W;
    }
  }
  MDLA_INLINE expansion<simd<R>, N> load(size i) const {
    expansion<simd<R>, N> x;
    MDLA_UNROLL
    for (int k = 0; k < N; ++k) x.limb[k] = io<simd<R>>::load(p + k * plane + i * step);
    return x;
  }
  // The last n < W numbers, padded with ones.
  MDLA_INLINE expansion<simd<R>, N> load_part(size i, int n) const {
    alignas(64) R pad[N * W];
    for (int k = 0; k < N; ++k)
      for (int w = 0; w < W; ++w)
        pad[k * W + w] = w < n ? p[k * plane + (i + w) * step] : R(k == 0);
    expansion<simd<R>, N> x;
    for (int k = 0; k < N; ++k) x.limb[k] = io<simd<R>>::load(pad + k * W);
    return x;
  }
};

template <class R, int N>
MDLA_INLINE void store(result<R> out, size i, const expansion<simd<R>, N>& x) {
  MDLA_UNROLL
  for (int k = 0; k < N; ++k) io<simd<R>>::store(out.p + k * out.plane + i, x.limb[k]);
}

template <class R, int N>
MDLA_INLINE void store_part(result<R> out, size i, int n, const expansion<simd<R>, N>& x) {
  constexpr int W = width_v<simd<R>>;
  alignas(64) R pad[W];
  for (int k = 0; k < N; ++k) {
    io<simd<R>>::store(pad, x.limb[k]);
    for (int w = 0; w < n; ++w) out.p[k * out.plane + i + w] = pad[w];
  }
}

// The tail is rare and kept out of the loop's way.
template <class R, int N, class Op, class... Sources>
__attribute__((noinline)) void map_rest(size i, int rest, result<R> out, Op op,
                                        const Sources&... x) {
  store_part<R, N>(out, i, rest, op(x.load_part(i, rest)...));
}

// out = op(sources...), a pack at a time.
template <class R, int N, class Op, class... Sources>
MDLA_INLINE void map(size n, result<R> out, Op op, const Sources&... x) {
  constexpr int W = width_v<simd<R>>;
  size i = 0;
  for (; i + W <= n; i += W) store<R, N>(out, i, op(x.load(i)...));
  if (i < n) map_rest<R, N>(i, (int)(n - i), out, op, x...);
}

template <class R, int N>
struct kernels {
  using X = expansion<simd<R>, N>;
  using X1 = expansion<simd<R>, 1>;
  using in = source<R, N>;

  static void add(size n, result<R> out, operand<R> a, operand<R> b) {
    map<R, N>(
        n, out, [](const X& x, const X& y) MDLA_LAMBDA { return mdla::add(x, y); }, in(a), in(b));
  }
  static void sub(size n, result<R> out, operand<R> a, operand<R> b) {
    map<R, N>(
        n, out, [](const X& x, const X& y) MDLA_LAMBDA { return mdla::sub(x, y); }, in(a), in(b));
  }
  static void mul(size n, result<R> out, operand<R> a, operand<R> b) {
    map<R, N>(
        n, out, [](const X& x, const X& y) MDLA_LAMBDA { return mdla::mul(x, y); }, in(a), in(b));
  }
  static void div(size n, result<R> out, operand<R> a, operand<R> b) {
    map<R, N>(
        n, out, [](const X& x, const X& y) MDLA_LAMBDA { return mdla::div(x, y); }, in(a), in(b));
  }
  static void add_lane(size n, result<R> out, operand<R> a, operand<R> b) {
    map<R, N>(
        n, out, [](const X& x, const X1& y) MDLA_LAMBDA { return mdla::add(x, y.limb[0]); }, in(a),
        source<R, 1>(b));
  }
  static void mul_lane(size n, result<R> out, operand<R> a, operand<R> b) {
    map<R, N>(
        n, out, [](const X& x, const X1& y) MDLA_LAMBDA { return mdla::mul(x, y.limb[0]); }, in(a),
        source<R, 1>(b));
  }
  // out = last(c, a b). Product and sum in one loop are one long chain of operations, of which too
  // few packs are in flight at 3 and 4 limbs; two loops over a buffer are 15 to 20 % faster there.
  template <class Last>
  static MDLA_INLINE void product_then(size n, result<R> out, operand<R> a, operand<R> b,
                                       operand<R> c, Last last) {
    constexpr size buffered = 128;
    alignas(64) R product[N * buffered];
    for (size i = 0; i < n; i += buffered) {
      const size m = n - i < buffered ? n - i : buffered;
      mul(m, {product, buffered}, a.at(i), b.at(i));
      last(m, out.at(i), c.at(i), {product, buffered, 1});
    }
  }
  static constexpr bool in_two_loops = N == 3 || N == 4;
  static void mul_add(size n, result<R> out, operand<R> a, operand<R> b, operand<R> c) {
    if constexpr (in_two_loops) return product_then(n, out, a, b, c, &add);
    map<R, N>(
        n, out,
        [](const X& x, const X& y, const X& z)
            MDLA_LAMBDA { return mdla::add(z, mdla::mul(x, y)); },
        in(a), in(b), in(c));
  }
  static void mul_sub(size n, result<R> out, operand<R> a, operand<R> b, operand<R> c) {
    if constexpr (in_two_loops) return product_then(n, out, a, b, c, &sub);
    map<R, N>(
        n, out,
        [](const X& x, const X& y, const X& z)
            MDLA_LAMBDA { return mdla::sub(z, mdla::mul(x, y)); },
        in(a), in(b), in(c));
  }
  // Scalar lanes beyond 4 limbs: rare, and the 2 N limb code would be large.
  static void fma(size n, result<R> out, operand<R> a, operand<R> b, operand<R> c) {
    if constexpr (N <= 4) {
      map<R, N>(
          n, out, [](const X& x, const X& y, const X& z) MDLA_LAMBDA { return mdla::fma(x, y, z); },
          in(a), in(b), in(c));
    } else {
      for (size i = 0; i < n; ++i) {
        expansion<R, N> x, y, z;
        for (int k = 0; k < N; ++k) {
          x.limb[k] = a.p[k * a.plane + i * a.step];
          y.limb[k] = b.p[k * b.plane + i * b.step];
          z.limb[k] = c.p[k * c.plane + i * c.step];
        }
        const expansion<R, N> r = mdla::fma(x, y, z);
        for (int k = 0; k < N; ++k) out.p[k * out.plane + i] = r.limb[k];
      }
    }
  }
  static void sqrt(size n, result<R> out, operand<R> a) {
    map<R, N>(n, out, [](const X& x) MDLA_LAMBDA { return mdla::sqrt(x); }, in(a));
  }
  static void series(size n, result<R> out, operand<R> a, const digit_series& terms) {
    map<R, N>(
        n, out, [&terms](const X& x) MDLA_LAMBDA { return mdla::fixed_point_series(x, terms); },
        in(a));
  }
  static constexpr auto series_or_null() -> decltype(vector_ops<R>::series) {
    if constexpr (N > 4) return &series;
    return nullptr;
  }
  static void compare(size n, signed char* out, operand<R> a, operand<R> b) {
    constexpr int W = width_v<simd<R>>;
    const in x(a), y(b);
    alignas(64) R sign[W];
    for (size i = 0; i < n; i += W) {
      const int m = n - i < W ? (int)(n - i) : W;
      io<simd<R>>::store(sign, m == W ? mdla::compare(x.load(i), y.load(i))
                                      : mdla::compare(x.load_part(i, m), y.load_part(i, m)));
      for (int w = 0; w < m; ++w) {
        const R s = sign[w];
        out[i + w] = s != s ? 2 : (signed char)((s > 0) - (s < 0));
      }
    }
  }
  static constexpr vector_ops<R> table = {N,        add,     sub,     mul, div,  add_lane,
                                          mul_lane, mul_add, mul_sub, fma, sqrt, series_or_null(),
                                          compare};
};

}  // namespace

const vector_ops<double>* double_ops(int limbs) {
#define MDLA_CASE(N) \
  case N:            \
    return &kernels<double, N>::table;
  switch (limbs) {
    MDLA_CASE(1)
    MDLA_CASE(2)
    MDLA_CASE(3)
    MDLA_CASE(4)
    MDLA_CASE(5)
    MDLA_CASE(8)
    MDLA_CASE(10)
    MDLA_CASE(16)
    default:
      return nullptr;
  }
#undef MDLA_CASE
}

const vector_ops<float>* float_ops(int limbs) {
  return limbs == 2 ? &kernels<float, 2>::table : nullptr;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
