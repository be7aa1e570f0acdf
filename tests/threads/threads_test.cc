// Twenty threads compile and run at once: the same module, different ones, a cache too small for them, sessions whose
// clusters are compiled in the background, clusters inside of a host that is called with ever other numbers of rows.
// Nothing here calls oneDNN, whose OpenMP hides its locks from sanitizers.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/substitute.h"
#include "backends/runtime/executor.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "jit/host/session.h"
#include "jit/plugin/background.h"
#include "jit/plugin/hosted_cluster.h"
#include "jit/plugin/report.h"
#include "jit/plugin/settings.h"
#include "service/client.h"

namespace xc {
namespace {

constexpr int kThreads = 20;

// Runs body(0) … body(19), each on a thread of its own.
template <typename Body>
void OnThreads(const Body& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

// Sorted sums of the rows of a multiple, and the sum of the numbers up to `factor`: parallel kernels, a sort, a loop.
std::unique_ptr<HloModule> MakeModule(int factor) {
  auto module = ParseModule(absl::Substitute(R"(HloModule m
add { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, y) }
less { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = pred[] compare(x, y), direction=LT }
more { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant($0)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
  j = s32[] add(i, one) k = s32[] get-tuple-element(s), index=1 l = s32[] add(k, j)
  ROOT r = (s32[], s32[]) tuple(j, l) }
ENTRY main {
  p = s32[200,300] parameter(0)
  f = s32[] constant($0)
  b = s32[200,300] broadcast(f), dimensions={}
  m = s32[200,300] multiply(p, b)
  zero = s32[] constant(0)
  rows = s32[200] reduce(m, zero), dimensions={1}, to_apply=add
  sorted = s32[200] sort(rows), dimensions={0}, to_apply=less
  start = (s32[], s32[]) tuple(zero, zero)
  loop = (s32[], s32[]) while(start), condition=more, body=body
  sum = s32[] get-tuple-element(loop), index=1
  ROOT r = (s32[200], s32[]) tuple(sorted, sum)
})",
                                             factor));
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// "" if `executable` gives what MakeModule(factor) means.
std::string Check(const Executable& executable, int factor, Executor* executor) {
  Literal input(Shape(ElementType::kS32, {200, 300}));
  for (int64_t i = 0; i < input.size(); ++i) input.SetInt(i, (i * 7919) % 1000 - 500);
  const Literal* inputs[] = {&input};
  RunOptions options;
  options.executor = executor;
  auto results = RunOnLiterals(executable, inputs, options);
  if (!results.ok()) return std::string(results.status().message());
  if (results->at(1).GetInt(0) != factor * (factor + 1) / 2) return "the loop's sum is wrong";
  int64_t sum = 0, expected = 0;
  for (int64_t i = 0; i < input.size(); ++i) expected += factor * input.GetInt(i);
  for (int64_t i = 0; i < 200; ++i) sum += results->at(0).GetInt(i);
  return sum == expected ? "" : "the rows' sum is wrong";
}

TEST(Threads, OneModuleIsCompiledOnceForAll) {
  Client client;
  std::atomic<int> wrong = 0;
  OnThreads([&](int t) {
    auto executable = client.Compile(MakeModule(3), "cpu");
    wrong += !executable.ok() || !Check(**executable, 3, t % 2 == 0 ? DefaultExecutor() : nullptr).empty();
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(client.cache().stats().misses, 1);
}

TEST(Threads, DifferentModulesAndEvictions) {
  Client client(30'000);  // a few executables
  std::atomic<int> wrong = 0;
  OnThreads([&](int t) {
    for (int n = 0; n < 3; ++n) {
      const int factor = 1 + (t + 3 * n) % 8;
      CompileOptions options;
      options.compile_threads = 1 + t % 2;
      auto executable = client.Compile(MakeModule(factor), t % 5 == 0 ? "interpreter" : "cpu", options);
      wrong += !executable.ok() || !Check(**executable, factor, t % 2 == 0 ? DefaultExecutor() : nullptr).empty();
      if (t == 7) client.cache().Clear();
      if (t == 8) client.cache().SetBudget(40'000 - 10'000 * n);
      (void)client.cache().stats();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, SessionsThatCompileInTheBackground) {
  // Not from text: protobuf's reflection, in a library without the sanitizer, has another idea of where maps lie.
  tf::GraphDef def;
  auto add = [&def](const char* name, const char* op, const char* type, std::vector<std::string> inputs) {
    tf::NodeDef* node = def.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    (*node->mutable_attr())[type].set_type(tf::DT_FLOAT);
  };
  add("x", "Placeholder", "dtype", {});
  add("y", "Mul", "T", {"x", "x"});
  add("z", "AddV2", "T", {"y", "x"});
  Client client;
  std::vector<std::unique_ptr<Session>> sessions;
  for (int s = 0; s < 3; ++s) {
    SessionOptions options;
    options.host.launch.client = &client;
    options.host.launch.policy.when = CompileWhen::kBackground;
    options.host.launch.executor = s == 0 ? DefaultExecutor() : nullptr;
    options.host.mark.min_cluster_size = 1;
    auto session = Session::Create(def, options);
    ASSERT_TRUE(session.ok()) << session.status();
    sessions.push_back(*std::move(session));
  }
  std::atomic<int> wrong = 0;
  OnThreads([&](int t) {
    Session& session = *sessions[t % sessions.size()];
    for (int n = 0; n < 4; ++n) {
      const int64_t size = 1 + (t + n) % 4;
      Tensor x = Tensor::Create(DT_FLOAT, {size}).value();
      for (int64_t i = 0; i < size; ++i) x.data<float>()[i] = static_cast<float>(i + 1);
      auto out = session.Run({x});
      wrong += !out.ok() || (*out)[0].data<float>()[size - 1] != static_cast<float>(size * size + size);
      if (n == 2) (void)session.Explain();
    }
    if (t % 4 == 0) session.WaitForCompilations();
  });
  EXPECT_EQ(wrong, 0);
  // Compilations of a session that goes away while they wait are given up.
  sessions.clear();
}

// A host that keeps a result in a vector.
struct HostResult {
  std::vector<float> values;
  xc_cluster_results functions() {
    xc_cluster_results results = {};
    results.context = this;
    results.allocate = [](void* context, int, int, const int64_t*, int, size_t bytes, int) -> void* {
      auto& values = static_cast<HostResult*>(context)->values;
      values.resize(bytes / sizeof(float));
      return values.data();
    };
    results.forward = [](void*, int, int) { return 1; };
    results.share = [](void*, int, int) { return 1; };
    results.commit = [](void*) { return 1; };
    return results;
  }
};

TEST(Threads, ClustersOfAHostThatShareCodeAmongBatchSizes) {
  tf::GraphDef def;
  auto add = [&def](const char* name, const char* op, std::vector<std::string> inputs) {
    tf::NodeDef* node = def.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    auto& attributes = *node->mutable_attr();
    attributes["T"].set_type(tf::DT_FLOAT);
    if (op[0] == '_') attributes["index"].set_i(0);
  };
  add("x", "_Arg", {});
  add("e", "Mul", {"x", "x"});
  add("s", "AddV2", {"e", "x"});
  add("r", "_Retval", {"s"});
  const std::string bytes = def.SerializeAsString();
  ASSERT_TRUE(ConfigurePlugin("policy=background\nmax_shapes=24\nbuckets=1\nlog=0\ncost_gate=1").ok());
  std::atomic<int> wrong = 0, ran = 0;
  OnThreads([&](int t) {
    for (int n = 0; n < 60; ++n) {
      auto cluster = HostedCluster::FindOrCreate(bytes, "c");
      if (!cluster.ok()) {
        ++wrong;
        continue;
      }
      const int64_t rows = 20 + (7 * t + 3 * n) % 40, columns = 3;
      std::vector<float> x(rows * columns);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000);
      const int64_t dims[] = {rows, columns};
      const xc_tensor arg = {DT_FLOAT, 2, dims, x.data(), x.size() * sizeof(float)};
      HostResult result;
      void* ticket = nullptr;
      auto outcome = (*cluster)->Run(absl::MakeConstSpan(&arg, 1), result.functions(), 1 + t % 2, &ticket);
      if (!outcome.ok()) {
        ++wrong;
      } else if (*outcome == XC_CLUSTER_ON_HOST) {
        (*cluster)->HostRan(ticket, 1'000'000);
      } else {
        ++ran;
        wrong += result.values.size() != x.size() || result.values.back() != x.back() * x.back() + x.back();
      }
      if (n % 16 == 0) (void)PluginReport(/*html=*/false);
      if (n % 20 == 19) WaitForCompilations(60);
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(ran, 0);
  EXPECT_TRUE(WaitForCompilations(120));
}

}  // namespace
}  // namespace xc
