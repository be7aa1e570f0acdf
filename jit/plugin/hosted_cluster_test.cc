// Clusters on a host's buffers: policies, results that are arguments or shared, failing checks, shapes that change.
#include "jit/plugin/hosted_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <tuple>

#include "jit/graph/graph.h"
#include "jit/plugin/background.h"
#include "jit/plugin/report.h"
#include "jit/plugin/rewritten_graphs.h"

namespace xc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

// Results are exp(x) + y, x, and the first again.
constexpr char kGraph[] = R"(
  node { name: "x" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 0 } } }
  node { name: "y" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 1 } } }
  node { name: "e" op: "Exp" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "s" op: "AddV2" input: "e" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "r0" op: "_Retval" input: "s" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "index" value { i: 0 } } }
  node { name: "r1" op: "_Retval" input: "x" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "index" value { i: 1 } } }
  node { name: "r2" op: "_Retval" input: "s" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "index" value { i: 2 } } }
)";

// Division of integers, which fails on zeros.
constexpr char kDivision[] = R"(
  node { name: "x" op: "_Arg" attr { key: "T" value { type: DT_INT32 } } attr { key: "index" value { i: 0 } } }
  node { name: "d" op: "FloorDiv" input: "x" input: "x" attr { key: "T" value { type: DT_INT32 } } }
  node { name: "r" op: "_Retval" input: "d" attr { key: "T" value { type: DT_INT32 } }
         attr { key: "index" value { i: 0 } } }
)";

// A host that keeps results as vectors of 4-byte elements.
struct Host {
  std::vector<std::vector<float>> args;
  std::vector<std::vector<float>> results = std::vector<std::vector<float>>(3);
  std::vector<int> forwarded = {-1, -1, -1}, shared = {-1, -1, -1};
  bool committed = false;
};

class HostedClusterTest : public ::testing::Test {
 protected:
  void SetUp() override { Configure("policy=now\nmax_shapes=24\nbuckets=1\nlog=0\ncost_gate=1\nlazy_runs=3"); }
  void TearDown() override { EXPECT_TRUE(WaitForCompilations(120)) << "tasks keep their clusters"; }
  void Configure(const std::string& lines) { ASSERT_TRUE(ConfigurePlugin(lines).ok()); }

  std::shared_ptr<HostedCluster> Make(const char* text) {
    // Serialized once: the order of attributes is another one each time.
    std::string& bytes = bytes_[text];
    if (bytes.empty()) bytes = ParseGraphDef(text, /*text=*/true).value().SerializeAsString();
    return HostedCluster::FindOrCreate(bytes, "c").value();
  }

  // The outcome of a run on vectors; `host` gets the results.
  int Run(HostedCluster& cluster, Host& host, int dtype = DT_FLOAT) {
    std::vector<int64_t> dims;
    for (const auto& a : host.args) dims.push_back(static_cast<int64_t>(a.size()));
    std::vector<xc_tensor> args;
    for (size_t i = 0; i < dims.size(); ++i) {
      args.push_back({dtype, 1, &dims[i], host.args[i].data(), host.args[i].size() * 4});
    }
    xc_cluster_results results;
    results.context = &host;
    results.allocate = [](void* context, int result, int, const int64_t*, int, size_t bytes, int) -> void* {
      auto& to = static_cast<Host*>(context)->results[result];
      to.resize(bytes / 4);
      return to.data();
    };
    results.forward = [](void* context, int result, int argument) {
      static_cast<Host*>(context)->forwarded[result] = argument;
      return 1;
    };
    results.share = [](void* context, int result, int other) {
      static_cast<Host*>(context)->shared[result] = other;
      return 1;
    };
    results.commit = [](void* context) {
      static_cast<Host*>(context)->committed = true;
      return 1;
    };
    absl::StatusOr<int> outcome = cluster.Run(args, results, 1, &ticket_);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.value_or(-1);
  }

  // What `run` gives while the thread that compiles is held up; waits for what it compiles then.
  template <typename Run>
  int BeforeCompiling(Run run) {
    std::promise<void> begun, go;
    CompileInBackground(nullptr, [&] {
      begun.set_value();
      go.get_future().wait();
    });
    begun.get_future().wait();
    const int outcome = run();
    go.set_value();
    EXPECT_TRUE(WaitForCompilations(120));
    return outcome;
  }

