// Fakes to test launching with: a compiler whose code takes as long as the test says, a clock that only moves when
// something takes time, and results in vectors.
#ifndef XC_JIT_LAUNCH_LAUNCHER_TESTING_H_
#define XC_JIT_LAUNCH_LAUNCHER_TESTING_H_

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/graph/graph.h"
#include "jit/launch/launcher.h"

namespace xc {

inline int64_t now_ns = 0;
inline int64_t FakeNow() { return now_ns; }

// What all executables do.
struct Behaviour {
  int64_t compile_ns = 1'000'000, ns_per_element = 100;
  bool check_fails = false;
  absl::Status error;
};

// Computes x + x of float parameter 0, for as long as its size says, and sets checks as told.
class FakeExecutable : public Executable {
 public:
  FakeExecutable(const HloModule& module, const Behaviour& behaviour) : behaviour_(behaviour) { SetSignature(module); }

  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, const RunOptions&,
                   std::vector<std::vector<int64_t>>*) const override {
    const int64_t elements = parameter_leaves()[0].ElementCount();
    now_ns += elements * behaviour_.ns_per_element;
    if (!behaviour_.error.ok()) return behaviour_.error;
    for (size_t r = 0; r < results.size(); ++r) {
      if (result_leaves()[r].type() == ElementType::kPred) {
        *static_cast<bool*>(results[r]) = behaviour_.check_fails;
        continue;
      }
      for (int64_t i = 0; i < elements; ++i) {
        static_cast<float*>(results[r])[i] = 2 * static_cast<const float*>(parameters[0])[i];
      }
    }
    return absl::OkStatus();
  }
  int64_t temp_bytes() const override { return 8; }
  int64_t size_bytes() const override { return 16; }

 private:
  const Behaviour& behaviour_;
};

class FakeCompiler : public ClusterCompiler {
 public:
  explicit FakeCompiler(const Behaviour& behaviour) : behaviour_(behaviour) {}
  absl::StatusOr<LoweredCluster> Lower(const Graph& graph, const std::vector<ClusterArg>& args, std::set<int>* needed,
                                       std::string* failed_node) override {
    return LowerCluster(graph, args, needed, failed_node);
  }
  absl::StatusOr<std::shared_ptr<const Executable>> Compile(std::unique_ptr<HloModule> module,
                                                            const CompileOptions&) override {
    now_ns += behaviour_.compile_ns;
    ++compiled;
    return std::make_shared<const FakeExecutable>(*module, behaviour_);
  }
  int compiled = 0;

 private:
  const Behaviour& behaviour_;
};

// Results in vectors.
class FakeResults : public ResultAllocator {
 public:
  explicit FakeResults(bool discards) : discards_(discards) {}
  absl::StatusOr<void*> Allocate(int slot, DataType, const Dims&, size_t bytes, bool tentative) override {
    values[slot].resize(bytes / sizeof(float));
    tentative_ |= tentative;
    return values[slot].data();
  }
  absl::Status Forward(int slot, int argument) override {
    forwarded[slot] = argument;
    return absl::OkStatus();
  }
  absl::Status Share(int slot, int other) override {
    shared[slot] = other;
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    committed = true;
    return absl::OkStatus();
  }
  bool discards() const override { return discards_; }
  bool visible() const { return !tentative_ || committed; }

  std::map<int, std::vector<float>> values;
  std::map<int, int> forwarded, shared;
  bool committed = false;

 private:
  const bool discards_;
  bool tentative_ = false;
};

inline std::string Port(const std::string& name, const std::string& op, const std::string& type, int index,
                        const std::string& input = "") {
  return absl::StrCat("node { name: '", name, "' op: '", op, "' ", input.empty() ? "" : "input: '" + input + "' ",
                      "attr { key: 'T' value { type: ", type, " } } attr { key: 'index' value { i: ", index, " } } } ");
}
inline const std::string kFloat = "attr { key: 'T' value { type: DT_FLOAT } } ";

