// SPDX-License-Identifier: BSD-3-Clause
#include "probes.hpp"

#include <cstring>

#include "eft.hpp"

namespace mdla {

std::vector<cpu_feature> cpu_features() {
  std::vector<cpu_feature> found;
#if defined(MDLA_X86)
  __builtin_cpu_init();
#define MDLA_FEATURE(name) found.push_back({name, __builtin_cpu_supports(name) != 0})
  MDLA_FEATURE("sse4.2");
  MDLA_FEATURE("avx2");
  MDLA_FEATURE("fma");
  MDLA_FEATURE("avx512f");
  MDLA_FEATURE("avx512dq");
  MDLA_FEATURE("avx512bw");
  MDLA_FEATURE("avx512vl");
  MDLA_FEATURE("avx512ifma");
  MDLA_FEATURE("avx512vbmi");
  MDLA_FEATURE("avx512vnni");
#undef MDLA_FEATURE
#endif
  return found;
}

namespace {
// Values pass through memory that the compiler must not look into.
double opaque(double x) {
  volatile double v = x;
  return v;
}
}  // namespace

bool probe(const char* lane) {
  const double tiny = opaque(0x1p-1074), small = opaque(0x1p-1022);
  const auto is = [lane](const char* name) { return std::strcmp(lane, name) == 0; };
  if (is("fused_multiply_add")) {
    const double a = opaque(1.0 + 0x1p-30);
    const exact<double> p = two_prod(a, a);
    return p.error == 0x1p-60;
  }
  if (is("two_sum")) {
    const exact<double> s = two_sum(opaque(1.0), opaque(0x1p-60));
    return s.value == 1.0 && s.error == 0x1p-60;
  }
  if (is("subnormal_add")) return opaque(small + tiny) - small == tiny && tiny != 0;
  if (is("subnormal_mul")) return opaque(small * opaque(0.5)) == 0x1p-1023;
  if (is("subnormal_fma")) return fma(small, opaque(0.5), tiny) == 0x1p-1023 + 0x1p-1074;
  if (is("subnormal_residual")) {
    const double a = opaque(0x1p-500 * (1.0 + 0x1p-26)), b = opaque(0x1p-500);
    const exact<double> p = two_prod(mul_rn(a, opaque(1.0 + 0x1p-27)), b);
    return p.error != 0 || mul_rn(p.value, 0x1p500) == mul_rn(a, 1.0 + 0x1p-27);
  }
  if (is("subnormal_sign")) return opaque(-tiny) < 0 && opaque(-tiny) + tiny == 0;
  return false;
}

}  // namespace mdla
