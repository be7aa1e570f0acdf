#include "service/pjrt/python_code.h"

#include <dlfcn.h>

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace xc::pjrt {
namespace {

template <typename F>
F Symbol(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void RunInPython(std::string code, std::initializer_list<const void*> addresses) {
  const auto is_initialized = Symbol<int (*)()>("Py_IsInitialized");
  const auto ensure = Symbol<int (*)()>("PyGILState_Ensure");
  const auto release = Symbol<void (*)(int)>("PyGILState_Release");
  const auto run = Symbol<int (*)(const char*, void*)>("PyRun_SimpleStringFlags");
  if (is_initialized == nullptr || ensure == nullptr || release == nullptr || run == nullptr) return;
  if (is_initialized() == 0) return;
  for (const void* const* address = addresses.end(); address-- != addresses.begin();) {
    code.replace(code.rfind("%s"), 2, absl::StrCat(reinterpret_cast<uintptr_t>(*address)));
  }
  const int state = ensure();
  run(code.c_str(), nullptr);
  release(state);
}

bool HoldsPythonLock() {
  static const auto is_initialized = Symbol<int (*)()>("Py_IsInitialized");
  static const auto check = Symbol<int (*)()>("PyGILState_Check");
  return is_initialized != nullptr && check != nullptr && is_initialized() != 0 && check() != 0;
}

}  // namespace xc::pjrt