// x + x, x, and the first again.
inline const std::string kDouble =
    Port("x", "_Arg", "DT_FLOAT", 0) + "node { name: 's' op: 'AddV2' input: 'x' input: 'x' " + kFloat + "} " +
    Port("r0", "_Retval", "DT_FLOAT", 0, "s") + Port("r1", "_Retval", "DT_FLOAT", 1, "x") +
    Port("r2", "_Retval", "DT_FLOAT", 2, "s");
class LauncherTest : public ::testing::Test, public LaunchEvents {
 protected:
  using Outcome = Launcher::Outcome;

  void SetUp() override { now_ns = 0; }

  void Make(const std::string& text, bool with_background = true) {
    auto graph = ImportGraphDef(ParseGraphDef(text, true).value());
    ASSERT_TRUE(graph.ok()) << graph.status();
    compiler_ = std::make_shared<FakeCompiler>(behaviour_);
    Launcher::Services services;
    services.compiler = compiler_;
    services.events = this;
    services.counters = &counters_;
    services.now = &FakeNow;
    services.thread_now = &FakeNow;
    if (with_background) {
      services.background = [this](Demand, std::function<void()> task) {
        if (!full_) tasks_.push_back(std::move(task));
        return !full_;
      };
    }
    launcher_ = std::make_unique<Launcher>(*std::move(graph), std::move(services));
  }
  void RunTasks() {
    while (!tasks_.empty()) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }

  // Launches with a vector of ones of that size, and further integer vectors; `last_` gets what is more to know.
  Outcome Launch(int64_t size, std::vector<std::vector<int32_t>> integers = {}, bool required = false) {
    std::vector<float> x(size, 1);
    std::vector<Dims> dims = {{size}};
    for (const auto& v : integers) dims.push_back({static_cast<int64_t>(v.size())});
    std::vector<ArgView> views = {{DT_FLOAT, dims[0], x.data(), x.size() * sizeof(float)}};
    for (size_t i = 0; i < integers.size(); ++i) {
      views.push_back({integer_type_, dims[i + 1], integers[i].data(), integers[i].size() * sizeof(int32_t)});
    }
    results_ = std::make_unique<FakeResults>(discards_);
    auto ran = launcher_->Run({views, policy_, *results_, RunOptions(), required});
    status_ = ran.status();
    if (!ran.ok()) return Outcome::kFailed;
    last_ = *std::move(ran);
    if (last_.outcome == Outcome::kRan) {
      EXPECT_TRUE(results_->visible());
      EXPECT_EQ(results_->values[0], std::vector<float>(size, 2));
    } else {
      EXPECT_FALSE(results_->committed);
    }
    return last_.outcome;
  }
  // The same; where the host is asked, it takes `host_ns`.
  Outcome LaunchOrHost(int64_t size, int64_t host_ns) {
    const Outcome outcome = Launch(size);
    if (outcome != Outcome::kRan && last_.entry != nullptr) launcher_->HostRan(*last_.entry, host_ns, policy_);
    return outcome;
  }
  // The state of each set of arguments.
  std::map<std::string, std::string> States() {
    std::map<std::string, std::string> states;
    for (const SignatureReport& r : launcher_->Report()) states[r.arguments] = r.State();
    return states;
  }

  void Compiling(const std::vector<ClusterArg>& args) override { ++compiling_; }
  void FallsBack(const std::string& node, const std::string& why) override {
    fell_back_.push_back(absl::StrCat(node, ": ", why));
  }
  void TooManySignatures(int signatures) override { too_many_.push_back(signatures); }

  Behaviour behaviour_;
  std::shared_ptr<FakeCompiler> compiler_;
  LaunchCounters counters_;
  LaunchPolicy policy_;
  std::deque<std::function<void()>> tasks_;
  bool full_ = false, discards_ = false;
  DataType integer_type_ = DT_INT32;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<FakeResults> results_;
  Launcher::Result last_;
  absl::Status status_;
  int compiling_ = 0;
  std::vector<std::string> fell_back_;
  std::vector<int> too_many_;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_LAUNCHER_TESTING_H_
