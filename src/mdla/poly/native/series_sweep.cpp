// SPDX-License-Identifier: BSD-3-Clause
#include "series_sweep.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include "groups.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

// Rows of a matrix of series: `at(column)` is one column for all points.
class columns_view {
 public:
  explicit columns_view(const planes_view<double>& v)
      : rows_{v.p, v.parts, v.limbs, v.part_stride, v.limb_stride, v.strides[2]},
        point_(v.strides[0]),
        column_(v.strides[1]) {}
  series_rows at(size column) const {
    series_rows r = rows_;
    r.p += column * column_;
    return r;
  }
  void offsets(const series_group& g, size* to) const {
    for (size l = 0; l < g.count; ++l) to[l] = (g.begin + l) * point_;
  }

 private:
  series_rows rows_;
  size point_, column_;
};

// A slot is a series of which coefficients from some length on are zero, whatever lies there.
class machine {
 public:
  machine(const field& f, const sweep_program& program, size length, size lanes)
      : f_(f),
        program_(program),
        series_(f, length, lanes),
        memory_(series_.room() * program.slots),
        lengths_((std::size_t)program.slots, 1) {}

  size lanes() const { return series_.lanes(); }

  void load(const columns_view& x, size variables, const series_group& g) {
    size from[lane_block];
    x.offsets(g, from);
    const size d1 = series_.length();
    bool finite = true;
    for (size v = 0; v < variables; ++v) {
      const numbers s = slot(v);
      load_series(s, lanes(), x.at(v), from, g.count, d1, f_.limbs);
      lengths_[v] = length_of(s, finite);
    }
    least_ = finite ? 1 : d1;
    for (size v = 0; v < variables; ++v) lengths_[v] = std::max(lengths_[v], least_);
  }

  void run(const columns_view& values, size m, const columns_view& derivatives,
           const planes_view<double>& constants, const series_group& g) {
    size to[lane_block], to_derivatives[lane_block];
    values.offsets(g, to);
    derivatives.offsets(g, to_derivatives);
    const auto constant = [&](size k) {
      return source_numbers{constants.p + k * constants.strides[0], constants.limb_stride,
                            constants.part_stride, 0};
    };
    for (size i = 0; i < program_.count; ++i) {
      const int* step = program_.steps + 4 * i;
      const size out = step[1], a = step[2], b = step[3];
      switch (static_cast<sweep_operation>(step[0])) {
        case sweep_operation::mul:
          mul(out, a, b);
          break;
        case sweep_operation::add: {
          const size n = extend(a, b);
          f_.add(vector_length(n), slot(out), slot(a), slot(b));
          lengths_[out] = n;
          break;
        }
        case sweep_operation::sub: {
          const size n = extend(a, b);
          f_.sub(vector_length(n), slot(out), slot(a), slot(b));
          lengths_[out] = n;
          break;
        }
        case sweep_operation::scale:
          f_.mul(vector_length(lengths_[a]), slot(out), slot(a), constant(b));
          lengths_[out] = lengths_[a];
          break;
        case sweep_operation::scale_real:
          scale(f_.ops.mul, out, a, constant(b));
          break;
        case sweep_operation::scale_lane:
          scale(f_.ops.mul_lane, out, a, constant(b));
          break;
        case sweep_operation::fill:
          fill(out, constant(a), constants.parts);
          break;
        default: {
          const numbers s = slot(a);
          series_.clear(s, lengths_[a], series_.length());
          if (out < m) {
            store_series(values.at(out), to, s, lanes(), g.count, series_.length());
          } else {
            store_series(derivatives.at(out - m), to_derivatives, s, lanes(), g.count,
                         series_.length());
          }
        }
      }
    }
  }

 private:
  numbers slot(size i) const { return series_.over(memory_.data() + i * series_.room()); }

  // Of the vectors that hold so many coefficients; what they hold beyond does not matter.
  size vector_length(size coefficients) const { return up_to_block(coefficients * lanes()); }

  // Up to the last coefficient that is not zero in some lane; whether all are finite.
  size length_of(numbers s, bool& finite) const {
    size length = 0;
    for (int c = 0; c < f_.parts; ++c)
      for (int j = 0; j < f_.limbs; ++j) {
        const double* p = s.p + c * s.part + j * s.plane;
        for (size i = 0; i < series_.length() * lanes(); ++i) {
          finite &= std::isfinite(p[i]);
          if (p[i] != 0.0) length = std::max(length, i / lanes() + 1);
        }
      }
    return length;
  }
  // Makes the shorter of two as long as the other; how long that is.
  size extend(size a, size b) {
    const size n = std::max(lengths_[a], lengths_[b]);
    for (size i : {a, b}) {
      series_.clear(slot(i), lengths_[i], n);
      lengths_[i] = n;
    }
    return n;
  }
  void mul(size out, size a, size b) {
    const size n = std::min(series_.length(), lengths_[a] + lengths_[b] - 1);
    series_.mul(slot(out), n, {slot(a), f_.parts, lengths_[a]}, {slot(b), f_.parts, lengths_[b]});
    lengths_[out] = n;
  }
  void scale(vector_ops<double>::binary mul, size out, size a, source_numbers k) {
    const size n = vector_length(lengths_[a]);
    const numbers to = slot(out), from = slot(a);
    mul(n, to.re(), from.re(), k.re());
    if (f_.parts == 2) mul(n, to.im(), from.im(), k.re());
    lengths_[out] = lengths_[a];
  }
  void fill(size out, source_numbers k, int parts) {
    const numbers to = slot(out);
    series_.clear(to, 0, least_);
    f_.copy_part(lanes(), to.re(), k.re());
    if (parts == 2) f_.copy_part(lanes(), to.im(), k.im());
    lengths_[out] = least_;
  }

  const field& f_;
  const sweep_program& program_;
  truncated_series series_;
  linalg::number_memory memory_;
  std::vector<size> lengths_;
  size least_ = 1;
};

}  // namespace

void series_sweep(const planes_view<double>& values, const planes_view<double>& derivatives,
                  const planes_view<double>& x, const planes_view<double>& constants,
                  const sweep_program& program) {
  const field f(x.parts, x.limbs);
  const size points = x.shape[0], variables = x.shape[1], length = x.shape[2];
  const size m = values.shape[1];
  const series_groups groups(points, length);
  const columns_view from(x), to(values), to_derivatives(derivatives);
  const double work = (double)points * (double)program.count * (double)length * (double)length / 2 *
                      f.parts * f.parts * f.limbs * f.limbs;
  parallel_for(groups.count(), threads_for(work, 1e5), [&](size first, size last) {
    std::optional<machine> vectors;
    for (size i = first; i < last; ++i) {
      const series_group g = groups[i];
      if (!vectors || vectors->lanes() != g.lanes) vectors.emplace(f, program, length, g.lanes);
      vectors->load(from, variables, g);
      vectors->run(to, m, to_derivatives, constants, g);
    }
  });
}

}  // namespace mdla
