// How a signature of a cluster gets its code: compiled for it, shared with others of its family, or refused.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/cancel.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/status.h"
#include "jit/launch/launcher.h"

namespace xc {
namespace {

// What code for all sizes takes, as long as none is made.
constexpr int64_t kGeneralNs = 150'000'000;
// How much more time than that the host's kernels must have taken where hardly a signature comes back, and each call
// that the code serves is prepared for; it comes back where a fifth of the calls are of signatures that were there.
constexpr int64_t kSeldom = 4, kOften = 5;
constexpr int64_t kMaxConstantElements = 1024;  // of one argument's value in a signature

}  // namespace

bool Launcher::WantsGeneral(const Entry& entry) {
  return entry.general != nullptr && entry.general->wanted && !entry.general->refused && !entry.general_failed;
}

int64_t Launcher::Varying(const Entry& entry) {
  int64_t elements = entry.varying.load(std::memory_order_relaxed);
  if (elements < 0) {
    elements = GeneralShapes::VaryingElements(*entry.general, entry.args);
    entry.varying.store(elements, std::memory_order_relaxed);
  }
  return elements;
}

void Launcher::AskForCode(const std::shared_ptr<Entry>& entry, const LaunchPolicy& policy) {
  entry->family.demand->fetch_add(1);
  if (entry->general != nullptr) entry->general->demand->fetch_add(1);
  int expected = kNew, queued = kQueued;
  if (!WorthCode(*entry, policy) || !entry->state.compare_exchange_strong(expected, kQueued)) return;
  auto compile = [this, entry, policy] {
    int waiting = kQueued;
    if (entry->outdated) return;
    if (!WorthCode(*entry, policy) && entry->state.compare_exchange_strong(waiting, kNew)) return;
    if (WantsGeneral(*entry) && entry->general->ready) {
      Compile(entry, policy, 1);  // without a compilation, as a rule
      return;
    }
    worth_.Begun();
    const int64_t before = services_.thread_now();
    Compile(entry, policy, 1);
    worth_.Made(services_.thread_now() - before);
  };
  // Where the queue is full, the next call asks again.
  if (!services_.background(entry->family.demand, compile)) entry->state.compare_exchange_strong(queued, kNew);
}

bool Launcher::WorthCode(const Entry& entry, const LaunchPolicy& policy) const {
  const bool general = WantsGeneral(entry);
  // Where there is code for all sizes, another shape costs little.
  if (general && entry.general->ready) return entry.general->times.Pays(Varying(entry), *entry.family.demand);
  // Of an entry that the host has not run yet nothing is known, though others that the code would serve have waited.
  const int64_t host_ns = entry.gate.host_runs() > 0 ? entry.gate.host_best_ns() : 0;
  if (shapes_vary_) {
    // Most of what comes now comes once: beyond the first codes only what has cost the host as much as making code
    // does.
    if (general) {
      const int64_t calls = *entry.general->demand, again = calls - entry.general->seen;
      const int64_t each = std::max(worth_.each_ns(), kGeneralNs);
      return entry.general->host_ns >= each * (again * kOften >= calls ? 1 : kSeldom);
    }
    return worth_.PaysBack(*entry.family.demand - 1, host_ns);
  }
  const int64_t calls = general ? *entry.general->demand : *entry.family.demand;
  return worth_.Pays(policy.first_codes, calls - 1, host_ns);
}

bool Launcher::OverLimit(const LaunchPolicy& policy) const {
  if (exact_ < policy.max_signatures) return false;
  return policy.runs_for_more == 0 || worth_.served() < int64_t{policy.runs_for_more} * exact_;
}

void Launcher::FallBackOverLimit(Entry& entry) {
  limit_reached_ = exact_;
  entry.why = absl::UnavailableError(absl::StrCat("compiled for ", exact_, " signatures already"));
  entry.unprofitable = true;
  entry.state = kFallsBack;
}

void Launcher::FallBack(Entry& entry, absl::Status why, const std::string& failed_node) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  entry.why = std::move(why);
  entry.failed_node = failed_node;
  entry.state = kFallsBack;
}

// Sizes, axes and bounds may be part of a signature; data would make every call another one, and so would the value of
// a variable in training.
std::string Launcher::WhyNotInSignature(const Entry& entry, const std::set<int>& needed) const {
  for (int i : needed) {
    const ClusterArg& arg = entry.args[i];
    int64_t elements = 1;
    for (int64_t d : arg.dims) elements *= d;
    const bool integral = arg.type == DT_BOOL || IsInteger(arg.type);
    if (arg.is_variable || (!entry.required && elements > (integral ? kMaxConstantElements : 1))) {
      return absl::StrCat("the value of argument ", i, " (", arg.is_variable ? "a variable, " : "",
                          DataTypeName(arg.type), DimsToString(arg.dims), ") would have to be known while compiling");
    }
  }
  return "";
}

