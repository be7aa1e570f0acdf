// The core library as the shim sees it: opened at run time so that none of its symbols meets TensorFlow's.
#ifndef XC_JIT_TENSORFLOW_CORE_H_
#define XC_JIT_TENSORFLOW_CORE_H_

#include <string>

#include "jit/capi/xc_plugin.h"

namespace xc_tensorflow {

// The functions of the C API that the shim calls.
struct Core {
  decltype(&xc_plugin_rewrite) rewrite;
  decltype(&xc_string_free) string_free;
  decltype(&xc_cluster_create) cluster_create;
  decltype(&xc_cluster_free) cluster_free;
  decltype(&xc_cluster_host_graph) cluster_host_graph;
  decltype(&xc_cluster_run) cluster_run;
  decltype(&xc_cluster_host_ran) cluster_host_ran;
  decltype(&xc_plugin_log) log;
  decltype(&xc_status_code) status_code;
  decltype(&xc_status_message) status_message;
  decltype(&xc_status_free) status_free;
};

// Opened at the first call; null if it cannot be or if this TensorFlow is not one that it was tested with. The reason
// is written to standard error once.
const Core* TheCore();

// Takes the status: its message, "" for success.
std::string TakeMessage(const Core& core, xc_status* status);

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_CORE_H_
