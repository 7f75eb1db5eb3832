// SPDX-License-Identifier: BSD-3-Clause
// Gaussian elimination of many small matrices, one in each lane, in fixed point: the interface of
// the kernels, which exist once per instruction set, and what host and kernels agree on.
#pragma once

#include <algorithm>

#include "direct_ops.hpp"

namespace mdla {

// One matrix per lane: limb l of part p of entry (i, j) of a lane lies at
// p[lane][p part + l limb + i row + j column].
template <class R>
struct lane_view {
  R* p[8];
  long long part, limb, row, column;
};

struct elimination_job {
  int parts, limbs, digits;
  long long n, k;
  lane_view<const double> a, b;  // (n, n), (n, k)
  lane_view<double> to;          // (n, k): the solution; (n, n): L and U
  int lanes;                     // wanted; the others repeat the first
  unsigned long long* memory;    // elimination_words, on a cache line
  double* rcond;                 // [lanes]
  int* pivots[8];                // [n] for each lane; failed column or -1 for Cholesky
  // [lanes] out: digits that this system is to be worked out with. Results are given for those
  // that need as many as `digits` and for no others.
  int* needed;
};

constexpr int no_digits = 1000;  // needed: not a case for fixed point
constexpr long long most_order = 64;

// Bits that entries may grow by, with room for sums of n products in the substitution. Partial
// pivoting gives |u| <= 2^(n - 1) max |a|, and (1 + sqrt 2)^(n - 1) for complex numbers whose
// pivots have the largest |re| + |im|.
inline int growth_bits(int parts, long long n) {
  int log = 0;
  while ((1LL << log) < n) ++log;
  return (parts == 1 ? (int)n : (int)((n * 41 + 31) / 32)) + 3 + log;
}

// Nothing grows in a Cholesky factorisation, whose entries are quartered.
constexpr int cholesky_growth = 2;

// Results are rounded to multiples of 2^noise units of the last digit. The halves of products that
// are left out add up to less than a quarter of that.
inline int noise_bits(int parts, int limbs, long long n) {
  int bits = 0;
  while ((1LL << bits) < 32 * (limbs + 2) * parts * std::max(n, 1LL)) ++bits;
  return bits;
}

// So many digits that an entry 2^-span times the largest one is hit by no more than eps / 2 of
// itself by a rounding; no_digits where that is more than the floating algorithms cost.
inline int digits_needed(int parts, int limbs, long long n, int growth, int span) {
  if (n < 1 || n > most_order) return no_digits;
  const int bits = 52 * limbs + growth + noise_bits(parts, limbs, n) + span;
  const int digits = (bits + 51) / 52;
  return digits <= 2 * limbs + 4 && digits <= max_digits - 2 ? digits : no_digits;
}

constexpr int right_sides = 4, inverse_columns = 8;  // side by side

struct elimination_layout {
  long long entry;  // words of a part of a number
  long long entries, row_sums, column_sums, doubles, factors, inverses, right, spare, total;

  elimination_layout(int parts, int limbs, int digits, long long n) {
    entry = std::max(digits, limbs);
    long long at = 0;
    const auto take = [&](long long& where, long long count) {
      where = at;
      at += count;
    };
    take(entries, n * n * parts * entry);
    take(row_sums, n * parts * digits);
    take(column_sums, n * parts * digits);
    take(doubles, n * n * parts);
    take(factors, 5 * n);
    take(inverses, n * (parts * (2 * digits + 4) + 3));
    take(right, right_sides * parts * (n + 1) * (std::max(digits + 1, limbs)));
    take(spare, n * inverse_columns * parts + n * parts + n);
    total = at;
  }
};

struct elimination_ops {
  int lanes;
  void (*solve)(const elimination_job&);
  void (*lu)(const elimination_job&);
  void (*cholesky)(const elimination_job&);
};

const elimination_ops& active_elimination_ops();

}  // namespace mdla
