#include "jit/plugin/hosted_cluster.h"

#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backends/runtime/arena.h"
#include "hlo/base/status.h"
#include "jit/graph/serialize.h"
#include "jit/plugin/background.h"

namespace xc {
namespace {

constexpr size_t kMaxConstantBytes = 1 << 16;  // of one argument's value in a signature
constexpr size_t kMaxEntries = 4096;
// The cost gate: runs that warm compiled code up, runs after which it decides, timings of the host that it needs (the
// first makes the host's session), the shortest run that is worth them, and what counts as slower.
constexpr int64_t kGateWarmRuns = 4;
constexpr int64_t kGateRuns = 16;
constexpr int64_t kGateHostRuns = 6;
constexpr int64_t kGateMinNs = 100'000;
constexpr double kGateRatio = 1.03;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Clusters alive, by their bytes.
struct Registry {
  std::mutex mutex;
  std::multimap<size_t, std::weak_ptr<HostedCluster>> clusters;
};
Registry& TheRegistry() {
  static auto* registry = new Registry;
  return *registry;
}

}  // namespace

PluginCounters& Counters() {
  static auto* counters = new PluginCounters;
  return *counters;
}

void LogOnce(const std::string& line) {
  static auto* mutex = new std::mutex;
  static auto* seen = new std::set<std::string>;
  if (!CurrentPluginSettings().log) return;
  std::lock_guard<std::mutex> lock(*mutex);
  if (seen->size() < 1000 && seen->insert(line).second) std::fprintf(stderr, "xla.tf: %s\n", line.c_str());
}

HostedCluster::HostedCluster(std::string bytes, std::string name, std::unique_ptr<Graph> graph)
    : bytes_(std::move(bytes)),
      name_(std::move(name)),
      graph_(std::move(graph)),
      host_graph_(bytes_),
      buckets_(*graph_, Client::Default(), "cpu") {
  for (int id : graph_->Args()) arg_types_.push_back(graph_->node(id).output_types[0]);
}

absl::StatusOr<std::shared_ptr<HostedCluster>> HostedCluster::FindOrCreate(const std::string& bytes,
                                                                           const std::string& name) {
  Registry& registry = TheRegistry();
  size_t hash = absl::Hash<std::string>()(bytes);
  std::lock_guard<std::mutex> lock(registry.mutex);
  for (auto [it, end] = registry.clusters.equal_range(hash); it != end;) {
    std::shared_ptr<HostedCluster> found = it->second.lock();
    if (found != nullptr && found->bytes_ == bytes) return found;
    it = found == nullptr ? registry.clusters.erase(it) : std::next(it);
  }
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ParseSerializedGraph(bytes));
  graph->name = name;
  auto made = std::shared_ptr<HostedCluster>(new HostedCluster(bytes, name, std::move(graph)));
  registry.clusters.emplace(hash, made);
  Counters().clusters.fetch_add(1);
  return made;
}

std::vector<std::shared_ptr<HostedCluster>> HostedCluster::All() {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<std::shared_ptr<HostedCluster>> out;
  for (auto& row : registry.clusters) {
    if (auto cluster = row.second.lock()) out.push_back(std::move(cluster));
  }
  return out;
}

const std::string& HostedCluster::HostGraph() { return host_graph_.Get(); }

bool HostedCluster::MakeSignature(absl::Span<const xc_tensor> args, Signature* signature) const {
  for (const xc_tensor& arg : args) {
    signature->push_back((static_cast<int64_t>(arg.dtype) << 8) | arg.rank);
    signature->insert(signature->end(), arg.dims, arg.dims + arg.rank);
  }
  for (int i : constant_args_) {
    const xc_tensor& arg = args[i];
    if (arg.bytes > kMaxConstantBytes) return false;
    size_t at = signature->size();
    signature->resize(at + (arg.bytes + 7) / 8, 0);
    if (arg.bytes > 0) std::memcpy(signature->data() + at, arg.data, arg.bytes);
  }
  return true;
}

