// SPDX-License-Identifier: BSD-3-Clause
// The operand survey: what is known about the sizes of rows, columns and sums of a product before
// anything is multiplied. Lanes are rows of A or columns of B, steps the positions along the inner
// dimension; leading limbs stand for the numbers.
#pragma once

#include <algorithm>

#include "direct_ops.hpp"

namespace mdla {

// Exponents of lanes that have none: all entries zero; inf or nan among them.
constexpr int zero_lane = -32768, special_lane = 32767;
MDLA_INLINE constexpr bool has_exponent(int e) { return e != zero_lane && e != special_lane; }
// Whether these can be exponents of lanes, so that nothing made of them overflows.
inline bool are_exponents(const int* e, long long n) {
  return std::all_of(e, e + n, [](int x) { return x >= zero_lane && x <= special_lane; });
}

// Entries are cut off at these fractions of the power of two above the largest of their lane, and
// counted in multiples of 2^-survey_bits of it. The best caps are two thirds of the range of
// uniform entries and 0.9 standard deviations of normal ones, 1/8 to 1/4 in lanes of usual length;
// heavier tails need lower ones.
constexpr int survey_bits = 20, survey_cap_count = 5;
constexpr double survey_caps[survey_cap_count] = {0.5, 0.25, 0.125, 0.0625, 0.03125};

// Sums of cut entries in units of 2^-survey_bits, one for each cap; none overflows below 2^44
// steps.
struct capped_sums_of_lane {
  unsigned long long of[survey_cap_count];
};

// Work space of a kernel that surveys lanes of this length, in words of 32 bits.
constexpr long long survey_block_words = 1 << 18, survey_unit = 64;
MDLA_INLINE constexpr long long survey_workspace(long long steps) {
  return steps < survey_block_words / survey_unit ? (steps + 1) * survey_unit : survey_block_words;
}

// The depth of an entry is the distance of its exponent below that of its lane. In bytes depths
// from `deep` on are not told apart, and sums from there on are not exact; in 16 bits no sum of two
// depths is that large. Twice `deep` is below `absent`, the depth of zero and of lanes without
// exponent, so a sum of depths tells whether there was one.
constexpr int most_depth = 4095;
struct byte_depths {
  using word = unsigned char;
  static constexpr int deep = 63, absent = 127;
};
struct short_depths {
  using word = unsigned short;
  static constexpr int deep = 2 * most_depth + 1, absent = 2 * deep + 2;
};

// Sums of depths are formed in panels of min_plus_rows rows and min_plus_columns columns.
constexpr int min_plus_rows = 8, min_plus_columns = 64;

template <class D>
struct depth_ops {
  using word = typename D::word;
  // to[i] = the depth of p[i step] below the exponent top[i] - 1022, absent where that is more than
  // most_depth; `to` and `top` have room for a multiple of 8. Returns false for negative depths.
  bool (*depths)(word* to, const double* p, long long step, const long long* top, long long count);
  // best[8][64] = min(best, a[k][8] + b[k][64]) over k; a has each word repeated to 32 bits.
  void (*min_plus)(word* best, const unsigned* a, const word* b, long long steps);
  // most[64] = the largest of each column of best[8][64] that is below `absent`, or 0.
  void (*most)(word* most, const word* best);
};

struct survey_ops {
  // exponents[l] = E with 2^(E - 1) <= max |x| < 2^E in lane l, or one of those above; `least` is
  // lowered to the sums of lanes that have less.
  void (*survey)(const operand_side& side, int* exponents, capped_sums_of_lane& least,
                 unsigned* workspace);
  depth_ops<byte_depths> bytes;
  depth_ops<short_depths> shorts;
};

const survey_ops& active_survey_ops();

// exponents[l] as above for all lanes; returns the least capped sums over lanes that have one, all
// bits set where there is none. The same for every instruction set, number of threads and layout.
capped_sums_of_lane survey_lanes(const operand_side& side, int* exponents);

// spans[tile row][tile column] = the largest E_i + F_j - max over k of (e_ik + f_kj) among the
// results (i, j) of a tile with some a_ik b_kj != 0 and exponents E_i, F_j; 0 where there is none.
// 2^(e - 1) <= |entry| < 2^e. `tile` is a positive multiple of min_plus_rows. Returns false when E
// or F are not those of the matrices (some entry is larger).
bool tile_spans(int* spans, const operand_side& rows, const operand_side& columns,
                const int* row_exponents, const int* column_exponents, long long tile);

}  // namespace mdla
