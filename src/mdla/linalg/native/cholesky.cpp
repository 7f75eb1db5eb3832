// SPDX-License-Identifier: BSD-3-Clause
#include "cholesky.hpp"

namespace mdla {

using namespace linalg;

namespace {

// Between the tails a[j, j:] of the rows and vectors at blocks of memory of their own.
template <class F>
void transfer(const field& f, double* memory, size np, const matrix& a, F move) {
  for (size j = 0; j < a.rows; ++j)
    for (int c = 0; c < f.parts; ++c)
      for (int k = 0; k < f.limbs; ++k) {
        double* here = memory + f.room(np) * j + (c * f.limbs + k) * np;
        double* there = a.at(j, 0) + c * a.part + k * a.limb;
        for (size i = j; i < a.columns; ++i) move(here[i], there[i * a.column]);
      }
}

}  // namespace

long long cholesky_leaf(const matrix& a) {
  const field f(a.parts, a.limbs);
  const size n = a.rows, np = padded(n);
  const number_memory memory(f.room(np) * n), scalar_memory(f.room(1));
  const auto row = [&](size j) { return f.over(memory.data() + f.room(np) * j, np); };
  const numbers factor = f.over(scalar_memory.data(), 1);
  const auto clear_imaginary = [&](numbers x) {
    if (f.parts == 2)
      for (int k = 0; k < f.limbs; ++k) x.im().p[k * x.plane] = 0;
  };
  transfer(f, memory.data(), np, a, [](double& here, double& there) { here = there; });
  size j = 0;
  for (; j < n; ++j) {
    const size s = j / lane_block * lane_block, count = np - s;
    const numbers x = row(j);
    clear_imaginary(x.at(j));
    if (!(x.p[j] > 0)) break;
    f.copy(1, factor, x.at(j));
    f.ops.sqrt(1, factor.re(), factor.re());
    f.div_real(count, x.at(s), x.at(s), factor.repeat(0).re());
    f.copy(1, x.at(j), factor);
    for (size i = j + 1; i < n; ++i) {
      // The row from the block of i on; what lies before i is not used.
      const size t = i / lane_block * lane_block;
      f.conj(1, factor, x.repeat(i));
      f.sub_mul(np - t, row(i).at(t), x.at(t), factor.repeat(0));
    }
  }
  transfer(f, memory.data(), np, a, [](double& here, double& there) { there = here; });
  return j;
}

}  // namespace mdla
