// Programs compiled ahead of time give the bits that the compiler's own executables give.
#include "service/ahead_of_time.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/base/status.h"
#include "hlo/symbolic.h"
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
  EXPECT_THAT(file->cpus, testing::ElementsAre("x86-64-v4", "x86-64-v3", "x86-64-v2"));
  const auto loaded = Load(*program);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(RunOn(**loaded).size(), 1u);
}

// Whether arrays of floats, as RunOn gives them, are nearly the same: code for several sizes may add in another order.
bool Near(const std::vector<std::string>& a, const std::vector<std::string>& b, const std::vector<size_t>& elements) {
  if (a.size() != elements.size() || b.size() != elements.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t bytes = elements[i] * sizeof(float);
    if (a[i].size() != b[i].size() || a[i].size() < bytes) return false;
    if (a[i].substr(0, a[i].size() - bytes) != b[i].substr(0, b[i].size() - bytes)) return false;
    for (size_t at = a[i].size() - bytes; at < a[i].size(); at += sizeof(float)) {
      float x, y;
      std::memcpy(&x, &a[i][at], sizeof(x));
      std::memcpy(&y, &b[i][at], sizeof(y));
      if (!(std::abs(x - y) <= 1e-5f * std::max(1.0f, std::abs(y)))) return false;
    }
  }
  return true;
}

// A program for sizes from 1 to 24, and 7 once more with code of its own.
constexpr char kForAll[] = R"(HloModule m, symbols={b=1..24, n=64..64:64}
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[$b,$n] parameter(0) w = f32[$n,$(2*b)] parameter(1)
  p = f32[$b,$(2*b)] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[$b,$(2*b)] tanh(p) z = f32[] constant(0) s = f32[$b] reduce(t, z), dimensions={1}, to_apply=add
  i = f32[$b] iota(), iota_dimension=0 r = f32[$b] multiply(s, i)
  ROOT o = (f32[$b,$(2*b)], f32[$b]) tuple(t, r) })";

SizesAhead ForAll(const SymbolicText& text, int64_t count) {
  SizesAhead sizes;
  sizes.own.push_back([&text] { return text.BindModule({{"b", 7}, {"n", 64}}); });
  SizesAhead::Range& range = sizes.ranges.emplace_back();
  range.count = count;
  range.module = [&text](int64_t i) { return text.BindModule({{"b", i + 1}, {"n", 64}}); };
  range.sample = [](int which) {
    std::string wide(kForAll);
    wide.replace(wide.find("b=1..24"), 7, "b");
    return SymbolicText::Parse(wide)->BindModule({{"b", std::vector<int64_t>{131, 509, 3, 128, 12}[which]}, {"n", 64}});
  };
  return sizes;
}

TEST(AheadOfTimeTest, OneFileForSeveralSizes) {
  const auto text = SymbolicText::Parse(kForAll);
  ASSERT_TRUE(text.ok()) << text.status();
  const std::string cpu = *BestCpuHere();
  AheadStats stats;
  const auto program = CompileAheadOfTime(ForAll(*text, 24), {}, {cpu, "x86-64-v2"}, &stats);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_GE(stats.general, 20) << stats.refusal;
  EXPECT_EQ(stats.general + stats.own, 25);
  const auto loaded = Load(*program);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(NumSizes(**loaded), 25);
  EXPECT_EQ((*loaded)->parameter_leaves()[0].dim(0), 7);  // the first that was asked for
  EXPECT_EQ(NumSizes(**AtSizes(**loaded, 3)), 25);
  CompileOptions options;
  options.cpu = cpu;
  for (int64_t b = 1; b <= 24; ++b) {
    const auto own = Client::Default()->Compile(*text->BindModule({{"b", b}, {"n", 64}}), "cpu", options);
    ASSERT_TRUE(own.ok()) << own.status();
    const auto sized = ForSizes(**loaded, {b, 64, 64, 2 * b});
    ASSERT_TRUE(sized.ok()) << sized.status();
    const size_t n = b;
    EXPECT_TRUE(Near(RunOn(**sized), RunOn(**own), {2 * n * n, n})) << b;
    EXPECT_EQ(RunOn(**sized), RunOn(**sized, 1)) << b;
    if (b == 7) {  // it has code of its own
      EXPECT_EQ(RunOn(**sized), RunOn(**own));
    }
  }
  EXPECT_EQ(ForSizes(**loaded, {25, 64, 64, 50}).status().message(),
            "dimension 0 of input 0 is 25; the program was compiled for 1 to 24");
  EXPECT_THAT(std::string(ForSizes(**loaded, {3, 64, 64, 7}).status().message()),
              HasSubstr("dimension 1 of input 1 is 7; the program was compiled for 6 there"));
  EXPECT_FALSE(ForSizes(**Client::Default()->Compile(*text->BindModule({{"b", 2}, {"n", 64}}), "cpu", {}), {}).ok());
}

