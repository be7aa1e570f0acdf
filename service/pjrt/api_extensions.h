// Parts of the PJRT C API beside its table: the extension by which custom calls of XLA's FFI reach a plugin, the one
// that tells how arrays lie in memory, and the one that profilers collect traces by.
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

struct LayoutOfMemory;
struct SerializedLayout;

struct Layouts_MemoryLayout_Destroy_Args {
  XC_PJRT_HEAD;
  LayoutOfMemory* layout;
};

struct Layouts_MemoryLayout_Serialize_Args {
  XC_PJRT_HEAD;
  LayoutOfMemory* layout;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  SerializedLayout* serialized_layout;
  void (*serialized_layout_deleter)(SerializedLayout* layout);
};

struct Layouts_Client_GetDefaultLayout_Args {
  XC_PJRT_HEAD;
  Client* client;
  BufferType type;
  const int64_t* dims;
  size_t num_dims;
  LayoutOfMemory* layout;
};

struct Layouts_Buffer_MemoryLayout_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  LayoutOfMemory* layout;
};

struct Layouts_Topology_GetDefaultLayout_Args {
  XC_PJRT_HEAD;
  TopologyDescription* topology_description;
  BufferType type;
  const int64_t* dims;
  size_t num_dims;
  LayoutOfMemory* layout;
};

struct Layouts_Executable_GetOutputLayouts_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  size_t num_outputs;
  LayoutOfMemory** layouts;
};

struct LayoutsExtension {
  ExtensionBase base;
  Error* (*destroy)(Layouts_MemoryLayout_Destroy_Args* args);
  Error* (*serialize)(Layouts_MemoryLayout_Serialize_Args* args);
  Error* (*client_default)(Layouts_Client_GetDefaultLayout_Args* args);
  Error* (*of_buffer)(Layouts_Buffer_MemoryLayout_Args* args);
  Error* (*topology_default)(Layouts_Topology_GetDefaultLayout_Args* args);
  Error* (*of_outputs)(Layouts_Executable_GetOutputLayouts_Args* args);
};

// The one of this plugin, behind the other.
LayoutsExtension* GetLayoutsExtension();

// The interface of profilers has a form of its own, of version 1: errors are its own, and structs have no extensions.
struct Profiler;

struct Profiler_Error_Destroy_Args {
  size_t struct_size;
  void* priv;
  Error* error;
};

struct Profiler_Error_Message_Args {
  size_t struct_size;
  void* priv;
  const Error* error;
  const char* message;
  size_t message_size;
};

struct Profiler_Error_GetCode_Args {
  size_t struct_size;
  void* priv;
  const Error* error;
  int code;
};

struct Profiler_Create_Args {
  size_t struct_size;
  const char* options;
  size_t options_size;
  Profiler* profiler;
};

// Destroys, starts and stops.
struct Profiler_Args {
  size_t struct_size;
  Profiler* profiler;
};

struct Profiler_CollectData_Args {
  size_t struct_size;
  Profiler* profiler;
  uint8_t* buffer;  // null: the plugin gives its own
  size_t buffer_size_in_bytes;
};

struct ProfilerApi {
  size_t struct_size;
  void* priv;
  void (*error_destroy)(Profiler_Error_Destroy_Args* args);
  void (*error_message)(Profiler_Error_Message_Args* args);
  Error* (*error_get_code)(Profiler_Error_GetCode_Args* args);
  Error* (*create)(Profiler_Create_Args* args);
  Error* (*destroy)(Profiler_Args* args);
  Error* (*start)(Profiler_Args* args);
  Error* (*stop)(Profiler_Args* args);
  Error* (*collect_data)(Profiler_CollectData_Args* args);
};

struct ProfilerExtension {
  ExtensionBase base;
  ProfilerApi* api;
  int64_t traceme_context_id;  // of calls alone
};

// The one of this plugin, the last of the list.
ProfilerExtension* GetProfilerExtension();

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_API_EXTENSIONS_H_
