// What the functions of the PJRT C API for errors, events, clients, devices and memories are called with. What they
// give is written to the fields that come last.
#ifndef XC_SERVICE_PJRT_API_CLIENT_ARGS_H_
#define XC_SERVICE_PJRT_API_CLIENT_ARGS_H_

#include "service/pjrt/api_types.h"

namespace xc::pjrt {

struct Error_Destroy_Args {
  XC_PJRT_HEAD;
  Error* error;
};

struct Error_Message_Args {
  XC_PJRT_HEAD;
  const Error* error;
  const char* message;
  size_t message_size;
};

struct Error_GetCode_Args {
  XC_PJRT_HEAD;
  const Error* error;
  int code;
};

struct Plugin_Initialize_Args {
  XC_PJRT_HEAD;
};

struct Plugin_Attributes_Args {
  XC_PJRT_HEAD;
  const NamedValue* attributes;
  size_t num_attributes;
};

struct Event_Destroy_Args {
  XC_PJRT_HEAD;
  Event* event;
};

struct Event_IsReady_Args {
  XC_PJRT_HEAD;
  Event* event;
  bool is_ready;
};

struct Event_Error_Args {
  XC_PJRT_HEAD;
  Event* event;
};

struct Event_Await_Args {
  XC_PJRT_HEAD;
  Event* event;
};

struct Event_OnReady_Args {
  XC_PJRT_HEAD;
  Event* event;
  Event_OnReadyCallback callback;
  void* user_arg;
};

struct Event_Create_Args {
  XC_PJRT_HEAD;
  Event* event;
};

struct Event_Set_Args {
  XC_PJRT_HEAD;
  Event* event;
  int error_code;
  const char* error_message;
  size_t error_message_size;
};

struct Client_Create_Args {
  XC_PJRT_HEAD;
  const NamedValue* create_options;
  size_t num_options;
  void (*kv_get_callback)();
  void* kv_get_user_arg;
  void (*kv_put_callback)();
  void* kv_put_user_arg;
  Client* client;
  void (*kv_try_get_callback)();
  void* kv_try_get_user_arg;
};

struct Client_Destroy_Args {
  XC_PJRT_HEAD;
  Client* client;
};

struct Client_PlatformName_Args {
  XC_PJRT_HEAD;
  Client* client;
  const char* platform_name;
  size_t platform_name_size;
};

struct Client_ProcessIndex_Args {
  XC_PJRT_HEAD;
  Client* client;
  int process_index;
};

struct Client_PlatformVersion_Args {
  XC_PJRT_HEAD;
  Client* client;
  const char* platform_version;
  size_t platform_version_size;
};

struct Client_TopologyDescription_Args {
  XC_PJRT_HEAD;
  Client* client;
  TopologyDescription* topology;
};

struct Client_Devices_Args {
  XC_PJRT_HEAD;
  Client* client;
  Device* const* devices;
  size_t num_devices;
};

struct Client_AddressableDevices_Args {
  XC_PJRT_HEAD;
  Client* client;
  Device* const* addressable_devices;
  size_t num_addressable_devices;
};

struct Client_LookupDevice_Args {
  XC_PJRT_HEAD;
  Client* client;
  int id;
  Device* device;
};

struct Client_LookupAddressableDevice_Args {
  XC_PJRT_HEAD;
  Client* client;
  int local_hardware_id;
  Device* addressable_device;
};

struct Client_AddressableMemories_Args {
  XC_PJRT_HEAD;
  Client* client;
  Memory* const* addressable_memories;
  size_t num_addressable_memories;
};

struct Client_Compile_Args {
  XC_PJRT_HEAD;
  Client* client;
  const Program* program;
  const char* compile_options;
  size_t compile_options_size;
  LoadedExecutable* executable;
};

struct Client_DefaultDeviceAssignment_Args {
  XC_PJRT_HEAD;
  Client* client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;
  int* default_assignment;
};

struct Client_DmaMap_Args {
  XC_PJRT_HEAD;
  Client* client;
  void* data;
  size_t size;
};

struct Client_DmaUnmap_Args {
  XC_PJRT_HEAD;
  Client* client;
  void* data;
};

struct DeviceDescription_Id_Args {
  XC_PJRT_HEAD;
  DeviceDescription* device_description;
  int id;
};

struct DeviceDescription_ProcessIndex_Args {
  XC_PJRT_HEAD;
  DeviceDescription* device_description;
  int process_index;
};

struct DeviceDescription_Attributes_Args {
  XC_PJRT_HEAD;
  DeviceDescription* device_description;
  size_t num_attributes;
  const NamedValue* attributes;
};

struct DeviceDescription_Kind_Args {
  XC_PJRT_HEAD;
  DeviceDescription* device_description;
  const char* device_kind;
  size_t device_kind_size;
};

struct DeviceDescription_DebugString_Args {
  XC_PJRT_HEAD;
  DeviceDescription* device_description;
  const char* debug_string;
  size_t debug_string_size;
};

struct DeviceDescription_ToString_Args {
  XC_PJRT_HEAD;
  DeviceDescription* device_description;
  const char* to_string;
  size_t to_string_size;
};

struct Device_GetDescription_Args {
  XC_PJRT_HEAD;
  Device* device;
  DeviceDescription* device_description;
};

struct Device_IsAddressable_Args {
  XC_PJRT_HEAD;
  Device* device;
  bool is_addressable;
};

struct Device_LocalHardwareId_Args {
  XC_PJRT_HEAD;
  Device* device;
  int local_hardware_id;
};

struct Device_AddressableMemories_Args {
  XC_PJRT_HEAD;
  Device* device;
  Memory* const* memories;
  size_t num_memories;
};

struct Device_DefaultMemory_Args {
  XC_PJRT_HEAD;
  Device* device;
  Memory* memory;
};

struct Device_MemoryStats_Args {
  XC_PJRT_HEAD;
  Device* device;
  int64_t bytes_in_use;
  int64_t peak_bytes_in_use;
  bool peak_bytes_in_use_is_set;
  int64_t num_allocs;
  bool num_allocs_is_set;
  int64_t largest_alloc_size;
  bool largest_alloc_size_is_set;
  int64_t bytes_limit;
  bool bytes_limit_is_set;
  int64_t bytes_reserved;
  bool bytes_reserved_is_set;
  int64_t peak_bytes_reserved;
  bool peak_bytes_reserved_is_set;
  int64_t bytes_reservable_limit;
  bool bytes_reservable_limit_is_set;
  int64_t largest_free_block_bytes;
  bool largest_free_block_bytes_is_set;
  int64_t pool_bytes;
  bool pool_bytes_is_set;
  int64_t peak_pool_bytes;
  bool peak_pool_bytes_is_set;
};

struct Memory_Id_Args {
  XC_PJRT_HEAD;
  Memory* memory;
  int id;
};

struct Memory_Kind_Args {
  XC_PJRT_HEAD;
  Memory* memory;
  const char* kind;
  size_t kind_size;
};

struct Memory_Kind_Id_Args {
  XC_PJRT_HEAD;
  Memory* memory;
  int kind_id;
};

struct Memory_DebugString_Args {
  XC_PJRT_HEAD;
  Memory* memory;
  const char* debug_string;
  size_t debug_string_size;
};

struct Memory_ToString_Args {
  XC_PJRT_HEAD;
  Memory* memory;
  const char* to_string;
  size_t to_string_size;
};

struct Memory_AddressableByDevices_Args {
  XC_PJRT_HEAD;
  Memory* memory;
  Device* const* devices;
  size_t num_devices;
};

struct TopologyDescription_Destroy_Args {
  XC_PJRT_HEAD;
  TopologyDescription* topology;
};

struct TopologyDescription_PlatformVersion_Args {
  XC_PJRT_HEAD;
  TopologyDescription* topology;
  const char* platform_version;
  size_t platform_version_size;
};

struct TopologyDescription_PlatformName_Args {
  XC_PJRT_HEAD;
  const TopologyDescription* topology;
  const char* platform_name;
  size_t platform_name_size;
};

struct TopologyDescription_GetDeviceDescriptions_Args {
  XC_PJRT_HEAD;
  const TopologyDescription* topology;
  DeviceDescription* const* descriptions;
  size_t num_descriptions;
};

struct TopologyDescription_Serialize_Args {
  XC_PJRT_HEAD;
  TopologyDescription* topology;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  SerializedTopology* serialized_topology;
  void (*serialized_topology_deleter)(SerializedTopology* serialized_topology);
};

struct TopologyDescription_Attributes_Args {
  XC_PJRT_HEAD;
  TopologyDescription* topology;
  const NamedValue* attributes;
  size_t num_attributes;
};

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_API_CLIENT_ARGS_H_
