// Options as text: what is taken, and what is refused and why.
#include "service/option_text.h"

#include "gtest/gtest.h"

namespace xc {
namespace {

TEST(OptionText, TakesWhatTheHeaderLists) {
  const auto options = ParseOptionText(
      "platform=interpreter\n\ncpu=x86-64-v3\ndisabled_passes=a,,b\nuntil_pass=c\nexcess_precision=1\ndump_to=d="
      "e\ncache_dir=f\n"
      "cache_dir_bytes=5\nkeep_texts=1\nmax_memory_bytes=6\nmax_instructions=7\ncompile_threads=8\n"
      "compile_timeout_s=9\nmax_nesting=10\nargument_shapes=f32[8,4], [2] ,[]");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->platform, "interpreter");
  EXPECT_EQ(options->dump_to, "d=e");
  EXPECT_EQ(options->parse.max_nesting, 10);
  const CompileOptions& compile = options->compile;
  EXPECT_EQ(compile.cpu, "x86-64-v3");
  EXPECT_EQ(compile.disabled_passes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(compile.until_pass, "c");
  EXPECT_TRUE(compile.excess_precision);
  EXPECT_EQ(compile.cache_dir, "f");
  EXPECT_EQ(compile.cache_dir_bytes, 5);
  EXPECT_TRUE(compile.keep_texts);
  EXPECT_EQ(compile.max_memory_bytes, 6);
  EXPECT_EQ(compile.max_instructions, 7);
  EXPECT_EQ(compile.compile_threads, 8);
  EXPECT_LT(compile.deadline, absl::InfiniteFuture());
  ASSERT_EQ(options->argument_shapes.size(), 3u);
  EXPECT_EQ(options->argument_shapes[0], Shape(ElementType::kF32, {8, 4}));
  EXPECT_EQ(options->argument_shapes[1], Shape(ElementType::kInvalid, {2}));
  const auto shape = [&](int64_t argument) {
    return options->parse.argument_shape(argument, Shape(ElementType::kS8, {}));
  };
  EXPECT_EQ(*shape(0), Shape(ElementType::kF32, {8, 4}));
  EXPECT_EQ(*shape(1), Shape(ElementType::kS8, {2}));
  EXPECT_EQ(*shape(2), Shape(ElementType::kS8, {}));
  EXPECT_EQ(shape(3).status().message(), "only 3 shapes are given");
  EXPECT_EQ(ParseOptionText("")->platform, "cpu");
}

TEST(OptionText, RefusesTheRest) {
  const auto error = [](const char* text) { return std::string(ParseOptionText(text).status().message()); };
  for (const char* line : {"colour=red", "excess_precision=yes", "compile_threads", "compile_threads=4294967297",
                           "max_instructions=many", "keep_texts=", "=", "max_nesting=99999999999999999999"}) {
    EXPECT_EQ(error(line), "unknown option or value: '" + std::string(line) + "'; service/xc.h lists them");
  }
  EXPECT_EQ(error("max_nesting=501"), "max_nesting is 501; it may be 1 to 500");
  for (const char* shapes : {"", "[2", "[-1]", "[<=2]", "[?]", "(f32[2])", "[x]", "f33[2]", "[2],", "token[]", "]"}) {
    EXPECT_TRUE(error(("argument_shapes=" + std::string(shapes)).c_str()).starts_with("expected shapes of arguments"))
        << shapes;
  }
  EXPECT_EQ(error("argument_shapes=[2] [3]"), "expected `,` between shapes of arguments, found '[3]'");
}

TEST(OptionText, BundlesNameNoFiles) {
  CompileOptions options;
  options.cpu = "x86-64-v2";
  options.disabled_passes = {"a", "b"};
  options.until_pass = "c";
  options.excess_precision = true;
  options.emulate = true;
  options.gpu_libraries = false;
  const auto read = ParseBundleOptions(BundleOptionText("interpreter", options));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->platform, "interpreter");
  EXPECT_EQ(read->compile.KeyText(), options.KeyText());
  for (const char* line : {"dump_to=d", "cache_dir=c", "keep_texts=1", "build"}) {
    EXPECT_EQ(ParseBundleOptions(line).status().message(), "unknown line '" + std::string(line) + "'");
  }
}

}  // namespace
}  // namespace xc
