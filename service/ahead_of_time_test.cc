// Programs compiled ahead of time give the bits that the compiler's own executables give.
#include "service/ahead_of_time.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "service/client.h"
#include "service/inputs.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

std::vector<std::string> RunOn(const Executable& executable, int threads = 0) {
  std::vector<Literal> inputs;
  std::vector<const Literal*> pointers;
  for (const Shape& leaf : executable.parameter_leaves()) {
    inputs.push_back(MakeInput(static_cast<int64_t>(inputs.size()), leaf));
  }
  for (const Literal& input : inputs) pointers.push_back(&input);
  RunOptions options;
  options.executor = DefaultExecutor();
  options.thread_limit = threads;
  auto outputs = RunOnLiterals(executable, pointers, options);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<std::string> bytes;
  if (!outputs.ok()) return bytes;
  for (const Literal& output : *outputs) {
    bytes.push_back(output.shape().ToString() + std::string(output.bytes(), output.bytes() + output.byte_size()));
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<Executable>> Load(const std::string& program) {
  auto bytes = ProgramBytes::Of(program);
  EXPECT_TRUE(bytes.ok());
  return LoadExecutable(*std::move(bytes));
}

void SameAhead(absl::string_view text) {
  const auto module = Parse(text);
  for (const char* cpu : AheadOfTimeCpus()) {
    CompileOptions options;
    options.cpu = cpu;
    const auto compiled = Client::Default()->Compile(module->Clone(), "cpu", options);
    if (!compiled.ok()) continue;  // this machine is no such processor
    const auto program = CompileAheadOfTime(*module, {}, {cpu});
    ASSERT_TRUE(program.ok()) << program.status();
    const auto loaded = Load(*program);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(RunOn(**loaded), RunOn(**compiled)) << cpu;
    EXPECT_EQ(RunOn(**loaded, 1), RunOn(**compiled)) << cpu;
  }
}

TEST(AheadOfTimeTest, KernelsProductsAndConstants) {
  SameAhead(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[64,256] parameter(0) w = f32[256,128] parameter(1)
  c = f32[4] constant({1, 2, 3, 4}) b = f32[64,4] broadcast(c), dimensions={1}
  p = f32[64,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,128] tanh(p) q = f32[64,128] power(t, t) z = f32[] constant(0)
  r = f32[64] reduce(q, z), dimensions={1}, to_apply=add ROOT o = (f32[64,128], f32[64], f32[64,4]) tuple(t, r, b) })");
}

TEST(AheadOfTimeTest, LoopsSortsConvolutionsAndTransforms) {
  SameAhead(R"(HloModule m
less { s = (s32[], f32[32]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(5) ROOT l = pred[] compare(i, n), direction=LT }
next { s = (s32[], f32[32]) parameter(0) i = s32[] get-tuple-element(s), index=0 o = s32[] constant(1) j = s32[] add(i, o)
  x = f32[32] get-tuple-element(s), index=1 y = f32[32] cosine(x) ROOT t = (s32[], f32[32]) tuple(j, y) }
lower { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[32] parameter(0) im = f32[1,8,8,3] parameter(1) k = f32[3,3,3,4] parameter(2) z = s32[] constant(0)
  t = (s32[], f32[32]) tuple(z, x) w = (s32[], f32[32]) while(t), condition=less, body=next
  y = f32[32] get-tuple-element(w), index=1 s = f32[32] sort(y), dimensions={0}, to_apply=lower
  c = f32[1,6,6,4] convolution(im, k), window={size=3x3}, dim_labels=b01f_01io->b01f
  f = c64[17] fft(x), fft_type=RFFT, fft_length={32} g = c64[17] exponential(f)
  ROOT o = (f32[32], f32[1,6,6,4], c64[17]) tuple(s, c, g) })");
}

TEST(AheadOfTimeTest, ArraysOfRunTimeSizes) {
  SameAhead(R"(HloModule m
ENTRY e { x = s32[3,4] iota(), iota_dimension=1 n = s32[] parameter(0)
  y = s32[3,<=4] set-dimension-size(x, n), dimensions={1} ROOT z = s32[3,<=4] negate(y) })");
}

TEST(AheadOfTimeTest, OneFileForSeveralProcessors) {
  const auto module = Parse("HloModule m\nENTRY e { x = f32[1000] parameter(0) ROOT y = f32[1000] exponential(x) }");
  const auto program = CompileAheadOfTime(*module, {}, {"x86-64-v4", "x86-64-v2", "x86-64-v3", "x86-64-v2"});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto file = ReadProgramFile(*program);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->variants.size(), 3u);
  EXPECT_EQ(file->variants[0].cpu, "x86-64-v4");
  EXPECT_EQ(file->variants[2].cpu, "x86-64-v2");
  const auto loaded = Load(*program);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(RunOn(**loaded).size(), 1u);
}

TEST(AheadOfTimeTest, RefusesWhatOnlyTheInterpreterRuns) {
  const auto module = Parse(R"(HloModule m
most { p = f32[] parameter(0) q = f32[] parameter(1) ROOT m = f32[] maximum(p, q) }
spread { p = f32[] parameter(0) q = f32[] parameter(1) b = f32[2] broadcast(p), dimensions={}
  i = f32[2] iota(), iota_dimension=0 s = f32[2] multiply(b, i)
  ROOT m = f32[] reduce(s, q), dimensions={0}, to_apply=most }
ENTRY e { x = f32[8] parameter(0) z = f32[] constant(0)
  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=spread })");
  const auto program = CompileAheadOfTime(*module, {}, {"x86-64-v2"});
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("there is no native code for reduce"));
  EXPECT_THAT(std::string(CompileAheadOfTime(*module, {}, {"i386"}).status().message()), HasSubstr("unknown CPU"));
}

TEST(AheadOfTimeTest, ObjectsAndHeaders) {
  const auto module = Parse("HloModule m\nENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] negate(x) }");
  const auto program = CompileAheadOfTime(*module, {}, {"x86-64-v2"});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto object = ProgramObject("negate", *program);
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->substr(1, 3), "ELF");
  const auto header = ProgramHeader("negate", *program);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_THAT(*header, HasSubstr("negate_run(const xc_executable* program, const float* input0, float* output0"));
  EXPECT_FALSE(ProgramObject("no-name", *program).ok());
}

}  // namespace
}  // namespace xc
