// SPDX-License-Identifier: BSD-3-Clause
#include "threads.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace mdla {
namespace {

// A forked child inherits the runtime's memory of its threads, but not the threads: waiting for
// them would hang. So a child works alone, which suits the workers of a process pool anyway.
bool is_forked_child = false;

#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] const int watches_forks =
    pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
#endif

}  // namespace

// OpenMP's own setting is used, so OMP_NUM_THREADS and threadpoolctl are honoured.
int num_threads() {
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void set_num_threads(int n) {
#if defined(_OPENMP)
  omp_set_num_threads(n);
#else
  (void)n;
#endif
}

int threads_for(double work, double grain) {
  const double worth = work / grain;
  if (worth < 2 || is_forked_child) return 1;
  const int most = num_threads();
  return worth > most ? most : (int)worth;
}

}  // namespace mdla
