// The registry, and the way from generated code into it.
#include "backends/runtime/custom_call.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/lapack_calls.h"
#include "backends/runtime/sort.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

struct Registry {
  std::mutex mu;
  std::map<std::string, CallFunction> functions;  // nodes never move
};

// The k largest of each row with their indices: values[…, k], s32[…, k] of an array whose rows are contiguous.
absl::Status TopKCall(RunContext* ctx, const CallArgs& args) {
  if (args.inputs.size() != 1 || args.outputs.size() != 2 || args.inputs[0].dims.empty() ||
      args.outputs[0].dims.size() != args.inputs[0].dims.size() || args.outputs[1].type != RtType::kS32) {
    return absl::InvalidArgumentError("takes one array and gives its largest elements and their s32 indices");
  }
  const CallBuffer& in = args.inputs[0];
  for (const CallBuffer* buffer : {&in, &args.outputs[0], &args.outputs[1]}) {
    for (size_t i = 0; i < buffer->dims.size(); ++i) {
      if (buffer->minor_to_major[i] != static_cast<int64_t>(buffer->dims.size() - 1 - i)) {
        return absl::InvalidArgumentError("takes arrays in row-major layout only");
      }
    }
  }
  TopKDesc d;
  d.type = static_cast<int32_t>(in.type);
  d.n = in.dims.back();
  d.k = args.outputs[0].dims.back();
  d.rows = d.n == 0 ? 0 : in.elements() / d.n;
  return TopK(ctx, d, in.data, args.outputs[0].data, static_cast<int32_t*>(args.outputs[1].data));
}

Registry& TheRegistry() {
  static Registry* registry = [] {
    auto* r = new Registry;
    r->functions["TopK"] = TopKCall;
    for (auto& [name, function] : LapackCalls()) r->functions[name] = std::move(function);
    return r;
  }();
  return *registry;
}

absl::Status WithTarget(const absl::Status& status, absl::string_view target) {
  return absl::Status(status.code(), absl::StrCat("custom call ", target, ": ", status.message()));
}

}  // namespace

absl::Status RegisterCustomCall(absl::string_view target, CallFunction function) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mu);
  if (!registry.functions.emplace(std::string(target), std::move(function)).second) {
    return absl::AlreadyExistsError(absl::StrCat("custom call ", target, " is registered already"));
  }
  return absl::OkStatus();
}

const CallFunction* FindCustomCall(absl::string_view target) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mu);
  auto it = registry.functions.find(std::string(target));
  return it == registry.functions.end() ? nullptr : &it->second;
}

std::vector<std::string> CustomCallTargets() {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mu);
  std::vector<std::string> names;
  for (const auto& entry : registry.functions) names.push_back(entry.first);
  return names;
}

absl::Status CustomCall(RunContext* ctx, const CallSite& site, void* const* inputs, void* const* outputs) {
  const CallFunction* function = FindCustomCall(site.target);
  if (function == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("custom call ", site.target, ": no function of this name is registered"));
  }
  std::vector<CallBuffer> buffers(site.num_inputs + site.num_outputs);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const CallShape& shape = site.shapes[i];
    const bool input = i < static_cast<size_t>(site.num_inputs);
    buffers[i] = {static_cast<RtType>(shape.type), absl::MakeConstSpan(shape.dims, shape.rank),
                  absl::MakeConstSpan(shape.minor_to_major, shape.rank),
                  input ? inputs[i] : outputs[i - site.num_inputs]};
  }
  CallArgs args;
  args.target = site.target;
  args.inputs = absl::MakeConstSpan(buffers.data(), site.num_inputs);
  args.outputs = absl::MakeConstSpan(buffers.data() + site.num_inputs, site.num_outputs);
  args.backend_config = absl::string_view(site.backend_config, site.backend_config_size);
  // A configuration that is no dictionary of attributes is the function's own affair.
  absl::StatusOr<CallAttributes> attributes = CallAttributes::Parse(args.backend_config);
  const CallAttributes none;
  args.attributes = attributes.ok() ? &*attributes : &none;
  absl::Status status = (*function)(ctx, args);
  return status.ok() ? status : WithTarget(status, site.target);
}