HostedCluster::Entry* HostedCluster::Find(absl::Span<const xc_tensor> args, const PluginSettings& settings) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  Signature signature;
  if (!MakeSignature(args, &signature)) {
    LogOnce(absl::StrCat("cluster '", name_, "' runs on the host: an argument that must be constant is too large"));
    return nullptr;
  }
  auto it = entries_.find(absl::MakeConstSpan(signature));
  if (it != entries_.end()) return it->second;
  if (entries_.size() >= kMaxEntries) return nullptr;
  auto entry = std::make_unique<Entry>();
  entry->signature.assign(signature.begin(), signature.end());
  for (size_t i = 0; i < args.size(); ++i) {
    ClusterArg arg;
    arg.type = arg_types_[i];
    arg.dims.assign(args[i].dims, args[i].dims + args[i].rank);
    entry->args.push_back(std::move(arg));
  }
  for (int i : constant_args_) {
    auto value = Tensor::Uninitialized(entry->args[i].type, entry->args[i].dims);
    if (!value.ok()) return nullptr;
    if (args[i].bytes > 0) std::memcpy(value->raw(), args[i].data, args[i].bytes);
    entry->args[i].constant = std::make_shared<const HostConstant>(*std::move(value));
  }
  if (settings.buckets) entry->siblings = buckets_.Look(entry->args);
  if (!entry->siblings.rows.empty()) {
    if (auto code = buckets_.Ready(entry->args, entry->siblings); code != nullptr) {
      entry->code.Set(std::move(code));
      entry->state = kReady;
    }
  } else if (num_compiled_ >= settings.max_shapes) {
    entry->state = kHost;
    entry->reason = TooManyShapes(num_compiled_);
  } else {
    ++num_compiled_;
  }
  Entry* raw = entry.get();
  all_.push_back(std::move(entry));
  entries_.emplace(raw->signature, raw);
  return raw;
}

absl::StatusOr<int> HostedCluster::RunCode(const CompiledCluster& code, absl::Span<const xc_tensor> args,
                                           const xc_cluster_results& results, int threads, int64_t* compiled_ns) {
  const LoweredCluster& lowered = code.lowered;
  const size_t n = lowered.results.size();
  bool tentative = lowered.check_output >= 0;
  absl::InlinedVector<void*, 16> buffers(code.result_dims.size(), nullptr);
  absl::InlinedVector<int, 16> first(code.result_dims.size(), -1);  // the result that owns a buffer
  auto failed = [&] { return absl::ResourceExhaustedError("the host gave no memory for a result"); };
  // Results whose length the run tells are made in memory of ours, and cut out of it.
  absl::InlinedVector<Block, 2> rooms;
  absl::InlinedVector<int32_t, 2> sizes(n, 0);
  for (size_t i = 0; i < n; ++i) {
    int k = lowered.results[i].output;
    if (k < 0 || first[k] >= 0) continue;
    const Dims& dims = code.result_dims[k];
    first[k] = static_cast<int>(i);
    size_t bytes = DataTypeSize(code.result_types[k]);
    for (int64_t d : dims) bytes *= d;
    if (int size = lowered.results[i].size_output; size >= 0) {
      XC_ASSIGN_OR_RETURN(Block room, Block::Allocate(bytes));
      buffers[k] = room.data();
      buffers[size] = &sizes[i];
      rooms.push_back(std::move(room));
      continue;
    }
    buffers[k] = results.allocate(results.context, static_cast<int>(i), code.result_types[k], dims.data(),
                                  static_cast<int>(dims.size()), bytes, tentative);
    if (buffers[k] == nullptr && bytes > 0) return failed();
  }
  alignas(64) char check[64] = {};
  if (tentative) buffers[lowered.check_output] = check;
  if (code.executable != nullptr) {
    absl::InlinedVector<const void*, 32> parameters;
    for (int i : lowered.parameter_args) parameters.push_back(args[i].data);
    RunOptions options;
    options.executor = DefaultExecutor();
    int wanted = PluginThreads();
    options.thread_limit = wanted > 0 ? wanted : threads;
    int64_t start = NowNs();
    absl::Status status = code.Run(parameters, absl::MakeSpan(buffers), options);
    *compiled_ns = NowNs() - start;
    if (!status.ok()) {
      // Results may be allocated already: the error is the call's.
      if (!tentative && n > 0) return status;
      return XC_CLUSTER_ON_HOST;
    }
    // An op of the cluster fails on these values: the host's own kernels give its error.
    if (tentative && check[0]) return XC_CLUSTER_ON_HOST;
  }
  for (size_t i = 0; i < n; ++i) {
    const ClusterResult& r = lowered.results[i];
    if (r.size_output >= 0) {
      XC_ASSIGN_OR_RETURN(const CutResult cut, CutResult::Make(code.result_dims[r.output], r.size_axis, sizes[i]));
      const size_t element = DataTypeSize(code.result_types[r.output]);
      size_t bytes = element;
      for (int64_t d : cut.dims()) bytes *= d;
      void* to = results.allocate(results.context, static_cast<int>(i), code.result_types[r.output], cut.dims().data(),
                                  static_cast<int>(cut.dims().size()), bytes, tentative);
      if (to == nullptr && bytes > 0) return failed();
      cut.Copy(buffers[r.output], to, element);
    } else if (r.output >= 0) {
      if (first[r.output] == static_cast<int>(i)) continue;
      if (!results.share(results.context, static_cast<int>(i), first[r.output])) return failed();
    } else if (r.argument >= 0) {
      if (!results.forward(results.context, static_cast<int>(i), r.argument)) return failed();
    } else {
      const Tensor& t = r.constant->tensor;
      void* to = results.allocate(results.context, static_cast<int>(i), t.dtype(), t.dims().data(), t.rank(),
                                  t.byte_size(), tentative);
      if (to == nullptr && t.byte_size() > 0) return failed();
      if (t.byte_size() > 0) std::memcpy(to, t.raw(), t.byte_size());
    }
  }
  if (tentative && !results.commit(results.context)) return failed();
  return XC_CLUSTER_RAN;
}

