#include "service/recorder.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/profile.h"
#include "hlo/base/format.h"
#include "hlo/base/json.h"
#include "hlo/base/timeline.h"

namespace xc {
namespace {

// Of one launch.
constexpr size_t kMostEventsOfRun = 4096;

std::vector<Recorder::Fact> Facts(const ProfileSite& site, int64_t ns) {
  std::vector<Recorder::Fact> facts = {
      {"hlo_op", site.name}, {"kind", site.kind}, {"detail", site.detail}, {"shape", site.shape}};
  if (!site.source.empty()) facts.push_back({"source", site.source});
  if (!site.op_name.empty()) facts.push_back({"op_name", site.op_name});
  if (site.kind == "loop" || ns <= 0) return facts;
  const auto add = [&](const char* count_name, const char* rate_name, int64_t count) {
    if (count <= 0) return;
    facts.push_back({count_name, absl::StrCat(count), true});
    facts.push_back({rate_name, absl::StrCat(static_cast<double>(count) / ns), true});
  };
  add("flops", "gflops", site.flops);
  add("bytes", "gbps", site.bytes);
  return facts;
}

std::string ToJson(const std::vector<Recorder::Fact>& facts) {
  JsonObject object;
  for (const Recorder::Fact& fact : facts) {
    object.AddJson(fact.name, fact.is_number ? fact.value : JsonText(fact.value));
  }
  return object.ToString();
}

}  // namespace

Recorder& Recorder::Get() {
  static auto* const recorder = new Recorder;
  return *recorder;
}

void Recorder::Start() {
  std::lock_guard<std::mutex> lock(mu_);
  recording_ = {};
  on_.store(true);
}

absl::Status Recorder::Run(const std::string& name, const Executable& executable, const RunOptions& options,
                           absl::FunctionRef<absl::Status(const RunOptions&)> run) {
  const std::vector<ProfileSite>& sites = executable.profile_sites();
  RunProfile profile(sites.size(), sites.empty() ? 0 : kMostEventsOfRun);
  RunOptions told = options;
  if (!sites.empty()) told.profile = &profile;
  const int64_t start = ProfileClock();
  absl::Status status = run(told);
  const int64_t end = ProfileClock();
  std::vector<Event> events;
  events.push_back({name, "launch", {{"ok", status.ok() ? "true" : "false", true}}, ThreadTrack(), start, end});
  for (const RunProfile::Event& e : profile.events()) {
    if (e.site < 0) continue;  // the launch itself
    const ProfileSite& site = sites[e.site];
    // Only the launching thread's time is that of the whole: helpers do parts of it, whose rates nobody knows.
    const int64_t ns = e.track == profile.track() ? e.end_ns - e.start_ns : 0;
    events.push_back({site.name, site.kind, Facts(site, ns), e.track, e.start_ns, e.end_ns});
  }
  std::lock_guard<std::mutex> lock(mu_);
  std::vector<Event>& all = recording_.events;
  const size_t room = kMostEvents - std::min(kMostEvents, all.size());
  recording_.dropped += profile.dropped() + static_cast<int64_t>(events.size() - std::min(room, events.size()));
  events.resize(std::min(room, events.size()));
  std::move(events.begin(), events.end(), std::back_inserter(all));
  return status;
}

Recorder::Recording Recorder::Take() {
  on_.store(false);
  std::lock_guard<std::mutex> lock(mu_);
  return std::exchange(recording_, {});
}

std::string Recorder::Stop() {
  const Recording recording = Take();
  int64_t zero = std::numeric_limits<int64_t>::max();
  std::set<int> tracks;
  for (const Event& event : recording.events) {
    zero = std::min(zero, event.start_ns);
    tracks.insert(event.track);
  }
  std::string out = absl::StrCat("{\"displayTimeUnit\": \"ns\",\n\"otherData\": ",
                                 JsonObject().Add("events_left_out", recording.dropped).ToString(),
                                 ",\n\"traceEvents\": [\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, "
                                 "\"args\": {\"name\": \"compiled clusters\"}}");
  for (const int track : tracks) {
    absl::StrAppend(&out, ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": ", track,
                    ", \"args\": {\"name\": \"thread ", track, "\"}}");
  }
  for (const Event& event : recording.events) {
    JsonObject object;
    object.Add("name", event.name).Add("cat", event.category).Add("ph", "X").Add("pid", int64_t{1});
    object.Add("tid", int64_t{event.track});
    object.AddJson("ts", Format("%.3f", static_cast<double>(event.start_ns - zero) / 1e3));
    object.AddJson("dur", Format("%.3f", static_cast<double>(event.end_ns - event.start_ns) / 1e3));
    absl::StrAppend(&out, ",\n", object.AddJson("args", ToJson(event.facts)).ToString());
  }
  return out + "\n]}\n";
}

}  // namespace xc
