// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the poly floor.
#include "ndarray_views.hpp"
#include "series_sweep.hpp"

namespace mdla {
namespace {

using view = planes_view<double>;

view operand_of(const buffer& b, int ndim, const char* name) {
  const view v = view_of<double>(b, name);
  if (v.shape.size() != ndim) bad_argument(name, "the operand has the wrong number of axes");
  return v;
}

// A program and its operands, checked: points, constants and results of `ndim` axes.
struct sweep_call {
  const buffer vb, db, xb, cb, sb;
  const view values, derivatives, x, constants;
  const sweep_program program;

  sweep_call(const char* name, int ndim, nb::handle values_, nb::handle derivatives_, nb::handle x_,
             nb::handle constants_, nb::handle steps, long long slots)
      : vb(values_, true, name),
        db(derivatives_, true, name),
        xb(x_, false, name),
        cb(constants_, false, name),
        sb(steps, false, name),
        values(operand_of(vb, ndim, name)),
        derivatives(operand_of(db, ndim, name)),
        x(operand_of(xb, ndim, name)),
        constants(operand_of(cb, 1, name)),
        program(program_of(name, sb, slots)) {
    for (const view* v : {&values, &derivatives}) {
      if (v->shape[0] != x.shape[0] || v->parts != x.parts || v->limbs != x.limbs)
        bad_argument(name, "results and points do not match");
      if (v->shape.back() != x.shape.back() && ndim == 3)
        bad_argument(name, "results and points have different numbers of coefficients");
    }
    if (constants.limbs != x.limbs || constants.parts > x.parts)
      bad_argument(name, "constants and points do not match");
    const sweep_sizes sizes{x.shape[1], constants.shape[0], values.shape[1] + derivatives.shape[1],
                            x.parts == 2, constants.parts == 2};
    if (const char* flaw = flaw_of(program, sizes)) bad_argument(name, flaw);
  }

 private:
  static sweep_program program_of(const char* name, const buffer& steps, long long slots) {
    if (!steps.holds<int>() || !steps.is_contiguous() || steps.ndim() != 2 || steps.shape(1) != 4)
      bad_argument(name, "the program must be contiguous rows of four int32");
    return {steps.data<int>(), steps.shape(0), slots};
  }
};

void bind_sweep(nb::handle values, nb::handle derivatives, nb::handle x, nb::handle constants,
                nb::handle steps, long long slots) {
  const sweep_call c("sweep", 2, values, derivatives, x, constants, steps, slots);
  if (c.x.shape[0] == 0) return;
  nb::gil_scoped_release release;
  sweep(c.values, c.derivatives, c.x, c.constants, c.program);
}

void bind_series_sweep(nb::handle values, nb::handle derivatives, nb::handle x,
                       nb::handle constants, nb::handle steps, long long slots) {
  const sweep_call c("series_sweep", 3, values, derivatives, x, constants, steps, slots);
  if (c.x.shape[0] == 0 || c.x.shape[2] == 0) return;
  nb::gil_scoped_release release;
  series_sweep(c.values, c.derivatives, c.x, c.constants, c.program);
}

}  // namespace

void bind_poly(nb::module_& m) {
  m.def("sweep", &bind_sweep, nb::arg("values"), nb::arg("derivatives"), nb::arg("x"),
        nb::arg("constants"), nb::arg("steps"), nb::arg("slots"));
  m.def("series_sweep", &bind_series_sweep, nb::arg("values"), nb::arg("derivatives"), nb::arg("x"),
        nb::arg("constants"), nb::arg("steps"), nb::arg("slots"));
}

}  // namespace mdla
