// NumPy's C API. One source file (core.cc) defines XLA_CORE_IMPORTS_NUMPY and fills its table of functions.
#ifndef XC_PYTHON_CORE_NUMPY_H_
#define XC_PYTHON_CORE_NUMPY_H_

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL xla_core_numpy_api
#ifndef XLA_CORE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
#include <numpy/arrayobject.h>

#endif  // XC_PYTHON_CORE_NUMPY_H_
