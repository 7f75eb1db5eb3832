// SPDX-License-Identifier: BSD-3-Clause
#include "triangular.hpp"

#include <cmath>
#include <vector>

#include "products.hpp"
#include "reflector.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

using namespace linalg;

void load(const field& f, size n, numbers to, const double* from, size part, size limb, size step) {
  for (int c = 0; c < f.parts; ++c)
    for (int k = 0; k < f.limbs; ++k) {
      double* q = to.p + c * to.part + k * to.plane;
      const double* p = from + c * part + k * limb;
      for (size i = 0; i < n; ++i) q[i] = p[i * step];
    }
}

void unload(const field& f, size n, double* to, size part, size limb, size step,
            source_numbers from) {
  for (int c = 0; c < f.parts; ++c)
    for (int k = 0; k < f.limbs; ++k) {
      double* q = to + c * part + k * limb;
      const double* p = from.p + c * from.part + k * from.plane;
      for (size i = 0; i < n; ++i) q[i * step] = p[i];
    }
}

// Triangles of this order are worked on by vectors in substitute_block: products of matrices are
// faster than vectors from here on, in every precision.
constexpr size leaf = 8;

class substitution {
 public:
  substitution(const matrix& t, const matrix& b, triangle kind)
      : f_(b.parts, b.limbs),
        t_(t),
        b_(b),
        n_(t_.rows),
        kind_(kind),
        np_(padded(n_)),
        packed_(f_.room(np_) * n_),
        diagonal_(f_.room(np_)),
        size_squared_(f_.limbs * np_),
        exponents_((std::size_t)np_) {
    pack();
  }

  void run() {
    const double work = (double)n_ * (double)n_ * (double)b_.columns * f_.parts * f_.parts *
                        f_.limbs * f_.limbs / 2;
    if (b_.columns < lane_block) {
      for (size j = 0; j < b_.columns; ++j) one_column(j);
      return;
    }
    // Right-hand sides side by side, a few blocks per thread at a time.
    const size width = std::max<size>(lane_block, 256 / f_.limbs / lane_block * lane_block);
    const size groups = (b_.columns + width - 1) / width;
    parallel_for(groups, threads_for(work, 1e5), [&](size first, size last) {
      for (size g = first; g < last; ++g)
        many_columns(g * width, std::min(width, b_.columns - g * width));
    });
  }

 private:
  // Column j of T with zeros outside the triangle and without the diagonal.
  numbers column(size j) const { return f_.over(packed_.data() + f_.room(np_) * j, np_); }

  void pack() {
    const numbers d = diagonal();
    for (size j = 0; j < n_; ++j) {
      const size first = kind_.lower ? j + 1 : 0, last = kind_.lower ? n_ : j;
      if (first < last)
        load(f_, last - first, column(j).at(first), t_.at(first, j), t_.part, t_.limb, t_.row);
      load(f_, 1, d.at(j), t_.at(j, j), t_.part, t_.limb, t_.row);
    }
    if (f_.parts == 1 || kind_.unit) return;
    // x / t = x conj(t) / |t|^2 with t scaled so that the square stays in range.
    for (size j = 0; j < n_; ++j) {
      exponents_[(std::size_t)j] =
          exponent_above(std::max(std::fabs(d.p[j]), std::fabs(d.p[d.part + j])));
      const double down = std::ldexp(1.0, -exponents_[(std::size_t)j]);
      f_.scale(1, d.at(j), d.at(j), &down, 0);
    }
    f_.norm(np_, {size_squared_.data(), np_}, d, true);
    f_.negate(np_, d.im());
  }
  numbers diagonal() const { return f_.over(diagonal_.data(), np_); }

  // x = b / t_jj for n numbers; spare has room for n numbers.
  void divide(size n, size j, numbers x, source_numbers b, numbers spare) const {
    if (kind_.unit) return f_.copy(n, x, b);
    if (f_.parts == 1) return f_.ops.div(n, x.re(), b.re(), diagonal().repeat(j).re());
    const operand<double> square{size_squared_.data() + j, np_, 0};
    f_.mul(n, spare, b, diagonal().repeat(j));
    f_.div_real(n, x, spare, square);
    const double down = std::ldexp(1.0, -exponents_[(std::size_t)j]);
    f_.scale(n, x, x, &down, 0);
  }

