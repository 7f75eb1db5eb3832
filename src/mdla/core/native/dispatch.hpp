// SPDX-License-Identifier: BSD-3-Clause
// Which instruction set runs. Levels are ordered: a machine that has one has all before it.
#pragma once

namespace mdla {

// 0: v2 on x86-64, the compiler's default elsewhere; 1: v3 (AVX2, FMA); 2: v4 (AVX-512 with IFMA
// and VBMI, that is Ice Lake, Sapphire Rapids, Zen 4 and later).
int active_level();
int best_level();
const char* level_name(int level);
void set_active_level(int level);

}  // namespace mdla
