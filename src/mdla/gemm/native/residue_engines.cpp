// SPDX-License-Identifier: BSD-3-Clause
// Which engines this machine has.
#include <cstring>

#include "dispatch.hpp"
#include "residues.hpp"

#if defined(MDLA_X86)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mdla {

#if defined(MDLA_X86)
namespace v2 {
const residue_ops& residue_table();
}
namespace v3 {
const residue_ops& residue_table();
}
namespace v4 {
const residue_ops& residue_table();
}
namespace avxvnni {
const residue_ops& residue_table();
}
namespace vnni {
const residue_ops& residue_table();
}
namespace amx {
const residue_ops& residue_table();
}

namespace {

struct registers {
  unsigned a, b, c, d;
};

registers read_leaf_7(unsigned sub) {
  registers r{};
  __get_cpuid_count(7, sub, &r.a, &r.b, &r.c, &r.d);
  return r;
}

// Read once: under a hypervisor the instruction takes microseconds.
const registers& leaf_7(unsigned sub) {
  static const registers leaves[] = {read_leaf_7(0), read_leaf_7(1)};
  return leaves[sub];
}

bool has(unsigned word, int bit) { return word >> bit & 1; }

// Linux grants the tile registers to a process that asks for them once.
bool may_use_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr int request = 0x1023, tile_data = 18;
  if (!has(leaf_7(0).d, 24) || !has(leaf_7(0).d, 25)) return false;
  unsigned low, high;  // the operating system saves tiles: bits 17 and 18 of XCR0
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> 17 & 3) == 3 && syscall(SYS_arch_prctl, request, tile_data) == 0;
#else
  return false;
#endif
}

const residue_ops* vnni_ops() {
  if (active_level() >= 2 && has(leaf_7(0).c, 11)) return &vnni::residue_table();
  if (active_level() >= 1 && has(leaf_7(1).a, 4)) return &avxvnni::residue_table();
  return nullptr;
}

}  // namespace

const residue_ops* residue_engine(const char* name) {
  if (std::strcmp(name, "int8-amx") == 0) {
    static const bool allowed = may_use_tiles();
    return allowed && active_level() >= 2 && has(leaf_7(0).c, 11) ? &amx::residue_table() : nullptr;
  }
  if (std::strcmp(name, "int8-vnni") == 0) return vnni_ops();
  if (std::strcmp(name, "int8-portable") != 0) return nullptr;
  switch (active_level()) {
    case 2:
      return &v4::residue_table();
    case 1:
      return &v3::residue_table();
    default:
      return &v2::residue_table();
  }
}

#else

namespace portable {
const residue_ops& residue_table();
}

const residue_ops* residue_engine(const char* name) {
  return std::strcmp(name, "int8-portable") == 0 ? &portable::residue_table() : nullptr;
}

#endif

}  // namespace mdla
