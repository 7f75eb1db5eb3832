// SPDX-License-Identifier: BSD-3-Clause
// The three stages of a product by residues, shared out among threads.
#include "residues.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "dispatch.hpp"
#include "exact_residues.hpp"
#include "survey.hpp"
#include "threads.hpp"
#include "vector_ops.hpp"

namespace mdla {
namespace {

// f(item) for items taken one by one, since they cost differently; kernels' state is given back.
template <class F>
void for_items(const residue_ops& ops, long long count, int threads, const F& f) {
  std::atomic<long long> next{0};
  parallel_for(threads, threads, [&](long long, long long) {
    for (long long i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) f(i);
    ops.release();
  });
}

}  // namespace

residue_forms::residue_forms(const std::vector<int>& bytes, const std::vector<int>& pairs)
    : bytes_((int)bytes.size()), pairs_((int)pairs.size()) {
  for (const std::vector<int>* some : {&bytes, &pairs}) {
    for (const int m : *some) {
      inverse_.push_back((float)(1.0 / m));
      modulus_.push_back((float)m);
      minus_.push_back(-m & 0xffff);
    }
  }
}

residue_moduli residue_forms::moduli() const {
  return {bytes_, pairs_, inverse_.data(), modulus_.data(), minus_.data()};
}

void residue_convert(const residue_ops& ops, bool columns, const entries_view& x,
                     const integer_format& format, const residue_forms& forms,
                     signed char* target) {
  const operand_layout layout{x.lanes, x.steps};
  convert_job job{};
  job.part = x.part;
  job.limb = x.limb;
  job.lane = x.lane;
  job.step = x.step;
  job.parts = x.parts;
  job.limbs = x.limbs;
  job.steps = x.steps;
  job.words = format.words;
  job.digits = (format.bits + 2 + 51) / 52;
  job.constants = format.constants;
  job.groups = format.groups;
  job.tiles = format.tiles;
  job.moduli = forms.moduli();
  job.plane = layout.plane();
  job.target = target;
  job.padded_lanes = layout.padded_lanes();
  const double work = (double)layout.padded_lanes() * (double)x.steps *
                      (double)(forms.operand_planes() + 8 * x.limbs * x.parts);
  const int unit = cut_origin - 52 * job.digits + format.bits;
  // Columns in shares of 1 KiB of a row, rows of which each is read at a time in shares of 16.
  constexpr int most = 128;
  const int share = columns ? most : 16;
  // Lanes that pad the last panel stay as they are: what they enter is never looked at.
  for_items(ops, (x.lanes + share - 1) / share, threads_for(work, 3e5), [&](long long item) {
    alignas(64) double low[most], high[most];
    convert_job mine = job;
    const long long first = item * share;
    mine.lanes = (int)std::min<long long>(share, x.lanes - first);
    for (int l = 0; l < (mine.lanes + 15) / 16 * 16; ++l) {
      // Lanes with inf or nan are zero here: the caller mends what they enter.
      const int e = first + l < x.lanes ? format.exponents[first + l] : zero_lane;
      const int shift = has_exponent(e) ? unit - e : 0;
      low[l] = has_exponent(e) ? power_of_two(shift / 2) : 0;
      high[l] = has_exponent(e) ? power_of_two(shift - shift / 2) : 0;
    }
    mine.source = x.p + first * x.lane;
    mine.low = low;
    mine.high = high;
    mine.first_strip = first / 16;
    (columns ? ops.convert_columns : ops.convert_rows)(mine);
  });
}

void residue_multiply(const residue_ops& ops, const operand_layout& rows,
                      const operand_layout& columns, const residue_forms& forms,
                      const signed char* a, const signed char* b, signed char* product, bool add) {
  const product_layout layout{rows, columns};
  const residue_moduli moduli = forms.moduli();
  const int count = moduli.bytes + moduli.pairs;
  const double work =
      (double)layout.entries() * (double)rows.steps * (double)forms.operand_planes();
  const int threads = threads_for(work, 3e7);
  // A piece's residues, and a chunk of A, stay in the second-level cache; each thread finds some.
  constexpr long long row_piece = most_piece_panels;
  long long column_piece = most_piece_panels;
  const long long row_pieces = (rows.panels() + row_piece - 1) / row_piece;
  const auto column_pieces = [&] { return (columns.panels() + column_piece - 1) / column_piece; };
  while (column_piece > 4 && row_pieces * column_pieces() * count < 4 * threads) column_piece /= 2;
  const long long pieces = row_pieces * column_pieces();
  // Pairs first: they take three times as long.
  const auto form_of = [&](long long item) { return count - 1 - (int)(item / pieces); };
  const auto job_of = [&](long long item, long long plane) {
    const long long piece = item % pieces;
    multiply_job job{};
    job.a = a + plane * rows.plane();
    job.b = b + plane * columns.plane();
    job.row_panels = rows.panels();
    job.column_panels = columns.panels();
    job.first_row = piece % row_pieces * row_piece;
    job.last_row = std::min(job.first_row + row_piece, job.row_panels);
    job.first_column = piece / row_pieces * column_piece;
    job.last_column = std::min(job.first_column + column_piece, job.column_panels);
    job.steps = round_up_64(rows.steps);
    return job;
  };
  const auto first_plane = [&](int form) {
    return form < moduli.bytes ? form : moduli.bytes + 3LL * (form - moduli.bytes);
  };
  const auto multiply = [&](multiply_job& job, long long next_item, long long next_plane) {
    const multiply_job next = job_of(next_item, next_plane);
    const long long length = std::min<long long>(chunk_steps_max, job.steps) * panel_lanes;
    job.next_a = next.a + next.first_row * length;
    job.next_b = next.b + next.first_column * length;
    ops.multiply(job);
  };
  for_items(ops, pieces * count, threads, [&](long long item) {
    const int form = form_of(item);
    const long long plane = first_plane(form);
    // Threads go on side by side, so that this one will have that item, or one close to it.
    const long long next_item = item + threads < pieces * count ? item + threads : item;
    const long long next_plane = first_plane(form_of(next_item));
    multiply_job job = job_of(item, plane);
    job.inverse = moduli.inverse[form];
    job.modulus = moduli.modulus[form];
    job.minus = moduli.minus[form];
    if (form < moduli.bytes) {
      job.kind = residue_kind::byte;
      job.target = product + form * layout.byte_plane();
      job.add = add;
      multiply(job, next_item, next_plane);
      return;
    }
    const int pair = form - moduli.bytes;
    job.kind = residue_kind::digit;
    job.target = product + moduli.bytes * layout.byte_plane() + 2 * pair * layout.pair_plane();
    // r r' = -127 a a' + (128^2 - 128) b b' + 128 (a + b)(a' + b')
    const float factors[3] = {-127.f, 16256.f - job.modulus, 128.f};
    for (int digit = 0; digit < 3; ++digit) {
      job.a = a + (plane + digit) * rows.plane();
      job.b = b + (plane + digit) * columns.plane();
      job.factor = factors[digit];
      job.add = add || digit > 0;
      if (digit < 2) {
        multiply(job, item, plane + digit + 1);
      } else {
        multiply(job, next_item, next_plane);
      }
    }
  });
}

namespace {

// Results smaller than this are left in the caches.
constexpr double streamed_bytes = 4e6;

// A tile of results in scratch -> out, with alpha and beta.
class tile_writer {
 public:
  tile_writer(const residue_ops& ops, int limbs, double bytes, const result_view& out,
              const update_factors& factors)
      : limbs_(limbs),
        out_(out),
        factors_(factors),
        negates_(is_one(factors.alpha, -1)),
        scales_(factors.alpha && !negates_ && !is_one(factors.alpha, 1)),
        adds_old_(is_one(factors.beta, 1)),
        ops_(vector_ops_for<double>(limbs)),
        copy_(bytes < streamed_bytes ? ops.copy : ops.stream) {}

