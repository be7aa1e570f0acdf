// What `xla graph` does: runs a graph on the cases of its directory and compares, or explains its clusters.
#ifndef XC_JIT_TOOL_GRAPH_COMMAND_H_
#define XC_JIT_TOOL_GRAPH_COMMAND_H_

#include <cstdint>
#include <functional>
#include <string>

#include "service/client.h"

namespace xc {

struct GraphCommandOptions {
  std::string path;  // a directory with graph.pb (or .pbtxt), meta.json and case<N>/, a SavedModel, or a GraphDef
  std::string name;  // what to call it; empty: the last part of the path
  std::string signature = "serving_default";  // of a SavedModel
  std::string mode = "jit";                   // or "host"
  std::string platform = DefaultPlatform();
  bool emulate = false;  // platform gpu on the emulator
  bool explain = false;
  std::string explain_html;       // a file to write
  std::string policy = "atonce";  // or "lazy", "background"
  bool json = false;
  int64_t runs = 5;
  int64_t threads = 0;
  int64_t min_cluster_size = 2;
  std::function<int(const absl::Status&)> fail;  // says what the input has wrong; null: "error: …" on stderr, 2
};

// Prints to stdout and stderr; returns the exit status: 0, 1 (a wrong result) or 2 (bad input).
int RunGraphCommand(const GraphCommandOptions& options);

}  // namespace xc

#endif  // XC_JIT_TOOL_GRAPH_COMMAND_H_
