// What the functions of the PJRT C API for buffers are called with. What they give is written to the
// fields that come last.
#ifndef XC_SERVICE_PJRT_API_BUFFER_ARGS_H_
#define XC_SERVICE_PJRT_API_BUFFER_ARGS_H_

#include "service/pjrt/api_types.h"

namespace xc::pjrt {

struct Client_CreateUninitializedBuffer_Args {
  XC_PJRT_HEAD;
  Client* client;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  BufferType shape_element_type;
  MemoryLayout* shape_layout;
  Device* device;
  Memory* memory;
  Buffer* buffer;
};

struct Client_CreateErrorBuffer_Args {
  XC_PJRT_HEAD;
  Client* client;
  int error_code;
  const char* error_message;
  size_t error_message_size;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  BufferType shape_element_type;
  MemoryLayout* shape_layout;
  Memory* memory;
  Buffer* buffer;
};

struct Client_BufferFromHostBuffer_Args {
  XC_PJRT_HEAD;
  Client* client;
  const void* data;
  BufferType type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;
  size_t num_byte_strides;
  HostBufferSemantics host_buffer_semantics;
  Device* device;
  Memory* memory;
  MemoryLayout* device_layout;
  Event* done_with_host_buffer;
  Buffer* buffer;
};

struct Client_CreateViewOfDeviceBuffer_Args {
  XC_PJRT_HEAD;
  Client* client;
  void* device_buffer_ptr;
  const int64_t* dims;
  size_t num_dims;
  BufferType element_type;
  MemoryLayout* layout;
  Device* device;
  void (*on_delete_callback)(void* device_buffer_ptr, void* user_arg);
  void* on_delete_callback_arg;
  intptr_t stream;
  Buffer* buffer;
  Memory* memory;
};

struct Buffer_Destroy_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
};

struct Buffer_ElementType_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  BufferType type;
};

struct Buffer_Dimensions_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  const int64_t* dims;
  size_t num_dims;
};

struct Buffer_UnpaddedDimensions_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  const int64_t* unpadded_dims;
  size_t num_dims;
};

struct Buffer_DynamicDimensionIndices_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  const size_t* dynamic_dim_indices;
  size_t num_dynamic_dims;
};

struct Buffer_GetMemoryLayout_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  MemoryLayout layout;
};

struct Buffer_ToHostBuffer_Args {
  XC_PJRT_HEAD;
  Buffer* src;
  MemoryLayout* host_layout;
  void* dst;
  size_t dst_size;
  Event* event;
};

struct Buffer_OnDeviceSizeInBytes_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  size_t on_device_size_in_bytes;
};

struct Buffer_Delete_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
};

struct Buffer_IsDeleted_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  bool is_deleted;
};

struct Buffer_CopyRawToHost_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  void* dst;
  int64_t offset;
  int64_t transfer_size;
  Event* event;
};

struct Buffer_CopyToDevice_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  Device* dst_device;
  Buffer* dst_buffer;
};

struct Buffer_CopyToMemory_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  Memory* dst_memory;
  Buffer* dst_buffer;
};

struct Buffer_IsOnCpu_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  bool is_on_cpu;
};

struct Buffer_Device_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  Device* device;
};

struct Buffer_Memory_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  Memory* memory;
};

struct Buffer_ReadyEvent_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  Event* event;
};

struct Buffer_UnsafePointer_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  uintptr_t buffer_pointer;
};

struct Buffer_IncreaseExternalReferenceCount_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
};

struct Buffer_DecreaseExternalReferenceCount_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
};

struct Buffer_OpaqueDeviceMemoryDataPointer_Args {
  XC_PJRT_HEAD;
  Buffer* buffer;
  void* device_memory_ptr;
};

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_API_BUFFER_ARGS_H_
