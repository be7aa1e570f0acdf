#include "service/pjrt/client.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "backends/runtime/build_id.h"
#include "hlo/base/status.h"
#include "importers/stablehlo/stablehlo.h"
#include "service/pjrt/events.h"
#include "service/pjrt/launch_queue.h"
#include "service/pjrt/python_host.h"

namespace xc::pjrt {
namespace {

// The kinds that JAX's own client for the CPU has, in its order, with how it writes them.
struct MemoryKind {
  const char *kind, *debug_name, *class_name;
};
constexpr MemoryKind kKinds[] = {{"device", "CPU_DEVICE_", "CpuDeviceMemory"},
                                 {"pinned_host", "PINNED_HOST_", "PinnedHostMemory"},
                                 {"unpinned_host", "UNPINNED_HOST_", "UnpinnedHostMemorySpace"}};

std::unique_ptr<Device> MakeDevice(Client* client, int id, int* next_memory) {
  auto device = std::make_unique<Device>();
  device->client = client;
  device->description = {id, kLoweringPlatform, absl::StrCat("cpu:", id), absl::StrCat("CpuDevice(id=", id, ")")};
  for (const MemoryKind& kind : kKinds) {
    auto memory = std::make_unique<Memory>();
    memory->id = (*next_memory)++;
    memory->kind_id = static_cast<int>(&kind - kKinds);
    memory->kind = kind.kind;
    memory->device = device.get();
    memory->debug_string = absl::StrCat(kind.class_name, "(id=", memory->id, ", process_index=0, client=cpu)");
    memory->to_string = absl::StrCat(kind.debug_name, memory->id);
    device->memories.push_back(memory.get());
    device->owned_memories.push_back(std::move(memory));
  }
  return device;
}

// The number that JAX's own client would have: by JAX's setting, or by a flag of XLA; 1 without either.
int64_t DeviceCountOfProcess() {
  if (const int64_t count = DevicesOfJaxSetting(); count > 0) return count;
  constexpr absl::string_view kFlag = "--xla_force_host_platform_device_count=";
  int64_t count = 0;
  if (const char* flags = std::getenv("XLA_FLAGS"); flags != nullptr) {
    for (absl::string_view flag : absl::StrSplit(flags, absl::ByAnyChar(" \t\n"))) {
      if (absl::ConsumePrefix(&flag, kFlag) && absl::SimpleAtoi(flag, &count) && count >= 1) return count;
    }
  }
  const char* setting = std::getenv("JAX_NUM_CPU_DEVICES");
  return setting != nullptr && absl::SimpleAtoi(setting, &count) && count >= 1 ? count : 1;
}

absl::StatusOr<int64_t> DeviceCount(const Client_Create_Args& args) {
  int64_t count = DeviceCountOfProcess();
  for (size_t i = 0; i < args.num_options; ++i) {
    const NamedValue& option = args.create_options[i];
    if (absl::string_view(option.name, option.name_size) != kDeviceCountOption) continue;
    count = option.type == kInt64Value ? option.int64_value : 0;
  }
  if (count < 1 || count > kMostDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of devices (", kDeviceCountOption, ") should be a number from 1 to ", kMostDevices));
  }
  return count;
}

absl::Status Create(Client_Create_Args* args) {
  XC_ASSIGN_OR_RETURN(const int64_t count, DeviceCount(*args));
  auto client = std::make_unique<Client>();
  client->compiler = xc::Client::Default();
  client->platform_version = absl::StrCat("xc ", BuildId(reinterpret_cast<const void*>(&MakeDevice)));
  client->topology.platform_version = client->platform_version;
  int next_memory = 0;
  for (int64_t id = 0; id < count; ++id) {
    client->owned_devices.push_back(MakeDevice(client.get(), static_cast<int>(id), &next_memory));
    Device* const device = client->owned_devices.back().get();
    client->devices.push_back(device);
    client->memories.insert(client->memories.end(), device->memories.begin(), device->memories.end());
    client->topology.descriptions.push_back(&device->description);
  }
  client->waits = WaitsByJaxSetting();
  ShareHandlersOfJaxlib();
  CopyDlpackForJaxlib();
  args->client = client.release();
  return absl::OkStatus();
}

}  // namespace

Error* Plugin_Initialize(Plugin_Initialize_Args*) { return nullptr; }

Error* Client_Create(Client_Create_Args* args) {
  return Answer([&] { return Create(args); });
}

Error* Client_Destroy(Client_Destroy_Args* args) {
  LaunchQueue::Drain();
  delete args->client;
  return nullptr;
}

Error* Client_PlatformName(Client_PlatformName_Args* args) {
  args->platform_name = kLoweringPlatform;
  args->platform_name_size = sizeof(kLoweringPlatform) - 1;
  return nullptr;
}

Error* Client_ProcessIndex(Client_ProcessIndex_Args* args) {
  args->process_index = 0;
  return nullptr;
}

Error* Client_PlatformVersion(Client_PlatformVersion_Args* args) {
  Give(args->client->platform_version, &args->platform_version, &args->platform_version_size);
  return nullptr;
}

Error* Client_TopologyDescription(Client_TopologyDescription_Args* args) {
  args->topology = &args->client->topology;
  return nullptr;
}

Error* Client_Devices(Client_Devices_Args* args) {
  args->devices = args->client->devices.data();
  args->num_devices = args->client->devices.size();
  return nullptr;
}

Error* Client_AddressableDevices(Client_AddressableDevices_Args* args) {
  args->addressable_devices = args->client->devices.data();
  args->num_addressable_devices = args->client->devices.size();
  return nullptr;
}

namespace {

Error* FindDevice(const Client& client, int id, Device** device) {
  return Answer([&]() -> absl::Status {
    if (id < 0 || id >= static_cast<int>(client.devices.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no device ", id, "; there are ", client.devices.size(), ", from 0 on"));
    }
    *device = client.devices[id];
    return absl::OkStatus();
  });
}

}  // namespace

Error* Client_LookupDevice(Client_LookupDevice_Args* args) {
  return FindDevice(*args->client, args->id, &args->device);
}

Error* Client_LookupAddressableDevice(Client_LookupAddressableDevice_Args* args) {
  return FindDevice(*args->client, args->local_hardware_id, &args->addressable_device);
}

Error* Client_AddressableMemories(Client_AddressableMemories_Args* args) {
  args->addressable_memories = args->client->memories.data();
  args->num_addressable_memories = args->client->memories.size();
  return nullptr;
}

Error* Client_DefaultDeviceAssignment(Client_DefaultDeviceAssignment_Args* args) {
  return Answer([&]() -> absl::Status {
    const int64_t needed = int64_t{args->num_replicas} * args->num_partitions;
    if (args->num_replicas < 1 || args->num_partitions < 1 ||
        needed > static_cast<int64_t>(args->client->devices.size()) ||
        needed > static_cast<int64_t>(args->default_assignment_size)) {
      return absl::InvalidArgumentError(absl::StrCat(args->num_replicas, " replicas of ", args->num_partitions,
                                                     " partitions do not fit ", args->client->devices.size(),
                                                     " devices"));
    }
    for (int64_t i = 0; i < needed; ++i) args->default_assignment[i] = static_cast<int>(i);
    return absl::OkStatus();
  });
}

// The host's memory is the devices': there is nothing to map.
Error* Client_DmaMap(Client_DmaMap_Args*) { return nullptr; }
Error* Client_DmaUnmap(Client_DmaUnmap_Args*) { return nullptr; }

}  // namespace xc::pjrt
