// SPDX-License-Identifier: BSD-3-Clause
#include "reduce.hpp"

#include <algorithm>

#include "elementwise.hpp"
#include "threads.hpp"

namespace mdla {
namespace {

using size = long long;

// A rectangle of numbers [k][m], m fastest, as one unit-stride (or repeated) operand.
template <class R>
class rectangle_reader {
 public:
  rectangle_reader(const planes_view<R>& v, int limbs) : v_(v), limbs_(limbs) {}

  operand<R> read(int part, size k0, size nk, size m0, size nm) {
    const size sm = v_.strides[0], sk = v_.strides[1];
    const R* base = v_.p + part * v_.part_stride + m0 * sm + k0 * sk;
    if (v_.limbs == limbs_) {
      if (nm == 1 && (sk == 1 || sk == 0)) return {base, v_.limb_stride, sk};
      if (nk == 1 && (sm == 1 || sm == 0)) return {base, v_.limb_stride, sm};
    }
    buffer_.assign((std::size_t)(limbs_ * nk * nm), R(0));
    for (int l = 0; l < std::min(limbs_, v_.limbs); ++l)
      for (size k = 0; k < nk; ++k) {
        const R* from = base + l * v_.limb_stride + k * sk;
        R* to = buffer_.data() + (l * nk + k) * nm;
        for (size m = 0; m < nm; ++m) to[m] = from[m * sm];
      }
    return {buffer_.data(), nk * nm, 1};
  }

 private:
  const planes_view<R>& v_;
  int limbs_;
  std::vector<R> buffer_;
};

// Where a row of terms comes from: the numbers themselves, or products of two.
template <class R>
struct terms {
  const vector_ops<R>* ops;
  int parts;
  std::vector<planes_view<R>> factors;  // one or two
};

template <class R>
class row_source {
 public:
  explicit row_source(const terms<R>& t) : t_(t) {
    for (int part = 0; part < t.parts; ++part)
      for (const auto& f : t.factors) readers_.emplace_back(f, t.ops->limbs);
  }

  // acc (one result per part) = or += terms [k0, k0 + nk) x [m0, m0 + nm).
  void accumulate(bool first, std::vector<result<R>>& acc, size k0, size nk, size m0, size nm) {
    const size n = nk * nm;
    const vector_ops<R>& ops = *t_.ops;
    std::vector<operand<R>> x;
    for (int part = 0; part < t_.parts; ++part)
      for (std::size_t f = 0; f < t_.factors.size(); ++f)
        x.push_back(readers_[(std::size_t)part * t_.factors.size() + f].read(
            t_.factors[f].parts == 2 ? part : 0, k0, nk, m0, nm));
    if (t_.factors.size() == 1) {
      for (int part = 0; part < t_.parts; ++part) put(first, n, acc[part], x[part]);
    } else if (t_.parts == 1) {
      if (first) {
        ops.mul(n, acc[0], x[0], x[1]);
      } else {
        ops.mul_add(n, acc[0], x[0], x[1], acc[0]);
      }
    } else {
      // (a + ib)(c + id): x = a c b d
      temporary_.resize((std::size_t)(ops.limbs * n));
      const result<R> t{temporary_.data(), n};
      ops.mul(n, t, x[0], x[1]);
      ops.mul_sub(n, t, x[2], x[3], t);
      put(first, n, acc[0], t);
      ops.mul(n, t, x[0], x[3]);
      ops.mul_add(n, t, x[2], x[1], t);
      put(first, n, acc[1], t);
    }
  }

 private:
  void put(bool first, size n, result<R> acc, operand<R> x) const {
    if (!first) return t_.ops->add(n, acc, acc, x);
    for (int l = 0; l < t_.ops->limbs; ++l)
      for (size i = 0; i < n; ++i) acc.p[l * acc.plane + i] = x.p[l * x.plane + i * x.step];
  }

