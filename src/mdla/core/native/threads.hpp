// SPDX-License-Identifier: BSD-3-Clause
// How many threads a piece of work is worth.
#pragma once

#include <exception>

namespace mdla {

int num_threads();
void set_num_threads(int n);

// Threads for `work` units when one thread should get at least `grain` of them.
int threads_for(double work, double grain);

// f(first, last) on contiguous shares of 0..n, one per thread; an exception of any share is
// rethrown here, since none may leave a parallel region.
template <class F>
void parallel_for(long long n, int threads, const F& f) {
  if (threads > n) threads = (int)n;
  if (threads <= 1) {
    f(0, n);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    try {
      f(n * t / threads, n * (t + 1) / threads);
    } catch (...) {
#pragma omp critical(mdla_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mdla
