// SPDX-License-Identifier: BSD-3-Clause
// The kernels of wide_residues.hpp for one instruction set; compiled once for each.
//
// Converting: an entry is cut to words of 32 bits (residue_cut.hpp) and these to halves h_t of 16,
//
//     X mod m = sum_t h_t (2^(16 t) mod m) - 2^(32 W - 1)   mod m,
//
// up to 129 products of at most 2^16 and 2^22: exact in doubles. Cost of an entry and a modulus:
// 2 W + 3 operations.
//
// Reducing: x - m round(x / m), exact for integers |x| <= 2^53 since the quotient is below 2^40;
// the quotient is wrong by at most 2^-20, so that the residue exceeds m/2 by at most that many m.
#include "residue_cut.hpp"
#include "wide_residues.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {
namespace {

using T = simd<double>;
constexpr int width = width_v<T>;
constexpr int batch = 64;  // entries

// a b + c for integers: exact, so one rounding or two make no difference.
MDLA_INLINE T multiply_add(T a, T b, T c) {
  if constexpr (width > 1) {
    return fma(a, b, c);
  } else {
    return mul_rn(a, b) + c;
  }
}

struct reduction {
  T modulus, inverse;
  MDLA_INLINE reduction(double m, double inv) : modulus(splat<T>(m)), inverse(splat<T>(inv)) {}
  MDLA_INLINE T operator()(T x) const {
    const T round = splat<T>(0x1.8p52);
    const T quotient = (mul_rn(x, inverse) + round) - round;
    return multiply_add(-quotient, modulus, x);
  }
};

// ---- entries -> residues ------------------------------------------------------------------------

struct convert_scratch {
  alignas(64) unsigned words[64 * most_halves / 2];
  alignas(64) double halves[most_halves][batch] = {};
  alignas(64) double stage[max_cut_limbs * 16];
  alignas(64) double low[16], high[16];
};

template <int N, int D>
MDLA_INLINE void cut_to_halves(convert_scratch& s, int at, const double* source, long long limb,
                               const double* low, const double* high, int first,
                               const convert_job& format) {
  cut_16<N, D>(s.words, source, limb, low, high, format);
  for (int w = 0; w < format.words; ++w) {
    const unsigned* word = s.words + 64 * w;
    double *even = s.halves[at + 2 * w] + first, *odd = s.halves[at + 2 * w + 1] + first;
    for (int l = 0; l < 16; ++l) {
      even[l] = (int)(word[l] & 0xffff);
      odd[l] = (int)(word[l] >> 16);
    }
  }
}

// Some vectors of entries at once: as many sums as hide the latency of an addition.
MDLA_INLINE void form_residues(const convert_scratch& s, int count, const wide_convert_job& job,
                               double* target) {
  constexpr int together = 4;
  const int halves = 2 * job.parts * job.words;
  for (int f = 0; f < job.forms; ++f) {
    const double* c = job.constants + (long long)f * (halves + 1);
    const reduction reduce(job.modulus[f], job.inverse[f]);
    for (int v = 0; v < count; v += together * width) {
      T sum[together];
      MDLA_UNROLL
      for (int i = 0; i < together; ++i) sum[i] = splat<T>(c[halves]);
      for (int t = 0; t < halves; ++t) {
        const T constant = splat<T>(c[t]);
        MDLA_UNROLL
        for (int i = 0; i < together; ++i)
          sum[i] = multiply_add(io<T>::load(s.halves[t] + v + i * width), constant, sum[i]);
      }
      MDLA_UNROLL
      for (int i = 0; i < together; ++i)
        io<T>::store(target + f * job.plane + v + i * width, reduce(sum[i]));
    }
  }
}

template <int N, int D>
void convert_of(const wide_convert_job& job) {
  convert_scratch s;
  convert_job format{};
  format.limbs = job.limbs;
  format.digits = job.digits;
  format.words = job.words;
  for (long long l = job.first_line; l < job.last_line; ++l) {
    if (job.lanes_are_lines)
      for (int i = 0; i < 16; ++i) s.low[i] = job.low[l], s.high[i] = job.high[l];
    for (long long k = 0; k < job.entries; k += batch) {
      const int count = (int)(job.entries - k < batch ? job.entries - k : batch);
      for (int first = 0; first < count; first += 16) {
        const double* low = job.lanes_are_lines ? s.low : job.low + k + first;
        const double* high = job.lanes_are_lines ? s.high : job.high + k + first;
        for (int q = 0; q < job.parts; ++q) {
          const double* p = job.source + q * job.part + l * job.line + (k + first) * job.entry;
          const int at = 2 * q * job.words;
          if (job.entry == 1 && count - first >= 16) {
            cut_to_halves<N, D>(s, at, p, job.limb, low, high, first, format);
            continue;
          }
          for (int i = 0; i < job.limbs; ++i)
            for (int x = 0; x < 16; ++x)
              s.stage[16 * i + x] = first + x < count ? p[i * job.limb + x * job.entry] : 0;
          cut_to_halves<N, D>(s, at, s.stage, 16, low, high, first, format);
        }
      }
      form_residues(s, count, job, job.target + l * job.pitch + k);
    }
  }
}

// Unrolled for the digits that one, two and four limbs need as a rule.
void convert(const wide_convert_job& job) {
  switch (100 * job.limbs + job.digits) {
    case 102:
      return convert_of<1, 2>(job);
    case 202:
      return convert_of<2, 2>(job);
    case 203:
      return convert_of<2, 3>(job);
    case 404:
      return convert_of<4, 4>(job);
    case 405:
      return convert_of<4, 5>(job);
  }
  convert_of<0, 0>(job);
}

// ---- products -> bytes --------------------------------------------------------------------------

typedef double f64x16 __attribute__((vector_size(128)));
typedef signed char i8x16 __attribute__((vector_size(16)));

// 32 residues as bytes: r + 2^7 (1 + 2^8 + 2^16) has them with 128 added to each.
struct byte_line {
  alignas(64) double value[panel_lanes];

