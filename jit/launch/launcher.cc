#include "jit/launch/launcher.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {

Launcher::Launcher(std::shared_ptr<const Graph> graph, Services services)
    : graph_(std::move(graph)),
      services_(std::move(services)),
      counters_(*services_.counters),
      buckets_(*graph_, services_.compiler, services_.now),
      general_(*graph_, services_.compiler, services_.now, services_.thread_now) {
  for (int id : graph_->Args()) is_variable_.push_back(graph_->node(id).output_types[0] == DT_RESOURCE);
}

std::shared_ptr<Launcher::Entry> Launcher::Find(absl::Span<const ArgView> args) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  Signature signature;
  if (!MakeSignature(args, constant_args_, &signature)) return nullptr;
  auto it = entries_.find(absl::MakeConstSpan(signature));
  return it == entries_.end() ? nullptr : it->second;
}

absl::StatusOr<std::vector<ClusterArg>> Launcher::MakeArgs(absl::Span<const ArgView> views) const {
  std::vector<ClusterArg> args;
  for (size_t i = 0; i < views.size(); ++i) {
    ClusterArg arg;
    arg.type = views[i].type;
    arg.dims.assign(views[i].dims.begin(), views[i].dims.end());
    arg.is_variable = is_variable_[i];
    args.push_back(std::move(arg));
  }
  for (int i : constant_args_) {
    XC_ASSIGN_OR_RETURN(Tensor value, Tensor::Uninitialized(args[i].type, args[i].dims));
    if (views[i].bytes > 0) std::memcpy(value.raw(), views[i].data, views[i].bytes);
    args[i].constant = std::make_shared<const HostConstant>(std::move(value));
  }
  return args;
}

std::shared_ptr<Launcher::Entry> Launcher::FindOrMake(const Call& call, absl::Status* why) {
  int limit = 0;
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    Signature signature;
    if (!MakeSignature(call.args, constant_args_, &signature)) {
      *why = absl::UnimplementedError("an argument that must be constant is too large");
    } else if (auto it = entries_.find(absl::MakeConstSpan(signature)); it != entries_.end()) {
      return it->second;
    } else if (auto args = MakeArgs(call.args); !args.ok()) {
      *why = args.status();
      return nullptr;
    } else {
      if (call.required && required_ >= kMaxRequired) {
        absl::erase_if(entries_, [](const auto& row) { return row.second->required.load(); });
        required_ = 0;
      }
      if (entries_.size() >= kMaxEntries) ForgetOldest();
      entry = std::make_shared<Entry>();
      entry->args = *std::move(args);
      entry->required = call.required;
      required_ += call.required ? 1 : 0;
      if (Begin(*entry, call)) limit = exact_;
      entries_.emplace(std::vector<int64_t>(signature.begin(), signature.end()), entry);
    }
  }
  if (services_.events != nullptr) {
    if (entry == nullptr) services_.events->FallsBack("", std::string(why->message()));
    if (limit > 0) services_.events->TooManySignatures(limit);
  }
  return entry;
}

bool Launcher::Begin(Entry& entry, const Call& call) {
  if (call.policy.general_shapes) entry.general = general_.Find(entry.args);
  // Code for all sizes counts once, whatever it serves.
  if (WantsGeneral(entry)) {
    shapes_vary_ = true;
    return false;
  }
  if (call.policy.batch_buckets) entry.family = buckets_.FindFamily(entry.args);
  entry.gate.SetFamily(entry.family.times);
  if (!entry.family.alone()) {
    if (auto code = buckets_.ReadyCode(entry.args, entry.family); code != nullptr) {
      entry.code.Set(std::move(code));
      entry.state = kReady;
    }
    return false;
  }
  if (!call.required && OverLimit(call.policy)) {
    FallBackOverLimit(entry);
    return true;
  }
  ++exact_;
  ++entry.exact;
  return false;
}

void Launcher::ForgetOldest() {
  std::vector<int64_t> used;
  used.reserve(entries_.size());
  for (const auto& row : entries_) used.push_back(row.second->used);
  const size_t forgotten = used.size() - std::min(used.size(), kKeptEntries);
  if (forgotten == 0) return;
  std::nth_element(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(forgotten), used.end());
  absl::erase_if(entries_, [&, limit = used[forgotten]](const auto& row) {
    const Entry& entry = *row.second;
    if (entry.used >= limit || entry.state == kQueued || entry.exact_under_way) return false;
    exact_ -= entry.exact;
    required_ -= entry.required ? 1 : 0;
    return true;
  });
}

