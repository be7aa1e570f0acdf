#include "jit/tensorflow/executor.h"

#include <memory>
#include <new>
#include <string>
#include <typeinfo>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/common_runtime/executor.h"
#include "tensorflow/core/common_runtime/executor_factory.h"
#include "tensorflow/core/common_runtime/local_executor_params.h"
#include "tensorflow/core/graph/graph.h"

namespace xc_tensorflow {
namespace {

namespace tf = tensorflow;

const Core* the_core = nullptr;

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

// Gives nothing to TensorFlow's pool: the graph has run when RunAsync returns.
class CallerExecutor : public tf::Executor {
 public:
  explicit CallerExecutor(std::unique_ptr<tf::Executor> executor) : executor_(std::move(executor)) {}

 private:
  void RunAsyncInternal(const Args& args, DoneCallback done) override {
    // What `done` starts goes to the pool as always: a loop that TensorFlow runs would otherwise be a recursion.
    static thread_local bool running = false;
    if (running) return executor_->RunAsync(args, std::move(done));
    Args here = args;
    here.runner = [](const Args::Closure& closure) { closure(); };
    running = true;
    executor_->RunAsync(here, std::move(done));
    running = false;
  }

  std::unique_ptr<tf::Executor> executor_;
};

class CallerFactory : public tf::ExecutorFactory {
 public:
  absl::Status NewExecutor(const tf::LocalExecutorParams& params, const tf::Graph& graph,
                           std::unique_ptr<tf::Executor>* out) override {
    tf::Executor* executor = nullptr;
    absl::Status status = tf::NewLocalExecutor(params, graph, &executor);
    if (!status.ok()) return status;
    out->reset(executor);
    if (IsOneLaunch(graph) && the_core->caller_thread()) *out = std::make_unique<CallerExecutor>(std::move(*out));
    return absl::OkStatus();
  }
};

}  // namespace

void InstallExecutor(const Core* core) {
  the_core = core;
  tf::ExecutorFactory* factory = nullptr;
  if (!tf::ExecutorFactory::GetFactory("", &factory).ok()) return;
  const tf::ExecutorFactory& known = *factory;
  if (std::string(typeid(known).name()).find("DefaultExecutorRegistrar") == std::string::npos) return;
  // A name can be registered only once, and no graph says which executor it wants: that stands in the call. So the
  // factory, an object without members that lives as long as the process, is made one of ours where it lies.
  static_assert(sizeof(CallerFactory) == sizeof(tf::ExecutorFactory));
  new (factory) CallerFactory;
}

}  // namespace xc_tensorflow
