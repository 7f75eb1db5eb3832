// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic of fixed-point numbers side by side, see fixed_point.hpp: sums of products, entries of
// a factorisation, quotients, reciprocals.
#pragma once

#include "fixed_point.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace fixed {

template <int D>
MDLA_INLINE void carry_in_registers(u64* to, const word* t, int noise) {
  constexpr u64 bias = 1ULL << 63;
  word up = constant(bias + (1ULL << noise >> 1));
  word keep = constant(digit_mask & ~((1ULL << noise) - 1));
  MDLA_UNROLL
  for (int c = D - 1; c >= 0; --c) {
    const word x = t[c] + up;
    store(to + c * W, x & keep);
    up = (x >> 52) + constant(bias - (bias >> 52));
    keep = constant(digit_mask);
  }
}

// m[r][c], c < D: words of the sum over k < K of x_rk y_k, plus what m holds if `more`; x has
// D - SX digits, y D - SY. Halves below the last digit are left out: the sum is less than
// 2 D K units of the last digit too small. D is FD unless that is zero. Rows go side by side, or
// even and odd k of a single one, because each sum waits for the one before.
template <int R, int FD, int SX, int SY>
MDLA_INLINE void products(u64* m, size m_row, int runtime_digits, const u64* const* x, size x_step,
                          const u64* y, size y_step, int K, bool more) {
  constexpr int chains = R == 1 ? 2 : 1;
  const int D = FD ? FD : runtime_digits;
  word below[R];
  MDLA_UNROLL
  for (int r = 0; r < R; ++r) below[r] = constant(0);
  const auto column = [&](int c) __attribute__((always_inline)) {
    word high[chains][R], low[chains][R];
    MDLA_UNROLL
    for (int r = 0; r < R; ++r) {
      high[0][r] = below[r];
      low[0][r] = constant(0);
      if constexpr (chains == 2) high[1][r] = low[1][r] = constant(0);
    }
    const int first = c - (D - SY) + 1 > 0 ? c - (D - SY) + 1 : 0;
    const int last = c < D - SX - 1 ? c : D - SX - 1;
    const auto step = [&](int k, int chain) __attribute__((always_inline)) {
      const u64* q = y + k * y_step;
      const size at = k * x_step;
      const auto pair = [&](int i) __attribute__((always_inline)) {
        const word b = load(q + (c - i) * W);
        MDLA_UNROLL
        for (int r = 0; r < R; ++r) {
          const word a = load(x[r] + at + i * W);
          high[chain][r] = madd52hi(high[chain][r], a, b);
          if (c < D - 1) low[chain][r] = madd52lo(low[chain][r], a, b);
        }
      };
      if constexpr (FD > 0) {
        MDLA_UNROLL
        for (int i = 0; i < FD; ++i)
          if (i >= first && i <= last) pair(i);
      } else {
        for (int i = first; i <= last; ++i) pair(i);
      }
    };
    int k = 0;
    for (; k + chains <= K; k += chains) {
      MDLA_UNROLL
      for (int chain = 0; chain < chains; ++chain) step(k + chain, chain);
    }
    if (chains == 2 && k < K) step(k, 0);
    MDLA_UNROLL
    for (int r = 0; r < R; ++r) {
      if constexpr (chains == 2) {
        high[0][r] = high[0][r] + high[1][r];
        low[0][r] = low[0][r] + low[1][r];
      }
      u64* to = m + r * m_row + c * W;
      store(to, more ? high[0][r] + load(to) : high[0][r]);
      below[r] = low[0][r];
    }
  };
  if constexpr (FD > 0) {
    MDLA_UNROLL
    for (int c = 0; c < FD; ++c) column(c);
  } else {
    for (int c = 0; c < D; ++c) column(c);
  }
}

// How the limbs of an entry become words: limb i has bits in digits first[i] .. last[i], if not
// the entry or the limb is unusually small. An entry times 2^-growth is what is cut, and it comes
// multiplied by 2^cut_origin, so that no unit is subnormal.
constexpr int cut_origin = 400;
struct cut_plan {
  int N, D, growth;
  int first[max_limbs], last[max_limbs];

