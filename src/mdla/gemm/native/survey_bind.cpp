// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the operand survey.
#include <cmath>

#include "ndarray_views.hpp"
#include "survey.hpp"

namespace mdla {
namespace {

buffer matrix(nb::handle x, const char* what) {
  const buffer b(x, false, what);
  if (!b.holds<double>() || b.ndim() != 2) bad_argument(what, "float64 matrices are needed");
  return b;
}

buffer exponents(nb::handle e, bool writable, long long lanes, const char* what) {
  const buffer b(e, writable, what);
  if (!b.holds<int>() || b.ndim() != 1 || b.shape(0) != lanes || !b.is_contiguous())
    bad_argument(what, "exponents must be contiguous int32, one for each lane");
  return b;
}

nb::list survey(nb::handle x, nb::handle exponents_out) {
  constexpr char what[] = "survey";
  const buffer p = matrix(x, what);
  const buffer e = exponents(exponents_out, true, p.shape(0), what);
  const operand_side side{p.data<double>(), 0, p.stride(0), p.stride(1), p.shape(0), p.shape(1)};
  capped_sums_of_lane least;
  {
    nb::gil_scoped_release release;
    least = survey_lanes(side, e.data<int>());
  }
  nb::list result;
  for (int c = 0; c < survey_cap_count; ++c) {
    const double units = survey_caps[c] * (1 << survey_bits);
    result.append(~least.of[c] ? (double)least.of[c] / units : HUGE_VAL);
  }
  return result;
}

nb::object spans_of_tiles(nb::handle a, nb::handle b, nb::handle ea, nb::handle eb,
                          long long tile) {
  constexpr char what[] = "tile_spans";
  const buffer p = matrix(a, what), q = matrix(b, what);
  if (p.shape(1) != q.shape(0)) bad_argument(what, "operands (m, k) and (k, n) are needed");
  if (tile < 1 || tile % min_plus_rows)
    bad_argument(what, "the side of a tile must be a positive multiple of 8");
  const long long m = p.shape(0), k = p.shape(1), n = q.shape(1);
  const buffer e = exponents(ea, false, m, what), f = exponents(eb, false, n, what);
  const operand_side rows{p.data<double>(), 0, p.stride(0), p.stride(1), m, k};
  const operand_side columns{q.data<double>(), 0, q.stride(1), q.stride(0), n, k};
  npy_intp tiles[2] = {m / tile + (m % tile != 0), n / tile + (n % tile != 0)};
  PyObject* array = PyArray_SimpleNew(2, tiles, NPY_INT32);
  if (!array) nb::raise_python_error();
  const nb::object result = nb::steal(array);
  int* spans = static_cast<int*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
  bool possible = false;
  {
    nb::gil_scoped_release release;
    possible = tile_spans(spans, rows, columns, e.data<int>(), f.data<int>(), tile);
  }
  if (!possible) bad_argument(what, "exponents must be those of the rows of a and columns of b");
  return result;
}

}  // namespace

void bind_survey(nb::module_& m) {
  m.def("survey", &survey, nb::arg("x"), nb::arg("exponents_out"),
        nb::sig("def survey(x: numpy.typing.NDArray[typing.Any], "
                "exponents_out: numpy.typing.NDArray[typing.Any]) -> list[float]"));
  m.def("tile_spans", &spans_of_tiles, nb::arg("a"), nb::arg("b"), nb::arg("ea"), nb::arg("eb"),
        nb::arg("tile"),
        nb::sig("def tile_spans(a: numpy.typing.NDArray[typing.Any], "
                "b: numpy.typing.NDArray[typing.Any], ea: numpy.typing.NDArray[typing.Any], "
                "eb: numpy.typing.NDArray[typing.Any], tile: int) -> "
                "numpy.typing.NDArray[typing.Any]"));
  nb::list caps;
  for (const double c : survey_caps) caps.append(c);
  m.attr("survey_caps") = nb::tuple(caps);
  m.attr("survey_bits") = survey_bits;
  m.attr("zero_lane") = zero_lane;
  m.attr("special_lane") = special_lane;
}

}  // namespace mdla
