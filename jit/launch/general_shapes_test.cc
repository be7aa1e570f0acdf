// Which signatures ask for code for all sizes, and what becomes of a group that was refused.
#include "jit/launch/general_shapes.h"

#include <gtest/gtest.h>

#include <utility>

#include "backends/registry.h"
#include "jit/launch/launcher_testing.h"

namespace xc {
namespace {

// Lowers no sizes above what it is told, so that samples are none.
class LimitedCompiler : public FakeCompiler {
 public:
  using FakeCompiler::FakeCompiler;
  absl::StatusOr<LoweredCluster> Lower(const Graph& graph, const std::vector<ClusterArg>& args, std::set<int>* needed,
                                       std::string* failed_node) override {
    for (int64_t d : args[0].dims) {
      if (d > limit) return absl::UnimplementedError("too large");
      if (d < least) return absl::UnimplementedError("too small");
    }
    return FakeCompiler::Lower(graph, args, needed, failed_node);
  }
  std::unique_ptr<GeneralCode> MakeGeneral(GeneralCode::Sample sample) override {
    ++made;
    return std::make_unique<GeneralCode>(Client::Default(), DefaultPlatform(), std::move(sample));
  }
  int64_t limit = INT64_MAX, least = 0;
  int made = 0;
};

class GeneralShapesTest : public ::testing::Test {
 protected:
  GeneralShapesTest() : graph_(std::move(**ImportGraphDef(*ParseGraphDef(kDouble, true)))) {}
  // Whether a new signature of these sizes is served by code for all of them.
  bool Served(int64_t rows, int64_t columns) {
    const std::vector<ClusterArg> args = {{DT_FLOAT, {rows, columns}}};
    const std::shared_ptr<GeneralShapes::Group> group = shapes_.Find(args);
    if (group == nullptr || !group->wanted) return false;
    bool compiled = false;
    return shapes_.GetCode(args, group, {}, /*may_compile=*/true, &compiled).ok();
  }

  Behaviour behaviour_;
  const std::shared_ptr<LimitedCompiler> compiler_ = std::make_shared<LimitedCompiler>(behaviour_);
  const Graph graph_;
  GeneralShapes shapes_{graph_, compiler_, &FakeNow, &FakeNow};
};

TEST_F(GeneralShapesTest, TheThirdSignatureAsks) {
  EXPECT_FALSE(Served(20, 30));
  EXPECT_FALSE(Served(21, 31));
  EXPECT_TRUE(Served(22, 34));
  EXPECT_TRUE(Served(7, 300));
  EXPECT_EQ(compiler_->made, 1);
}

// A refusal is not for good: after twice as many signatures it is tried again.
TEST_F(GeneralShapesTest, RefusedGroupsTryAgain) {
  compiler_->least = 20;
  compiler_->limit = 22;  // too few primes for samples
  for (int64_t i = 0; i < 3; ++i) EXPECT_FALSE(Served(20 + i, 22 - i));
  EXPECT_EQ(compiler_->made, 1);
  EXPECT_EQ(shapes_.Report().size(), 1u);
  compiler_->least = 0;
  compiler_->limit = INT64_MAX;
  EXPECT_FALSE(Served(20, 20));
  EXPECT_FALSE(Served(21, 22));
  EXPECT_EQ(shapes_.Report().size(), 1u);
  EXPECT_TRUE(Served(22, 21));
  EXPECT_EQ(compiler_->made, 2);
}

TEST_F(GeneralShapesTest, NotEndlessly) {
  compiler_->least = 20;
  compiler_->limit = 23;
  // All pairs of four sizes: the third, the sixth and the twelfth signature ask.
  for (int64_t i = 0; i < 16; ++i) EXPECT_FALSE(Served(20 + i % 4, 20 + (i + i / 4) % 4));
  EXPECT_EQ(compiler_->made, 3);
}

TEST_F(GeneralShapesTest, TheReportLeavesOutWhatIsAlwaysTheSame) {
  compiler_->least = 20;
  compiler_->limit = 22;
  for (int64_t i = 0; i < 3; ++i) {
    const std::vector<ClusterArg> args = {{DT_FLOAT, {20 + i, 22 - i}}, {DT_FLOAT, {4}}, {DT_FLOAT, {5, 6}}};
    const std::shared_ptr<GeneralShapes::Group> group = shapes_.Find(args);
    bool compiled = false;
    if (!group->wanted) continue;
    EXPECT_FALSE(shapes_.GetCode(args, group, {}, /*may_compile=*/true, &compiled).ok());
  }
  ASSERT_EQ(shapes_.Report().size(), 1u);
  EXPECT_EQ(shapes_.Report()[0].rfind("(float32[a,b], …): no code for all sizes: ", 0), 0u) << shapes_.Report()[0];
}

}  // namespace
}  // namespace xc
