#include "jit/tensorflow/host_session.h"

namespace xc_tensorflow {
namespace {

// ConfigProto: graph_options (10) { rewrite_options (10) { use_plugin_optimizers (28): OFF (2) } }.
constexpr unsigned char kConfig[] = {0x52, 0x05, 0x52, 0x03, 0xe0, 0x01, 0x02};
// RunOptions: inter_op_thread_pool (3): -1, the calling thread. A pool's thread that waits for its own pool may wait
// forever.
constexpr unsigned char kRunOptions[] = {0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};

TF_Output Find(TF_Graph* graph, const std::string& name) { return {TF_GraphOperationByName(graph, name.c_str()), 0}; }

}  // namespace

HostSession::~HostSession() {
  TF_Status* status = TF_NewStatus();
  if (session_ != nullptr) {
    TF_CloseSession(session_, status);
    TF_DeleteSession(session_, status);
  }
  if (graph_ != nullptr) TF_DeleteGraph(graph_);
  TF_DeleteStatus(status);
}

void HostSession::Create(const char* graph_def, size_t size, size_t num_args, int num_results, TF_Status* status) {
  TF_Graph* graph = TF_NewGraph();
  TF_Buffer* buffer = TF_NewBufferFromString(graph_def, size);
  TF_ImportGraphDefOptions* import = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(graph, buffer, import, status);
  TF_DeleteImportGraphDefOptions(import);
  TF_DeleteBuffer(buffer);
  std::vector<TF_Output> inputs, outputs;
  for (size_t i = 0; i < num_args; ++i) inputs.push_back(Find(graph, "xla_arg_" + std::to_string(i)));
  for (int i = 0; i < num_results; ++i) outputs.push_back(Find(graph, "xla_result_" + std::to_string(i)));
  for (const auto* list : {&inputs, &outputs}) {
    for (const TF_Output& port : *list) {
      if (port.oper == nullptr && TF_GetCode(status) == TF_OK) {
        TF_SetStatus(status, TF_INTERNAL, "a cluster's graph lacks an argument or result");
      }
    }
  }
  TF_Session* session = nullptr;
  if (TF_GetCode(status) == TF_OK) {
    TF_SessionOptions* options = TF_NewSessionOptions();
    TF_SetConfig(options, kConfig, sizeof(kConfig), status);
    if (TF_GetCode(status) == TF_OK) session = TF_NewSession(graph, options, status);
    TF_DeleteSessionOptions(options);
  }
  if (session == nullptr) {
    TF_DeleteGraph(graph);
    return;
  }
  graph_ = graph;
  session_ = session;
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
}

void HostSession::Run(const char* graph_def, size_t size, const std::vector<TF_Tensor*>& args, int num_results,
                      std::vector<TF_Tensor*>* results, TF_Status* status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (session_ == nullptr) Create(graph_def, size, args.size(), num_results, status);
    if (session_ == nullptr) return;
  }
  results->assign(num_results, nullptr);
  TF_Buffer options{kRunOptions, sizeof(kRunOptions), nullptr};
  TF_SessionRun(session_, &options, inputs_.data(), args.data(), static_cast<int>(args.size()), outputs_.data(),
                results->data(), num_results, nullptr, 0, nullptr, status);
}

}  // namespace xc_tensorflow