TEST(AheadOfTimeTest, ManySizesTakeLittleSpace) {
  const auto text = SymbolicText::Parse(kForAll);
  const auto few = CompileAheadOfTime(ForAll(*text, 12), {}, {"x86-64-v2"});
  const auto more = CompileAheadOfTime(ForAll(*text, 24), {}, {"x86-64-v2"});
  ASSERT_TRUE(few.ok() && more.ok());
  EXPECT_LT(more->size() - few->size(), 12 * 256u);
}

TEST(AheadOfTimeTest, SaysWhichProgramsPrepareProducts) {
  const auto prepares = [](const std::string& body) {
    const auto program = CompileAheadOfTime(*Parse("HloModule m\nENTRY e {" + body + "}"), {}, {"x86-64-v2"});
    EXPECT_TRUE(program.ok()) << program.status();
    return ReadProgramFile(*program)->Sizes(0)->variants[0].prepares_products;
  };
  const auto dot = [](int m, int k, int n) {
    return absl::StrCat("a = f32[", m, ",", k, "] parameter(0) b = f32[", k, ",", n, "] parameter(1) ROOT c = f32[", m,
                        ",", n, "] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  };
  EXPECT_TRUE(prepares(dot(128, 256, 256)));
  EXPECT_FALSE(prepares(dot(1, 2048, 1000)));
  EXPECT_FALSE(prepares(dot(8, 8, 8)));
  EXPECT_TRUE(
      prepares("a = f32[1,28,28,256] parameter(0) w = f32[1,1,256,128] parameter(1) "
               "ROOT c = f32[1,28,28,128] convolution(a, w), window={size=1x1}, dim_labels=b01f_01io->b01f"));
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

// The sizes without an end of a text, with these pieces.
SizesAhead OpenRange(const SymbolicText& text, const std::vector<int64_t>& pieces) {
  const std::vector<Symbol>& symbols = text.symbols();
  const auto count = static_cast<int64_t>(pieces.size());
  const auto value = [pieces, count](int64_t i, size_t o) {
    for (; o > 0; --o) i /= count;
    return pieces[i % count];
  };
  const auto with = [&text, &symbols, value](int64_t i, size_t o, int64_t other) {
    SymbolValues values;
    for (size_t s = 0; s < symbols.size(); ++s) values[symbols[s].name] = s == o ? other : value(i, s);
    return text.BindModule(values);
  };
  SizesAhead sizes;
  SizesAhead::Range& range = sizes.ranges.emplace_back();
  range.count = 1;
  for (const Symbol& symbol : symbols) {
    range.count *= count;
    range.open.push_back({symbol.name, symbol.low, symbol.high, symbol.multiple, pieces, {int64_t{1} << 30, 1 << 20}});
  }
  range.module = [with](int64_t i) { return with(i, SIZE_MAX, 0); };
  range.sample = [&text](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    XC_ASSIGN_OR_RETURN(const SymbolValues values, text.Sample(which));
    return text.BindModule(values);
  };
  range.open_value = value;
  range.with = with;
  return sizes;
}

// Of sizes that nobody tried, the interpreter's numbers.
TEST(AheadOfTimeTest, OpenSizesAreComputedInPieces) {
  const auto layer = SymbolicText::Parse(R"(HloModule m, symbols={b}
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[$b,3,16] parameter(0) w = f32[16,24] parameter(1) ids = s32[$b] parameter(2) table = f32[7,24] parameter(3)
  f = f32[$(3*b),16] reshape(x)
  p = f32[$(3*b),24] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[$(3*b),24] tanh(p) g = f32[$b,24] gather(table, ids), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,24}
  r = f32[$b,3,24] reshape(t) gb = f32[$b,3,24] broadcast(g), dimensions={0,2} sum = f32[$b,3,24] add(r, gb)
  z = f32[] constant(0) s = f32[$b,3] reduce(sum, z), dimensions={2}, to_apply=add
  tr = f32[3,$b] transpose(s), dimensions={1,0} same = f32[24,16] transpose(w), dimensions={1,0}
  ROOT o = (f32[$(3*b),24], f32[3,$b], f32[24,16]) tuple(t, tr, same) })");
  const auto both = SymbolicText::Parse(R"(HloModule m, symbols={b, n}
ENTRY e { x = f32[$n,$b] parameter(0) y = f32[$n] parameter(1) yb = f32[$n,$b] broadcast(y), dimensions={0}
  m = f32[$n,$b] multiply(x, yb) ROOT e = f32[$n,$b] exponential(m) })");
  ASSERT_TRUE(layer.ok() && both.ok());
  const std::vector<int64_t> pieces = {1, 2, 3, 4, 8, 64};
  for (const SymbolicText* text : {&*layer, &*both}) {
    const auto program = CompileAheadOfTime(OpenRange(*text, pieces), {}, {"x86-64-v2"});
    ASSERT_TRUE(program.ok()) << program.status();
    const auto loaded = Load(*program);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    for (const int64_t b : {1, 3, 5, 63, 64, 65, 200, 1001}) {
      SymbolValues values = {{"b", b}};
      if (text == &*both) values["n"] = 1 + b % 97;
      const auto module = text->BindModule(values);
      ASSERT_TRUE(module.ok()) << module.status();
      std::vector<int64_t> key;
      for (const HloInstruction* p : (*module)->entry()->parameters()) {
        key.insert(key.end(), p->shape().dims().begin(), p->shape().dims().end());
      }
      const auto at = ForSizes(**loaded, key);
      ASSERT_TRUE(at.ok()) << at.status();
      const auto oracle = Client::Default()->Compile((*module)->Clone(), "interpreter", {});
      ASSERT_TRUE(oracle.ok()) << oracle.status();
      std::vector<size_t> elements;
      for (const Shape& leaf : (*at)->result_leaves()) elements.push_back(leaf.ElementCount());
      EXPECT_TRUE(Near(RunOn(**at), RunOn(**oracle), elements)) << b;
      EXPECT_EQ(RunOn(**at), RunOn(**at, 1)) << b;
    }
  }
}

TEST(AheadOfTimeTest, OpenSizesHaveToBeApart) {
  const auto error = [](absl::string_view body) {
    const auto text = SymbolicText::Parse(absl::StrCat("HloModule m, symbols={b}\n", body));
    EXPECT_TRUE(text.ok());
    return std::string(CompileAheadOfTime(OpenRange(*text, {1, 2, 4}), {}, {"x86-64-v2"}).status().message());
  };
  EXPECT_THAT(error("ENTRY e { x = f32[$b] parameter(0) ROOT y = f32[$b] reverse(x), dimensions={0} }"),
              HasSubstr("size b has no end, or too many values to try each, so that its elements have to be computed "
                        "apart from each other; but reverse 'y' moves elements of the batch: give it a range"));
  EXPECT_THAT(
      error("ENTRY e { x = f32[$b] parameter(0) i = f32[$b] iota(), iota_dimension=0 ROOT y = f32[$b] add(x, i) }"),
      HasSubstr("counts the elements"));
  EXPECT_THAT(error("ENTRY e { x = f32[] parameter(0) c = f32[] constant($b) ROOT y = f32[] add(x, c) }"),
              HasSubstr("has another value for a larger batch"));
  EXPECT_THAT(error("ENTRY e { x = f32[$(2*b)] parameter(0) ROOT y = f32[$(2*b)] negate(x) }"),
              HasSubstr("it is a dimension of no input"));
}

}  // namespace
}  // namespace xc
