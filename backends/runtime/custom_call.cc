// The registry of custom calls, and calls prepared for a program.
#include "backends/runtime/custom_call.h"

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/runtime/collectives.h"
#include "backends/runtime/lapack_calls.h"
#include "backends/runtime/python_callback.h"
#include "backends/runtime/sort.h"
#include "backends/runtime/sparse.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// What is registered for a target: a function, or what makes one.
struct Target {
  std::shared_ptr<const CallFunction> function;
  std::shared_ptr<const CallFactory> factory;
  bool built_in = false;
};

struct Registry {
  std::mutex mu;
  std::map<std::string, Target, std::less<>> targets;
  void Add(std::string name, CallFunction function) {
    targets[std::move(name)] = {std::make_shared<const CallFunction>(std::move(function)), nullptr, true};
  }
};

// The k largest of each row with their indices: values[…, k], s32[…, k] of an array whose rows are contiguous.
absl::Status TopKCall(RunContext* ctx, const CallArgs& args) {
  if (args.inputs.size() != 1 || args.outputs.size() != 2 || args.inputs[0].dims.empty() ||
      args.outputs[0].dims.size() != args.inputs[0].dims.size() || args.outputs[1].type != RtType::kS32) {
    return absl::InvalidArgumentError("takes one array and gives its largest elements and their s32 indices");
  }
  const CallBuffer& in = args.inputs[0];
  for (const CallBuffer* buffer : {&in, &args.outputs[0], &args.outputs[1]}) {
    if (!buffer->is_row_major()) return absl::InvalidArgumentError("takes arrays in row-major layout only");
  }
  TopKDesc d;
  d.type = static_cast<int32_t>(in.type);
  d.n = in.dims.back();
  d.k = args.outputs[0].dims.back();
  d.rows = d.n == 0 ? 0 : in.elements() / d.n;
  return TopK(ctx, d, in.data, args.outputs[0].data, static_cast<int32_t*>(args.outputs[1].data));
}

// Gives its first operand, a size, if the second lies between 0 and the third; else an error with the fourth for $0 in
// the attribute `message`. Made by the compiler, for sizes that a run computes.
absl::Status CheckSizeCall(RunContext*, const CallArgs& args) {
  bool fits = args.inputs.size() == 4 && args.outputs.size() == 1;
  for (const auto& buffers : {args.inputs, args.outputs}) {
    for (const CallBuffer& buffer : buffers) fits &= buffer.type == RtType::kS32 && buffer.dims.empty();
  }
  if (!fits) return absl::InvalidArgumentError("takes four s32[] and gives one");
  const auto in = [&](int i) { return *static_cast<const int32_t*>(args.inputs[i].data); };
  if (in(1) < 0 || in(1) > in(2)) {
    const CallAttributes::Value* message = args.attributes->Find("message");
    const std::string* text = message == nullptr ? nullptr : std::get_if<std::string>(message);
    return absl::InvalidArgumentError(
        absl::StrReplaceAll(text == nullptr ? "bad size $0" : *text, {{"$0", absl::StrCat(in(3))}}));
  }
  *static_cast<int32_t*>(args.outputs[0].data) = in(0);
  return absl::OkStatus();
}

Registry& TheRegistry() {
  static Registry* registry = [] {
    auto* r = new Registry;
    r->Add("TopK", TopKCall);
    r->Add("xc.check_size", CheckSizeCall);
    r->Add("cpu_csr_sparse_dense_ffi", CsrTimesDense);
    r->Add("xla_ffi_python_cpu_callback", CallPython);
    r->Add("xla_ffi_partitioned_python_cpu_callback", CallPython);
    r->Add("xla_buffer_python_cpu_callback", CallPythonOnBuffers);
    r->targets[kCollectiveTarget] = {nullptr, std::make_shared<const CallFactory>(MakeCollective), true};
    for (auto& [name, function] : LapackCalls()) r->Add(name, std::move(function));
    return r;
  }();
  return *registry;
}

