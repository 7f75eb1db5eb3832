// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the series floor.
#include "convolve.hpp"
#include "ndarray_views.hpp"

namespace mdla {
namespace {

void bind_convolve(nb::handle out, nb::handle a, nb::handle b) {
  const char* name = "series_convolve";
  const buffer ob(out, true, name), ab(a, false, name), bb(b, false, name);
  const planes_view<double> to = view_of<double>(ob, name), x = view_of<double>(ab, name),
                            y = view_of<double>(bb, name);
  if (to.shape.size() == 0) bad_argument(name, "series need an axis of coefficients");
  for (const planes_view<double>* v : {&x, &y}) {
    if (v->shape.size() != to.shape.size())
      bad_argument(name, "factors and product must have as many axes");
    for (int d = 0; d + 1 < to.shape.size(); ++d)
      if (v->shape[d] != to.shape[d]) bad_argument(name, "batches do not match");
    if (v->limbs > to.limbs) bad_argument(name, "the product has fewer limbs than a factor");
  }
  if (to.parts != std::max(x.parts, y.parts))
    bad_argument(name, "the product must have two parts where a factor has, else one");
  nb::gil_scoped_release release;
  convolve(to, x, y);
}

}  // namespace

void bind_series(nb::module_& m) {
  m.def("series_convolve", &bind_convolve, nb::arg("out"), nb::arg("a"), nb::arg("b"));
}

}  // namespace mdla
