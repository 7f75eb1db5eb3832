// SPDX-License-Identifier: BSD-3-Clause
#include "convolve_ops.hpp"
#include "dispatch.hpp"

namespace mdla {

#if defined(MDLA_X86)
namespace v2 {
const convolve_ops& convolve_table();
}
namespace v3 {
const convolve_ops& convolve_table();
}
namespace v4 {
const convolve_ops& convolve_table();
}

const convolve_ops& active_convolve_ops() {
  switch (active_level()) {
    case 2:
      return v4::convolve_table();
    case 1:
      return v3::convolve_table();
    default:
      return v2::convolve_table();
  }
}
#else
namespace portable {
const convolve_ops& convolve_table();
}

const convolve_ops& active_convolve_ops() { return portable::convolve_table(); }
#endif

}  // namespace mdla
