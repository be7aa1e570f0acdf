// Free lists of buffers by size, guarded by the GIL, under which arrays are made and destroyed.
#include "python/core/buffers.h"

#include <nanobind/nanobind.h>

#include <cstdlib>
#include <unordered_map>
#include <vector>

namespace xla_core {
namespace {

constexpr size_t kAlignment = 64;
// Below, NumPy's own allocator is quicker than a capsule.
constexpr size_t kSmallest = 32 << 10;
constexpr const char* kCapsule = "xla.buffer";

struct Pool {
  std::unordered_map<size_t, std::vector<void*>> free;
  size_t kept = 0;
  size_t limit = size_t{256} << 20;

  void Trim() {
    if (kept <= limit) return;
    for (auto& [size, buffers] : free) {
      for (void* buffer : buffers) std::free(buffer);
    }
    free.clear();
    kept = 0;
  }
};

Pool& ThePool() {
  static Pool* pool = new Pool;  // arrays may outlive everything else
  return *pool;
}

// The size stands in the capsule's context.
void Release(PyObject* capsule) {
  void* buffer = PyCapsule_GetPointer(capsule, kCapsule);
  const size_t size = reinterpret_cast<size_t>(PyCapsule_GetContext(capsule));
  Pool& pool = ThePool();
  if (size > pool.limit) return std::free(buffer);
  pool.free[size].push_back(buffer);
  pool.kept += size;
  pool.Trim();
}

}  // namespace

size_t KeptBytes() { return ThePool().kept; }
void SetKeptLimit(size_t bytes) {
  ThePool().limit = bytes;
  ThePool().Trim();
}

PyObject* NewArray(PyArray_Descr* descr, int rank, const npy_intp* dims, size_t bytes) {
  void* buffer = nullptr;
  PyObject* capsule = nullptr;
  if (bytes >= kSmallest) {
    const size_t size = (bytes + 4095) / 4096 * 4096;
    Pool& pool = ThePool();
    if (auto it = pool.free.find(size); it != pool.free.end() && !it->second.empty()) {
      buffer = it->second.back();
      it->second.pop_back();
      pool.kept -= size;
    } else {
      buffer = std::aligned_alloc(kAlignment, size);
      if (buffer == nullptr) {
        PyErr_NoMemory();
        throw nanobind::python_error();
      }
    }
    capsule = PyCapsule_New(buffer, kCapsule, nullptr);
    if (capsule == nullptr) {
      std::free(buffer);
      throw nanobind::python_error();
    }
    PyCapsule_SetContext(capsule, reinterpret_cast<void*>(size));
    PyCapsule_SetDestructor(capsule, &Release);
  }
  Py_INCREF(descr);
  // Without memory of its own, NumPy takes any flag for Fortran's order.
  PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descr, rank, const_cast<npy_intp*>(dims), nullptr, buffer,
                                         buffer == nullptr ? 0 : NPY_ARRAY_DEFAULT, nullptr);
  if (array == nullptr) {
    Py_XDECREF(capsule);
    throw nanobind::python_error();
  }
  if (capsule != nullptr && PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), capsule) < 0) {
    Py_DECREF(array);
    throw nanobind::python_error();
  }
  return array;
}

}  // namespace xla_core
