// SPDX-License-Identifier: BSD-3-Clause
// Truncated products of series with exact sums, for many limbs.
//
// A coefficient is x = X 2^(50 m) with an integer m and 2^-25 <= |X| < 2^25. It is prepared once: X
// is cut into D digits of 50 bits, as products of single numbers are (windows::mul). The digits of
// a product a_i b_j fall into D columns of weight 2^(50 (m_i + m'_j) - 50 k), k = 0 .. D - 1: so
// products whose exponents differ are aligned by moving whole columns. The columns of
//
//   out_k = sum_i a_i b_(k-i)
//
// are added as integers, each product moved down by M - m_i - m'_(k-i) columns, M the largest
// m_i + m'_(k-i) of the sum, and the sum is normalised once. The sum of integers is exact, so its
// order does not matter.
//
// A product drops what falls below the last column: of the columns that are moved out, of the
// digit products with i + j >= D, and of the low halves of i + j = D - 1, less than (10 D + 2)
// units of the last column, 2^(50 M + 50 (2 - D) - 50); and the largest one has at least
// 2^(50 M - 50). So with T terms, S = sum_i |a_i b_(k-i)| and the D below,
//
//   |out_k - exact| <= T (10 D + 2) 2^(100 - 50 D) S + u^N |out_k| <= (T / 1000 + 1/2) eps S.
//
// About D^2 + 4 D integer instructions for each term and vector; preparing takes 4 N D, a result
// about 6 D^2.
#pragma once

#include "convolve_ops.hpp"
#include "digits.hpp"
#include "product.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

// The smallest number of columns for the bound above.
template <int N>
constexpr int columns_of = (52 * N + 100 + 18 + 49) / 50;

// Prepared numbers have planes of D digits, then the signs (all bits of a word), then m.
template <int N>
constexpr int prepared_planes = columns_of<N> + 2;

// m of a zero: its product is moved out of all columns, whatever the other factor.
constexpr double exponent_of_zero = -1e6;

// 2^(25 k + shift) for small integers k, as exact factors.
template <class T>
MDLA_INLINE T power_of_25(T k, double shift) {
  return power_of_two<T>::exponential(mul_rn(k, splat<T>(25)) + splat<T>(shift));
}

// n numbers, a multiple of 8. Numbers that are not finite get m = nan.
template <int N>
void prepare_digits(long long n, double* to, long long to_plane, const double* from,
                    long long from_plane) {
  using T = simd<double>;
  constexpr int D = columns_of<N>;
  for (long long i = 0; i < n; i += width_v<T>) {
    expansion<T, N> x;
    MDLA_UNROLL
    for (int j = 0; j < N; ++j) x.limb[j] = io<T>::load(from + j * from_plane + i);
    const T leading = x.limb[0], zero = splat<T>(0), round = splat<T>(0x1.8p52);
    const int_t<T> field = (as_int(leading) & splat_int<T>((u64)0x7ff << 52)) >> 52;
    const T exponent = as_real(field | as_int(splat<T>(0x1p52))) - splat<T>(0x1p52 + 1023);
    // floor((exponent + 25) / 50)
    const T m = (mul_rn(exponent + splat<T>(0.5), splat<T>(0.02)) + round) - round;
    const mask_t<T> negative = lt(leading, zero);
    const T sign = select(negative, splat<T>(-1), splat<T>(1));
    x = scale(x, mul_rn(power_of_25(-m, -11), sign));
    x = scale(x, power_of_25(-m, -12));
    int_t<T> digit[D];
    windows::cut<D>(digit, x);
    for (int k = 0; k < D; ++k) io<T>::store(to + k * to_plane + i, as_real(digit[k]));
    io<T>::store(to + D * to_plane + i, select(negative, as_real(splat_int<T>(~(u64)0)), zero));
    io<T>::store(to + (D + 1) * to_plane + i,
                 select(eq(leading, zero), splat<T>(exponent_of_zero), m + mul_rn(leading, zero)));
  }
}

// Sums of products of prepared numbers; sum[0] is the room above the first column.
template <int N>
struct column_sum {
  using T = simd<double>;
  using I = int_t<T>;
  static constexpr int D = columns_of<N>;
  I sum[D + 1];
  T largest, poison;

  MDLA_INLINE column_sum() : largest(splat<T>(-60)), poison(splat<T>(0)) {
    MDLA_UNROLL
    for (int k = 0; k <= D; ++k) sum[k] = splat_int<T>(0);
  }

