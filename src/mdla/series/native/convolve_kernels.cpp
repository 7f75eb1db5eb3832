// SPDX-License-Identifier: BSD-3-Clause
// The table of convolve_ops.hpp for one instruction set; compiled once for each.
//
// From 5 limbs on see digit_convolution.hpp. Up to 4 a coefficient is a sum in running sums as the
// floating matrix product keeps them (gemm/native/floating_kernel.hpp): N sums and one more double
// for the errors, which are normalised once, at the end. With S = sum_i |a_i b_(k-i)|, over two
// pairs where there are two, T terms and eps = 2^(-52 N), docs/direct.md proves
//
//   |out_k - exact| <= (T / 4 + (C + 1) / 2^N) eps S,   C = 11, 38, 179 for N = 2, 3, 4,
//
// and T u S for one limb, which is summed by fused multiply-adds. A term takes 18, 60, 129 flops
// for N = 2, 3, 4.
//
// The terms of out_k are added by increasing i whatever runs along the vectors, and sums are
// carried at multiples of carry_steps that depend on i alone. Terms that are zero because a factor
// ends before them may be left out: they change nothing.
#include "convolve_ops.hpp"
#include "digit_convolution.hpp"
#include "floating_kernel.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {
namespace {

using size = long long;
// The operation of a loop must live in registers with it.
#define MDLA_LAMBDA __attribute__((always_inline))

using T = simd<double>;
constexpr int W = width_v<T>;

template <int N>
struct running_sum {
  T sum[N + 1];

  MDLA_INLINE running_sum() {
    MDLA_UNROLL
    for (int d = 0; d <= N; ++d) sum[d] = splat<T>(0);
  }
  MDLA_INLINE void take(int pair, const T* x, const T* y) {
    if constexpr (N == 1) {  // a sum for each pair, so that x y - y x is zero
      sum[pair] = fma(x[0], y[0], sum[pair]);
    } else {
      constexpr int M = diagonals_of<N>;
      T products[M];
      diagonals<N, M>(products, x, y);
      add_diagonals<N, M>(sum, products);
    }
  }
  MDLA_INLINE void carry() {
    if constexpr (N > 1) carry_down<N>(sum);
  }
  // The sums may cancel: exact passes bring the value to the front before it is rounded.
  MDLA_INLINE expansion<T, N> value() {
    expansion<T, N> x;
    if constexpr (N == 1) {
      x.limb[0] = sum[0] + sum[1];
    } else {
      carry_down<N>(sum);
      MDLA_UNROLL
      for (int pass = 0; pass <= N; ++pass) vec_sum(sum, N + 1);
      triangle<N>(sum, N + 1, N + 1);
      x = settle<N>(sum);
    }
    return x;
  }
};

// step(i) for first <= i < last, and a carry after each carry_steps values of i that some term with
// i < end can follow.
template <int N, class Step>
MDLA_INLINE void add_up(running_sum<N>& sum, size first, size last, size end, const Step& step) {
  constexpr size K = carry_steps<N>;
  size i = first;
  for (size stop = (first / K + 1) * K;; stop += K) {
    const size until = stop < last ? stop : last;
    for (; i < until; ++i) step(i);
    if (stop >= end) break;
    sum.carry();
  }
}

template <int N>
struct operands {
  const convolution& c;

  // sum += terms of one i, whose coefficients lie at a + at_a and b + at_b.
  template <class Load>
  MDLA_INLINE void term(running_sum<N>& sum, size at_a, size at_b, const Load& load_a) const {
    for (int pair = 0; pair < c.pairs; ++pair) {
      T x[N], y[N];
      MDLA_UNROLL
      for (int j = 0; j < N; ++j) {
        x[j] = load_a(c.a[pair] + j * c.a_plane + at_a);
        y[j] = io<T>::load(c.b[pair] + j * c.b_plane + at_b);
      }
      if (pair == 1 && c.subtract) {
        MDLA_UNROLL
        for (int j = 0; j < N; ++j) x[j] = -x[j];
      }
      sum.take(pair, x, y);
    }
  }
  MDLA_INLINE bool store(running_sum<N>& sum, size at) const {
    const expansion<T, N> r = sum.value();
    MDLA_UNROLL
    for (int j = 0; j < N; ++j) io<T>::store(c.out + j * c.out_plane + at, r.limb[j]);
    return !any(is_not_finite(r.limb[0]));
  }
};

// Vectors across the lanes.
template <int N>
bool across(const convolution& c) {
  const operands<N> terms{c};
  bool finite = true;
  for (size k = 0; k < c.length; ++k) {
    const size first = k < c.b_length ? 0 : k - c.b_length + 1;
    const size last = k < c.a_length ? k + 1 : c.a_length;
    for (size l = 0; l < c.lanes; l += W) {
      running_sum<N> sum;
      add_up<N>(sum, first, last, k + 1, [&](size i) MDLA_LAMBDA {
        terms.term(sum, i * c.lanes + l, (k - i) * c.lanes + l,
                   [](const double* p) MDLA_LAMBDA { return io<T>::load(p); });
      });
      finite &= terms.store(sum, k * c.lanes + l);
    }
  }
  return finite;
}

// Vectors along the coefficients k .. k + W of one series. Those of b before the first are read for
// i > k, and what they give is thrown away.
template <int N>
bool along(const convolution& c) {
  const operands<N> terms{c};
  const auto repeat = [](const double* p) MDLA_LAMBDA { return splat<T>(*p); };
  alignas(64) double counted[W];
  for (int w = 0; w < W; ++w) counted[w] = w;
  const T lane = io<T>::load(counted);
  bool finite = true;
  for (size k = 0; k < c.length; k += W) {
    const size first = k < c.b_length ? 0 : k - c.b_length + 1;
    const size whole = k < c.a_length ? k + 1 : c.a_length;
    const size last = k + W < c.a_length ? k + W : c.a_length;
    running_sum<N> sum;
    add_up<N>(sum, first, whole, k + 1,
              [&](size i) MDLA_LAMBDA { terms.term(sum, i, k - i, repeat); });
    for (size i = whole; i < last; ++i) {
      running_sum<N> more = sum;
      terms.term(more, i, k - i, repeat);
      const mask_t<T> ended = lt(lane, splat<T>((double)(i - k)));
      MDLA_UNROLL
      for (int d = 0; d <= N; ++d) sum.sum[d] = select(ended, sum.sum[d], more.sum[d]);
    }
    finite &= terms.store(sum, k);
  }
  return finite;
}

template <int N>
bool convolve(const convolution& c) {
  return c.lanes == 1 ? along<N>(c) : across<N>(c);
}

template <int N>
void enter_digits(convolve_ops& t) {
  t.convolve[N] = &convolve_digits<N>;
  t.prepared_planes[N] = prepared_planes<N>;
  t.prepare[N] = &prepare_digits<N>;
}

}  // namespace

const convolve_ops& convolve_table() {
  static const convolve_ops table = [] {
    convolve_ops t{};
    t.convolve[1] = &convolve<1>;
    t.convolve[2] = &convolve<2>;
    t.convolve[3] = &convolve<3>;
    t.convolve[4] = &convolve<4>;
    enter_digits<5>(t);
    enter_digits<8>(t);
    enter_digits<10>(t);
    enter_digits<16>(t);
    return t;
  }();
  return table;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
