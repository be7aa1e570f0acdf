// Our declaration of the PJRT C API has the layout of the header that TensorFlow's wheel brings: sizes, places of
// fields, and the order of the table. All of it is checked by the compiler.
#include "gtest/gtest.h"
#include "service/pjrt/api.h"
#include "service/pjrt/api_extensions.h"
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"
#include "xla/pjrt/c/pjrt_c_api_profiler_extension.h"

// XC_EACH(m, a, b, f, g, …): m(a, b, f) m(a, b, g) ….
#define XC_PARENS ()
#define XC_EXPAND(...) XC_EXPAND3(XC_EXPAND3(XC_EXPAND3(__VA_ARGS__)))
#define XC_EXPAND3(...) XC_EXPAND2(XC_EXPAND2(XC_EXPAND2(__VA_ARGS__)))
#define XC_EXPAND2(...) XC_EXPAND1(XC_EXPAND1(XC_EXPAND1(__VA_ARGS__)))
#define XC_EXPAND1(...) __VA_ARGS__
#define XC_EACH(m, a, b, ...) __VA_OPT__(XC_EXPAND(XC_NEXT(m, a, b, __VA_ARGS__)))
#define XC_NEXT(m, a, b, f, ...) m(a, b, f) __VA_OPT__(XC_AGAIN XC_PARENS(m, a, b, __VA_ARGS__))
#define XC_AGAIN() XC_NEXT

