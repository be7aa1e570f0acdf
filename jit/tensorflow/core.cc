#include "jit/tensorflow/core.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

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

std::string FolderOfThisLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&TheCore), &info) == 0 || info.dli_fname == nullptr) return ".";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Beside this library, where the wheel puts it, or where the build does.
void* OpenLibrary(std::string* error) {
  const char* given = std::getenv("XC_LIBRARY");
  std::string folder = FolderOfThisLibrary();
  for (const std::string& path :
       {given != nullptr ? std::string(given) : folder + "/libxc.so", folder + "/../xla/libxc.so",
        folder + "/../xla_tensorflow/libxc.so", folder + "/../../libxc.so"}) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (library != nullptr) return library;
    const char* message = dlerror();
    // A library that is there and cannot be opened says more than one that is not there.
    if (error->empty() || std::strstr(message, "No such file") == nullptr) *error = message;
  }
  return nullptr;
}

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  if (*function == nullptr) std::fprintf(stderr, "xla.tf: off: the core library has no %s\n", name);
  return *function != nullptr;
}

const Core* Open() {
  if (IsOff()) return nullptr;
  if (!IsTested(TF_Version())) {
    std::fprintf(stderr, "xla.tf: off: not tested with TensorFlow %s\n", TF_Version());
    return nullptr;
  }
  std::string error;
  void* library = OpenLibrary(&error);
  if (library == nullptr) {
    std::fprintf(stderr, "xla.tf: off: %s\n", error.c_str());
    return nullptr;
  }
  static Core core;
  bool ok = Find(library, "xc_plugin_rewrite", &core.rewrite) && Find(library, "xc_string_free", &core.string_free) &&
            Find(library, "xc_cluster_create", &core.cluster_create) &&
            Find(library, "xc_cluster_free", &core.cluster_free) &&
            Find(library, "xc_cluster_host_graph", &core.cluster_host_graph) &&
            Find(library, "xc_cluster_run", &core.cluster_run) &&
            Find(library, "xc_cluster_host_ran", &core.cluster_host_ran) && Find(library, "xc_plugin_log", &core.log) &&
            Find(library, "xc_status_code", &core.status_code) &&
            Find(library, "xc_status_message", &core.status_message) &&
            Find(library, "xc_status_free", &core.status_free);
  return ok ? &core : nullptr;
}

}  // namespace

const Core* TheCore() {
  static const Core* core = Open();
  return core;
}

std::string TakeMessage(const Core& core, xc_status* status) {
  if (status == nullptr) return "";
  std::string message = core.status_message(status);
  core.status_free(status);
  return message.empty() ? "unknown error" : message;
}

}  // namespace xc_tensorflow
