// SPDX-License-Identifier: BSD-3-Clause
// The elementary functions: special values, ranges, and the identities that lead to the cores.
#include "elementary.hpp"

#include <limits>
#include <memory>

#include "elementary_blocks.hpp"
#include "elementwise.hpp"

namespace mdla {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Beyond this e^x over- or underflows whatever the tail says.
constexpr double exp_range = 746.0;

using block = elementary_block;
using unary = void (*)(const block&, result<double>, operand<double>);

double lead(operand<double> x, size i) { return x.p[i * x.step]; }

// A copy of x with 0 (or another value) in the place of numbers that the cores are not for.
template <class Allowed>
numbers cleaned(const block& b, operand<double> x, double instead, Allowed allowed) {
  const numbers r = b.w.take();
  b.copy(r, x);
  for (size i = 0; i < b.n; ++i)
    if (!allowed(lead(x, i))) b.set(r, i, instead);
  return r;
}

// What stands below an infinite or vanished leading limb is zero.
void settle(const block& b, result<double> out) {
  for (size i = 0; i < b.n; ++i)
    if (out.p[i] == 0 || !std::isfinite(out.p[i])) b.set(out, i, out.p[i]);
}

void add_one(const block& b, result<double> out, operand<double> x, double one = 1.0) {
  const operand<double> lane{&one, 0, 0};
  b.ops.add_lane(b.n, out, x, lane);
}

void quotient_of_one(const block& b, result<double> out, operand<double> x) {
  const workspace::frame frame(b.w);
  const numbers one = b.w.take();
  for (size i = 0; i < b.n; ++i) b.set(one, i, 1.0);
  b.ops.div(b.n, out, one, x);
}

void exp(const block& b, result<double> out, operand<double> x) {
  const auto in_range = [](double a) { return std::fabs(a) <= exp_range; };
  const numbers c = cleaned(b, x, 0.0, in_range);
  const numbers y = b.w.take();
  double* k = b.w.take_lane();
  exp_core(b, y, k, c);
  add_one(b, out, y);
  b.scale(out, k);
  settle(b, out);
  for (size i = 0; i < b.n; ++i) {
    const double a = lead(x, i);
    if (!in_range(a)) b.set(out, i, a > 0 ? infinity : a < 0 ? 0.0 : a);
  }
}

// y = e^x - 1 for |x| <= 746 by e^x = 2^k (1 + y).
void expm1_core(const block& b, numbers y, operand<double> x) {
  const workspace::frame frame(b.w);
  const numbers p = b.w.take();
  double* k = b.w.take_lane();
  exp_core(b, y, k, x);
  add_one(b, p, y);
  b.scale(p, k);
  add_one(b, p, p, -1.0);
  for (size i = 0; i < b.n; ++i)
    if (k[i] != 0) b.set(y, i, p);
}

void expm1(const block& b, result<double> out, operand<double> x) {
  const auto in_range = [](double a) { return std::fabs(a) <= exp_range; };
  const numbers c = cleaned(b, x, 0.0, in_range);
  const numbers y = b.w.take();
  expm1_core(b, y, c);
  b.copy(out, y);
  settle(b, out);
  for (size i = 0; i < b.n; ++i) {
    const double a = lead(x, i);
    if (a == 0 || !in_range(a)) b.set(out, i, a > 0 ? infinity : a < 0 ? -1.0 : a);
  }
}

// The absolute value, with signs apart; numbers beyond `range` (and nan) become 0.
numbers magnitude(const block& b, operand<double> x, double* sign, double range) {
  const numbers c = cleaned(b, x, 0.0, [=](double a) { return std::fabs(a) <= range; });
  for (size i = 0; i < b.n; ++i) sign[i] = std::signbit(lead(x, i)) ? -1.0 : 1.0;
  b.times_sign(c, sign);
  return c;
}

// sinh and cosh of |x| from q = e^|x|: (q +- 1/q) / 2, where 1/q matters; else q / 2 alone, formed
// without overflow.
void hyperbolic(const block& b, result<double> out, operand<double> x, bool is_sinh) {
  double *sign = b.w.take_lane(), *k = b.w.take_lane(), *half = b.w.take_lane();
  const numbers h = magnitude(b, x, sign, exp_range);
  const numbers y = b.w.take(), p = b.w.take(), q = b.w.take(), large = b.w.take();
  exp_core(b, y, k, h);
  add_one(b, p, y);
  b.copy(large, p);
  const double most = 27.0 * b.limbs + 8;  // 2^(-2 k) is below the last limb
  for (size i = 0; i < b.n; ++i) {
    half[i] = k[i] - 1;
    if (k[i] > most) k[i] = 0;
  }
  b.scale(large, half);
  b.scale(p, k);
  if (is_sinh) {
    // With y = e^|x| - 1: (y + y / (y + 1)) / 2
    add_one(b, q, p, -1.0);
    for (size i = 0; i < b.n; ++i)
      if (k[i] != 0) b.set(y, i, q);
    b.ops.div(b.n, q, y, p);
    b.ops.add(b.n, out, y, q);
  } else {
    quotient_of_one(b, q, p);
    b.ops.add(b.n, out, p, q);
  }
  std::fill_n(k, b.n, -1.0);
  b.scale(out, k);
  for (size i = 0; i < b.n; ++i)
    if (half[i] + 1 > most) b.set(out, i, large);
  if (is_sinh) b.times_sign(out, sign);
  settle(b, out);
  for (size i = 0; i < b.n; ++i) {
    const double a = lead(x, i);
    const bool beyond = !(std::fabs(a) <= exp_range);
    if (beyond) b.set(out, i, is_sinh || std::isnan(a) ? a * infinity : infinity);
    if (a == 0 && is_sinh) b.set(out, i, a);
  }
}

void sinh(const block& b, result<double> out, operand<double> x) { hyperbolic(b, out, x, true); }
void cosh(const block& b, result<double> out, operand<double> x) { hyperbolic(b, out, x, false); }

// With y = e^(2 |x|) - 1: y / (y + 2); 1 from where e^(-2 |x|) is below the last limb.
void tanh(const block& b, result<double> out, operand<double> x) {
  double* sign = b.w.take_lane();
  const double most = 19.0 * b.limbs + 8;
  const numbers h = magnitude(b, x, sign, most);
  const numbers y = b.w.take(), d = b.w.take();
  b.ops.add(b.n, h, h, h);
  expm1_core(b, y, h);
  add_one(b, d, y, 2.0);
  b.ops.div(b.n, out, y, d);
  b.times_sign(out, sign);
  for (size i = 0; i < b.n; ++i) {
    const double a = lead(x, i);
    if (std::fabs(a) > most) b.set(out, i, sign[i]);
    if (a == 0 || std::isnan(a)) b.set(out, i, a);
  }
}

// x = 2^k (1 + u) with 1 + u between sqrt(1/2) and sqrt(2), exactly.
void split(const block& b, numbers u, double* k, operand<double> x) {
  const workspace::frame frame(b.w);
  double* minus_k = b.w.take_lane();
  for (size i = 0; i < b.n; ++i) {
    int e = 0;
    const double m = std::frexp(lead(x, i), &e);
    k[i] = m < 0.70710678 ? e - 1 : e;
    minus_k[i] = -k[i];
  }
  b.copy(u, x);
  b.scale(u, minus_k);
  add_one(b, u, u, -1.0);
}

double log_of_special(double a) {
  return a == 0 ? -infinity : a > 0 ? a : std::isnan(a) ? a : nan_value;
}

bool is_positive(double a) { return a > 0 && std::isfinite(a); }

// log2 and log10 too: k log(2) / log(base) + log(1 + u) / log(base).
void logarithm(const block& b, result<double> out, operand<double> x,
               const std::vector<double>* per_exponent, const std::vector<double>* factor) {
  const numbers u = cleaned(b, x, 1.0, is_positive);
  const numbers y = b.w.take(), t = b.w.take();
  double* k = b.w.take_lane();
  split(b, u, k, u);
  log1p_core(b, y, u);
  if (factor) b.ops.mul(b.n, y, y, b.constant(*factor));
  if (per_exponent) {
    b.ops.mul_lane(b.n, t, b.constant(*per_exponent), b.lane(k));
    b.ops.add(b.n, out, t, y);
  } else {
    b.ops.add_lane(b.n, out, y, b.lane(k));
  }
  for (size i = 0; i < b.n; ++i)
    if (!is_positive(lead(x, i))) b.set(out, i, log_of_special(lead(x, i)));
}

void log(const block& b, result<double> out, operand<double> x) {
  logarithm(b, out, x, &b.t.ln2, nullptr);
}
void log2(const block& b, result<double> out, operand<double> x) {
  logarithm(b, out, x, nullptr, &b.t.inverse_ln2);
}
void log10(const block& b, result<double> out, operand<double> x) {
  logarithm(b, out, x, &b.t.log10_2, &b.t.inverse_ln10);
}

void log1p(const block& b, result<double> out, operand<double> x) {
  const numbers u = b.w.take(), m = b.w.take(), y = b.w.take();
  double* k = b.w.take_lane();
  // The sum decides about the sign: 1 + x may vanish or be tiny.
  add_one(b, m, x);
  const numbers c = cleaned(b, m, 1.0, is_positive);
  split(b, u, k, c);
  for (size i = 0; i < b.n; ++i) {
    const double a = lead(x, i);
    if (a > -0.29 && a < 0.41) {
      b.set(u, i, x);
      k[i] = 0;
    }
  }
  log1p_core(b, y, u);
  b.ops.mul_lane(b.n, u, b.constant(b.t.ln2), b.lane(k));
  b.ops.add(b.n, out, y, u);
  for (size i = 0; i < b.n; ++i) {
    if (!is_positive(m.p[i])) b.set(out, i, log_of_special(m.p[i]));
    if (lead(x, i) == 0) b.set(out, i, lead(x, i));
  }
}

bool is_finite(double a) { return std::isfinite(a); }

// q pi / 2 + r = x, and the functions of r that all of sin, cos and tan need.
struct turned {
  double* quadrant;
  trigonometric rest;
};
turned turn(const block& b, operand<double> x) {
  const numbers c = cleaned(b, x, 0.0, is_finite), r = b.w.take();
  double* q = b.w.take_lane();
  reduce_half_pi(b, r, q, c);
  return {q, trigonometric_core(b, r)};
}

void settle_odd(const block& b, result<double> out, operand<double> x) {
  for (size i = 0; i < b.n; ++i) {
    const double a = lead(x, i);
    if (a == 0) b.set(out, i, a);
    if (!std::isfinite(a)) b.set(out, i, nan_value);
  }
}

void settle_even(const block& b, result<double> out, operand<double> x) {
  for (size i = 0; i < b.n; ++i)
    if (!std::isfinite(lead(x, i))) b.set(out, i, nan_value);
}

void next_quadrant(const block& b, double* q) {
  for (size i = 0; i < b.n; ++i) q[i] = q[i] == 3 ? 0 : q[i] + 1;
}

void sin(const block& b, result<double> out, operand<double> x) {
  const turned t = turn(b, x);
  trigonometric_pick(b, out, t.rest, t.quadrant);
  settle_odd(b, out, x);
}

void cos(const block& b, result<double> out, operand<double> x) {
  const turned t = turn(b, x);
  next_quadrant(b, t.quadrant);
  trigonometric_pick(b, out, t.rest, t.quadrant);
  settle_even(b, out, x);
}

void sincos(const block& b, result<double> cosine, result<double> sine, operand<double> x) {
  const turned t = turn(b, x);
  trigonometric_pick(b, sine, t.rest, t.quadrant);
  settle_odd(b, sine, x);
  next_quadrant(b, t.quadrant);
  trigonometric_pick(b, cosine, t.rest, t.quadrant);
  settle_even(b, cosine, x);
}

void tan(const block& b, result<double> out, operand<double> x) {
  const numbers s = b.w.take(), c = b.w.take();
  sincos(b, c, s, x);
  b.ops.div(b.n, out, s, c);
  settle_odd(b, out, x);
}

// The angle of (x, y) where one of them is zero, infinite or nan, as a count of quarters of pi;
// with nan for an ordinary pair.
double special_angle(double y, double x) {
  const bool left = std::signbit(x);
  if (std::isinf(y)) return std::isinf(x) ? (left ? 3 : 1) : 2;
  if (std::isinf(x) || y == 0) return left ? 4 : 0;
  return x == 0 ? 2 : nan_value;
}

void arctan2(const block& b, result<double> out, operand<double> y, operand<double> x) {
  const numbers low = b.w.take(), high = b.w.take(), angle = b.w.take(), base = b.w.take();
  double *low_sign = b.w.take_lane(), *high_sign = b.w.take_lane(), *sign = b.w.take_lane();
  double *quarter = b.w.take_lane(), *e = b.w.take_lane();
  for (size i = 0; i < b.n; ++i) {
    const double v = lead(y, i), u = lead(x, i);
    const bool ordinary = std::isfinite(u) && std::isfinite(v) && u != 0 && v != 0;
    const bool swapped = std::fabs(v) > std::fabs(u);
    if (ordinary) {
      b.set(low, i, swapped ? x : y);
      b.set(high, i, swapped ? y : x);
    } else {
      b.set(low, i, 0.0);
      b.set(high, i, 1.0);
    }
    low_sign[i] = low.p[i] < 0 ? -1.0 : 1.0;
    high_sign[i] = high.p[i] < 0 ? -1.0 : 1.0;
    // The angle lies 0, pi/2 or pi beside the one that is computed.
    sign[i] = swapped != (u < 0) ? -1.0 : 1.0;
    quarter[i] = swapped ? 2 : u < 0 ? 4 : 0;
    // Of moderate size both, unless their quotient is its own arc tangent anyway.
    int exponent = 0;
    if (std::fabs(low.p[i]) > 0x1p-100 * std::fabs(high.p[i])) std::frexp(high.p[i], &exponent);
    e[i] = -exponent;
  }
  b.times_sign(low, low_sign);
  b.times_sign(high, high_sign);
  b.scale(low, e);
  b.scale(high, e);
  atan_core(b, angle, low, high);
  b.times_sign(angle, sign);
  b.gather(base, b.t.pi_quarters, quarter);
  b.ops.add(b.n, out, angle, base);
  for (size i = 0; i < b.n; ++i) sign[i] = std::signbit(lead(y, i)) ? -1.0 : 1.0;
  b.times_sign(out, sign);
  for (size i = 0; i < b.n; ++i) {
    const double v = lead(y, i), u = lead(x, i);
    if (std::isnan(u) || std::isnan(v)) {
      b.set(out, i, nan_value);
      continue;
    }
    const double count = special_angle(v, u);
    if (std::isnan(count)) continue;
    const double* angle_of = b.t.pi_quarters.data() + (size)count * b.limbs;
    b.set(out, i, sign[i] * angle_of[0]);
    for (int l = 1; l < b.limbs; ++l) out.p[l * out.plane + i] = sign[i] * angle_of[l] + 0.0;
  }
}

numbers ones(const block& b) {
  const numbers r = b.w.take();
  for (size i = 0; i < b.n; ++i) b.set(r, i, 1.0);
  return r;
}

void arctan(const block& b, result<double> out, operand<double> x) { arctan2(b, out, x, ones(b)); }

// sqrt((1 - |x|)(1 + |x|)); nan where |x| > 1. The first factor, which is exact where it is small,
// is lifted so that no limb of the product is lost below the smallest double.
numbers other_leg(const block& b, operand<double> x) {
  const numbers p = b.w.take(), q = b.w.take();
  double *sign = b.w.take_lane(), *e = b.w.take_lane();
  for (size i = 0; i < b.n; ++i) sign[i] = lead(x, i) < 0 ? 1.0 : -1.0;
  b.copy(p, x);
  b.times_sign(p, sign);
  add_one(b, q, p, -1.0);
  add_one(b, p, p);
  for (size i = 0; i < b.n; ++i) {
    int exponent = 0;
    if (p.p[i] > 0 && p.p[i] <= 1) std::frexp(p.p[i], &exponent);
    e[i] = -(exponent & ~1);
    sign[i] = -1.0;
  }
  b.times_sign(q, sign);
  b.scale(p, e);
  b.ops.mul(b.n, p, p, q);
  b.ops.sqrt(b.n, q, p);
  for (size i = 0; i < b.n; ++i) e[i] /= -2;
  b.scale(q, e);
  return q;
}

void arcsin(const block& b, result<double> out, operand<double> x) {
  arctan2(b, out, x, other_leg(b, x));
}

void arccos(const block& b, result<double> out, operand<double> x) {
  arctan2(b, out, other_leg(b, x), x);
}

struct named {
  const char* name;
  unary function;
};
constexpr named functions[] = {
    {"exp", exp},     {"expm1", expm1}, {"log", log},       {"log1p", log1p},   {"log2", log2},
    {"log10", log10}, {"sin", sin},     {"cos", cos},       {"tan", tan},       {"sinh", sinh},
    {"cosh", cosh},   {"tanh", tanh},   {"arcsin", arcsin}, {"arccos", arccos}, {"arctan", arctan},
};

unary find_unary(const std::string& name) {
  for (const auto& f : functions)
    if (name == f.name) return f.function;
  return nullptr;
}

}  // namespace

