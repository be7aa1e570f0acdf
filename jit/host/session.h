// A loaded graph with named inputs and outputs: the embedded host runtime's front.
#ifndef XC_JIT_HOST_SESSION_H_
#define XC_JIT_HOST_SESSION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/host/executor.h"

namespace xc {

struct TensorInfo {
  std::string name;  // "x:0"
  DataType type = DT_INVALID;
  PartialShape shape;
};

struct SessionOptions {
  HostOptions host;
  // Tensors to feed and fetch; empty: all placeholders, and all results that no node uses.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  bool feed_nothing = false;  // no inputs really means none
  // Nodes to run in every run for what they do alone, such as a training step.
  std::vector<std::string> targets;
  // Fills variables and tables before anything runs.
  std::function<absl::Status(ResourceStore&)> restore;
  // Nodes to run once after that, with nothing fed. Beside them run the graph's own nodes that fill lookup tables of
  // the outputs with constants.
  std::vector<std::string> initializers;
  // Names to show instead of the tensors', where given.
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
};

// Thread-safe: any number of threads may call Run at once.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(const GraphDef& def, SessionOptions options);

  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }

  // One tensor per input, in order; gives one per output. Checks types and shapes.
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& args);

  const GraphExecutor& executor() const { return *executor_; }
  ResourceStore& resources() { return *resources_; }

  // Clusters with their ops, and every other node with the reason why it is in none.
  std::string Explain() const;
  std::string ExplainAsHtml() const;
  // Waits for compilations in the background.
  void WaitForCompilations() {
    if (queue_ != nullptr) queue_->Drain();
  }

 private:
  std::vector<TensorInfo> inputs_, outputs_;
  std::shared_ptr<ResourceStore> resources_;
  std::shared_ptr<CompileQueue> queue_;
  std::unique_ptr<GraphExecutor> executor_;
};

}  // namespace xc

#endif  // XC_JIT_HOST_SESSION_H_