  cut_plan(int N_, int D_, int growth_) : N(N_), D(D_), growth(growth_) {
    for (int i = 0; i < N; ++i) {
      first[i] = std::min((53 * i + growth - 1) / 52, D - 1);
      last[i] = std::min((53 * i + growth + 53 + 12) / 52, D - 1);
    }
  }
  // Limb i lies in digits i and i + 1 of N + 1.
  bool is_usual() const { return D == N + 1 && growth + 12 + N <= 52; }
  double anchor(int c) const {
    return as_real((u64)(1023 + cut_origin + growth - 52 * c) << 52 | half_digit);
  }
};

MDLA_INLINE real take_digits(u64* t, real x, int first, int last, const cut_plan& plan) {
  for (int c = first; c <= last; ++c) {
    word d = load(t + c * W);
    x = take_digit(d, x, plan.anchor(c));
    store(t + c * W, d);
  }
  return x;
}

// Limbs at x, times two factors, as words with the offset.
inline void cut_limbs(u64* t, const u64* x, real f, real g, const cut_plan& plan) {
  store(t, constant(half_digit));
  for (int c = 1; c < plan.D; ++c) store(t + c * W, constant(0));
  mask_t<real> more = lt(value(0), value(0));
  real rest[max_limbs];
  for (int i = 0; i < plan.N; ++i) {
    rest[i] = take_digits(t, mul_rn(mul_rn(load_real(x + i * W), f), g), plan.first[i],
                          plan.last[i], plan);
    if (plan.last[i] < plan.D - 1) more = more | !eq(rest[i], value(0));
  }
  if (__builtin_expect(!any(more), 1)) return;
  for (int i = 0; i < plan.N; ++i) take_digits(t, rest[i], plan.last[i] + 1, plan.D - 1, plan);
}

// to = digits of limbs - 4 m + 2 (x_sums + y_sums), modulo 1: a row of elimination for numbers
// with the offset.
template <int F>
void finish_entry(u64* to, const u64* limbs, real f, real g, const cut_plan& plan, const u64* m,
                  const u64* x_sums, const u64* y_sums, int noise) {
  if constexpr (F == 0) {
    alignas(64) u64 t[most_words * W];
    cut_limbs(t, limbs, f, g, plan);
    for (int c = 0; c < plan.D; ++c)
      store(t + c * W, load(t + c * W) + ((load(x_sums + c * W) + load(y_sums + c * W)) << 1) -
                           (load(m + c * W) << 2));
    carry(to, t, plan.D, noise);
  } else {
    word t[F];
    real rest[F];
    mask_t<real> more = lt(value(0), value(0));
    MDLA_UNROLL
    for (int c = 0; c < F; ++c)
      t[c] = ((load(x_sums + c * W) + load(y_sums + c * W)) << 1) - (load(m + c * W) << 2);
    t[0] = t[0] + constant(half_digit);
    MDLA_UNROLL
    for (int i = 0; i < F - 1; ++i) {
      real x = mul_rn(mul_rn(load_real(limbs + i * W), f), g);
      x = take_digit(t[i], x, plan.anchor(i));
      rest[i] = take_digit(t[i + 1], x, plan.anchor(i + 1));
      if (i < F - 2) more = more | !eq(rest[i], value(0));
    }
    if (__builtin_expect(any(more), 0)) {
      MDLA_UNROLL
      for (int i = 0; i < F - 2; ++i) {
        MDLA_UNROLL
        for (int c = i + 2; c < F; ++c) rest[i] = take_digit(t[c], rest[i], plan.anchor(c));
      }
    }
    carry_in_registers<F>(to, t, noise);
  }
}

// The parts of a quotient of digits, or its only part: x_a with the offset, complemented by
// signs[a], times the magnitudes y_a, summed, less `half` of the y: digits 1 .. F of F + 1.
// The offset is put back.
template <int F, int P>
void divide_digits(u64* to, const u64* const* x, const word* signs, const u64* const* y,
                   const u64* half, int noise) {
  word s[P][F], w[F + 1];
  MDLA_UNROLL
  for (int a = 0; a < P; ++a) {
    MDLA_UNROLL
    for (int c = 0; c < F; ++c) s[a][c] = load(x[a] + c * W) ^ signs[a];
  }
  word below = constant(0);
  MDLA_UNROLL
  for (int c = 0; c <= F; ++c) {
    word high = below - load(half + c * W), low = constant(0);
    MDLA_UNROLL
    for (int a = 0; a < P; ++a) {
      MDLA_UNROLL
      for (int i = 0; i < F; ++i) {
        if (i > c) break;
        const word b = load(y[a] + (c - i) * W);
        high = madd52hi(high, s[a][i], b);
        if (c < F) low = madd52lo(low, s[a][i], b);
      }
    }
    w[c] = high;
    below = low;
  }
  // A complement is one unit too small.
  MDLA_UNROLL
  for (int a = 0; a < P; ++a) w[F] = w[F] + (load(y[a]) & signs[a]);
  w[1] = w[1] + constant(half_digit);
  carry_in_registers<F>(to, w + 1, noise);
}

