// SPDX-License-Identifier: BSD-3-Clause
// The table of residue kernels for one matrix engine; see residue_ops.hpp.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "residue_convert.hpp"
#include "residue_multiply.hpp"
#include "residue_reconstruct.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {
namespace {

// Unrolled for the digits that up to four limbs need as a rule.
template <template <int, int> class Convert>
void with_sizes(const convert_job& job) {
  const int extra = job.digits - job.limbs;
  if (extra == 0 || extra == 1) {
    switch (2 * job.limbs + extra) {
      case 2:
        return Convert<1, 1>::run(job);
      case 3:
        return Convert<1, 2>::run(job);
      case 4:
        return Convert<2, 2>::run(job);
      case 5:
        return Convert<2, 3>::run(job);
      case 6:
        return Convert<3, 3>::run(job);
      case 7:
        return Convert<3, 4>::run(job);
      case 8:
        return Convert<4, 4>::run(job);
      case 9:
        return Convert<4, 5>::run(job);
    }
  }
  Convert<0, 0>::run(job);
}

template <int N, int D>
struct rows {
  static void run(const convert_job& job) { convert_rows_of<N, D>(job); }
};
template <int N, int D>
struct columns {
  static void run(const convert_job& job) { convert_columns_of<N, D>(job); }
};

// Unrolled for the chunks that up to four limbs need as a rule.
void reconstruct(const reconstruct_job& job) {
  switch (100 * job.limbs + job.chunks) {
    case 103:
      return reconstruct_of<1, 3>(job);
    case 104:
      return reconstruct_of<1, 4>(job);
    case 205:
      return reconstruct_of<2, 5>(job);
    case 206:
      return reconstruct_of<2, 6>(job);
    case 307:
      return reconstruct_of<3, 7>(job);
    case 408:
      return reconstruct_of<4, 8>(job);
    case 409:
      return reconstruct_of<4, 9>(job);
  }
  switch (job.limbs) {
    case 1:
      return reconstruct_of<1, 0>(job);
    case 2:
      return reconstruct_of<2, 0>(job);
    case 3:
      return reconstruct_of<3, 0>(job);
    case 4:
      return reconstruct_of<4, 0>(job);
    case 5:
      return reconstruct_of<5, 0>(job);
    case 8:
      return reconstruct_of<8, 0>(job);
    case 10:
      return reconstruct_of<10, 0>(job);
    case 16:
      return reconstruct_of<16, 0>(job);
  }
}

void finish_entry(const reconstruct_job& job, const double* digits, int row, int column) {
  switch (job.limbs) {
    case 1:
      return finish_entry_of<1>(job, digits, row, column);
    case 2:
      return finish_entry_of<2>(job, digits, row, column);
    case 3:
      return finish_entry_of<3>(job, digits, row, column);
    case 4:
      return finish_entry_of<4>(job, digits, row, column);
    case 5:
      return finish_entry_of<5>(job, digits, row, column);
    case 8:
      return finish_entry_of<8>(job, digits, row, column);
    case 10:
      return finish_entry_of<10>(job, digits, row, column);
    case 16:
      return finish_entry_of<16>(job, digits, row, column);
  }
}

void copy(double* to, const double* from, int n) {
  std::memcpy(to, from, (std::size_t)n * sizeof(double));
}

// Whole lines go past the caches and need not be read before they are written.
void stream(double* to, const double* from, int n) {
  int i = 0;
#if MDLA_WIDE
  for (; i < n && (std::uintptr_t)(to + i) % 64 != 0; ++i) to[i] = from[i];
  for (; i + 8 <= n; i += 8) _mm512_stream_pd(to + i, _mm512_loadu_pd(from + i));
  // A line that is shared with what comes next has to be read; so does one n further on, soon.
  if (i < n) __builtin_prefetch(to + i + n, 1, 3);
#endif
  for (; i < n; ++i) to[i] = from[i];
}

void release() {
#if MDLA_AMX
  asm volatile("tilerelease" ::);
#endif
#if MDLA_WIDE
  _mm_sfence();  // other threads see what was streamed
#endif
}

}  // namespace

const residue_ops& residue_table() {
  static const residue_ops table = {&with_sizes<rows>, &with_sizes<columns>,
                                    &multiply_plane,   &reconstruct,
                                    &finish_entry,     &copy,
                                    &stream,           &release};
  return table;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
