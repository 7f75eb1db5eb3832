// SPDX-License-Identifier: BSD-3-Clause
// From residues of a product back to the product.
//
//     C = sum_p W_p r_p - Q M,    Q = round(sum_p W_p r_p / M),
//
// over residues r_p of one byte: those of byte moduli, and both bytes of those of pairs. The sum is
// a small matrix product on the engine, bytes of the weights times bytes of residues, 16 rows of
// weights by 64 entries a time. Bytes far below the unit in the last place are left out of W and M:
// what that changes is below `tie_width`, and entries for which it could matter are told.
//
// Cost of 8 entries with P residues and C chunks: P/2 tile rows or C P dot products, then 5 C / 2
// conversions, 6 C operations for Q and carries, 3 for each pair of a chunk and a limb or more.
#pragma once

#include <type_traits>

#include "digits.hpp"
#include "int8_unit.hpp"
#include "twofold.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

// Four byte planes at 64 entries -> words [4 groups][16]; lane 4 L + i of group g is entry
// 16 L + 4 g + i. Weights of planes beyond those present are zero, whatever stands for them.
MDLA_INLINE void interleave_bytes(unsigned* words, const signed char* p, long long plane,
                                  int present) {
#if MDLA_WIDE
  __m512i x[4];
  MDLA_UNROLL
  for (int i = 0; i < 4; ++i) {
    const signed char* from = p + (i < present ? i : 0) * plane;
    __builtin_prefetch(from + panel_lanes * panel_lanes, 0, 2);  // the tile to the right
    x[i] = _mm512_loadu_si512(from);
  }
  const __m512i a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpackhi_epi8(x[0], x[1]);
  const __m512i c = _mm512_unpacklo_epi8(x[2], x[3]), d = _mm512_unpackhi_epi8(x[2], x[3]);
  _mm512_store_si512(words, _mm512_unpacklo_epi16(a, c));
  _mm512_store_si512(words + 16, _mm512_unpackhi_epi16(a, c));
  _mm512_store_si512(words + 32, _mm512_unpacklo_epi16(b, d));
  _mm512_store_si512(words + 48, _mm512_unpackhi_epi16(b, d));
#else
  for (int e = 0; e < 64; ++e) {
    unsigned w = 0;
    for (int i = 0; i < 4 && i < present; ++i) w |= (unsigned)(p[i * plane + e] & 255) << (8 * i);
    words[e / 4 % 4 * 16 + e / 16 * 4 + e % 4] = w;
  }
#endif
}

// Two pair planes: low and high byte of each, both signed.
MDLA_INLINE void interleave_pairs(unsigned* words, const short* p, long long plane, int present) {
#if MDLA_WIDE
  __m512i x[2][2];
  MDLA_UNROLL
  for (int i = 0; i < 2; ++i) {
    MDLA_UNROLL
    for (int h = 0; h < 2; ++h) {
      const short* from = p + (i < present ? i : 0) * plane + 32 * h;
      __builtin_prefetch(from + panel_lanes * panel_lanes, 0, 2);
      const __m512i r = _mm512_loadu_si512(from);
      const __m512i carried = _mm512_add_epi16(r, _mm512_set1_epi16(128));
      // carried where the mask has ones, else r
      x[i][h] = _mm512_ternarylogic_epi32(_mm512_set1_epi16((short)0xff00), carried, r, 0xca);
    }
  }
  // 32-bit words of entries 8 L + 0..3 and 8 L + 4..7 of each half
  const __m512i a = _mm512_unpacklo_epi16(x[0][0], x[1][0]);
  const __m512i b = _mm512_unpackhi_epi16(x[0][0], x[1][0]);
  const __m512i c = _mm512_unpacklo_epi16(x[0][1], x[1][1]);
  const __m512i d = _mm512_unpackhi_epi16(x[0][1], x[1][1]);
  const __m512i even = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
  const __m512i odd = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
  _mm512_store_si512(words, _mm512_permutex2var_epi64(a, even, c));
  _mm512_store_si512(words + 16, _mm512_permutex2var_epi64(b, even, d));
  _mm512_store_si512(words + 32, _mm512_permutex2var_epi64(a, odd, c));
  _mm512_store_si512(words + 48, _mm512_permutex2var_epi64(b, odd, d));
#else
  for (int e = 0; e < 64; ++e) {
    unsigned w = 0;
    for (int i = 0; i < 2 && i < present; ++i) {
      const int r = p[i * plane + e];
      w |= (unsigned)((r & 255) | ((r + 128) & 0xff00)) << (16 * i);
    }
    words[e / 4 % 4 * 16 + e / 16 * 4 + e % 4] = w;
  }
#endif
}

