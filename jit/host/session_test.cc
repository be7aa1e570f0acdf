// The embedded runtime end to end on small textual graphs: results, caching, run-time errors, concurrency.
#include "jit/host/session.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "jit/host/session_testing.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

TEST(Session, CompilesOncePerShape) {
  auto s = Load(Input("x", "DT_FLOAT") + N("y", "Mul", {"x", "x"}, Type("T", "DT_FLOAT")) +
                N("z", "AddV2", {"y", "x"}, Type("T", "DT_FLOAT")));
  for (int i = 0; i < 3; ++i) {
    auto out = s->Run({Floats({1, 2, 3})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<float>()[2], 12);
  }
  ASSERT_TRUE(s->Run({Floats({1})}).ok());
  EXPECT_EQ(s->executor().stats().compilations, 2);
  EXPECT_EQ(s->executor().stats().cache_hits, 2);
}

TEST(Session, RuntimeErrorsAreThoseOfTheOp) {
  for (HostMode mode : {HostMode::kJit, HostMode::kHost}) {
    auto divide =
        Load(Input("x", "DT_INT32") + Input("y", "DT_INT32") + N("q", "FloorDiv", {"x", "y"}, Type("T", "DT_INT32")) +
                 N("n", "Neg", {"q"}, Type("T", "DT_INT32")),
             mode);
    auto out = divide->Run({Tensor::Int32s({7, -7}), Tensor::Int32s({2, 2})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<int32_t>()[1], 4);
    out = divide->Run({Tensor::Int32s({7, -7}), Tensor::Int32s({2, 0})});
    EXPECT_EQ(out.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(out.status().message().find("division by zero"), absl::string_view::npos) << out.status();

    auto gather =
        Load(Input("x", "DT_FLOAT") + Input("i", "DT_INT32") +
                 N("a", "Const", {},
                   Type("dtype", "DT_INT32") +
                       "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } }") +
                 N("g", "GatherV2", {"x", "i", "a"},
                   Type("Tparams", "DT_FLOAT") + Type("Tindices", "DT_INT32") + Type("Taxis", "DT_INT32")) +
                 N("e", "Neg", {"g"}, Type("T", "DT_FLOAT")),
             mode);
    out = gather->Run({Floats({1, 2, 3}), Tensor::Int32s({2, 0})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<float>()[0], -3);
    out = gather->Run({Floats({1, 2, 3}), Tensor::Int32s({2, 3})});
    EXPECT_EQ(out.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(out.status().message().find("indices[1] = 3 is not in [0, 3)"), absl::string_view::npos) << out.status();
  }
}

// Compiled code tells only that an op failed: the message names the value, as TensorFlow's does.
TEST(Session, NamesTheValueThatAnOpFailsOn) {
  const std::string types = Type("Tindices", "DT_INT32");
  const std::string assigned = N("v", "VarHandleOp", {}, Type("dtype", "DT_FLOAT")) +
                               N("set", "AssignVariableOp", {"v", "x"}, Type("dtype", "DT_FLOAT"));
  const std::string read = Type("dtype", "DT_FLOAT") + types;
  struct {
    std::string graph;
    const char* message;
  } cases[] = {
      {N("y", "GatherNd", {"x", "i"}, Type("Tparams", "DT_FLOAT") + types), "indices[1] = [3] does not index into"},
      {N("y", "TensorScatterAdd", {"x", "i", "u"}, Type("T", "DT_FLOAT") + types), "indices[1] = [3] does not index"},
      {assigned + N("y", "ResourceGather", {"v", "i", "^set"}, read), "indices[1,0] = 3 is not in [0, 3)"},
      {assigned + N("y", "ResourceGatherNd", {"v", "i", "^set"}, read), "indices[1] = [3] does not index into"},
  };
  for (HostMode mode : {HostMode::kJit, HostMode::kHost}) {
    for (const auto& c : cases) {
      auto s = Load(Input("x", "DT_FLOAT") + Input("i", "DT_INT32") + Input("u", "DT_FLOAT") + c.graph, mode);
      auto out = s->Run({Floats({1, 2, 3}), Tensor::Int32s({0, 3}).Reshaped({2, 1}), Floats({4, 5})});
      EXPECT_EQ(out.status().code(), absl::StatusCode::kInvalidArgument) << out.status();
      EXPECT_NE(out.status().message().find(c.message), absl::string_view::npos) << out.status();
    }
  }
}

TEST(Session, ValuesThatMustBeConstantJoinTheKey) {
  auto s = Load(Input("x", "DT_FLOAT") + Input("shape", "DT_INT32") +
                N("r", "Reshape", {"x", "shape"}, Type("T", "DT_FLOAT") + Type("Tshape", "DT_INT32")) +
                N("y", "Neg", {"r"}, Type("T", "DT_FLOAT")));
  auto out = s->Run({Floats({1, 2, 3, 4}), Tensor::Int32s({2, 2})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].dims(), (Dims{2, 2}));
  out = s->Run({Floats({1, 2, 3, 4}), Tensor::Int32s({4, 1})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].dims(), (Dims{4, 1}));
  out = s->Run({Floats({1, 2, 3, 4}), Tensor::Int32s({3, 1})});
  EXPECT_NE(out.status().message().find("cannot reshape"), absl::string_view::npos) << out.status();
  EXPECT_EQ(s->executor().stats().compilations, 2);
}

TEST(Session, ChecksItsArguments) {
  auto s = Load(Input("x", "DT_FLOAT") + N("y", "Neg", {"x"}, Type("T", "DT_FLOAT")));
  EXPECT_NE(s->Run({}).status().message().find("takes 1 inputs, got 0"), absl::string_view::npos);
  EXPECT_NE(s->Run({Tensor::Int32s({1})}).status().message().find("is int32[1], expected float32"),
            absl::string_view::npos);
  auto def = ParseGraphDef(Input("x", "DT_FLOAT"), true);
  SessionOptions options;
  options.outputs = {"nothing:0"};
  EXPECT_NE(Session::Create(*def, options).status().message().find("no tensor 'nothing:0'"), absl::string_view::npos);
}

TEST(Session, IncompatibleShapesNameTheNode) {
  for (HostMode mode : {HostMode::kJit, HostMode::kHost}) {
    auto s =
        Load(Input("x", "DT_FLOAT") + Input("y", "DT_FLOAT") + N("sum", "AddV2", {"x", "y"}, Type("T", "DT_FLOAT")) +
                 N("z", "Neg", {"sum"}, Type("T", "DT_FLOAT")),
             mode);
    auto out = s->Run({Floats({1, 2, 3}), Floats({1, 2})});
    EXPECT_EQ(out.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(out.status().message().find("'sum'"), absl::string_view::npos) << out.status();
    EXPECT_NE(out.status().message().find("do not broadcast"), absl::string_view::npos) << out.status();
  }
}

class ManyThreads : public ::testing::TestWithParam<bool> {};

TEST_P(ManyThreads, WithChangingShapes) {
  LaunchOptions launch;
  launch.policy.batch_buckets = GetParam();
  auto s = Load(Input("x", "DT_FLOAT") + N("y", "Mul", {"x", "x"}, Type("T", "DT_FLOAT")) +
                    N("z", "Exp", {"y"}, Type("T", "DT_FLOAT")),
                HostMode::kJit, launch);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        int n = 1 + (i * 7 + t) % 9;
        auto out = s->Run({Floats(std::vector<float>(n, 0.f))});
        if (!out.ok() || (*out)[0].num_elements() != n || (*out)[0].data<float>()[n - 1] != 1) ++wrong;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
  const int64_t compilations = s->executor().stats().compilations;
  // Code for a batch of 9 may serve 8, and so on down to 4.
  EXPECT_TRUE(launch.policy.batch_buckets ? compilations >= 6 && compilations <= 9 : compilations == 9) << compilations;
}
INSTANTIATE_TEST_SUITE_P(Session, ManyThreads, ::testing::Bool());

const char kSquares[] = "z";

std::string Squares() {
  return Input("x", "DT_FLOAT") + N("y", "Mul", {"x", "x"}, Type("T", "DT_FLOAT")) +
         N(kSquares, "AddV2", {"y", "x"}, Type("T", "DT_FLOAT"));
}

TEST(Session, TheHostServesWhileCodeIsMadeInTheBackground) {
  LaunchOptions launch;
  launch.policy.when = CompileWhen::kBackground;
  launch.queue = std::make_shared<CompileQueue>();
  auto s = Load(Squares(), HostMode::kJit, launch);
  // The thread in the background is busy meanwhile.
  std::promise<void> go;
  launch.queue->Add(nullptr, nullptr, [&] { go.get_future().wait(); });
  auto out = s->Run({Floats({1, 2, 3})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].data<float>()[2], 12);
  EXPECT_EQ(s->executor().stats().deferred, 1);
  go.set_value();
  s->WaitForCompilations();
  EXPECT_EQ(s->executor().clusters()[0]->stats().compilations, 1);
  out = s->Run({Floats({1, 2, 3})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].data<float>()[2], 12);
  EXPECT_EQ(s->executor().stats().deferred, 1);
  EXPECT_EQ(s->executor().clusters()[0]->stats().cache_hits, 1);
}

TEST(Session, WhatMostCallsWaitForIsCompiledFirst) {
  LaunchOptions launch;
  launch.policy.when = CompileWhen::kBackground;
  launch.queue = std::make_shared<CompileQueue>();
  auto s = Load(Squares(), HostMode::kJit, launch);
  std::promise<void> begun, go;
  launch.queue->Add(nullptr, nullptr, [&] {
    begun.set_value();
    go.get_future().wait();
  });
  begun.get_future().wait();
  for (int n : {10, 20, 20}) ASSERT_TRUE(s->Run({Floats(std::vector<float>(n, 2.f))}).ok());
  auto state = [&](int n) {
    for (const auto& r : s->executor().clusters()[0]->Report()) {
      if (r.arguments.find("[" + std::to_string(n) + "]") != std::string::npos) return r.compiled;
    }
    return false;
  };
  // It runs after what two calls have waited for, and before what one has.
  bool often = false, rare = true;
  launch.queue->Add(nullptr, std::make_shared<std::atomic<int64_t>>(2), [&] {
    often = state(20);
    rare = state(10);
  });
  go.set_value();
  s->WaitForCompilations();
  EXPECT_TRUE(often);
  EXPECT_FALSE(rare);
  EXPECT_TRUE(state(10));
}

TEST(Session, LazyCompilationLeavesTheFirstRunsToTheHost) {
  LaunchOptions launch;
  launch.policy.when = CompileWhen::kLazy;
  auto s = Load(Squares(), HostMode::kJit, launch);
  for (int i = 0; i < launch.policy.lazy_runs; ++i) ASSERT_TRUE(s->Run({Floats({1, 2})}).ok());
  EXPECT_EQ(s->executor().clusters()[0]->stats().compilations, 0);
  ASSERT_TRUE(s->Run({Floats({1, 2})}).ok());
  EXPECT_EQ(s->executor().clusters()[0]->stats().compilations, 1);
}

TEST(Session, AClusterWhoseShapesKeepChangingFallsBack) {
  LaunchOptions launch;
  launch.policy.max_signatures = 4;
  launch.policy.batch_buckets = false;
  auto s = Load(Squares(), HostMode::kJit, launch);
  for (int n = 1; n <= 10; ++n) {
    auto out = s->Run({Floats(std::vector<float>(n, 2.f))});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<float>()[n - 1], 6);
  }
  EXPECT_EQ(s->executor().clusters()[0]->stats().compilations, 4);
  EXPECT_EQ(s->executor().stats().unprofitable, 6);
  EXPECT_NE(s->Explain().find("further signatures fall back to the host: compiled for 4 signatures already"),
            std::string::npos)
      << s->Explain();
}

TEST(Session, OpsWithoutAKernelAreCompiledForAllShapes) {
  ASSERT_EQ(KernelRegistry::Get().Find("Cumsum"), nullptr);
  const std::string zero = "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } }";
  const std::string text = Input("x", "DT_FLOAT") + N("axis", "Const", {}, Type("dtype", "DT_INT32") + zero) +
                           N("y", "Cumsum", {"x", "axis"}, Type("T", "DT_FLOAT") + Type("Tidx", "DT_INT32"));
  for (CompileWhen when : {CompileWhen::kNow, CompileWhen::kLazy, CompileWhen::kBackground}) {
    LaunchOptions launch;
    launch.policy.max_signatures = 4;
    launch.policy.when = when;
    launch.policy.batch_buckets = false;
    auto s = Load(text, HostMode::kHost, launch);
    for (int n = 1; n <= 12; ++n) {
      auto out = s->Run({Floats(std::vector<float>(n, 2.f))});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_EQ((*out)[0].data<float>()[n - 1], 2 * n);
    }
  }
}

TEST(Session, OtherBatchSizesShareCode) {
  LaunchOptions launch;
  launch.policy.max_signatures = 4;
  auto s = Load(Squares(), HostMode::kJit, launch);
  for (int n = 100; n > 64; --n) {
    auto out = s->Run({Floats(std::vector<float>(n, 2.f))});
    ASSERT_TRUE(out.ok()) << out.status();
    ASSERT_EQ((*out)[0].num_elements(), n);
    EXPECT_EQ((*out)[0].data<float>()[n - 1], 6);
  }
  // The code for 100 serves 80 and more; then there is code for 80, as there have been many.
  EXPECT_EQ(s->executor().clusters()[0]->stats().compilations, 2);
  EXPECT_EQ(s->executor().stats().unprofitable, 0);
  EXPECT_NE(s->Explain().find("for a batch of 100"), std::string::npos) << s->Explain();
  EXPECT_NE(s->ExplainAsHtml().find("compiled for a batch of 80\""), std::string::npos);
}

TEST(Session, SharedCodeIsReadyForAllBatchSizesThatItServes) {
  LaunchOptions launch;
  launch.policy.when = CompileWhen::kBackground;
  auto s = Load(Squares(), HostMode::kJit, launch);
  // Whether code was there. (Where it was not, the background may have made it before the call asks whether it is.)
  auto run = [&](int n) {
    const LaunchStats before = s->executor().stats();
    auto out = s->Run({Floats(std::vector<float>(n, 2.f))});
    EXPECT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<float>()[n - 1], 6);
    s->WaitForCompilations();
    const LaunchStats after = s->executor().stats();
    return after.deferred == before.deferred && after.compilations == before.compilations;
  };
  for (int n : {100, 200, 300, 64}) EXPECT_FALSE(run(n)) << n;
  for (int n = 52; n <= 64; ++n) EXPECT_TRUE(run(n)) << n;
  EXPECT_FALSE(run(51));
}

TEST(Session, ABatchSizeThatComesOftenGetsExactCode) {
  LaunchOptions launch;
  launch.policy.when = CompileWhen::kBackground;
  auto s = Load(Squares(), HostMode::kJit, launch);
  const ClusterLaunch& cluster = *s->executor().clusters()[0];
  auto run = [&](int n) {
    auto out = s->Run({Floats(std::vector<float>(n, 2.f))});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<float>()[n - 1], 6);
  };
  run(10000);
  s->WaitForCompilations();
  run(8000);
  s->WaitForCompilations();
  EXPECT_EQ(cluster.stats().compilations, 1) << "it runs with the code for 10,000";
  for (int i = 0; i < 100'000 && cluster.stats().compilations == 1; ++i) run(8000);
  s->WaitForCompilations();
  EXPECT_EQ(cluster.stats().compilations, 2);
  run(8000);
}

TEST(Session, ExplanationsSayWhatWouldChange) {
  auto s = Load(Squares() + N("u", "Unique", {kSquares}, Type("T", "DT_FLOAT")));
  ASSERT_TRUE(s->Run({Floats({1, 2})}).ok());
  EXPECT_NE(s->Explain().find("host: 'u' (Unique): no lowering for Unique"), std::string::npos) << s->Explain();
  EXPECT_NE(s->Explain().find("what would change 'no lowering for Unique': a lowering of the op"), std::string::npos);
  std::string page = s->ExplainAsHtml();
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("float32[2]"), std::string::npos);
  EXPECT_NE(page.find("no lowering for Unique"), std::string::npos);
}

TEST(Session, WhatNoOutputNeedsMayBeUnknown) {
  auto def = ParseGraphDef(Squares() + N("s", "NobodyKnowsThis", {"z"}, ""), true);
  ASSERT_TRUE(def.ok()) << def.status();
  SessionOptions options;
  options.outputs = {"z:0"};
  EXPECT_TRUE(Session::Create(*def, options).ok());
  options.targets = {"s"};
  EXPECT_NE(Session::Create(*def, options).status().message().find("unknown operation 'NobodyKnowsThis'"),
            absl::string_view::npos);
  options.targets.clear();
  EXPECT_FALSE(Session::Create(*def, {}).ok());
  options.outputs = {"s:0"};
  EXPECT_NE(Session::Create(*def, options).status().message().find("unknown operation 'NobodyKnowsThis'"),
            absl::string_view::npos);
}

TEST(Session, VariablesOfTheFirstVersionAreWrittenThroughReferences) {
  std::string t = Type("T", "DT_FLOAT"), shape = "attr { key: 'shape' value { shape {} } } ";
  auto number = [](const std::string& name, const std::string& value) {
    return N(name, "Const", {},
             Type("dtype", "DT_FLOAT") +
                 "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: " + value + " } } }");
  };
  std::string text = Input("x", "DT_FLOAT") + number("two", "2") + number("rate", "0.5") +
                     N("v", "VariableV2", {}, Type("dtype", "DT_FLOAT") + shape) +
                     N("init", "Assign", {"v", "two"}, t) + N("before", "Identity", {"v"}, t) +
                     N("step", "ApplyGradientDescent", {"v", "rate", "x", "^before"}, t) +
                     N("after", "Mul", {"step", "two"}, t) + N("copy", "RefIdentity", {"v"}, t) +
                     N("more", "AssignAdd", {"copy", "x", "^after"}, t) +
                     N("is", "IsVariableInitialized", {"v"}, Type("dtype", "DT_FLOAT"));
  for (HostMode mode : {HostMode::kJit, HostMode::kHost}) {
    auto def = ParseGraphDef(text, true);
    ASSERT_TRUE(def.ok()) << def.status();
    SessionOptions options;
    options.host.mode = mode;
    options.host.launch.platform = "interpreter";
    options.outputs = {"before:0", "after:0", "is:0"};
    options.targets = {"more"};
    auto unset = Session::Create(*def, options);
    ASSERT_TRUE(unset.ok()) << unset.status();
    EXPECT_EQ((*unset)->Run({Floats({1}).Reshaped({})}).status().code(), absl::StatusCode::kFailedPrecondition);
    options.initializers = {"init"};
    auto s = Session::Create(*def, options);
    ASSERT_TRUE(s.ok()) << s.status();
    for (float v = 2; v < 5; v += 0.5f * 1.5f) {  // v - x / 2 + x
      auto out = (*s)->Run({Floats({1.5f}).Reshaped({})});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_EQ(*(*out)[0].data<float>(), v);
      EXPECT_EQ(*(*out)[1].data<float>(), 2 * (v - 0.75f));
      EXPECT_TRUE(*(*out)[2].data<bool>());
    }
  }
}

// total = 0; for (i = 0; i < n; ++i) total += x * i, in v1 form.
TEST(Session, LoopsOfFramesRunAsOneCluster) {
  auto constant = [](const std::string& name, int value, const std::string& control) {
    return N(name, "Const", control.empty() ? std::vector<std::string>() : std::vector<std::string>{control},
             Type("dtype", "DT_INT32") +
                 "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: " +
                 std::to_string(value) + " } } }");
  };
  std::string t = Type("T", "DT_INT32");
  std::string frame = t + "attr { key: 'frame_name' value { s: 'w' } } ";
  std::string merge = t + "attr { key: 'N' value { i: 2 } } ";
  std::string text =
      Input("n", "DT_INT32") + Input("x", "DT_INT32") + constant("zero", 0, "") + N("ei", "Enter", {"zero"}, frame) +
      N("et", "Enter", {"zero"}, frame) + N("en", "Enter", {"n"}, frame) + N("ex", "Enter", {"x"}, frame) +
      N("mi", "Merge", {"ei", "ni"}, merge) + N("mt", "Merge", {"et", "nt"}, merge) + N("lt", "Less", {"mi", "en"}, t) +
      N("c", "LoopCond", {"lt"}, "") + N("si", "Switch", {"mi", "c"}, t) + N("st", "Switch", {"mt", "c"}, t) +
      N("pivot", "Identity", {"si:1"}, t) + constant("one", 1, "^pivot") + N("add", "AddV2", {"pivot", "one"}, t) +
      N("mul", "Mul", {"ex", "pivot"}, t) + N("sum", "AddV2", {"st:1", "mul"}, t) +
      N("ni", "NextIteration", {"add"}, t) + N("nt", "NextIteration", {"sum"}, t) + N("xt", "Exit", {"st"}, t) +
      N("out", "Neg", {"xt"}, t);
  for (HostMode mode : {HostMode::kJit, HostMode::kHost}) {
    auto def = ParseGraphDef(text, true);
    ASSERT_TRUE(def.ok()) << def.status();
    SessionOptions options;
    options.host.mode = mode;
    options.host.launch.platform = "interpreter";
    options.outputs = {"out:0"};
    auto s = Session::Create(*def, options);
    ASSERT_TRUE(s.ok()) << s.status();
    for (int n : {0, 1, 5}) {
      auto out = (*s)->Run({Tensor::Scalar<int32_t>(DT_INT32, n), Tensor::Scalar<int32_t>(DT_INT32, 3)});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_EQ(*(*out)[0].data<int32_t>(), -3 * n * (n - 1) / 2);
    }
    if (mode == HostMode::kJit) {
      EXPECT_EQ((*s)->executor().marking().num_clusters, 1);
      EXPECT_EQ((*s)->executor().stats().fallbacks, 0);
    }
  }
}

}  // namespace
}  // namespace xc
