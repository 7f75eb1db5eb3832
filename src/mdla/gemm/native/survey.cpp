// SPDX-License-Identifier: BSD-3-Clause
#include "survey.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "dispatch.hpp"
#include "threads.hpp"

namespace mdla {

#if defined(MDLA_X86)
namespace v2 {
const survey_ops& survey_table();
}
namespace v3 {
const survey_ops& survey_table();
}
namespace v4 {
const survey_ops& survey_table();
}

const survey_ops& active_survey_ops() {
  switch (active_level()) {
    case 2:
      return v4::survey_table();
    case 1:
      return v3::survey_table();
    default:
      return v2::survey_table();
  }
}
#else
namespace portable {
const survey_ops& survey_table();
}

const survey_ops& active_survey_ops() { return portable::survey_table(); }
#endif

constexpr std::uintptr_t cache_line = 64;

capped_sums_of_lane survey_lanes(const operand_side& side, int* exponents) {
  const survey_ops& ops = active_survey_ops();
  const long long units = (side.lanes + survey_unit - 1) / survey_unit;
  capped_sums_of_lane none;
  std::fill_n(none.of, survey_cap_count, ~0ull);
  std::vector<capped_sums_of_lane> found((std::size_t)units, none);
  const int threads = threads_for((double)side.lanes * (double)side.steps, 1e5);
  parallel_for(units, threads, [&](long long first, long long last) {
    const std::unique_ptr<unsigned[]> memory(
        new unsigned[(std::size_t)survey_workspace(side.steps) + cache_line]);
    unsigned* workspace =
        (unsigned*)(((std::uintptr_t)memory.get() + cache_line - 1) & ~(cache_line - 1));
    for (long long u = first; u < last; ++u) {
      operand_side part = side.from(u * survey_unit, 0);
      part.lanes = std::min(part.lanes, survey_unit);
      ops.survey(part, exponents + u * survey_unit, found[(std::size_t)u], workspace);
    }
  });
  capped_sums_of_lane least = none;
  for (const capped_sums_of_lane& f : found)
    for (int c = 0; c < survey_cap_count; ++c) least.of[c] = std::min(least.of[c], f.of[c]);
  return least;
}

namespace {

constexpr int lowest_exponent = -1073, most_exponent = 2000;
static_assert(most_exponent - lowest_exponent < most_depth, "");
constexpr int bias = 1022;  // of frexp's exponents
// As an exponent it puts all entries below most_depth.
constexpr int far_above = most_depth + 2048;

struct measured_side {
  operand_side x;
  const int* exponent;
  measured_side from(long long lane) const { return {x.from(lane, 0), exponent + lane}; }
};

constexpr long long block_rows = 1024, block_columns = 1024, chunk_steps = 128;
constexpr int group = min_plus_columns, panel_size = min_plus_rows * group;

// to[k][64] = the depths of the first lanes, from step `first` on; false for negative depths.
template <class D>
bool pack_depths(typename D::word* to, const measured_side& side, long long first, long long steps,
                 const depth_ops<D>& ops) {
  const int lanes = (int)std::min<long long>(group, side.x.lanes);
  if (lanes < group) std::fill_n(to, steps * group, (typename D::word)D::absent);
  long long top[group];
  std::fill_n(top, group, far_above);
  for (int l = 0; l < lanes; ++l)
    if (has_exponent(side.exponent[l])) top[l] = side.exponent[l] + bias;
  const double* p = side.x.p + first * side.x.step;
  bool below = true;
  if (side.x.lane == 1) {
    for (long long k = 0; k < steps; ++k)
      below &= ops.depths(to + k * group, p + k * side.x.step, 1, top, lanes);
  } else {
    for (int l = 0; l < lanes; ++l) {
      typename D::word depth[chunk_steps];
      long long tops[chunk_steps];
      std::fill_n(tops, chunk_steps, top[l]);
      below &= ops.depths(depth, p + l * side.x.lane, side.x.step, tops, steps);
      for (long long k = 0; k < steps; ++k) to[k * group + l] = depth[k];
    }
  }
  return below;
}

struct tile_grid {
  int* spans;
  long long tile, across;  // side of a tile, tiles in a row of tiles
  int* row(long long i) const { return spans + i / tile * across; }
};

// The results from (first_row, first_column) on, up to the ends of the two sides.
class span_block {
 public:
  span_block(const measured_side& rows, const measured_side& columns, long long first_row,
             long long first_column, const tile_grid& grid)
      : rows_(rows),
        columns_(columns),
        first_row_(first_row),
        first_column_(first_column),
        grid_(grid),
        row_panels_((rows.x.lanes + min_plus_rows - 1) / min_plus_rows),
        column_panels_((columns.x.lanes + group - 1) / group),
        wanted_((std::size_t)(row_panels_ * column_panels_), 1) {}

