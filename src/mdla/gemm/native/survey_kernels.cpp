// SPDX-License-Identifier: BSD-3-Clause
// The table of survey.hpp for one instruction set; compiled once for each.
//
// The survey takes the upper halves of doubles: sign, exponent and 20 bits of the fraction. That is
// all it takes to round |x| 2^(20 - E) down to an integer, by a shift by the distance of exponents,
// except where E is so low that subnormal numbers count. One pass over memory finds the largest
// half of a lane and leaves the halves in a work space that stays in the cache; a second pass, over
// that, cuts them off and adds. Sums of integers do not depend on their order. Some 25 vector
// instructions take as many doubles as a vector has halves.
#include "lane.hpp"
#include "survey.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace {

#if defined(__AVX512BW__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

template <class W, int Bytes = vector_bytes>
struct vector_of {
  typedef W type __attribute__((vector_size(Bytes)));
};
using halves = vector_of<u32>::type;
using doubles = vector_of<u64>::type;  // as integers
using signed_doubles = vector_of<i64>::type;

constexpr int width = vector_bytes / 4, half_width = vector_bytes / 8;
constexpr u64 sign_bit = u64(1) << 63, infinity_bits = u64(0x7ff) << 52;
constexpr int bias = 1022;                  // of frexp's exponents
constexpr int lowest_shifted = 20;          // biased exponents of lanes from here on can be shifted
constexpr long long steps_to_carry = 4096;  // 32-bit sums of numbers up to 2^19 last longer

