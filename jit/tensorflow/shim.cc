// The library that TensorFlow loads. It uses TensorFlow's C API only, so that it can be loaded into any version; into
// one that it was tested with it opens the core library and the library of kernels and optimizer.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "jit/tensorflow/core.h"
#include "tensorflow/c/c_api.h"

namespace xc_tensorflow {
namespace {

constexpr const char* kTestedVersions[] = {"2.21.0"};

bool IsOff() {
  const char* text = std::getenv("XC_TF_ENABLED");
  return text != nullptr && (std::strcmp(text, "0") == 0 || std::strcmp(text, "false") == 0);
}

bool IsTested(const char* version) {
  for (const char* tested : kTestedVersions) {
    if (std::strcmp(version, tested) == 0) return true;
  }
  return false;
}

void OpenAndStart();

std::string FolderOfThisLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&OpenAndStart), &info) == 0 || info.dli_fname == nullptr) return ".";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The first of the files that can be opened; null with the reason on standard error.
void* OpenLibrary(const std::vector<std::string>& paths, int flags) {
  std::string error;
  for (const std::string& path : paths) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (library != nullptr) return library;
    const char* message = dlerror();
    // A library that is there and cannot be opened says more than one that is not there.
    if (error.empty() || std::strstr(message, "No such file") == nullptr) error = message;
  }
  std::fprintf(stderr, "xla.tf: off: %s\n", error.c_str());
  return nullptr;
}

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  if (*function == nullptr) std::fprintf(stderr, "xla.tf: off: the core library has no %s\n", name);
  return *function != nullptr;
}

void OpenAndStart() {
  if (IsOff()) return;
  if (!IsTested(TF_Version())) {
    std::fprintf(stderr, "xla.tf: off: not tested with TensorFlow %s\n", TF_Version());
    return;
  }
  // Beside this library, where the wheel puts it, or where the build does.
  const std::string folder = FolderOfThisLibrary();
  const char* given = std::getenv("XC_LIBRARY");
  void* library =
      OpenLibrary({given != nullptr ? std::string(given) : folder + "/libxc.so", folder + "/../xla/libxc.so",
                   folder + "/../xla_tensorflow/libxc.so", folder + "/../../libxc.so"},
                  RTLD_DEEPBIND);
  if (library == nullptr) return;
  static Core core;
  bool ok = Find(library, "xc_plugin_rewrite", &core.rewrite) && Find(library, "xc_string_free", &core.string_free) &&
            Find(library, "xc_cluster_create", &core.cluster_create) &&
            Find(library, "xc_cluster_free", &core.cluster_free) &&
            Find(library, "xc_cluster_host_graph", &core.cluster_host_graph) &&
            Find(library, "xc_cluster_run", &core.cluster_run) &&
            Find(library, "xc_cluster_host_ran", &core.cluster_host_ran) && Find(library, "xc_plugin_log", &core.log) &&
            Find(library, "xc_plugin_caller_thread", &core.caller_thread) &&
            Find(library, "xc_plugin_on_configure", &core.on_configure) &&
            Find(library, "xc_status_code", &core.status_code) &&
            Find(library, "xc_status_message", &core.status_message) &&
            Find(library, "xc_status_free", &core.status_free);
  if (!ok) return;
  void* kernels =
      OpenLibrary({folder + "/xc_tensorflow_kernels.so", folder + "/../xla_tensorflow/xc_tensorflow_kernels.so"}, 0);
  Start start = nullptr;
  if (kernels == nullptr || !Find(kernels, kStart, &start)) return;
  if (const char* problem = start(&core)) std::fprintf(stderr, "xla.tf: off: %s\n", problem);
}

}  // namespace
}  // namespace xc_tensorflow

extern "C" {

// TensorFlow's entry point for plugins with kernels.
void TF_InitKernel() {
  static bool once = (xc_tensorflow::OpenAndStart(), true);
  (void)once;
}

}  // extern "C"
