// SPDX-License-Identifier: BSD-3-Clause
#include "sweep.hpp"

#include "lanes.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

using namespace linalg;

// Points or results as rows of a matrix.
struct rows_view {
  double* p;
  size part, limb, row, column;

  explicit rows_view(const planes_view<double>& v)
      : p(v.p), part(v.part_stride), limb(v.limb_stride), row(v.strides[0]), column(v.strides[1]) {}
};

struct constants_view {
  const double* p;
  int parts;
  size part, limb, step;

  explicit constants_view(const planes_view<double>& v)
      : p(v.p), parts(v.parts), part(v.part_stride), limb(v.limb_stride), step(v.strides[0]) {}
  source_numbers operator[](size k) const { return {p + k * step, limb, part, 0}; }
};

// Vectors for one group of points after the other.
class machine {
 public:
  machine(const field& f, const sweep_program& program, size lanes)
      : f_(f),
        program_(program),
        lanes_(lanes),
        room_(f.room(lanes)),
        memory_(room_ * program.slots) {}

  // Points begin .. begin + count; the lanes beyond compute with what is there.
  void load(const rows_view& x, size variables, size begin, size count) const {
    for (size v = 0; v < variables; ++v)
      for_parts(x, v, begin, [&](const double* memory, size offset) {
        double* lane = slot(v).p + offset;
        for (size k = 0; k < count; ++k) lane[k] = memory[k * x.row];
      });
  }

  void run(const rows_view& values, size m, const rows_view& derivatives,
           const constants_view& constants, size begin, size count) const {
    const size n = up_to_block(count);
    for (size i = 0; i < program_.count; ++i) {
      const int* step = program_.steps + 4 * i;
      const size out = step[1], a = step[2], b = step[3];
      switch (static_cast<sweep_operation>(step[0])) {
        case sweep_operation::mul:
          f_.mul(n, slot(out), slot(a), slot(b));
          break;
        case sweep_operation::add:
          f_.add(n, slot(out), slot(a), slot(b));
          break;
        case sweep_operation::sub:
          f_.sub(n, slot(out), slot(a), slot(b));
          break;
        case sweep_operation::scale:
          f_.mul(n, slot(out), slot(a), constants[b]);
          break;
        case sweep_operation::scale_real:
          scale(f_.ops.mul, n, slot(out), slot(a), constants[b]);
          break;
        case sweep_operation::scale_lane:
          scale(f_.ops.mul_lane, n, slot(out), slot(a), constants[b]);
          break;
        case sweep_operation::fill:
          fill(n, slot(out), constants, a);
          break;
        default: {
          const size run = neighbours(i, m);
          if (out < m) {
            store(values, out, step, run, begin, count);
          } else {
            store(derivatives, out - m, step, run, begin, count);
          }
          i += run - 1;
        }
      }
    }
  }

 private:
  static constexpr size most_neighbours = 16;

  numbers slot(size i) const { return f_.over(memory_.data() + i * room_, lanes_); }

  // body(where row `begin` of a column lies, where its lanes lie within a slot) for all limbs.
  template <class F>
  void for_parts(const rows_view& rows, size column, size begin, F body) const {
    for (int c = 0; c < f_.parts; ++c)
      for (int k = 0; k < f_.limbs; ++k)
        body(rows.p + begin * rows.row + column * rows.column + c * rows.part + k * rows.limb,
             (c * f_.limbs + k) * lanes_);
  }
  // How many steps from i on store neighbouring results of one array.
  size neighbours(size i, size m) const {
    const int* step = program_.steps + 4 * i;
    size run = 1;
    while (run < most_neighbours && i + run < program_.count && step[4 * run] == step[0] &&
           step[4 * run + 1] == step[1] + run && step[1] + run != m)
      ++run;
    return run;
  }
  // Neighbours together, so that whole cache lines are written.
  void store(const rows_view& rows, size column, const int* step, size run, size begin,
             size count) const {
    for_parts(rows, column, begin, [&](double* memory, size offset) {
      const double* lanes[most_neighbours];
      for (size j = 0; j < run; ++j) lanes[j] = slot(step[4 * j + 2]).p + offset;
      for (size k = 0; k < count; ++k)
        for (size j = 0; j < run; ++j) memory[k * rows.row + j * rows.column] = lanes[j][k];
    });
  }
  void scale(vector_ops<double>::binary mul, size n, numbers out, source_numbers a,
             source_numbers k) const {
    mul(n, out.re(), a.re(), k.re());
    if (f_.parts == 2) mul(n, out.im(), a.im(), k.re());
  }
  void fill(size n, numbers out, const constants_view& constants, size k) const {
    f_.clear(n, out);
    f_.copy_part(n, out.re(), constants[k].re());
    if (constants.parts == 2) f_.copy_part(n, out.im(), constants[k].im());
  }

  const field& f_;
  const sweep_program& program_;
  size lanes_, room_;
  number_memory memory_;
};

}  // namespace

const char* flaw_of(const sweep_program& program, const sweep_sizes& sizes) {
  // Every slot beyond the variables is the result of some step.
  if (program.slots < sizes.variables || program.slots - sizes.variables > program.count)
    return "the number of slots does not fit the program";
  const auto is_slot = [&](size i) { return 0 <= i && i < program.slots; };
  const auto is_constant = [&](size i) { return 0 <= i && i < sizes.constants; };
  for (size i = 0; i < program.count; ++i) {
    const int* step = program.steps + 4 * i;
    const size out = step[1], a = step[2], b = step[3];
    bool good;
    switch (static_cast<sweep_operation>(step[0])) {
      case sweep_operation::mul:
        if (out == a || out == b) return "a product overwrites its factor";
        [[fallthrough]];
      case sweep_operation::add:
      case sweep_operation::sub:
        good = is_slot(out) && is_slot(a) && is_slot(b);
        break;
      case sweep_operation::scale:
        if (out == a) return "a product overwrites its factor";
        if (sizes.complex_points && !sizes.complex_constants)
          return "a complex multiple needs complex constants";
        [[fallthrough]];
      case sweep_operation::scale_real:
      case sweep_operation::scale_lane:
        good = is_slot(out) && is_slot(a) && is_constant(b);
        break;
      case sweep_operation::fill:
        good = is_slot(out) && is_constant(a);
        break;
      case sweep_operation::store:
        good = 0 <= out && out < sizes.results && is_slot(a);
        break;
      default:
        return "a step has no such operation";
    }
    if (!good) return "a step names a slot, a constant or a result that does not exist";
  }
  return nullptr;
}

void sweep(const planes_view<double>& values, const planes_view<double>& derivatives,
           const planes_view<double>& x, const planes_view<double>& constants,
           const sweep_program& program) {
  const field f(x.parts, x.limbs);
  const size points = x.shape[0], variables = x.shape[1], m = values.shape[1];
  const double work =
      (double)points * (double)program.count * f.parts * f.parts * f.limbs * f.limbs;
  const int threads = threads_for(work, 1e5);
  const size share = up_to_block((points + threads - 1) / threads);
  const size lanes = std::min(lanes_for(f, program.slots), share);
  const size groups = (points + lanes - 1) / lanes;
  const rows_view from(x), to(values), to_derivatives(derivatives);
  const constants_view k(constants);
  parallel_for(groups, threads, [&](size first, size last) {
    const machine vectors(f, program, lanes);
    for (size g = first; g < last; ++g) {
      const size begin = g * lanes, count = std::min(lanes, points - begin);
      vectors.load(from, variables, begin, count);
      vectors.run(to, m, to_derivatives, k, begin, count);
    }
  });
}

}  // namespace mdla
