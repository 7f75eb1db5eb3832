// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the direct product that exist once per instruction set, as a table of functions.
// Blocking, threads and special values are above them, compiled once (direct.cpp).
#pragma once

#include "config.hpp"

namespace mdla {

// A tile of the result: tile_rows rows and up to tile_columns columns, in vectors of 8 columns.
constexpr int tile_rows = 8;
constexpr int tile_columns = 24;
constexpr int max_digits = 24;
constexpr int max_limbs = 16;

// Scaled entries are below 2^(scale_origin - 1): digits far down stay clear of subnormal numbers.
constexpr int scale_origin = 512;

// Where sums of scaled entries are cut off: multiples of 2^-30, as are the terms. No scaled entry
// reaches the first.
constexpr int cap_count = 6;
constexpr double caps[cap_count] = {0.5, 0.328125, 0.234375, 0.1640625, 0.1171875, 0.08203125};

// One operand seen from the product: `lanes` rows of A or columns of B, each of `steps` entries
// that are summed over. Limb i of lane l, step k lies at p[i limb + l lane + k step].
struct operand_side {
  const double* p;
  long long limb, lane, step;
  long long lanes, steps;
  operand_side from(long long first_lane, long long first_step) const {
    operand_side s = *this;
    s.p += first_lane * lane + first_step * step;
    s.lanes -= first_lane;
    s.steps -= first_step;
    return s;
  }
};

// Entries of a panel to be cut into digits: limb i of step k, lane l at
// source[i limb + k pitch + l]; low and high times it give the scaled value.
struct cut_job {
  const double* source;
  long long limb, pitch;
  const double *low, *high;  // [width]
  int width, limbs, digits;
  bool mixed;
  long long steps;
  void* target;  // digit j of step k, lane l: word j digit_stride + k width + l
  long long digit_stride;
  unsigned long long* sums;  // [digits][width], digits of all steps are added to them
};

// Where limb i of entry (r, c) of a tile goes: p[i limb + r row + c column].
struct result_tile {
  double* p;
  long long limb, row, column;
};

// A tile of digit sums to be rounded: value = sums + constants - row_terms - column_terms.
struct finish_job {
  const unsigned long long* sums;          // [digits + 1][tile_rows][8 vectors]
  const unsigned long long* row_terms;     // [digits + 1][tile_rows]
  const unsigned long long* column_terms;  // [digits + 1][8 vectors]
  const unsigned long long* constants;     // [digits + 1]
  // Rows and columns were scaled by 2^-exponent; factors are 2^exponent, null where one of them is
  // too far from one to be multiplied by without care.
  const double *row_exponents, *column_exponents, *row_factors, *column_factors;
  int digits, vectors, rows, columns;
  int noise_bits;  // of the last digit, rounded off
  result_tile out;
};

struct direct_ops {
  // largest[l] = max |leading limb| of lane l, nan where one of them is not finite.
  void (*scan)(const operand_side& side, double* largest);
  // sums[i][l] = sum over k of min(|leading limb| scale[l], caps[i]), each rounded to 2^-30.
  void (*capped_sums)(const operand_side& side, const double* scale, double* sums);
  // The least |p[l stride]| scale[l] over l < count; nan does not count.
  double (*scaled_minimum)(const double* p, long long stride, const double* scale, long long count);
  void (*cut)(const cut_job&);
  // sums += products of the digits of two panels; strides between digits in words.
  void (*integer_tile)(unsigned long long* sums, const void* a, const void* b, int digits,
                       long long steps, long long a_digit, long long b_digit, int rows,
                       int vectors);
  void (*integer_finish[max_limbs + 1])(const finish_job&);
  // The same for the mixed kernel, see mixed_kernel.hpp.
  void (*mixed_tile)(unsigned long long* sums, const void* a, const void* b, int limbs,
                     long long steps, long long a_digit, long long b_digit, int rows, int vectors);
  void (*mixed_finish[max_limbs + 1])(const finish_job&);
  // sums[N + 1][tile_rows][8 vectors] += products; panels are [step][limb][width].
  void (*floating_tile[max_limbs + 1])(double* sums, const double* a, const double* b,
                                       long long steps, int rows, int vectors);
  // Returns false when some result is not finite.
  bool (*floating_finish[max_limbs + 1])(const double* sums, int vectors, int rows, int columns,
                                         const result_tile& out);
  // best[8][32] = max over k of a[k][8] + b[k stride .. + 32].
  void (*max_plus)(short* best, const short* a, const short* b, long long stride, long long steps);
};

const direct_ops& active_direct_ops();

}  // namespace mdla
