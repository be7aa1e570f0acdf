// The library that JAX loads as a PJRT plugin: opens the core library, apart from all that the process has loaded, and
// hands out its table of functions.
#include <dlfcn.h>

#include <cstdio>

extern "C" __attribute__((visibility("default"))) const void* GetPjrtApi() {
  static const void* const api = []() -> const void* {
    // Found by this library's run path: beside it in a wheel, two folders up where the build puts it.
    void* const core = dlopen("libxc.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (core == nullptr) {
      std::fprintf(stderr, "xc: the core library cannot be loaded: %s\n", dlerror());
      return nullptr;
    }
    const auto get = reinterpret_cast<const void* (*)()>(dlsym(core, "xc_pjrt_api"));
    if (get == nullptr) {
      std::fprintf(stderr, "xc: the core library is of another release than the plugin: it has no xc_pjrt_api\n");
      return nullptr;
    }
    return get();
  }();
  return api;
}