std::string EncodeCallSite(const CallArgs& args) {
  // Numbers of inputs and outputs, lengths of the two texts; for each array type, rank, dimensions and layout; the
  // texts, each with a zero at its end.
  std::vector<int64_t> words = {static_cast<int64_t>(args.inputs.size()), static_cast<int64_t>(args.outputs.size()),
                                static_cast<int64_t>(args.target.size()),
                                static_cast<int64_t>(args.backend_config.size())};
  for (auto span : {args.inputs, args.outputs}) {
    for (const CallBuffer& buffer : span) {
      words.push_back(static_cast<int64_t>(buffer.type));
      words.push_back(static_cast<int64_t>(buffer.dims.size()));
      words.insert(words.end(), buffer.dims.begin(), buffer.dims.end());
      words.insert(words.end(), buffer.minor_to_major.begin(), buffer.minor_to_major.end());
    }
  }
  std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(int64_t));
  absl::StrAppend(&bytes, args.target, absl::string_view("\0", 1), args.backend_config, absl::string_view("\0", 1));
  return bytes;
}

}  // namespace xc

int xc_rt_custom_call_encoded(void* ctx, const void* site, void* const* inputs, void* const* outputs) {
  const int64_t* word = static_cast<const int64_t*>(site);
  xc::CallSite call;
  call.num_inputs = static_cast<int32_t>(word[0]);
  call.num_outputs = static_cast<int32_t>(word[1]);
  const int64_t target_size = word[2];
  call.backend_config_size = word[3];
  word += 4;
  std::vector<xc::CallShape> shapes(call.num_inputs + call.num_outputs);
  for (xc::CallShape& shape : shapes) {
    shape.type = static_cast<int32_t>(word[0]);
    shape.rank = static_cast<int32_t>(word[1]);
    shape.dims = word + 2;
    shape.minor_to_major = shape.dims + shape.rank;
    word = shape.minor_to_major + shape.rank;
  }
  call.target = reinterpret_cast<const char*>(word);
  call.backend_config = call.target + target_size + 1;
  call.shapes = shapes.data();
  return xc_rt_custom_call(ctx, &call, inputs, outputs);
}

int xc_rt_custom_call(void* ctx, const xc::CallSite* site, void* const* inputs, void* const* outputs) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::CustomCall(run, *site, inputs, outputs));
}

int xc_rt_register_custom_call(const char* target, xc_call_function function, void* user) {
  return !xc::RegisterCustomCall(target, [function, user](xc::RunContext*, const xc::CallArgs& args) {
            std::vector<xc_call_buffer> buffers;
            for (auto span : {args.inputs, args.outputs}) {
              for (const xc::CallBuffer& b : span) {
                buffers.push_back({static_cast<int32_t>(b.type), static_cast<int32_t>(b.dims.size()), b.dims.data(),
                                   b.minor_to_major.data(), b.data});
              }
            }
            char error[1024] = "";
            const int result = function(user, buffers.data(), static_cast<int>(args.inputs.size()),
                                        buffers.data() + args.inputs.size(), static_cast<int>(args.outputs.size()),
                                        args.backend_config.data(), static_cast<int64_t>(args.backend_config.size()),
                                        error, sizeof(error));
            error[sizeof(error) - 1] = 0;
            if (result == 0) return absl::OkStatus();
            return absl::InternalError(error[0] != 0 ? std::string(error) : absl::StrCat("returned ", result));
          }).ok();
}

int xc_rt_register_custom_call_original(const char* target, void (*function)(void* out, const void** inputs)) {
  return !xc::RegisterCustomCall(target, [function](xc::RunContext*, const xc::CallArgs& args) {
            std::vector<const void*> inputs;
            std::vector<void*> outputs;
            for (const xc::CallBuffer& b : args.inputs) inputs.push_back(b.data);
            for (const xc::CallBuffer& b : args.outputs) outputs.push_back(b.data);
            void* out = outputs.size() == 1 ? outputs[0] : static_cast<void*>(outputs.data());
            function(out, inputs.data());
            return absl::OkStatus();
          }).ok();
}
