// The launch op and its kernel: a cluster runs through the core library on TensorFlow's own buffers, or, where that is
// not possible (yet), by TensorFlow's kernels.
#include <chrono>
#include <string>
#include <vector>

#include "jit/tensorflow/core.h"
#include "jit/tensorflow/host_session.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

namespace xc_tensorflow {
namespace {

constexpr char kOp[] = "XlaJitLaunch";

struct Kernel {
  const Core* core = nullptr;
  xc_cluster* cluster = nullptr;
  HostSession host;
};

// Threads that the host's configuration gives to one op: ConfigProto.intra_op_parallelism_threads (2), 0 if unset.
int IntraOpThreads(TF_OpKernelContext* ctx) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* config = TF_NewBuffer();
  TF_GetSerializedConfigProto(ctx, config, status);
  const auto* p = static_cast<const unsigned char*>(config->data);
  const unsigned char* end = p == nullptr ? p : p + config->length;
  auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; p < end && shift < 64; shift += 7) {
      value |= static_cast<uint64_t>(*p & 127) << shift;
      if ((*p++ & 128) == 0) break;
    }
    return value;
  };
  int threads = 0;
  while (TF_GetCode(status) == TF_OK && p < end) {
    uint64_t tag = varint();
    if ((tag & 7) == 0) {
      uint64_t value = varint();
      if (tag >> 3 == 2 && value < 4096) threads = static_cast<int>(value);
    } else {
      uint64_t skip = (tag & 7) == 2 ? varint() : (tag & 7) == 1 ? 8 : 4;
      p = skip > static_cast<uint64_t>(end - p) ? end : p + skip;
    }
  }
  TF_DeleteBuffer(config);
  TF_DeleteStatus(status);
  return threads;
}

// The tensors of one call, released at its end.
struct Call {
  TF_OpKernelContext* ctx;
  TF_Status* status = TF_NewStatus();
  std::vector<TF_Tensor*> args;
  std::vector<TF_Tensor*> results;
  bool tentative = false;

  ~Call() {
    for (TF_Tensor* t : args) TF_DeleteTensor(t);
    for (TF_Tensor* t : results) {
      if (t != nullptr) TF_DeleteTensor(t);
    }
    TF_DeleteStatus(status);
  }
  bool ok() const { return TF_GetCode(status) == TF_OK; }
};

void* Allocate(void* context, int result, int dtype, const int64_t* dims, int rank, size_t bytes, int tentative) {
  Call& call = *static_cast<Call*>(context);
  TF_Tensor*& slot = call.results[result];
  if (tentative) {
    call.tentative = true;
    TF_AllocatorAttributes attributes{TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE, 1};
    slot = TF_AllocateTemp(call.ctx, static_cast<TF_DataType>(dtype), dims, rank, &attributes, call.status);
  } else {
    slot = TF_AllocateOutput(call.ctx, result, static_cast<TF_DataType>(dtype), dims, rank, bytes, call.status);
  }
  return call.ok() && slot != nullptr ? TF_TensorData(slot) : nullptr;
}

// Tentative results are set together, by Commit.
int Set(Call& call, int result, TF_Tensor* tensor) {
  TF_SetOutput(call.ctx, result, tensor, call.status);
  return call.ok();
}

int Forward(void* context, int result, int argument) {
  Call& call = *static_cast<Call*>(context);
  return Set(call, result, call.args[argument]);
}

int Share(void* context, int result, int other) {
  Call& call = *static_cast<Call*>(context);
  return Set(call, result, call.results[other]);
}

int Commit(void* context) {
  Call& call = *static_cast<Call*>(context);
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (call.results[i] != nullptr && !Set(call, static_cast<int>(i), call.results[i])) return 0;
  }
  return 1;
}