// Magnitudes: to[0..D) = floor-like product of a[0..DA) and b[0..DB) times 2^up; at most
// 2 D 2^up units too small.
inline void multiply_any(u64* to, int D, const u64* a, int DA, const u64* b, int DB, int up) {
  alignas(64) u64 m[most_words * W];
  word below = constant(0);
  for (int c = 0; c < D; ++c) {
    word high = below, low = constant(0);
    for (int i = c - DB + 1 > 0 ? c - DB + 1 : 0; i <= c && i < DA; ++i) {
      high = madd52hi(high, load(a + i * W), load(b + (c - i) * W));
      low = madd52lo(low, load(a + i * W), load(b + (c - i) * W));
    }
    store(m + c * W, high << up);
    below = low;
  }
  carry(to, m, D, 0);
}
template <int D>
inline void multiply_equal(u64* to, const u64* a, const u64* b, int up) {
  word m[D], below = constant(0);
  MDLA_UNROLL
  for (int c = 0; c < D; ++c) {
    word high = below, low = constant(0);
    MDLA_UNROLL
    for (int i = 0; i <= c; ++i) {
      high = madd52hi(high, load(a + i * W), load(b + (c - i) * W));
      low = madd52lo(low, load(a + i * W), load(b + (c - i) * W));
    }
    m[c] = high << up;
    below = low;
  }
  carry_in_registers<D>(to, m, 0);
}
inline void multiply(u64* to, int D, const u64* a, int DA, const u64* b, int DB, int up) {
  if (DA < D || DB < D || D > 6) return multiply_any(to, D, a, DA, b, DB, up);
  switch (D) {
    case 3:
      return multiply_equal<3>(to, a, b, up);
    case 4:
      return multiply_equal<4>(to, a, b, up);
    case 5:
      return multiply_equal<5>(to, a, b, up);
    case 6:
      return multiply_equal<6>(to, a, b, up);
    default:
      return multiply_any(to, D, a, DA, b, DB, up);
  }
}

// z[0..D) = 2^-b / f for a magnitude f in [2^-(b - 1), 1/2 or 1) so that z < 1: Newton's iteration
// from below, at most 2^(-52 (D - 1) - 15) z or 2^13 units too small. Every step doubles the
// digits.
inline void reciprocal(u64* z, int D, const u64* f, int DF, int b) {
  alignas(64) u64 e[most_words * W], t[most_words * W];
  const real start =
      mul_rn(value(as_real((u64)(1023 + 52 - b) << 52)) / leading(f, DF, 0), value(1 - 0x1p-48));
  for (int c = 0; c < D; ++c) store(z + c * W, constant(0));
  store(z, to_digit(start));
  const u64 power = 1ULL << (52 - b);
  for (int right = 47;; right = 2 * right - 1) {
    const int enough = (2 * right + 16 + 51) / 52;
    const int now = enough < D ? enough : D;
    // The product is too small by less than 2 D units and what f has beyond: e is positive.
    multiply(t, now, f, DF < now ? DF : now, z, now, 0);
    for (int c = 0; c < now; ++c) store(e + c * W, constant(c == 0 ? power : 0) - load(t + c * W));
    carry(e, e, now, 0);
    multiply(t, now, z, now, e, now, b);
    for (int c = 0; c < now; ++c) store(t + c * W, load(t + c * W) + load(z + c * W));
    store(t + (now - 1) * W, load(t + (now - 1) * W) - constant(4096));
    carry(z, t, now, 0);
    if (2 * right >= 52 * (D - 1) + 16) break;
  }
}

}  // namespace fixed
}  // namespace MDLA_LEVEL
}  // namespace mdla
