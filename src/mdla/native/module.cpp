// SPDX-License-Identifier: BSD-3-Clause
// The extension mdla._native: one binding function per floor.
#define MDLA_IMPORT_NUMPY
#include <cstdlib>
#include <cstring>

#include "dispatch.hpp"
#include "ndarray_views.hpp"

namespace mdla {
void bind_core(nanobind::module_& m);
void bind_direct(nanobind::module_& m);
void bind_elementary(nanobind::module_& m);
void bind_factors(nanobind::module_& m);
void bind_int8(nanobind::module_& m);
void bind_residues(nanobind::module_& m);
void bind_survey(nanobind::module_& m);
void bind_wide(nanobind::module_& m);
void bind_linalg(nanobind::module_& m);
void bind_poly(nanobind::module_& m);
void bind_series(nanobind::module_& m);
}  // namespace mdla

namespace {
// A level that is asked for and not there is no error, since results are the same, but no secret.
void check_level() {
  const char* wanted = std::getenv("MDLA_LEVEL");
  const char* used = mdla::level_name(mdla::active_level());
  if (wanted && *wanted && std::strcmp(wanted, used) != 0 &&
      PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                       "MDLA_LEVEL=%s: this machine has no such level, %s is used", wanted,
                       used) != 0)
    nanobind::raise_python_error();
}
}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "Kernels of mdla on planes (parts, limbs, *shape); use the Python functions instead.";
  if (_import_array() < 0) nanobind::raise_python_error();
  check_level();
  mdla::bind_core(m);
  mdla::bind_direct(m);
  mdla::bind_elementary(m);
  mdla::bind_factors(m);
  mdla::bind_int8(m);
  mdla::bind_residues(m);
  mdla::bind_survey(m);
  mdla::bind_wide(m);
  mdla::bind_linalg(m);
  mdla::bind_poly(m);
  mdla::bind_series(m);
}