  // Asks for the old entries early: rows lie far apart.
  void fetch(long long row, long long column, int rows, int columns) const {
    if (!factors_.beta || out_.column != 1) return;
    for (int i = 0; i < limbs_; ++i)
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; c += 8)
          __builtin_prefetch(out_.p + i * out_.limb + (row + r) * out_.row + column + c, 1, 2);
  }

  void write(double* tile, long long row, long long column, int rows, int columns) const {
    double* to = out_.p + row * out_.row + column * out_.column;
    combine(tile, to, rows, columns);
    for (int r = 0; r < rows; ++r, to += out_.row) {
      for (int i = 0; i < limbs_; ++i) {
        const double* from = tile + i * plane + r * panel_lanes;
        if (out_.column == 1) {
          copy_(to + i * out_.limb, from, columns);
        } else {
          for (int c = 0; c < columns; ++c) to[i * out_.limb + c * out_.column] = from[c];
        }
      }
    }
  }

 private:
  static constexpr int plane = panel_lanes * panel_lanes;

  void combine(double* tile, const double* to, int rows, int columns) const {
    const long long count = rows * panel_lanes;
    const operand<double> product{tile, plane, 1};
    if (scales_) ops_->mul(count, {tile, plane}, product, {factors_.alpha, 1, 0});
    if (!factors_.beta) {
      if (negates_) negate(tile, count);
      return;
    }
    alignas(64) double old[max_cut_limbs * plane];
    for (int i = 0; i < limbs_; ++i) {
      for (int r = 0; r < rows; ++r) {
        const double* from = to + i * out_.limb + r * out_.row;
        double* line = old + i * plane + r * panel_lanes;
        if (out_.column == 1 && columns == panel_lanes) {
          std::memcpy(line, from, sizeof(double[panel_lanes]));
        } else {
          for (int c = 0; c < panel_lanes; ++c) line[c] = c < columns ? from[c * out_.column] : 0;
        }
      }
    }
    const operand<double> before{old, plane, 1};
    if (adds_old_ && negates_) {
      ops_->sub(count, {tile, plane}, before, product);
      return;
    }
    if (negates_) negate(tile, count);
    if (adds_old_) {
      ops_->add(count, {tile, plane}, product, before);
    } else {
      ops_->mul_add(count, {tile, plane}, before, {factors_.beta, 1, 0}, product);
    }
  }

