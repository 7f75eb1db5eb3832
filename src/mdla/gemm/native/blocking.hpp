// SPDX-License-Identifier: BSD-3-Clause
// Blocking and threads of a matrix product that packs panels and multiplies tiles.
//
// A Method turns panels into packed words, adds products of two panels to the sums of a tile, and
// rounds the sums:
//   words           packed words for each entry
//   planes          words of sums for each result
//   stage_words     scratch words for each thread
//   prepare(item, threads)
//   pack(side, panel, first_step, steps, target, stride, stage, last)
//   tile(sums, a, a_stride, b, b_stride, steps, rows, vectors)
//   finish(sums, row_panel, column_panel, rows, columns, vectors)
//   repair(item)    after all tiles: special values
// All words have eight bytes. Neither blocks nor threads change the order of operations in a tile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "direct.hpp"
#include "threads.hpp"

namespace mdla {

inline int thread_index() {
#if defined(_OPENMP)
  return omp_get_thread_num();
#else
  return 0;
#endif
}

inline long long round_up(long long n, long long unit) { return (n + unit - 1) / unit * unit; }
inline long long panels_of(long long lanes, int width) { return (lanes + width - 1) / width; }

// Memory that a thread keeps between products, because fresh pages cost as much as small products.
class workspace {
 public:
  workspace() = default;
  workspace(const workspace&) = delete;
  workspace& operator=(const workspace&) = delete;
  ~workspace() { std::free(memory_); }

  void* reserve(std::size_t bytes) {
    if (bytes > size_) {
      std::free(memory_);
      size_ = 0;
      memory_ = std::aligned_alloc(64, round_up((long long)bytes, 64));
      if (!memory_) throw std::bad_alloc();
      size_ = bytes;
    }
    return memory_;
  }
  void release_if_above(std::size_t bytes) {
    if (size_ <= bytes) return;
    std::free(memory_);
    memory_ = nullptr;
    size_ = 0;
  }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

inline workspace& this_thread_workspace() {
  static thread_local workspace w;
  return w;
}

// Hands out pieces of a workspace; with a null base it only measures.
class arena {
 public:
  explicit arena(void* base) : base_((char*)base) {}
  template <class W>
  W* take(long long count) {
    W* p = base_ ? (W*)(base_ + used_) : nullptr;
    used_ += (std::size_t)round_up(count * (long long)sizeof(W), 64);
    return p;
  }
  std::size_t used() const { return used_; }

 private:
  char* base_;
  std::size_t used_ = 0;
};

constexpr int side_width(int side) { return side == 0 ? tile_rows : tile_columns; }

// The width of a panel when `left` lanes are left.
inline int panel_width(int side, long long left) {
  return side == 0 ? tile_rows : (int)std::min<long long>(tile_columns, round_up(left, 8));
}

template <class Method>
class tiled_product {
 public:
  tiled_product(Method& method, long long rows, long long inner, long long columns, int threads)
      : method_(method), rows_(rows), inner_(inner), columns_(columns), threads_(threads) {
    // A panel of B of this many steps stays in the second-level cache; blocks of the result bound
    // the memory for packed operands and sums to some tens of megabytes.
    const long long steps = std::max<long long>(64, 4096 / method.words / 64 * 64);
    chunk_ = round_up(std::min(inner, steps), 2);
    chunks_ = (inner + chunk_ - 1) / chunk_;
    const long long most = method.planes <= 9 ? 960 : 480;
    block_rows_ = std::min(round_up(rows, tile_rows), most);
    block_columns_ = std::min(round_up(columns, tile_columns), most);
  }

  void take_memory(arena& memory) {
    const long long a_panels = block_rows_ / tile_rows, b_panels = block_columns_ / tile_columns;
    tile_words_ = (long long)method_.planes * tile_rows * tile_columns;
    packed_[0] = memory.take<std::uint64_t>(block_rows_ * chunk_ * method_.words);
    packed_[1] = memory.take<std::uint64_t>(block_columns_ * chunk_ * method_.words);
    sums_ =
        memory.take<std::uint64_t>(tile_words_ * (chunks_ > 1 ? a_panels * b_panels : threads_));
    stage_words_ = round_up(method_.stage_words, 8);
    stage_ = memory.take<std::uint64_t>(stage_words_ * threads_);
  }

  bool run(interrupt_test interrupted) {
    for (long long c = 0; c < columns_; c += block_columns_) {
      for (long long r = 0; r < rows_; r += block_rows_) {
        for (long long k = 0; k < chunks_; ++k) {
          block(r, c, k);
          if (interrupted && interrupted()) return false;
        }
      }
    }
    return true;
  }