  void* ticket_ = nullptr;
  std::map<const char*, std::string> bytes_;
};

TEST_F(HostedClusterTest, ResultsAreComputedForwardedAndShared) {
  auto cluster = Make(kGraph);
  Host host{{{0, 0}, {1, 2}}};
  EXPECT_EQ(Run(*cluster, host), XC_CLUSTER_RAN);
  EXPECT_THAT(host.results[0], ElementsAre(2, 3));
  EXPECT_EQ(host.forwarded[1], 0);
  EXPECT_EQ(host.shared[2], 0);
  EXPECT_EQ(Make(kGraph), cluster) << "equal clusters are one object";
}

TEST_F(HostedClusterTest, AFailingCheckGoesToTheHost) {
  auto cluster = Make(kDivision);
  Host zeros{{{0, 0}}};  // the bits of integer zeros
  EXPECT_EQ(Run(*cluster, zeros, DT_INT32), XC_CLUSTER_ON_HOST);
  EXPECT_FALSE(zeros.committed);
  Host ones{{{1e-45f, 1e-45f}}};  // the bits of integer ones
  EXPECT_EQ(Run(*cluster, ones, DT_INT32), XC_CLUSTER_RAN);
  EXPECT_TRUE(ones.committed);
  EXPECT_THAT(ones.results[0], ElementsAre(1e-45f, 1e-45f));
}

TEST_F(HostedClusterTest, LazyAndBackgroundLeaveTheFirstRunsToTheHost) {
  Configure("policy=lazy\nlazy_runs=2");
  auto cluster = Make(kGraph);
  Host host{{{0, 0, 0}, {1, 2, 3}}};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Run(*cluster, host), XC_CLUSTER_ON_HOST);
    cluster->HostRan(ticket_, 1000000);
  }
  EXPECT_EQ(Run(*cluster, host), XC_CLUSTER_RAN);
  Configure("policy=background");
  Host other{{{0}, {1}}};
  EXPECT_EQ(BeforeCompiling([&] { return Run(*cluster, other); }), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(Run(*cluster, other), XC_CLUSTER_RAN);
  EXPECT_THAT(other.results[0], ElementsAre(2));
}

TEST_F(HostedClusterTest, WhatMostCallsWaitForIsCompiledFirst) {
  Configure("policy=background");
  auto cluster = Make(kGraph);
  std::promise<void> begun, go;
  CompileInBackground(nullptr, [&] {
    begun.set_value();
    go.get_future().wait();
  });
  begun.get_future().wait();
  for (int i = 0; i < 4; ++i) CompileInBackground(nullptr, [] {});  // where it is the oldest task's turn
  for (int size : {10, 20, 20}) {
    Host host{{std::vector<float>(size, 0), std::vector<float>(size, 1)}};
    EXPECT_EQ(Run(*cluster, host), XC_CLUSTER_ON_HOST);
  }
  // It runs after what two calls have waited for, and before what one has.
  std::map<std::string, std::string> states;
  CompileInBackground(std::make_shared<std::atomic<int64_t>>(2), [&] {
    for (const auto& r : cluster->Report()) states[r.arguments.substr(r.arguments.find_last_of('['))] = r.State();
  });
  go.set_value();
  ASSERT_TRUE(WaitForCompilations(120));
  EXPECT_EQ(states["[20]"], "compiled");
  EXPECT_EQ(states["[10]"], "not compiled yet");
}

