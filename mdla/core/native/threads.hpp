// SPDX-License-Identifier: BSD-3-Clause
// How many threads a piece of work is worth.
#pragma once

namespace mdla {

int num_threads();
void set_num_threads(int n);

// Threads for `work` units when one thread should get at least `grain` of them.
int threads_for(double work, double grain);

}  // namespace mdla