  // Vectors run along the rows. A solved entry leaves at once: the operations that follow touch
  // the rest of its block.
  void one_column(size c) {
    number_memory memory(f_.room(np_) + 3 * f_.room(1));
    const numbers b = f_.over(memory.data(), np_);
    const numbers x = f_.over(memory.data() + f_.room(np_), 1);
    const numbers spare = f_.over(memory.data() + f_.room(np_ + 1), 1);
    load(f_, n_, b, b_.at(0, c), b_.part, b_.limb, b_.row);
    for (size step = 0; step < n_; ++step) {
      const size j = kind_.lower ? step : n_ - 1 - step;
      divide(1, j, x, b.repeat(j), spare);
      unload(f_, 1, b_.at(j, c), b_.part, b_.limb, b_.row, x);
      const size first = kind_.lower ? (j + 1) / lane_block * lane_block : 0;
      const size last = kind_.lower ? up_to_block(n_) : up_to_block(j);
      if (first < last) f_.sub_mul(last - first, b.at(first), column(j).at(first), x.repeat(0));
    }
  }

  // Vectors run along the right-hand sides.
  void many_columns(size c, size count) const {
    const size kp = padded(count);
    number_memory memory(f_.room(kp) * (n_ + 1));
    const auto row = [&](size i) { return f_.over(memory.data() + f_.room(kp) * i, kp); };
    for (size i = 0; i < n_; ++i) load(f_, count, row(i), b_.at(i, c), b_.part, b_.limb, b_.column);
    const size n = up_to_block(count);
    for (size step = 0; step < n_; ++step) {
      const size j = kind_.lower ? step : n_ - 1 - step;
      divide(n, j, row(j), row(j), row(n_));
      unload(f_, count, b_.at(j, c), b_.part, b_.limb, b_.column, row(j));
      const size first = kind_.lower ? j + 1 : 0, last = kind_.lower ? n_ : j;
      for (size i = first; i < last; ++i) f_.sub_mul(n, row(i), column(j).repeat(i), row(j));
    }
  }

  field f_;
  matrix t_, b_;
  size n_;
  triangle kind_;
  size np_;
  number_memory packed_, diagonal_, size_squared_;
  std::vector<int> exponents_;
};

}  // namespace

void substitute(const matrix& t, const matrix& b, triangle kind) {
  if (b.rows * b.columns == 0) return;
  substitution(t, b, kind).run();
}

void substitute_block(const matrix& t, const matrix& b, triangle kind) {
  const size n = t.rows;
  if (n <= leaf || b.columns < lane_block) {
    substitute(t, b, kind);
    return;
  }
  size half = leaf;
  while (2 * half < n) half *= 2;
  const matrix head = b.block(0, 0, half, b.columns), tail = b.from(half, 0);
  const matrix before = t.block(0, 0, half, half), after = t.from(half, half);
  if (kind.lower) {
    substitute_block(before, head, kind);
    subtract_in_place(tail, product(t.block(half, 0, n - half, half), none, head).view());
    substitute_block(after, tail, kind);
  } else {
    substitute_block(after, tail, kind);
    subtract_in_place(head, product(t.block(0, half, half, n - half), none, tail).view());
    substitute_block(before, head, kind);
  }
}

void subtract_in_place(const matrix& to, const matrix& from) {
  const field f(1, to.limbs);
  const size whole = to.columns / lane_block * lane_block, rest = to.columns - whole;
  const double work = (double)to.rows * (double)to.columns * f.limbs * to.parts;
  parallel_for(to.rows, threads_for(work, 1e5), [&](size first, size last) {
    const size rows = last - first;
    number_memory memory(2 * f.room(padded(rows * rest)));
    const numbers x = f.over(memory.data(), padded(rows * rest));
    const numbers y = f.over(memory.data() + f.room(padded(rows * rest)), padded(rows * rest));
    for (int part = 0; part < to.parts; ++part) {
      const size a = part * to.part, b = part * from.part;
      for (size i = first; i < last; ++i) {
        const result<double> row{to.at(i, 0) + a, to.limb};
        f.ops.sub(whole, row, row, {from.at(i, 0) + b, from.limb, 1});
      }
      // The ends of all rows together.
      if (rest == 0) continue;
      for (size i = 0; i < rows; ++i) {
        load(f, rest, x.at(i * rest), to.at(first + i, whole) + a, 0, to.limb, 1);
        load(f, rest, y.at(i * rest), from.at(first + i, whole) + b, 0, from.limb, 1);
      }
      f.sub(up_to_block(rows * rest), x, x, y);
      for (size i = 0; i < rows; ++i)
        unload(f, rest, to.at(first + i, whole) + a, 0, to.limb, 1, x.at(i * rest));
    }
  });
}

}  // namespace mdla