TEST_F(HostedClusterTest, ShapesThatComeOnceGetNoCodeWhereCodeHasServedNobody) {
  Configure("policy=background\nbuckets=0");
  auto cluster = Make(kGraph);
  const int64_t before = Counters().launch.compilations;
  auto call = [&](int size, int64_t host_nanoseconds = 1) {
    Host host{{std::vector<float>(size, 0), std::vector<float>(size, 1)}};
    const int outcome = Run(*cluster, host);
    if (outcome == XC_CLUSTER_ON_HOST) cluster->HostRan(ticket_, host_nanoseconds);
    EXPECT_TRUE(WaitForCompilations(120));
    return outcome;
  };
  for (int size = 1; size <= 11; ++size) EXPECT_EQ(call(size), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(Counters().launch.compilations, before + 4);
  // Nor do those that come more often, while the host's kernels have taken less for them than compiling would.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(11), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(Counters().launch.compilations, before + 4);
  // Where the first call took longer, the second one asks for code, and the third one has it.
  EXPECT_EQ(call(12, int64_t{1} << 40), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(Counters().launch.compilations, before + 4);
  EXPECT_EQ(call(12, int64_t{1} << 40), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(Counters().launch.compilations, before + 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(call(12), XC_CLUSTER_RAN);
  // Code that is used speaks for more of it.
  EXPECT_EQ(call(20), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(call(20), XC_CLUSTER_RAN);
}

TEST_F(HostedClusterTest, FurtherShapesGoToTheHost) {
  Configure("max_shapes=1");
  auto cluster = Make(kGraph);
  Host one{{{0}, {1}}}, two{{{0, 0}, {1, 2}}};
  EXPECT_EQ(Run(*cluster, one), XC_CLUSTER_RAN);
  EXPECT_EQ(Run(*cluster, two), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(Run(*cluster, one), XC_CLUSTER_RAN);
  bool found = false;
  for (const auto& r : cluster->Report()) found |= r.State() == "compiled for 1 signatures already";
  EXPECT_TRUE(found);
}

TEST_F(HostedClusterTest, OtherBatchSizesShareCode) {
  auto cluster = Make(kGraph);
  const int64_t before = Counters().launch.compilations;
  for (int rows = 40; rows >= 17; --rows) {
    Host host;
    host.args = {std::vector<float>(rows, 0), std::vector<float>(rows)};
    for (int i = 0; i < rows; ++i) host.args[1][i] = static_cast<float>(i);
    EXPECT_EQ(Run(*cluster, host), XC_CLUSTER_RAN);
    ASSERT_EQ(static_cast<int>(host.results[0].size()), rows);
    for (int i = 0; i < rows; ++i) EXPECT_EQ(host.results[0][i], 1.0f + static_cast<float>(i));
    EXPECT_EQ(host.forwarded[1], 0);
  }
  // 40 by itself, whose code serves up to a quarter more rows than a call has; then code for 32, 28, 24 and 20.
  EXPECT_EQ(Counters().launch.compilations - before, 5);
  std::map<std::string, int> states;
  for (const auto& r : cluster->Report()) ++states[r.State()];
  EXPECT_THAT(states, ElementsAre(Pair("compiled", 1), Pair("compiled for a batch of 20", 3),
                                  Pair("compiled for a batch of 24", 3), Pair("compiled for a batch of 28", 3),
                                  Pair("compiled for a batch of 32", 6), Pair("compiled for a batch of 40", 8)));
}

TEST_F(HostedClusterTest, SharedCodeIsReadyForAllBatchSizesThatItServes) {
  Configure("policy=background\nmax_shapes=3");
  auto cluster = Make(kGraph);
  auto run = [&](int rows) {
    Host host{{std::vector<float>(rows, 0), std::vector<float>(rows, 1)}};
    int outcome = Run(*cluster, host);
    if (outcome == XC_CLUSTER_RAN) {
      EXPECT_EQ(host.results[0], std::vector<float>(rows, 2));
    }
    return outcome;
  };
  auto first = [&](int rows) { return BeforeCompiling([&] { return run(rows); }); };
  for (int rows : {100, 200, 300, 64}) EXPECT_EQ(first(rows), XC_CLUSTER_ON_HOST);
  // All that fit into 64 rows are known now.
  for (int rows = 52; rows <= 64; ++rows) EXPECT_EQ(run(rows), XC_CLUSTER_RAN);
  EXPECT_EQ(first(51), XC_CLUSTER_ON_HOST);
  // Those that wait get their code together.
  BeforeCompiling([&] {
    for (int rows : {41, 42, 43}) EXPECT_EQ(run(rows), XC_CLUSTER_ON_HOST);
    return 0;
  });
  for (int rows : {41, 42, 43, 48}) EXPECT_EQ(run(rows), XC_CLUSTER_RAN);
  Configure("buckets=0");
  EXPECT_EQ(first(90), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(run(90), XC_CLUSTER_ON_HOST) << "more than max_shapes";
  Configure("buckets=1\nmax_shapes=24");
}

TEST_F(HostedClusterTest, ABatchSizeThatComesOftenGetsExactCode) {
  Configure("policy=background");
  auto cluster = Make(kGraph);
  const int64_t own = Counters().launch.exact_later, compilations = Counters().launch.compilations;
  auto run = [&](int rows) {
    Host host{{std::vector<float>(rows, 0), std::vector<float>(rows, 1)}};
    int outcome = Run(*cluster, host);
    if (outcome == XC_CLUSTER_RAN) {
      EXPECT_EQ(host.results[0], std::vector<float>(rows, 2));
    }
    return outcome;
  };
  for (int rows : {10000, 8000}) EXPECT_EQ(BeforeCompiling([&] { return run(rows); }), XC_CLUSTER_ON_HOST);
  const int64_t shared = Counters().launch.shared_launches;
  EXPECT_EQ(run(8000), XC_CLUSTER_RAN);
  EXPECT_EQ(Counters().launch.compilations - compilations, 1);
  EXPECT_EQ(Counters().launch.shared_launches - shared, 1);
  for (int i = 0; i < 100'000 && Counters().launch.exact_later == own; ++i) EXPECT_EQ(run(8000), XC_CLUSTER_RAN);
  ASSERT_TRUE(WaitForCompilations(120));
  EXPECT_EQ(Counters().launch.exact_later - own, 1);
  EXPECT_EQ(Counters().launch.compilations - compilations, 2);
  EXPECT_EQ(run(8000), XC_CLUSTER_RAN);
  EXPECT_THAT(PluginReport(false), HasSubstr("with a batch of 10000"));
}

TEST_F(HostedClusterTest, SharedCodeThatIsSlowerThanTheHostGetsAnotherChance) {
  Configure("policy=background");
  const int64_t own = Counters().launch.exact_later;
  // On a busy machine the code may become quicker after the host's last time.
  for (int attempt = 0; attempt < 10 && Counters().launch.exact_later == own; ++attempt) {
    auto cluster = Make(kGraph);
    for (int rows : {5 << 20, 4 << 20}) {
      Host host{{std::vector<float>(rows, 0), std::vector<float>(rows, 1)}};
      Run(*cluster, host);
      ASSERT_TRUE(WaitForCompilations(120));
      const std::string shape = "[" + std::to_string(rows) + "]";
      for (int runs = 0; runs < 24; ++runs) {
        if (Run(*cluster, host) != XC_CLUSTER_ON_HOST) continue;
        int64_t nanoseconds = int64_t{1} << 40;
        // Quicker than code for a quarter more rows, and not quicker than code without these would be.
        for (const auto& r : cluster->Report()) {
          if (rows == 4 << 20 && r.arguments.find(shape) != std::string::npos) nanoseconds = r.best_ns * 17 / 20;
        }
        cluster->HostRan(ticket_, nanoseconds);
      }
      ASSERT_TRUE(WaitForCompilations(120));
      for (const auto& r : cluster->Report()) EXPECT_THAT(r.State(), StartsWith("compiled"));
    }
  }
  EXPECT_EQ(Counters().launch.exact_later - own, 1);
}

TEST_F(HostedClusterTest, ChecksHoldForSharedCode) {
  auto cluster = Make(kDivision);
  for (int rows = 20; rows >= 9; --rows) {
    Host host{{std::vector<float>(rows, 1e-45f)}};  // the bits of integer ones
    EXPECT_EQ(Run(*cluster, host, DT_INT32), XC_CLUSTER_RAN);
    EXPECT_EQ(host.results[0], host.args[0]);
    host.args[0][rows - 1] = 0;
    EXPECT_EQ(Run(*cluster, host, DT_INT32), XC_CLUSTER_ON_HOST);
  }
  bool shared = false;
  for (const auto& r : cluster->Report()) shared |= r.State() == "compiled for a batch of 12";
  EXPECT_TRUE(shared);
}

// The mean over all rows: none may be added.
constexpr char kMean[] = R"(
  node { name: "x" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 0 } } }
  node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
         attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } } }
  node { name: "m" op: "Mean" input: "x" input: "a" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "Tidx" value { type: DT_INT32 } } attr { key: "keep_dims" value { b: false } } }
  node { name: "r" op: "_Retval" input: "m" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "index" value { i: 0 } } }
)";

