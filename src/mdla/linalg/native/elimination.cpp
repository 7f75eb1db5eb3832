// SPDX-License-Identifier: BSD-3-Clause
// Which systems of a stack go through the kernels of elimination.hpp, with how many digits.
#include "elimination.hpp"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "batched.hpp"
#include "dispatch.hpp"
#include "lanes.hpp"
#include "threads.hpp"

namespace mdla {

#if defined(MDLA_X86)
namespace v2 {
const elimination_ops& elimination_table();
}
namespace v3 {
const elimination_ops& elimination_table();
}
namespace v4 {
const elimination_ops& elimination_table();
}

const elimination_ops& active_elimination_ops() {
  switch (active_level()) {
    case 2:
      return v4::elimination_table();
    case 1:
      return v3::elimination_table();
    default:
      return v2::elimination_table();
  }
}
#else
namespace portable {
const elimination_ops& elimination_table();
}

const elimination_ops& active_elimination_ops() { return portable::elimination_table(); }
#endif

namespace {

using namespace linalg;

// A stack as the kernels see it.
template <class R>
struct stack_of {
  R* p = nullptr;
  size stride = 0;
  lane_view<R> view{};

  stack_of() = default;
  explicit stack_of(const planes_view<double>& v) : p(v.p), stride(v.strides[0]) {
    view.part = v.part_stride;
    view.limb = v.limb_stride;
    view.row = v.strides[1];
    view.column = v.strides[2];
  }
  void point(lane_view<R>& to, int lane, size i) const { to.p[lane] = p + i * stride; }
};

using kernel = void (*)(const elimination_job&);

// One call for all systems, with as many digits as each needs.
class eliminations {
 public:
  // `per_system` integers of each system go to `pivots`.
  eliminations(kernel run, int growth, const planes_view<double>& a, const planes_view<double>& to,
               const planes_view<double>* b, double* rcond, int* pivots, size per_system)
      : run_(run),
        growth_(growth),
        per_system_(per_system),
        lanes_(active_elimination_ops().lanes),
        count_(a.shape[0]),
        a_(a),
        to_(to),
        rcond_(rcond),
        pivots_(pivots) {
    job_.parts = a.parts;
    job_.limbs = a.limbs;
    job_.n = a.shape[1];
    job_.k = 0;
    job_.a = a_.view;
    job_.to = to_.view;
    if (b) {
      b_ = stack_of<const double>(*b);
      job_.b = b_.view;
      job_.k = b->shape[2];
    }
    needed_.resize((std::size_t)count_);
  }

  // Systems that must go another way.
  std::vector<size> run() {
    std::vector<size> all((std::size_t)count_), others;
    for (size i = 0; i < count_; ++i) all[(std::size_t)i] = i;
    const int usual = digits_needed(job_.parts, job_.limbs, job_.n, growth_, 0);
    if (usual == no_digits) return all;
    run_with(usual, all);
    std::map<int, std::vector<size>> rest;
    for (size i = 0; i < count_; ++i)
      if (needed_[(std::size_t)i] != usual) rest[needed_[(std::size_t)i]].push_back(i);
    for (const auto& [digits, some] : rest) {
      if (digits == no_digits) {
        others = some;
      } else {
        run_with(digits, some);
      }
    }
    return others;
  }

 private:
  void run_with(int digits, const std::vector<size>& which) {
    const size count = (size)which.size(), packs = (count + lanes_ - 1) / lanes_;
    const elimination_layout layout(job_.parts, job_.limbs, digits, job_.n);
    const double work = (double)count * (double)(job_.n * job_.n) * (double)(job_.n + job_.k) *
                        job_.parts * job_.parts * digits * digits / 8;
    parallel_for(packs, threads_for(work, 1e5), [&](size first, size last) {
      number_memory memory(layout.total * lanes_);
      elimination_job job = job_;
      job.digits = digits;
      job.memory = reinterpret_cast<unsigned long long*>(memory.data());
      std::vector<double> rcond((std::size_t)lanes_);
      std::vector<int> needed((std::size_t)lanes_);
      job.rcond = rcond.data();
      job.needed = needed.data();
      for (size pack = first; pack < last; ++pack) {
        const size begin = pack * lanes_;
        job.lanes = (int)std::min<size>(lanes_, count - begin);
        for (int lane = 0; lane < lanes_; ++lane) {
          const size i = which[(std::size_t)(begin + (lane < job.lanes ? lane : 0))];
          a_.point(job.a, lane, i);
          to_.point(job.to, lane, i);
          if (b_.p) b_.point(job.b, lane, i);
          if (pivots_) job.pivots[lane] = pivots_ + i * per_system_;
        }
        run_(job);
        for (int lane = 0; lane < job.lanes; ++lane) {
          const std::size_t i = (std::size_t)which[(std::size_t)(begin + lane)];
          needed_[i] = needed[(std::size_t)lane];
          if (rcond_ && needed_[i] == digits) rcond_[i] = rcond[(std::size_t)lane];
        }
      }
    });
  }

