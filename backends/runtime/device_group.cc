#include "backends/runtime/device_group.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/exceptions.h"

namespace xc {

struct DeviceGroup::Meeting {
  std::vector<int64_t> group;
  std::string what;
  std::vector<bool> there;
  int64_t missing = 0;
  ExchangedArrays arrays;
};

class DeviceGroup::Member : public Communicator {
 public:
  Member(DeviceGroup* group, int64_t device) : group_(group), device_(device) {}
  int64_t device() const override { return device_; }
  int64_t devices() const override { return static_cast<int64_t>(group_->members_.size()); }
  absl::StatusOr<std::shared_ptr<const ExchangedArrays>> Meet(int64_t op, absl::string_view what,
                                                              absl::Span<const int64_t> group,
                                                              std::vector<const void*> arrays) override {
    return group_->Meet(device_, op, what, group, std::move(arrays));
  }

 private:
  DeviceGroup* group_;
  int64_t device_;
};

DeviceGroup::DeviceGroup(int64_t devices, absl::Duration patience) : patience_(patience), devices_(devices) {
  for (int64_t i = 0; i < devices; ++i) members_.push_back(std::make_unique<Member>(this, i));
}
DeviceGroup::~DeviceGroup() = default;

Communicator* DeviceGroup::communicator(int64_t device) { return members_[device].get(); }

void DeviceGroup::Fail(absl::Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  changed_.notify_all();
}

std::string DeviceGroup::Missing(const Meeting& meeting) const {
  std::vector<std::string> there, missing;
  for (size_t i = 0; i < meeting.group.size(); ++i) {
    const int64_t number = meeting.group[i];
    if (meeting.there[i]) {
      there.push_back(absl::StrCat(number));
      continue;
    }
    const Device& device = devices_[number];
    missing.push_back(absl::StrCat("device ", number,
                                   device.ended              ? " has ended"
                                   : device.waits != nullptr ? absl::StrCat(" waits at ", device.waits->what)
                                                             : std::string(" is still running")));
  }
  return absl::StrCat(meeting.what, ": ", absl::StrJoin(missing, ", "),
                      "; waiting there: ", absl::StrJoin(there, ", "));
}

void DeviceGroup::FailIfStuck() {
  if (!failure_.ok() || meetings_.empty()) return;
  for (const Device& device : devices_) {
    if (!device.ended && device.waits == nullptr) return;
  }
  // Nobody is left who could come.
  std::vector<std::string> all;
  for (const auto& [key, meeting] : meetings_) all.push_back(Missing(*meeting));
  Fail(absl::FailedPreconditionError(absl::StrCat("devices wait for each other at ", absl::StrJoin(all, "; and at "))));
}

void DeviceGroup::End(int64_t device, const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mu_);
  devices_[device].ended = true;
  if (!status.ok()) Fail(absl::Status(status.code(), absl::StrCat("device ", device, " failed: ", status.message())));
  FailIfStuck();
}

absl::StatusOr<std::shared_ptr<const ExchangedArrays>> DeviceGroup::Meet(int64_t device, int64_t op,
                                                                         absl::string_view what,
                                                                         absl::Span<const int64_t> group,
                                                                         std::vector<const void*> arrays) {
  std::vector<int64_t> members(group.begin(), group.end());
  const auto rank = std::find(members.begin(), members.end(), device) - members.begin();
  if (rank == static_cast<std::ptrdiff_t>(members.size())) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": device ", device, " is not of the group"));
  }
  for (int64_t member : members) {
    if (member < 0 || member >= static_cast<int64_t>(devices_.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": there is no device ", member, " among ", devices_.size(), " devices"));
    }
  }
  std::unique_lock<std::mutex> lock(mu_);
  if (!failure_.ok()) return failure_;
  const Key key(op, members);
  std::shared_ptr<Meeting>& place = meetings_[key];
  if (place == nullptr) {
    place = std::make_shared<Meeting>();
    place->what = std::string(what);
    place->there.resize(members.size());
    place->missing = static_cast<int64_t>(members.size());
    place->arrays.resize(members.size());
    place->group = std::move(members);
  }
  const std::shared_ptr<Meeting> meeting = place;
  if (meeting->what != what || meeting->there[rank]) {
    Fail(absl::FailedPreconditionError(absl::StrCat("devices of one program are at different ops: device ", device,
                                                    " at ", what, ", others at ", meeting->what)));
    return failure_;
  }
  meeting->there[rank] = true;
  meeting->arrays[rank] = std::move(arrays);
  if (--meeting->missing == 0) {
    for (int64_t member : meeting->group) devices_[member].waits = nullptr;
    meetings_.erase(key);
    changed_.notify_all();
    return std::shared_ptr<const ExchangedArrays>(meeting, &meeting->arrays);
  }
  devices_[device].waits = meeting.get();
  FailIfStuck();
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(patience_);
  const bool done = changed_.wait_until(lock, deadline, [&] { return meeting->missing == 0 || !failure_.ok(); });
  if (meeting->missing == 0) return std::shared_ptr<const ExchangedArrays>(meeting, &meeting->arrays);
  if (!done) {
    Fail(absl::DeadlineExceededError(
        absl::StrCat("waited ", absl::FormatDuration(patience_), " at ", Missing(*meeting))));
  }
  return failure_;
}

absl::Status RunDevices(int64_t devices, absl::Duration patience,
                        absl::FunctionRef<absl::Status(int64_t, Communicator*)> run) {
  DeviceGroup group(devices, patience);
  std::mutex mu;
  absl::Status first;
  const auto end = [&](int64_t device, const absl::Status& status) {
    {
      std::lock_guard<std::mutex> lock(mu);
      if (first.ok()) first = status;
    }
    group.End(device, status);
  };
  const auto run_one = [&](int64_t device) {
    end(device, CatchExceptions([&] { return run(device, group.communicator(device)); }));
  };
  std::vector<std::thread> threads;
  for (int64_t device = 1; device < devices; ++device) {
    const absl::Status started = CatchExceptions([&] {
      threads.emplace_back([&run_one, device] { run_one(device); });
      return absl::OkStatus();
    });
    if (!started.ok()) end(device, absl::ResourceExhaustedError("there is no thread for it"));
  }
  run_one(0);
  for (std::thread& thread : threads) thread.join();
  return first;
}

}  // namespace xc
