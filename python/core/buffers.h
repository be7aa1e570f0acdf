// Memory of results: NumPy arrays whose larger buffers are aligned for vectors and, once an array is gone, kept for the
// next one, because fresh pages cost more than many programs that fill them.
#ifndef XC_PYTHON_CORE_BUFFERS_H_
#define XC_PYTHON_CORE_BUFFERS_H_

#include "python/core/numpy.h"

namespace xla_core {

// A new C-contiguous array with undefined elements. `descr` is borrowed. Raises nanobind::python_error.
PyObject* NewArray(PyArray_Descr* descr, int rank, const npy_intp* dims, size_t bytes);

// Bytes that are kept for later arrays, and a limit for them (0 keeps none).
size_t KeptBytes();
void SetKeptLimit(size_t bytes);

}  // namespace xla_core

#endif  // XC_PYTHON_CORE_BUFFERS_H_
