// The library that TensorFlow loads. It is linked with nothing of TensorFlow's, so that it can be loaded into any
// version; into one that it was tested with it opens the core library and the library of kernels for that version.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "jit/tensorflow/build_id.h"
#include "jit/tensorflow/core.h"

namespace xc_tensorflow {
namespace {

// TensorFlow's C++ interface is that of a minor version: versions_check.py was run with each of these.
struct Tested {
  const char* version;
  const char* kernels;  // of xc_tensorflow_kernels_*.so
};
constexpr Tested kTested[] = {{"2.19.0", "2_19"}, {"2.19.1", "2_19"}, {"2.20.0", "2_20"}, {"2.21.0", "2_21"}};

std::string core_path;  // what was opened

// Whether an environment variable switches something off.
bool IsZero(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && (std::strcmp(text, "0") == 0 || std::strcmp(text, "false") == 0);
}

void SayOff(const std::string& why) { std::fprintf(stderr, "xla.tf: off: %s\n", why.c_str()); }

// What the process has loaded as TensorFlow.
std::string TensorFlowVersion() {
  auto version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "TF_Version"));
  return version != nullptr ? version() : "of an unknown version";
}

// The suffix of the library of kernels for a version; null with the reason on standard error.
const char* KernelsFor(const std::string& version) {
  std::string tested;
  for (const Tested& entry : kTested) {
    if (version == entry.version) return entry.kernels;
    tested += (tested.empty() ? "" : ", ") + std::string(entry.version);
  }
  SayOff("not tested with TensorFlow " + version + ", but with " + tested);
  return nullptr;
}

void OpenAndStart();

std::string FolderOfThisLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&OpenAndStart), &info) == 0 || info.dli_fname == nullptr) return ".";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// The core library that the process has loaded already; "" for none.
std::string LoadedCore() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        const std::string name = "/libxc.so";
        if (path.size() < name.size() || path.compare(path.size() - name.size(), name.size(), name) != 0) return 0;
        *static_cast<std::string*>(to) = path;
        return 1;
      },
      &found);
  return found;
}

// The core library to open; "" with the reason on standard error. That of the package `xla`, which may be loaded or lie
// beside this one, is taken if it is of the same build, so that both share one cache of programs.
std::string ChooseCore(const std::string& folder) {
  // Where the wheel puts it, beside this library, or where the build puts it.
  const std::string own = folder + "/../xla_tensorflow/libxc.so";
  std::string path = own;
  const char* given = std::getenv("XC_LIBRARY");
  if (given != nullptr && *given == 0) given = nullptr;
  if (given != nullptr) {
    path = given;
  } else {
    for (const char* place : {"/libxc.so", "/../../libxc.so"}) {
      if (!Exists(path)) path = folder + place;
    }
  }
  if (!Exists(path)) {
    SayOff(given != nullptr ? "XC_LIBRARY names " + path + ", which does not exist; unset it to use the plugin's own"
                            : "there is no core library " + path);
    return "";
  }
  std::string other = LoadedCore();
  if (other.empty() && path == own && Exists(folder + "/../xla/libxc.so")) other = folder + "/../xla/libxc.so";
  const std::string id = BuildId(path);
  return !other.empty() && !id.empty() && id == BuildId(other) ? other : path;
}

// Null with the reason on standard error.
void* OpenLibrary(const std::string& path, int flags) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (library == nullptr) SayOff("cannot open " + path + ": " + dlerror());
  return library;
}

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  if (*function == nullptr) SayOff(std::string("the core library has no ") + name);
  return *function != nullptr;
}

void OpenAndStart() {
  if (IsZero("XC_TF_ENABLED")) return;
  const std::string version = TensorFlowVersion();
  const char* suffix = KernelsFor(version);
  if (suffix == nullptr) return;
  const std::string folder = FolderOfThisLibrary(), name = std::string("/xc_tensorflow_kernels_") + suffix + ".so";
  // Beside this library, where the build puts it, or where the wheel does.
  std::string kernels_path = folder + name;
  if (!Exists(kernels_path)) kernels_path = folder + "/../xla_tensorflow" + name;
  if (!Exists(kernels_path)) {
    SayOff("this build of the plugin is without the part for TensorFlow " + version);
    return;
  }
  const std::string path = ChooseCore(folder);
  void* library = path.empty() ? nullptr : OpenLibrary(path, RTLD_DEEPBIND);
  if (library == nullptr) return;
  core_path = path;
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
  void* kernels = OpenLibrary(kernels_path, 0);
  Start start = nullptr;
  if (kernels == nullptr || !Find(kernels, kStart, &start)) return;
  if (const char* problem = start(&core)) {
    SayOff(problem);
  } else if (!IsZero("XC_TF_ANNOUNCE")) {
    std::fprintf(stderr,
                 "xla.tf: on: clusters of TensorFlow %s's graphs are compiled (XC_TF_ENABLED=0 turns this off, "
                 "XC_TF_ANNOUNCE=0 this line)\n",
                 version.c_str());
  }
}

}  // namespace
}  // namespace xc_tensorflow

extern "C" {

// TensorFlow's entry point for plugins with kernels.
void TF_InitKernel() {
  static bool once = (xc_tensorflow::OpenAndStart(), true);
  (void)once;
}

// The file of the core library that was opened, for the module of settings; "" if none was.
const char* xc_tensorflow_library() { return xc_tensorflow::core_path.c_str(); }

}  // extern "C"
