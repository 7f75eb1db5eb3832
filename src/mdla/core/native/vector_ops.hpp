// SPDX-License-Identifier: BSD-3-Clause
// Vector operations: the arithmetic of expansions on unit-stride planes, one table per instruction
// set and number of limbs. Everything above (broadcasting, reductions, panels of QR, batches) is
// compiled once and calls through the table, so there is one place where lanes meet memory.
#pragma once

#include "config.hpp"

namespace mdla {

// n numbers whose limb i lies at p + i * plane. step 1 walks along them, step 0 repeats the first.
template <class R>
struct operand {
  const R* p;
  long long plane;
  long long step;
  operand at(long long i) const { return {p + i * step, plane, step}; }
};

template <class R>
struct result {
  R* p;
  long long plane;
  result at(long long i) const { return {p + i, plane}; }
  operator operand<R>() const { return {p, plane, 1}; }
};

// A series for fixed_point_series: term k has its first digits[k] digits after the point, of 50
// bits, at c + k * (limbs + 2), after the integer part.
struct digit_series {
  int count;
  const int* digits;
  const unsigned long long* c;
};

template <class R>
struct vector_ops {
  using size = long long;
  using unary = void (*)(size n, result<R> out, operand<R> a);
  using binary = void (*)(size n, result<R> out, operand<R> a, operand<R> b);
  using ternary = void (*)(size n, result<R> out, operand<R> a, operand<R> b, operand<R> c);
  int limbs;
  binary add, sub, mul, div;
  binary add_lane, mul_lane;  // b has one limb
  ternary mul_add;            // a b + c, product and sum rounded one after the other
  ternary mul_sub;            // c - a b, likewise
  ternary fma;                // a b + c with one rounding of the sum
  unary sqrt;
  // sum c_k a^k for |a| < 1; only for doubles and 5 or more limbs, else null
  void (*series)(size n, result<R> out, operand<R> a, const digit_series& terms);
  // sign of a - b as -1, 0, 1; 2 when either is nan
  void (*compare)(size n, signed char* out, operand<R> a, operand<R> b);
};

// The table for `limbs` limbs at the active instruction set, or null when there is none.
template <class R>
const vector_ops<R>* vector_ops_for(int limbs);

}  // namespace mdla