  kernel run_;
  int growth_;
  size per_system_;
  int lanes_;
  size count_;
  stack_of<const double> a_, b_;
  stack_of<double> to_;
  double* rcond_;
  int* pivots_;
  elimination_job job_{};
  std::vector<int> needed_;
};

// LU of one matrix in floating point, along the rows, with partial pivoting.
void floating_lu(const matrix& a, const matrix& to, int* pivots) {
  const field f(a.parts, a.limbs);
  const size n = a.rows, np = padded(n);
  number_memory memory(f.room(np) * (n + 2) + f.room(lane_block) * 4);
  const auto row = [&](size i) { return f.over(memory.data() + f.room(np) * i, np); };
  const numbers inverse = f.over(memory.data() + f.room(np) * n, lane_block);
  const numbers square = f.over(memory.data() + f.room(np) * (n + 1), lane_block);
  const auto entry = [&](const matrix& m, size i, size j, int c, int k) -> double& {
    return m.at(i, j)[c * m.part + k * m.limb];
  };
  const auto transfer = [&](size i, const auto& move) {
    for (size j = 0; j < n; ++j)
      for (int c = 0; c < f.parts; ++c)
        for (int k = 0; k < f.limbs; ++k)
          move(row(i).p[c * row(i).part + k * row(i).plane + j], j, c, k);
  };
  for (size i = 0; i < n; ++i)
    transfer(i, [&](double& x, size j, int c, int k) { x = entry(a, i, j, c, k); });
  for (size j = 0; j < n; ++j) pivots[j] = (int)j;
  for (size j = 0; j < n; ++j) {
    const auto length = [&](size i) {
      const numbers x = row(i).at(j);
      return std::fabs(*x.p) + (f.parts == 2 ? std::fabs(x.p[x.part]) : 0.0);
    };
    size best = j;
    for (size i = j + 1; i < n; ++i)
      if (length(i) > length(best)) best = i;
    if (best != j) {
      std::swap_ranges(row(j).p, row(j).p + f.room(np), row(best).p);
      std::swap(pivots[j], pivots[best]);
    }
    if (length(j) == 0) continue;
    // conj(u) / |u|^2 with u scaled, and the scale once more for l.
    const int e = std::isfinite(length(j)) ? std::ilogb(length(j)) + 1 : 0;
    const double down = std::ldexp(1.0, -e / 2), rest = std::ldexp(1.0, -(e - e / 2));
    f.scale(1, inverse, row(j).at(j), &down, 0);
    f.scale(1, inverse, inverse, &rest, 0);
    f.norm(1, square.re(), inverse, true);
    if (f.parts == 2) f.negate(1, inverse.im());
    f.div_real(1, inverse, inverse, square.re());
    const numbers l = f.over(memory.data() + f.room(np) * (n + 1), np);
    for (size i = j + 1; i < n; ++i) {
      f.scale(1, row(i).at(j), row(i).at(j), &down, 0);
      f.scale(1, row(i).at(j), row(i).at(j), &rest, 0);
      f.mul(1, l, row(i).at(j), inverse);
      f.copy(1, row(i).at(j), l);
      if (j + 1 < n) f.sub_mul(n - 1 - j, row(i).at(j + 1), row(j).at(j + 1), l.repeat(0));
    }
  }
  for (size i = 0; i < n; ++i)
    transfer(i, [&](double& x, size j, int c, int k) { entry(to, i, j, c, k) = x; });
}

// The lower triangle's L L^H of one matrix in floating point, scaled as by the kernel; returns the
// first column whose pivot is not positive, or -1. Right-looking, along the rows.
int floating_cholesky(const matrix& a, const matrix& to) {
  const field f(a.parts, a.limbs);
  const size n = a.rows, np = padded(n);
  number_memory memory(f.room(np) * (n + 2));
  const auto row = [&](size i) { return f.over(memory.data() + f.room(np) * i, np); };
  const numbers root = row(n), column = row(n + 1);
  std::vector<int> e((std::size_t)n);
  for (size i = 0; i < n; ++i) {
    const double d = *a.at(i, i);
    e[(std::size_t)i] = d > 0 && std::isfinite(d) ? (int)std::floor(std::ilogb(d) / 2.0) + 1 : 0;
    for (size j = 0; j <= i; ++j)
      for (int c = 0; c < f.parts; ++c)
        for (int k = 0; k < f.limbs; ++k)
          row(i).p[c * row(i).part + k * row(i).plane + j] = std::ldexp(
              a.at(i, j)[c * a.part + k * a.limb], -e[(std::size_t)i] - e[(std::size_t)j]);
  }
  for (size j = 0; j < n; ++j) {
    const numbers pivot = row(j).at(j);
    if (!(*pivot.p > 0)) return (int)j;
    f.ops.sqrt(1, root.re(), pivot.re());
    f.clear(1, pivot);
    f.copy_part(1, pivot.re(), root.re());
    for (size i = j + 1; i < n; ++i) {
      f.div_real(1, row(i).at(j), row(i).at(j), pivot.re());
      f.conj(1, column.at(i), row(i).at(j));
    }
    for (size i = j + 1; i < n; ++i) {
      f.copy(1, root, row(i).at(j));
      f.sub_mul(i - j, row(i).at(j + 1), column.at(j + 1), root.repeat(0));
    }
  }
  for (size i = 0; i < n; ++i)
    for (size j = 0; j <= i; ++j)
      for (int c = 0; c < f.parts; ++c)
        for (int k = 0; k < f.limbs; ++k)
          to.at(i, j)[c * to.part + k * to.limb] =
              std::ldexp(row(i).p[c * row(i).part + k * row(i).plane + j], e[(std::size_t)i]);
  return -1;
}

// f(matrix of a, matrix of to, number) for the systems `which`.
template <class F>
void one_by_one(const planes_view<double>& a, const planes_view<double>& to,
                const std::vector<size>& which, const F& f) {
  const matrix_stack from(a, which.data()), target(to, which.data());
  const size n = a.shape[1], count = (size)which.size();
  const double work = (double)count * (double)(n * n * n) * a.parts * a.parts * a.limbs * a.limbs;
  parallel_for(count, threads_for(work, 1e5), [&](size first, size last) {
    for (size i = first; i < last; ++i) {
      matrix x = from.first, y = target.first;
      x.p += from.offset(i);
      y.p += target.offset(i);
      f(x, y, which[(std::size_t)i]);
    }
  });
}

}  // namespace

void batched_solve(const planes_view<double>& x, double* rcond, const planes_view<double>& a,
                   const planes_view<double>& b) {
  const std::vector<size> others =
      eliminations(active_elimination_ops().solve, growth_bits(a.parts, a.shape[1]), a, x, &b,
                   rcond, nullptr, 0)
          .run();
  if (!others.empty()) batched_solve_by_qr(x, rcond, a, b, others);
}

void batched_lu(const planes_view<double>& lu, int* pivots, const planes_view<double>& a) {
  const size n = a.shape[1];
  const std::vector<size> others =
      eliminations(active_elimination_ops().lu, growth_bits(a.parts, n), a, lu, nullptr, nullptr,
                   pivots, n)
          .run();
  one_by_one(a, lu, others, [&](const matrix& from, const matrix& to, size i) {
    floating_lu(from, to, pivots + i * n);
  });
}

void batched_cholesky(const planes_view<double>& l, int* failed, const planes_view<double>& a) {
  const std::vector<size> others = eliminations(active_elimination_ops().cholesky, cholesky_growth,
                                                a, l, nullptr, nullptr, failed, 1)
                                       .run();
  one_by_one(a, l, others, [&](const matrix& from, const matrix& to, size i) {
    failed[i] = floating_cholesky(from, to);
  });
}

}  // namespace mdla