#define XC_FIELD(ours, theirs, field) \
  static_assert(offsetof(xc::pjrt::ours, field) == offsetof(::theirs, field), #ours "." #field);
#define XC_SAME(ours, theirs, ...)                                  \
  static_assert(sizeof(xc::pjrt::ours) == sizeof(::theirs), #ours); \
  XC_EACH(XC_FIELD, ours, theirs __VA_OPT__(, ) __VA_ARGS__)

XC_SAME(NamedValue, PJRT_NamedValue, name, name_size, type, string_value, int64_value, int64_array_value, float_value,
        bool_value, value_size)
XC_SAME(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major, minor_to_major_size, tile_dims, tile_dim_sizes,
        num_tiles)
XC_SAME(StridesLayout, PJRT_Buffer_MemoryLayout_Strides, byte_strides, num_byte_strides)
XC_SAME(MemoryLayout, PJRT_Buffer_MemoryLayout, tiled, strides, type)
XC_SAME(Program, PJRT_Program, code, code_size, format, format_size)
XC_SAME(ExecuteOptions, PJRT_ExecuteOptions, send_callbacks, recv_callbacks, num_send_ops, num_recv_ops, launch_id,
        non_donatable_input_indices, num_non_donatable_input_indices, context, call_location, num_tasks, task_ids,
        incarnation_ids)
XC_SAME(Error_Destroy_Args, PJRT_Error_Destroy_Args, error)
XC_SAME(Error_Message_Args, PJRT_Error_Message_Args, error, message, message_size)
XC_SAME(Error_GetCode_Args, PJRT_Error_GetCode_Args, error, code)
XC_SAME(Plugin_Initialize_Args, PJRT_Plugin_Initialize_Args)
XC_SAME(Plugin_Attributes_Args, PJRT_Plugin_Attributes_Args, attributes, num_attributes)
XC_SAME(Event_Destroy_Args, PJRT_Event_Destroy_Args, event)
XC_SAME(Event_IsReady_Args, PJRT_Event_IsReady_Args, event, is_ready)
XC_SAME(Event_Error_Args, PJRT_Event_Error_Args, event)
XC_SAME(Event_Await_Args, PJRT_Event_Await_Args, event)
XC_SAME(Event_OnReady_Args, PJRT_Event_OnReady_Args, event, callback, user_arg)
XC_SAME(Event_Create_Args, PJRT_Event_Create_Args, event)
XC_SAME(Event_Set_Args, PJRT_Event_Set_Args, event, error_code, error_message, error_message_size)
XC_SAME(Client_Create_Args, PJRT_Client_Create_Args, create_options, num_options, kv_get_callback, kv_get_user_arg,
        kv_put_callback, kv_put_user_arg, client, kv_try_get_callback, kv_try_get_user_arg)
XC_SAME(Client_Destroy_Args, PJRT_Client_Destroy_Args, client)
XC_SAME(Client_PlatformName_Args, PJRT_Client_PlatformName_Args, client, platform_name, platform_name_size)
XC_SAME(Client_ProcessIndex_Args, PJRT_Client_ProcessIndex_Args, client, process_index)
XC_SAME(Client_PlatformVersion_Args, PJRT_Client_PlatformVersion_Args, client, platform_version, platform_version_size)
XC_SAME(Client_TopologyDescription_Args, PJRT_Client_TopologyDescription_Args, client, topology)
XC_SAME(Client_Devices_Args, PJRT_Client_Devices_Args, client, devices, num_devices)
XC_SAME(Client_AddressableDevices_Args, PJRT_Client_AddressableDevices_Args, client, addressable_devices,
        num_addressable_devices)
XC_SAME(Client_LookupDevice_Args, PJRT_Client_LookupDevice_Args, client, id, device)
XC_SAME(Client_LookupAddressableDevice_Args, PJRT_Client_LookupAddressableDevice_Args, client, local_hardware_id,
        addressable_device)
XC_SAME(Client_AddressableMemories_Args, PJRT_Client_AddressableMemories_Args, client, addressable_memories,
        num_addressable_memories)
XC_SAME(Client_Compile_Args, PJRT_Client_Compile_Args, client, program, compile_options, compile_options_size,
        executable)
XC_SAME(Client_DefaultDeviceAssignment_Args, PJRT_Client_DefaultDeviceAssignment_Args, client, num_replicas,
        num_partitions, default_assignment_size, default_assignment)
XC_SAME(Client_DmaMap_Args, PJRT_Client_DmaMap_Args, client, data, size)
XC_SAME(Client_DmaUnmap_Args, PJRT_Client_DmaUnmap_Args, client, data)
XC_SAME(DeviceDescription_Id_Args, PJRT_DeviceDescription_Id_Args, device_description, id)
XC_SAME(DeviceDescription_ProcessIndex_Args, PJRT_DeviceDescription_ProcessIndex_Args, device_description,
        process_index)
XC_SAME(DeviceDescription_Attributes_Args, PJRT_DeviceDescription_Attributes_Args, device_description, num_attributes,
        attributes)
XC_SAME(DeviceDescription_Kind_Args, PJRT_DeviceDescription_Kind_Args, device_description, device_kind,
        device_kind_size)
XC_SAME(DeviceDescription_DebugString_Args, PJRT_DeviceDescription_DebugString_Args, device_description, debug_string,
        debug_string_size)
XC_SAME(DeviceDescription_ToString_Args, PJRT_DeviceDescription_ToString_Args, device_description, to_string,
        to_string_size)
XC_SAME(Device_GetDescription_Args, PJRT_Device_GetDescription_Args, device, device_description)
XC_SAME(Device_IsAddressable_Args, PJRT_Device_IsAddressable_Args, device, is_addressable)
XC_SAME(Device_LocalHardwareId_Args, PJRT_Device_LocalHardwareId_Args, device, local_hardware_id)
XC_SAME(Device_AddressableMemories_Args, PJRT_Device_AddressableMemories_Args, device, memories, num_memories)
XC_SAME(Device_DefaultMemory_Args, PJRT_Device_DefaultMemory_Args, device, memory)
XC_SAME(Device_MemoryStats_Args, PJRT_Device_MemoryStats_Args, device, bytes_in_use, peak_bytes_in_use,
        peak_bytes_in_use_is_set, num_allocs, num_allocs_is_set, largest_alloc_size, largest_alloc_size_is_set,
        bytes_limit, bytes_limit_is_set, bytes_reserved, bytes_reserved_is_set, peak_bytes_reserved,
        peak_bytes_reserved_is_set, bytes_reservable_limit, bytes_reservable_limit_is_set, largest_free_block_bytes,
        largest_free_block_bytes_is_set, pool_bytes, pool_bytes_is_set, peak_pool_bytes, peak_pool_bytes_is_set)
XC_SAME(Memory_Id_Args, PJRT_Memory_Id_Args, memory, id)
XC_SAME(Memory_Kind_Args, PJRT_Memory_Kind_Args, memory, kind, kind_size)
XC_SAME(Memory_Kind_Id_Args, PJRT_Memory_Kind_Id_Args, memory, kind_id)
XC_SAME(Memory_DebugString_Args, PJRT_Memory_DebugString_Args, memory, debug_string, debug_string_size)
XC_SAME(Memory_ToString_Args, PJRT_Memory_ToString_Args, memory, to_string, to_string_size)
XC_SAME(Memory_AddressableByDevices_Args, PJRT_Memory_AddressableByDevices_Args, memory, devices, num_devices)
XC_SAME(TopologyDescription_Destroy_Args, PJRT_TopologyDescription_Destroy_Args, topology)
XC_SAME(TopologyDescription_PlatformVersion_Args, PJRT_TopologyDescription_PlatformVersion_Args, topology,
        platform_version, platform_version_size)
XC_SAME(TopologyDescription_PlatformName_Args, PJRT_TopologyDescription_PlatformName_Args, topology, platform_name,
        platform_name_size)
XC_SAME(TopologyDescription_GetDeviceDescriptions_Args, PJRT_TopologyDescription_GetDeviceDescriptions_Args, topology,
        descriptions, num_descriptions)
XC_SAME(TopologyDescription_Serialize_Args, PJRT_TopologyDescription_Serialize_Args, topology, serialized_bytes,
        serialized_bytes_size, serialized_topology, serialized_topology_deleter)
XC_SAME(TopologyDescription_Attributes_Args, PJRT_TopologyDescription_Attributes_Args, topology, attributes,
        num_attributes)
XC_SAME(Client_CreateUninitializedBuffer_Args, PJRT_Client_CreateUninitializedBuffer_Args, client, shape_dims,
        shape_num_dims, shape_element_type, shape_layout, device, memory, buffer)
XC_SAME(Client_CreateErrorBuffer_Args, PJRT_Client_CreateErrorBuffer_Args, client, error_code, error_message,
        error_message_size, shape_dims, shape_num_dims, shape_element_type, shape_layout, memory, buffer)
XC_SAME(Client_BufferFromHostBuffer_Args, PJRT_Client_BufferFromHostBuffer_Args, client, data, type, dims, num_dims,
        byte_strides, num_byte_strides, host_buffer_semantics, device, memory, device_layout, done_with_host_buffer,
        buffer)
XC_SAME(Client_CreateViewOfDeviceBuffer_Args, PJRT_Client_CreateViewOfDeviceBuffer_Args, client, device_buffer_ptr,
        dims, num_dims, element_type, layout, device, on_delete_callback, on_delete_callback_arg, stream, buffer,
        memory)
XC_SAME(Buffer_Destroy_Args, PJRT_Buffer_Destroy_Args, buffer)
XC_SAME(Buffer_ElementType_Args, PJRT_Buffer_ElementType_Args, buffer, type)
XC_SAME(Buffer_Dimensions_Args, PJRT_Buffer_Dimensions_Args, buffer, dims, num_dims)
XC_SAME(Buffer_UnpaddedDimensions_Args, PJRT_Buffer_UnpaddedDimensions_Args, buffer, unpadded_dims, num_dims)
XC_SAME(Buffer_DynamicDimensionIndices_Args, PJRT_Buffer_DynamicDimensionIndices_Args, buffer, dynamic_dim_indices,
        num_dynamic_dims)
XC_SAME(Buffer_GetMemoryLayout_Args, PJRT_Buffer_GetMemoryLayout_Args, buffer, layout)
XC_SAME(Buffer_ToHostBuffer_Args, PJRT_Buffer_ToHostBuffer_Args, src, host_layout, dst, dst_size, event)
XC_SAME(Buffer_OnDeviceSizeInBytes_Args, PJRT_Buffer_OnDeviceSizeInBytes_Args, buffer, on_device_size_in_bytes)
XC_SAME(Buffer_Delete_Args, PJRT_Buffer_Delete_Args, buffer)
XC_SAME(Buffer_IsDeleted_Args, PJRT_Buffer_IsDeleted_Args, buffer, is_deleted)
XC_SAME(Buffer_CopyRawToHost_Args, PJRT_Buffer_CopyRawToHost_Args, buffer, dst, offset, transfer_size, event)
XC_SAME(Buffer_CopyToDevice_Args, PJRT_Buffer_CopyToDevice_Args, buffer, dst_device, dst_buffer)
XC_SAME(Buffer_CopyToMemory_Args, PJRT_Buffer_CopyToMemory_Args, buffer, dst_memory, dst_buffer)
XC_SAME(Buffer_IsOnCpu_Args, PJRT_Buffer_IsOnCpu_Args, buffer, is_on_cpu)
XC_SAME(Buffer_Device_Args, PJRT_Buffer_Device_Args, buffer, device)
XC_SAME(Buffer_Memory_Args, PJRT_Buffer_Memory_Args, buffer, memory)
XC_SAME(Buffer_ReadyEvent_Args, PJRT_Buffer_ReadyEvent_Args, buffer, event)
XC_SAME(Buffer_UnsafePointer_Args, PJRT_Buffer_UnsafePointer_Args, buffer, buffer_pointer)
XC_SAME(Buffer_IncreaseExternalReferenceCount_Args, PJRT_Buffer_IncreaseExternalReferenceCount_Args, buffer)
XC_SAME(Buffer_DecreaseExternalReferenceCount_Args, PJRT_Buffer_DecreaseExternalReferenceCount_Args, buffer)
XC_SAME(Buffer_OpaqueDeviceMemoryDataPointer_Args, PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, buffer,
        device_memory_ptr)
XC_SAME(ExecuteContext_Create_Args, PJRT_ExecuteContext_Create_Args, context)
XC_SAME(ExecuteContext_Destroy_Args, PJRT_ExecuteContext_Destroy_Args, context)
XC_SAME(Executable_Destroy_Args, PJRT_Executable_Destroy_Args, executable)
XC_SAME(LoadedExecutable_Destroy_Args, PJRT_LoadedExecutable_Destroy_Args, executable)
XC_SAME(LoadedExecutable_GetExecutable_Args, PJRT_LoadedExecutable_GetExecutable_Args, loaded_executable, executable)
XC_SAME(LoadedExecutable_GetDeviceAssignment_Args, PJRT_LoadedExecutable_GetDeviceAssignment_Args, executable,
        serialized_bytes, serialized_bytes_size, serialized_device_assignment, serialized_device_assignment_deleter)
XC_SAME(Executable_Name_Args, PJRT_Executable_Name_Args, executable, executable_name, executable_name_size)
XC_SAME(Executable_NumReplicas_Args, PJRT_Executable_NumReplicas_Args, executable, num_replicas)
XC_SAME(Executable_NumPartitions_Args, PJRT_Executable_NumPartitions_Args, executable, num_partitions)
XC_SAME(LoadedExecutable_AddressableDevices_Args, PJRT_LoadedExecutable_AddressableDevices_Args, executable,
        addressable_devices, num_addressable_devices)
XC_SAME(Executable_OptimizedProgram_Args, PJRT_Executable_OptimizedProgram_Args, executable, program)
XC_SAME(LoadedExecutable_Delete_Args, PJRT_LoadedExecutable_Delete_Args, executable)
XC_SAME(LoadedExecutable_IsDeleted_Args, PJRT_LoadedExecutable_IsDeleted_Args, executable, is_deleted)
XC_SAME(LoadedExecutable_Execute_Args, PJRT_LoadedExecutable_Execute_Args, executable, options, argument_lists,
        num_devices, num_args, output_lists, device_complete_events, execute_device)
XC_SAME(Executable_NumOutputs_Args, PJRT_Executable_NumOutputs_Args, executable, num_outputs)
XC_SAME(Executable_SizeOfGeneratedCodeInBytes_Args, PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, executable,
        size_in_bytes)
XC_SAME(Executable_Fingerprint_Args, PJRT_Executable_Fingerprint_Args, executable, executable_fingerprint,
        executable_fingerprint_size)
XC_SAME(Executable_GetCostAnalysis_Args, PJRT_Executable_GetCostAnalysis_Args, executable, num_properties, properties)
XC_SAME(Executable_GetCompiledMemoryStats_Args, PJRT_Executable_GetCompiledMemoryStats_Args, executable,
        generated_code_size_in_bytes, argument_size_in_bytes, output_size_in_bytes, alias_size_in_bytes,
        temp_size_in_bytes, host_generated_code_size_in_bytes, host_argument_size_in_bytes, host_output_size_in_bytes,
        host_alias_size_in_bytes, host_temp_size_in_bytes, peak_memory_in_bytes, total_size_in_bytes)
XC_SAME(Executable_OutputElementTypes_Args, PJRT_Executable_OutputElementTypes_Args, executable, output_types,
        num_output_types)
XC_SAME(Executable_OutputDimensions_Args, PJRT_Executable_OutputDimensions_Args, executable, num_outputs, dims,
        dim_sizes)
XC_SAME(Executable_OutputMemoryKinds_Args, PJRT_Executable_OutputMemoryKinds_Args, executable, num_outputs,
        memory_kinds, memory_kind_sizes)
XC_SAME(Executable_Serialize_Args, PJRT_Executable_Serialize_Args, executable, serialized_bytes, serialized_bytes_size,
        serialized_executable, serialized_executable_deleter)
XC_SAME(Executable_GetCompileOptions_Args, PJRT_Executable_GetCompileOptions_Args, executable, serialized_bytes,
        serialized_bytes_size, serialized_compile_options, serialized_compile_options_deleter)
XC_SAME(Executable_DeserializeAndLoad_Args, PJRT_Executable_DeserializeAndLoad_Args, client, serialized_executable,
        serialized_executable_size, loaded_executable, overridden_serialized_compile_options,
        overridden_serialized_compile_options_size)
XC_SAME(LoadedExecutable_Fingerprint_Args, PJRT_LoadedExecutable_Fingerprint_Args, executable, executable_fingerprint,
        executable_fingerprint_size)

XC_SAME(FFI_Type_Info, PJRT_FFI_Type_Info, deleter, serialize, deserialize)
XC_SAME(FFI_Type_Register_Args, PJRT_FFI_Type_Register_Args, type_name, type_name_size, type_id, type_info)
XC_SAME(FFI_UserData, PJRT_FFI_UserData, type_id, data)
XC_SAME(FFI_UserData_Add_Args, PJRT_FFI_UserData_Add_Args, context, user_data)
XC_SAME(FFI_Register_Handler_Args, PJRT_FFI_Register_Handler_Args, target_name, target_name_size, handler,
        platform_name, platform_name_size, traits)
XC_SAME(FfiExtension, PJRT_FFI_Extension, type_register, user_data_add, register_handler)

XC_SAME(Layouts_MemoryLayout_Destroy_Args, PJRT_Layouts_MemoryLayout_Destroy_Args, layout)
XC_SAME(Layouts_MemoryLayout_Serialize_Args, PJRT_Layouts_MemoryLayout_Serialize_Args, layout, serialized_bytes,
        serialized_bytes_size, serialized_layout, serialized_layout_deleter)
XC_SAME(Layouts_Client_GetDefaultLayout_Args, PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args, client, type, dims,
        num_dims, layout)
XC_SAME(Layouts_Buffer_MemoryLayout_Args, PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args, buffer, layout)
XC_SAME(Layouts_Topology_GetDefaultLayout_Args, PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args, topology_description,
        type, dims, num_dims, layout)
XC_SAME(Layouts_Executable_GetOutputLayouts_Args, PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args, executable,
        num_outputs, layouts)
static_assert(sizeof(xc::pjrt::LayoutsExtension) == sizeof(::PJRT_Layouts_Extension));
static_assert(offsetof(xc::pjrt::LayoutsExtension, of_buffer) ==
              offsetof(::PJRT_Layouts_Extension, PJRT_Layouts_PJRT_Buffer_MemoryLayout));
static_assert(static_cast<int>(xc::pjrt::kLayoutsExtension) == PJRT_Extension_Type_Layouts);

XC_SAME(Profiler_Error_Destroy_Args, PLUGIN_Profiler_Error_Destroy_Args, error)
XC_SAME(Profiler_Error_Message_Args, PLUGIN_Profiler_Error_Message_Args, error, message, message_size)
XC_SAME(Profiler_Error_GetCode_Args, PLUGIN_Profiler_Error_GetCode_Args, error, code)
XC_SAME(Profiler_Create_Args, PLUGIN_Profiler_Create_Args, options, options_size, profiler)
XC_SAME(Profiler_Args, PLUGIN_Profiler_Start_Args, profiler)
XC_SAME(Profiler_Args, PLUGIN_Profiler_Stop_Args, profiler)
XC_SAME(Profiler_Args, PLUGIN_Profiler_Destroy_Args, profiler)
XC_SAME(Profiler_CollectData_Args, PLUGIN_Profiler_CollectData_Args, profiler, buffer, buffer_size_in_bytes)
XC_SAME(ProfilerApi, PLUGIN_Profiler_Api, error_destroy, error_message, error_get_code, create, destroy, start, stop,
        collect_data)
static_assert(sizeof(xc::pjrt::ProfilerExtension) == sizeof(::PJRT_Profiler_Extension));
static_assert(offsetof(xc::pjrt::ProfilerExtension, api) == offsetof(::PJRT_Profiler_Extension, profiler_api));
static_assert(static_cast<int>(xc::pjrt::kProfilerExtension) == PJRT_Extension_Type_Profiler);

#define XC_PJRT_CALL(name) static_assert(offsetof(xc::pjrt::Api, name) == offsetof(::PJRT_Api, PJRT_##name), #name);
#define XC_PJRT_NONE(name) XC_PJRT_CALL(name)
#include "service/pjrt/functions.def"

static_assert(sizeof(xc::pjrt::Api) == sizeof(::PJRT_Api));
static_assert(xc::pjrt::kApiMajor == PJRT_API_MAJOR && xc::pjrt::kApiMinor == PJRT_API_MINOR);
static_assert(static_cast<int>(xc::pjrt::BufferType::kF4E2M1FN) == PJRT_Buffer_Type_F4E2M1FN);
static_assert(static_cast<int>(xc::pjrt::BufferType::kToken) == PJRT_Buffer_Type_TOKEN);
static_assert(static_cast<int>(xc::pjrt::HostBufferSemantics::kMutableZeroCopy) ==
              PJRT_HostBufferSemantics_kMutableZeroCopy);

TEST(ApiLayoutTest, IsThatOfTheHeader) { EXPECT_EQ(sizeof(xc::pjrt::Api), sizeof(::PJRT_Api)); }
