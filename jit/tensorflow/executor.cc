#include "jit/tensorflow/executor.h"

#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "jit/tensorflow/core.h"
#include "tensorflow/core/common_runtime/executor.h"
#include "tensorflow/core/common_runtime/executor_factory.h"
#include "tensorflow/core/common_runtime/local_executor_params.h"
#include "tensorflow/core/graph/graph.h"

namespace xc_tensorflow {
namespace {

namespace tf = tensorflow;

// Whether one thread runs the graph as fast as several would: a single launch, and beside it only what passes values
// on, reads or updates variables.
bool IsOneLaunch(const tf::Graph& graph) {
  static const auto* const kBeside = new absl::flat_hash_set<absl::string_view>{"_Arg",
                                                                                "_Retval",
                                                                                "_DeviceArg",
                                                                                "_DeviceRetval",
                                                                                "Const",
                                                                                "Identity",
                                                                                "IdentityN",
                                                                                "NoOp",
                                                                                "Shape",
                                                                                "VarHandleOp",
                                                                                "Rank",
                                                                                "Size",
                                                                                "ReadVariableOp",
                                                                                "AssignVariableOp",
                                                                                "AssignAddVariableOp",
                                                                                "AssignSubVariableOp"};
  int launches = 0;
  for (const tf::Node* node : graph.op_nodes()) {
    if (node->type_string() == kLaunchOp) {
      ++launches;
    } else if (!kBeside->contains(node->type_string())) {
      return false;
    }
  }
  return launches == 1;
}

// Runs the graph before RunAsync returns: no hand-over to TensorFlow's pool and back.
class CallerExecutor : public tf::Executor {
 public:
  explicit CallerExecutor(std::unique_ptr<tf::Executor> sequential) : sequential_(std::move(sequential)) {}

 private:
  void RunAsyncInternal(const Args& args, DoneCallback done) override { done(sequential_->Run(args)); }

  std::unique_ptr<tf::Executor> sequential_;
};

// Graphs of one launch run in the thread that calls, all others as by default.
class CallerFactory : public tf::ExecutorFactory {
 public:
  absl::Status NewExecutor(const tf::LocalExecutorParams& params, const tf::Graph& graph,
                           std::unique_ptr<tf::Executor>* out) override {
    std::unique_ptr<tf::Executor> sequential;
    // It refuses graphs with nodes that it cannot run.
    if (!IsOneLaunch(graph) || !tf::NewExecutor("SINGLE_THREADED_EXECUTOR", params, graph, &sequential).ok()) {
      return tf::NewExecutor("", params, graph, out);
    }
    *out = std::make_unique<CallerExecutor>(std::move(sequential));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterExecutor() { tf::ExecutorFactory::Register(kCallerExecutor, new CallerFactory); }

}  // namespace xc_tensorflow
