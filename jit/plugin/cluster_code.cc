// How a hosted cluster gets its code: compiled for a set of shapes, shared with others, or refused.
#include <set>

#include "absl/strings/str_cat.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/format.h"
#include "hlo/base/status.h"
#include "jit/plugin/background.h"
#include "jit/plugin/hosted_cluster.h"
#include "service/files.h"

namespace xc {
namespace {

constexpr int64_t kMaxConstantElements = 1024;  // of one argument's value in a signature
constexpr int kMaxOwnCodes = 8;                 // compiled for sets of shapes that shared code served

void CountCompilation(const CompiledCluster& code) {
  Counters().compilations.fetch_add(1);
  Counters().compile_ns.fetch_add(static_cast<int64_t>(code.seconds * 1e9));
}

}  // namespace

std::string HostedCluster::TooManyShapes(int compiled) const {
  LogOnce(absl::StrCat("cluster '", name_, "' has run with more than ", compiled,
                       " sets of shapes: further ones run on the host (setting max_shapes)"));
  return absl::StrCat("compiled for ", compiled, " shapes already");
}

void HostedCluster::GiveBack(Entry& entry, const std::string& reason) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  entry.reason = reason;
  entry.state = kHost;
}

// Sizes, axes and bounds may be part of a signature; data would make every call another one.
std::string HostedCluster::WhyNotInSignature(const Entry& entry, const std::set<int>& needed) const {
  for (int i : needed) {
    const ClusterArg& arg = entry.args[i];
    int64_t elements = 1;
    for (int64_t d : arg.dims) elements *= d;
    bool integral = arg.type == DT_BOOL || IsInteger(arg.type);
    if (elements > (integral ? kMaxConstantElements : 1)) {
      return absl::StrCat("the value of argument ", i, " (", DataTypeName(arg.type), DimsToString(arg.dims),
                          ") would have to be known while compiling");
    }
  }
  return "";
}

void HostedCluster::Dump(const Entry& entry) const {
  const std::string folder = CurrentPluginSettings().dump_dir;
  if (folder.empty()) return;
  static std::atomic<int> number{0};
  std::set<int> needed;
  auto lowered = LowerCluster(*graph_, entry.args, &needed);
  if (!lowered.ok() || lowered->module == nullptr) return;
  absl::Status status = MakeDirectories(folder);
  if (status.ok()) {
    status = WriteFile(Format("%s/cluster_%03d.hlo", folder, ++number), lowered->module->ToString());
  }
  if (!status.ok()) LogOnce(std::string(status.message()));
}

absl::StatusOr<ClusterCode> HostedCluster::CompileOwn(const Entry& entry, const CompileOptions& options,
                                                      std::set<int>* needed, std::string* failed_node) {
  auto code = CompileCluster(*graph_, entry.args, Client::Default(), "cpu", options, needed, failed_node);
  if (!code.ok()) return code;
  CountCompilation(**code);
  buckets_.Offer(entry.args, entry.siblings, *code);
  return code;
}

absl::StatusOr<ClusterCode> HostedCluster::MakeCode(Entry& entry, const CompileOptions& options, std::set<int>* needed,
                                                    std::string* failed_node) {
  if (entry.siblings.rows.empty()) return CompileOwn(entry, options, needed, failed_node);
  const PluginSettings settings = CurrentPluginSettings();
  RowBuckets::Done done;
  auto shared = buckets_.Fit(entry.args, entry.siblings, settings.max_shapes, options, &done);
  if (shared.ok()) {
    if (done.compiled) CountCompilation(**shared);
    if (done.prepare > 0 && settings.policy == PluginPolicy::kBackground) {
      CompileInBackground(
          nullptr, [self = shared_from_this(), &entry, size = done.prepare] { self->PrepareSiblings(entry, size); });
    }
    return shared;
  }
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (num_compiled_ >= settings.max_shapes) {
      entry.reason = TooManyShapes(num_compiled_);
      entry.state = kHost;
      return ClusterCode();
    }
    ++num_compiled_;
    if (!absl::IsNotFound(shared.status())) {
      entry.reason = absl::StrCat(", not for other numbers of rows: ", shared.status().message());
    }
  }
  return CompileOwn(entry, options, needed, failed_node);
}

