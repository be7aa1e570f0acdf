// What the functions of the PJRT C API for executables are called with. What they give is written to the
// fields that come last.
#ifndef XC_SERVICE_PJRT_API_EXECUTABLE_ARGS_H_
#define XC_SERVICE_PJRT_API_EXECUTABLE_ARGS_H_

#include "service/pjrt/api_types.h"

namespace xc::pjrt {

struct ExecuteContext_Create_Args {
  XC_PJRT_HEAD;
  ExecuteContext* context;
};

struct ExecuteContext_Destroy_Args {
  XC_PJRT_HEAD;
  ExecuteContext* context;
};

struct Executable_Destroy_Args {
  XC_PJRT_HEAD;
  Executable* executable;
};

struct LoadedExecutable_Destroy_Args {
  XC_PJRT_HEAD;
  LoadedExecutable* executable;
};

struct LoadedExecutable_GetExecutable_Args {
  XC_PJRT_HEAD;
  LoadedExecutable* loaded_executable;
  Executable* executable;
};

struct LoadedExecutable_GetDeviceAssignment_Args {
  XC_PJRT_HEAD;
  LoadedExecutable* executable;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  DeviceAssignmentSerialized* serialized_device_assignment;
  void (*serialized_device_assignment_deleter)(DeviceAssignmentSerialized* da);
};

struct Executable_Name_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  const char* executable_name;
  size_t executable_name_size;
};

struct Executable_NumReplicas_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  size_t num_replicas;
};

struct Executable_NumPartitions_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  size_t num_partitions;
};

struct LoadedExecutable_AddressableDevices_Args {
  XC_PJRT_HEAD;
  LoadedExecutable* executable;
  Device* const* addressable_devices;
  size_t num_addressable_devices;
};

struct Executable_OptimizedProgram_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  Program* program;
};

struct LoadedExecutable_Delete_Args {
  XC_PJRT_HEAD;
  LoadedExecutable* executable;
};

struct LoadedExecutable_IsDeleted_Args {
  XC_PJRT_HEAD;
  LoadedExecutable* executable;
  bool is_deleted;
};

struct LoadedExecutable_Execute_Args {
  XC_PJRT_HEAD;
  LoadedExecutable* executable;
  ExecuteOptions* options;
  Buffer* const* const* argument_lists;
  size_t num_devices;
  size_t num_args;
  Buffer** const* output_lists;
  Event** device_complete_events;
  Device* execute_device;
};

struct Executable_NumOutputs_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  size_t num_outputs;
};

struct Executable_SizeOfGeneratedCodeInBytes_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  int64_t size_in_bytes;
};

struct Executable_Fingerprint_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  const char* executable_fingerprint;
  size_t executable_fingerprint_size;
};

struct Executable_GetCostAnalysis_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  size_t num_properties;
  const NamedValue* properties;
};

struct Executable_GetCompiledMemoryStats_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  int64_t generated_code_size_in_bytes;
  int64_t argument_size_in_bytes;
  int64_t output_size_in_bytes;
  int64_t alias_size_in_bytes;
  int64_t temp_size_in_bytes;
  int64_t host_generated_code_size_in_bytes;
  int64_t host_argument_size_in_bytes;
  int64_t host_output_size_in_bytes;
  int64_t host_alias_size_in_bytes;
  int64_t host_temp_size_in_bytes;
  int64_t peak_memory_in_bytes;
  int64_t total_size_in_bytes;
};

struct Executable_OutputElementTypes_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  BufferType* output_types;
  size_t num_output_types;
};

struct Executable_OutputDimensions_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  size_t num_outputs;
  const int64_t* dims;
  const size_t* dim_sizes;
};

struct Executable_OutputMemoryKinds_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  size_t num_outputs;
  const char* const* memory_kinds;
  const size_t* memory_kind_sizes;
};

struct Executable_Serialize_Args {
  XC_PJRT_HEAD;
  const Executable* executable;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  SerializedExecutable* serialized_executable;
  void (*serialized_executable_deleter)(SerializedExecutable* exec);
};

struct Executable_GetCompileOptions_Args {
  XC_PJRT_HEAD;
  Executable* executable;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  SerializedCompileOptions* serialized_compile_options;
  void (*serialized_compile_options_deleter)(SerializedCompileOptions* options);
};

struct Executable_DeserializeAndLoad_Args {
  XC_PJRT_HEAD;
  Client* client;
  const char* serialized_executable;
  size_t serialized_executable_size;
  LoadedExecutable* loaded_executable;
  const char* overridden_serialized_compile_options;
  size_t overridden_serialized_compile_options_size;
};

struct LoadedExecutable_Fingerprint_Args {
  XC_PJRT_HEAD;
  LoadedExecutable* executable;
  const char* executable_fingerprint;
  size_t executable_fingerprint_size;
};

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_API_EXECUTABLE_ARGS_H_
