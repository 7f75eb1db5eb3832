// SPDX-License-Identifier: BSD-3-Clause
// The direct product of matrices of multiple doubles on the host: blocking, threads, special
// values.
#pragma once

#include "direct_ops.hpp"

namespace mdla {

// A batch of matrices; limb i of entry (r, c) of matrix x lies at
// p[i limb + x batch + r row + c column].
struct matrix_batch {
  const double* p;
  long long limb, batch, row, column;
  operand_side rows(long long x, long long count, long long inner) const {
    return {p + x * batch, limb, row, column, count, inner};
  }
  operand_side columns(long long x, long long count, long long inner) const {
    return {p + x * batch, limb, column, row, count, inner};
  }
};

struct result_batch {
  double* p;
  long long limb, batch, row, column;
  result_tile from(long long x, long long r, long long c) const {
    return {p + x * batch + r * row + c * column, limb, row, column};
  }
};

struct product_shape {
  int limbs;
  long long batch, rows, inner, columns;
};

// out = a b. Both kernels are symmetric in their operands, so `oriented` may exchange them: out^T =
// b^T a^T, where that leaves fewer lanes of the tiles empty.
struct direct_product {
  result_batch out;
  matrix_batch a, b;
  product_shape shape;
  direct_product oriented() const;
};

// Called between blocks on the calling thread; true abandons the product.
using interrupt_test = bool (*)();

// By digits, see integer_kernel.hpp; `digits` between limbs + 1 and max_digits. Returns false when
// it was interrupted.
bool integer_product(const direct_product& task, int digits, interrupt_test interrupted);

// By digits and a last diagonal in doubles, see mixed_kernel.hpp; for two limbs and more.
bool mixed_product(const direct_product& task, interrupt_test interrupted);

// By running sums, see floating_kernel.hpp.
bool floating_product(const direct_product& task, interrupt_test interrupted);

// The exponent span of each matrix of the batch: an upper bound of
//     max over (i, j) with some a_ik b_kj != 0 of E_i + F_j - max_k (e_ik + f_kj),
// where |a_ik| < 2^e_ik and E_i is the exponent that row i is scaled by, and so on. It is tight
// whenever it exceeds `enough`. Rows and columns with inf or nan do not count.
void exponent_spans(long long* spans, const matrix_batch& a, const matrix_batch& b,
                    product_shape shape, long long enough);

// Digits with which the integer kernel keeps its promise at this span, see docs/direct.md.
// `quick_span` is the largest for which limbs + 1 are enough.
constexpr int span_guard = 10, quick_span = 52 - span_guard;
constexpr long long digits_for(int limbs, long long span) {
  return span <= quick_span ? limbs + 1 : limbs + (span + span_guard + 51) / 52;
}

// The same for a product, for callers that take the integer kernel up to max_digits.
long long integer_digits(const matrix_batch& a, const matrix_batch& b, product_shape shape);

// Whether every sum_k |a_ik b_kj| that is not exactly zero is large enough for the mixed kernel's
// error to be below `promised` eps times it, for each matrix of the batch; promised >= 1 is the
// inner dimension, or half of it where it counts both parts of complex numbers. Decided in the same
// way for every instruction set and number of threads.
void mixed_suffices(char* answers, const matrix_batch& a, const matrix_batch& b,
                    product_shape shape, long long promised);

// What follows is shared by the kernels.

// Exponent E with |x| <= 2^(E - 1) (1 - 2^-41) for all |x| <= largest (1 + 2^-53); 0 for zero.
int scale_exponent(double largest);

// 2^e for e in [-1022, 1023]; std::ldexp takes longer than packing a small row.
double power_of_two(int e);

// sums[l] = sum over k of products of the leading limbs of `one` lane and lane l of `many`, by the
// rules of IEEE arithmetic.
void ieee_lane(double* sums, const operand_side& one, const operand_side& many);

}  // namespace mdla
