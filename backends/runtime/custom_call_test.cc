// The registry, attribute text, and calls other than LAPACK's.
#include "backends/runtime/custom_call.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/runtime/custom_call_testing.h"

namespace xc {
namespace {

TEST(Attributes, Parse) {
  auto a = CallAttributes::Parse(
      R"({uplo = 76 : ui8, left = true, x = -1.5 : f32, n = 0x10, s = "a\"\0Ab", u, l = array<i64: 1, -2>,
         f = [1.0 : f32, 2.5], e = array<i32>, d = dense<[1, 2]> : tensor<2xi64>, z = {q = 1}, big = 18446744073709551615})");
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_EQ(*a->Int("uplo"), 76);
  EXPECT_EQ(*a->Int("left"), 1);
  EXPECT_EQ(*a->Int("n"), 16);
  EXPECT_EQ(*a->Int("u"), 1);
  EXPECT_EQ(*a->Int("big"), -1);
  EXPECT_EQ(std::get<double>(*a->Find("x")), -1.5);
  EXPECT_EQ(std::get<std::string>(*a->Find("s")), "a\"\nb");
  EXPECT_EQ(std::get<std::vector<int64_t>>(*a->Find("l")), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(std::get<std::vector<double>>(*a->Find("f")), (std::vector<double>{1, 2.5}));
  EXPECT_TRUE(std::get<std::vector<int64_t>>(*a->Find("e")).empty());
  EXPECT_EQ(a->Int("missing").status().message(), "attribute missing is missing");
  EXPECT_EQ(a->Int("x").status().message(), "attribute x is not an integer");
  EXPECT_TRUE(CallAttributes::Parse("")->values().empty());
  EXPECT_TRUE(CallAttributes::Parse("{}")->values().empty());
  EXPECT_TRUE(CallAttributes::Parse("opaque").ok());
  EXPECT_TRUE(CallAttributes::Parse(R"({"json": [1, {"a": 2}]})")->values().empty());
  EXPECT_EQ(CallAttributes::Parse("{a = }").status().message(),
            "backend_config: expected a value at offset 5 of `{a = }`");
  for (const char* bad : {"{", "{a", "{a = 1", "{a = 1,}", "{= 1}", "{a = \"x}", "{a = array<i64: 1}", "{a = [1}"}) {
    EXPECT_FALSE(CallAttributes::Parse(bad).ok()) << bad;
  }
}

TEST(Registry, UserFunctions) {
  RunContext ctx;
  Array in = Array(RtType::kF32, {3}), out = in;
  for (int i = 0; i < 3; ++i) in.as<float>()[i] = i;
  EXPECT_EQ(Call(&ctx, "nobody", "", {&in}, {&out}).message(),
            "custom call nobody: no function of this name is registered");
  ASSERT_TRUE(RegisterCustomCall("test.add", [](RunContext*, const CallArgs& args) -> absl::Status {
                auto by = args.attributes->Int("by");
                if (!by.ok()) return by.status();
                for (int64_t i = 0; i < args.inputs[0].elements(); ++i) {
                  static_cast<float*>(args.outputs[0].data)[i] = static_cast<float*>(args.inputs[0].data)[i] + *by;
                }
                return absl::OkStatus();
              }).ok());
  EXPECT_TRUE(Call(&ctx, "test.add", "{by = 5 : i32}", {&in}, {&out}).ok());
  EXPECT_EQ(out.as<float>()[2], 7);
  EXPECT_EQ(Call(&ctx, "test.add", "{}", {&in}, {&out}).message(), "custom call test.add: attribute by is missing");
  EXPECT_EQ(RegisterCustomCall("test.add", nullptr).message(), "custom call test.add is registered already");
}

TEST(Registry, PreparedCall) {
  RunContext ctx;
  int64_t in_dims[] = {2, 3};
  const int64_t in_layout[] = {0, 1}, out_dims[] = {1}, out_layout[] = {0};
  std::string text = "some text";
  float in[6] = {}, out = 0;
  const CallBuffer buffers[] = {{RtType::kF32, in_dims, in_layout, nullptr},
                                {RtType::kF32, out_dims, out_layout, nullptr}};
  CallArgs args;
  args.target = "test.prepared";
  args.inputs = absl::MakeConstSpan(buffers, 1);
  args.outputs = absl::MakeConstSpan(buffers + 1, 1);
  args.backend_config = text;
  args.tuple_result = true;
  ASSERT_TRUE(RegisterCustomCall("test.prepared", [&](RunContext* run, const CallArgs& got) {
                EXPECT_EQ(run, &ctx);
                EXPECT_EQ(got.backend_config, "some text");
                EXPECT_TRUE(got.tuple_result);
                EXPECT_EQ(std::vector<int64_t>(got.inputs[0].dims.begin(), got.inputs[0].dims.end()),
                          (std::vector<int64_t>{2, 3}));
                EXPECT_EQ(got.inputs[0].minor_to_major, absl::MakeConstSpan(in_layout, 2));
                EXPECT_EQ(got.inputs[0].data, in);
                EXPECT_EQ(got.outputs[0].dims.size(), 1);
                *static_cast<float*>(got.outputs[0].data) = 3;
                return absl::OkStatus();
              }).ok());
  absl::StatusOr<PreparedCall> made = PreparedCall::Make(args);
  ASSERT_TRUE(made.ok()) << made.status();
  const PreparedCall call = *std::move(made);
  // What it was made of is no longer needed.
  in_dims[0] = 7;
  text = "other text";
  void* inputs[] = {in};
  void* outputs[] = {&out};
  EXPECT_TRUE(call.Run(&ctx, inputs, outputs).ok());
  EXPECT_EQ(out, 3);
}

TEST(Registry, TopK) {
  RunContext ctx;
  Array in = Array(RtType::kF32, {2, 4}), values = Array(RtType::kF32, {2, 2}), indices = Array(RtType::kS32, {2, 2});
  const float numbers[] = {1, 5, 3, 5, -1, -4, -2, -3};
  std::memcpy(in.bytes.data(), numbers, sizeof(numbers));
  ASSERT_TRUE(Call(&ctx, "TopK", "", {&in}, {&values, &indices}).ok());
  EXPECT_EQ(std::vector<float>(values.as<float>(), values.as<float>() + 4), (std::vector<float>{5, 5, -1, -2}));
  EXPECT_EQ(std::vector<int>(indices.as<int>(), indices.as<int>() + 4), (std::vector<int>{1, 3, 0, 2}));
}

// [[10, 20, 0], [0, 0, 0], [0, 0, 30]] and an entry in a column that there is not.
TEST(Registry, SparseTimesDense) {
  const auto executor = NewThreadPoolExecutor(2);
  RunContext ctx(nullptr, executor.get());
  Array data = Array(RtType::kS16, {5}), starts = Array(RtType::kS32, {4}), columns = Array(RtType::kS32, {5}),
        x = Array(RtType::kS16, {3, 2}), y = Array(RtType::kS16, {3, 2}), v = Array(RtType::kS16, {3}),
        w = Array(RtType::kS16, {3});
  const auto fill = [](Array& a, auto... numbers) {
    const std::common_type_t<decltype(numbers)...> all[] = {numbers...};
    std::memcpy(a.bytes.data(), all, sizeof(all));
  };
  fill(data, int16_t{10}, int16_t{20}, int16_t{30}, int16_t{7}, int16_t{9});
  fill(starts, 0, 2, 2, 90);  // the last row ends with the entries
  fill(columns, 0, 1, 2, 3, -1);
  fill(x, int16_t{1}, int16_t{2}, int16_t{3}, int16_t{4000}, int16_t{5}, int16_t{-6});
  fill(v, int16_t{1}, int16_t{2}, int16_t{3});
  const char* const target = "cpu_csr_sparse_dense_ffi";
  ASSERT_TRUE(Call(&ctx, target, "{}", {&data, &starts, &columns, &x}, {&y}).ok());
  EXPECT_EQ(std::vector<int16_t>(y.as<int16_t>(), y.as<int16_t>() + 6),
            (std::vector<int16_t>{70, static_cast<int16_t>(80020), 0, 0, 150, -180}));
  ASSERT_TRUE(Call(&ctx, target, "{}", {&data, &starts, &columns, &v}, {&w}).ok());
  EXPECT_EQ(std::vector<int16_t>(w.as<int16_t>(), w.as<int16_t>() + 3), (std::vector<int16_t>{50, 0, 90}));
  EXPECT_EQ(Call(&ctx, target, "{}", {&data, &starts, &columns, &x}, {&w}).message(),
            "custom call cpu_csr_sparse_dense_ffi: the sizes of operands and results do not fit");
  EXPECT_EQ(Call(&ctx, target, "{}", {&data, &columns, &data, &v}, {&w}).message(),
            "custom call cpu_csr_sparse_dense_ffi: takes s32 row starts and columns");
}

}  // namespace
}  // namespace xc
