// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the core floor: elementwise operations, reductions, normalisation, dispatch.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dispatch.hpp"
#include "ndarray_views.hpp"
#include "probes.hpp"
#include "reduce.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

template <class R>
void bind_elementwise(const std::string& name, out_array<R> out,
                      std::vector<in_array<R>> operands) {
  const planes_view<R> o = view_of<R>(out, "out");
  std::vector<planes_view<R>> views;
  for (const auto& a : operands) {
    views.push_back(view_of<R>(a, name.c_str()));
    require_shape(views.back(), o.shape, name.c_str());
    if (views.back().limbs != o.limbs && views.back().limbs != 1)
      throw nb::value_error("elementwise: operands need as many limbs as the result, or one");
  }
  nb::gil_scoped_release release;
  elementwise<R>(name, o, std::move(views));
}

template <class R>
void bind_compare(nb::ndarray<int8_t, nb::numpy, nb::device::cpu, nb::c_contig> sign, in_array<R> a,
                  in_array<R> b) {
  const planes_view<R> x = view_of<R>(a, "compare"), y = view_of<R>(b, "compare");
  require_shape(x, y.shape, "compare");
  if (x.parts != 1 || y.parts != 1 || (long long)sign.size() != x.size())
    throw nb::value_error("compare: real operands and a result of their size are needed");
  nb::gil_scoped_release release;
  compare_signs<R>((signed char*)sign.data(), x, y);
}

template <class R>
void check_reduction(const planes_view<R>& out, const planes_view<R>& a, const char* name) {
  if (a.shape.size() != 2 || out.shape.size() != 1 || out.shape[0] != a.shape[0])
    throw nb::value_error(
        (std::string(name) + ": operands (c, N, M, K) and a result (c, N, M) are needed").c_str());
  if (out.parts < a.parts || out.limbs < a.limbs)
    throw nb::value_error((std::string(name) + ": the result is too narrow").c_str());
}

template <class R>
void bind_sum(out_array<R> out, in_array<R> a) {
  const planes_view<R> o = view_of<R>(out, "sum"), x = view_of<R>(a, "sum");
  check_reduction(o, x, "sum");
  if (o.parts != x.parts) throw nb::value_error("sum: parts of operand and result differ");
  nb::gil_scoped_release release;
  sum<R>(o, x);
}

template <class R>
void bind_dot(out_array<R> out, in_array<R> a, in_array<R> b) {
  const planes_view<R> o = view_of<R>(out, "dot"), x = view_of<R>(a, "dot"),
                       y = view_of<R>(b, "dot");
  check_reduction(o, x, "dot");
  check_reduction(o, y, "dot");
  require_shape(x, y.shape, "dot");
  if (o.parts != std::max(x.parts, y.parts))
    throw nb::value_error("dot: parts of operands and result differ");
  nb::gil_scoped_release release;
  dot<R>(o, x, y);
}

template <class R>
void bind_normalize(out_array<R> out, in_array<R> a) {
  const planes_view<R> o = view_of<R>(out, "normalize"), x = view_of<R>(a, "normalize");
  require_shape(x, o.shape, "normalize");
  if (o.parts != x.parts) throw nb::value_error("normalize: parts of operand and result differ");
  nb::gil_scoped_release release;
  normalize<R>(o, x);
}

template <class R>
void bind_for(nb::module_& m) {
  m.def("elementwise", &bind_elementwise<R>, nb::arg("name"), nb::arg("out").noconvert(),
        nb::arg("operands").noconvert());
  m.def("compare_signs", &bind_compare<R>, nb::arg("sign").noconvert(), nb::arg("a").noconvert(),
        nb::arg("b").noconvert());
  m.def("sum", &bind_sum<R>, nb::arg("out").noconvert(), nb::arg("a").noconvert());
  m.def("dot", &bind_dot<R>, nb::arg("out").noconvert(), nb::arg("a").noconvert(),
        nb::arg("b").noconvert());
  m.def("normalize", &bind_normalize<R>, nb::arg("out").noconvert(), nb::arg("a").noconvert());
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
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const bad_operands& e) {
          PyErr_SetString(PyExc_ValueError, e.text.c_str());
        }
      });
  bind_for<double>(m);
  bind_for<float>(m);
  m.def("get_num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads, nb::arg("n"));
  m.def("level", [] { return std::string(level_name(active_level())); });
  m.def("levels", [] {
    std::vector<std::string> names;
    for (int i = 0; i <= best_level(); ++i) names.push_back(level_name(i));
    return names;
  });
  m.def("set_level", &set_level, nb::arg("name"));
  m.def("cpu_features", &features);
  m.def("probe", [](const std::string& lane) { return probe(lane.c_str()); }, nb::arg("lane"));
  m.attr("tree_version") = tree_version;
}

}  // namespace mdla
