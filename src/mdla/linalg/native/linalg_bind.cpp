// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the linalg floor: leaves of the blocked algorithms, and batches of small problems.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "batched.hpp"
#include "block.hpp"
#include "condition.hpp"
#include "ndarray_views.hpp"
#include "panel.hpp"
#include "triangular.hpp"

namespace mdla {
namespace {

using view = planes_view<double>;

// Shape (batch..., rows, columns); parts and limbs as in `like`.
view checked(const buffer& b, const axes& shape, const view& like, const char* name) {
  const view v = view_of<double>(b, name);
  require_shape(v, shape, name);
  if (v.parts != like.parts || v.limbs != like.limbs)
    bad_argument(name, "all operands need the same parts and limbs");
  return v;
}

view operand_of(const buffer& b, int ndim, const char* name) {
  const view v = view_of<double>(b, name);
  if (v.shape.size() != ndim) bad_argument(name, "the operand has the wrong number of axes");
  return v;
}

void bind_qr_panel(nb::handle a, long long k) {
  const char* name = "qr_panel";
  const buffer ab(a, true, name);
  const view x = operand_of(ab, 2, name);
  if (k < 0 || k > std::min(x.shape[0], x.shape[1])) bad_argument(name, "too many reflectors");
  nb::gil_scoped_release release;
  qr_panel(nullptr, nullptr, x, k);
}

void bind_qr_block(nb::handle v, nb::handle t, nb::handle a, long long leaf) {
  const char* name = "qr_block";
  const buffer ab(a, true, name), vb(v, true, name), tb(t, true, name);
  const view x = operand_of(ab, 2, name);
  const long long m = x.shape[0], w = x.shape[1];
  if (m < w || leaf < 1) bad_argument(name, "at least as many rows as columns are needed");
  const view vv = checked(vb, {m, w}, x, name), tv = checked(tb, {w, w}, x, name);
  if (w == 0) return;
  if (w > 1 && x.strides[1] != 1) bad_argument(name, "rows must be contiguous");
  nb::gil_scoped_release release;
  qr_block(vv, tv, x, leaf);
}

double bind_reciprocal_condition(nb::handle r) {
  const buffer rb(r, false, "reciprocal_condition");
  const view x = operand_of(rb, 2, "reciprocal_condition");
  require_shape(x, {x.shape[0], x.shape[0]}, "reciprocal_condition");
  nb::gil_scoped_release release;
  return reciprocal_condition(x);
}

std::pair<long long, std::vector<long long>> bind_pivot_order(nb::handle a, double stop,
                                                              long long most) {
  const buffer ab(a, false, "pivot_order");
  const view x = operand_of(ab, 2, "pivot_order");
  if (most < 0) bad_argument("pivot_order", "the number of columns is negative");
  std::vector<long long> order;
  nb::gil_scoped_release release;
  const long long taken = pivot_order(order, x, stop, most);
  return {taken, std::move(order)};
}

void bind_substitute(nb::handle t, nb::handle b, bool lower, bool unit) {
  const char* name = "substitute";
  const buffer tb(t, false, name), bb(b, true, name);
  const view x = view_of<double>(tb, name), y = view_of<double>(bb, name);
  const int d = x.shape.size();
  if ((d != 2 && d != 3) || y.shape.size() != d)
    bad_argument(name, "matrices, or stacks of matrices, are needed");
  if (x.shape[d - 1] != x.shape[d - 2] || y.shape[d - 2] != x.shape[d - 1] ||
      (d == 3 && x.shape[0] != y.shape[0]) || x.parts != y.parts || x.limbs != y.limbs)
    bad_argument(name, "operands do not match");
  nb::gil_scoped_release release;
  if (d == 2) {
    substitute(x, y, {lower, unit});
  } else {
    batched_substitute(x, y, {lower, unit});
  }
}

void bind_subtract(nb::handle c, nb::handle p) {
  const char* name = "subtract_in_place";
  const buffer cb(c, true, name), pb(p, false, name);
  const view x = operand_of(cb, 2, name);
  const view y = checked(pb, x.shape, x, name);
  if (x.size() == 0) return;
  if ((x.shape[1] > 1 && x.strides[1] != 1) || (y.shape[1] > 1 && y.strides[1] != 1))
    bad_argument(name, "rows must be contiguous");
  nb::gil_scoped_release release;
  subtract_in_place(x, y);
}

void bind_batched_qr(nb::handle a, nb::handle r, nb::handle q, nb::handle h, nb::handle tau) {
  const char* name = "batched_qr";
  const buffer ab(a, false, name);
  const view x = operand_of(ab, 3, name);
  const long long batch = x.shape[0], m = x.shape[1], n = x.shape[2], k = std::min(m, n);
  std::optional<buffer> buffers[4];
  view views[4];
  const nb::handle given[4] = {r, q, h, tau};
  for (int i = 0; i < 4; ++i) {
    if (given[i].is_none()) continue;
    buffers[i].emplace(given[i], true, name);
    views[i] = view_of<double>(*buffers[i], name);
  }
  const auto rows_of = [&](int i) { return views[i].shape.size() == 3 ? views[i].shape[1] : -1; };
  qr_results out;
  if (buffers[0]) {
    views[0] = checked(*buffers[0], {batch, rows_of(0) == m ? m : k, n}, x, name);
    out.r = &views[0];
  }
  if (buffers[1]) {
    const bool complete = views[1].shape.size() == 3 && views[1].shape[2] == m;
    views[1] = checked(*buffers[1], {batch, m, complete ? m : k}, x, name);
    out.q = &views[1];
  }
  if (buffers[2]) {
    views[2] = checked(*buffers[2], {batch, m, n}, x, name);
    out.h = &views[2];
  }
  if (buffers[3]) {
    views[3] = checked(*buffers[3], {batch, k}, x, name);
    out.tau = &views[3];
  }
  if (batch == 0) return;
  nb::gil_scoped_release release;
  batched_qr(x, out);
}

void bind_batched_solve(nb::handle x, nb::handle rcond, nb::handle a, nb::handle b) {
  const char* name = "batched_solve";
  const buffer xb(x, true, name), cb(rcond, true, name), ab(a, false, name), bb(b, false, name);
  const view m = operand_of(ab, 3, name), right = operand_of(bb, 3, name);
  checked(ab, {m.shape[0], m.shape[1], m.shape[1]}, m, name);
  checked(bb, {m.shape[0], m.shape[1], right.shape[2]}, m, name);
  const view to = checked(xb, right.shape, m, name);
  if (!cb.holds<double>() || !cb.is_contiguous() || cb.size() != m.shape[0])
    bad_argument(name, "rcond must be a contiguous float64 vector as long as the batch");
  if (m.shape[0] == 0) return;
  nb::gil_scoped_release release;
  batched_solve(to, cb.data<double>(), m, right);
}

// A stack of square matrices, and a contiguous vector of integers for each or of one for each.
view squares_of(const buffer& a, const buffer& integers, bool is_one, const char* name) {
  const view m = operand_of(a, 3, name);
  const long long n = m.shape[1];
  require_shape(m, {m.shape[0], n, n}, name);
  if (!integers.holds<int>() || !integers.is_contiguous() ||
      integers.size() != m.shape[0] * (is_one ? 1 : n))
    bad_argument(name, "the integers must be contiguous int32 and as many as needed");
  return m;
}

void bind_batched_lu(nb::handle lu, nb::handle pivots, nb::handle a) {
  const char* name = "batched_lu";
  const buffer lb(lu, true, name), pb(pivots, true, name), ab(a, false, name);
  const view m = squares_of(ab, pb, false, name), to = checked(lb, m.shape, m, name);
  if (m.size() == 0) return;
  nb::gil_scoped_release release;
  batched_lu(to, pb.data<int>(), m);
}

void bind_batched_cholesky(nb::handle l, nb::handle failed, nb::handle a) {
  const char* name = "batched_cholesky";
  const buffer lb(l, true, name), fb(failed, true, name), ab(a, false, name);
  const view m = squares_of(ab, fb, true, name), to = checked(lb, m.shape, m, name);
  if (m.size() == 0) return;
  nb::gil_scoped_release release;
  batched_cholesky(to, fb.data<int>(), m);
}

void bind_batched_lstsq(nb::handle x, nb::handle rest, nb::handle rcond, nb::handle a,
                        nb::handle b) {
  const char* name = "batched_lstsq";
  const buffer xb(x, true, name), sb(rest, true, name), cb(rcond, true, name), ab(a, false, name),
      bb(b, false, name);
  const view left = operand_of(ab, 3, name), right = operand_of(bb, 3, name);
  const long long batch = left.shape[0], m = left.shape[1], n = left.shape[2], k = right.shape[2];
  if (m < n) bad_argument(name, "at least as many rows as columns are needed");
  checked(bb, {batch, m, k}, left, name);
  const view to = checked(xb, {batch, n, k}, left, name),
             others = checked(sb, {batch, m - n, k}, left, name);
  if (!cb.holds<double>() || !cb.is_contiguous() || cb.size() != batch)
    bad_argument(name, "rcond must be a contiguous float64 vector as long as the batch");
  if (batch == 0) return;
  nb::gil_scoped_release release;
  batched_lstsq(to, others, cb.data<double>(), left, right);
}

}  // namespace

void bind_linalg(nb::module_& m) {
  m.def("qr_panel", &bind_qr_panel, nb::arg("a"), nb::arg("k"));
  m.def("qr_block", &bind_qr_block, nb::arg("v"), nb::arg("t"), nb::arg("a"), nb::arg("leaf"));
  m.def("reciprocal_condition", &bind_reciprocal_condition, nb::arg("r"));
  m.def("pivot_order", &bind_pivot_order, nb::arg("a"), nb::arg("stop"), nb::arg("most"));
  m.def("substitute", &bind_substitute, nb::arg("t"), nb::arg("b"), nb::arg("lower"),
        nb::arg("unit"));
  m.def("subtract_in_place", &bind_subtract, nb::arg("c"), nb::arg("p"));
  m.def("batched_qr", &bind_batched_qr, nb::arg("a"), nb::arg("r").none(), nb::arg("q").none(),
        nb::arg("h").none(), nb::arg("tau").none());
  m.def("batched_solve", &bind_batched_solve, nb::arg("x"), nb::arg("rcond"), nb::arg("a"),
        nb::arg("b"));
  m.def("batched_lu", &bind_batched_lu, nb::arg("lu"), nb::arg("pivots"), nb::arg("a"));
  m.def("batched_cholesky", &bind_batched_cholesky, nb::arg("l"), nb::arg("failed"), nb::arg("a"));
  m.def("batched_lstsq", &bind_batched_lstsq, nb::arg("x"), nb::arg("rest"), nb::arg("rcond"),
        nb::arg("a"), nb::arg("b"));
}

}  // namespace mdla
