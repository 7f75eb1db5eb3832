// SPDX-License-Identifier: BSD-3-Clause
#include "direct_ops.hpp"
#include "dispatch.hpp"

namespace mdla {

#if defined(MDLA_X86)
namespace v2 {
const direct_ops& direct_table();
}
namespace v3 {
const direct_ops& direct_table();
}
namespace v4 {
const direct_ops& direct_table();
}

const direct_ops& active_direct_ops() {
  switch (active_level()) {
    case 2:
      return v4::direct_table();
    case 1:
      return v3::direct_table();
    default:
      return v2::direct_table();
  }
}
#else
namespace portable {
const direct_ops& direct_table();
}

const direct_ops& active_direct_ops() { return portable::direct_table(); }
#endif

}  // namespace mdla
