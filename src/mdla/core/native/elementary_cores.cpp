// SPDX-License-Identifier: BSD-3-Clause
// Reduction by a table with steps of 1 / 128, then a series: Tang (ACM TOMS 15, 1989 and 16, 1990)
// for one double, here in arithmetic of N limbs. A second table with finer steps was measured to
// cost as much as the terms it saves. docs/multiple_double.md lists operations and error bounds.
#include "elementary_blocks.hpp"

namespace mdla {

void elementary_block::copy(result<double> out, operand<double> a) const {
  for (int l = 0; l < limbs; ++l)
    for (size i = 0; i < n; ++i) out.p[l * out.plane + i] = a.p[l * a.plane + i * a.step];
}

void elementary_block::gather(result<double> out, const std::vector<double>& table,
                              const double* entry) const {
  for (size i = 0; i < n; ++i) {
    const double* from = table.data() + (size)entry[i] * limbs;
    for (int l = 0; l < limbs; ++l) out.p[l * out.plane + i] = from[l];
  }
}

void elementary_block::scale(result<double> out, const double* k) const {
  const workspace::frame frame(w);
  double *first = w.take_lane(), *second = w.take_lane();
  for (size i = 0; i < n; ++i) {
    const int e = (int)k[i], half = e / 2;
    first[i] = power_of_two(half);
    second[i] = power_of_two(e - half);
  }
  for (int l = 0; l < limbs; ++l) {
    double* p = out.p + l * out.plane;
    // Adding zero turns a vanished limb's -0 into +0.
    if (l == 0) {
      for (size i = 0; i < n; ++i) p[i] = p[i] * first[i] * second[i];
    } else {
      for (size i = 0; i < n; ++i) p[i] = p[i] * first[i] * second[i] + 0.0;
    }
  }
}

void elementary_block::times_sign(result<double> out, const double* sign) const {
  for (size i = 0; i < n; ++i) out.p[i] *= sign[i];
  for (int l = 1; l < limbs; ++l)
    for (size i = 0; i < n; ++i) {
      double& v = out.p[l * out.plane + i];
      v = v * sign[i] + 0.0;
    }
}

void elementary_block::set(result<double> out, size i, double value) const {
  out.p[i] = value;
  for (int l = 1; l < limbs; ++l) out.p[l * out.plane + i] = 0;
}

void elementary_block::set(result<double> out, size i, const double* value) const {
  for (int l = 0; l < limbs; ++l) out.p[l * out.plane + i] = value[l];
}

void elementary_block::set(result<double> out, size i, operand<double> from) const {
  for (int l = 0; l < limbs; ++l) out.p[l * out.plane + i] = from.p[l * from.plane + i * from.step];
}

void evaluate(const elementary_block& b, result<double> out, operand<double> z, const series& s) {
  if (b.ops.series)
    return b.ops.series(b.n, out, z, {(int)s.digits.size(), s.digits.data(), s.digit_table.data()});
  int k = (int)s.limbs.size() - 1, have = s.limbs[(std::size_t)k];
  for (int l = 0; l < have; ++l)
    for (size i = 0; i < b.n; ++i) out.p[l * out.plane + i] = s.c[k * s.step + l];
  while (k-- > 0) {
    const int want = s.limbs[(std::size_t)k];
    const operand<double> c{s.c + k * s.step, 1, 0};
    const vector_ops<double>& ops = *vector_ops_for<double>(have);
    if (want == have) {
      ops.mul_add(b.n, out, z, out, c);
      continue;
    }
    ops.mul(b.n, out, z, out);
    for (int l = have; l < want; ++l) std::fill_n(out.p + l * out.plane, b.n, 0.0);
    vector_ops_for<double>(want)->add(b.n, out, out, c);
    have = want;
  }
}

namespace {

// The multiple of 1 / 128 nearest to a, as a count. Counts stay within the tables for any bits of
// a, nan included.
double nearest_step(double a, double most) {
  return std::min(most, std::max(-most, std::rint(a * 128.0)));
}

// Entry 0 of the tables belongs to the count -128.
constexpr double first_step = 128.0;

}  // namespace

void exp_core(const elementary_block& b, numbers y, double* k, operand<double> x) {
  const workspace::frame frame(b.w);
  const numbers r = b.w.take(), t = b.w.take(), g = b.w.take();
  double *entry = b.w.take_lane(), *shift = b.w.take_lane();
  for (size i = 0; i < b.n; ++i) k[i] = std::rint(x.p[i * x.step] * b.t.inverse_ln2[0]);
  // k ln2_high is exact, and so is the first difference up to the last bit of r.
  b.ops.mul_lane(b.n, t, b.constant(b.t.ln2_high), b.lane(k));
  b.ops.sub(b.n, r, x, t);
  b.ops.mul_lane(b.n, t, b.constant(b.t.ln2_low), b.lane(k));
  b.ops.sub(b.n, r, r, t);
  for (size i = 0; i < b.n; ++i) {
    const double j = nearest_step(r.p[i], first_step);
    entry[i] = j + first_step;
    shift[i] = -j / 128.0;
  }
  b.ops.add_lane(b.n, r, r, b.lane(shift));
  evaluate(b, t, r, b.t.exp_series);
  b.ops.mul(b.n, y, r, t);
  // e^(a + r) - 1 = (e^r - 1) e^a + (e^a - 1)
  b.gather(g, b.t.exp, entry);
  b.gather(t, b.t.expm1, entry);
  b.ops.mul_add(b.n, y, y, g, t);
}

void log1p_core(const elementary_block& b, numbers y, numbers u) {
  const workspace::frame frame(b.w);
  const numbers t = b.w.take(), v = b.w.take(), tiny = b.w.take();
  b.copy(tiny, u);
  double *entry = b.w.take_lane(), *shift = b.w.take_lane();
  for (size i = 0; i < b.n; ++i) {
    entry[i] = nearest_step(u.p[i], first_step) + first_step;
    shift[i] = b.t.shift[(std::size_t)entry[i]];
  }
  // 1 + u becomes (1 + u)(1 + d)
  b.ops.mul_lane(b.n, t, u, b.lane(shift));
  b.ops.add_lane(b.n, u, u, b.lane(shift));
  b.ops.add(b.n, u, u, t);
  // log(1 + u) = 2 atanh(u / (2 + u))
  std::fill_n(shift, b.n, 2.0);
  b.ops.add_lane(b.n, t, u, b.lane(shift));
  b.ops.div(b.n, t, u, t);
  b.ops.mul(b.n, u, t, t);
  evaluate(b, v, u, b.t.atan_series);
  for (int l = 0; l < b.limbs; ++l)
    for (size i = 0; i < b.n; ++i) t.limb(l)[i] += t.limb(l)[i];
  b.ops.mul(b.n, y, t, v);
  b.gather(t, b.t.log, entry);
  b.ops.add(b.n, y, y, t);
  // Where log(1 + u) = u in every format, halves of u may fall below the smallest double.
  for (size i = 0; i < b.n; ++i)
    if (std::fabs(tiny.p[i]) < 0x1p-900) b.set(y, i, tiny);
}

void atan_core(const elementary_block& b, numbers z, numbers y, numbers x) {
  const workspace::frame frame(b.w);
  const numbers t = b.w.take(), v = b.w.take();
  double *entry = b.w.take_lane(), *c = b.w.take_lane(), *minus_c = b.w.take_lane();
  for (size i = 0; i < b.n; ++i) {
    const double j = nearest_step(y.p[i] / x.p[i], first_step);
    entry[i] = j + first_step;
    c[i] = j / 128.0;
    minus_c[i] = -c[i];
  }
  // (x, y) turns by -atan(c): (x + c y, y - c x)
  b.ops.mul_lane(b.n, t, y, b.lane(c));
  b.ops.mul_lane(b.n, v, x, b.lane(minus_c));
  b.ops.add(b.n, x, x, t);
  b.ops.add(b.n, y, y, v);
  b.ops.div(b.n, t, y, x);
  b.ops.mul(b.n, x, t, t);
  std::fill_n(c, b.n, -1.0);
  b.times_sign(x, c);
  evaluate(b, v, x, b.t.atan_series);
  b.ops.mul(b.n, z, t, v);
  b.gather(t, b.t.atan, entry);
  b.ops.add(b.n, z, z, t);
}

trigonometric trigonometric_core(const elementary_block& b, operand<double> r) {
  const trigonometric c{b.w.take(), b.w.take(), b.w.take_lane()};
  const workspace::frame frame(b.w);
  const numbers rest = b.w.take(), z = b.w.take();
  double* shift = b.w.take_lane();
  for (size i = 0; i < b.n; ++i) {
    c.j[i] = nearest_step(r.p[i * r.step], 101.0);
    shift[i] = -c.j[i] / 128.0;
  }
  b.ops.add_lane(b.n, rest, r, b.lane(shift));
  b.ops.mul(b.n, z, rest, rest);
  std::fill_n(shift, b.n, -1.0);
  b.times_sign(z, shift);
  evaluate(b, c.cos_rest, z, b.t.sin_series);
  b.ops.mul(b.n, c.sin_rest, rest, c.cos_rest);
  evaluate(b, c.cos_rest, z, b.t.cos_series);
  return c;
}

void trigonometric_pick(const elementary_block& b, result<double> out, const trigonometric& c,
                        const double* quadrant) {
  const workspace::frame frame(b.w);
  const numbers p = b.w.take(), q = b.w.take();
  // sin(a + r) = sin a cos r + cos a sin r, and a quarter turn further cos a cos r - sin a sin r.
  for (size i = 0; i < b.n; ++i) {
    const std::size_t j = (std::size_t)std::fabs(c.j[i]) * (std::size_t)b.limbs;
    const double *sine = b.t.sin.data() + j, *cosine = b.t.cos.data() + j;
    const int turn = (int)quadrant[i];
    const double sign = turn >= 2 ? -1.0 : 1.0;
    const double sine_sign = c.j[i] < 0 ? -sign : sign;
    if (turn % 2 == 0) {
      for (int l = 0; l < b.limbs; ++l) {
        p.limb(l)[i] = sine_sign * sine[l];
        q.limb(l)[i] = sign * cosine[l];
      }
    } else {
      for (int l = 0; l < b.limbs; ++l) {
        p.limb(l)[i] = sign * cosine[l];
        q.limb(l)[i] = -sine_sign * sine[l];
      }
    }
  }
  b.ops.mul(b.n, p, p, c.cos_rest);
  b.ops.mul_add(b.n, out, q, c.sin_rest, p);
}

}  // namespace mdla
