#include "jit/tensorflow/executor.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "jit/tensorflow/known_build.h"
#include "tensorflow/core/common_runtime/executor.h"
#include "tensorflow/core/common_runtime/executor_factory.h"
#include "tensorflow/core/common_runtime/local_executor_params.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/graph.h"

namespace xc_tensorflow {
namespace {

namespace tf = tensorflow;

const Core* the_core = nullptr;

// What passes values on, chooses a branch, reads or updates variables: nothing that a second thread could help with.
bool IsBeside(const tf::Node& node) {
  static const auto* const kBeside = new absl::flat_hash_set<absl::string_view>{"_Arg",
                                                                                "_Retval",
                                                                                "_DeviceArg",
                                                                                "_DeviceRetval",
                                                                                "Const",
                                                                                "Identity",
                                                                                "IdentityN",
                                                                                "NoOp",
                                                                                "Shape",
                                                                                "Switch",
                                                                                "Merge",
                                                                                "Reshape",
                                                                                "ExpandDims",
                                                                                "Squeeze",
                                                                                "VarHandleOp",
                                                                                "Rank",
                                                                                "Size",
                                                                                "ReadVariableOp",
                                                                                "AssignVariableOp",
                                                                                "AssignAddVariableOp",
                                                                                "AssignSubVariableOp"};
  return kBeside->contains(node.type_string());
}

// A node of a graph without loops.
struct Place {
  uint64_t after = 0;  // the launches that it comes after, by number
  // Where it runs: choices, by the node and output that decide, with what was chosen.
  absl::flat_hash_map<std::pair<int, int>, int> branches;
};

// What holds for all ways to a merge.
void KeepCommon(Place* place, const Place& other) {
  absl::erase_if(place->branches, [&](const auto& choice) {
    auto it = other.branches.find(choice.first);
    return it == other.branches.end() || it->second != choice.second;
  });
}

// Whether two places are on different branches of one choice.
bool Exclude(const Place& a, const Place& b) {
  for (const auto& [by, chosen] : a.branches) {
    auto it = b.branches.find(by);
    if (it != b.branches.end() && it->second != chosen) return true;
  }
  return false;
}

Place PlaceOf(const tf::Node& node, const std::vector<Place>& places, const absl::flat_hash_map<int, int>& launches) {
  Place out;
  bool first = true;
  for (const tf::Edge* edge : node.in_edges()) {
    Place from = places[edge->src()->id()];
    if (auto it = launches.find(edge->src()->id()); it != launches.end()) from.after |= uint64_t{1} << it->second;
    const tf::Edge* chooser = nullptr;
    if (edge->src()->IsSwitch() && !edge->IsControlEdge() && edge->src()->input_edge(1, &chooser).ok()) {
      from.branches[{chooser->src()->id(), chooser->src_output()}] = edge->src_output();
    }
    out.after |= from.after;
    if (!node.IsMerge() || first) {
      out.branches.insert(from.branches.begin(), from.branches.end());
    } else {
      KeepCommon(&out, from);
    }
    first = false;
  }
  return out;
}

// Whether one thread runs the graph as fast as several would: launches of which no two could run at the same time, and
// beside them only what takes no time.
bool IsOneThread(const tf::Graph& graph) {
  constexpr size_t kMaxLaunches = 64;
  absl::flat_hash_map<int, int> launches;  // numbers by node
  for (const tf::Node* node : graph.op_nodes()) {
    if (node->type_string() == kLaunchOp) {
      launches.emplace(node->id(), static_cast<int>(launches.size()));
    } else if (!IsBeside(*node)) {
      return false;
    }
  }
  if (launches.empty() || launches.size() > kMaxLaunches) return false;
  if (launches.size() == 1) return true;
  std::vector<tf::Node*> order;
  tf::GetReversePostOrder(graph, &order);
  std::vector<Place> places(graph.num_node_ids());
  for (const tf::Node* node : order) places[node->id()] = PlaceOf(*node, places, launches);
  for (const auto& [a, number_a] : launches) {
    for (const auto& [b, number_b] : launches) {
      const bool ordered = (places[a].after >> number_b & 1) || (places[b].after >> number_a & 1);
      if (a < b && !ordered && !Exclude(places[a], places[b])) return false;
    }
  }
  return true;
}

// Gives nothing to TensorFlow's pool: the graph has run when RunAsync returns.
class CallerExecutor : public tf::Executor {
 public:
  explicit CallerExecutor(std::unique_ptr<tf::Executor> executor) : executor_(std::move(executor)) {}

