// SPDX-License-Identifier: BSD-3-Clause
// How far the largest product that enters a result may lie below the largest row entry times the
// largest column entry: this decides how many digits the integer kernel needs.
//
// A row passes the quick test when one of its large entries alone meets nothing small in its row of
// B. For the others the maximum over k of e_ik + f_kj is formed in 16-bit integers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "direct.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

constexpr short absent = -16384;  // the exponent of zero: twice this is still a short
constexpr int block_columns = 32, block_rows = 8, chunk_steps = 2048;

short exponent_of(double x) {
  if (x == 0) return absent;
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const int biased = (int)(bits >> 52 & 0x7ff);
  if (biased != 0) return (short)(biased - 1022);
  int e = 0;
  std::frexp(x, &e);
  return (short)e;
}

struct scaled_side {
  operand_side x;
  std::vector<double> largest, scale;
  std::vector<int> exponent;

  scaled_side(const operand_side& side, const direct_ops& ops)
      : x(side), largest(side.lanes), scale(side.lanes), exponent(side.lanes) {
    ops.scan(side, largest.data());
    for (long long l = 0; l < side.lanes; ++l) {
      exponent[l] = regular(l) ? scale_exponent(largest[l]) : 0;
      scale[l] = regular(l) ? std::ldexp(1.0, std::min(-exponent[l], 1000)) : HUGE_VAL;
    }
  }
  // Lanes of zeros give zeros, lanes with inf or nan are mended: neither needs digits. Scaling them
  // by infinity makes nan or infinity of their entries, which no minimum takes notice of.
  bool regular(long long l) const { return std::isfinite(largest[l]) && largest[l] > 0; }
};

// |a_ik b_kj| scaled for a k where a_ik is large, the least over j; 0 where that says nothing.
double quick_bound(const scaled_side& a, const scaled_side& b, long long row,
                   const direct_ops& ops) {
  const double* p = a.x.p + row * a.x.lane;
  long long k = 0;
  while (!(std::fabs(p[k * a.x.step]) >= 0.25 * a.largest[row])) ++k;
  const double x = std::fabs(p[k * a.x.step]) * a.scale[row];
  return x * ops.scaled_minimum(b.x.p + k * b.x.step, b.x.lane, b.scale.data(), b.x.lanes);
}

// The largest E_i + F_j - max_k (e_ik + f_kj) over the marked row panels.
long long exact_span(const scaled_side& a, const scaled_side& b, const std::vector<char>& marked,
                     const direct_ops& ops, int threads) {
  std::vector<long long> panels;
  for (std::size_t p = 0; p < marked.size(); ++p)
    if (marked[p]) panels.push_back((long long)p);
  const long long columns = b.x.lanes;
  const long long blocks = (columns + block_columns - 1) / block_columns;
  const long long width = blocks * block_columns;
  std::vector<short> best(panels.size() * (std::size_t)(block_rows * width), -32768);
  std::vector<short> f((std::size_t)(std::min<long long>(chunk_steps, a.x.steps) * width), absent);
  for (long long k0 = 0; k0 < a.x.steps; k0 += chunk_steps) {
    const long long steps = std::min<long long>(chunk_steps, a.x.steps - k0);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for
      for (long long k = 0; k < steps; ++k)
        for (long long j = 0; j < columns; ++j)
          f[k * width + j] = exponent_of(b.x.p[j * b.x.lane + (k0 + k) * b.x.step]);
#pragma omp for schedule(dynamic)
      for (long long t = 0; t < (long long)panels.size(); ++t) {
        short e[chunk_steps * block_rows];
        for (int r = 0; r < block_rows; ++r) {
          const long long row = panels[t] * block_rows + r;
          for (long long k = 0; k < steps; ++k)
            e[k * block_rows + r] =
                row < a.x.lanes ? exponent_of(a.x.p[row * a.x.lane + (k0 + k) * a.x.step]) : absent;
        }
        for (long long c = 0; c < blocks; ++c) {
          short* into = best.data() + (t * blocks + c) * block_rows * block_columns;
          short most[block_rows * block_columns];
          ops.max_plus(most, e, f.data() + c * block_columns, width, steps);
          for (int i = 0; i < block_rows * block_columns; ++i) into[i] = std::max(into[i], most[i]);
        }
      }
    }
  }
  long long span = 0;
  for (std::size_t t = 0; t < panels.size(); ++t) {
    for (int r = 0; r < block_rows; ++r) {
      const long long row = panels[t] * block_rows + r;
      if (row >= a.x.lanes || !a.regular(row)) continue;
      for (long long j = 0; j < columns; ++j) {
        if (!b.regular(j)) continue;
        const int most = best[((t * blocks + j / block_columns) * block_rows + r) * block_columns +
                              j % block_columns];
        if (most > absent / 2)
          span = std::max<long long>(span, a.exponent[row] + b.exponent[j] - most);
      }
    }
  }
  return span;
}

}  // namespace

namespace {

long long span_of_item(const matrix_batch& a, const matrix_batch& b, const product_shape& shape,
                       long long item, long long enough, int threads) {
  const direct_ops& ops = active_direct_ops();
  const scaled_side rows(a.rows(item, shape.rows, shape.inner), ops);
  const scaled_side columns(b.columns(item, shape.columns, shape.inner), ops);
  std::vector<char> marked((std::size_t)((shape.rows + block_rows - 1) / block_rows), 0);
  long long span = 0;
  bool any = false;
  for (long long r = 0; r < shape.rows; ++r) {
    if (!rows.regular(r)) continue;
    const double least = quick_bound(rows, columns, r, ops);
    // |scaled product| >= 2^-(span + 2), see docs/direct.md
    if (least >= std::ldexp(1.0, (int)-(enough + 2))) {
      if (std::isfinite(least)) span = std::max<long long>(span, -std::ilogb(least) - 2);
    } else {
      marked[(std::size_t)(r / block_rows)] = 1;
      any = true;
    }
  }
  if (any) span = std::max(span, exact_span(rows, columns, marked, ops, threads));
  return span;
}

}  // namespace

void exponent_spans(long long* spans, const matrix_batch& a, const matrix_batch& b,
                    product_shape shape, long long enough) {
  std::fill_n(spans, shape.batch, 0);
  if (shape.rows * shape.columns * shape.inner == 0) return;
  const double work = (double)shape.rows * (double)shape.columns * (double)shape.inner / 16;
  const int inside = threads_for(work, 2e5);
  const int across = inside > 1 ? 1 : threads_for(work * (double)shape.batch, 2e5);
  parallel_for(shape.batch, across, [&](long long first, long long last) {
    for (long long item = first; item < last; ++item)
      spans[item] = span_of_item(a, b, shape, item, enough, inside);
  });
}

long long integer_digits(const matrix_batch& a, const matrix_batch& b, product_shape shape) {
  std::vector<long long> spans((std::size_t)shape.batch);
  exponent_spans(spans.data(), a, b, shape, quick_span);
  long long most = 0;
  for (const long long s : spans) most = std::max(most, s);
  return digits_for(shape.limbs, most);
}

}  // namespace mdla
