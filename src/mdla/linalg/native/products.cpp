// SPDX-License-Identifier: BSD-3-Clause
#include "products.hpp"

#include "direct.hpp"

namespace mdla {
namespace linalg {
namespace {

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
}  // namespace

void copy(const matrix& to, const matrix& from) {
  transfer(to, from, [](double x, int) { return x; });
}
void negate(const matrix& to, const matrix& from) { transfer(to, from, &field::negative); }

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

}  // namespace linalg
}  // namespace mdla