  void negate(double* tile, long long count) const {
    for (int i = 0; i < limbs_; ++i)
      for (long long e = 0; e < count; ++e) tile[i * plane + e] = -tile[i * plane + e];
  }

  // Exactly 1 or -1: then nothing is rounded.
  bool is_one(const double* factor, double one) const {
    return factor && factor[0] == one &&
           std::all_of(factor + 1, factor + limbs_, [](double x) { return x == 0; });
  }

  int limbs_;
  result_view out_;
  update_factors factors_;
  bool negates_, scales_, adds_old_;
  const vector_ops<double>* ops_;
  void (*copy_)(double* to, const double* from, int n);
};

}  // namespace

void residue_reconstruct(const residue_ops& ops, const operand_layout& rows,
                         const operand_layout& columns, const residue_forms& forms,
                         const signed char* product, const reconstruction& how, int limbs,
                         const result_view& out, const update_factors& factors) {
  const product_layout layout{rows, columns};
  const int top = how.exponent + how.shift + 32 * (how.chunks - 1) - chunk_level(how.chunks);
  // Where all factors and their products are far from the ends of the range, one is enough.
  const auto is_moderate = [](const int* e, long long n, int offset) {
    return std::all_of(e, e + n,
                       [&](int x) { return !has_exponent(x) || std::abs(x + offset) < 400; });
  };
  reconstruct_job job{};
  job.byte_plane = layout.byte_plane();
  job.pair_plane = layout.pair_plane();
  job.byte_planes = forms.byte_count();
  job.pair_planes = forms.pair_count();
  job.weights = how.weights;
  job.quads = how.quads;
  job.tiles = how.tiles;
  job.chunks = how.chunks;
  job.modulus = how.modulus;
  job.inverse = how.inverse;
  job.quantum = how.quantum;
  job.tie_width = how.tie_width;
  job.limbs = limbs;
  job.are_factors = chunk_level(how.chunks) == 0 &&
                    is_moderate(how.row_exponents, rows.lanes, top) &&
                    is_moderate(how.column_exponents, columns.lanes, 0);
  const double bytes = (double)rows.lanes * (double)columns.lanes * (double)limbs * sizeof(double);
  const tile_writer writer(ops, limbs, bytes, out, factors);
  const exact_residues exact(forms, layout, product, how);
  const long long row_tiles = rows.panels(), column_tiles = columns.panels();
  const double work = (double)layout.entries() * (double)(how.quads + how.chunks * (4 + limbs));
  for_items(ops, row_tiles, threads_for(work, 3e5), [&](long long i) {
    alignas(64) double results[max_cut_limbs * panel_lanes * panel_lanes];
    alignas(64) double row_scale[panel_lanes], column_scale[panel_lanes];
    unsigned undecided[panel_lanes];
    const auto scale = [&](int e, int offset) {
      const int x = has_exponent(e) ? e + offset : offset;
      return job.are_factors ? power_of_two(has_exponent(e) ? x : 0) : (double)x;
    };
    reconstruct_job mine = job;
    mine.row_exponents = row_scale;
    mine.column_exponents = column_scale;
    mine.out = results;
    mine.undecided = undecided;
    const int present_rows = (int)std::min<long long>(panel_lanes, rows.lanes - panel_lanes * i);
    for (int r = 0; r < panel_lanes; ++r)
      row_scale[r] =
          scale(r < present_rows ? how.row_exponents[panel_lanes * i + r] : zero_lane, top);
    for (long long j = 0; j < column_tiles; ++j) {
      const int present = (int)std::min<long long>(panel_lanes, columns.lanes - panel_lanes * j);
      for (int c = 0; c < panel_lanes; ++c)
        column_scale[c] =
            scale(c < present ? how.column_exponents[panel_lanes * j + c] : zero_lane, 0);
      const long long at = (i * column_tiles + j) * panel_lanes * panel_lanes;
      mine.bytes = product + at;
      mine.pairs = (const short*)(product + forms.byte_count() * layout.byte_plane()) + at;
      std::fill_n(undecided, panel_lanes, 0u);
      writer.fetch(panel_lanes * i, panel_lanes * j, present_rows, present);
      ops.reconstruct(mine);
      for (int r = 0; r < present_rows; ++r) {
        for (unsigned bits = undecided[r]; bits; bits &= bits - 1) {
          const int c = __builtin_ctz(bits);
          if (c >= present) continue;
          double digits[most_chunks];
          exact.digits(digits, at + r * panel_lanes + c);
          ops.finish_entry(mine, digits, r, c);
        }
      }
      writer.write(results, panel_lanes * i, panel_lanes * j, present_rows, present);
    }
  });
}

}  // namespace mdla
