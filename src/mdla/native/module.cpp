// SPDX-License-Identifier: BSD-3-Clause
// The extension mdla._native: one binding function per floor.
#define MDLA_IMPORT_NUMPY
#include "ndarray_views.hpp"

namespace mdla {
void bind_core(nanobind::module_& m);
void bind_direct(nanobind::module_& m);
void bind_linalg(nanobind::module_& m);
}  // namespace mdla

NB_MODULE(_native, m) {
  m.doc() = "Kernels of mdla on planes (parts, limbs, *shape); use the Python functions instead.";
  if (_import_array() < 0) nanobind::raise_python_error();
  mdla::bind_core(m);
  mdla::bind_direct(m);
  mdla::bind_linalg(m);
}
