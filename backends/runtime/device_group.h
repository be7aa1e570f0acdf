// Devices that are threads of this process and meet in its memory.
#ifndef XC_BACKENDS_RUNTIME_DEVICE_GROUP_H_
#define XC_BACKENDS_RUNTIME_DEVICE_GROUP_H_

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "backends/runtime/communicator.h"

namespace xc {

// The devices of one launch. Thread-safe. Waiting ends early, for all, as soon as it cannot succeed: when every device
// waits or has ended, and when one has failed.
class DeviceGroup {
 public:
  // `patience`: how long a device waits for another one that is still running.
  explicit DeviceGroup(int64_t devices, absl::Duration patience = absl::Minutes(10));
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;

  // That of one device; lives as long as the group.
  Communicator* communicator(int64_t device);
  // To be called when the run of a device has ended, however it did.
  void End(int64_t device, const absl::Status& status);

 private:
  class Member;
  struct Meeting;
  using Key = std::pair<int64_t, std::vector<int64_t>>;  // op, group
  struct Device {
    bool ended = false;
    const Meeting* waits = nullptr;
  };

  absl::StatusOr<std::shared_ptr<const ExchangedArrays>> Meet(int64_t device, int64_t op, absl::string_view what,
                                                              absl::Span<const int64_t> group,
                                                              std::vector<const void*> arrays);
  // With mu_ held.
  void Fail(absl::Status status);
  void FailIfStuck();
  std::string Missing(const Meeting& meeting) const;

  const absl::Duration patience_;
  std::vector<std::unique_ptr<Member>> members_;
  std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_.
  absl::Status failure_;
  std::vector<Device> devices_;
  std::map<Key, std::shared_ptr<Meeting>> meetings_;  // those that wait for somebody
};

// Calls run(device, communicator) for each device, each on a thread of its own; the calling one is device 0's. Returns
// when all have ended: the error of the device that failed first, if one did.
absl::Status RunDevices(int64_t devices, absl::Duration patience,
                        absl::FunctionRef<absl::Status(int64_t device, Communicator* communicator)> run);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_DEVICE_GROUP_H_
