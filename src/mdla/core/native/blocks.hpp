// SPDX-License-Identifier: BSD-3-Clause
// Blocks of numbers: what elementwise functions read, keep between their steps, and share among
// threads. The blocks of an array depend on its shape alone, never on the number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include "planes.hpp"
#include "threads.hpp"

namespace mdla {

using size = long long;

// Numbers worked on at a time: all buffers of a block stay in the second-level cache.
inline size block_length(int limbs) { return std::max<size>(128, 4096 / limbs); }

// Brings blocks of a strided view into unit-stride (or repeated) form; copies only where it must.
template <class R>
class reader {
 public:
  reader(const planes_view<R>& view, int limbs) : view_(view), limbs_(limbs) {}

  // Numbers start .. start + n in C order of one part, with `limbs` limbs (missing ones zero).
  operand<R> block(int part, size start, size n) {
    const R* base = view_.p + part * view_.part_stride;
    const int last = view_.shape.size() - 1;
    const size inner = view_.shape[last], inner_stride = view_.strides[last];
    const size column = start % inner;
    if (view_.limbs == limbs_ && column + n <= inner && (inner_stride == 1 || inner_stride == 0)) {
      const R* row = base + offset(start / inner, last) + column * inner_stride;
      return {row, view_.limb_stride, inner_stride};
    }
    gather(base, start, n);
    return {buffer_.data(), n, 1};
  }

  int limbs() const { return view_.limbs; }
  int parts() const { return view_.parts; }

 private:
  size offset(size row, int axes) const {
    size r = 0;
    for (int d = axes - 1; d >= 0; --d) {
      r += (row % view_.shape[d]) * view_.strides[d];
      row /= view_.shape[d];
    }
    return r;
  }

  void gather(const R* base, size start, size n) {
    buffer_.assign((std::size_t)(limbs_ * n), R(0));
    const int last = view_.shape.size() - 1;
    const size inner = view_.shape[last], stride = view_.strides[last];
    const int copied = std::min(limbs_, view_.limbs);
    for (size done = 0; done < n;) {
      const size column = (start + done) % inner;
      const size m = std::min(n - done, inner - column);
      const R* row = base + offset((start + done) / inner, last) + column * stride;
      for (int k = 0; k < copied; ++k) {
        R* to = buffer_.data() + k * n + done;
        const R* from = row + k * view_.limb_stride;
        for (size i = 0; i < m; ++i) to[i] = from[i * stride];
      }
      done += m;
    }
  }

  const planes_view<R>& view_;
  int limbs_;
  std::vector<R> buffer_;
};

// Scratch numbers of one block.
template <class R>
class scratch {
 public:
  scratch(int limbs, size n) : n_(n), data_((std::size_t)(limbs * n)) {}
  operator result<R>() { return {data_.data(), n_}; }
  operator operand<R>() const { return {data_.data(), n_, 1}; }
  R* limb(int k) { return data_.data() + k * n_; }

 private:
  size n_;
  std::vector<R> data_;
};

// Calls body(start, n) for the blocks of an array of this shape, in C order and not across rows
// unless rows are short; make() gives each thread a body of its own.
template <class Make>
void for_each_block(const axes& shape, size length, double work, const Make& make) {
  size total = 1;
  for (size s : shape) total *= s;
  const size inner = shape.back();
  const bool by_rows = inner >= 64;
  const size per_row = by_rows ? (inner + length - 1) / length : 1;
  const size blocks = by_rows ? total / inner * per_row : (total + length - 1) / length;
  parallel_for(blocks, threads_for(work, 2e5), [&](size first, size last) {
    auto body = make();
    for (size b = first; b < last; ++b) {
      const size start = by_rows ? (b / per_row) * inner + (b % per_row) * length : b * length;
      const size end = by_rows ? (b / per_row + 1) * inner : total;
      body(start, std::min(length, end - start));
    }
  });
}

}  // namespace mdla
