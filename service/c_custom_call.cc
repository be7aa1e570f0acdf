// The C API's registration of custom calls.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/custom_call.h"
#include "hlo/element_type.h"
#include "service/c_status.h"
#include "service/xc.h"

namespace xc {
namespace {

std::vector<xc_shape> Describe(absl::Span<const CallBuffer> buffers) {
  std::vector<xc_shape> shapes;
  for (const CallBuffer& buffer : buffers) {
    const auto type = static_cast<ElementType>(buffer.type);
    shapes.push_back({static_cast<int>(buffer.type), static_cast<int>(buffer.dims.size()), buffer.dims.data(),
                      buffer.minor_to_major.data(), static_cast<size_t>(buffer.elements() * StorageBytes(type))});
  }
  return shapes;
}

absl::Status Call(const std::string& name, xc_custom_call function, void* user_data, const CallArgs& args) {
  const std::vector<xc_shape> input_shapes = Describe(args.inputs), output_shapes = Describe(args.outputs);
  std::vector<const void*> inputs;
  for (const CallBuffer& buffer : args.inputs) inputs.push_back(buffer.data);
  std::vector<void*> outputs;
  for (const CallBuffer& buffer : args.outputs) outputs.push_back(buffer.data);
  const std::string config(args.backend_config);
  const char* message = function(user_data, inputs.data(), input_shapes.data(), inputs.size(), outputs.data(),
                                 output_shapes.data(), outputs.size(), config.c_str());
  if (message == nullptr) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("custom call ", name, ": ", message));
}

}  // namespace
}  // namespace xc

extern "C" __attribute__((visibility("default"))) xc_status* xc_register_custom_call(const char* name,
                                                                                     xc_custom_call function,
                                                                                     void* user_data) {
  if (name == nullptr || *name == 0 || function == nullptr) {
    return xc::ToCStatus(absl::InvalidArgumentError("xc_register_custom_call: a name and a function are needed"));
  }
  const std::string target = name;
  return xc::ToCStatus(
      xc::RegisterCustomCall(target, [target, function, user_data](xc::RunContext*, const xc::CallArgs& args) {
        return xc::Call(target, function, user_data, args);
      }));
}
