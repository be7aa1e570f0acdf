// The client, its devices and their memories. All of them live as long as the client does.
#ifndef XC_SERVICE_PJRT_CLIENT_H_
#define XC_SERVICE_PJRT_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "service/client.h"
#include "service/pjrt/api.h"

namespace xc::pjrt {

struct DeviceDescription {
  int id = 0;
  std::string kind, debug_string, to_string;
};

struct Memory {
  int id = 0;
  int kind_id = 0;
  std::string kind, debug_string, to_string;
  Device* device = nullptr;
};

struct Device {
  DeviceDescription description;
  Client* client = nullptr;
  // The first is the default; the other two are the host's, of the same memory here.
  std::vector<std::unique_ptr<Memory>> owned_memories;
  std::vector<Memory*> memories;
  Memory* default_memory() const { return memories[0]; }
};

// The devices, as they can be asked for without the client.
struct TopologyDescription {
  std::string platform_version;
  std::vector<DeviceDescription*> descriptions;
};

struct Client {
  std::string platform_version;
  std::vector<std::unique_ptr<Device>> owned_devices;
  std::vector<Device*> devices;
  std::vector<Memory*> memories;
  TopologyDescription topology;
  // Calls return when their programs have run: JAX's setting jax_cpu_enable_async_dispatch is off.
  bool waits = false;
  // Compiles and keeps programs, together with all other users of the process.
  xc::Client* compiler = nullptr;
};

// The option of Client_Create for the number of devices. Without it, JAX says how many by jax_num_cpu_devices, or the
// environment by XLA_FLAGS with --xla_force_host_platform_device_count=N or by JAX_NUM_CPU_DEVICES; or there is one.
inline constexpr char kDeviceCountOption[] = "cpu_device_count";
inline constexpr int kMostDevices = 4096;

// Gives a string of the API: pointer and size.
inline void Give(const std::string& text, const char** out, size_t* size) {
  *out = text.data();
  *size = text.size();
}

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_CLIENT_H_
