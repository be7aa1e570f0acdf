// Code for all sizes in the embedded runtime: what it serves, with which results, and what it does not.
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/host/session_testing.h"

namespace xc {
namespace {

// A graph of two inputs whose sizes vary by themselves; calls of ever other sizes must give what the host's kernels
// give. Returns the session that compiles, after `calls` of them.
std::unique_ptr<Session> CallWithOtherSizes(const std::string& text, int calls) {
  LaunchOptions launch;
  launch.policy.max_signatures = 4;
  auto s = Load(text, HostMode::kJit, launch, "cpu"), reference = Load(text, HostMode::kHost);
  for (int64_t i = 0; i < calls; ++i) {
    const int64_t rows = 2 + i % 4, columns = 3 + 7 * i;
    Tensor x = Tensor::Create(DT_FLOAT, {rows, columns}).value();
    for (int64_t k = 0; k < rows * columns; ++k) x.data<float>()[k] = static_cast<float>((k * 37 + i) % 101) / 25 - 2;
    auto out = s->Run({x}), expected = reference->Run({x});
    EXPECT_TRUE(out.ok() && expected.ok()) << out.status() << expected.status();
    if (!out.ok() || !expected.ok()) return s;
    EXPECT_EQ((*out)[0].dims(), (*expected)[0].dims());
    if ((*out)[0].dims() != (*expected)[0].dims()) return s;
    for (int64_t k = 0; k < (*expected)[0].num_elements(); ++k) {
      EXPECT_NEAR((*out)[0].data<float>()[k], (*expected)[0].data<float>()[k], 1e-5) << rows << "x" << columns;
    }
  }
  return s;
}

std::string Ints(const std::string& name, const std::vector<int>& values) {
  std::string list;
  for (int v : values) absl::StrAppend(&list, "int_val: ", v, " ");
  return N(name, "Const", {},
           Type("dtype", "DT_INT32") +
               absl::StrCat("attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { dim { size: ",
                            values.size(), " } } ", list, "} } } "));
}

// From the third pair of sizes on one code serves them all.
TEST(GeneralShapes, OneCodeServesShapesThatKeepChanging) {
  auto s = CallWithOtherSizes(Input("x", "DT_FLOAT") + N("y", "Softmax", {"x"}, Type("T", "DT_FLOAT")) +
                                  N("z", "AddV2", {"y", "x"}, Type("T", "DT_FLOAT")),
                              20);
  EXPECT_EQ(s->executor().clusters()[0]->stats().compilations, 3) << s->Explain();
  EXPECT_EQ(s->executor().stats().unprofitable, 0);
  EXPECT_NE(s->Explain().find("compiled by code for all sizes"), std::string::npos) << s->Explain();
  EXPECT_NE(s->Explain().find("(float32[a,b]): code for all sizes, compiled 1 time, "), std::string::npos)
      << s->Explain();
  EXPECT_NE(s->Explain().find("serves 18 sets of shapes"), std::string::npos) << s->Explain();
}

// Sizes that the graph computes, and joins to others.
TEST(GeneralShapes, OneCodeReshapesAndConcatenates) {
  const std::string ints = Type("T", "DT_FLOAT") + Type("Tshape", "DT_INT32");
  auto s = CallWithOtherSizes(
      Input("x", "DT_FLOAT") + Ints("flat", {-1}) + N("f", "Reshape", {"x", "flat"}, ints) +
          N("shape", "Shape", {"x"}, Type("T", "DT_FLOAT") + Type("out_type", "DT_INT32")) +
          N("t", "Tanh", {"f"}, Type("T", "DT_FLOAT")) + N("back", "Reshape", {"t", "shape"}, ints) +
          N("axis", "Const", {},
            Type("dtype", "DT_INT32") +
                "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } ") +
          N("z", "ConcatV2", {"back", "x", "axis"},
            Type("T", "DT_FLOAT") + Type("Tidx", "DT_INT32") + "attr { key: 'N' value { i: 2 } } "),
      20);
  EXPECT_EQ(s->executor().clusters()[0]->stats().compilations, 3) << s->Explain();
  EXPECT_NE(s->Explain().find("serves 18 sets of shapes"), std::string::npos) << s->Explain();
}

// A backend without such code has exact code, and the report says so.
TEST(GeneralShapes, AreRefusedOnOtherPlatforms) {
  LaunchOptions launch;
  auto s = Load(Input("x", "DT_FLOAT") + N("y", "Softmax", {"x"}, Type("T", "DT_FLOAT")), HostMode::kJit, launch);
  for (int64_t i = 2; i < 8; ++i) {
    Tensor x = Tensor::Create(DT_FLOAT, {i, 2 * i}).value();
    std::fill_n(x.data<float>(), x.num_elements(), 1.f);
    ASSERT_TRUE(s->Run({x}).ok());
  }
  EXPECT_EQ(s->executor().clusters()[0]->stats().compilations, 6);
  EXPECT_NE(s->Explain().find("no code for all sizes: "), std::string::npos) << s->Explain();
}

}  // namespace
}  // namespace xc
