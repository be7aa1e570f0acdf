// Gives profilers of the host (jax.profiler) what programs did while they were on: launches, and the kernels, library
// calls and loops inside of them, on the threads that did them.
#include <chrono>
#include <cstring>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/timeline.h"
#include "proto/xplane.pb.h"
#include "service/pjrt/api_extensions.h"
#include "service/pjrt/events.h"
#include "service/recorder.h"

namespace xc::pjrt {

struct Profiler {
  std::string collected;  // a serialized XSpaceProto, once stopped
};

namespace {

// Viewers show planes of such names, a row for each line.
constexpr char kPlane[] = "/device:CUSTOM:xc";

// Numbers of names, from 1 on.
class Names {
 public:
  int64_t NumberOf(const std::string& name) { return numbers_.emplace(name, numbers_.size() + 1).first->second; }
  template <typename Metadata>
  void Write(google::protobuf::Map<int64_t, Metadata>* out) const {
    for (const auto& [name, number] : numbers_) {
      (*out)[number].set_id(number);
      (*out)[number].set_name(name);
    }
  }

 private:
  std::map<std::string, int64_t> numbers_;
};

std::string ToXSpace(const Recorder::Recording& recording) {
  // ProfileClock counts from some moment, and profilers from 1970.
  const int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const int64_t since_1970 = now - ProfileClock();
  pb::XSpaceProto space;
  pb::XPlaneProto* const plane = space.add_planes();
  plane->set_name(kPlane);
  Names events, stats;
  std::map<int, pb::XLineProto> lines;
  for (const Recorder::Event& event : recording.events) {
    pb::XLineProto& line = lines[event.track];
    const int64_t start = event.start_ns + since_1970;
    // Events come run by run: those of one run may begin before the first that a line got.
    if (line.events().empty()) line.set_timestamp_ns(start);
    pb::XEventProto* const out = line.add_events();
    out->set_metadata_id(events.NumberOf(event.name));
    out->set_offset_ps((start - line.timestamp_ns()) * 1000);
    out->set_duration_ps((event.end_ns - event.start_ns) * 1000);
    for (const Recorder::Fact& fact : event.facts) {
      pb::XStatProto* const stat = out->add_stats();
      stat->set_metadata_id(stats.NumberOf(fact.name));
      double number = 0;
      if (fact.is_number && absl::SimpleAtod(fact.value, &number)) {
        stat->set_double_value(number);
      } else {
        stat->set_str_value(fact.value);
      }
    }
  }
  for (auto& [track, line] : lines) {
    line.set_id(track + 1);
    line.set_name(absl::StrCat("thread ", track));
    int64_t first = 0;
    for (const pb::XEventProto& event : line.events()) first = std::min<int64_t>(first, event.offset_ps());
    const int64_t earlier_ns = first / 1000;
    line.set_timestamp_ns(line.timestamp_ns() + earlier_ns);
    for (pb::XEventProto& event : *line.mutable_events()) event.set_offset_ps(event.offset_ps() - earlier_ns * 1000);
    *plane->add_lines() = std::move(line);
  }
  events.Write(plane->mutable_event_metadata());
  stats.Write(plane->mutable_stat_metadata());
  if (recording.dropped > 0) {
    space.add_warnings(absl::StrCat("xc: ", recording.dropped, " events were left out: there was no room for them"));
  }
  return space.SerializeAsString();
}

void ErrorDestroy(Profiler_Error_Destroy_Args* args) {
  Error_Destroy_Args destroy = {};
  destroy.struct_size = sizeof(destroy);
  destroy.error = args->error;
  Error_Destroy(&destroy);
}

void ErrorMessage(Profiler_Error_Message_Args* args) {
  const absl::string_view message = args->error->status.message();
  args->message = message.data();
  args->message_size = message.size();
}

Error* ErrorGetCode(Profiler_Error_GetCode_Args* args) {
  args->code = static_cast<int>(args->error->status.code());
  return nullptr;
}

Error* Create(Profiler_Create_Args* args) {
  return Answer([&] {
    args->profiler = new Profiler;
    return absl::OkStatus();
  });
}

Error* Destroy(Profiler_Args* args) {
  delete args->profiler;
  return nullptr;
}

Error* Start(Profiler_Args*) {
  return Answer([&] {
    Recorder::Get().Start();
    return absl::OkStatus();
  });
}

Error* Stop(Profiler_Args* args) {
  return Answer([&] {
    args->profiler->collected = ToXSpace(Recorder::Get().Take());
    return absl::OkStatus();
  });
}

Error* CollectData(Profiler_CollectData_Args* args) {
  return Answer([&]() -> absl::Status {
    std::string& collected = args->profiler->collected;
    // The header has callers bring room at a second call; jaxlib reads what the first one gives.
    if (args->buffer == nullptr) {
      args->buffer = reinterpret_cast<uint8_t*>(collected.data());
    } else if (args->buffer != reinterpret_cast<uint8_t*>(collected.data())) {
      if (args->buffer_size_in_bytes < collected.size()) {
        return absl::InvalidArgumentError(absl::StrCat("the trace has ", collected.size(),
                                                       " bytes, but there is room for ", args->buffer_size_in_bytes));
      }
      std::memcpy(args->buffer, collected.data(), collected.size());
    }
    args->buffer_size_in_bytes = collected.size();
    return absl::OkStatus();
  });
}

}  // namespace

ProfilerExtension* GetProfilerExtension() {
  static ProfilerApi api = {
      sizeof(ProfilerApi), nullptr, ErrorDestroy, ErrorMessage, ErrorGetCode, Create, Destroy, Start, Stop,
      CollectData};
  static ProfilerExtension extension = {{sizeof(ProfilerExtension), kProfilerExtension, nullptr}, &api, 0};
  return &extension;
}

}  // namespace xc::pjrt