// The first has code of its own, and the second as well, with the reason; the others share code for all sizes.
TEST_F(HostedClusterTest, BatchesWhosePaddingWouldCountHaveOtherCode) {
  auto cluster = Make(kMean);
  for (int rows = 20; rows >= 9; --rows) {
    Host host{{std::vector<float>(rows, 0)}};
    host.args[0][0] = static_cast<float>(rows);
    EXPECT_EQ(Run(*cluster, host), XC_CLUSTER_RAN);
    EXPECT_THAT(host.results[0], ElementsAre(1));
  }
  int own = 0, general = 0;
  for (const auto& r : cluster->Report()) {
    own += r.State() == "compiled, not for other batch sizes: reduce 'm' combines elements of the batch";
    general += r.State() == "compiled by code for all sizes";
  }
  EXPECT_EQ(own, 1);
  EXPECT_EQ(general, 10);
}

TEST_F(HostedClusterTest, WhatIsSlowerThanTheHostIsGivenUp) {
  // The host is asked for some runs, to be timed. A short run is not worth that.
  for (auto [size, nanoseconds, given_up] :
       {std::tuple(4 << 20, int64_t{1}, true), {4 << 20, int64_t{1} << 40, false}, {4, int64_t{1}, false}}) {
    SCOPED_TRACE(nanoseconds);
    auto cluster = Make(kGraph);
    Host host{{std::vector<float>(size, 0), std::vector<float>(size, 1)}};
    int outcome = XC_CLUSTER_RAN, on_host = 0;
    for (int runs = 0; runs < 40; ++runs) {
      outcome = Run(*cluster, host);
      if (outcome == XC_CLUSTER_RAN) continue;
      ++on_host;
      cluster->HostRan(ticket_, nanoseconds);
    }
    EXPECT_EQ(outcome, given_up ? XC_CLUSTER_ON_HOST : XC_CLUSTER_RAN);
    EXPECT_EQ(on_host, given_up ? 40 - 16 : size == 4 ? 0 : 6);
    EXPECT_THAT(cluster->Report()[0].State(),
                given_up ? HasSubstr("slower than the host's kernels") : HasSubstr("compiled"));
  }
}