absl::StatusOr<int> HostedCluster::Run(absl::Span<const xc_tensor> args, const xc_cluster_results& results, int threads,
                                       void** ticket) {
  int64_t start = NowNs();
  *ticket = nullptr;
  if (args.size() != arg_types_.size()) {
    return absl::InternalError(
        absl::StrCat("cluster '", name_, "' takes ", arg_types_.size(), " arguments, got ", args.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) {  // a variable's value may be anything
    if (args[i].dtype != arg_types_[i]) {
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, " of cluster '", name_, "' has type ",
                                                     DataTypeName(static_cast<DataType>(args[i].dtype)), " and not ",
                                                     DataTypeName(arg_types_[i])));
    }
  }
  Entry* entry = nullptr;
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    Signature signature;
    if (MakeSignature(args, &signature)) {
      auto it = entries_.find(absl::MakeConstSpan(signature));
      if (it != entries_.end()) entry = it->second;
    }
  }
  if (entry == nullptr || (entry->state != kReady && entry->state != kHost)) {
    PluginSettings settings = CurrentPluginSettings();
    for (int attempt = 0; attempt < 8; ++attempt) {
      entry = Find(args, settings);
      if (entry == nullptr || entry->state == kReady || entry->state == kHost) break;
      if (settings.policy == PluginPolicy::kBackground) {
        entry->siblings.demand->fetch_add(1);
        int expected = kNew, queued = kQueued;
        if (WorthCode(*entry) && entry->state.compare_exchange_strong(expected, kQueued)) {
          std::shared_ptr<HostedCluster> self = shared_from_this();
          auto compile = [self, entry] {
            int waiting = kQueued;
            if (!self->WorthCode(*entry) && entry->state.compare_exchange_strong(waiting, kNew)) return;
            self->codes_.fetch_add(1);
            self->Compile(*entry, 1);
          };
          // Where the queue is full, the next call asks again.
          if (!CompileInBackground(entry->siblings.demand, compile)) entry->state.compare_exchange_strong(queued, kNew);
        }
        if (settings.wait_ms > 0 && entry->state == kQueued) {
          std::shared_lock<std::shared_mutex> lock(mutex_);
          compiled_.wait_for(lock, std::chrono::milliseconds(settings.wait_ms),
                             [&] { return entry->state != kQueued; });
        }
        break;
      }
      if (settings.policy == PluginPolicy::kLazy && entry->host_runs < settings.lazy_runs) break;
      if (!Compile(*entry, 0)) break;
    }
  }
  if (entry == nullptr || entry->state != kReady || WantsHostTiming(*entry)) {
    *ticket = entry;
    return XC_CLUSTER_ON_HOST;
  }
  int64_t compiled_ns = 0;
  ServedCode::Choice& choice = *entry->code.Get();
  XC_ASSIGN_OR_RETURN(int outcome, RunCode(*choice.code, args, results, threads, &compiled_ns));
  int64_t total = NowNs() - start;
  if (outcome != XC_CLUSTER_RAN) {
    *ticket = nullptr;
    return outcome;
  }
  PluginCounters& counters = Counters();
  served_.fetch_add(1, std::memory_order_relaxed);
  counters.launches.fetch_add(1, std::memory_order_relaxed);
  counters.launch_arguments.fetch_add(static_cast<int64_t>(args.size()), std::memory_order_relaxed);
  counters.launch_ns.fetch_add(total, std::memory_order_relaxed);
  counters.compiled_ns.fetch_add(compiled_ns, std::memory_order_relaxed);
  if (choice.code->rows > 0) counters.shared_launches.fetch_add(1, std::memory_order_relaxed);
  if (entry->code.Ran(choice, total)) AskForOwnCode(*entry);
  if (choice.runs >= kGateRuns && !entry->judged) Judge(*entry, choice);
  return outcome;
}

