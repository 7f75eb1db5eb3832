// SPDX-License-Identifier: BSD-3-Clause
// Strided views of planes: pointer, parts (real, imaginary), limbs, and the shape's strides.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "vector_ops.hpp"

namespace mdla {

// Lengths or strides of the axes: a list without allocation, as long as NumPy's longest.
class axes {
 public:
  static constexpr int most = 64;

  axes() = default;
  axes(std::initializer_list<long long> list) {
    for (long long x : list) push_back(x);
  }
  axes(const axes& other) : n_(other.n_) { std::copy_n(other.v_, n_, v_); }
  axes& operator=(const axes& other) {
    n_ = other.n_;
    std::copy_n(other.v_, n_, v_);
    return *this;
  }
  int size() const { return n_; }
  void push_back(long long x) { v_[n_++] = x; }
  void resize(int n) { n_ = n; }
  long long& operator[](int i) { return v_[i]; }
  long long operator[](int i) const { return v_[i]; }
  long long back() const { return v_[n_ - 1]; }
  const long long* begin() const { return v_; }
  const long long* end() const { return v_ + n_; }
  bool operator==(const axes& o) const {
    return n_ == o.n_ && std::equal(begin(), end(), o.begin());
  }
  bool operator!=(const axes& o) const { return !(*this == o); }

 private:
  int n_ = 0;
  long long v_[most];
};

template <class R>
struct planes_view {
  R* p = nullptr;
  int parts = 1, limbs = 1;
  long long part_stride = 0, limb_stride = 0;
  axes shape, strides;  // in elements

  long long size() const {
    long long n = 1;
    for (long long s : shape) n *= s;
    return n;
  }
};

// Merge neighbouring axes wherever every view allows it; axes of length 1 vanish. At least one
// axis is left, so that the last one always exists.
template <class R>
void coalesce(std::initializer_list<planes_view<R>*> first, planes_view<R>* more = nullptr,
              int more_count = 0) {
  planes_view<R>* views[16];
  int count = 0;
  for (auto* v : first) views[count++] = v;
  for (int i = 0; i < more_count; ++i) views[count++] = more + i;
  const axes shape = views[0]->shape;
  int kept = 0;  // axes already written, in place
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    bool joins = kept > 0;
    for (int i = 0; joins && i < count; ++i)
      joins = views[i]->strides[kept - 1] == views[i]->strides[d] * shape[d];
    for (int i = 0; i < count; ++i) {
      axes &lengths = views[i]->shape, &strides = views[i]->strides;
      lengths[joins ? kept - 1 : kept] = joins ? lengths[kept - 1] * shape[d] : shape[d];
      strides[joins ? kept - 1 : kept] = strides[d];
    }
    if (!joins) ++kept;
  }
  for (int i = 0; i < count; ++i) {
    views[i]->shape.resize(kept);
    views[i]->strides.resize(kept);
    if (kept == 0) {
      views[i]->shape.push_back(1);
      views[i]->strides.push_back(0);
    }
  }
}

}  // namespace mdla
