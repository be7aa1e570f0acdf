// The functions of the PJRT C API that tell about devices, their memories and the topology.
#include <fstream>
#include <string>

#include "importers/stablehlo/stablehlo.h"
#include "service/pjrt/client.h"
#include "service/pjrt/events.h"

namespace xc::pjrt {

Error* DeviceDescription_Id(DeviceDescription_Id_Args* args) {
  args->id = args->device_description->id;
  return nullptr;
}

Error* DeviceDescription_ProcessIndex(DeviceDescription_ProcessIndex_Args* args) {
  args->process_index = 0;
  return nullptr;
}

Error* DeviceDescription_Attributes(DeviceDescription_Attributes_Args* args) {
  args->num_attributes = 0;
  args->attributes = nullptr;
  return nullptr;
}

Error* DeviceDescription_Kind(DeviceDescription_Kind_Args* args) {
  Give(args->device_description->kind, &args->device_kind, &args->device_kind_size);
  return nullptr;
}

Error* DeviceDescription_DebugString(DeviceDescription_DebugString_Args* args) {
  Give(args->device_description->debug_string, &args->debug_string, &args->debug_string_size);
  return nullptr;
}

Error* DeviceDescription_ToString(DeviceDescription_ToString_Args* args) {
  Give(args->device_description->to_string, &args->to_string, &args->to_string_size);
  return nullptr;
}

Error* Device_GetDescription(Device_GetDescription_Args* args) {
  args->device_description = &args->device->description;
  return nullptr;
}

Error* Device_IsAddressable(Device_IsAddressable_Args* args) {
  args->is_addressable = true;
  return nullptr;
}

Error* Device_LocalHardwareId(Device_LocalHardwareId_Args* args) {
  args->local_hardware_id = args->device->description.id;
  return nullptr;
}

Error* Device_AddressableMemories(Device_AddressableMemories_Args* args) {
  args->memories = args->device->memories.data();
  args->num_memories = args->device->memories.size();
  return nullptr;
}

Error* Device_DefaultMemory(Device_DefaultMemory_Args* args) {
  args->memory = args->device->default_memory();
  return nullptr;
}

// As JAX's own client: the host's memory is not counted by device.
Error* Device_MemoryStats(Device_MemoryStats_Args*) {
  return ToError(absl::UnimplementedError("devices of the CPU have no memory statistics"));
}

Error* Memory_Id(Memory_Id_Args* args) {
  args->id = args->memory->id;
  return nullptr;
}

Error* Memory_Kind(Memory_Kind_Args* args) {
  Give(args->memory->kind, &args->kind, &args->kind_size);
  return nullptr;
}

Error* Memory_Kind_Id(Memory_Kind_Id_Args* args) {
  args->kind_id = args->memory->kind_id;
  return nullptr;
}

Error* Memory_DebugString(Memory_DebugString_Args* args) {
  Give(args->memory->debug_string, &args->debug_string, &args->debug_string_size);
  return nullptr;
}

Error* Memory_ToString(Memory_ToString_Args* args) {
  Give(args->memory->to_string, &args->to_string, &args->to_string_size);
  return nullptr;
}

Error* Memory_AddressableByDevices(Memory_AddressableByDevices_Args* args) {
  args->devices = &args->memory->device;
  args->num_devices = 1;
  return nullptr;
}

// Topologies belong to their clients.
Error* TopologyDescription_Destroy(TopologyDescription_Destroy_Args*) { return nullptr; }

Error* TopologyDescription_PlatformName(TopologyDescription_PlatformName_Args* args) {
  args->platform_name = kLoweringPlatform;
  args->platform_name_size = sizeof(kLoweringPlatform) - 1;
  return nullptr;
}

Error* TopologyDescription_PlatformVersion(TopologyDescription_PlatformVersion_Args* args) {
  Give(args->topology->platform_version, &args->platform_version, &args->platform_version_size);
  return nullptr;
}

Error* TopologyDescription_GetDeviceDescriptions(TopologyDescription_GetDeviceDescriptions_Args* args) {
  args->descriptions = args->topology->descriptions.data();
  args->num_descriptions = args->topology->descriptions.size();
  return nullptr;
}

// What keys of compilation caches take in.
Error* TopologyDescription_Serialize(TopologyDescription_Serialize_Args* args) {
  return Answer([&] {
    auto* text =
        new std::string(args->topology->platform_version + "/" + std::to_string(args->topology->descriptions.size()));
    Give(*text, &args->serialized_bytes, &args->serialized_bytes_size);
    args->serialized_topology = reinterpret_cast<SerializedTopology*>(text);
    args->serialized_topology_deleter = [](SerializedTopology* t) { delete reinterpret_cast<std::string*>(t); };
    return absl::OkStatus();
  });
}

Error* TopologyDescription_Attributes(TopologyDescription_Attributes_Args* args) {
  args->num_attributes = 0;
  args->attributes = nullptr;
  return nullptr;
}

}  // namespace xc::pjrt
