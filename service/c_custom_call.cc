// The C API's registration of custom calls.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/ffi/ffi.h"
#include "backends/runtime/custom_call.h"
#include "hlo/element_type.h"
#include "service/c_status.h"
#include "service/xc.h"

#define XC_EXPORT __attribute__((visibility("default")))

struct xc_call_status {
  absl::Status status;
};

namespace xc {
namespace {

std::vector<xc_shape> DescribeBuffers(absl::Span<const CallBuffer> buffers) {
  std::vector<xc_shape> shapes;
  for (const CallBuffer& buffer : buffers) {
    const auto type = static_cast<ElementType>(buffer.type);
    const size_t bytes = buffer.type == RtType::kToken ? 0 : buffer.elements() * StorageBytes(type);
    shapes.push_back({static_cast<int>(buffer.type), static_cast<int>(buffer.dims.size()), buffer.dims.data(),
                      buffer.minor_to_major.data(), bytes});
  }
  return shapes;
}

// The arrays' memory; null for tokens.
struct Pointers {
  explicit Pointers(const CallArgs& args) {
    for (const CallBuffer& buffer : args.inputs) inputs.push_back(buffer.data);
    for (const CallBuffer& buffer : args.outputs) outputs.push_back(buffer.data);
  }
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

absl::Status Call(xc_custom_call function, void* user_data, const CallArgs& args) {
  const std::vector<xc_shape> input_shapes = DescribeBuffers(args.inputs),
                              output_shapes = DescribeBuffers(args.outputs);
  Pointers data(args);
  const std::string config(args.backend_config);
  const char* message = function(user_data, data.inputs.data(), input_shapes.data(), data.inputs.size(),
                                 data.outputs.data(), output_shapes.data(), data.outputs.size(), config.c_str());
  if (message == nullptr) return absl::OkStatus();
  return absl::InternalError(message);
}

// XLA's untyped calling conventions.
absl::Status CallUntyped(void (*function)(), int api_version, const CallArgs& args) {
  Pointers data(args);
  data.outputs.push_back(nullptr);  // there may be no result
  void* out = args.tuple_result ? static_cast<void*>(data.outputs.data()) : data.outputs[0];
  const void** in = data.inputs.data();
  const std::string config(args.backend_config);
  xc_call_status status;
  switch (api_version) {
    case 1:
      reinterpret_cast<xc_untyped_call_1>(function)(out, in);
      break;
    case 2:
      reinterpret_cast<xc_untyped_call_2>(function)(out, in, &status);
      break;
    default:
      reinterpret_cast<xc_untyped_call_3>(function)(out, in, config.c_str(), config.size(), &status);
  }
  return status.status;
}

}  // namespace
}  // namespace xc

extern "C" {

XC_EXPORT xc_status* xc_register_custom_call(const char* name, xc_custom_call function, void* user_data) {
  return xc::CallC([&]() -> absl::Status {
    if (name == nullptr || *name == 0 || function == nullptr) {
      return absl::InvalidArgumentError("xc_register_custom_call: a name and a function are needed");
    }
    return xc::RegisterCustomCall(name, [function, user_data](xc::RunContext*, const xc::CallArgs& args) {
      return xc::Call(function, user_data, args);
    });
  });
}

XC_EXPORT xc_status* xc_register_untyped_call(const char* name, void (*function)(void), int api_version) {
  return xc::CallC([&]() -> absl::Status {
    if (name == nullptr || *name == 0 || function == nullptr || api_version < 1 || api_version > 3) {
      return absl::InvalidArgumentError(
          "xc_register_untyped_call: a name, a function and its API version, 1 to 3, are needed");
    }
    return xc::RegisterCustomCall(name, [function, api_version](xc::RunContext*, const xc::CallArgs& args) {
      return xc::CallUntyped(function, api_version, args);
    });
  });
}

XC_EXPORT xc_status* xc_register_ffi_handler(const char* name, const char* platform, void* instantiate, void* prepare,
                                             void* initialize, void* execute) {
  return xc::CallC([&]() -> absl::Status {
    if (name == nullptr || platform == nullptr) {
      return absl::InvalidArgumentError("xc_register_ffi_handler: a name and a platform are needed");
    }
    const auto handler = [](void* function) { return reinterpret_cast<xc::ffi::Handler*>(function); };
    return xc::ffi::RegisterHandler(name, platform,
                                    {handler(instantiate), handler(prepare), handler(initialize), handler(execute)});
  });
}

XC_EXPORT xc_status* xc_register_ffi_type(const char* name, int64_t* type_id, void (*deleter)(void*)) {
  return xc::CallC([&]() -> absl::Status {
    if (name == nullptr) return absl::InvalidArgumentError("xc_register_ffi_type: a name is needed");
    return xc::ffi::RegisterType(name, type_id, deleter);
  });
}

XC_EXPORT const void* xc_ffi_api(void) { return xc::ffi::GetApi(); }

XC_EXPORT void xc_call_status_fail(xc_call_status* status, const char* message, size_t size) {
  if (status == nullptr) return;
  status->status = xc::CatchExceptions([&] { return absl::InternalError(absl::string_view(message, size)); });
}

}  // extern "C"
