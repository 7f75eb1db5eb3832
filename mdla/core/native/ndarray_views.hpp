// SPDX-License-Identifier: BSD-3-Clause
// From NumPy arrays to planes_view, with the checks that keep bad calls from reaching kernels.
//
// The buffer protocol is used directly: importing an array through nanobind's ndarray takes longer
// than a kernel on a few hundred numbers.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <string>

#include "elementwise.hpp"

namespace mdla {

namespace nb = nanobind;

[[noreturn]] inline void bad_argument(const char* what, const char* text) {
  throw nb::value_error((std::string(what) + ": " + text).c_str());
}

template <class E>
constexpr char format_of = '?';
template <>
inline constexpr char format_of<double> = 'd';
template <>
inline constexpr char format_of<float> = 'f';
template <>
inline constexpr char format_of<signed char> = 'b';

// A borrowed NumPy buffer, released with the object; create and destroy it under the GIL.
class buffer {
 public:
  buffer(nb::handle object, bool writable, const char* what) {
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) nb::raise_python_error();
    const char* f = view_.format ? view_.format : "B";
    if (f[0] == 0 || f[1] != 0 || view_.ndim > axes::most) {
      PyBuffer_Release(&view_);
      bad_argument(what, "a float64 or float32 array is needed");
    }
  }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { PyBuffer_Release(&view_); }

  template <class E>
  bool holds() const {
    return view_.format && view_.format[0] == format_of<E>;
  }
  template <class E>
  E* data() const {
    return static_cast<E*>(view_.buf);
  }
  int ndim() const { return view_.ndim; }
  long long shape(int d) const { return view_.shape[d]; }
  long long stride(int d) const { return view_.strides[d] / view_.itemsize; }
  long long size() const { return view_.len / view_.itemsize; }
  bool is_contiguous() const { return PyBuffer_IsContiguous(&view_, 'C') != 0; }

 private:
  Py_buffer view_;
};

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
