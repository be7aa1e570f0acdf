// Another plugin for TensorFlow's CPU, with a graph optimizer that changes nothing, for the test that both can be
// loaded.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <typeinfo>

#include "tensorflow/c/experimental/grappler/grappler.h"
#include "tensorflow/core/common_runtime/executor_factory.h"

static std::atomic<int> calls{0};

static void Optimize(void*, const TF_Buffer* in, const TF_GrapplerItem*, TF_Buffer* out, TF_Status*) {
  ++calls;
  void* copy = std::malloc(in->length);
  std::memcpy(copy, in->data, in->length);
  out->data = copy;
  out->length = in->length;
  out->data_deallocator = [](void* data, size_t) { std::free(data); };
}

extern "C" {

// TensorFlow's entry point for plugins with graph optimizers.
void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status*) {
  params->struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params->device_type = "CPU";
  params->optimizer->struct_size = TP_OPTIMIZER_STRUCT_SIZE;
  params->optimizer->optimize_func = Optimize;
}

// How often the optimizer ran.
int second_plugin_calls() { return calls; }

// The class of TensorFlow's factory of executors of no type.
const char* second_plugin_factory() {
  tensorflow::ExecutorFactory* factory = nullptr;
  if (!tensorflow::ExecutorFactory::GetFactory("", &factory).ok()) return "none";
  const tensorflow::ExecutorFactory& known = *factory;
  return typeid(known).name();
}

}  // extern "C"
