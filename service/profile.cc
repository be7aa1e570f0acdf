// Sums, trace and table of a profile.
#include "service/profile.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hlo/base/format.h"
#include "hlo/base/json.h"
#include "hlo/base/status.h"
#include "service/files.h"

namespace xc {
namespace {

constexpr int kCompileProcess = 1, kRunProcess = 2;

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// What is known of a site, as an event's arguments.
void AddFacts(const ProfileSite& site, JsonObject* args) {
  args->Add("hlo_op", site.name).Add("kind", site.kind).Add("detail", site.detail).Add("shape", site.shape);
  if (!site.source.empty()) args->Add("source", site.source);
  if (!site.op_name.empty()) args->Add("op_name", site.op_name);
}

void AddRates(double flops, double bytes, double ns, const Ceilings& ceilings, JsonObject* args) {
  if (ns <= 0) return;
  if (flops > 0) {
    args->Add("flops", flops).Add("gflops", flops / ns);
    args->Add("percent_of_peak_gflops", Percent(flops / ns, ceilings.gflops));
  }
  if (bytes > 0) {
    args->Add("bytes", bytes).Add("gbps", bytes / ns);
    args->Add("percent_of_peak_gbps", Percent(bytes / ns, ceilings.gbps));
  }
}

// One line of the trace: a complete event.
std::string Event(absl::string_view name, absl::string_view category, int process, int track, int64_t start_ns,
                  int64_t end_ns, int64_t zero_ns, const JsonObject& args) {
  JsonObject event;
  event.Add("name", name).Add("cat", category).Add("ph", "X").Add("pid", int64_t{process});
  event.Add("tid", int64_t{track});
  event.AddJson("ts", Format("%.3f", static_cast<double>(start_ns - zero_ns) / 1e3));
  event.AddJson("dur", Format("%.3f", static_cast<double>(end_ns - start_ns) / 1e3));
  return event.AddJson("args", args.ToString()).ToString();
}

std::string Naming(absl::string_view what, int process, int track, absl::string_view name) {
  JsonObject event;
  event.Add("name", what).Add("ph", "M").Add("pid", int64_t{process}).Add("tid", int64_t{track});
  return event.AddJson("args", JsonObject().Add("name", name).ToString()).ToString();
}

absl::StatusOr<std::string> Compressed(const std::string& text) {
  z_stream stream{};
  // 16: with gzip's header.
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("there is no memory to compress the trace");
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(&out[0]);
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) return absl::InternalError("compressing the trace failed");
  return out;
}

}  // namespace

Profile::Profile(std::string module, const std::vector<ProfileSite>& sites, const RunProfile& run,
                 std::vector<Timeline::Span> compiled, const Ceilings& ceilings)
    : module_(std::move(module)),
      sites_(sites),
      events_(run.events()),
      compiled_(std::move(compiled)),
      ceilings_(ceilings),
      runs_(run.runs()),
      dropped_(run.dropped()),
      main_track_(run.track()),
      run_ms_(run.runs() == 0 ? 0 : static_cast<double>(run.run_ns()) / 1e6 / static_cast<double>(run.runs())) {
  for (size_t i = 0; i < sites.size(); ++i) {
    const RunProfile::Sum& sum = run.sums()[i];
    if (sum.count == 0) continue;
    Row row;
    row.site = sites[i];
    row.count = sum.count;
    row.iterations = sum.iterations;
    row.total_ms = static_cast<double>(sum.ns) / 1e6;
    row.self_ms = static_cast<double>(sum.self_ns) / 1e6;
    const auto times = static_cast<double>(row.site.kind == "loop" ? sum.iterations : sum.count);
    row.flops = times * static_cast<double>(row.site.flops);
    row.bytes = times * static_cast<double>(row.site.bytes);
    row.gflops = sum.ns > 0 ? row.flops / static_cast<double>(sum.ns) : 0;
    row.gbps = sum.ns > 0 ? row.bytes / static_cast<double>(sum.ns) : 0;
    rows_.push_back(std::move(row));
  }
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.self_ms > b.self_ms; });
}

