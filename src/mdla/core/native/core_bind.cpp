// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the core floor: elementwise operations, reductions, normalisation, dispatch.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "dispatch.hpp"
#include "ndarray_views.hpp"
#include "probes.hpp"
#include "reduce.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

// Calls f with a value of the element type that the buffer holds.
template <class F>
void for_type_of(const buffer& b, F f) {
  if (b.holds<double>()) {
    f(double());
  } else if (b.holds<float>()) {
    f(float());
  } else {
    throw nb::type_error("planes must be float64 or float32");
  }
}

// With `out` None the result is a new array.
nb::object bind_elementwise(const char* name, nb::object out, nb::args operands) {
  const std::size_t count = operands.size();
  if (count < 1 || count > 3) bad_argument(name, "one to three operands are possible");
  std::optional<buffer> arguments[3];
  int parts = 1, limbs = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const buffer& a = arguments[i].emplace(operands[i], false, name);
    if (a.ndim() < 2) bad_argument(name, "planes of shape (1 or 2, limbs, ...) are needed");
    parts = std::max<int>(parts, (int)a.shape(0));
    limbs = std::max<int>(limbs, (int)a.shape(1));
  }
  for_type_of(*arguments[0], [&](auto r) {
    using R = decltype(r);
    std::vector<planes_view<R>> views;
    views.reserve(3);
    for (std::size_t i = 0; i < count; ++i) {
      views.push_back(view_of<R>(*arguments[i], name));
      require_shape(views.back(), views[0].shape, name);
    }
    if (out.is_none()) {
      const bool real = std::strcmp(name, "abs") == 0;
      out = new_planes(numpy_type<R>, real ? 1 : parts, limbs, views[0].shape);
    }
    const buffer o(out, true, "out");
    const planes_view<R> to = result_view_of<R>(o, "out");
    require_shape(to, views[0].shape, name);
    for (const auto& v : views)
      if (v.limbs != to.limbs && v.limbs != 1)
        bad_argument(name, "operands need as many limbs as the result, or one");
    nb::gil_scoped_release release;
    elementwise<R>(name, to, std::move(views));
  });
  return out;
}

void bind_compare(nb::handle sign, nb::handle a, nb::handle b) {
  const buffer s(sign, true, "compare"), p(a, false, "compare"), q(b, false, "compare");
  for_type_of(p, [&](auto r) {
    using R = decltype(r);
    const planes_view<R> x = view_of<R>(p, "compare"), y = view_of<R>(q, "compare");
    require_shape(x, y.shape, "compare");
    if (x.parts != 1 || y.parts != 1) bad_argument("compare", "real operands are needed");
    if (!s.holds<signed char>() || !s.is_contiguous() || s.size() != x.size())
      bad_argument("compare", "the result must be contiguous int8 of the operands' size");
    nb::gil_scoped_release release;
    compare_signs<R>(s.data<signed char>(), x, y);
  });
}

template <class R>
void check_reduction(const planes_view<R>& out, const planes_view<R>& a, const char* name) {
  if (a.shape.size() != 2 || out.shape.size() != 1 || out.shape[0] != a.shape[0])
    bad_argument(name, "operands (c, N, M, K) and a result (c, N, M) are needed");
  if (out.parts < a.parts || out.limbs < a.limbs) bad_argument(name, "the result is too narrow");
}

void bind_sum(nb::handle out, nb::handle a) {
  const buffer o(out, true, "sum"), p(a, false, "sum");
  for_type_of(o, [&](auto r) {
    using R = decltype(r);
    const planes_view<R> to = result_view_of<R>(o, "sum"), x = view_of<R>(p, "sum");
    check_reduction(to, x, "sum");
    if (to.parts != x.parts) bad_argument("sum", "parts of operand and result differ");
    nb::gil_scoped_release release;
    sum<R>(to, x);
  });
}

void bind_dot(nb::handle out, nb::handle a, nb::handle b) {
  const buffer o(out, true, "dot"), p(a, false, "dot"), q(b, false, "dot");
  for_type_of(o, [&](auto r) {
    using R = decltype(r);
    const planes_view<R> to = result_view_of<R>(o, "dot");
    const planes_view<R> x = view_of<R>(p, "dot"), y = view_of<R>(q, "dot");
    check_reduction(to, x, "dot");
    check_reduction(to, y, "dot");
    require_shape(x, y.shape, "dot");
    if (to.parts != std::max(x.parts, y.parts))
      bad_argument("dot", "parts of operands and result differ");
    nb::gil_scoped_release release;
    dot<R>(to, x, y);
  });
}

void bind_normalize(nb::handle out, nb::handle a) {
  const buffer o(out, true, "normalize"), p(a, false, "normalize");
  for_type_of(o, [&](auto r) {
    using R = decltype(r);
    const planes_view<R> to = result_view_of<R>(o, "normalize"), x = view_of<R>(p, "normalize");
    require_shape(x, to.shape, "normalize");
    if (to.parts != x.parts) bad_argument("normalize", "parts of operand and result differ");
    nb::gil_scoped_release release;
    normalize<R>(to, x);
  });
}

void set_level(const std::string& name) {
  for (int i = 0; i <= best_level(); ++i)
    if (name == level_name(i)) return set_active_level(i);
  std::string known;
  for (int i = 0; i <= best_level(); ++i) known += std::string(i ? ", " : "") + level_name(i);
  throw nb::value_error(("unknown level '" + name + "'; this machine has: " + known).c_str());
}

nb::dict features() {
  nb::dict d;
  for (const auto& f : cpu_features()) d[f.name] = f.present;
  return d;
}

}  // namespace

void bind_core(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const bad_operands& e) {
      PyErr_SetString(PyExc_ValueError, e.text.c_str());
    }
  });
  m.def("elementwise", &bind_elementwise, nb::arg("name"), nb::arg("out").none(),
        nb::arg("operands"),
        nb::sig("def elementwise(name: str, out: numpy.typing.NDArray[typing.Any] | None, "
                "*operands: numpy.typing.NDArray[typing.Any]) -> "
                "numpy.typing.NDArray[typing.Any]"));
  m.def("compare_signs", &bind_compare, nb::arg("sign"), nb::arg("a"), nb::arg("b"));
  m.def("sum", &bind_sum, nb::arg("out"), nb::arg("a"));
  m.def("dot", &bind_dot, nb::arg("out"), nb::arg("a"), nb::arg("b"));
  m.def("normalize", &bind_normalize, nb::arg("out"), nb::arg("a"));
  m.def("get_num_threads", &num_threads);
  m.def(
      "set_num_threads",
      [](int n) {
        if (n < 1) throw nb::value_error("the number of threads must be at least 1");
        set_num_threads(n);
      },
      nb::arg("n"));
  m.def("level", [] { return std::string(level_name(active_level())); });
  m.def("levels", [] {
    std::vector<std::string> names;
    for (int i = 0; i <= best_level(); ++i) names.push_back(level_name(i));
    return names;
  });
  m.def("set_level", &set_level, nb::arg("name"));
  m.def("cpu_features", &features, nb::sig("def cpu_features() -> dict[str, bool]"));
  m.def("probe", [](const std::string& lane) { return probe(lane.c_str()); }, nb::arg("lane"));
  m.attr("tree_version") = tree_version;
}

}  // namespace mdla