absl::Status Register(absl::string_view name, Target target) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mu);
  if (!registry.targets.emplace(std::string(name), std::move(target)).second) {
    return absl::AlreadyExistsError(absl::StrCat("custom call ", name, " is registered already"));
  }
  return absl::OkStatus();
}

std::optional<Target> Find(absl::string_view name) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mu);
  const auto it = registry.targets.find(std::string(name));
  if (it == registry.targets.end()) return std::nullopt;
  return it->second;
}

absl::Status WithTarget(const absl::Status& status, absl::string_view target) {
  return absl::Status(status.code(), absl::StrCat("custom call ", target, ": ", status.message()));
}

}  // namespace

absl::Status RegisterCustomCall(absl::string_view target, CallFunction function) {
  return Register(target, {std::make_shared<const CallFunction>(std::move(function)), nullptr});
}

absl::Status RegisterCustomCallFactory(absl::string_view target, CallFactory factory) {
  return Register(target, {nullptr, std::make_shared<const CallFactory>(std::move(factory))});
}

bool HasCustomCall(absl::string_view target) { return Find(target).has_value(); }

bool IsBuiltInCall(absl::string_view target) {
  const std::optional<Target> found = Find(target);
  return found && found->built_in;
}

absl::StatusOr<PreparedCall> PreparedCall::Make(const CallArgs& args) {
  PreparedCall call;
  const std::optional<Target> target = Find(args.target);
  if (!target) {
    return absl::UnimplementedError(
        absl::StrCat("custom call ", args.target, ": no function of this name is registered"));
  }
  call.target_ = std::string(args.target);
  call.backend_config_ = std::string(args.backend_config);
  call.tuple_result_ = args.tuple_result;
  // A configuration that is no dictionary of attributes is the function's own affair.
  absl::StatusOr<CallAttributes> attributes = CallAttributes::Parse(args.backend_config);
  if (attributes.ok()) call.attributes_ = *std::move(attributes);
  call.num_inputs_ = args.inputs.size();
  for (auto span : {args.inputs, args.outputs}) {
    for (const CallBuffer& buffer : span) {
      call.buffers_.push_back(buffer);
      call.numbers_.insert(call.numbers_.end(), buffer.dims.begin(), buffer.dims.end());
      call.numbers_.insert(call.numbers_.end(), buffer.minor_to_major.begin(), buffer.minor_to_major.end());
    }
  }
  const int64_t* next = call.numbers_.data();
  for (CallBuffer& buffer : call.buffers_) {
    const size_t rank = buffer.dims.size();
    buffer.dims = absl::MakeConstSpan(next, rank);
    buffer.minor_to_major = absl::MakeConstSpan(next + rank, rank);
    buffer.data = nullptr;
    next += 2 * rank;
  }
  call.function_ = target->function;
  if (target->factory != nullptr) {
    absl::StatusOr<CallFunction> function = (*target->factory)(call.args());
    if (!function.ok()) return WithTarget(function.status(), call.target_);
    call.function_ = std::make_shared<const CallFunction>(*std::move(function));
  }
  return call;
}

CallArgs PreparedCall::args() const {
  const absl::Span<const CallBuffer> all = buffers_;
  return {target_, all.subspan(0, num_inputs_), all.subspan(num_inputs_), backend_config_, &attributes_, tuple_result_};
}

absl::Status PreparedCall::Run(RunContext* ctx, void* const* inputs, void* const* outputs) const {
  absl::InlinedVector<CallBuffer, 8> buffers(buffers_.begin(), buffers_.end());
  for (size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].data = i < num_inputs_ ? inputs[i] : outputs[i - num_inputs_];
  }
  const absl::Span<const CallBuffer> all = buffers;
  absl::Status status = (*function_)(ctx, {target_, all.subspan(0, num_inputs_), all.subspan(num_inputs_),
                                           backend_config_, &attributes_, tuple_result_});
  return status.ok() ? status : WithTarget(status, target_);
}

}  // namespace xc
