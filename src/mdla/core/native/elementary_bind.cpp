// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the elementary functions.
#include <nanobind/stl/string.h>

#include "elementary.hpp"
#include "ndarray_views.hpp"

namespace mdla {
namespace {

// The numbers of one table; their count must fit.
std::vector<double> table(const nb::dict& from, const char* key, long long count = -1) {
  if (!from.contains(key)) throw nb::value_error((std::string("no table '") + key + "'").c_str());
  const buffer b(from[key], false, key);
  if (!b.holds<double>() || !b.is_contiguous()) bad_argument(key, "contiguous float64 is needed");
  if (b.size() == 0 || (count >= 0 && b.size() != count)) bad_argument(key, "wrong length");
  return std::vector<double>(b.data<double>(), b.data<double>() + b.size());
}

void bind_tables(int limbs, const nb::dict& constants) {
  if (limbs < 1 || limbs > 16 || !vector_ops_for<double>(limbs))
    bad_argument("define_elementary", "there is no such number of limbs");
  if (elementary_tables_for(limbs)) return;  // another thread may be using them
  elementary_tables t;
  t.limbs = limbs;
  const long long entries = 257, count = entries * limbs;
  t.exp = table(constants, "exp", count);
  t.expm1 = table(constants, "expm1", count);
  t.shift = table(constants, "shift", entries);
  t.log = table(constants, "log", count);
  t.atan = table(constants, "atan", count);
  t.sin = table(constants, "sin", 102 * limbs);
  t.cos = table(constants, "cos", 102 * limbs);
  t.factorials = table(constants, "factorials");
  t.odds = table(constants, "odds");
  const auto digits = [&](const std::vector<double>& numbers) {
    return (long long)(numbers.size() / (std::size_t)limbs) * (limbs + 2);
  };
  t.factorial_digits = table(constants, "factorial_digits", digits(t.factorials));
  t.odd_digits = table(constants, "odd_digits", digits(t.odds));
  t.ln2_high = table(constants, "ln2_high", limbs);
  t.ln2_low = table(constants, "ln2_low", limbs);
  t.ln2 = table(constants, "ln2", limbs);
  t.inverse_ln2 = table(constants, "inverse_ln2", limbs);
  t.log10_2 = table(constants, "log10_2", limbs);
  t.inverse_ln10 = table(constants, "inverse_ln10", limbs);
  t.half_pi = table(constants, "half_pi", limbs);
  t.pi_quarters = table(constants, "pi_quarters", 5 * limbs);
  for (double digit : table(constants, "two_over_pi"))
    t.two_over_pi.push_back((unsigned)(unsigned long long)digit);
  define_elementary_tables(std::move(t));
}

void bind_function(const std::string& name, nb::handle out, const nb::args& operands) {
  if (!is_elementary(name, operands.size()))
    throw nb::value_error(("no elementary function '" + name + "' of " +
                           std::to_string(operands.size()) + " operands")
                              .c_str());
  const buffer o(out, true, "out");
  const planes_view<double> to = result_view_of<double>(o, "out");
  if (to.parts != (name == "sincos" ? 2 : 1))
    bad_argument("out", "the result has the wrong number of parts");
  std::vector<buffer> arguments;
  std::vector<planes_view<double>> views;
  arguments.reserve(2);
  for (nb::handle h : operands) {
    const planes_view<double> v =
        view_of<double>(arguments.emplace_back(h, false, name.c_str()), name.c_str());
    require_shape(v, to.shape, name.c_str());
    if (v.parts != 1) bad_argument(name.c_str(), "real operands are needed");
    if (v.limbs != to.limbs && v.limbs != 1)
      bad_argument(name.c_str(), "operands need as many limbs as the result, or one");
    views.push_back(v);
  }
  nb::gil_scoped_release release;
  elementary(name, to, std::move(views));
}

}  // namespace

void bind_elementary(nb::module_& m) {
  m.def("define_elementary", &bind_tables, nb::arg("limbs"), nb::arg("constants"));
  m.def("elementary", &bind_function, nb::arg("name"), nb::arg("out"), nb::arg("operands"),
        nb::sig("def elementary(name: str, out: numpy.typing.NDArray[typing.Any], "
                "*operands: numpy.typing.NDArray[typing.Any]) -> None"));
}

}  // namespace mdla
