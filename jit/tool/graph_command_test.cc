// The sample graphs, all cases, clustered and op by op: right, one compilation per shape.
#include "jit/tool/graph_command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace xc {
namespace {

class Graphs : public testing::TestWithParam<const char*> {};

TEST_P(Graphs, RightInBothModes) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || !std::filesystem::is_directory(data)) GTEST_SKIP() << "XC_DATA is not set";
  for (const char* mode : {"jit", "host"}) {
    GraphCommandOptions options;
    options.path = std::string(data) + "/graphs/" + GetParam();
    options.mode = mode;
    options.runs = 2;
    testing::internal::CaptureStdout();
    EXPECT_EQ(RunGraphCommand(options), 0) << mode;
    std::string text = testing::internal::GetCapturedStdout();
    EXPECT_NE(text.find("case1: right"), std::string::npos) << text;
    if (mode == std::string("jit")) {
      EXPECT_EQ(text.find("fallback"), std::string::npos) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Graphs,
                         testing::Values("mlp", "convnet", "dlrm", "mixed_host_ops", "control_flow", "mlp_train_step",
                                         "encoder", "lstm", "mobilenet_v2"));

TEST(GraphCommand, BadInputGivesStatus2) {
  GraphCommandOptions options;
  options.path = "no_such_graph.pb";
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunGraphCommand(options), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot read no_such_graph.pb"), std::string::npos);
  options.mode = "fast";
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunGraphCommand(options), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("--mode must be jit or host"), std::string::npos);
}

}  // namespace
}  // namespace xc
