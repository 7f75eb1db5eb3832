// SPDX-License-Identifier: BSD-3-Clause
#include "threads.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace mdla {

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
  const int most = num_threads();
  if (worth < 2) return 1;
  return worth > most ? most : (int)worth;
}

}  // namespace mdla
