// The graph optimizer that TensorFlow calls for every graph and function: its graph goes to the core library, which
// gives it back with launch nodes.
#include <string>
#include <vector>

#include "jit/tensorflow/core.h"
#include "tensorflow/c/experimental/grappler/grappler.h"

namespace xc_tensorflow {
namespace {

// The names that must stay; false if TensorFlow does not give them.
bool NodesToPreserve(const TF_GrapplerItem* item, std::vector<std::string>* names) {
  TF_Status* status = TF_NewStatus();
  int count = 0;
  size_t storage_size = 0;
  TF_GetNodesToPreserveListSize(item, &count, &storage_size, status);
  bool ok = TF_GetCode(status) == TF_OK;
  if (ok && count > 0) {
    std::vector<char*> values(count);
    std::vector<size_t> lengths(count);
    std::vector<char> storage(storage_size);
    TF_GetNodesToPreserveList(item, values.data(), lengths.data(), count, storage.data(), storage_size, status);
    ok = TF_GetCode(status) == TF_OK;
    for (int i = 0; ok && i < count; ++i) names->emplace_back(values[i], lengths[i]);
  }
  TF_DeleteStatus(status);
  return ok;
}

void Fill(const char* data, size_t size, void (*release)(void*, size_t), TF_Buffer* buffer) {
  buffer->data = data;
  buffer->length = size;
  buffer->data_deallocator = release;
}

void Copy(const TF_Buffer* from, TF_Buffer* to) {
  char* copy = new char[from->length];
  __builtin_memcpy(copy, from->data, from->length);
  Fill(
      copy, from->length, [](void* data, size_t) { delete[] static_cast<char*>(data); }, to);
}

void Optimize(void*, const TF_Buffer* graph, const TF_GrapplerItem* item, TF_Buffer* out, TF_Status* status) {
  TF_SetStatus(status, TF_OK, "");
  const Core* core = TheCore();
  std::vector<std::string> names;
  if (core == nullptr || !NodesToPreserve(item, &names)) return Copy(graph, out);
  std::vector<const char*> preserve;
  for (const std::string& name : names) preserve.push_back(name.c_str());
  char* rewritten = nullptr;
  size_t size = 0;
  std::string error = TakeMessage(*core, core->rewrite(static_cast<const char*>(graph->data), graph->length,
                                                       preserve.data(), preserve.size(), &rewritten, &size));
  if (!error.empty()) core->log(("a graph is left as it is: " + error).c_str());
  if (rewritten == nullptr) return Copy(graph, out);
  Fill(
      rewritten, size, [](void* data, size_t) { TheCore()->string_free(static_cast<char*>(data)); }, out);
}

}  // namespace
}  // namespace xc_tensorflow

extern "C" {

void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status* status) {
  params->struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params->device_type = "CPU";
  params->optimizer_configs->struct_size = TP_OPTIMIZER_CONFIGS_STRUCT_SIZE;
  // The remapper makes fused ops that would stay outside clusters; the host's own runs of a cluster have it on.
  if (xc_tensorflow::TheCore() != nullptr) params->optimizer_configs->remapping = TF_TriState_Off;
  params->optimizer->struct_size = TP_OPTIMIZER_STRUCT_SIZE;
  params->optimizer->create_func = [] { return static_cast<void*>(new char); };
  params->optimizer->optimize_func = xc_tensorflow::Optimize;
  params->optimizer->destroy_func = [](void* optimizer) { delete static_cast<char*>(optimizer); };
  TF_SetStatus(status, TF_OK, "");
}

}  // extern "C"
