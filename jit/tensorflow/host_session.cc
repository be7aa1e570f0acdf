#include "jit/tensorflow/host_session.h"

#include <string>
#include <utility>

#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace xc_tensorflow {

// A session and its one callable.
struct HostSession::Prepared {
  std::unique_ptr<tensorflow::Session> session;
  tensorflow::Session::CallableHandle callable = 0;

  ~Prepared() {
    if (session != nullptr) session->Close().IgnoreError();
  }
  absl::Status Make(const char* graph_def, size_t size, size_t num_args, int num_results);
};

absl::Status HostSession::Prepared::Make(const char* graph_def, size_t size, size_t num_args, int num_results) {
  tensorflow::GraphDef graph;
  if (!graph.ParseFromString(std::string(graph_def, size))) return absl::InternalError("a cluster is not a GraphDef");
  tensorflow::SessionOptions options;
  // TensorFlow has optimized the nodes already, as parts of the program's graph: they run as they are.
  options.config.mutable_graph_options()->mutable_rewrite_options()->set_disable_meta_optimizer(true);
  tensorflow::Session* made = nullptr;
  absl::Status status = tensorflow::NewSession(options, &made);
  if (!status.ok()) return status;
  session.reset(made);
  status = session->Create(graph);
  if (!status.ok()) return status;
  tensorflow::CallableOptions call;
  for (size_t i = 0; i < num_args; ++i) call.add_feed("xla_arg_" + std::to_string(i));
  for (int i = 0; i < num_results; ++i) call.add_fetch("xla_result_" + std::to_string(i));
  // The calling thread: a pool's thread that waits for its own pool may wait forever.
  call.mutable_run_options()->set_inter_op_thread_pool(-1);
  return session->MakeCallable(call, &callable);
}

absl::Status HostSession::Run(const char* graph_def, size_t size, const std::vector<tensorflow::Tensor>& args,
                              int num_results, std::vector<tensorflow::Tensor>* results) {
  std::shared_ptr<const Prepared> prepared;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (graph_def_ != graph_def) {  // a run that is under way keeps its session
      auto made = std::make_shared<Prepared>();
      absl::Status status = made->Make(graph_def, size, args.size(), num_results);
      if (!status.ok()) return status;
      prepared_ = std::move(made);
      graph_def_ = graph_def;
    }
    prepared = prepared_;
  }
  return prepared->session->RunCallable(prepared->callable, args, results, nullptr);
}

}  // namespace xc_tensorflow
