// SPDX-License-Identifier: BSD-3-Clause
// Conversion to residues in float64 and reduction of their products, shared out among threads.
#include "wide_residues.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dispatch.hpp"
#include "survey.hpp"
#include "threads.hpp"

namespace mdla {

#if defined(MDLA_X86)
namespace v2 {
const wide_ops& wide_table();
}
namespace v3 {
const wide_ops& wide_table();
}
namespace v4 {
const wide_ops& wide_table();
}

const wide_ops& active_wide_ops() {
  switch (active_level()) {
    case 2:
      return v4::wide_table();
    case 1:
      return v3::wide_table();
    default:
      return v2::wide_table();
  }
}
#else
namespace portable {
const wide_ops& wide_table();
}

const wide_ops& active_wide_ops() { return portable::wide_table(); }
#endif

void wide_convert(const entries_view& x, const wide_format& format, double* target,
                  long long pitch) {
  wide_convert_job job{};
  job.source = x.p;
  job.part = x.part;
  job.limb = x.limb;
  job.line = x.lane;
  job.entry = x.step;
  job.parts = x.parts;
  job.limbs = x.limbs;
  job.entries = x.steps;
  job.words = format.words;
  job.digits = (format.bits + 2 + 51) / 52;
  job.constants = format.constants;
  job.modulus = format.moduli;
  job.forms = format.forms;
  job.target = target;
  job.plane = x.lanes * pitch;
  job.pitch = pitch;
  job.lanes_are_lines = format.lanes_are_lines;
  std::vector<double> inverse((std::size_t)format.forms);
  for (std::size_t f = 0; f < inverse.size(); ++f) inverse[f] = 1 / format.moduli[f];
  job.inverse = inverse.data();
  // Entries of a line are read 16 at a time; lanes with inf or nan are zero here.
  const long long lanes = format.lanes_are_lines ? x.lanes : x.steps;
  const int unit = cut_origin - 52 * job.digits + format.bits;
  std::vector<double> low((std::size_t)lanes + 16), high((std::size_t)lanes + 16);
  for (std::size_t l = 0; l < (std::size_t)lanes; ++l) {
    const int e = format.exponents[l];
    if (!has_exponent(e)) continue;
    low[l] = power_of_two((unit - e) / 2);
    high[l] = power_of_two(unit - e - (unit - e) / 2);
  }
  job.low = low.data();
  job.high = high.data();
  const double work = (double)x.lanes * (double)x.steps *
                      (double)(format.forms * x.parts * format.words + 8 * x.limbs * x.parts);
  parallel_for(x.lanes, threads_for(work, 3e5), [&](long long first, long long last) {
    wide_convert_job mine = job;
    mine.first_line = first;
    mine.last_line = last;
    active_wide_ops().convert(mine);
  });
}

void wide_reduce(const wide_products& x, signed char* target, int planes, int first, bool add) {
  const product_layout layout{{x.rows, 0}, {x.columns, 0}};
  const long long part = planes * layout.byte_plane(), plane = first * layout.byte_plane();
  const wide_ops& ops = active_wide_ops();
  const double work = (double)x.rows * (double)x.columns * x.parts;
  parallel_for(x.rows, threads_for(work, 1e5), [&](long long begin, long long end) {
    wide_reduce_job job{};
    job.columns = x.columns;
    job.modulus = x.modulus;
    job.inverse = 1 / x.modulus;
    job.half = x.half;
    job.over = x.over;
    job.plane = layout.byte_plane();
    job.add = add;
    for (long long r = begin; r < end; ++r) {
      job.p = x.p + r * x.columns;
      job.q = job.p + x.rows * x.columns;
      job.real =
          target + plane +
          (r / panel_lanes * layout.columns.panels() * panel_lanes + r % panel_lanes) * panel_lanes;
      job.imaginary = job.real + part;
      (x.parts == 2 ? ops.reduce_complex : ops.reduce_real)(job);
    }
  });
}

}  // namespace mdla
