// Every step of a plan, run by itself, gives what the interpreter gives for the whole module: what a step reads, writes
// and means is all in the plan.
#include "tests/stepwise/stepwise_backend.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "hlo/testing/sample_modules.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"
#include "importers/io.h"
#include "service/client.h"
#include "service/compare.h"
#include "service/inputs.h"

namespace xc {
namespace {

absl::StatusOr<std::vector<Literal>> RunOn(Backend* backend, const HloModule& module, int64_t* evaluated = nullptr) {
  absl::StatusOr<std::unique_ptr<Executable>> executable = backend->Compile(module.Clone(), {});
  if (!executable.ok()) return executable.status();
  if (evaluated != nullptr) *evaluated = static_cast<int64_t>((*executable)->evaluated().size());
  std::vector<Literal> inputs;
  std::vector<const Literal*> pointers;
  for (const Shape& leaf : (*executable)->parameter_leaves()) {
    inputs.push_back(MakeInput(static_cast<int64_t>(inputs.size()), leaf));
  }
  for (const Literal& input : inputs) pointers.push_back(&input);
  return RunOnLiterals(**executable, pointers);
}

void ExpectSame(const HloModule& module, const std::string& name, int64_t evaluated = 0) {
  int64_t sites = -1;
  const auto actual = RunOn(StepwiseBackend(), module, &sites), expected = RunOn(InterpreterBackend(), module);
  ASSERT_TRUE(expected.ok()) << name << ": " << expected.status();
  ASSERT_TRUE(actual.ok()) << name << ": " << actual.status();
  EXPECT_EQ(sites, evaluated) << name;
  ASSERT_EQ(actual->size(), expected->size()) << name;
  for (size_t i = 0; i < actual->size(); ++i) {
    EXPECT_EQ(CompareNorm((*actual)[i], (*expected)[i]), "") << name << ", result " << i;
  }
}

void ExpectSameText(const char* text, int64_t evaluated = 0) {
  auto module = ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_TRUE(VerifyModule(**module).ok());
  ExpectSame(**module, text, evaluated);
}

TEST(Stepwise, LoopsAndBranches) {
  ExpectSameText(R"(HloModule m
yes { p = f32[8] parameter(0) ROOT n = f32[8] negate(p) }
no { p = f32[8] parameter(0) ROOT n = f32[8] cosine(p) }
cond { s = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1 one = s32[] constant(1) two = s32[] constant(2) j = s32[] add(i, one)
  r = s32[] remainder(i, two) z = s32[] constant(0) odd = pred[] compare(r, z), direction=NE
  y = f32[8] conditional(odd, x, x), true_computation=yes, false_computation=no
  ROOT t = (s32[], f32[8]) tuple(j, y) }
ENTRY e { x = f32[8] parameter(0) z = s32[] constant(0) init = (s32[], f32[8]) tuple(z, x)
  w = (s32[], f32[8]) while(init), condition=cond, body=body ROOT r = f32[8] get-tuple-element(w), index=1 })");
}

TEST(Stepwise, UpdatesInPlaceAndCopies) {
  ExpectSameText(R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
ENTRY e { x = f32[64,8] parameter(0) u = f32[2,8] parameter(1) i = s32[5,1] parameter(2) v = f32[5,8] parameter(3)
  one = s32[] constant(1) d = f32[64,8] dynamic-update-slice(x, u, one, one)
  s = f32[64,8] scatter(d, i, v), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=add
  n = f32[64,8] negate(x) c = f32[128,8] concatenate(s, n), dimensions={0}
  z = f32[] constant(0) r = f32[8] reduce(c, z), dimensions={0}, to_apply=add
  ROOT t = (f32[128,8], f32[8], f32[64,8]) tuple(c, r, x) })");
}

TEST(Stepwise, EvaluatesWhatHasNoCode) {
  ExpectSameText(R"(HloModule m
most { p = f32[] parameter(0) q = f32[] parameter(1) ROOT m = f32[] maximum(p, q) }
spread { p = f32[] parameter(0) q = f32[] parameter(1) b = f32[2] broadcast(p), dimensions={}
  i = f32[2] iota(), iota_dimension=0 s = f32[2] multiply(b, i)
  ROOT m = f32[] reduce(s, q), dimensions={0}, to_apply=most }
ENTRY e { x = f32[8] parameter(0) z = f32[] constant(0)
  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=spread })",
                 1);
}

// Sizes that only a run knows: cut by what all backends share.
TEST(Stepwise, Sizes) {
  ExpectSameText(R"(HloModule m
ENTRY e { x = f32[8] parameter(0) n = s32[] constant(3) y = f32[<=8] set-dimension-size(x, n), dimensions={0}
  ROOT r = f32[<=8] multiply(y, y) })");
}

TEST(Stepwise, SamplePrograms) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "no sample data (XC_DATA)";
  int programs = 0;
  // Those that the interpreter runs in a few seconds.
  for (const char* name :
       {"batched_small_matmul", "beam_search_topk", "conjugate_gradient", "embedding_bag_gradient", "gp_regression",
        "kmeans", "least_squares_qr", "ode_rk4", "scatter_updates_mixed", "switch_cond_tree", "viterbi"}) {
    auto module = ReadModuleFile(std::string(data) + "/programs/" + name + ".hlo");
    ASSERT_TRUE(module.ok()) << name << ": " << module.status();
    ExpectSame(**module, name);
    ++programs;
  }
  EXPECT_EQ(programs, 11);
}

// One in seventy of the conformance programs.
TEST(Stepwise, ConformancePrograms) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "no sample data (XC_DATA)";
  const std::vector<std::string> files = HloFiles(std::string(data) + "/hlo_conformance");
  int programs = 0;
  for (size_t i = 0; i < files.size(); i += 70) {
    auto module = ReadModuleFile(files[i]);
    if (!module.ok() || !VerifyModule(**module).ok()) continue;
    ExpectSame(**module, files[i]);
    ++programs;
  }
  EXPECT_GT(programs, 20);
}

}  // namespace
}  // namespace xc
