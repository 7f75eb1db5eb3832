// SPDX-License-Identifier: BSD-3-Clause
#include "convolve.hpp"

#include <optional>

#include "groups.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

series_rows rows_of(const planes_view<double>& v) {
  return {v.p, v.parts, v.limbs, v.part_stride, v.limb_stride, v.strides.back()};
}

// Where series i of the batch begins.
size offset(const planes_view<double>& v, size i) {
  size at = 0;
  for (int d = v.shape.size() - 2; d >= 0; --d) {
    at += i % v.shape[d] * v.strides[d];
    i /= v.shape[d];
  }
  return at;
}

class multiplier {
 public:
  multiplier(const field& f, const planes_view<double>& out, const planes_view<double>& a,
             const planes_view<double>& b, size lanes)
      : out_(out),
        a_(a),
        b_(b),
        limbs_(f.limbs),
        series_(f, out.shape.back(), lanes),
        memory_(3 * series_.room()) {}

  size lanes() const { return series_.lanes(); }

  void run(const series_group& g) const {
    const size length = series_.length();
    const size a_length = std::min(length, a_.shape.back());
    const size b_length = std::min(length, b_.shape.back());
    size to[lane_block];
    for (size l = 0; l < g.count; ++l) to[l] = offset(out_, g.begin + l);
    if (a_length == 0 || b_length == 0) {
      series_.clear(slot(0), 0, length);
    } else {
      const series_factor a{slot(1), a_.parts, a_length}, b{slot(2), b_.parts, b_length};
      load(a.n, a_, g, a_length);
      load(b.n, b_, g, b_length);
      series_.mul(slot(0), length, a, b);
    }
    store_series(rows_of(out_), to, slot(0), series_.lanes(), g.count, length);
  }

 private:
  numbers slot(size i) const { return series_.over(memory_.data() + i * series_.room()); }
  void load(numbers to, const planes_view<double>& v, const series_group& g, size length) const {
    size from[lane_block];
    for (size l = 0; l < g.count; ++l) from[l] = offset(v, g.begin + l);
    load_series(to, series_.lanes(), rows_of(v), from, g.count, length, limbs_);
  }

  const planes_view<double>&out_, &a_, &b_;
  int limbs_;
  truncated_series series_;
  linalg::number_memory memory_;
};

}  // namespace

void convolve(const planes_view<double>& out, const planes_view<double>& a,
              const planes_view<double>& b) {
  const size length = out.shape.back();
  if (out.size() == 0) return;
  const field f(out.parts, out.limbs);
  const size total = out.size() / length;
  const series_groups groups(total, length);
  const double work =
      (double)total * (double)length * (double)length * a.parts * b.parts * f.limbs * f.limbs / 2;
  parallel_for(groups.count(), threads_for(work, 1e5), [&](size first, size last) {
    std::optional<multiplier> vectors;  // groups of 8 come first
    for (size i = first; i < last; ++i) {
      const series_group g = groups[i];
      if (!vectors || vectors->lanes() != g.lanes) vectors.emplace(f, out, a, b, g.lanes);
      vectors->run(g);
    }
  });
}

}  // namespace mdla