// Sums of a chunk are in four rows, of weights 1, 2^8, 2^16, 2^24: two words for each entry.
MDLA_INLINE void store_words_of_chunk(int* low, int* high, const int* sums) {
  store16(low, load16(sums) + (load16(sums + 16) << 8));
  store16(high, load16(sums + 32) + (load16(sums + 48) << 8));
}

template <class P>
struct converted {  // integers from memory
  static MDLA_INLINE P load(const int* p) {
    double x[width_v<P>];
    for (int i = 0; i < width_v<P>; ++i) x[i] = p[i];
    return io<P>::load(x);
  }
};
#if MDLA_WIDE
template <>
struct converted<doublex8> {
  static MDLA_INLINE doublex8 load(const int* p) {
    return doublex8(_mm512_cvtepi32_pd(_mm256_load_si256((const __m256i*)p)));
  }
};
#endif
template <class V>
struct converted<twofold<V>> {
  static MDLA_INLINE twofold<V> load(const int* p) {
    return {converted<V>::load(p), converted<V>::load(p + width_v<V>)};
  }
};

// w[c], balanced digits of weight 2^(32 c) with w[0] a multiple of 2^24 -> N limbs, in units of
// 2^(32 (count - 1) - chunk_level). C other than 0 is the number of chunks, known when this is
// compiled.
template <int N, int C, class T>
MDLA_INLINE expansion<T, N> limbs_of(const T* w, int chunks) {
  T x[C ? C : most_chunks];
  const int count = C ? C : chunks;
  const auto unit = [count](int c) {
    return splat<T>(as_real((u64)(1023 + chunk_level(count) - 32 * (count - 1 - c)) << 52));
  };
  // Two digits at the top fit in a double, since M takes 20 bits less than all chunks, and so do
  // the two lowest.
  const int low = count > 3 ? 2 : 1;
  int n = 0;
  x[n++] = fma(w[count - 2], unit(count - 2), mul_rn(w[count - 1], unit(count - 1)));
  MDLA_UNROLL
  for (int c = count - 3; c >= low; --c) x[n++] = mul_rn(w[c], unit(c));
  if (count > 3) {
    x[n++] = fma(w[0], unit(0), mul_rn(w[1], unit(1)));
  } else if (count > 2) {
    x[n++] = mul_rn(w[0], unit(0));
  }
  for (; n < N + 1; ++n) x[n] = splat<T>(0);
  triangle<N>(x, n, N + 1);
  return settle<N>(x);
}

// As many lanes as registers hold: the chain of carries is long.
template <int N>
struct finished {
#if MDLA_WIDE
  using wide = twofold<twofold<simd<double>>>;
  using type = std::conditional_t<N <= 4, wide, twofold<simd<double>>>;
#else
  using type = twofold<simd<double>>;
#endif
};

template <class T>
MDLA_INLINE T rounded(T x, T round) {
  return (x + round) - round;
}

