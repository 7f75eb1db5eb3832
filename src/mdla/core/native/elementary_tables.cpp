// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "elementary.hpp"

namespace mdla {
namespace {

constexpr int widths[] = {1, 2, 3, 4, 5, 8, 10, 16};

std::array<std::unique_ptr<const elementary_tables>, 17> known;

// The terms of sum c_k z^k, |z| <= 2^-bits, that matter beside the first for a relative error of
// 2^(-52 limbs - 8), and the limbs of each so that what its roundings leave is below that as well.
// A table has coefficients at 0, 1, ...; the series takes every `every`-th from `first` on.
series plan(const std::vector<double>& c, const std::vector<double>& digits, int limbs, int first,
            int every, double bits) {
  series s;
  s.c = c.data() + first * limbs;
  s.step = every * limbs;
  const double wanted = 52.0 * limbs + 8;
  const int count = (int)c.size() / limbs, width = limbs + 2;
  for (int k = 0; first + k * every < count; ++k) {
    int e = 0;
    std::frexp(s.c[k * s.step] / s.c[0], &e);
    const double missing = wanted - (bits * k - e);
    if (missing <= 0) break;
    int least = limbs;
    for (int w : widths)
      if (w < least && 52.0 * w >= missing) least = w;
    s.limbs.push_back(least);
    // In fixed point a coefficient's size does not matter; a step drops up to 7 bits.
    const int most = (int)std::ceil((wanted + 7 - bits * k) / 50);
    s.digits.push_back(std::min(limbs + 1, std::max(1, most)));
    for (int t = 0; t < width; ++t)
      s.digit_table.push_back(
          (unsigned long long)digits[(std::size_t)((first + k * every) * width + t)]);
  }
  return s;
}

}  // namespace

const elementary_tables* elementary_tables_for(int limbs) {
  return limbs >= 1 && limbs <= 16 ? known[(std::size_t)limbs].get() : nullptr;
}

void define_elementary_tables(elementary_tables tables) {
  auto t = std::make_unique<elementary_tables>(std::move(tables));
  // The tables have steps of 2^-7 and leave half a step.
  const auto series_of = [&](const std::vector<double>& c, const std::vector<double>& digits,
                             int first, int every,
                             double bits) { return plan(c, digits, t->limbs, first, every, bits); };
  t->exp_series = series_of(t->factorials, t->factorial_digits, 1, 1, 8);
  t->atan_series = series_of(t->odds, t->odd_digits, 0, 1, 16);
  t->sin_series = series_of(t->factorials, t->factorial_digits, 1, 2, 16);
  t->cos_series = series_of(t->factorials, t->factorial_digits, 0, 2, 16);
  known[(std::size_t)t->limbs] = std::move(t);
}

}  // namespace mdla
