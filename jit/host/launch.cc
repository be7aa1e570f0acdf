#include "jit/host/launch.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// The value behind an argument: of a variable its current one.
Tensor ValueOf(const Tensor& input) {
  if (input.variable() == nullptr) return input;
  std::lock_guard<std::mutex> lock(input.variable()->mutex);
  return input.variable()->value;
}

// Results in tensors that nobody sees before they are taken.
class TensorResults : public ResultAllocator {
 public:
  explicit TensorResults(const std::vector<Tensor>& inputs) : inputs_(inputs) {}

  void Begin(const LoweredCluster& cluster) override {
    results_ = cluster.results.size();
    updates_ = cluster.variable_updates;
    slots_.resize(results_ + updates_.size());
  }
  absl::StatusOr<void*> Allocate(int slot, DataType type, const Dims& dims, size_t bytes, bool tentative) override {
    XC_ASSIGN_OR_RETURN(slots_[slot], Tensor::Uninitialized(type, dims));
    return slots_[slot].raw();
  }
  absl::Status Forward(int slot, int argument) override {
    slots_[slot] = inputs_[argument];
    return absl::OkStatus();
  }
  absl::Status Share(int slot, int other) override {
    slots_[slot] = slots_[other];
    return absl::OkStatus();
  }
  absl::Status SetConstant(int slot, const Tensor& value, bool tentative) override {
    slots_[slot] = value;
    return absl::OkStatus();
  }
  absl::Status Commit() override { return absl::OkStatus(); }
  bool discards() const override { return true; }

  // Gives `arguments` that are variables their new values, and takes the results out.
  std::vector<Tensor> Take(const std::vector<Tensor>& arguments) {
    for (size_t u = 0; u < updates_.size(); ++u) {
      Variable& variable = *arguments[updates_[u].first].variable();
      std::lock_guard<std::mutex> lock(variable.mutex);
      variable.value = slots_[results_ + u];
    }
    slots_.resize(results_);
    return std::move(slots_);
  }

 private:
  const std::vector<Tensor>& inputs_;
  size_t results_ = 0;
  std::vector<std::pair<int, int>> updates_;
  std::vector<Tensor> slots_;
};

}  // namespace

LaunchPolicy EmbeddedPolicy() {
  LaunchPolicy policy;
  // A graph is loaded to be compiled: calls wait for code rather than for the host's kernels, all the more since they
  // would have to repeat them; and no call goes there to be timed. So fewer of the host's times are there to decide on.
  policy.when = CompileWhen::kNow;
  policy.time_host = false;
  policy.gate_host_runs = 3;
  // Signatures that have no code are expensive for ever: more of them get some, as many as are used.
  policy.max_signatures = 64;
  policy.runs_for_more = 4;
  return policy;
}

ClusterLaunch::ClusterLaunch(std::shared_ptr<const Graph> graph, LaunchOptions options) : options_(std::move(options)) {
  Launcher::Services services;
  services.compiler = MakeClusterCompiler(options_.client, options_.platform, options_.emulate);
  services.counters = &counters_;
  if (options_.queue != nullptr) {
    services.background = [this](Demand demand, std::function<void()> task) {
      return options_.queue->Add(this, std::move(demand), std::move(task));
    };
  }
  launcher_ = std::make_unique<Launcher>(std::move(graph), std::move(services));
}

ClusterLaunch::~ClusterLaunch() {
  if (options_.queue != nullptr) options_.queue->Cancel(this);
}

absl::Status ClusterLaunch::Run(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs, Fallback* fallback) {
  fallback->needed = true;
  bool variables = false;
  for (const Tensor& t : inputs) variables |= t.variable() != nullptr;
  std::vector<Tensor> values;
  if (variables) {
    for (const Tensor& t : inputs) values.push_back(ValueOf(t));
    for (const Tensor& t : values) {
      if (!t.initialized()) return absl::UnimplementedError("a variable without a value");
    }
  }
  const std::vector<Tensor>& in = variables ? values : inputs;
  std::vector<ArgView> views;
  views.reserve(in.size());
  for (const Tensor& t : in) {
    views.push_back({t.dtype(), t.dims(), t.raw(), static_cast<size_t>(t.byte_size())});
  }
  RunOptions run;
  run.executor = options_.executor;
  run.thread_limit = options_.thread_limit;
  run.denormals_as_caller = true;
  TensorResults results(in);
  XC_ASSIGN_OR_RETURN(Launcher::Result ran, launcher_->Run({views, options_.policy, results, run, fallback->missing}));
  fallback->entry = ran.entry;
  switch (ran.outcome) {
    case Launcher::Outcome::kRan:
      *outputs = results.Take(inputs);
      fallback->needed = false;
      return absl::OkStatus();
    case Launcher::Outcome::kNotYet:
    case Launcher::Outcome::kTimesHost:
      return absl::UnavailableError("the host's kernels serve for now");
    case Launcher::Outcome::kFallsBack: {
      if (ran.entry == nullptr) return ran.why;
      Launcher::Reason reason = launcher_->WhyFallsBack(*ran.entry);
      fallback->failed_node = std::move(reason.failed_node);
      return reason.why;
    }
    case Launcher::Outcome::kCheckFailed:
      return absl::OutOfRangeError(absl::StrCat("an op of cluster '", graph().name, "' fails on these values"));
    case Launcher::Outcome::kFailed:
      return ran.why;
  }
  return absl::InternalError("an unknown outcome of a launch");
}

void ClusterLaunch::HostRan(const Fallback& fallback, double seconds) {
  if (fallback.entry == nullptr) return;
  launcher_->HostRan(*fallback.entry, static_cast<int64_t>(seconds * 1e9), options_.policy);
}

void LaunchStats::Add(const LaunchStats& other) {
  compilations += other.compilations;
  cache_hits += other.cache_hits;
  fallbacks += other.fallbacks;
  deferred += other.deferred;
  unprofitable += other.unprofitable;
  evaluated += other.evaluated;
  compile_seconds += other.compile_seconds;
}

LaunchStats ClusterLaunch::stats() const {
  LaunchStats s;
  s.compilations = counters_.compilations.load();
  s.cache_hits = counters_.hits.load();
  s.fallbacks = counters_.fallbacks.load();
  s.deferred = counters_.deferred.load();
  s.unprofitable = counters_.unprofitable.load();
  s.evaluated = counters_.evaluated.load();
  s.compile_seconds = static_cast<double>(counters_.compile_ns.load()) * 1e-9;
  return s;
}

}  // namespace xc
