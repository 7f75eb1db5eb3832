// SPDX-License-Identifier: BSD-3-Clause
// How a batch of series is shared out: groups of 8 side by side, and single ones.
#pragma once

#include "truncated.hpp"

namespace mdla {

// Series begin .. begin + count, in `lanes` lanes.
struct series_group {
  size begin, count, lanes;
};

// Multiply-adds of vectors that a product takes with vectors along one series: half of the lanes of
// its blocks of coefficients are beyond the diagonal.
inline size steps_along(size length) {
  size steps = 0;
  for (size k = 0; k < length; k += lane_block) steps += std::min(k + lane_block, length);
  return steps;
}

// The last series are single ones where that takes less time than a group with empty lanes.
class series_groups {
 public:
  series_groups(size total, size length)
      : total_(total), full_(total / lane_block), rest_(total % lane_block) {
    if (rest_ * steps_along(length) > length * (length + 1) / 2) {
      ++full_;
      rest_ = 0;
    }
  }
  size count() const { return full_ + rest_; }
  series_group operator[](size g) const {
    if (g < full_) {
      const size begin = g * lane_block;
      return {begin, std::min(lane_block, total_ - begin), lane_block};
    }
    return {full_ * lane_block + (g - full_), 1, 1};
  }

 private:
  size total_, full_, rest_;
};

// Copies between the lanes of a group and memory: coefficient k of series l at
// p + offsets[l] + part * c + limb * j + step * k. Missing limbs read as zeros.
struct series_rows {
  double* p;
  int parts, limbs;
  size part, limb, step;
};

inline void load_series(numbers to, size lanes, const series_rows& from, const size* offsets,
                        size count, size length, int limbs) {
  for (int c = 0; c < from.parts; ++c)
    for (int j = 0; j < limbs; ++j)
      for (size l = 0; l < count; ++l) {
        double* lane = to.p + c * to.part + j * to.plane + l;
        if (j >= from.limbs) {
          for (size k = 0; k < length; ++k) lane[k * lanes] = 0.0;
          continue;
        }
        const double* row = from.p + offsets[l] + c * from.part + j * from.limb;
        for (size k = 0; k < length; ++k) lane[k * lanes] = row[k * from.step];
      }
}

inline void store_series(const series_rows& to, const size* offsets, numbers from, size lanes,
                         size count, size length) {
  for (int c = 0; c < to.parts; ++c)
    for (int j = 0; j < to.limbs; ++j)
      for (size l = 0; l < count; ++l) {
        const double* lane = from.p + c * from.part + j * from.plane + l;
        double* row = to.p + offsets[l] + c * to.part + j * to.limb;
        for (size k = 0; k < length; ++k) row[k * to.step] = lane[k * lanes];
      }
}

}  // namespace mdla