  const terms<R>& t_;
  std::vector<rectangle_reader<R>> readers_;
  std::vector<R> temporary_;
};

constexpr size tile = tree_lanes * tree_rows;

// One tile of [k0, k1) for nm neighbouring results, into out[part] (unit stride).
template <class R>
void reduce_tile(row_source<R>& rows, const vector_ops<R>& ops, int parts, size k0, size k1,
                 size m0, size nm, std::vector<result<R>> out, std::vector<R>& memory) {
  const size lanes = std::min(tree_lanes, k1 - k0);
  const size plane = lanes * nm;
  memory.resize((std::size_t)(parts * ops.limbs * plane));
  std::vector<result<R>> acc;
  for (int part = 0; part < parts; ++part)
    acc.push_back({memory.data() + part * ops.limbs * plane, plane});
  for (size k = k0; k < k1; k += tree_lanes)
    rows.accumulate(k == k0, acc, k, std::min(tree_lanes, k1 - k), m0, nm);
  for (int part = 0; part < parts; ++part) {
    size live = lanes;
    for (size h = tree_lanes / 2; h >= 1; h /= 2) {
      if (live <= h) continue;
      ops.add((live - h) * nm, acc[part], acc[part], acc[part].at(h * nm));
      live = h;
    }
    for (int l = 0; l < ops.limbs; ++l)
      std::copy_n(acc[part].p + l * plane, nm, out[part].p + l * out[part].plane);
  }
}

template <class R>
void reduce(planes_view<R> out, const terms<R>& t) {
  const vector_ops<R>& ops = *t.ops;
  const size M = t.factors[0].shape[0], K = t.factors[0].shape[1];
  const int parts = t.parts;
  if (M == 0) return;
  if (K == 0) {
    for (int part = 0; part < parts; ++part)
      for (int l = 0; l < ops.limbs; ++l)
        std::fill_n(out.p + part * out.part_stride + l * out.limb_stride, M, R(0));
    return;
  }
  // Neighbouring results go side by side when rows are short or the results' axis is contiguous:
  // the order of additions within a result stays the same.
  const bool across = t.factors[0].strides[0] == 1;
  const size width = std::min<size>(M, K < 256 ? std::max<size>(1, 2048 / K) : (across ? 8 : 1));
  const size groups = (M + width - 1) / width, tiles = (K + tile - 1) / tile;
  std::vector<R> level((std::size_t)(tiles > 1 ? parts * ops.limbs * tiles * M : 0));
  const double work = (double)M * (double)K * ops.limbs * ops.limbs;
  const int threads = threads_for(work, 2e5);
  parallel_for(groups * tiles, threads, [&](size first, size last) {
    row_source<R> rows(t);
    std::vector<R> memory;
    for (size job = first; job < last; ++job) {
      const size m0 = job / tiles * width, nm = std::min(width, M - m0), i = job % tiles;
      std::vector<result<R>> to;
      for (int part = 0; part < parts; ++part) {
        if (tiles == 1) {
          to.push_back({out.p + part * out.part_stride + m0, out.limb_stride});
        } else {
          // level is [part][limb][tile][m]
          to.push_back({level.data() + part * ops.limbs * tiles * M + i * M + m0, tiles * M});
        }
      }
      reduce_tile(rows, ops, parts, i * tile, std::min(K, (i + 1) * tile), m0, nm, to, memory);
    }
  });
  if (tiles > 1) {
    planes_view<R> next;
    next.p = level.data();
    next.parts = parts;
    next.limbs = ops.limbs;
    next.limb_stride = tiles * M;
    next.part_stride = ops.limbs * tiles * M;
    next.shape = {M, tiles};
    next.strides = {1, M};
    reduce(out, terms<R>{t.ops, parts, {next}});
  }
}

template <class R>
const vector_ops<R>* ops_or_throw(int limbs) {
  const vector_ops<R>* ops = vector_ops_for<R>(limbs);
  if (!ops) throw bad_operands{"no arithmetic for " + std::to_string(limbs) + " limbs"};
  return ops;
}

}  // namespace

template <class R>
void sum(planes_view<R> out, planes_view<R> a) {
  reduce(out, terms<R>{ops_or_throw<R>(out.limbs), out.parts, {a}});
}

template <class R>
void dot(planes_view<R> out, planes_view<R> a, planes_view<R> b) {
  if (out.parts == 2 && (a.parts == 1 || b.parts == 1)) {
    // A real factor: the two parts are independent real reductions.
    for (int part = 0; part < 2; ++part) {
      planes_view<R> o = out, x = a, y = b;
      o.p += part * out.part_stride;
      if (a.parts == 2) x.p += part * a.part_stride;
      if (b.parts == 2) y.p += part * b.part_stride;
      o.parts = x.parts = y.parts = 1;
      dot(o, x, y);
    }
    return;
  }
  reduce(out, terms<R>{ops_or_throw<R>(out.limbs), out.parts, {a, b}});
}

template void sum<double>(planes_view<double>, planes_view<double>);
template void sum<float>(planes_view<float>, planes_view<float>);
template void dot<double>(planes_view<double>, planes_view<double>, planes_view<double>);
template void dot<float>(planes_view<float>, planes_view<float>, planes_view<float>);

}  // namespace mdla