void RunOnHost(Kernel& kernel, Call& call, void* ticket) {
  const char* graph = nullptr;
  size_t size = 0;
  std::string error = TakeMessage(*kernel.core, kernel.core->cluster_host_graph(kernel.cluster, &graph, &size));
  if (!error.empty()) return TF_SetStatus(call.status, TF_INTERNAL, error.c_str());
  auto start = std::chrono::steady_clock::now();
  std::vector<TF_Tensor*> results;
  kernel.host.Run(graph, size, call.args, static_cast<int>(call.results.size()), &results, call.status);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i] == nullptr) continue;
    if (call.ok()) Set(call, static_cast<int>(i), results[i]);
    TF_DeleteTensor(results[i]);
  }
  auto time = std::chrono::steady_clock::now() - start;
  kernel.core->cluster_host_ran(kernel.cluster, ticket,
                                std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

void Compute(void* self, TF_OpKernelContext* ctx) {
  Kernel& kernel = *static_cast<Kernel*>(self);
  Call call{ctx};
  int n = TF_NumInputs(ctx);
  call.args.reserve(n);
  call.results.resize(TF_NumOutputs(ctx), nullptr);
  std::vector<xc_tensor> views(n);
  std::vector<int64_t> dims;
  dims.reserve(static_cast<size_t>(n) * 4);
  for (int i = 0; i < n; ++i) {
    TF_Tensor* t = nullptr;
    TF_GetInput(ctx, i, &t, call.status);
    if (!call.ok()) return TF_OpKernelContext_Failure(ctx, call.status);
    call.args.push_back(t);
    int rank = TF_NumDims(t);
    for (int k = 0; k < rank; ++k) dims.push_back(TF_Dim(t, k));
    views[i] = {TF_TensorType(t), rank, nullptr, TF_TensorData(t), TF_TensorByteSize(t)};
  }
  const int64_t* next = dims.data();
  for (xc_tensor& view : views) {
    view.dims = next;
    next += view.rank;
  }
  xc_cluster_results results{&call, Allocate, Forward, Share, Commit};
  int outcome = XC_CLUSTER_RAN;
  void* ticket = nullptr;
  static const int threads = IntraOpThreads(ctx);
  xc_status* failure =
      kernel.core->cluster_run(kernel.cluster, views.data(), views.size(), &results, threads, &outcome, &ticket);
  if (failure != nullptr) {
    TF_Code code = static_cast<TF_Code>(kernel.core->status_code(failure));
    TF_SetStatus(call.status, code, TakeMessage(*kernel.core, failure).c_str());
  } else if (outcome == XC_CLUSTER_ON_HOST) {
    for (TF_Tensor*& t : call.results) {
      if (t != nullptr) TF_DeleteTensor(t);
      t = nullptr;
    }
    RunOnHost(kernel, call, ticket);
  }
  if (!call.ok()) TF_OpKernelContext_Failure(ctx, call.status);
}

void* Create(TF_OpKernelConstruction* ctx) {
  auto* kernel = new Kernel;
  kernel->core = TheCore();
  TF_Status* status = TF_NewStatus();
  int32_t list_size = 0, size = 0;
  TF_OpKernelConstruction_GetAttrSize(ctx, "cluster", &list_size, &size, status);
  if (TF_GetCode(status) == TF_OK) {
    std::string bytes(size, 0);
    TF_OpKernelConstruction_GetAttrString(ctx, "cluster", bytes.data(), bytes.size(), status);
    TF_StringView name = TF_OpKernelConstruction_GetName(ctx);
    if (TF_GetCode(status) == TF_OK) {
      std::string error = TakeMessage(
          *kernel->core, kernel->core->cluster_create(bytes.data(), bytes.size(),
                                                      std::string(name.data, name.len).c_str(), &kernel->cluster));
      if (!error.empty()) TF_SetStatus(status, TF_INTERNAL, error.c_str());
    }
  }
  if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(ctx, status);
  TF_DeleteStatus(status);
  return kernel;
}

void Delete(void* self) {
  auto* kernel = static_cast<Kernel*>(self);
  if (kernel->cluster != nullptr) kernel->core->cluster_free(kernel->cluster);
  delete kernel;
}

void Complain(const char* what, TF_Status* status) {
  if (TF_GetCode(status) != TF_OK) TheCore()->log((std::string(what) + ": " + TF_Message(status)).c_str());
}

}  // namespace
}  // namespace xc_tensorflow

extern "C" {

void TF_InitKernel() {
  using namespace xc_tensorflow;
  if (TheCore() == nullptr) return;
  TF_Status* status = TF_NewStatus();
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(kOp);
  TF_OpDefinitionBuilderAddInput(op, "args: Targs");
  TF_OpDefinitionBuilderAddOutput(op, "results: Tresults");
  TF_OpDefinitionBuilderAddAttr(op, "Targs: list(type) >= 0");
  TF_OpDefinitionBuilderAddAttr(op, "Tresults: list(type) >= 0");
  TF_OpDefinitionBuilderAddAttr(op, "cluster: string");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(
      op, [](TF_ShapeInferenceContext* ctx, TF_Status* s) { TF_ShapeInferenceContextSetUnknownShape(ctx, s); });
  TF_RegisterOpDefinition(op, status);
  Complain("the launch op cannot be registered", status);
  TF_KernelBuilder* kernel = TF_NewKernelBuilder(kOp, "CPU", Create, Compute, Delete);
  TF_RegisterKernelBuilder(kOp, kernel, status);
  Complain("the launch kernel cannot be registered", status);
  TF_DeleteStatus(status);
}

}  // extern "C"
