// The sample programs run without the interpreter: every instruction has native code. Loops keep scalars in registers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "backends/backend.h"
#include "backends/cpu/backend.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

std::string Evaluated(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  auto module = ParseModule(text.str());
  if (!module.ok()) return module.status().ToString();
  auto executable = CpuBackend()->Compile(*std::move(module), {});
  return executable.ok() ? (*executable)->Text("evaluated") : executable.status().ToString();
}

TEST(NativeCode, SamplePrograms) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "no sample data (XC_DATA)";
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(data) + "/programs")) {
    if (entry.path().extension() != ".hlo") continue;
    EXPECT_EQ(Evaluated(entry.path()), "") << entry.path().stem();
    ++programs;
  }
  EXPECT_GE(programs, 40);
}

std::string CodeOf(const std::string& hlo, const std::string& name) {
  auto module = ParseModule(hlo);
  if (!module.ok()) return module.status().ToString();
  CompileOptions options;
  options.keep_texts = true;
  auto executable = CpuBackend()->Compile(*std::move(module), options);
  return executable.ok() ? (*executable)->Text(name) : executable.status().ToString();
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Functions that only one side of a selection takes are left out where no lane wants them.
TEST(NativeCode, SelectedFunctionsAreInBranches) {
  const std::string head = R"(HloModule m
ENTRY e { x = f32[4096] parameter(0) z = f32[] constant(0.3) zs = f32[4096] broadcast(z), dimensions={}
  p = pred[4096] compare(x, zs), direction=LT
  u = f32[4096] sine(x) s = f32[4096] exponential(u) )";
  EXPECT_EQ(Count(CodeOf(head + "ROOT r = f32[4096] select(p, s, x) }", "llvm_ir"), "\ninside"), 1);
  EXPECT_EQ(Count(CodeOf(head + "t = f32[4096] select(p, s, x) ROOT r = f32[4096] add(s, t) }", "llvm_ir"), "\ninside"),
            0);
  // One function alone takes hardly longer than a branch.
  EXPECT_EQ(Count(CodeOf(head + "ROOT r = f32[4096] select(p, u, x) }", "llvm_ir"), "\ninside"), 0);
}

// Windows of a few elements are written one after the other, without loops along them.
TEST(NativeCode, ShortWindowsOfScattersHaveNoLoops) {
  const std::string code = CodeOf(R"(HloModule m
set { a = s32[] parameter(0) ROOT b = s32[] parameter(1) }
ENTRY e { x = s32[1000,3] parameter(0) i = s32[200,1] parameter(1) u = s32[200,3] parameter(2)
  ROOT r = s32[1000,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=set })",
                                  "llvm_ir");
  EXPECT_EQ(Count(code, "\nscatter.body"), 1) << code;
  EXPECT_EQ(Count(code, "\nvectors.body") + Count(code, "\nrest.body"), 0) << code;
}

// Two elements, and few products of 64 bits, are no vectors in a loop that does little else.
TEST(NativeCode, FewElementsAreScalars) {
  const std::string loop = R"(HloModule m
c { s = (s32[], TYPE, TYPE) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(99)
  ROOT r = pred[] compare(i, n), direction=LT }
b { s = (s32[], TYPE, TYPE) parameter(0) i = s32[] get-tuple-element(s), index=0
  x = TYPE get-tuple-element(s), index=1 y = TYPE get-tuple-element(s), index=2
  one = s32[] constant(1) j = s32[] add(i, one) p = TYPE multiply(x, y) z = TYPE subtract(p, x)
  ROOT r = (s32[], TYPE, TYPE) tuple(j, z, y) }
ENTRY e { x = TYPE parameter(0) y = TYPE parameter(1) i = s32[] constant(0) s = (s32[], TYPE, TYPE) tuple(i, x, y)
  w = (s32[], TYPE, TYPE) while(s), condition=c, body=b ROOT r = TYPE get-tuple-element(w), index=1 })";
  const auto code = [&](const std::string& type) {
    return CodeOf(absl::StrReplaceAll(loop, {{"TYPE", type}}), "llvm_ir");
  };
  EXPECT_EQ(Count(code("f64[2]"), "fmul double"), 2);
  EXPECT_EQ(Count(code("s64[8]"), "mul i64"), 8);
  EXPECT_EQ(Count(code("s32[8]"), "mul i32"), 0);
  EXPECT_EQ(Count(code("f64[4]"), "fmul double"), 0);
}

TEST(NativeCode, ScalarsOfLoopsStayInRegisters) {
  auto module = ParseModule(R"(HloModule m
c { s = (s32[], f32[], f32[99]) parameter(0) i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(99) ROOT r = pred[] compare(i, n), direction=LT }
b { s = (s32[], f32[], f32[99]) parameter(0) i = s32[] get-tuple-element(s), index=0
  a = f32[] get-tuple-element(s), index=1 x = f32[99] get-tuple-element(s), index=2
  d = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1} e = f32[] reshape(d) t = f32[] multiply(a, e)
  one = s32[] constant(1) j = s32[] add(i, one) ROOT r = (s32[], f32[], f32[99]) tuple(j, t, x) }
ENTRY e { p = f32[99] parameter(0) i = s32[] constant(0) a = f32[] parameter(1) x = f32[99] negate(p)
  s = (s32[], f32[], f32[99]) tuple(i, a, x) w = (s32[], f32[], f32[99]) while(s), condition=c, body=b
  ROOT r = f32[] get-tuple-element(w), index=1 })");
  ASSERT_TRUE(module.ok()) << module.status();
  CompileOptions options;
  options.keep_texts = true;
  auto executable = CpuBackend()->Compile(*std::move(module), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const std::string code = (*executable)->Text("llvm_ir_optimized");
  const size_t body = code.find("\nwhile.body:");
  ASSERT_NE(body, std::string::npos) << code;
  const std::string block = code.substr(body, code.find("\n\n", body) - body);
  EXPECT_NE(block.find("fmul"), std::string::npos) << block;
  EXPECT_NE(block.find("br i1"), std::string::npos) << block;
  EXPECT_EQ(block.find("store"), std::string::npos) << block;
}

}  // namespace
}  // namespace xc