 private:
  void block(long long first_row, long long first_column, long long chunk) {
    const long long rows = std::min(block_rows_, rows_ - first_row);
    const long long columns = std::min(block_columns_, columns_ - first_column);
    const long long a_panels = panels_of(rows, tile_rows);
    const long long b_panels = panels_of(columns, tile_columns);
    const long long first_step = chunk * chunk_;
    const long long steps = std::min(chunk_, inner_ - first_step);
    const bool last = chunk == chunks_ - 1;
    const long long a_words = (long long)tile_rows * chunk_ * method_.words;
    const long long b_words = (long long)tile_columns * chunk_ * method_.words;
    const auto pack = [&](long long t, std::uint64_t* stage) {
      const int side = t < b_panels ? 1 : 0;
      const long long panel = side ? t : t - b_panels;
      const long long before = side ? first_column / tile_columns : first_row / tile_rows;
      method_.pack(side, before + panel, first_step, steps,
                   packed_[side] + panel * (side ? b_words : a_words), chunk_, stage, last);
    };
    const auto multiply = [&](long long t) {
      const long long p = t % a_panels, q = t / a_panels;
      const int tile_height = (int)std::min<long long>(tile_rows, rows - p * tile_rows);
      const int tile_width = (int)std::min<long long>(tile_columns, columns - q * tile_columns);
      const int vectors = (tile_width + 7) / 8;
      std::uint64_t* sums = sums_ + tile_words_ * (chunks_ > 1     ? t
                                                   : threads_ == 1 ? 0
                                                                   : thread_index());
      if (chunk == 0) {
        const long long used = (long long)method_.planes * tile_rows * 8 * vectors;
        std::memset(sums, 0, (std::size_t)used * sizeof *sums);
      }
      method_.tile(sums, packed_[0] + p * a_words, packed_[1] + q * b_words, chunk_, steps,
                   tile_height, vectors);
      if (last)
        method_.finish(sums, first_row / tile_rows + p, first_column / tile_columns + q,
                       tile_height, tile_width, vectors);
    };
    const long long panels = a_panels + b_panels, tiles = a_panels * b_panels;
    // Runs of tiles in one panel of B, which then stays in the cache of one core.
    const int run = (int)std::clamp<long long>(tiles / (8 * threads_), 1, 16);
    if (threads_ == 1) {  // a team of one thread would take as long as a small product
      for (long long t = 0; t < panels; ++t) pack(t, stage_);
      for (long long t = 0; t < tiles; ++t) multiply(t);
      return;
    }
#pragma omp parallel num_threads(threads_)
    {
      std::uint64_t* stage = stage_ + thread_index() * stage_words_;
#pragma omp for schedule(dynamic)
      for (long long t = 0; t < panels; ++t) pack(t, stage);
#pragma omp for schedule(dynamic, run)
      for (long long t = 0; t < tiles; ++t) multiply(t);
    }
  }

  Method& method_;
  long long rows_, inner_, columns_;
  int threads_;
  long long chunk_, chunks_, block_rows_, block_columns_;
  long long tile_words_ = 0, stage_words_ = 0;
  std::uint64_t* packed_[2] = {nullptr, nullptr};
  std::uint64_t* sums_ = nullptr;
  std::uint64_t* stage_ = nullptr;
};

// Runs Method on every matrix of a batch: threads share one matrix when it is large, else each
// takes matrices of its own. `work` is the number of vector instructions for one matrix.
template <class Method>
bool product_over_batch(const Method& prototype, product_shape shape, double work,
                        interrupt_test interrupted) {
  constexpr double grain = 2e5;
  constexpr std::size_t kept_bytes = std::size_t{64} << 20;
  const int inside = threads_for(work, grain);
  const int across = inside > 1 ? 1
                                : (int)std::min<long long>(
                                      threads_for(work * (double)shape.batch, grain), shape.batch);
  workspace& own = this_thread_workspace();
  const auto take = [&](Method& method, void* base) {
    arena memory(base);
    tiled_product<Method> product(method, shape.rows, shape.inner, shape.columns, inside);
    method.take_memory(memory);
    product.take_memory(memory);
    return std::pair<tiled_product<Method>, std::size_t>(product, memory.used());
  };
  Method probe(prototype);
  const std::size_t bytes = take(probe, nullptr).second;
  char* base = (char*)own.reserve(bytes * (std::size_t)across);
  bool finished = true;
  // Interrupts are looked for between slices of the batch.
  const long long slice = std::max<long long>(across, (long long)(1e9 / (work + 1)) * across);
  for (long long first = 0; first < shape.batch && finished; first += slice) {
    const long long end = std::min(shape.batch, first + slice);
    const auto multiply = [&](Method& method, tiled_product<Method>& product, long long x) {
      method.prepare(x, inside);
      if (!product.run(across > 1 ? nullptr : interrupted)) finished = false;
      method.repair(x);
    };
    if (across == 1) {
      Method method(prototype);
      auto product = take(method, base).first;
      for (long long x = first; x < end && finished; ++x) multiply(method, product, x);
    } else {
#pragma omp parallel num_threads(across)
      {
        Method method(prototype);
        auto product = take(method, base + bytes * (std::size_t)thread_index()).first;
#pragma omp for schedule(dynamic)
        for (long long x = first; x < end; ++x) multiply(method, product, x);
      }
    }
    if (finished && interrupted && interrupted()) finished = false;
  }
  own.release_if_above(kept_bytes);
  return finished;
}

}  // namespace mdla
