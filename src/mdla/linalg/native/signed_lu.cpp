// SPDX-License-Identifier: BSD-3-Clause
#include "signed_lu.hpp"

namespace mdla {

using namespace linalg;

namespace {

// Between the upper triangle of a and vectors at blocks of memory of their own, or all of it.
template <class F>
void transfer(const field& f, double* memory, size np, const matrix& a, bool upper, F move) {
  for (size i = 0; i < a.rows; ++i)
    for (int c = 0; c < f.parts; ++c)
      for (int k = 0; k < f.limbs; ++k) {
        double* here = memory + f.room(np) * i + (c * f.limbs + k) * np;
        double* there = a.at(i, 0) + c * a.part + k * a.limb;
        for (size j = upper ? i : 0; j < a.columns; ++j) move(here[j], there[j * a.column]);
      }
}

}  // namespace

void signed_lu_leaf(std::vector<long long>& signs, const matrix& a) {
  const field f(a.parts, a.limbs);
  const size n = a.rows, np = padded(n);
  const number_memory memory(f.room(np) * n), scalar_memory(f.room(3) + f.limbs);
  const auto row = [&](size i) { return f.over(memory.data() + f.room(np) * i, np); };
  const auto scalar = [&](int i) { return f.over(scalar_memory.data() + f.room(i), 1); };
  const numbers one = scalar(0), inverse = scalar(1), factor = scalar(2);
  const result<double> square{scalar_memory.data() + f.room(3), 1};
  one.p[0] = 1;
  transfer(f, memory.data(), np, a, false, [](double& here, double& there) { here = there; });
  signs.resize((std::size_t)n);
  for (size j = 0; j < n; ++j) {
    const numbers x = row(j), pivot = x.at(j);
    const bool negative = pivot.p[0] < 0;
    signs[(std::size_t)j] = negative ? 1 : -1;
    if (negative) {
      f.ops.sub(1, pivot.re(), pivot.re(), one.re());
    } else {
      f.ops.add(1, pivot.re(), pivot.re(), one.re());
    }
    // The real part of the pivot is 1 at least: its square is in range.
    if (f.parts == 1) {
      f.ops.div(1, inverse.re(), one.re(), pivot.re());
    } else {
      f.norm(1, square, x.repeat(j), true);
      f.conj(1, inverse, x.repeat(j));
      f.div_real(1, inverse, inverse, square);
    }
    // Rows from the block of column j + 1 on; what lies before is not used again.
    const size s = (j + 1) / lane_block * lane_block;
    for (size i = j + 1; i < n; ++i) {
      f.mul(1, factor, row(i).repeat(j), inverse);
      for (int c = 0; c < f.parts; ++c)
        for (int k = 0; k < f.limbs; ++k)
          a.at(i, j)[c * a.part + k * a.limb] = factor.p[c * factor.part + k * factor.plane];
      f.sub_mul(np - s, row(i).at(s), x.at(s), factor.repeat(0));
    }
  }
  transfer(f, memory.data(), np, a, true, [](double& here, double& there) { there = here; });
}

}  // namespace mdla
