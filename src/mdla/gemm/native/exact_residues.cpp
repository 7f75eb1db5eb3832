// SPDX-License-Identifier: BSD-3-Clause
#include "exact_residues.hpp"

#include <cmath>

namespace mdla {
namespace {

using words = std::vector<i64>;  // digits of 32 bits, the last one signed

void carry(words& x) {
  for (std::size_t w = 0; w + 1 < x.size(); ++w) {
    x[w + 1] += x[w] >> 32;
    x[w] &= 0xffffffff;
  }
}

bool bit(const words& x, int b) { return x[(std::size_t)b / 32] >> (b % 32) & 1; }

bool is_zero_below(const words& x, int b) {
  for (int w = 0; w < b / 32; ++w)
    if (x[(std::size_t)w] != 0) return false;
  return (x[(std::size_t)b / 32] & ((i64{1} << (b % 32)) - 1)) == 0;
}

// To a multiple of 2^b, ties to even.
void round_to(words& x, int b) {
  const bool up = bit(x, b - 1) && (bit(x, b) || !is_zero_below(x, b - 1));
  for (int w = 0; w < b / 32; ++w) x[(std::size_t)w] = 0;
  i64& word = x[(std::size_t)b / 32];
  word = word >> (b % 32) << (b % 32);
  if (up) word += i64{1} << (b % 32);
  carry(x);
}

}  // namespace

void exact_residues::digits(double* to, long long entry) const {
  // More words than M has: for sums of residues times weights, and a sign.
  words x((std::size_t)how_.whole_words + 3, 0);
  const auto add = [&](i64 r, int weight) {
    const std::uint32_t* w = how_.whole_weights + (long long)weight * how_.whole_words;
    for (int i = 0; i < how_.whole_words; ++i) x[(std::size_t)i] += r * (i64)w[i];
  };
  int weight = 0;
  for (; weight < forms_.byte_count(); ++weight)
    add(product_[weight * layout_.byte_plane() + entry], weight);
  const short* pairs = (const short*)(product_ + forms_.byte_count() * layout_.byte_plane());
  for (int p = 0; p < forms_.pair_count(); ++p, ++weight)
    add(pairs[p * layout_.pair_plane() + entry], weight);
  carry(x);
  // x - round(x / M) M: |x / M| is below 2^20 and, but for a small margin, not close to a tie.
  const std::size_t n = (std::size_t)how_.whole_words, low = n >= 3 ? n - 3 : 0;
  double s = 0, m = 0;
  for (std::size_t i = x.size(); i-- > low;) s = s * 0x1p32 + (double)x[i];
  for (std::size_t i = n; i-- > low;) m = m * 0x1p32 + (double)how_.whole_modulus[i];
  const i64 q = std::llround(s / m);
  for (std::size_t i = 0; i < n; ++i) x[i] -= q * (i64)how_.whole_modulus[i];
  carry(x);
  const int shift = how_.shift;
  round_to(x, shift + how_.quantum);
  for (int c = 0; c < how_.chunks; ++c) {
    // bits shift + 32 c .. of x, sign extended above
    const int b = shift + 32 * c, w = b / 32, s32 = b % 32;
    const auto word = [&](int i) {
      return (std::size_t)i < x.size() ? x[(std::size_t)i] : (x.back() < 0 ? i64{-1} : i64{0});
    };
    const std::uint64_t two = ((std::uint64_t)word(w) & 0xffffffff) | (std::uint64_t)word(w + 1)
                                                                          << 32;
    const std::uint32_t digit = (std::uint32_t)(two >> s32);
    to[c] = c + 1 < how_.chunks ? (double)digit : (double)(std::int32_t)digit;
  }
  // Balanced: at most half a unit of the digit above.
  for (int c = 0; c + 1 < how_.chunks; ++c) {
    if (to[c] >= 0x1p31) {
      to[c] -= 0x1p32;
      to[c + 1] += 1;
    }
  }
}

}  // namespace mdla
