// SPDX-License-Identifier: BSD-3-Clause
// Vectors of real or complex numbers, and their arithmetic through the table of vector operations.
//
// Everything here is made of calls with unit-stride (or repeated) operands, so factorisations are
// written once, for every number of limbs and every instruction set, and give the same bits on all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>

#include "elementwise.hpp"
#include "vector_ops.hpp"

namespace mdla {
namespace linalg {

using size = long long;

// Vector lengths and offsets are multiples of this, so that no operation meets a ragged end.
constexpr size lane_block = 8;

inline size up_to_block(size n) { return (n + lane_block - 1) / lane_block * lane_block; }

// Length of padded vectors: an odd number of blocks, so that vectors stored one behind the other
// do not fall on the same cache sets.
inline size padded(size n) {
  const size blocks = std::max<size>(1, (n + lane_block - 1) / lane_block);
  return (blocks | 1) * lane_block;
}

// Zeroed doubles on a cache-line boundary.
class number_memory {
 public:
  explicit number_memory(size count) : count_(std::max<size>(count, 1)) {
    p_ = static_cast<double*>(
        ::operator new(sizeof(double) * (std::size_t)count_, std::align_val_t(64)));
    std::fill_n(p_, count_, 0.0);
  }
  number_memory(const number_memory&) = delete;
  number_memory& operator=(const number_memory&) = delete;
  ~number_memory() { ::operator delete(p_, std::align_val_t(64)); }
  double* data() const { return p_; }

 private:
  size count_;
  double* p_;
};

// Limb i of part c of number k lies at p + c * part + i * plane + k * step, step 0 or 1.
struct source_numbers {
  const double* p;
  size plane, part, step;
  source_numbers at(size i) const { return {p + i * step, plane, part, step}; }
  operand<double> re() const { return {p, plane, step}; }
  operand<double> im() const { return {p + part, plane, step}; }
};

struct numbers {
  double* p;
  size plane, part;
  numbers at(size i) const { return {p + i, plane, part}; }
  result<double> re() const { return {p, plane}; }
  result<double> im() const { return {p + part, plane}; }
  operator source_numbers() const { return {p, plane, part, 1}; }
  // The number at i, repeated.
  source_numbers repeat(size i) const { return {p + i, plane, part, 0}; }
};

// Arithmetic of one format: real (parts = 1) or complex (parts = 2), with `limbs` limbs.
class field {
 public:
  const vector_ops<double>& ops;
  const int parts, limbs;

  field(int parts_, int limbs_) : ops(table(limbs_)), parts(parts_), limbs(limbs_) {}

  // Doubles that n numbers take.
  size room(size n) const { return parts * limbs * n; }
  numbers over(double* p, size n) const { return {p, n, limbs * n}; }

