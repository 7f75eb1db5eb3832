// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the poly floor.
#include "ndarray_views.hpp"
#include "sweep.hpp"

namespace mdla {
namespace {

using view = planes_view<double>;

view operand_of(const buffer& b, int ndim, const char* name) {
  const view v = view_of<double>(b, name);
  if (v.shape.size() != ndim) bad_argument(name, "the operand has the wrong number of axes");
  return v;
}

void bind_sweep(nb::handle values, nb::handle derivatives, nb::handle x, nb::handle constants,
                nb::handle steps, long long slots) {
  const char* name = "sweep";
  const buffer vb(values, true, name), db(derivatives, true, name), xb(x, false, name),
      cb(constants, false, name), sb(steps, false, name);
  const view to = operand_of(vb, 2, name), to_derivatives = operand_of(db, 2, name),
             from = operand_of(xb, 2, name), k = operand_of(cb, 1, name);
  for (const view* v : {&to, &to_derivatives})
    if (v->shape[0] != from.shape[0] || v->parts != from.parts || v->limbs != from.limbs)
      bad_argument(name, "results and points do not match");
  if (k.limbs != from.limbs || k.parts > from.parts)
    bad_argument(name, "constants and points do not match");
  if (!sb.holds<int>() || !sb.is_contiguous() || sb.ndim() != 2 || sb.shape(1) != 4)
    bad_argument(name, "the program must be contiguous rows of four int32");
  const sweep_program program{sb.data<int>(), sb.shape(0), slots};
  const sweep_sizes sizes{from.shape[1], k.shape[0], to.shape[1] + to_derivatives.shape[1],
                          from.parts == 2, k.parts == 2};
  if (const char* flaw = flaw_of(program, sizes)) bad_argument(name, flaw);
  if (from.shape[0] == 0) return;
  nb::gil_scoped_release release;
  sweep(to, to_derivatives, from, k, program);
}

}  // namespace

void bind_poly(nb::module_& m) {
  m.def("sweep", &bind_sweep, nb::arg("values"), nb::arg("derivatives"), nb::arg("x"),
        nb::arg("constants"), nb::arg("steps"), nb::arg("slots"));
}

}  // namespace mdla
