// SPDX-License-Identifier: BSD-3-Clause
#include "ndarray_views.hpp"

#include <cstdint>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mdla {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t long_array = 16384, huge_array = std::size_t(1) << 22;

void release(PyObject* capsule) { std::free(PyCapsule_GetPointer(capsule, nullptr)); }

}  // namespace

nb::object new_planes(int numpy_type, int parts, int limbs, const axes& shape) {
  npy_intp lengths[axes::most];
  const int nd = shape.size() + 2;
  if (nd > axes::most) bad_argument("planes", "the array has too many dimensions");
  lengths[0] = parts;
  lengths[1] = limbs;
  std::copy(shape.begin(), shape.end(), lengths + 2);
  std::size_t bytes = numpy_type == NPY_DOUBLE ? sizeof(double) : sizeof(float);
  for (int d = 0; d < nd; ++d) bytes *= (std::size_t)lengths[d];
  if (bytes < long_array) {
    PyObject* array = PyArray_SimpleNew(nd, lengths, numpy_type);
    if (!array) nb::raise_python_error();
    return nb::steal(array);
  }
  // malloc and not aligned_alloc: the C library keeps freed blocks of a size for the next request
  // only where no alignment is asked for, and fresh pages cost more than the arithmetic.
  void* block = std::malloc(bytes + cache_line);
  if (!block) {
    PyErr_NoMemory();
    nb::raise_python_error();
  }
  void* memory =
      (void*)(((std::uintptr_t)block + cache_line - 1) & ~std::uintptr_t(cache_line - 1));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= huge_array) {
    // As NumPy does for its own long arrays; the advice must start at a page.
    const std::uintptr_t start = ((std::uintptr_t)memory + 4095) & ~std::uintptr_t(4095);
    madvise((void*)start, (std::uintptr_t)memory + bytes - start, MADV_HUGEPAGE);
  }
#endif
  PyObject* owner = PyCapsule_New(block, nullptr, release);
  if (!owner) {
    std::free(block);
    nb::raise_python_error();
  }
  PyObject* array = PyArray_SimpleNewFromData(nd, lengths, numpy_type, memory);
  if (!array) {
    Py_DECREF(owner);
    nb::raise_python_error();
  }
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), owner) != 0) {
    Py_DECREF(array);
    nb::raise_python_error();
  }
  return nb::steal(array);
}

}  // namespace mdla
