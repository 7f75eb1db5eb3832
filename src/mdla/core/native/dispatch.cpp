// SPDX-License-Identifier: BSD-3-Clause
#include "dispatch.hpp"

#include <cstdlib>
#include <cstring>

#include "vector_ops.hpp"

namespace mdla {

#if defined(MDLA_X86)
namespace v2 {
const vector_ops<double>* double_ops(int limbs);
const vector_ops<float>* float_ops(int limbs);
}  // namespace v2
namespace v3 {
const vector_ops<double>* double_ops(int limbs);
const vector_ops<float>* float_ops(int limbs);
}  // namespace v3
namespace v4 {
const vector_ops<double>* double_ops(int limbs);
const vector_ops<float>* float_ops(int limbs);
}  // namespace v4

int best_level() {
  static const int level = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512ifma") &&
                        __builtin_cpu_supports("avx512vbmi");
    return avx512 ? 2 : 1;
  }();
  return level;
}

const char* level_name(int level) {
  static const char* const names[] = {"v2", "v3", "v4"};
  return level >= 0 && level < 3 ? names[level] : "unknown";
}
#else
namespace portable {
const vector_ops<double>* double_ops(int limbs);
const vector_ops<float>* float_ops(int limbs);
}  // namespace portable
int best_level() { return 0; }
const char* level_name(int) { return "portable"; }
#endif

namespace {
// MDLA_LEVEL lowers the level, so that one machine can run all of them.
int& level_in_use() {
  static int level = [] {
    const char* wanted = std::getenv("MDLA_LEVEL");
    for (int i = 0; wanted && i <= best_level(); ++i)
      if (std::strcmp(wanted, level_name(i)) == 0) return i;
    return best_level();
  }();
  return level;
}
}  // namespace

int active_level() { return level_in_use(); }
void set_active_level(int level) { level_in_use() = level; }

template <>
const vector_ops<double>* vector_ops_for<double>(int limbs) {
#if defined(MDLA_X86)
  switch (active_level()) {
    case 2:
      return v4::double_ops(limbs);
    case 1:
      return v3::double_ops(limbs);
    default:
      return v2::double_ops(limbs);
  }
#else
  return portable::double_ops(limbs);
#endif
}

template <>
const vector_ops<float>* vector_ops_for<float>(int limbs) {
#if defined(MDLA_X86)
  switch (active_level()) {
    case 2:
      return v4::float_ops(limbs);
    case 1:
      return v3::float_ops(limbs);
    default:
      return v2::float_ops(limbs);
  }
#else
  return portable::float_ops(limbs);
#endif
}

}  // namespace mdla