std::string Profile::Trace() const {
  int64_t zero = std::numeric_limits<int64_t>::max();
  std::map<std::pair<int, int>, bool> tracks;  // process and track
  for (const RunProfile::Event& event : events_) {
    zero = std::min(zero, event.start_ns);
    tracks[{kRunProcess, event.track}] = event.track == main_track_;
  }
  for (const Timeline::Span& span : compiled_) {
    zero = std::min(zero, span.start_ns);
    tracks[{kCompileProcess, span.track}] = span.track == main_track_;
  }
  std::string out = "{\"displayTimeUnit\": \"ns\",\n\"otherData\": ";
  JsonObject other;
  other.Add("module", module_).Add("runs", runs_).Add("run_ms", run_ms_).Add("events_left_out", dropped_);
  other.Add("peak_gflops", ceilings_.gflops).Add("peak_gbps", ceilings_.gbps);
  absl::StrAppend(&out, other.ToString(), ",\n\"traceEvents\": [\n");
  absl::StrAppend(&out, Naming("process_name", kCompileProcess, 0, absl::StrCat("compile ", module_)), ",\n",
                  Naming("process_name", kRunProcess, 0, absl::StrCat("run ", module_)));
  for (const auto& [track, is_main] : tracks) {
    const std::string name = is_main ? "main thread" : absl::StrCat("thread ", track.second);
    absl::StrAppend(&out, ",\n", Naming("thread_name", track.first, track.second, name));
  }
  for (const Timeline::Span& span : compiled_) {
    absl::StrAppend(
        &out, ",\n",
        Event(span.name, span.category, kCompileProcess, span.track, span.start_ns, span.end_ns, zero, JsonObject()));
  }
  for (const RunProfile::Event& event : events_) {
    JsonObject args;
    std::string name = "run", category = "run";
    if (event.site >= 0) {
      const ProfileSite& site = sites_[event.site];
      name = site.name;
      category = site.kind;
      AddFacts(site, &args);
      // A helper does a part of the work, and a loop as many iterations as it does: the table has their sums.
      if (event.track == main_track_ && site.kind != "loop") {
        AddRates(static_cast<double>(site.flops), static_cast<double>(site.bytes),
                 static_cast<double>(event.end_ns - event.start_ns), ceilings_, &args);
      } else if (event.track == main_track_) {
        for (const Row& row : rows_) {
          if (row.site.name == site.name) AddRates(row.flops, row.bytes, row.total_ms * 1e6, ceilings_, &args);
        }
      }
    }
    absl::StrAppend(&out, ",\n",
                    Event(name, category, kRunProcess, event.track, event.start_ns, event.end_ns, zero, args));
  }
  return out + "\n]}\n";
}

std::string Profile::RunTime() const {
  return run_ms_ >= 0.1 ? Format("%.3f ms", run_ms_) : Format("%.2f µs", run_ms_ * 1e3);
}

std::string Profile::Table() const {
  std::string out = Format("%s: %s a run (%d runs); this machine reaches %.0f GFLOP/s and %.1f GB/s\n", module_,
                           RunTime(), runs_, ceilings_.gflops, ceilings_.gbps);
  const double runs = static_cast<double>(std::max<int64_t>(runs_, 1));
  absl::StrAppend(&out, "   self ms  of run  times   total ms   GFLOP/s (peak)      GB/s (peak)  what\n");
  double told = 0;
  const auto rate = [](double value, double peak) {
    return value > 0 ? Format("%9.1f (%3.0f %%)", value, Percent(value, peak)) : std::string("        -        ");
  };
  for (const Row& row : rows_) {
    told += row.self_ms;
    const double times = static_cast<double>(row.count) / runs;
    AppendFormat(&out, "%10.4f  %4.1f %% %6.4g %10.4f %s %s  %s %s (%s, %s)", row.self_ms / runs,
                 Percent(row.self_ms / runs, run_ms_), times, row.total_ms / runs, rate(row.gflops, ceilings_.gflops),
                 rate(row.gbps, ceilings_.gbps), row.site.kind, row.site.name, row.site.detail, row.site.shape);
    if (row.iterations > 0)
      absl::StrAppend(&out, ", ", row.iterations / std::max<int64_t>(row.count, 1), " iterations");
    if (!row.site.source.empty()) absl::StrAppend(&out, "  ", row.site.source);
    out += '\n';
  }
  const double rest = std::max(0.0, run_ms_ - told / runs);
  AppendFormat(&out, "%10.4f  %4.1f %%  everything else: small steps, and what lies between\n", rest,
               Percent(rest, run_ms_));
  if (dropped_ > 0) absl::StrAppend(&out, "The trace leaves out ", dropped_, " events; the table counts them.\n");
  return out;
}

std::string Profile::TableJson() const {
  JsonList list;
  for (const Row& row : rows_) {
    JsonObject object;
    object.Add("name", row.site.name);
    AddFacts(row.site, &object);
    object.Add("count", row.count).Add("self_ms", row.self_ms).Add("total_ms", row.total_ms);
    if (row.iterations > 0) object.Add("iterations", row.iterations);
    AddRates(row.flops, row.bytes, row.total_ms * 1e6, ceilings_, &object);
    list.Add(object.ToString());
  }
  JsonObject all;
  all.Add("module", module_).Add("runs", runs_).Add("run_ms", run_ms_);
  all.Add("peak_gflops", ceilings_.gflops).Add("peak_gbps", ceilings_.gbps);
  return all.AddJson("sites", list.ToString()).ToString();
}

absl::Status WriteTrace(const Profile& profile, const std::string& path) {
  const bool log_directory = absl::EndsWith(path, "/") || IsDirectory(path);
  if (!log_directory && !absl::EndsWith(path, ".gz")) return WriteFile(path, profile.Trace());
  XC_ASSIGN_OR_RETURN(const std::string packed, Compressed(profile.Trace()));
  if (!log_directory) return WriteFile(path, packed);
  const std::string time = absl::FormatTime("%Y_%m_%d_%H_%M_%S", absl::Now(), absl::LocalTimeZone());
  const std::string directory = absl::StrCat(path, "/plugins/profile/", time);
  XC_RETURN_IF_ERROR(MakeDirectories(directory));
  return WriteFile(directory + "/xc.trace.json.gz", packed);
}

}  // namespace xc
