// SPDX-License-Identifier: BSD-3-Clause
// Strided views of planes: pointer, parts (real, imaginary), limbs, and the shape's strides.
#pragma once

#include <cstdint>
#include <vector>

#include "vector_ops.hpp"

namespace mdla {

template <class R>
struct planes_view {
  R* p = nullptr;
  int parts = 1, limbs = 1;
  long long part_stride = 0, limb_stride = 0;
  std::vector<long long> shape, strides;  // in elements

  long long size() const {
    long long n = 1;
    for (long long s : shape) n *= s;
    return n;
  }
};

// Merge neighbouring axes wherever every view allows it; axes of length 1 vanish. At least one
// axis is left, so that the last one always exists.
template <class R>
void coalesce(std::vector<planes_view<R>*> views) {
  std::vector<long long> shape = views[0]->shape;
  const int nd = (int)shape.size();
  std::vector<std::vector<int>> groups;
  for (int d = 0; d < nd; ++d) {
    if (shape[d] == 1) continue;
    bool joins = !groups.empty();
    if (joins) {
      const int before = groups.back().back();
      for (auto* v : views) joins = joins && v->strides[before] == v->strides[d] * shape[d];
    }
    if (joins) {
      groups.back().push_back(d);
    } else {
      groups.push_back({d});
    }
  }
  std::vector<long long> merged;
  for (const auto& g : groups) {
    long long n = 1;
    for (int d : g) n *= shape[d];
    merged.push_back(n);
  }
  for (auto* v : views) {
    std::vector<long long> strides;
    for (const auto& g : groups) strides.push_back(v->strides[g.back()]);
    if (groups.empty()) strides.push_back(0);
    v->strides = strides;
    v->shape = groups.empty() ? std::vector<long long>{1} : merged;
  }
}

}  // namespace mdla
