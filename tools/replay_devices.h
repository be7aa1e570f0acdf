// `xla replay` of modules for several devices.
#ifndef XC_TOOLS_REPLAY_DEVICES_H_
#define XC_TOOLS_REPLAY_DEVICES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "backends/backend.h"
#include "hlo/module.h"

namespace xc {

struct DeviceReplay {
  std::string name, platform, against, inputs, output_dir;
  int64_t runs = 1;
  CompileOptions options;
  RunOptions run;
};

// Makes the module one for `devices` devices (0: as many as it says, where it has collectives, else one): where it says
// nothing, replicas, or partitions if its collectives have channels. Whether it is for more than one afterwards.
// InvalidArgument where it is for another number.
absl::StatusOr<bool> SetDevices(HloModule* module, int64_t devices);

// Compiles the module and runs it, a thread for each device. A module of several partitions that has shardings and is
// not scheduled is one of whole arrays, of which devices have parts (service/device_program.h). Inputs of device D come
// from `inputs`/D/I.npy, from `inputs`/I.npy if there is no such folder, or are the deterministic ones, the same for
// all. Outputs go to `output_dir`/D/I.npy. *wrong: whether some output differs from that of the platform `against`.
absl::Status ReplayOnDevices(std::unique_ptr<HloModule> module, const DeviceReplay& replay, bool* wrong);

}  // namespace xc

#endif  // XC_TOOLS_REPLAY_DEVICES_H_