absl::StatusOr<ClusterCode> Launcher::CompileExact(const Entry& entry, const CompileOptions& options,
                                                   std::set<int>* needed, std::string* failed_node) {
  auto code = CompileCluster(*graph_, entry.args, *services_.compiler, options, services_.now, needed, failed_node);
  if (!code.ok()) return code;
  CountCompilation(**code);
  buckets_.AddExact(entry.args, entry.family, *code);
  return code;
}

void Launcher::CountCompilation(const CompiledCluster& code) {
  counters_.compilations.fetch_add(1);
  counters_.compile_ns.fetch_add(static_cast<int64_t>(code.seconds * 1e9));
  if (code.executable != nullptr) {
    counters_.evaluated.fetch_add(static_cast<int64_t>(code.executable->evaluated().size()));
  }
}

absl::StatusOr<ClusterCode> Launcher::MakeCode(const std::shared_ptr<Entry>& entry, const LaunchPolicy& policy,
                                               const CompileOptions& options, std::set<int>* needed,
                                               std::string* failed_node) {
  if (WantsGeneral(*entry)) {
    const bool known = entry->general->ready;
    XC_ASSIGN_OR_RETURN(ClusterCode general, MakeGeneral(*entry, options, /*may_compile=*/true));
    if (general != nullptr) return general;
    // What was to cost little needs a compilation after all.
    if (known && policy.when == CompileWhen::kBackground && !entry->required && !WorthCode(*entry, policy)) {
      int queued = kQueued;
      entry->state.compare_exchange_strong(queued, kNew);
      return ClusterCode();
    }
  }
  const auto exact = [&] {
    const auto& general = entry->general;
    const bool may_end = general != nullptr && !general->wanted && policy.when == CompileWhen::kBackground &&
                         services_.background != nullptr && !entry->required;
    const CancelScope scope(may_end ? &general->cancel : CurrentCancel());
    return CompileExact(*entry, options, needed, failed_node);
  };
  if (entry->exact > 0) return exact();
  BatchBuckets::Done done;
  auto shared = entry->family.alone()
                    ? absl::StatusOr<ClusterCode>(absl::NotFoundError("its code is its own"))
                    : buckets_.GetCode(entry->args, entry->family, policy.max_signatures, options, &done);
  if (shared.ok()) {
    if (done.compiled) {
      CountCompilation(**shared);
    }
    if (done.prepare > 0 && policy.when == CompileWhen::kBackground && services_.background != nullptr) {
      services_.background(nullptr, [this, entry, size = done.prepare] { PrepareFamily(*entry, size); });
    }
    return shared;
  }
  if (entry->general != nullptr && !absl::IsNotFound(shared.status())) entry->general->batch_counts = true;
  int limit = 0;
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (!entry->required && OverLimit(policy)) {
      FallBackOverLimit(*entry);
      limit = exact_;
    } else {
      ++exact_;
      ++entry->exact;
      if (!absl::IsNotFound(shared.status())) {
        entry->note = absl::StrCat(", not for other batch sizes: ", shared.status().message());
      }
    }
  }
  if (limit == 0) return exact();
  if (services_.events != nullptr) services_.events->TooManySignatures(limit);
  return ClusterCode();
}

absl::StatusOr<ClusterCode> Launcher::MakeGeneral(Entry& entry, const CompileOptions& options, bool may_compile) {
  bool compiled = false;
  auto code = general_.GetCode(entry.args, entry.general, options, may_compile, &compiled);
  if (compiled) counters_.general_codes.fetch_add(1);
  if (code.ok()) {
    counters_.general_signatures.fetch_add(1);
    if (compiled) CountCompilation(**code);
    return code;
  }
  if (absl::IsUnavailable(code.status())) return ClusterCode();
  if (!absl::IsUnimplemented(code.status())) return code.status();
  entry.general_failed = true;
  counters_.general_refusals.fetch_add(1);
  std::unique_lock<std::shared_mutex> lock(mutex_);
  entry.note = absl::StrCat(", not by code for all sizes: ", code.status().message());
  return ClusterCode();
}

