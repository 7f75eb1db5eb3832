// SPDX-License-Identifier: BSD-3-Clause
#include "block.hpp"

#include "direct.hpp"
#include "panel.hpp"
#include "triangular.hpp"

namespace mdla {
namespace {

using linalg::field;
using linalg::matrix;
using linalg::number_memory;
using linalg::size;

// A matrix of its own, row by row.
class matrix_memory {
 public:
  matrix_memory(int parts, int limbs, size rows, size columns)
      : memory_(parts * limbs * rows * columns) {
    view_.p = memory_.data();
    view_.parts = parts;
    view_.limbs = limbs;
    view_.limb = rows * columns;
    view_.part = limbs * view_.limb;
    view_.rows = rows;
    view_.columns = columns;
    view_.row = columns;
    view_.column = 1;
  }
  const matrix& view() const { return view_; }

 private:
  number_memory memory_;
  matrix view_;
};

matrix transposed(matrix a) {
  std::swap(a.rows, a.columns);
  std::swap(a.row, a.column);
  return a;
}

matrix part_of(matrix a, int part) {
  a.p += part * a.part;
  a.parts = 1;
  return a;
}

// out = a b, real. The digits follow from the exponent span as in mdla.gemm.direct.
void real_product(const matrix& out, const matrix& a, const matrix& b) {
  const direct_product task{{out.p, out.limb, 0, out.row, out.column},
                            {a.p, a.limb, 0, a.row, a.column},
                            {b.p, b.limb, 0, b.row, b.column},
                            {out.limbs, 1, a.rows, a.columns, b.columns}};
  if (out.limbs > 1) {
    const long long digits = integer_digits(task.a, task.b, task.shape);
    if (digits <= max_digits) {
      integer_product(task, (int)digits, nullptr);
      return;
    }
  }
  floating_product(task, nullptr);
}

template <class F>
void transfer(const matrix& to, const matrix& from, F f) {
  for (int c = 0; c < to.parts; ++c)
    for (int k = 0; k < to.limbs; ++k)
      for (size i = 0; i < to.rows; ++i)
        for (size j = 0; j < to.columns; ++j)
          to.at(i, j)[c * to.part + k * to.limb] =
              f(from.at(i, j)[c * from.part + k * from.limb], k);
}
void copy(const matrix& to, const matrix& from) {
  transfer(to, from, [](double x, int) { return x; });
}
void negate(const matrix& to, const matrix& from) { transfer(to, from, &field::negative); }

enum operation { none, adjoint };

// out = op(a) op(b); every part of out must be contiguous if the numbers are complex.
void multiply(const matrix& out, const matrix& a, operation op_a, const matrix& b, operation op_b) {
  const matrix x = op_a == adjoint ? transposed(a) : a, y = op_b == adjoint ? transposed(b) : b;
  if (out.parts == 1) return real_product(out, x, y);
  const field f(1, a.limbs);
  const size n = out.rows * out.columns;
  const matrix_memory memory(1, a.limbs, out.rows, out.columns);
  const matrix other = memory.view(), re = part_of(out, 0), im = part_of(out, 1);
  const auto combine = [&](const matrix& to, bool minus) {
    const linalg::numbers z{to.p, to.limb, 0}, w{other.p, other.limb, 0};
    minus ? f.sub(n, z, z, w) : f.add(n, z, z, w);
  };
  real_product(re, part_of(x, 0), part_of(y, 0));
  real_product(other, part_of(x, 1), part_of(y, 1));
  combine(re, op_a == op_b);
  // im = +-x0 y1 +- x1 y0
  const bool first_minus = op_b == adjoint, second_minus = op_a == adjoint;
  real_product(im, part_of(x, 0), part_of(y, 1));
  real_product(other, part_of(x, 1), part_of(y, 0));
  combine(im, first_minus != second_minus);
  if (first_minus) negate(im, im);
}

// The product in memory of its own.
class product {
 public:
  product(const matrix& a, operation op_a, const matrix& b)
      : out_(a.parts, a.limbs, op_a == adjoint ? a.columns : a.rows, b.columns) {
    multiply(out_.view(), a, op_a, b, none);
  }
  const matrix& view() const { return out_.view(); }

 private:
  matrix_memory out_;
};

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

void qr_block(const matrix& v, const matrix& u, const matrix& tau, const matrix& a, size leaf) {
  const matrix_memory t(a.parts, a.limbs, a.columns, a.columns);
  factor(v, t.view(), a, leaf);
  multiply(u, v, none, t.view(), adjoint);
  matrix diagonal = t.view();
  diagonal.rows = 1;
  diagonal.column += diagonal.row;
  copy(tau, diagonal);
}

}  // namespace mdla
