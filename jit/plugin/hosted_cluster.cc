#include "jit/plugin/hosted_cluster.h"

#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/format.h"
#include "hlo/base/status.h"
#include "jit/graph/serialize.h"
#include "jit/plugin/background.h"
#include "service/files.h"

namespace xc {
namespace {

// Clusters alive, by their bytes.
struct Registry {
  std::mutex mutex;
  std::multimap<size_t, std::weak_ptr<HostedCluster>> clusters;
};
Registry& TheRegistry() {
  static auto* registry = new Registry;
  return *registry;
}

// Results in the host's memory.
class HostResults : public ResultAllocator {
 public:
  explicit HostResults(const xc_cluster_results& host) : host_(host) {}

  absl::StatusOr<void*> Allocate(int slot, DataType type, const Dims& dims, size_t bytes, bool tentative) override {
    void* memory =
        host_.allocate(host_.context, slot, type, dims.data(), static_cast<int>(dims.size()), bytes, tentative);
    if (memory == nullptr && bytes > 0) return NoMemory();
    return memory;
  }
  absl::Status Forward(int slot, int argument) override {
    return host_.forward(host_.context, slot, argument) ? absl::OkStatus() : NoMemory();
  }
  absl::Status Share(int slot, int other) override {
    return host_.share(host_.context, slot, other) ? absl::OkStatus() : NoMemory();
  }
  absl::Status Commit() override { return host_.commit(host_.context) ? absl::OkStatus() : NoMemory(); }

 private:
  static absl::Status NoMemory() { return absl::ResourceExhaustedError("the host gave no memory for a result"); }
  const xc_cluster_results& host_;
};

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
    : bytes_(std::move(bytes)), name_(std::move(name)), host_graph_(bytes_) {
  for (int id : graph->Args()) arg_types_.push_back(graph->node(id).output_types[0]);
  Launcher::Services services;
  services.compiler = MakeClusterCompiler(Client::Default(), DefaultPlatform());
  // Tasks keep the cluster, whose launch nodes the host may drop meanwhile.
  services.background = [this](Demand demand, std::function<void()> task) {
    return CompileInBackground(std::move(demand), [self = shared_from_this(), task = std::move(task)] { task(); });
  };
  services.events = this;
  services.counters = &Counters().launch;
  launcher_ = std::make_unique<Launcher>(std::move(graph), std::move(services));
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

absl::StatusOr<int> HostedCluster::Run(absl::Span<const xc_tensor> args, const xc_cluster_results& results, int threads,
                                       void** ticket) {
  *ticket = nullptr;
  absl::InlinedVector<ArgView, 32> views;
  for (size_t i = 0; i < args.size(); ++i) {
    const auto type = static_cast<DataType>(args[i].dtype);
    if (i < arg_types_.size() && type != arg_types_[i]) {  // a variable's value may be anything
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, " of cluster '", name_, "' has type ",
                                                     DataTypeName(type), " and not ", DataTypeName(arg_types_[i])));
    }
    views.push_back({type, {args[i].dims, static_cast<size_t>(args[i].rank)}, args[i].data, args[i].bytes});
  }
  RunOptions options;
  options.executor = DefaultExecutor();
  const int wanted = PluginThreads();
  options.thread_limit = wanted > 0 ? wanted : threads;
  options.denormals_as_caller = true;
  HostResults host(results);
  XC_ASSIGN_OR_RETURN(Launcher::Result ran, launcher_->Run({views, CurrentLaunchPolicy(), host, options}));
  if (ran.entry != nullptr) *ticket = KeepForHost(std::move(ran.entry));
  return ran.outcome == Launcher::Outcome::kRan ? XC_CLUSTER_RAN : XC_CLUSTER_ON_HOST;
}

void* HostedCluster::KeepForHost(std::shared_ptr<Launcher::Entry> entry) {
  std::lock_guard<std::mutex> lock(tickets_mutex_);
  const intptr_t number = ++last_ticket_;
  tickets_[number % tickets_.size()] = {number, std::move(entry)};
  return reinterpret_cast<void*>(number);
}

void HostedCluster::HostRan(void* ticket, int64_t nanoseconds) {
  std::shared_ptr<Launcher::Entry> entry;
  if (const auto number = reinterpret_cast<intptr_t>(ticket); number > 0) {
    std::lock_guard<std::mutex> lock(tickets_mutex_);
    const auto& kept = tickets_[number % tickets_.size()];
    if (kept.first == number) entry = kept.second;
  }
  if (entry == nullptr) {
    Counters().launch.host_runs.fetch_add(1, std::memory_order_relaxed);
  } else {
    launcher_->HostRan(*entry, nanoseconds, CurrentLaunchPolicy());
  }
}

void HostedCluster::Compiling(const std::vector<ClusterArg>& args) {
  const std::string folder = CurrentPluginSettings().dump_dir;
  if (folder.empty()) return;
  static std::atomic<int> number{0};
  std::set<int> needed;
  auto lowered = LowerCluster(graph(), args, &needed);
  if (!lowered.ok() || lowered->module == nullptr) return;
  absl::Status status = MakeDirectories(folder);
  if (status.ok()) {
    status = WriteFile(Format("%s/cluster_%03d.hlo", folder, ++number), lowered->module->ToString());
  }
  if (!status.ok()) LogOnce(std::string(status.message()));
}

void HostedCluster::FallsBack(const std::string& node, const std::string& why) {
  if (!node.empty()) host_graph_.LeaveOut(node, why);
  LogOnce(absl::StrCat("cluster '", name_, "' runs on the host: ", why,
                       node.empty() ? "" : "; the others form clusters without it"));
}

void HostedCluster::TooManySignatures(int signatures) {
  LogOnce(absl::StrCat("cluster '", name_, "' has run with more than ", signatures,
                       " sets of shapes: further ones run on the host (setting max_shapes)"));
}

}  // namespace xc