bool is_elementary(const std::string& name, std::size_t operands) {
  if (operands == 2) return name == "arctan2";
  return operands == 1 && (name == "sincos" || find_unary(name));
}

void elementary(const std::string& name, planes_view<double> out,
                std::vector<planes_view<double>> operands) {
  const elementary_tables* tables = elementary_tables_for(out.limbs);
  const vector_ops<double>* ops = vector_ops_for<double>(out.limbs);
  if (!tables || !ops)
    throw bad_operands{"no tables of constants for " + std::to_string(out.limbs) + " limbs"};
  coalesce<double>({&out}, operands.data(), (int)operands.size());
  if (out.size() == 0) return;
  const int limbs = out.limbs;
  // A buffer of a block stays in the first-level cache with a few others.
  const size length = std::max<size>(64, 1024 / limbs);
  const unary function = find_unary(name);
  const double work = (double)out.size() * (limbs * limbs + 4) * 30;
  for_each_block(out.shape, length, work, [&] {
    std::vector<reader<double>> readers;
    readers.reserve(operands.size());
    for (const auto& v : operands) readers.emplace_back(v, limbs);
    auto memory = std::make_unique<workspace>(limbs, length);
    return
        [&, readers = std::move(readers), memory = std::move(memory)](size start, size n) mutable {
          const workspace::frame frame(*memory);
          const block b{*tables, *ops, *memory, n, limbs};
          const auto part = [&](int p) {
            return result<double>{out.p + p * out.part_stride + start, out.limb_stride};
          };
          const operand<double> x = readers[0].block(0, start, n);
          if (function) return function(b, part(0), x);
          if (readers.size() == 2) return arctan2(b, part(0), x, readers[1].block(0, start, n));
          sincos(b, part(0), part(1), x);
        };
  });
}

}  // namespace mdla