  // Raises the spans of the tiles; false as for tile_spans.
  bool run() {
    const survey_ops& ops = active_survey_ops();
    enter(ops.bytes);
    if (std::find(wanted_.begin(), wanted_.end(), 1) != wanted_.end()) enter(ops.shorts);
    return below_;
  }

 private:
  // Enters the panels that are wanted, and no longer wants those with exact sums.
  template <class D>
  void enter(const depth_ops<D>& ops) {
    using word = typename D::word;
    std::vector<word> best(wanted_.size() * panel_size, (word)~0);
    std::vector<unsigned> a((std::size_t)((row_panels_ + 7) / 8 * group * chunk_steps));
    for (long long k = 0; k < rows_.x.steps; k += chunk_steps)
      add_steps(best.data(), a.data(), k, std::min(chunk_steps, rows_.x.steps - k), ops);
    for (long long p = 0; p < row_panels_; ++p)
      for (long long c = 0; c < column_panels_; ++c) {
        const long long i = c * row_panels_ + p;
        if (wanted_[(std::size_t)i])
          wanted_[(std::size_t)i] = !enter_panel(best.data() + i * panel_size, p, c, ops);
      }
  }
  template <class D>
  void add_steps(typename D::word* best, unsigned* a, long long first, long long steps,
                 const depth_ops<D>& ops) {
    constexpr unsigned copies = sizeof(typename D::word) == 1 ? 0x01010101 : 0x00010001;
    constexpr long long panel = min_plus_rows * chunk_steps;
    alignas(cache_line) typename D::word b[group * chunk_steps];
    for (long long p = 0; p < row_panels_; p += group / min_plus_rows) {
      below_ &= pack_depths(b, rows_.from(p * min_plus_rows), first, steps, ops);
      for (long long k = 0; k < steps; ++k)
        for (int l = 0; l < group; ++l)
          a[(p + l / min_plus_rows) * panel + k * min_plus_rows + l % min_plus_rows] =
              b[k * group + l] * copies;
    }
    for (long long c = 0; c < column_panels_; ++c) {
      below_ &= pack_depths(b, columns_.from(c * group), first, steps, ops);
      for (long long p = 0; p < row_panels_; ++p) {
        const long long i = c * row_panels_ + p;
        if (wanted_[(std::size_t)i]) ops.min_plus(best + i * panel_size, a + p * panel, b, steps);
      }
    }
  }
  template <class D>
  bool enter_panel(const typename D::word* best, long long p, long long c,
                   const depth_ops<D>& ops) const {
    typename D::word most[group];
    ops.most(most, best);
    if (*std::max_element(most, most + group) >= D::deep) return false;
    int* spans = grid_.row(first_row_ + p * min_plus_rows);
    const long long left = first_column_ + c * group;
    const long long right = first_column_ + std::min((c + 1) * group, columns_.x.lanes);
    for (long long j = left; j < right;) {
      const long long t = j / grid_.tile, end = std::min(right, (t + 1) * grid_.tile);
      spans[t] = std::max<int>(spans[t], *std::max_element(most + (j - left), most + (end - left)));
      j = end;
    }
    return true;
  }

  measured_side rows_, columns_;
  long long first_row_, first_column_;
  tile_grid grid_;
  long long row_panels_, column_panels_;
  std::vector<char> wanted_;
  bool below_ = true;
};

bool possible(const measured_side& side) {
  for (long long l = 0; l < side.x.lanes; ++l) {
    const int e = side.exponent[l];
    if (has_exponent(e) && (e < lowest_exponent || e > most_exponent)) return false;
  }
  return true;
}

}  // namespace

bool tile_spans(int* spans, const operand_side& rows, const operand_side& columns,
                const int* row_exponents, const int* column_exponents, long long tile) {
  const measured_side a{rows, row_exponents}, b{columns, column_exponents};
  const long long down = rows.lanes / tile + (rows.lanes % tile != 0);
  const tile_grid grid{spans, tile, columns.lanes / tile + (columns.lanes % tile != 0)};
  std::fill_n(spans, down * grid.across, 0);
  if (!possible(a) || !possible(b)) return false;
  std::atomic<bool> below{true};
  const double work = (double)rows.lanes * (double)columns.lanes * (double)rows.steps / 64;
  parallel_for(down, threads_for(work, 1e5), [&](long long first, long long last) {
    const long long end = std::min(last * tile, rows.lanes);
    for (long long i = first * tile; i < end; i += block_rows)
      for (long long j = 0; j < columns.lanes; j += block_columns) {
        measured_side some = a.from(i), others = b.from(j);
        some.x.lanes = std::min(block_rows, end - i);
        others.x.lanes = std::min(block_columns, columns.lanes - j);
        if (!span_block(some, others, i, j, grid).run()) below = false;
      }
  });
  return below;
}

}  // namespace mdla
