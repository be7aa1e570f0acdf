// The launch op and its kernel: a cluster runs through the core library on TensorFlow's own buffers, or, where that is
// not possible (yet), by TensorFlow's kernels. An argument that is a variable's handle enters by the variable's value.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "jit/tensorflow/core.h"
#include "jit/tensorflow/executor.h"
#include "jit/tensorflow/host_session.h"
#include "jit/tensorflow/optimizer.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace xc_tensorflow {
namespace {

namespace tf = tensorflow;

const Core* the_core = nullptr;  // set by xc_tensorflow_start, before any kernel is made

// The variable's value as reading it gives it: its buffer, which writers leave alone while we hold it, or a copy where
// they do not.
absl::Status ReadVariable(tf::OpKernelContext* ctx, int input, tf::Tensor* value) {
  const tf::ResourceHandle& handle = tf::HandleFromInput(ctx, input);
  tf::core::RefCountPtr<tf::Var> variable;
  absl::Status status = tf::LookupResource(ctx, handle, &variable);
  if (!status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "Could not find variable ", handle.name(),
        ". This could mean that the variable has been deleted or was never initialized: ", status.message()));
  }
  tf::tf_shared_lock lock(*variable->mu());
  const tf::Tensor& current = *variable->tensor();
  if (!variable->copy_on_read_mode.load()) {
    *value = current;
    return absl::OkStatus();
  }
  status = ctx->allocate_temp(current.dtype(), current.shape(), value);
  if (status.ok() && current.TotalBytes() > 0) std::memcpy(value->data(), current.data(), current.TotalBytes());
  return status;
}

// The arguments and results of one run.
struct Call {
  tf::OpKernelContext* ctx;
  bool own_results = false;  // no result may share memory with an argument
  std::vector<tf::Tensor> args;
  // Results not yet visible, by number. (A tensor by itself does not tell: an empty one counts as initialized.)
  absl::InlinedVector<std::optional<tf::Tensor>, 4> tentative;
  absl::Status status;

  bool Check(absl::Status s) {
    if (!s.ok() && status.ok()) status = std::move(s);
    return status.ok();
  }

  // The result is `value`, or a copy of it.
  void SetOutput(int result, const tf::Tensor& value) {
    auto shares = [&](const tf::Tensor& arg) { return arg.SharesBufferWith(value); };
    bool copy = own_results && std::any_of(args.begin(), args.end(), shares);
    ctx->set_output(result, copy ? tf::tensor::DeepCopy(value) : value);
  }
};

void* Allocate(void* context, int result, int dtype, const int64_t* dims, int rank, size_t, int tentative) {
  Call& call = *static_cast<Call*>(context);
  tf::TensorShape shape;
  if (!call.Check(tf::TensorShape::BuildTensorShape(absl::MakeConstSpan(dims, rank), &shape))) return nullptr;
  if (tentative) {
    if (call.tentative.empty()) call.tentative.resize(call.ctx->num_outputs());
    tf::Tensor& slot = call.tentative[result].emplace();
    if (!call.Check(call.ctx->allocate_temp(static_cast<tf::DataType>(dtype), shape, &slot))) return nullptr;
    return slot.data();
  }
  tf::Tensor* slot = nullptr;
  return call.Check(call.ctx->allocate_output(result, shape, &slot)) ? slot->data() : nullptr;
}

int Forward(void* context, int result, int argument) {
  Call& call = *static_cast<Call*>(context);
  call.SetOutput(result, call.args[argument]);
  return 1;
}

int Share(void* context, int result, int other) {
  Call& call = *static_cast<Call*>(context);
  call.ctx->set_output(result, call.tentative.empty() ? *call.ctx->mutable_output(other) : *call.tentative[other]);
  return 1;
}

int Commit(void* context) {
  Call& call = *static_cast<Call*>(context);
  for (size_t i = 0; i < call.tentative.size(); ++i) {
    if (call.tentative[i]) call.ctx->set_output(static_cast<int>(i), *call.tentative[i]);
  }
  return 1;
}