TEST_F(HostedClusterTest, CodeWhoseFamilyWasFoundQuickerIsNotTimed) {
  for (const bool quicker : {true, false}) {
    SCOPED_TRACE(quicker);
    auto cluster = Make(kGraph);
    std::vector<int> on_host;
    int outcome = XC_CLUSTER_RAN;
    // The first one is alone yet. The last two have about as large a batch; one code serves both.
    for (const int size : {4 << 20, 3 << 20, (3 << 20) - 4096}) {
      Host host{{std::vector<float>(size, 0), std::vector<float>(size, 1)}};
      on_host.push_back(0);
      for (int runs = 0; runs < 24; ++runs) {
        outcome = Run(*cluster, host);
        if (outcome == XC_CLUSTER_RAN) continue;
        ++on_host.back();
        cluster->HostRan(ticket_, quicker ? int64_t{1} << 40 : 1);
      }
    }
    if (quicker) {
      EXPECT_THAT(on_host, ElementsAre(6, 6, 0));
    } else {
      EXPECT_THAT(on_host, ElementsAre(24 - 16, 24 - 16, 24 - 16)) << "each is given up for what itself took";
    }
    EXPECT_EQ(outcome, quicker ? XC_CLUSTER_RAN : XC_CLUSTER_ON_HOST);
  }
}

TEST_F(HostedClusterTest, HostGraphHasPlaceholdersAndResults) {
  GraphDef def;
  ASSERT_TRUE(def.ParseFromString(Make(kGraph)->HostGraph()));
  std::vector<std::string> names;
  for (const NodeDef& node : def.node()) names.push_back(node.op() + " " + node.name());
  EXPECT_THAT(names, ElementsAre("Placeholder xla_arg_0", "Placeholder xla_arg_1", "Exp e", "AddV2 s",
                                 "Identity xla_result_0", "Identity xla_result_1", "Identity xla_result_2"));
  EXPECT_EQ(def.node(2).input(0), "xla_arg_0");
}

TEST_F(HostedClusterTest, WrongSettingsAndGraphsAreRefused) {
  EXPECT_THAT(std::string(ConfigurePlugin("min_cluster_size=x").message()), HasSubstr("'min_cluster_size'"));
  EXPECT_THAT(std::string(ConfigurePlugin("size=1").message()), HasSubstr("there is no setting 'size'"));
  EXPECT_THAT(std::string(RewriteHostGraph("not a graph", {}, {}).status().message()), HasSubstr("not a GraphDef"));
  EXPECT_FALSE(HostedCluster::FindOrCreate("not a graph", "c").ok());
}

}  // namespace
}  // namespace xc
