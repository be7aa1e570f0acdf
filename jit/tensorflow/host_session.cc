#include "jit/tensorflow/host_session.h"

#include <string>
#include <utility>

#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace xc_tensorflow {
namespace {

absl::Status NewHostSession(const char* graph_def, size_t size, std::shared_ptr<tensorflow::Session>* out) {
  tensorflow::GraphDef graph;
  if (!graph.ParseFromString(std::string(graph_def, size))) return absl::InternalError("a cluster is not a GraphDef");
  tensorflow::SessionOptions options;
  options.config.mutable_graph_options()->mutable_rewrite_options()->set_use_plugin_optimizers(
      tensorflow::RewriterConfig::OFF);
  tensorflow::Session* session = nullptr;
  absl::Status status = tensorflow::NewSession(options, &session);
  if (!status.ok()) return status;
  *out = std::shared_ptr<tensorflow::Session>(session, [](tensorflow::Session* s) {
    s->Close().IgnoreError();
    delete s;
  });
  return session->Create(graph);
}

}  // namespace

absl::Status HostSession::Run(const char* graph_def, size_t size, const std::vector<tensorflow::Tensor>& args,
                              int num_results, std::vector<tensorflow::Tensor>* results) {
  std::shared_ptr<tensorflow::Session> session;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (graph_def_ != graph_def) {  // a run that is under way keeps its session
      std::shared_ptr<tensorflow::Session> made;
      absl::Status status = NewHostSession(graph_def, size, &made);
      if (!status.ok()) return status;
      session_ = std::move(made);
      graph_def_ = graph_def;
    }
    session = session_;
  }
  std::vector<std::pair<std::string, tensorflow::Tensor>> inputs;
  for (size_t i = 0; i < args.size(); ++i) inputs.emplace_back("xla_arg_" + std::to_string(i), args[i]);
  std::vector<std::string> outputs;
  for (int i = 0; i < num_results; ++i) outputs.push_back("xla_result_" + std::to_string(i));
  tensorflow::RunOptions options;
  // The calling thread: a pool's thread that waits for its own pool may wait forever.
  options.set_inter_op_thread_pool(-1);
  return session->Run(options, inputs, outputs, {}, results, nullptr);
}

}  // namespace xc_tensorflow