bool Launcher::Serves(const Entry& entry, const Call& call) {
  return entry.state == kReady || (call.required && entry.code.Get() != nullptr);
}

std::shared_ptr<Launcher::Entry> Launcher::Prepare(const Call& call, absl::Status* why) {
  const LaunchPolicy& policy = call.policy;
  CompileWhen when = call.required ? CompileWhen::kNow : policy.when;
  if (when == CompileWhen::kBackground && services_.background == nullptr) when = CompileWhen::kNow;
  for (;;) {
    std::shared_ptr<Entry> entry = FindOrMake(call, why);
    if (entry == nullptr || Serves(*entry, call)) return entry;
    if (entry->state == kFallsBack) {
      if (!call.required || !entry->unprofitable) return entry;
      entry->required = true;  // whatever it costs
      entry->unprofitable = false;
      entry->state = kNew;
    }
    if (when == CompileWhen::kLazy && entry->put_off.fetch_add(1) < policy.lazy_runs) return entry;
    if (when == CompileWhen::kBackground) {
      if (ServeInCall(*entry)) return entry;
      AskForCode(entry, policy);
      if (policy.wait_ms > 0 && entry->state == kQueued) {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        compiled_.wait_for(lock, std::chrono::milliseconds(policy.wait_ms), [&] { return entry->state != kQueued; });
      }
      return entry;
    }
    if (!Compile(entry, policy, 0)) counters_.hits.fetch_add(1, std::memory_order_relaxed);
    if (!entry->outdated || entry->state == kReady) return entry;
  }
}

absl::StatusOr<Launcher::Result> Launcher::Run(const Call& call) {
  const int64_t start = services_.now();
  Result result;
  if (call.args.size() != is_variable_.size()) {
    return absl::InternalError(
        absl::StrCat("cluster '", graph_->name, "' takes ", is_variable_.size(), " arguments, got ", call.args.size()));
  }
  std::shared_ptr<Entry> entry = Find(call.args);
  if (entry != nullptr && (Serves(*entry, call) || (entry->state == kFallsBack && !call.required))) {
    counters_.hits.fetch_add(1, std::memory_order_relaxed);
  } else {
    entry = Prepare(call, &result.why);
  }
  if (entry != nullptr) entry->used = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto falls_back = [&](Outcome outcome) {
    counters_.fallbacks.fetch_add(1, std::memory_order_relaxed);
    result.outcome = outcome;
    return std::move(result);
  };
  if (entry == nullptr || !Serves(*entry, call)) {
    const bool not_yet = entry != nullptr && entry->state != kFallsBack;
    const bool unprofitable = entry != nullptr ? entry->unprofitable.load() : absl::IsUnavailable(result.why);
    if (not_yet) counters_.deferred.fetch_add(1, std::memory_order_relaxed);
    if (!not_yet && unprofitable) counters_.unprofitable.fetch_add(1, std::memory_order_relaxed);
    result.entry = std::move(entry);
    return falls_back(not_yet ? Outcome::kNotYet : Outcome::kFallsBack);
  }
  ServedCode::Choice& choice = *entry->code.Get();
  if (!call.required && entry->gate.WantsHostTiming(choice, call.policy)) {
    result.entry = std::move(entry);
    return falls_back(Outcome::kTimesHost);
  }
  int64_t compiled_ns = 0;
  const int64_t prepared = services_.now();
  XC_ASSIGN_OR_RETURN(const CodeOutcome outcome, RunCode(*choice.code, call.args, call.results, call.options,
                                                         services_.now, &compiled_ns, &result.why));
  if (outcome == CodeOutcome::kCheckFailed) return falls_back(Outcome::kCheckFailed);
  if (outcome == CodeOutcome::kFailed) return falls_back(Outcome::kFailed);
  const int64_t end = services_.now(), total = end - start;
  worth_.Served();
  counters_.launches.fetch_add(1, std::memory_order_relaxed);
  counters_.arguments.fetch_add(static_cast<int64_t>(call.args.size()), std::memory_order_relaxed);
  counters_.launch_ns.fetch_add(total, std::memory_order_relaxed);
  counters_.compiled_ns.fetch_add(compiled_ns, std::memory_order_relaxed);
  if (choice.code->padded_batch > 0) counters_.shared_launches.fetch_add(1, std::memory_order_relaxed);
  if (choice.code->general) {
    counters_.general_launches.fetch_add(1, std::memory_order_relaxed);
    entry->general->times.Ran(Varying(*entry), end - prepared);
  }
  AfterRun(entry, choice, end - prepared, call.policy);
  return result;
}