template <int N, class T>
MDLA_INLINE void scale_results(expansion<T, N>& r, T row, T column, bool are_factors) {
  if (are_factors) {
    const T factor = mul_rn(row, column);
    MDLA_UNROLL
    for (int i = 0; i < N; ++i) r.limb[i] = mul_rn(r.limb[i], factor);
  } else {
    const power_of_two<T> power(row + column);
    MDLA_UNROLL
    for (int i = 0; i < N; ++i) r.limb[i] = power.apply(r.limb[i]);
    const mask_t<T> finite = lt(abs(r.limb[0]), splat<T>(__builtin_inf()));
    MDLA_UNROLL
    for (int i = 1; i < N; ++i) r.limb[i] = select(finite, r.limb[i], splat<T>(0));
  }
}

// Sums for two groups of 16 entries -> their results in rows row, row + 1.
template <int N, int FixedC>
MDLA_INLINE void finish_groups(const int* sums, int row, int group, const double* column_lanes,
                               const reconstruct_job& job) {
  using P = simd<double>;
  using T = typename finished<N>::type;
  constexpr int lanes = width_v<T>;
  const int C = FixedC ? FixedC : job.chunks;
  alignas(64) int low[FixedC ? FixedC : most_chunks][32], high[FixedC ? FixedC : most_chunks][32];
  MDLA_UNROLL
  for (int c = 0; c < C; ++c) {
    const int* of_chunk = sums + (c / 4) * group_sums + 256 * group + 64 * (c % 4);
    store_words_of_chunk(low[c], high[c], of_chunk);
    store_words_of_chunk(low[c] + 16, high[c] + 16, of_chunk + 256);
  }
  memory_barrier();  // halves of vectors are cheaper to read again than to shift down
  const T round = splat<T>(0x1.8p52), high_round = splat<T>(0x1.8p84), down = splat<T>(0x1p-32);
  const T quantum_round = splat<T>(as_real((u64)(1023 + 52 + job.quantum) << 52 | 1ULL << 51));
  const T half = splat<T>(as_real((u64)(1023 + job.quantum - 1) << 52));
  for (int v = 0; v < 32; v += lanes) {
    T w[FixedC ? FixedC : most_chunks];
    MDLA_UNROLL
    for (int c = 0; c < C; ++c)
      w[c] = fma(converted<T>::load(high[c] + v), splat<T>(0x1p16), converted<T>::load(low[c] + v));
    T top = w[C - 1];
    if (C > 1) top = fma(w[C - 2], down, top);
    if (C > 2) top = fma(w[C - 3], splat<T>(0x1p-64), top);
    const T q = rounded(mul_rn(top, splat<T>(job.inverse)), round);
    w[0] = fma(-q, splat<T>(job.modulus[0]), w[0]);
    const T kept = rounded(w[0], quantum_round);
    const T off = abs(w[0] - kept) - half;
    const mask_t<T> close = !lt(off, splat<T>(-job.tie_width));
    // A half is always carried: digits are in [-2^31, 2^31), and so the only ones of the number.
    const T quarter = splat<T>(0.25);
    T above = kept + quarter;
    MDLA_UNROLL
    for (int c = 0; c + 1 < C; ++c) {
      const T carry = rounded(above, high_round);
      w[c] = above - carry - quarter;
      above = fma(carry, down, fma(-q, splat<T>(job.modulus[c + 1]), w[c + 1]) + quarter);
    }
    w[C - 1] = above - quarter;
    // Lane l is entry `column` of row `at`.
    const auto at = [&](int l) { return row + (v + l) % 16 / 8; };
    const auto column = [&](int l) {
      return 16 * ((v + l) % 8 / 4) + 4 * (group + (v + l) / 16) + (v + l) % 4;
    };
    if (any(close)) {
      alignas(64) double offs[lanes];
      io<T>::store(offs, off);
      for (int l = 0; l < lanes; ++l)
        if (!(offs[l] < -job.tie_width)) job.undecided[at(l)] |= 1u << column(l);
    }
    const expansion<T, N> r = limbs_of<N, FixedC>(w, C);
    MDLA_UNROLL
    for (int l = 0; l < lanes; l += width_v<P>) {
      expansion<P, N> x;
      MDLA_UNROLL
      for (int i = 0; i < N; ++i) x.limb[i] = part<P>(r.limb[i], l / width_v<P>);
      scale_results<N>(x, splat<P>(job.row_exponents[at(l)]),
                       io<P>::load(column_lanes + (v + l) / 16 * 8 + (v + l) % 8), job.are_factors);
      double* to = job.out + at(l) * panel_lanes;
      for (int i = 0; i < N; ++i, to += panel_lanes * panel_lanes) {
        alignas(64) double line[width_v<P>];
        io<P>::store(line, x.limb[i]);
        constexpr int piece = width_v<P> < 4 ? width_v<P> : 4;
        for (int y = 0; y < width_v<P>; y += piece)
          std::memcpy(to + column(l + y), line + y, piece * sizeof(double));
      }
    }
  }
}

