// SPDX-License-Identifier: BSD-3-Clause
// From NumPy arrays to planes_view, with the checks that keep bad calls from reaching kernels.
//
// NumPy's C interface is used directly: importing an array through nanobind's ndarray or the buffer
// protocol takes longer than a kernel on a few hundred numbers.
#pragma once

#include <nanobind/nanobind.h>

// Defined by module.cpp, which imports NumPy's function table for all files.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL mdla_numpy_api
#if !defined(MDLA_IMPORT_NUMPY)
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <string>

#include "elementwise.hpp"

namespace mdla {

namespace nb = nanobind;

[[noreturn]] inline void bad_argument(const char* what, const char* text) {
  throw nb::value_error((std::string(what) + ": " + text).c_str());
}

template <class E>
constexpr int numpy_type = NPY_NOTYPE;
template <>
inline constexpr int numpy_type<double> = NPY_DOUBLE;
template <>
inline constexpr int numpy_type<float> = NPY_FLOAT;
template <>
inline constexpr int numpy_type<signed char> = NPY_BYTE;
template <>
inline constexpr int numpy_type<int> = NPY_INT;
template <>
inline constexpr int numpy_type<unsigned> = NPY_UINT;

// A NumPy array, borrowed from the caller.
class buffer {
 public:
  buffer(nb::handle object, bool writable, const char* what)
      : array_(reinterpret_cast<PyArrayObject*>(object.ptr())) {
    if (!PyArray_Check(object.ptr())) bad_argument(what, "a NumPy array is needed");
    if (!PyArray_ISBEHAVED_RO(array_))
      bad_argument(what, "the array is misaligned or byte-swapped");
    if (writable && !PyArray_ISWRITEABLE(array_)) bad_argument(what, "the result is read-only");
    if (ndim() > axes::most) bad_argument(what, "the array has too many dimensions");
  }

  template <class E>
  bool holds() const {
    return PyArray_TYPE(array_) == numpy_type<E>;
  }
  template <class E>
  E* data() const {
    return static_cast<E*>(PyArray_DATA(array_));
  }
  int ndim() const { return PyArray_NDIM(array_); }
  long long shape(int d) const { return PyArray_DIM(array_, d); }
  long long stride(int d) const { return PyArray_STRIDE(array_, d) / PyArray_ITEMSIZE(array_); }
  long long size() const { return PyArray_SIZE(array_); }
  bool is_contiguous() const { return PyArray_IS_C_CONTIGUOUS(array_) != 0; }

 private:
  PyArrayObject* array_;
};

// A new contiguous array of planes, uninitialised. Long ones begin at a cache line, since a vector
// load that straddles two lines takes twice as long.
nb::object new_planes(int numpy_type, int parts, int limbs, const axes& shape);

// Planes (parts, limbs, *shape). Kernels write only through views made with `writable`.
template <class R>
planes_view<R> view_of(const buffer& a, const char* what) {
  if (!a.holds<R>()) bad_argument(what, "all arrays must have the same floating-point type");
  if (a.ndim() < 2 || a.shape(0) < 1 || a.shape(0) > 2 || a.shape(1) < 1)
    bad_argument(what, "planes of shape (1 or 2, limbs, ...) are needed");
  planes_view<R> v;
  v.p = a.data<R>();
  v.parts = (int)a.shape(0);
  v.limbs = (int)a.shape(1);
  v.part_stride = a.stride(0);
  v.limb_stride = a.stride(1);
  for (int d = 2; d < a.ndim(); ++d) {
    v.shape.push_back(a.shape(d));
    v.strides.push_back(a.stride(d));
  }
  return v;
}

// A result: writable and C-contiguous.
template <class R>
planes_view<R> result_view_of(const buffer& a, const char* what) {
  if (!a.is_contiguous()) bad_argument(what, "the result must be C-contiguous");
  return view_of<R>(a, what);
}

template <class R>
void require_shape(const planes_view<R>& v, const axes& shape, const char* what) {
  if (v.shape != shape) bad_argument(what, "operand shapes do not match");
}

}  // namespace mdla
