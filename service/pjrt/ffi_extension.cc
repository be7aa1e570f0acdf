// Hands custom calls of XLA's FFI on: handlers and types are the process's, data is a run's.
#include "absl/strings/string_view.h"
#include "backends/ffi/ffi.h"
#include "hlo/base/status.h"
#include "service/pjrt/api_extensions.h"
#include "service/pjrt/events.h"
#include "service/pjrt/executables.h"

namespace xc::pjrt {
namespace {

Error* TypeRegister(FFI_Type_Register_Args* args) {
  return Answer([&] {
    const absl::string_view name(args->type_name, args->type_name_size);
    return ffi::RegisterType(name, &args->type_id, args->type_info == nullptr ? nullptr : args->type_info->deleter);
  });
}

Error* UserDataAdd(FFI_UserData_Add_Args* args) {
  return Answer([&] {
    args->context->user_data.by_type[args->user_data.type_id] = args->user_data.data;
    return absl::OkStatus();
  });
}

Error* RegisterHandler(FFI_Register_Handler_Args* args) {
  return Answer([&] {
    return ffi::RegisterHandler(absl::string_view(args->target_name, args->target_name_size),
                                absl::string_view(args->platform_name, args->platform_name_size),
                                reinterpret_cast<ffi::Handler*>(args->handler), static_cast<uint32_t>(args->traits));
  });
}

}  // namespace

FfiExtension* GetFfiExtension() {
  static FfiExtension extension = {
      {sizeof(FfiExtension), kFfiExtension, &GetLayoutsExtension()->base}, TypeRegister, UserDataAdd, RegisterHandler};
  return &extension;
}

}  // namespace xc::pjrt