bool HostedCluster::WorthCode(const Entry& entry) const {
  constexpr int64_t kFirstCodes = 4;  // made for whatever comes
  const int64_t codes = codes_;
  return codes < kFirstCodes || served_ >= codes || *entry.siblings.demand > 1;
}

bool HostedCluster::WantsHostTiming(const Entry& entry) const {
  const ServedCode::Choice& choice = *entry.code.Get();
  int64_t runs = choice.runs.load(std::memory_order_relaxed), host_runs = entry.host_runs;
  bool turn = (runs + host_runs) % 2 == 0;  // between runs of the code, so that both see the same machine
  return !entry.judged && runs >= kGateWarmRuns && turn && choice.best_ns >= kGateMinNs && host_runs < kGateHostRuns &&
         PluginCostGate() && !LikeQuickerSiblings(entry, choice);
}

bool HostedCluster::LikeQuickerSiblings(const Entry& entry, const ServedCode::Choice& choice) {
  const auto& times = entry.siblings.times;
  return times != nullptr && times->Quicker(choice.code->copies);
}

void HostedCluster::Judge(Entry& entry, const ServedCode::Choice& choice) {
  if (entry.code.Get() != &choice) return;  // other code has taken its place
  int64_t best = choice.best_ns, host = entry.host_best_ns;
  const bool timed = entry.host_runs >= kGateHostRuns;
  const bool undecided = best >= kGateMinNs && !timed && !LikeQuickerSiblings(entry, choice);
  if (!PluginCostGate() || undecided || entry.judged.exchange(true) || !timed) return;
  const double limit = kGateRatio * static_cast<double>(host), copies = choice.code->copies;
  if (best < kGateMinNs || static_cast<double>(best) <= limit) return;
  // Without the copies among its rows the code may be quick enough.
  const bool own = copies >= ServedCode::kMinCopies && static_cast<double>(best) * (1 - copies) <= limit;
  if (own && (entry.own_under_way || (entry.code.AskForOwn() && AskForOwnCode(entry)))) return;
  Counters().given_back.fetch_add(1);
  GiveBack(entry, absl::StrCat("slower than the host's kernels: ", best / 1000, " us against ", host / 1000));
}

void HostedCluster::HostRan(void* ticket, int64_t nanoseconds) {
  Counters().host_runs.fetch_add(1, std::memory_order_relaxed);
  if (ticket == nullptr) return;
  Entry& entry = *static_cast<Entry*>(ticket);
  LowerTo(entry.host_best_ns, nanoseconds);
  entry.host_runs.fetch_add(1);
  const auto& times = entry.siblings.times;
  if (times == nullptr || entry.state != kReady) return;
  const ServedCode::Choice& choice = *entry.code.Get();
  if (choice.runs >= kGateWarmRuns) times->Add(nanoseconds, choice.best_ns, choice.code->copies);
}

std::vector<HostedCluster::ShapeReport> HostedCluster::Report() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<ShapeReport> out;
  for (const auto& row : entries_) {
    const Entry& e = *row.second;
    ShapeReport r;
    r.shapes = ArgsText(e.args);
    int state = e.state;
    r.state = state == kReady ? "compiled" : state == kHost ? "on the host: " + e.reason : "not compiled yet";
    const ServedCode::Choice* choice = e.code.Get();
    if (state == kReady) {
      const CompiledCluster& code = *choice->code;
      r.compile_seconds = code.seconds;
      absl::StrAppend(&r.state, e.code.Note(), e.reason);
      r.temp_bytes = code.executable != nullptr ? code.executable->temp_bytes() : 0;
    }
    r.runs = e.code.runs();
    r.best_ns = choice != nullptr && choice->runs > 0 ? choice->best_ns.load() : 0;
    r.host_runs = e.host_runs;
    r.host_best_ns = r.host_runs > 0 ? e.host_best_ns.load() : 0;
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace xc
