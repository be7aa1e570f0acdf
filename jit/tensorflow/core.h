// The core library as the parts that TensorFlow loads see it: opened at run time so that none of its symbols meets
// TensorFlow's.
#ifndef XC_JIT_TENSORFLOW_CORE_H_
#define XC_JIT_TENSORFLOW_CORE_H_

#include <string>

#include "jit/capi/xc_plugin.h"

namespace xc_tensorflow {

// The functions of the C API that a TensorFlow plugin calls.
struct Core {
  decltype(&xc_plugin_rewrite) rewrite;
  decltype(&xc_string_free) string_free;
  decltype(&xc_cluster_create) cluster_create;
  decltype(&xc_cluster_free) cluster_free;
  decltype(&xc_cluster_host_graph) cluster_host_graph;
  decltype(&xc_cluster_run) cluster_run;
  decltype(&xc_cluster_host_ran) cluster_host_ran;
  decltype(&xc_plugin_log) log;
  decltype(&xc_plugin_caller_thread) caller_thread;
  decltype(&xc_plugin_on_configure) on_configure;
  decltype(&xc_status_code) status_code;
  decltype(&xc_status_message) status_message;
  decltype(&xc_status_free) status_free;

  // Takes the status: its message, "" for success.
  std::string TakeMessage(xc_status* status) const {
    if (status == nullptr) return "";
    std::string message = status_message(status);
    status_free(status);
    return message.empty() ? "unknown error" : message;
  }
};

// The op that runs a cluster.
inline constexpr char kLaunchOp[] = "XlaJitLaunch";

// What the shim calls in the library of kernels and optimizer (xc_tensorflow_kernels.so), under the name below: it
// registers both, which then use `core`. Returns why it could not, or null.
using Start = const char* (*)(const Core* core);
inline constexpr char kStart[] = "xc_tensorflow_start";

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_CORE_H_