template <class V>
MDLA_INLINE V load(const void* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
// Not those of the standard library, which would exist once for all instruction sets.
template <class V>
MDLA_INLINE V lesser(V a, V b) {
  return a < b ? a : b;
}
template <class V>
MDLA_INLINE V greater(V a, V b) {
  return a > b ? a : b;
}

// What one pass over `Vectors` vectors side by side finds: the largest upper halves, and all bits
// of all numbers. Word 2 i of a vector of halves comes from double i, word 2 i + 1 from double
// half_width + i.
template <int Vectors>
struct findings {
  halves most[Vectors] = {};
  doubles seen[Vectors][2] = {};
};
constexpr int double_of_word(int w) { return w % 2 * half_width + w / 2; }

struct capped_totals {
  doubles of_words[2][survey_cap_count] = {};  // even and odd words
};

// `groups` rows of Vectors vectors, `stride` doubles apart, fetched Reach rows ahead.
template <int Vectors, int Reach>
struct block {
  const double* p;
  long long stride, groups;
  u32* words;  // the halves, `room` groups at a time
  long long room;
  const double* next;  // read after this, or null

  void take(findings<Vectors>& f, long long first) const {
    const long long count = lesser(room, groups - first);
    constexpr u64 upper = ~u64(0) << 32, unsigned_halves = ~(sign_bit | sign_bit >> 32);
    for (long long g = 0; g < count; ++g) {
      const double* q = p + (first + g) * stride;
      if constexpr (Reach > 0)
        for (int i = 0; i < Vectors * width; i += 8) __builtin_prefetch(q + Reach * stride + i);
      MDLA_UNROLL
      for (int v = 0; v < Vectors; ++v) {
        const doubles a = load<doubles>(q + v * width);
        const doubles b = load<doubles>(q + v * width + half_width);
        f.seen[v][0] |= a;
        f.seen[v][1] |= b;
        const halves h = (halves)(((a >> 32) | (b & upper)) & unsigned_halves);
        f.most[v] = greater(f.most[v], h);
        std::memcpy(words + (v * room + g) * width, &h, sizeof h);
      }
    }
  }
  findings<Vectors> scan() const {
    findings<Vectors> f;
    for (long long first = 0; first < groups; first += room) take(f, first);
    return f;
  }
  // totals[v] += the halves cut off and counted; `top` has the biased exponents of the words'
  // lanes.
  void add(capped_totals* totals, const halves* top) const {
    findings<Vectors> known;
    for (long long first = 0; first < groups; first += room) {
      if (groups > room) take(known, first);
      const long long count = lesser(room, groups - first);
      for (int v = 0; v < Vectors; ++v)
        for (long long g = 0; g < count; g += steps_to_carry)
          add_some(totals[v], words + (v * room + g) * width, lesser(steps_to_carry, count - g),
                   top[v], next ? next + (first + g) * width : nullptr);
    }
  }
  static void add_some(capped_totals& totals, const u32* from, long long count, halves top,
                       const double* ahead) {
    halves sums[survey_cap_count] = {};
    for (long long g = 0; g < count; ++g) {
      if (ahead)
        for (int i = 0; i < width; i += 8) __builtin_prefetch(ahead + g * width + i);
      const halves h = load<halves>(from + g * width);
      const halves shift = lesser(top + 1 - (h >> 20), halves{} + 31);
      const halves units = ((h & 0xfffff) | 0x100000) >> shift;
      MDLA_UNROLL
      for (int c = 0; c < survey_cap_count; ++c)
        sums[c] += lesser(units, halves{} + (u32)(survey_caps[c] * (1 << survey_bits)));
    }
    for (int c = 0; c < survey_cap_count; ++c) {
      totals.of_words[0][c] += (doubles)sums[c] & (~u64(0) >> 32);
      totals.of_words[1][c] += (doubles)sums[c] >> 32;
    }
  }
};

void lower(capped_sums_of_lane& least, const u64* sums) {
  for (int c = 0; c < survey_cap_count; ++c) least.of[c] = lesser(least.of[c], sums[c]);
}

int exponent_of_bits(u64 magnitude) {
  if (magnitude == 0) return zero_lane;
  if (magnitude >= infinity_bits) return special_lane;
  const int biased = (int)(magnitude >> 52);
  return biased ? biased - bias : 64 - __builtin_clzll(magnitude) - 1074;
}

// Any stride, any exponents; the definition of the sums.
void single_lane(const double* p, long long step, long long steps, int* exponent,
                 capped_sums_of_lane& least) {
  u64 most = 0;
  for (long long k = 0; k < steps; ++k) most = greater(most, as_int(p[k * step]) & ~sign_bit);
  *exponent = exponent_of_bits(most);
  if (!has_exponent(*exponent)) return;
  u64 sums[survey_cap_count] = {};
  for (long long k = 0; k < steps; ++k) {
    const u64 x = as_int(p[k * step]) & ~sign_bit;
    const int biased = (int)(x >> 52);
    const u64 fraction = x & ((u64(1) << 52) - 1);
    const u64 integer = biased ? fraction | u64(1) << 52 : fraction;  // |x| = 2^(this - 1075) times
    const int down = *exponent + 1075 - survey_bits - greater(biased, 1);
    const u64 units = down < 0 ? integer << -down : integer >> lesser(down, 63);
    for (int c = 0; c < survey_cap_count; ++c)
      sums[c] += lesser(units, (u64)(survey_caps[c] * (1 << survey_bits)));
  }
  lower(least, sums);
}

// Whether the exponent follows from the largest half, or from all bits seen: that of zeros and
// special lanes, and where shifts do. Other lanes are left to single_lane.
bool decide(int* exponent, u32 most, u64 seen) {
  const int biased = (int)(most >> 20);
  if ((seen & ~sign_bit) == 0) {
    *exponent = zero_lane;
  } else if (biased == 0x7ff) {
    *exponent = special_lane;
  } else {
    *exponent = biased - bias;
    return biased >= lowest_shifted;
  }
  return true;
}

// A lane with its steps side by side; `next` is the lane to come.
void lane_of_neighbours(const double* p, const double* next, long long steps, int* exponent,
                        capped_sums_of_lane& least, u32* workspace) {
  u32 tail_words[width];
  double tail[width] = {};
  const long long groups = steps / width;
  std::memcpy(tail, p + groups * width, (std::size_t)(steps - groups * width) * sizeof *p);
  const block<1, 0> body{p, width, groups, workspace, survey_workspace(steps) / width, next};
  const block<1, 0> rest{tail, width, 1, tail_words, 1, nullptr};
  const findings<1> found = body.scan(), last = rest.scan();
  const halves largest = greater(found.most[0], last.most[0]);
  const doubles all = found.seen[0][0] | found.seen[0][1] | last.seen[0][0] | last.seen[0][1];
  u32 most = 0;
  u64 seen = 0;
  for (int w = 0; w < width; ++w) most = greater(most, largest[w]);
  for (int w = 0; w < half_width; ++w) seen |= all[w];
  if (!decide(exponent, most, seen)) return single_lane(p, 1, steps, exponent, least);
  if (!has_exponent(*exponent)) return;
  capped_totals totals;
  const halves top = halves{} + (most >> 20);
  body.add(&totals, &top);
  rest.add(&totals, &top);
  u64 sums[survey_cap_count] = {};
  for (int c = 0; c < survey_cap_count; ++c) {
    const doubles sum = totals.of_words[0][c] + totals.of_words[1][c];
    for (int w = 0; w < half_width; ++w) sums[c] += sum[w];
  }
  lower(least, sums);
}

// Vectors vectors of lanes side by side.
template <int Vectors>
void neighbouring_lanes(const double* p, long long step, long long steps, int* exponents,
                        capped_sums_of_lane& least, u32* workspace) {
  // The hardware does not look ahead where there are only a few cache lines side by side.
  constexpr int reach = Vectors * width < survey_unit ? 12 : 0;
  const block<Vectors, reach> all{
      p, step, steps, workspace, survey_workspace(steps) / (Vectors * width), nullptr};
  const findings<Vectors> found = all.scan();
  halves top[Vectors];
  for (int v = 0; v < Vectors; ++v) top[v] = found.most[v] >> 20;
  capped_totals totals[Vectors];
  all.add(totals, top);
  for (int v = 0; v < Vectors; ++v) {
    for (int w = 0; w < width; ++w) {
      const int l = v * width + double_of_word(w);
      const u64 seen = found.seen[v][w % 2][w / 2];
      if (!decide(exponents + l, found.most[v][w], seen)) {
        single_lane(p + l, step, steps, exponents + l, least);
      } else if (has_exponent(exponents[l])) {
        u64 sums[survey_cap_count];
        for (int c = 0; c < survey_cap_count; ++c) sums[c] = totals[v].of_words[w % 2][c][w / 2];
        lower(least, sums);
      }
    }
  }
}

void survey(const operand_side& side, int* exponents, capped_sums_of_lane& least,
            unsigned* workspace) {
  long long l = 0;
  if (side.step == 1 && side.steps >= width) {
    for (; l < side.lanes; ++l)
      lane_of_neighbours(side.p + l * side.lane, side.p + (l + 1) * side.lane, side.steps,
                         exponents + l, least, workspace);
  } else if (side.lane == 1 && side.lanes >= width) {
    constexpr int some = 4;
    for (; l + some * width <= side.lanes; l += some * width)
      neighbouring_lanes<some>(side.p + l, side.step, side.steps, exponents + l, least, workspace);
    for (; l < side.lanes; l += width) {
      l = lesser(l, side.lanes - width);  // the last vector takes some lanes a second time
      neighbouring_lanes<1>(side.p + l, side.step, side.steps, exponents + l, least, workspace);
    }
  }
  for (; l < side.lanes; ++l)
    single_lane(side.p + l * side.lane, side.step, side.steps, exponents + l, least);
}

// Biased exponents, e with |x| < 2^(e - 1022): down to -51 for the smallest subnormal number.
MDLA_INLINE signed_doubles biased_exponents(doubles magnitude) {
  using reals = vector_of<double>::type;
  const signed_doubles e = (signed_doubles)(magnitude >> 52);
  // A subnormal number is an integer times 2^-1074; as a double that integer has an exponent.
  const doubles integer = (doubles)((reals)(magnitude | as_int(0x1p52)) - 0x1p52);
  return e == 0 ? (signed_doubles)(integer >> 52) - 1074 : e;
}

template <class D>
bool depths(typename D::word* to, const double* p, long long step, const long long* top,
            long long count) {
  using words = typename vector_of<typename D::word, half_width * sizeof(typename D::word)>::type;
  signed_doubles signs{};
  for (long long i = 0; i < count; i += half_width) {
    double some[half_width] = {};
    const double* x = p + i;
    if (step != 1 || i + half_width > count) {
      for (long long j = 0; j < half_width && i + j < count; ++j) some[j] = p[(i + j) * step];
      x = some;
    }
    const doubles magnitude = load<doubles>(x) & ~sign_bit;
    const signed_doubles depth = load<signed_doubles>(top + i) - biased_exponents(magnitude);
    const signed_doubles known = lesser(depth, signed_doubles{} + D::deep);
    const signed_doubles none = (magnitude == 0) | (depth > most_depth);
    const words w = __builtin_convertvector(none ? signed_doubles{} + D::absent : known, words);
    std::memcpy(to + i, &w, sizeof w);
    signs |= depth;
  }
  bool below = true;
  for (int j = 0; j < half_width; ++j) below &= signs[j] >= 0;
  return below;
}

// Register blocks of 8 rows and one vector of columns: two instructions a row and step.
template <class D, class W = typename D::word>
void min_plus(W* best, const u32* a, const W* b, long long steps) {
  using V = typename vector_of<W>::type;
  constexpr int lanes = vector_bytes / (int)sizeof(W);
  for (int c = 0; c < min_plus_columns; c += lanes) {
    V least[min_plus_rows];
    for (int r = 0; r < min_plus_rows; ++r) least[r] = load<V>(best + r * min_plus_columns + c);
    for (long long k = 0; k < steps; ++k) {
      const V f = load<V>(b + k * min_plus_columns + c);
      MDLA_UNROLL
      for (int r = 0; r < min_plus_rows; ++r) {
        const V s = f + (V)(halves{} + a[k * min_plus_rows + r]);
        least[r] = s < least[r] ? s : least[r];
      }
    }
    for (int r = 0; r < min_plus_rows; ++r)
      std::memcpy(best + r * min_plus_columns + c, &least[r], sizeof least[r]);
  }
}

template <class D, class W = typename D::word>
void most_present(W* most, const W* best) {
  using V = typename vector_of<W>::type;
  constexpr int lanes = vector_bytes / (int)sizeof(W);
  for (int c = 0; c < min_plus_columns; c += lanes) {
    V m{};
    for (int r = 0; r < min_plus_rows; ++r) {
      const V x = load<V>(best + r * min_plus_columns + c);
      const V present = x < (W)D::absent ? x : V{};
      m = present > m ? present : m;
    }
    std::memcpy(most + c, &m, sizeof m);
  }
}

}  // namespace

const survey_ops& survey_table() {
  static const survey_ops table = {
      &survey,
      {&depths<byte_depths>, &min_plus<byte_depths>, &most_present<byte_depths>},
      {&depths<short_depths>, &min_plus<short_depths>, &most_present<short_depths>}};
  return table;
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
