// Parts of the PJRT C API beside its table: the extension by which custom calls of XLA's FFI reach a plugin.
#ifndef XC_SERVICE_PJRT_API_EXTENSIONS_H_
#define XC_SERVICE_PJRT_API_EXTENSIONS_H_

#include "service/pjrt/api_types.h"

namespace xc::pjrt {

struct FFI_Type_Info {
  void (*deleter)(void* object);
  void (*serialize)();
  void (*deserialize)();
};

struct FFI_Type_Register_Args {
  XC_PJRT_HEAD;
  const char* type_name;
  size_t type_name_size;
  int64_t type_id;  // 0: a new number is given
  FFI_Type_Info* type_info;
};

struct FFI_UserData {
  int64_t type_id;
  void* data;
};

struct FFI_UserData_Add_Args {
  XC_PJRT_HEAD;
  ExecuteContext* context;
  FFI_UserData user_data;
};

struct FFI_Register_Handler_Args {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;
  const char* platform_name;
  size_t platform_name_size;
  int traits;
};

struct FfiExtension {
  ExtensionBase base;
  Error* (*type_register)(FFI_Type_Register_Args* args);
  Error* (*user_data_add)(FFI_UserData_Add_Args* args);
  Error* (*register_handler)(FFI_Register_Handler_Args* args);
};

// The one of this plugin, the head of the list.
FfiExtension* GetFfiExtension();

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_API_EXTENSIONS_H_