 private:
  void RunAsyncInternal(const Args& args, DoneCallback done) override {
    // What `done` starts goes to the pool as always: a loop that TensorFlow runs would otherwise be a recursion.
    static thread_local bool running = false;
    if (running || !the_core->caller_thread()) return executor_->RunAsync(args, std::move(done));
    Args here = args;
    here.runner = [](const Args::Closure& closure) { closure(); };
    running = true;
    executor_->RunAsync(here, std::move(done));
    running = false;
  }

  std::unique_ptr<tf::Executor> executor_;
};

class CallerFactory : public tf::ExecutorFactory {
 public:
  absl::Status NewExecutor(const tf::LocalExecutorParams& params, const tf::Graph& graph,
                           std::unique_ptr<tf::Executor>* out) override {
    tf::Executor* executor = nullptr;
    absl::Status status = tf::NewLocalExecutor(params, graph, &executor);
    if (!status.ok()) return status;
    out->reset(executor);
    if (the_core->caller_thread() && IsOneThread(graph)) *out = std::make_unique<CallerExecutor>(std::move(*out));
    return absl::OkStatus();
  }
};

// TensorFlow's factory of executors of no type, an object without members that lives as long as the process. A name can
// be registered only once, and no graph says which executor it wants (that stands in the call), so the factory's class
// is exchanged where the object lies: its one word, which says the class.
class Factory {
 public:
  // Whether the object is TensorFlow's own and the library is one that this was tested with.
  bool Find() {
    static_assert(sizeof(tf::ExecutorFactory) == sizeof(uintptr_t) && sizeof(CallerFactory) == sizeof(uintptr_t));
    tf::ExecutorFactory* factory = nullptr;
    if (!tf::ExecutorFactory::GetFactory("", &factory).ok() || factory == nullptr) return false;
    const tf::ExecutorFactory& known = *factory;
    if (std::strcmp(typeid(known).name(), "N10tensorflow12_GLOBAL__N_124DefaultExecutorRegistrar7FactoryE") != 0) {
      return false;
    }
    // The class, what is called in its place and what the headers describe are of one library.
    const void* const library = reinterpret_cast<const void*>(&tf::NewLocalExecutor);
    const uintptr_t found = *reinterpret_cast<const uintptr_t*>(factory);
    if (FileOf(reinterpret_cast<const void*>(found)) != FileOf(library) || !IsKnownBuild(BuildFingerprint(library))) {
      return false;
    }
    class_ = reinterpret_cast<uintptr_t*>(factory);
    theirs_ = found;
    static CallerFactory caller;
    ours_ = *reinterpret_cast<const uintptr_t*>(&caller);
    return true;
  }

  // Ours, or TensorFlow's; a class that somebody else put there stays.
  void Set(bool ours) {
    if (class_ == nullptr) return;
    uintptr_t expected = ours ? theirs_ : ours_;
    std::atomic_ref<uintptr_t>(*class_).compare_exchange_strong(expected, ours ? ours_ : theirs_);
  }

 private:
  // Where the file is loaded that the address lies in.
  static const void* FileOf(const void* address) {
    Dl_info info;
    return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
  }

  uintptr_t* class_ = nullptr;
  uintptr_t theirs_ = 0, ours_ = 0;
};

Factory& TheFactory() {
  static auto* factory = new Factory;
  return *factory;
}

}  // namespace

void InstallExecutor(const Core* core) {
  the_core = core;
  if (!TheFactory().Find()) {
    core->log(
        "calls take the way through TensorFlow's threads: its executors are not those that are known (caller_thread)");
    return;
  }
  core->on_configure([] { TheFactory().Set(the_core->caller_thread() != 0); });
  TheFactory().Set(core->caller_thread() != 0);
}

}  // namespace xc_tensorflow