  void clear(size n, numbers out) const {
    for (int c = 0; c < parts; ++c)
      for (int k = 0; k < limbs; ++k) std::fill_n(out.p + c * out.part + k * out.plane, n, 0.0);
  }
  void copy(size n, numbers out, source_numbers a) const {
    for (int c = 0; c < parts; ++c)
      for (int k = 0; k < limbs; ++k) {
        double* to = out.p + c * out.part + k * out.plane;
        const double* from = a.p + c * a.part + k * a.plane;
        for (size i = 0; i < n; ++i) to[i] = from[i * a.step];
      }
  }
  void copy_part(size n, result<double> out, operand<double> a) const {
    for (int k = 0; k < limbs; ++k)
      for (size i = 0; i < n; ++i) out.p[k * out.plane + i] = a.p[k * a.plane + i * a.step];
  }
  // out = a * factor, factor[i * step] powers of two: exact.
  void scale(size n, numbers out, source_numbers a, const double* factor, size step) const {
    for (int c = 0; c < parts; ++c)
      for (int k = 0; k < limbs; ++k) {
        double* to = out.p + c * out.part + k * out.plane;
        const double* from = a.p + c * a.part + k * a.plane;
        for (size i = 0; i < n; ++i) to[i] = from[i * a.step] * factor[i * step];
      }
  }
  MDLA_INLINE void add(size n, numbers out, source_numbers a, source_numbers b) const {
    ops.add(n, out.re(), a.re(), b.re());
    if (parts == 2) ops.add(n, out.im(), a.im(), b.im());
  }
  MDLA_INLINE void sub(size n, numbers out, source_numbers a, source_numbers b) const {
    ops.sub(n, out.re(), a.re(), b.re());
    if (parts == 2) ops.sub(n, out.im(), a.im(), b.im());
  }
  // out = a b; out overlaps neither factor if the numbers are complex.
  MDLA_INLINE void mul(size n, numbers out, source_numbers a, source_numbers b) const {
    ops.mul(n, out.re(), a.re(), b.re());
    if (parts == 1) return;
    ops.mul_sub(n, out.re(), a.im(), b.im(), out.re());
    ops.mul(n, out.im(), a.re(), b.im());
    ops.mul_add(n, out.im(), a.im(), b.re(), out.im());
  }
  // out = conj(a) b, likewise.
  MDLA_INLINE void mul_conj(size n, numbers out, source_numbers a, source_numbers b) const {
    ops.mul(n, out.re(), a.re(), b.re());
    if (parts == 1) return;
    ops.mul_add(n, out.re(), a.im(), b.im(), out.re());
    ops.mul(n, out.im(), a.re(), b.im());
    ops.mul_sub(n, out.im(), a.im(), b.re(), out.im());
  }
  // acc += conj(a) b
  MDLA_INLINE void add_mul_conj(size n, numbers acc, source_numbers a, source_numbers b) const {
    ops.mul_add(n, acc.re(), a.re(), b.re(), acc.re());
    if (parts == 1) return;
    ops.mul_add(n, acc.re(), a.im(), b.im(), acc.re());
    ops.mul_add(n, acc.im(), a.re(), b.im(), acc.im());
    ops.mul_sub(n, acc.im(), a.im(), b.re(), acc.im());
  }
  // acc -= a b
  MDLA_INLINE void sub_mul(size n, numbers acc, source_numbers a, source_numbers b) const {
    ops.mul_sub(n, acc.re(), a.re(), b.re(), acc.re());
    if (parts == 1) return;
    ops.mul_add(n, acc.re(), a.im(), b.im(), acc.re());
    ops.mul_sub(n, acc.im(), a.re(), b.im(), acc.im());
    ops.mul_sub(n, acc.im(), a.im(), b.re(), acc.im());
  }
  // out = a / s, s real
  void div_real(size n, numbers out, source_numbers a, operand<double> s) const {
    ops.div(n, out.re(), a.re(), s);
    if (parts == 2) ops.div(n, out.im(), a.im(), s);
  }
  // out = |a|^2, or += |a|^2
  MDLA_INLINE void norm(size n, result<double> out, source_numbers a, bool first) const {
    if (first) {
      ops.mul(n, out, a.re(), a.re());
    } else {
      ops.mul_add(n, out, a.re(), a.re(), out);
    }
    if (parts == 2) ops.mul_add(n, out, a.im(), a.im(), out);
  }
  // out = conj(a), in place or not
  void conj(size n, numbers out, source_numbers a) const {
    copy(n, out, a);
    if (parts == 2) negate(n, out.im());
  }
  void negate(size n, result<double> a) const {
    for (int k = 0; k < limbs; ++k)
      for (size i = 0; i < n; ++i) a.p[k * a.plane + i] = negative(a.p[k * a.plane + i], k);
  }
  // Of limb k: zeros below the leading limb stay positive.
  static double negative(double x, int k) { return k == 0 ? -x : 0.0 - x; }

 private:
  static const vector_ops<double>& table(int limbs) {
    const vector_ops<double>* found = vector_ops_for<double>(limbs);
    if (!found) throw bad_operands{"no arithmetic for " + std::to_string(limbs) + " limbs"};
    return *found;
  }
};

// A matrix of numbers with any strides; a view.
struct matrix {
  double* p;
  int parts, limbs;
  size part, limb;  // strides
  size rows, columns;
  size row, column;  // strides

  matrix() = default;
  matrix(const planes_view<double>& v)
      : p(v.p),
        parts(v.parts),
        limbs(v.limbs),
        part(v.part_stride),
        limb(v.limb_stride),
        rows(v.shape[v.shape.size() - 2]),
        columns(v.shape.back()),
        row(v.strides[v.strides.size() - 2]),
        column(v.strides.back()) {}

  double* at(size i, size j) const { return p + i * row + j * column; }
  source_numbers repeat(size i, size j) const { return {at(i, j), limb, part, 0}; }
  matrix block(size i, size j, size height, size width) const {
    matrix m = *this;
    m.p = at(i, j);
    m.rows = height;
    m.columns = width;
    return m;
  }
  // Rows from i and columns from j on.
  matrix from(size i, size j) const { return block(i, j, rows - i, columns - j); }
};

}  // namespace linalg
}  // namespace mdla
