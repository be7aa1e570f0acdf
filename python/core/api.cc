// Opens the core library and turns its errors into Python's.
#include "python/core/api.h"

#include <dlfcn.h>
#include <nanobind/nanobind.h>

#include <stdexcept>

namespace xla_core {

Api api;

void Load(const std::string& path) {
  static void* library = nullptr;
  if (library != nullptr) return;
  void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (opened == nullptr) throw std::runtime_error(std::string("cannot open the core library: ") + dlerror());
#define X(name)                                                          \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(opened, #name)); \
  if (api.name == nullptr) throw std::runtime_error(path + " is not the core library: no " + #name);
  XC_FUNCTIONS(X)
#undef X
  library = opened;
}

void Check(xc_status* status) {
  if (status == nullptr) return;
  const int code = api.xc_status_code(status);
  const std::string message = api.xc_status_message(status);
  api.xc_status_free(status);
  PyObject* type = code == 3    ? PyExc_ValueError
                   : code == 4  ? PyExc_TimeoutError
                   : code == 8  ? PyExc_MemoryError
                   : code == 12 ? PyExc_NotImplementedError
                                : PyExc_RuntimeError;
  PyErr_SetString(type, message.c_str());
  throw nanobind::python_error();
}

}  // namespace xla_core
