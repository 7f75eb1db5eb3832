// SPDX-License-Identifier: BSD-3-Clause
// The cores that elementary.cpp builds its functions from, for one block of numbers.
#pragma once

#include <cmath>
#include <cstring>

#include "blocks.hpp"
#include "elementary.hpp"

namespace mdla {

// 2^e for -1022 <= e <= 1023.
inline double power_of_two(int e) {
  const unsigned long long bits = (unsigned long long)(e + 1023) << 52;
  double r;
  std::memcpy(&r, &bits, sizeof r);
  return r;
}

// A block of numbers in a workspace: limb k lies at p + k * plane.
struct numbers {
  double* p;
  size plane;
  operator result<double>() const { return {p, plane}; }
  operator operand<double>() const { return {p, plane, 1}; }
  double* limb(int k) const { return p + k * plane; }
};

// Memory for the blocks of one thread, given back in frames.
class workspace {
 public:
  workspace(int limbs, size length) : limbs_(limbs), length_(length) {}
  numbers take() {
    if (used_ == blocks_.size()) blocks_.emplace_back((std::size_t)(limbs_ * length_));
    return {blocks_[used_++].data(), length_};
  }
  double* take_lane() { return take().p; }

  class frame {
   public:
    explicit frame(workspace& w) : w_(w), mark_(w.used_) {}
    ~frame() { w_.used_ = mark_; }
    frame(const frame&) = delete;
    frame& operator=(const frame&) = delete;

   private:
    workspace& w_;
    std::size_t mark_;
  };

 private:
  int limbs_;
  size length_;
  std::vector<std::vector<double>> blocks_;
  std::size_t used_ = 0;
};

// One block of n numbers with everything its functions need.
struct elementary_block {
  const elementary_tables& t;
  const vector_ops<double>& ops;
  workspace& w;
  size n;
  int limbs;

  operand<double> constant(const std::vector<double>& c, int entry = 0) const {
    return {c.data() + entry * limbs, 1, 0};
  }
  operand<double> lane(const double* p) const { return {p, 0, 1}; }

  void copy(result<double> out, operand<double> a) const;
  // out = the entries of a table, times sign[i] where given.
  void gather(result<double> out, const std::vector<double>& table, const double* entry) const;
  // Every limb times 2^k[i], in two steps, since 2^k may be no double.
  void scale(result<double> out, const double* k) const;
  // a[i] times sign[i], which is 1 or -1.
  void times_sign(result<double> out, const double* sign) const;
  // One number without tail.
  void set(result<double> out, size i, double value) const;
  void set(result<double> out, size i, const double* limbs_of_value) const;
  void set(result<double> out, size i, operand<double> from) const;
};

// out = the series at z.
void evaluate(const elementary_block& b, result<double> out, operand<double> z, const series& s);

// e^x = 2^k (1 + y) with |x| <= 746.
void exp_core(const elementary_block& b, numbers y, double* k, operand<double> x);

// y = log(1 + u) for -0.3 < u < 0.42; u is used up.
void log1p_core(const elementary_block& b, numbers y, numbers u);

// z = atan(y / x) for 0 <= y <= x, both of moderate size unless y / x is tiny; both are used up.
void atan_core(const elementary_block& b, numbers z, numbers y, numbers x);

// x = q pi / 2 + r with |r| <= pi / 4 (a little more for rounding) and q = 0, 1, 2, 3. x is finite.
void reduce_half_pi(const elementary_block& b, numbers r, double* q, operand<double> x);

// Sine and cosine of |r| <= 0.79, each where it is wanted: out = sine[i] ? sin r : cos r.
struct trigonometric {
  numbers sin_rest, cos_rest;  // of r - j / 128
  double* j;
};
trigonometric trigonometric_core(const elementary_block& b, operand<double> r);
void trigonometric_pick(const elementary_block& b, result<double> out, const trigonometric& c,
                        const double* quadrant);

}  // namespace mdla
