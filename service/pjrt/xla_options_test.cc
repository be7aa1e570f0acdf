// Options by XLA's names: which there are, and which values they take.
#include "service/pjrt/xla_options.h"

#include <gtest/gtest.h>

namespace xc::pjrt {
namespace {

std::string Checked(const std::string& name, const pb::OptionOverrideProto& value) {
  const absl::Status status = CheckXlaOption(name, value);
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

pb::OptionOverrideProto Text(const std::string& text) {
  pb::OptionOverrideProto value;
  value.set_string_field(text);
  return value;
}
pb::OptionOverrideProto Flag(bool flag) {
  pb::OptionOverrideProto value;
  value.set_bool_field(flag);
  return value;
}
pb::OptionOverrideProto Number(int64_t number) {
  pb::OptionOverrideProto value;
  value.set_int_field(number);
  return value;
}

TEST(XlaOptions, TakeValuesOfTheirKind) {
  EXPECT_EQ(Checked("xla_embed_ir_in_executable", Flag(true)), "");
  EXPECT_EQ(Checked("xla_embed_ir_in_executable", Text("False")), "");
  EXPECT_EQ(Checked("xla_embed_ir_in_executable", Text("false")),
            "While setting option xla_embed_ir_in_executable, 'false' is not a valid bool value.");
  EXPECT_EQ(Checked("xla_step_marker_location", Text("0")), "");
  EXPECT_EQ(Checked("xla_embed_ir_in_executable", Text("maybe")),
            "While setting option xla_embed_ir_in_executable, 'maybe' is not a valid bool value.");
  EXPECT_EQ(Checked("xla_backend_optimization_level", Number(1)), "");
  EXPECT_EQ(Checked("xla_backend_optimization_level", Text("2")), "");
  EXPECT_EQ(Checked("xla_backend_optimization_level", Text("two")),
            "While setting option xla_backend_optimization_level, 'two' is not a valid int32 value.");
  EXPECT_EQ(Checked("xla_backend_optimization_level", Number(int64_t{1} << 40)),
            "While setting option xla_backend_optimization_level, '1099511627776' is not a valid int32 value.");
  EXPECT_EQ(Checked("xla_dump_to", Text("/tmp")), "");
  EXPECT_EQ(Checked("xla_disable_hlo_passes", Text("one,two")), "");
  EXPECT_EQ(Checked("xla_step_marker_location", Number(1)), "");
  EXPECT_EQ(Checked("xla_gpu_enable_command_buffer", Text("FUSION,WHILE")), "");
  EXPECT_EQ(Checked("xla_gpu_enable_command_buffer", Text("FUSION,nonsense")),
            "While setting option xla_gpu_enable_command_buffer, 'FUSION,nonsense' is not a valid enum value.");
}

TEST(XlaOptions, OthersAreRefused) {
  EXPECT_EQ(Checked("xla_no_such_option", Flag(true)), "No such compile option: 'xla_no_such_option'");
  EXPECT_EQ(Checked("", Flag(true)), "No such compile option: ''");
}

TEST(XlaOptions, AreTrueOrFalse) {
  EXPECT_TRUE(BoolOf(Flag(true)));
  EXPECT_FALSE(BoolOf(Flag(false)));
  EXPECT_TRUE(BoolOf(Text("True")));
  EXPECT_FALSE(BoolOf(Text("False")));
}

}  // namespace
}  // namespace xc::pjrt
