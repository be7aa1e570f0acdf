// The files that XLA's options for dumps ask for.
#include "service/pjrt/xla_dumps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/read_file.h"
#include "importers/io.h"
#include "service/files.h"

namespace xc::pjrt {
namespace {

constexpr char kModule[] = R"(HloModule jit_f

ENTRY main {
  x = f32[3] parameter(0)
  ROOT y = f32[3] add(x, x)
}
)";

std::string NewDirectory(absl::string_view name) { return absl::StrCat(testing::TempDir(), "/xla_dumps_", name); }

std::vector<std::string> DumpTo(const pb::CompileOptionsProto& options, const std::string& directory) {
  auto module = ReadModule(kModule);
  EXPECT_TRUE(module.ok()) << module.status();
  const auto dump = DumpOf(options, (*module)->name());
  EXPECT_TRUE(dump.ok()) << dump.status();
  DumpModule(*dump, "before_optimizations", **module);
  if (!IsDirectory(directory)) return {};
  std::vector<std::string> stages;
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(directory);
  EXPECT_TRUE(names.ok()) << names.status();
  for (const std::string& name : *names) {
    EXPECT_TRUE(absl::StartsWith(name, "module_")) << name;
    stages.push_back(name.substr(sizeof("module_0000.") - 1));
    const auto read = ReadModuleFile(absl::StrCat(directory, "/", name));
    EXPECT_TRUE(read.ok()) << name << ": " << read.status();
  }
  return stages;
}

TEST(XlaDumps, WriteTextWhereNothingElseIsAskedFor) {
  const std::string directory = NewDirectory("text");
  pb::CompileOptionsProto options;
  (*options.mutable_env_option_overrides())["xla_dump_to"].set_string_field(directory);
  EXPECT_THAT(DumpTo(options, directory), testing::ElementsAre("jit_f.before_optimizations.txt"));
}

TEST(XlaDumps, WriteProtosAndHeedFlags) {
  const std::string directory = NewDirectory("proto");
  pb::CompileOptionsProto options;
  auto* const flags = options.mutable_executable_build_options()->mutable_debug_options();
  flags->set_xla_dump_to(directory);
  flags->set_xla_dump_hlo_as_proto(true);
  EXPECT_THAT(DumpTo(options, directory), testing::ElementsAre("jit_f.before_optimizations.hlo.pb"));
}

TEST(XlaDumps, ChooseModulesByName) {
  const std::string directory = NewDirectory("names");
  pb::CompileOptionsProto options;
  (*options.mutable_env_option_overrides())["xla_dump_to"].set_string_field(directory);
  pb::OptionOverrideProto& names = (*options.mutable_env_option_overrides())["xla_dump_hlo_module_re"];
  names.set_string_field("jit_g");
  EXPECT_THAT(DumpTo(options, directory), testing::IsEmpty());
  names.set_string_field("jit_[");
  EXPECT_EQ(DumpOf(options, "jit_f").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(XlaDumps, DoNotFailWhereNothingCanBeWritten) {
  pb::CompileOptionsProto options;
  (*options.mutable_env_option_overrides())["xla_dump_to"].set_string_field("/proc/nowhere");
  EXPECT_THAT(DumpTo(options, "/proc/nowhere"), testing::IsEmpty());
}

}  // namespace
}  // namespace xc::pjrt
