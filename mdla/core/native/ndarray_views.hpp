// SPDX-License-Identifier: BSD-3-Clause
// From nanobind arrays to planes_view, with the checks that keep bad calls from reaching kernels.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "elementwise.hpp"

namespace mdla {

namespace nb = nanobind;

template <class R>
using in_array = nb::ndarray<const R, nb::numpy, nb::device::cpu>;
template <class R>
using out_array = nb::ndarray<R, nb::numpy, nb::device::cpu, nb::c_contig>;

// Planes (parts, limbs, *shape). The kernels never write through an input view.
template <class R, class Array>
planes_view<R> view_of(const Array& a, const char* what) {
  if (a.ndim() < 2 || a.shape(0) < 1 || a.shape(0) > 2 || a.shape(1) < 1)
    throw nb::value_error(
        (std::string(what) + ": expected planes of shape (1 or 2, limbs, ...)").c_str());
  planes_view<R> v;
  v.p = const_cast<R*>(a.data());
  v.parts = (int)a.shape(0);
  v.limbs = (int)a.shape(1);
  v.part_stride = a.stride(0);
  v.limb_stride = a.stride(1);
  for (std::size_t d = 2; d < a.ndim(); ++d) {
    v.shape.push_back((long long)a.shape(d));
    v.strides.push_back(a.stride(d));
  }
  return v;
}

template <class R>
void require_shape(const planes_view<R>& v, const std::vector<long long>& shape, const char* what) {
  if (v.shape != shape)
    throw nb::value_error((std::string(what) + ": operand shapes do not match").c_str());
}

}  // namespace mdla
