// SPDX-License-Identifier: BSD-3-Clause
#include "block.hpp"

#include "panel.hpp"
#include "products.hpp"
#include "triangular.hpp"

namespace mdla {
namespace {

using namespace linalg;

void factor(const matrix& v, const matrix& t, const matrix& a, size leaf) {
  const size w = a.columns;
  if (w <= leaf) {
    qr_panel(&v, &t, a, w);
    if (w > 1) compact_form(t, product(v, adjoint, v).view());
    return;
  }
  size half = leaf;
  while (2 * half < w) half *= 2;
  const size rest = w - half;
  const matrix v1 = v.block(0, 0, v.rows, half), v2 = v.from(half, half);
  const matrix t1 = t.block(0, 0, half, half), t2 = t.from(half, half);
  factor(v1, t1, a.block(0, 0, a.rows, half), leaf);
  {
    const matrix right = a.from(0, half);
    const product inner(v1, adjoint, right);
    subtract_in_place(right, product(v1, none, product(t1, adjoint, inner.view()).view()).view());
  }
  factor(v2, t2, a.from(half, half), leaf);
  // (I - V1 T1 V1^H)(I - V2 T2 V2^H) = I - V T V^H
  const product inner(v1.from(half, 0), adjoint, v2);
  negate(t.block(0, half, half, rest),
         product(t1, none, product(inner.view(), none, t2).view()).view());
}

}  // namespace

void qr_block(const matrix& v, const matrix& t, const matrix& a, size leaf) {
  factor(v, t, a, leaf);
}

}  // namespace mdla
