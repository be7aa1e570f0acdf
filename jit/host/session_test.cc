// The embedded runtime end to end on small textual graphs: results, caching, run-time errors, concurrency.
#include "jit/host/session.h"

#include <gtest/gtest.h>

#include <thread>

namespace xc {
namespace {

std::string N(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
              const std::string& attrs) {
  std::string out = "node { name: '" + name + "' op: '" + op + "' ";
  for (const std::string& i : inputs) out += "input: '" + i + "' ";
  return out + attrs + " } ";
}
std::string Type(const std::string& key, const std::string& type) {
  return "attr { key: '" + key + "' value { type: " + type + " } } ";
}
std::string Input(const std::string& name, const std::string& type) {
  return N(name, "Placeholder", {}, Type("dtype", type));
}

std::unique_ptr<Session> Load(const std::string& text, HostMode mode = HostMode::kJit) {
  auto def = ParseGraphDef(text, true);
  EXPECT_TRUE(def.ok()) << def.status();
  SessionOptions options;
  options.host.mode = mode;
  options.host.launch.platform = "interpreter";
  options.host.mark.min_cluster_size = 1;
  auto session = Session::Create(*def, options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

Tensor Floats(const std::vector<float>& v) {
  Tensor t = Tensor::Create(DT_FLOAT, {static_cast<int64_t>(v.size())}).value();
  std::copy(v.begin(), v.end(), t.data<float>());
  return t;
}

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
    EXPECT_NE(out.status().message().find("index 3 is not in [0, 3)"), absl::string_view::npos) << out.status();
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

TEST(Session, ManyThreadsWithChangingShapes) {
  auto s = Load(Input("x", "DT_FLOAT") + N("y", "Mul", {"x", "x"}, Type("T", "DT_FLOAT")) +
                N("z", "Exp", {"y"}, Type("T", "DT_FLOAT")));
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
  EXPECT_EQ(s->executor().stats().compilations, 9);
}

}  // namespace
}  // namespace xc