void HostedCluster::PrepareSiblings(const Entry& entry, int64_t size) {
  buckets_.Prepare(entry.args, entry.siblings, size);
  std::unique_lock<std::shared_mutex> lock(mutex_);
  ServeWaiting();
}

bool HostedCluster::AskForOwnCode(Entry& entry) {
  const PluginSettings settings = CurrentPluginSettings();
  if (settings.policy != PluginPolicy::kBackground) return false;
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (own_codes_ >= kMaxOwnCodes || num_compiled_ >= settings.max_shapes) return false;
    ++own_codes_;
    ++num_compiled_;
  }
  std::shared_ptr<HostedCluster> self = shared_from_this();
  entry.own_under_way = true;
  const bool taken = CompileInBackground(nullptr, [self, &entry] {
    CompileOptions options;
    options.compile_threads = 1;
    std::set<int> needed;
    std::string failed_node;
    auto code = CatchExceptions([&] { return self->CompileOwn(entry, options, &needed, &failed_node); });
    if (code.ok()) {  // else what serves goes on
      Counters().own_codes.fetch_add(1);
      entry.code.SetOwn(*std::move(code));
    }
    entry.own_under_way = false;
    entry.judged = false;
  });
  if (!taken) entry.own_under_way = false;
  return taken;
}

void HostedCluster::ServeWaiting() {
  for (const std::unique_ptr<Entry>& entry : all_) {
    if (entry->siblings.rows.empty() || (entry->state != kNew && entry->state != kQueued)) continue;
    std::unique_lock<std::mutex> compiling(entry->compiling, std::try_to_lock);
    if (!compiling.owns_lock()) continue;
    ClusterCode code = buckets_.Ready(entry->args, entry->siblings);
    if (code == nullptr) continue;
    entry->code.Set(std::move(code));
    entry->state = kReady;
  }
}

bool HostedCluster::Compile(Entry& entry, int compile_threads) {
  std::lock_guard<std::mutex> compiling(entry.compiling);
  if (entry.state == kReady || entry.state == kHost) return false;
  CompileOptions options;
  options.compile_threads = compile_threads;
  Dump(entry);
  std::set<int> needed;
  std::string failed_node;
  auto code = CatchExceptions([&] { return MakeCode(entry, options, &needed, &failed_node); });
  bool retry = false;
  if (code.ok()) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (*code != nullptr) {
      entry.code.Set(*std::move(code));
      entry.state = kReady;
    }
    if (!entry.siblings.rows.empty()) ServeWaiting();
  } else if (std::string why = WhyNotInSignature(entry, needed); !why.empty()) {
    Counters().failures.fetch_add(1);
    if (graph_->FindNode(failed_node) != nullptr) host_graph_.LeaveOut(failed_node, why);
    LogOnce(absl::StrCat("cluster '", name_, "' runs on the host: ", why));
    GiveBack(entry, why);
  } else if (code.status().code() == absl::StatusCode::kFailedPrecondition && !needed.empty()) {
    // Signatures have another form from now on; who asked looks for the new entry.
    std::unique_lock<std::shared_mutex> lock(mutex_);
    for (int i : constant_args_) needed.erase(i);
    if (!needed.empty()) {
      constant_args_.insert(constant_args_.end(), needed.begin(), needed.end());
      entries_.clear();
      num_compiled_ = 0;
      buckets_.Clear();
    }
    retry = true;
    entry.reason = "made anew with the values of constants";
    entry.state = kHost;
  } else {
    Counters().failures.fetch_add(1);
    std::string reason = code.status().ToString();
    if (code.status().code() == absl::StatusCode::kUnimplemented && graph_->FindNode(failed_node) != nullptr) {
      host_graph_.LeaveOut(failed_node, reason);
      absl::StrAppend(&reason, "; the others form clusters without it");
    }
    LogOnce(absl::StrCat("cluster '", name_, "' runs on the host: ", reason));
    GiveBack(entry, reason);
  }
  compiled_.notify_all();
  return retry;
}

}  // namespace xc
