// SPDX-License-Identifier: BSD-3-Clause
// Blocks and threads of a product of bytes, and its binding.
#include "int8_product.hpp"

#include <algorithm>
#include <memory>

#include "dispatch.hpp"
#include "ndarray_views.hpp"
#include "residues.hpp"
#include "threads.hpp"

namespace mdla {

#if defined(MDLA_X86)
#define MDLA_DECLARE(level)           \
  namespace level {                   \
  const residue_ops& residue_table(); \
  const int8_ops& int8_table();       \
  }
MDLA_DECLARE(v2)
MDLA_DECLARE(v3)
MDLA_DECLARE(v4)
MDLA_DECLARE(avxvnni)
MDLA_DECLARE(vnni)
MDLA_DECLARE(amx)
#undef MDLA_DECLARE

const int8_ops& active_int8_ops() {
  if (residue_engine("int8-amx")) return amx::int8_table();
  if (const residue_ops* ops = residue_engine("int8-vnni"))
    return ops == &vnni::residue_table() ? vnni::int8_table() : avxvnni::int8_table();
  switch (active_level()) {
    case 2:
      return v4::int8_table();
    case 1:
      return v3::int8_table();
    default:
      return v2::int8_table();
  }
}
#else
namespace portable {
const int8_ops& int8_table();
}

const int8_ops& active_int8_ops() { return portable::int8_table(); }
#endif

namespace {

constexpr long long panels_of(long long lanes) { return (lanes + panel_lanes - 1) / panel_lanes; }
constexpr long long panel_size(long long steps) { return panel_lanes * round_up_64(steps); }

// A tile of A: a line has 64 steps of a row.
void pack_rows(const bytes_view& x, long long lane, long long k, signed char* tile) {
  const int steps = (int)std::min<long long>(64, x.steps - k);
  std::fill_n(tile, tile_bytes, (signed char)0);
  for (long long l = lane; l < std::min(lane + 16, x.lanes); ++l, tile += 64) {
    const signed char* from = x.p + l * x.lane + k * x.step;
    if (x.step == 1) {
      std::copy_n(from, steps, tile);
    } else {
      for (int s = 0; s < steps; ++s) tile[s] = from[s * x.step];
    }
  }
}

// A tile of B: a line has 4 steps of all columns.
void pack_columns(const int8_ops& ops, const bytes_view& x, long long lane, long long k,
                  signed char* tile) {
  if (x.lane == 1 && lane + 16 <= x.lanes && k + 64 <= x.steps) {
    ops.pack_tile(tile, x.p + lane + k * x.step, x.step);
    return;
  }
  signed char rows[tile_bytes];
  pack_rows(x, lane, k, rows);
  for (int l = 0; l < 16; ++l)
    for (int q = 0; q < 16; ++q) std::copy_n(rows + 64 * l + 4 * q, 4, tile + 64 * q + 4 * l);
}

struct alignas(64) line {
  signed char byte[64];
};
using lines = std::unique_ptr<line[]>;

// Panels of 32 lanes, for every 64 steps two tiles; what is not there is zero.
template <class Pack>
lines packed(const bytes_view& x, int threads, const Pack& pack) {
  const long long count = panels_of(x.lanes), size = panel_size(x.steps);
  lines to(new line[(std::size_t)(count * size / 64)]);
  parallel_for(count, threads, [&](long long first, long long last) {
    for (long long i = first; i < last; ++i)
      for (long long k = 0; k < x.steps; k += 64)
        for (int half = 0; half < 2; ++half)
          pack(x, i * panel_lanes + 16 * half, k,
               to[(std::size_t)(i * size + k * panel_lanes + half * tile_bytes) / 64].byte);
  });
  return to;
}

}  // namespace

void int8_product(const bytes_view& a, const bytes_view& b, int* out) {
  const long long m = a.lanes, n = b.lanes, k = a.steps;
  const int8_ops& ops = active_int8_ops();
  const int threads = threads_for((double)m * (double)n * (double)k, 3e7);
  const lines left = packed(a, threads, pack_rows);
  const lines right = packed(
      b, threads, [&](const bytes_view& x, long long lane, long long step, signed char* tile) {
        pack_columns(ops, x, lane, step, tile);
      });
  const long long panel = panel_size(k), block = int8_block * panel_lanes;
  parallel_for(panels_of(m), threads, [&](long long first, long long last) {
    for (long long j = 0; j < n; j += block) {
      for (long long s = 0; s < k; s += int8_chunk) {
        for (long long i = first; i < last; ++i) {
          int8_job job{};
          job.a = left[0].byte + i * panel + s * panel_lanes;
          job.b = right[0].byte + j / panel_lanes * panel + s * panel_lanes;
          job.panel = panel;
          job.steps = (int)(std::min<long long>(int8_chunk, round_up_64(k - s)) / 64);
          job.rows = (int)std::min<long long>(panel_lanes, m - i * panel_lanes);
          job.columns = std::min(block, n - j);
          job.out = out + i * panel_lanes * n + j;
          job.pitch = n;
          job.add = s > 0;
          ops.multiply(job);
        }
      }
    }
    ops.release();
  });
}

namespace {

constexpr char what[] = "product of bytes";

void multiply(nb::handle a, nb::handle b, nb::handle out) {
  const buffer p(a, false, what), q(b, false, what), o(out, true, what);
  if (!p.holds<signed char>() || !q.holds<signed char>() || p.ndim() != 2 || q.ndim() != 2 ||
      p.shape(1) != q.shape(0))
    bad_argument(what, "int8 matrices (m, k) and (k, n) are needed");
  if (!o.holds<int>() || !o.is_contiguous() || o.ndim() != 2 || o.shape(0) != p.shape(0) ||
      o.shape(1) != q.shape(1))
    bad_argument(what, "the result must be int32, C-contiguous, of shape (m, n)");
  if (p.shape(1) > int8_most_steps) bad_argument(what, "sums may overflow 32 bits");
  const bytes_view x{p.data<signed char>(), p.stride(0), p.stride(1), p.shape(0), p.shape(1)};
  const bytes_view y{q.data<signed char>(), q.stride(1), q.stride(0), q.shape(1), q.shape(0)};
  int* to = o.data<int>();
  nb::gil_scoped_release release;
  if (x.steps == 0) {
    std::fill_n(to, x.lanes * y.lanes, 0);
    return;
  }
  int8_product(x, y, to);
}

}  // namespace

void bind_int8(nb::module_& m) {
  m.attr("int8_most_steps") = int8_most_steps;
  m.def("int8_product", &multiply, nb::arg("a"), nb::arg("b"), nb::arg("out"));
}

}  // namespace mdla