bool Launcher::ServeInCall(Entry& entry) {
  if (!WantsGeneral(entry) || !entry.general->ready) return false;
  if (entry.tried_in_call || !entry.general->times.PaysInCall(Varying(entry))) return false;
  std::unique_lock<std::mutex> compiling(entry.compiling, std::try_to_lock);
  if (!compiling.owns_lock() || entry.state != kNew || entry.tried_in_call.exchange(true)) return false;
  CompileOptions options;
  options.compile_threads = 1;
  auto code = CatchExceptions([&] { return MakeGeneral(entry, options, /*may_compile=*/false); });
  if (!code.ok() || *code == nullptr) return false;  // the background finds out
  entry.code.Set(*std::move(code));
  entry.state = kReady;
  return true;
}

void Launcher::PrepareFamily(const Entry& entry, int64_t size) {
  buckets_.Prepare(entry.args, entry.family, size);
  std::unique_lock<std::shared_mutex> lock(mutex_);
  ServeWaiting();
}

void Launcher::ServeWaiting() {
  for (const auto& row : entries_) {
    Entry& entry = *row.second;
    if (entry.family.alone() || (entry.state != kNew && entry.state != kQueued)) continue;
    std::unique_lock<std::mutex> compiling(entry.compiling, std::try_to_lock);
    if (!compiling.owns_lock()) continue;
    ClusterCode code = buckets_.ReadyCode(entry.args, entry.family);
    if (code == nullptr) continue;
    entry.code.Set(std::move(code));
    entry.state = kReady;
  }
}

bool Launcher::AskForExactCode(const std::shared_ptr<Entry>& entry, const LaunchPolicy& policy) {
  if (policy.when != CompileWhen::kBackground || services_.background == nullptr) return false;
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (exact_later_ >= policy.max_exact_later || exact_ >= policy.max_signatures) return false;
    ++exact_later_;
    ++exact_;
    ++entry->exact;
  }
  entry->exact_under_way = true;
  const bool taken = services_.background(nullptr, [this, entry] {
    CompileOptions options;
    options.compile_threads = 1;
    std::set<int> needed;
    std::string failed_node;
    auto code = CatchExceptions([&] { return CompileExact(*entry, options, &needed, &failed_node); });
    if (code.ok()) {  // else what serves goes on
      counters_.exact_later.fetch_add(1);
      entry->code.SetExact(*std::move(code));
    }
    entry->exact_under_way = false;
    entry->gate.Reopen();
  });
  if (!taken) entry->exact_under_way = false;
  return taken;
}

bool Launcher::AddConstants(Entry& entry, const std::set<int>& needed) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  std::set<int> added = needed;
  for (int i : constant_args_) added.erase(i);
  if (added.empty()) return entry.outdated;
  constant_args_.insert(constant_args_.end(), added.begin(), added.end());
  for (auto& row : entries_) row.second->outdated = true;
  entries_.clear();
  required_ = 0;
  exact_ = 0;
  buckets_.Clear();
  general_.Clear();
  return true;
}

void Launcher::CompileFailed(Entry& entry, const absl::Status& status, const std::set<int>& needed,
                             const std::string& failed_node) {
  absl::Status why = status;
  std::string text = status.ToString();
  if (std::string unfit = WhyNotInSignature(entry, needed); !unfit.empty()) {
    why = absl::UnimplementedError(unfit);
    text = unfit;
  } else if (absl::IsFailedPrecondition(status) && !needed.empty() && AddConstants(entry, needed)) {
    FallBack(entry, absl::FailedPreconditionError("recompiled with the values of constants"), "");
    return;
  }
  counters_.failures.fetch_add(1);
  const bool known = absl::IsUnimplemented(why) && graph_->FindNode(failed_node) != nullptr;
  const std::string node = known ? failed_node : "";
  if (services_.events != nullptr) services_.events->FallsBack(node, text);
  FallBack(entry, std::move(why), node);
}

bool Launcher::Compile(const std::shared_ptr<Entry>& entry, const LaunchPolicy& policy, int compile_threads) {
  std::lock_guard<std::mutex> compiling(entry->compiling);
  if (entry->state == kReady || entry->state == kFallsBack) return false;
  CompileOptions options;
  options.compile_threads = compile_threads;
  if (services_.events != nullptr) services_.events->Compiling(entry->args);
  std::set<int> needed;
  std::string failed_node;
  auto code = CatchExceptions([&] { return MakeCode(entry, policy, options, &needed, &failed_node); });
  if (absl::IsCancelled(code.status()) && WantsGeneral(*entry)) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    exact_ -= entry->exact;
    entry->exact = 0;
    entry->state = kNew;
  } else if (!code.ok()) {
    CompileFailed(*entry, code.status(), needed, failed_node);
  } else {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (*code != nullptr) {
      entry->code.Set(*std::move(code));
      entry->state = kReady;
    }
    if (!entry->family.alone()) ServeWaiting();
  }
  compiled_.notify_all();
  return true;
}

}  // namespace xc
