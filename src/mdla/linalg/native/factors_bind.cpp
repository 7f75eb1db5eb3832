// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the leaves of elimination: LU, with pivoting or with signs, and Cholesky.
#include <nanobind/stl/vector.h>

#include <vector>

#include "cholesky.hpp"
#include "condition.hpp"
#include "lu.hpp"
#include "ndarray_views.hpp"
#include "signed_lu.hpp"
#include "triangular.hpp"

namespace mdla {
namespace {

using view = planes_view<double>;

view matrix_of(const buffer& b, const char* name) {
  const view v = view_of<double>(b, name);
  if (v.shape.size() != 2) bad_argument(name, "a matrix is needed");
  return v;
}

view square_of(const buffer& b, const char* name) {
  const view v = matrix_of(b, name);
  require_shape(v, {v.shape[0], v.shape[0]}, name);
  return v;
}

std::vector<long long> bind_lu_block(nb::handle a, long long leaf) {
  const char* name = "lu_block";
  const buffer ab(a, true, name);
  const view x = matrix_of(ab, name);
  if (x.shape[0] < x.shape[1] || leaf < 1)
    bad_argument(name, "at least as many rows as columns are needed, and leaf >= 1");
  if (x.shape[1] > 1 && x.strides[1] != 1) bad_argument(name, "rows must be contiguous");
  std::vector<long long> pivots;
  nb::gil_scoped_release release;
  lu_block(pivots, x, leaf);
  return pivots;
}

long long bind_cholesky_leaf(nb::handle a) {
  const char* name = "cholesky_leaf";
  const buffer ab(a, true, name);
  const view x = square_of(ab, name);
  nb::gil_scoped_release release;
  return cholesky_leaf(x);
}

std::vector<long long> bind_signed_lu_leaf(nb::handle a) {
  const char* name = "signed_lu_leaf";
  const buffer ab(a, true, name);
  const view x = square_of(ab, name);
  std::vector<long long> signs;
  nb::gil_scoped_release release;
  signed_lu_leaf(signs, x);
  return signs;
}

void bind_substitute_block(nb::handle t, nb::handle b, bool lower, bool unit) {
  const char* name = "substitute_block";
  const buffer tb(t, false, name), bb(b, true, name);
  const view x = square_of(tb, name), y = matrix_of(bb, name);
  if (y.shape[0] != x.shape[0] || x.parts != y.parts || x.limbs != y.limbs)
    bad_argument(name, "operands do not match");
  if (y.shape[1] > 1 && y.strides[1] != 1) bad_argument(name, "rows must be contiguous");
  if (y.size() == 0) return;
  nb::gil_scoped_release release;
  substitute_block(x, y, {lower, unit});
}

// Rows i and pivots[i] change places for each i in turn.
void bind_exchange_rows(nb::handle a, const std::vector<long long>& pivots) {
  const char* name = "exchange_rows";
  const buffer ab(a, true, name);
  const view x = matrix_of(ab, name);
  if (x.shape[1] > 1 && x.strides[1] != 1) bad_argument(name, "rows must be contiguous");
  if ((long long)pivots.size() > x.shape[0]) bad_argument(name, "there are more pivots than rows");
  for (long long p : pivots)
    if (p < 0 || p >= x.shape[0]) bad_argument(name, "a pivot is no row");
  nb::gil_scoped_release release;
  exchange_rows(x, pivots);
}

double bind_reciprocal_condition_lu(nb::handle factors, double norm) {
  const char* name = "reciprocal_condition_lu";
  const buffer fb(factors, false, name);
  const view x = square_of(fb, name);
  nb::gil_scoped_release release;
  return reciprocal_condition_lu(x, norm);
}

}  // namespace

void bind_factors(nb::module_& m) {
  m.def("lu_block", &bind_lu_block, nb::arg("a"), nb::arg("leaf"));
  m.def("exchange_rows", &bind_exchange_rows, nb::arg("a"), nb::arg("pivots"));
  m.def("substitute_block", &bind_substitute_block, nb::arg("t"), nb::arg("b"), nb::arg("lower"),
        nb::arg("unit"));
  m.def("cholesky_leaf", &bind_cholesky_leaf, nb::arg("a"));
  m.def("signed_lu_leaf", &bind_signed_lu_leaf, nb::arg("a"));
  m.def("reciprocal_condition_lu", &bind_reciprocal_condition_lu, nb::arg("factors"),
        nb::arg("norm"));
}

}  // namespace mdla
