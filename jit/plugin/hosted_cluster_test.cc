// Clusters on a host's buffers: policies, results that are arguments or shared, failing checks, shapes that change.
#include "jit/plugin/hosted_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "jit/graph/graph.h"
#include "jit/plugin/background.h"
#include "jit/plugin/rewritten_graphs.h"

namespace xc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  void SetUp() override { Configure("policy=now\nmax_shapes=24\nlog=0\ncost_gate=1\nlazy_runs=3"); }
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
  EXPECT_EQ(Run(*cluster, other), XC_CLUSTER_ON_HOST);
  ASSERT_TRUE(WaitForCompilations(120));
  EXPECT_EQ(Run(*cluster, other), XC_CLUSTER_RAN);
  EXPECT_THAT(other.results[0], ElementsAre(2));
}

TEST_F(HostedClusterTest, FurtherShapesGoToTheHost) {
  Configure("max_shapes=1");
  auto cluster = Make(kGraph);
  Host one{{{0}, {1}}}, two{{{0, 0}, {1, 2}}};
  EXPECT_EQ(Run(*cluster, one), XC_CLUSTER_RAN);
  EXPECT_EQ(Run(*cluster, two), XC_CLUSTER_ON_HOST);
  EXPECT_EQ(Run(*cluster, one), XC_CLUSTER_RAN);
  bool found = false;
  for (const auto& r : cluster->Report()) found |= r.state == "on the host: compiled for 1 shapes already";
  EXPECT_TRUE(found);
}

TEST_F(HostedClusterTest, WhatIsSlowerThanTheHostIsGivenBack) {
  // The host is asked for some runs, to be timed. A short run is not worth that.
  for (auto [size, nanoseconds, given_back] :
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
    EXPECT_EQ(outcome, given_back ? XC_CLUSTER_ON_HOST : XC_CLUSTER_RAN);
    EXPECT_EQ(on_host, given_back ? 40 - 16 : size == 4 ? 0 : 6);
    EXPECT_THAT(cluster->Report()[0].state,
                given_back ? HasSubstr("slower than the host's kernels") : HasSubstr("compiled"));
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