void Launcher::AfterRun(const std::shared_ptr<Entry>& entry, ServedCode::Choice& choice, int64_t ns,
                        const LaunchPolicy& policy) {
  if (entry->code.Ran(choice, ns)) AskForExactCode(entry, policy);
  if (entry->code.Get() != &choice) return;  // other code has taken its place
  const CostGate::Verdict verdict = entry->gate.Judge(choice, policy);
  if (verdict == CostGate::Verdict::kGoesOn || entry->state != kReady) return;
  if (verdict == CostGate::Verdict::kTryExact &&
      (entry->exact_under_way || (entry->code.AskForExact() && AskForExactCode(entry, policy)))) {
    return;
  }
  counters_.slower_signatures.fetch_add(1);
  entry->unprofitable = true;
  FallBack(*entry,
           absl::UnavailableError(absl::StrCat("slower than the host's kernels: ", choice.best_ns / 1000,
                                               " us against ", entry->gate.host_best_ns() / 1000)),
           "");
}

void Launcher::HostRan(Entry& entry, int64_t ns, const LaunchPolicy& policy) {
  counters_.host_runs.fetch_add(1, std::memory_order_relaxed);
  if (entry.general != nullptr) entry.general->host_ns.fetch_add(ns, std::memory_order_relaxed);
  if (WantsGeneral(entry)) entry.general->times.HostRan(Varying(entry), ns);
  entry.gate.HostRan(ns, entry.state == kReady ? entry.code.Get() : nullptr, policy);
}

Launcher::Reason Launcher::WhyFallsBack(const Entry& entry) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return {entry.why, entry.failed_node};
}

std::string Launcher::LimitReached() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return limit_reached_ > 0 ? absl::StrCat("compiled for ", limit_reached_, " signatures already") : "";
}

std::vector<std::string> Launcher::GeneralReport() const { return general_.Report(); }

std::vector<SignatureReport> Launcher::Report() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<SignatureReport> out;
  for (const auto& row : entries_) {
    const Entry& e = *row.second;
    const int state = e.state;
    SignatureReport r;
    r.arguments = ArgsText(e.args);
    r.compiled = state == kReady;
    if (state == kReady) r.note = absl::StrCat(e.code.Note(), e.note);
    if (state == kNew || state == kQueued) r.problem = "not compiled yet";
    if (state == kFallsBack) {
      r.problem = absl::IsUnavailable(e.why) ? std::string(e.why.message()) : e.why.ToString();
      if (!e.failed_node.empty()) absl::StrAppend(&r.problem, "; the others form clusters without it");
    }
    if (const ServedCode::Choice* choice = e.code.Get(); choice != nullptr) {
      const CompiledCluster& code = *choice->code;
      r.compile_seconds = code.seconds;
      r.temp_bytes = code.executable != nullptr ? code.executable->temp_bytes() : 0;
      r.code_bytes = code.executable != nullptr ? code.executable->size_bytes() : 0;
      r.best_ns = choice->runs > 0 ? choice->best_ns.load() : 0;
      if (state == kReady && code.executable != nullptr) {
        for (const EvaluatedPart& part : code.executable->evaluated()) {
          absl::StrAppend(&r.note, "; evaluated, without code: ", part.what, ": ", part.reason);
        }
      }
    }
    r.runs = e.code.runs();
    r.host_runs = e.gate.host_runs();
    r.host_best_ns = r.host_runs > 0 ? e.gate.host_best_ns() : 0;
    out.push_back(std::move(r));
  }
  std::sort(out.begin(), out.end(),
            [](const SignatureReport& a, const SignatureReport& b) { return a.arguments < b.arguments; });
  return out;
}

}  // namespace xc