class Launch : public tf::OpKernel {
 public:
  explicit Launch(tf::OpKernelConstruction* ctx) : OpKernel(ctx), core_(*the_core) {
    std::string bytes;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("cluster", &bytes));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("own_results", &own_results_));
    std::string error = core_.TakeMessage(core_.cluster_create(bytes.data(), bytes.size(), name().c_str(), &cluster_));
    OP_REQUIRES(ctx, error.empty(), absl::InternalError(error));
  }
  ~Launch() override {
    if (cluster_ != nullptr) core_.cluster_free(cluster_);
  }

  // Run in the thread that made it ready: another core would have to fetch its weights anew on each iteration of a
  // loop.
  bool IsExpensive() override { return false; }

  void Compute(tf::OpKernelContext* ctx) override {
    Call call{ctx, own_results_};
    const int n = ctx->num_inputs();
    call.args.resize(n);
    absl::InlinedVector<xc_tensor, 16> views(n);
    absl::InlinedVector<int64_t, 48> dims;
    for (int i = 0; i < n; ++i) {
      tf::Tensor& arg = call.args[i];
      if (ctx->input_dtype(i) == tf::DT_RESOURCE) {
        OP_REQUIRES_OK(ctx, ReadVariable(ctx, i, &arg));
      } else {
        arg = ctx->input(i);
      }
      for (int k = 0; k < arg.dims(); ++k) dims.push_back(arg.dim_size(k));
      views[i] = {arg.dtype(), arg.dims(), nullptr, arg.data(), arg.TotalBytes()};
    }
    const int64_t* next = dims.data();
    for (xc_tensor& view : views) {
      view.dims = next;
      next += view.rank;
    }
    xc_cluster_results results{&call, Allocate, Forward, Share, Commit};
    int outcome = XC_CLUSTER_RAN;
    void* ticket = nullptr;
    xc_status* failure =
        core_.cluster_run(cluster_, views.data(), views.size(), &results,
                          ctx->device()->tensorflow_cpu_worker_threads()->num_threads, &outcome, &ticket);
    if (failure != nullptr) {
      auto code = static_cast<absl::StatusCode>(core_.status_code(failure));
      call.Check(absl::Status(code, core_.TakeMessage(failure)));
    } else if (outcome == XC_CLUSTER_ON_HOST) {
      RunOnHost(call, ticket);
    }
    OP_REQUIRES_OK(ctx, call.status);
  }

 private:
  void RunOnHost(Call& call, void* ticket) {
    const char* graph = nullptr;
    size_t size = 0;
    std::string error = core_.TakeMessage(core_.cluster_host_graph(cluster_, &graph, &size));
    if (!error.empty()) {
      call.status = absl::InternalError(error);
      return;
    }
    auto start = std::chrono::steady_clock::now();
    std::vector<tf::Tensor> results;
    call.status = host_.Run(graph, size, call.args, call.ctx->num_outputs(), &results);
    for (size_t i = 0; call.status.ok() && i < results.size(); ++i) {
      call.SetOutput(static_cast<int>(i), results[i]);
    }
    auto time = std::chrono::steady_clock::now() - start;
    core_.cluster_host_ran(cluster_, ticket, std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
  }

  const Core& core_;
  xc_cluster* cluster_ = nullptr;
  bool own_results_ = false;
  HostSession host_;
};

void RegisterKernel() {
  tf::OpRegistry::Global()->Register([](tf::OpRegistrationData* data) {
    return tf::OpDefBuilder(kLaunchOp)
        .Input("args: Targs")
        .Output("results: Tresults")
        .Attr("Targs: list(type) >= 0")
        .Attr("Tresults: list(type) >= 0")
        .Attr("cluster: string")
        .Attr("own_results: bool = false")
        .SetShapeFn(tf::shape_inference::UnknownShape)
        .Finalize(data);
  });
  static tf::kernel_factory::OpKernelRegistrar registrar(
      tf::KernelDefBuilder(kLaunchOp).Device(tf::DEVICE_CPU).Build(), "xc_tensorflow::Launch",
      [](tf::OpKernelConstruction* ctx) -> tf::OpKernel* { return new Launch(ctx); });
}

}  // namespace
}  // namespace xc_tensorflow

extern "C" const char* xc_tensorflow_start(const xc_tensorflow::Core* core) {
  const tensorflow::OpRegistrationData* found = nullptr;
  if (tensorflow::OpRegistry::Global()->LookUp(xc_tensorflow::kLaunchOp, &found).ok()) return "it is loaded already";
  xc_tensorflow::the_core = core;
  xc_tensorflow::RegisterKernel();
  xc_tensorflow::RegisterOptimizer(core);
  xc_tensorflow::InstallExecutor(core);
  return nullptr;
}