// The residues of a pair of rows as words.
MDLA_INLINE void gather_words(unsigned* words, int row, const reconstruct_job& job) {
  const int byte_quads = (job.byte_planes + 3) / 4;
  for (int x = 0; x < job.byte_planes; x += 4)
    interleave_bytes(words + 16 * x, job.bytes + x * job.byte_plane + 32 * row, job.byte_plane,
                     job.byte_planes - x);
  for (int x = 0; x < job.pair_planes; x += 2)
    interleave_pairs(words + 64 * byte_quads + 32 * x, job.pairs + x * job.pair_plane + 32 * row,
                     job.pair_plane, job.pair_planes - x);
}

// While one pair of rows is multiplied by the weights, the words of the next are gathered and the
// pair two before is finished, so that nothing is read that is still on its way to memory.
template <int N, int C>
void reconstruct_of(const reconstruct_job& job) {
  struct {
    alignas(64) unsigned words[2][64 * most_words];
    alignas(64) int sums[3][most_chunks / 4 * group_sums];
    alignas(64) double columns[2][16];
  } s;
#if MDLA_AMX
  configure_tiles(16, job.quads < 16 ? job.quads : 16);
#endif
  for (int g = 0; g < 4; ++g)
    for (int l = 0; l < 8; ++l)
      s.columns[g / 2][g % 2 * 8 + l] = job.column_exponents[16 * (l / 4) + 4 * g + l % 4];
  const int groups = ((C ? C : job.chunks) + 3) / 4;
  constant_products<true> products;
  gather_words(s.words[0], 0, job);
  for (int row = 0; row < panel_lanes + 4; row += 2) {
    const int* waiting = s.sums[(row / 2 + 1) % 3];
    int finished = row < 4 ? 2 : 0;  // halves of its entries
    const auto finish = [&](int end) {
      for (; finished < end; ++finished)
        finish_groups<N, C>(waiting, row - 4, 2 * finished, s.columns[finished], job);
    };
    for (int t = 0; t < groups && row < panel_lanes; ++t)
      products.multiply(s.sums[row / 2 % 3] + t * group_sums,
                        job.weights + (long long)t * job.tiles * tile_bytes, s.words[row / 2 % 2],
                        job.quads, [&] {
                          if (t == 0 && row + 2 < panel_lanes)
                            gather_words(s.words[row / 2 % 2 ^ 1], row + 2, job);
                          finish(2 * (t + 1) / groups);
                        });
    if (row >= panel_lanes) products.finish();
    finish(2);
  }
}

template <int N>
void finish_entry_of(const reconstruct_job& job, const double* digits, int row, int column) {
  double w[most_chunks];
  for (int c = 0; c < job.chunks; ++c) w[c] = digits[c];
  expansion<double, N> r = limbs_of<N, 0>(w, job.chunks);
  scale_results<N>(r, job.row_exponents[row], job.column_exponents[column], job.are_factors);
  for (int i = 0; i < N; ++i) job.out[(i * panel_lanes + row) * panel_lanes + column] = r.limb[i];
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