  // All exponents first: m + m' of each term.
  MDLA_INLINE void foresee(T exponent) {
    largest = select(lt(largest, exponent), exponent, largest);
    poison = poison + exponent;
  }
  // Then the terms: load_a(plane), load_b(plane).
  template <class A, class B>
  MDLA_INLINE void take(const A& load_a, const B& load_b, bool subtract) {
    I a[D], column[D];
    MDLA_UNROLL
    for (int k = 0; k < D; ++k) a[k] = as_int(load_a(k));
    MDLA_UNROLL
    for (int k = 0; k < D; ++k) {
      I high = splat_int<T>(0), low = splat_int<T>(0);
      MDLA_UNROLL
      for (int i = 0; i <= k; ++i) {
        high = madd52hi(high, a[i], as_int(load_b(k - i)));
        if (i < k) low = madd52lo(low, a[i], as_int(load_b(k - 1 - i)));
      }
      column[k] = (high << 2) + low;
    }
    T down = largest - (load_a(D + 1) + load_b(D + 1));
    if (any(lt(splat<T>(0), down))) {
      const mask_t<T> gone = lt(splat<T>(D - 1), down);
      MDLA_UNROLL
      for (int k = 0; k < D; ++k) column[k] = as_int(select(gone, splat<T>(0), as_real(column[k])));
      down = select(gone, splat<T>(0), down);
      for (mask_t<T> moves = lt(splat<T>(0), down); any(moves); moves = lt(splat<T>(0), down)) {
        MDLA_UNROLL
        for (int k = D - 1; k > 0; --k)
          column[k] = as_int(select(moves, as_real(column[k - 1]), as_real(column[k])));
        column[0] = as_int(select(moves, splat<T>(0), as_real(column[0])));
        down = down - splat<T>(1);
      }
    }
    I sign = as_int(load_a(D)) ^ as_int(load_b(D));
    if (subtract) sign = sign ^ splat_int<T>(~(u64)0);
    MDLA_UNROLL
    for (int k = 0; k < D; ++k) sum[k + 1] = sum[k + 1] + ((column[k] ^ sign) - sign);
  }
  // A column of a product is below 2^57: at least every 32 terms, sums become digits of 50 bits.
  MDLA_INLINE void carry() {
    constexpr u64 bias = (u64)1 << 62;
    MDLA_UNROLL
    for (int k = D; k > 0; --k) {
      const I v = sum[k] + splat_int<T>(bias);
      sum[k] = v & splat_int<T>(windows::digit_mask);
      sum[k - 1] = sum[k - 1] + ((v >> windows::bits) - splat_int<T>(bias >> windows::bits));
    }
  }
  MDLA_INLINE expansion<T, N> value() {
    carry();
    // The first word has the sign of the sum; that of its negative is made positive.
    const I negative = splat_int<T>(0) - (sum[0] >> 63);
    MDLA_UNROLL
    for (int k = 0; k <= D; ++k) sum[k] = (sum[k] ^ negative) - negative;
    carry();
    T w[D + 1];
    const T big = splat<T>(0x1p52), zero = splat<T>(0);
    MDLA_UNROLL
    for (int k = 0; k <= D; ++k)
      w[k] = mul_rn(as_real(sum[k] | as_int(big)) - big,
                    splat<T>(as_real((u64)(1023 - windows::bits * k) << 52)));
    triangle<N>(w, D + 1, N + 1);
    expansion<T, N> r = settle<N>(w);
    const power_of_two<T> power(mul_rn(largest + splat<T>(1), splat<T>(windows::bits)));
    const T sign = as_real((as_int(splat<T>(-0.0)) & negative) | as_int(splat<T>(1)));
    MDLA_UNROLL
    for (int j = 0; j < N; ++j) r.limb[j] = mul_rn(power.apply(r.limb[j]), sign) + zero;
    r.limb[0] = r.limb[0] + (poison - poison);
    return r;
  }
};

// Terms of index first .. last, one after the other, with a carry every 32: visit(i).
template <int N, class Visit>
MDLA_INLINE void with_carries(column_sum<N>& sum, long long first, long long last,
                              const Visit& visit) {
  for (long long i = first; i < last;) {
    const long long stop = i + 16 < last ? i + 16 : last;
    for (; i < stop; ++i) visit(i);
    sum.carry();
  }
}

// As convolve_ops.hpp says, of prepared factors.
template <int N>
bool convolve_digits(const convolution& c) {
  using T = simd<double>;
  constexpr int D = columns_of<N>;
  const bool along = c.lanes == 1;
  const long long step = along ? width_v<T> : 1;
  bool finite = true;
  for (long long k = 0; k < c.length; k += step) {
    const long long first = k < c.b_length ? 0 : k - c.b_length + 1;
    const long long end = along ? k + step : k + 1;
    const long long last = end < c.a_length ? end : c.a_length;
    for (long long l = 0; l < c.lanes; l += width_v<T>) {
      column_sum<N> sum;
      const auto load_a = [&](int pair, long long i, int plane) {
        const double* p = c.a[pair] + plane * c.a_plane + i * c.lanes + l;
        return along ? splat<T>(*p) : io<T>::load(p);
      };
      const auto load_b = [&](int pair, long long i, int plane) {
        return io<T>::load(c.b[pair] + plane * c.b_plane + (k - i) * c.lanes + l);
      };
      for (long long i = first; i < last; ++i)
        for (int pair = 0; pair < c.pairs; ++pair)
          sum.foresee(load_a(pair, i, D + 1) + load_b(pair, i, D + 1));
      with_carries<N>(sum, first, last, [&](long long i) {
        for (int pair = 0; pair < c.pairs; ++pair)
          sum.take([&](int plane) { return load_a(pair, i, plane); },
                   [&](int plane) { return load_b(pair, i, plane); }, pair == 1 && c.subtract);
      });
      const expansion<T, N> r = sum.value();
      MDLA_UNROLL
      for (int j = 0; j < N; ++j)
        io<T>::store(c.out + j * c.out_plane + k * c.lanes + l, r.limb[j]);
      finite &= !any(is_not_finite(r.limb[0]));
    }
  }
  return finite;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
