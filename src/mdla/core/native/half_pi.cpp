// SPDX-License-Identifier: BSD-3-Clause
// Reduction modulo pi / 2 for every finite number: Payne and Hanek, SIGNUM Newsletter 18, 1983.
//
// x 2/pi is formed in fixed point modulo 2^64, limb by limb: of the bits of 2/pi only those matter
// whose product with a limb is neither a multiple of 2^64 nor below the last word. The fraction has
// enough words for N limbs after the cancellation that was seen; where a number lies so near a
// multiple of pi/2 that they do not suffice, it is formed again with more. So the remainder has
// full relative precision for every x, at about N (N + 2) multiplications of 64-bit integers.
#include "elementary_blocks.hpp"

namespace mdla {
namespace {

using word = unsigned long long;
using double_word = unsigned __int128;

// Enough for the nearest that limbs of doubles come to a multiple of pi/2: about 1140 bits lost.
constexpr int most_words = 40;

// 64 bits of 2/pi, the first of which is bit `start` after the point (zeros before it).
word bits_of_two_over_pi(const std::vector<unsigned>& digits, long long start) {
  if (start <= -64) return 0;
  word r = 0;
  const long long first = start >= 0 ? start / 32 : -((-start + 31) / 32);
  const int shift = (int)(start - first * 32);
  const auto digit = [&](long long i) -> word {
    return i >= 0 && i < (long long)digits.size() ? digits[(std::size_t)i] : 0;
  };
  r = (digit(first) << 32) | digit(first + 1);
  if (shift) r = (r << shift) | (digit(first + 2) >> (32 - shift));
  return r;
}

// acc[0] . acc[1] ... acc[words] += limb * 2/pi
void add_multiple(word* acc, int words, double limb, const std::vector<unsigned>& digits) {
  word bits;
  std::memcpy(&bits, &limb, sizeof bits);
  const int field = (int)(bits >> 52) & 0x7ff;
  word m = bits & ((word(1) << 52) - 1);
  if (field) m |= word(1) << 52;
  // limb = +- m 2^e; word t of 2^e 2/pi begins 64 - e - 64 t bits before the point
  const long long e = (field ? field : 1) - 1075;
  const bool negative = (bits >> 63) != 0;
  word carry = 0;
  bool borrow = false;
  for (int t = words; t >= 0; --t) {
    const long long start = e + 64 * (long long)t - 64;
    if (start <= -64 && carry == 0 && !borrow) break;
    const double_word p = (double_word)m * bits_of_two_over_pi(digits, start) + carry;
    const word low = (word)p;
    carry = (word)(p >> 64);
    if (negative) {
      const word before = acc[t], less = before - low;
      acc[t] = less - (borrow ? 1 : 0);
      borrow = before < low || (borrow && less == 0);
    } else {
      const word sum = acc[t] + low;
      // The carry of the sum joins that of the product, which is below 2^53.
      carry += sum < low ? 1 : 0;
      acc[t] = sum;
    }
  }
}

// The magnitude of a fraction as N doubles, normalised.
void limbs_of_fraction(double* limb, int limbs, const word* fraction, int words) {
  int at = 0;  // bits taken
  while (at < 64 * words && fraction[at / 64] == 0) at += 64;
  if (at < 64 * words) at += __builtin_clzll(fraction[at / 64]);
  for (int l = 0; l < limbs; ++l) {
    word chunk = 0;
    const int w = at / 64, s = at % 64;
    if (w < words) chunk = fraction[w] << s;
    if (s && w + 1 < words) chunk |= fraction[w + 1] >> (64 - s);
    chunk >>= 11;
    at += 53;
    limb[l] = (double)chunk * power_of_two(std::max(-at, -1022));
    if (at > 1022) limb[l] *= power_of_two(std::max(1022 - at, -1022));
  }
  // Chunks are cut off, not rounded: two sweeps make each limb the nearest to what is left.
  for (int sweep = 0; sweep < 2; ++sweep)
    for (int l = limbs - 2; l >= 0; --l) {
      const double s = limb[l] + limb[l + 1];
      limb[l + 1] -= s - limb[l];
      limb[l] = s;
    }
}

// x 2/pi = 4 m + q + f with |f| <= 1/2; f as limbs.
int fraction_of_quarters(double* f, const double* x, int limbs,
                         const std::vector<unsigned>& digits) {
  word acc[most_words + 1];
  int words = (53 * limbs + 53 + 64) / 64 + 1;
  for (;;) {
    std::fill_n(acc, words + 1, word(0));
    for (int l = 0; l < limbs; ++l)
      if (x[l] != 0) add_multiple(acc, words, x[l], digits);
    const bool up = (acc[1] >> 63) != 0;
    const int q = (int)((acc[0] + (up ? 1 : 0)) & 3);
    if (up) {
      // 1 - fraction
      word carry = 1;
      for (int t = words; t >= 1; --t) {
        acc[t] = ~acc[t] + carry;
        carry = carry && acc[t] == 0;
      }
    }
    int zeros = 1;
    while (zeros <= words && acc[zeros] == 0) ++zeros;
    const int lost = zeros > words ? 64 * words : 64 * (zeros - 1) + __builtin_clzll(acc[zeros]);
    // 53 bits and a few for the limbs' errors are wrong at the end.
    if (64 * words - lost >= 53 * limbs + 53 + 8 || words == most_words) {
      limbs_of_fraction(f, limbs, acc + 1, words);
      if (up)
        for (int l = 0; l < limbs; ++l) f[l] = 0.0 - f[l];
      return q;
    }
    words = std::min(most_words, words + lost / 64 + 2);
  }
}

}  // namespace

void reduce_half_pi(const elementary_block& b, numbers r, double* q, operand<double> x) {
  const workspace::frame frame(b.w);
  const numbers f = b.w.take();
  double from[16], to[16];
  bool any = false;
  for (size i = 0; i < b.n; ++i) {
    q[i] = 0;
    // Below pi / 4 the number is its own remainder.
    if (std::fabs(x.p[i * x.step]) < 0.785) {
      b.set(f, i, 0.0);
      continue;
    }
    any = true;
    for (int l = 0; l < b.limbs; ++l) from[l] = x.p[l * x.plane + i * x.step];
    q[i] = fraction_of_quarters(to, from, b.limbs, b.t.two_over_pi);
    b.set(f, i, to);
  }
  if (any) b.ops.mul(b.n, r, f, b.constant(b.t.half_pi));
  for (size i = 0; i < b.n; ++i)
    if (std::fabs(x.p[i * x.step]) < 0.785) b.set(r, i, x);
}

}  // namespace mdla