  MDLA_INLINE void read(const signed char* p, long long plane) {
    for (int i = 0; i < panel_lanes; i += 16) {
      const i32x16 r = load_bytes(p + i) + (load_bytes(p + plane + i) << 8) +
                       (load_bytes(p + 2 * plane + i) << 16);
      const f64x16 x = __builtin_convertvector(r, f64x16);
      std::memcpy(value + i, &x, sizeof x);
    }
  }
  MDLA_INLINE void write(signed char* p, long long plane) const {
    for (int i = 0; i < panel_lanes; i += 16) {
      f64x16 x;
      std::memcpy(&x, value + i, sizeof x);
      const i32x16 r = (__builtin_convertvector(x, i32x16) + 0x808080) ^ 0x808080;
      MDLA_UNROLL
      for (int b = 0; b < wide_bytes; ++b) {
        const i8x16 byte = __builtin_convertvector(r >> (8 * b), i8x16);
        std::memcpy(p + b * plane + i, &byte, sizeof byte);
      }
    }
  }
};

// f(p, offset) for each tile of the row: 32 numbers of each product, and where their bytes go.
template <int Products, class F>
MDLA_INLINE void for_tiles(const wide_reduce_job& job, const F& f) {
  const double* const all[2] = {job.p, job.q};
  for (long long c = 0; c < job.columns; c += panel_lanes) {
    const long long offset = c * panel_lanes;
    const double* at[2];
    alignas(64) double stage[Products][panel_lanes];
    for (int i = 0; i < Products; ++i) {
      at[i] = all[i] + c;
      if (job.columns - c >= panel_lanes) continue;
      for (int x = 0; x < panel_lanes; ++x) stage[i][x] = c + x < job.columns ? at[i][x] : 0;
      at[i] = stage[i];
    }
    f(at, offset);
  }
}

template <bool Add>
void reduce_real_of(const wide_reduce_job& job) {
  const reduction reduce(job.modulus, job.inverse);
  for_tiles<1>(job, [&](const double* const* p, long long offset) {
    byte_line line;
    if (Add) line.read(job.real + offset, job.plane);
    for (int v = 0; v < panel_lanes; v += width) {
      T x = io<T>::load(p[0] + v);
      if (Add) x = x + io<T>::load(line.value + v);
      io<T>::store(line.value + v, reduce(x));
    }
    line.write(job.real + offset, job.plane);
  });
}

template <bool Add>
void reduce_complex_of(const wide_reduce_job& job) {
  const reduction reduce(job.modulus, job.inverse);
  const T half = splat<T>(job.half), over = splat<T>(job.over);
  for_tiles<2>(job, [&](const double* const* p, long long offset) {
    byte_line real, imaginary;
    if (Add) {
      real.read(job.real + offset, job.plane);
      imaginary.read(job.imaginary + offset, job.plane);
    }
    for (int v = 0; v < panel_lanes; v += width) {
      const T x = reduce(io<T>::load(p[0] + v)), y = reduce(io<T>::load(p[1] + v));
      T a = mul_rn(x + y, half), b = mul_rn(x - y, over);
      if (Add) {
        a = a + io<T>::load(real.value + v);
        b = b + io<T>::load(imaginary.value + v);
      }
      io<T>::store(real.value + v, reduce(a));
      io<T>::store(imaginary.value + v, reduce(b));
    }
    real.write(job.real + offset, job.plane);
    imaginary.write(job.imaginary + offset, job.plane);
  });
}

void reduce_real(const wide_reduce_job& job) {
  job.add ? reduce_real_of<true>(job) : reduce_real_of<false>(job);
}
void reduce_complex(const wide_reduce_job& job) {
  job.add ? reduce_complex_of<true>(job) : reduce_complex_of<false>(job);
}

}  // namespace

const wide_ops& wide_table() {
  static const wide_ops table = {&convert, &reduce_real, &reduce_complex};
  return table;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
