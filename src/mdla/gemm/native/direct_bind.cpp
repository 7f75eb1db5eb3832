// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the direct matrix product.
#include <nanobind/stl/string.h>

#include <vector>

#include "direct.hpp"
#include "ndarray_views.hpp"

namespace mdla {
namespace {

constexpr char what[] = "direct product";

matrix_batch matrices(const buffer& a) {
  if (!a.holds<double>() || a.ndim() != 4)
    bad_argument(what, "float64 planes (N, batch, rows, columns) are needed");
  return {a.data<double>(), a.stride(0), a.stride(1), a.stride(2), a.stride(3)};
}

product_shape shape_of(const buffer& a, const buffer& b) {
  if (a.shape(0) != b.shape(0) || a.shape(1) != b.shape(1) || a.shape(3) != b.shape(2))
    bad_argument(what, "operands (N, batch, m, k) and (N, batch, k, n) are needed");
  const long long n = a.shape(0);
  if (n > max_limbs || !active_direct_ops().integer_finish[n])
    bad_argument(what, "there is no kernel for this number of limbs");
  return {(int)n, a.shape(1), a.shape(2), a.shape(3), b.shape(3)};
}

bool interrupt_pending() {
  nb::gil_scoped_acquire hold;
  return PyErr_CheckSignals() != 0;
}

void matmul_direct(nb::handle out, nb::handle a, nb::handle b, const std::string& kernel,
                   int digits) {
  const buffer o(out, true, what), p(a, false, what), q(b, false, what);
  const matrix_batch x = matrices(p), y = matrices(q), z = matrices(o);
  const product_shape shape = shape_of(p, q);
  if (!o.is_contiguous() || o.shape(0) != shape.limbs || o.shape(1) != shape.batch ||
      o.shape(2) != shape.rows || o.shape(3) != shape.columns)
    bad_argument(what, "the result must be C-contiguous of shape (N, batch, m, n)");
  const bool integer = kernel == "integer", mixed = kernel == "mixed";
  if (!integer && !mixed && kernel != "floating")
    bad_argument(what, "kernels are 'integer', 'mixed' and 'floating'");
  if (mixed && shape.limbs == 1) bad_argument(what, "the mixed kernel needs two limbs or more");
  if (integer && (digits <= shape.limbs || digits > max_digits))
    bad_argument(what, "the number of digits must be above N and at most 24");
  if (o.size() == 0) return;
  double* to = const_cast<double*>(z.p);
  const direct_product task{{to, z.limb, z.batch, z.row, z.column}, x, y, shape};
  bool finished = true;
  {
    nb::gil_scoped_release release;
    if (shape.inner == 0) {
      std::memset(to, 0, (std::size_t)o.size() * sizeof *to);
    } else if (integer) {
      finished = integer_product(task, digits, &interrupt_pending);
    } else if (mixed) {
      finished = mixed_product(task, &interrupt_pending);
    } else {
      finished = floating_product(task, &interrupt_pending);
    }
  }
  if (!finished) throw nb::python_error();
}

nb::list spans(nb::handle a, nb::handle b, long long enough) {
  const buffer p(a, false, what), q(b, false, what);
  const matrix_batch x = matrices(p), y = matrices(q);
  const product_shape shape = shape_of(p, q);
  std::vector<long long> found((std::size_t)shape.batch);
  {
    nb::gil_scoped_release release;
    exponent_spans(found.data(), x, y, shape, enough);
  }
  nb::list result;
  for (const long long s : found) result.append(s);
  return result;
}

nb::list suffices(nb::handle a, nb::handle b, long long promised) {
  const buffer p(a, false, what), q(b, false, what);
  const matrix_batch x = matrices(p), y = matrices(q);
  const product_shape shape = shape_of(p, q);
  std::vector<char> found((std::size_t)shape.batch);
  if (shape.limbs > 1 && shape.inner > 0 && promised > 0) {
    nb::gil_scoped_release release;
    mixed_suffices(found.data(), x, y, shape, promised);
  }
  nb::list result;
  for (const char yes : found) result.append((bool)yes);
  return result;
}

}  // namespace

void bind_direct(nb::module_& m) {
  m.def("matmul_direct", &matmul_direct, nb::arg("out"), nb::arg("a"), nb::arg("b"),
        nb::arg("kernel"), nb::arg("digits"));
  m.def("exponent_span", &spans, nb::arg("a"), nb::arg("b"), nb::arg("enough"));
  m.def("mixed_suffices", &suffices, nb::arg("a"), nb::arg("b"), nb::arg("promised"));
  m.def("digits_for", &digits_for, nb::arg("limbs"), nb::arg("span"));
  m.attr("max_digits") = max_digits;
  m.attr("quick_span") = quick_span;
}

}  // namespace mdla
