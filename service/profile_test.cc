// Profiles of compiled programs: what is told, what it comes to, and that it costs nothing where it is off.
#include "service/profile.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "service/client.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

// A product, a kernel, and a loop of products.
constexpr char kModule[] = R"(HloModule profiled
less { s = (s32[], f32[256,256]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT }
next { s = (s32[], f32[256,256]) parameter(0) i = s32[] get-tuple-element(s), index=0 o = s32[] constant(1)
  j = s32[] add(i, o) x = f32[256,256] get-tuple-element(s), index=1
  inner = f32[256,256] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="turn" source_file="m.py" source_line=7}
  ROOT t = (s32[], f32[256,256]) tuple(j, inner) }
ENTRY e { a = f32[256,256] parameter(0)
  outer = f32[256,256] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  kernel = f32[256,256] tanh(outer) z = s32[] constant(0) t = (s32[], f32[256,256]) tuple(z, kernel)
  turns = (s32[], f32[256,256]) while(t), condition=less, body=next
  ROOT r = f32[256,256] get-tuple-element(turns), index=1 }
)";

struct Profiled {
  std::shared_ptr<const Executable> executable;
  std::vector<Literal> outputs;
  std::unique_ptr<RunProfile> run;
  std::vector<Timeline::Span> compiled;
};

Profiled RunProfiled(int runs, size_t most_events = RunProfile::kMostEvents, bool profile = true) {
  Profiled out;
  CompileOptions options;
  options.profile = profile;
  Timeline timeline;
  options.timeline = &timeline;
  auto module = ParseModule(kModule);
  EXPECT_TRUE(module.ok()) << module.status();
  auto executable = Client::Default()->Compile(*std::move(module), "cpu", options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  out.executable = *executable;
  out.compiled = timeline.spans();
  Literal input(out.executable->parameter_leaves()[0]);
  for (int64_t i = 0; i < input.size(); ++i) input.SetDouble(i, 0.001 * static_cast<double>(i % 7));
  out.run = std::make_unique<RunProfile>(out.executable->profile_sites().size(), most_events);
  RunOptions run;
  run.executor = DefaultExecutor();
  run.profile = out.run.get();
  for (int i = 0; i < runs; ++i) {
    auto results = RunOnLiterals(*out.executable, {&input}, run);
    EXPECT_TRUE(results.ok()) << results.status();
    out.outputs = *std::move(results);
  }
  return out;
}

const Profile::Row* Find(const Profile& profile, absl::string_view kind, int64_t count) {
  for (const Profile::Row& row : profile.rows()) {
    if (row.site.kind == kind && row.count == count) return &row;
  }
  return nullptr;
}

TEST(ProfileTest, TellsKernelsLibraryCallsAndLoops) {
  const Profiled run = RunProfiled(2);
  const Profile profile("profiled", run.executable->profile_sites(), *run.run, run.compiled, {1000, 20});
  const Profile::Row* outer = Find(profile, "library", 2);
  const Profile::Row* inner = Find(profile, "library", 6);
  const Profile::Row* loop = Find(profile, "loop", 2);
  ASSERT_NE(outer, nullptr) << profile.Table();
  ASSERT_NE(inner, nullptr) << profile.Table();
  ASSERT_NE(loop, nullptr) << profile.Table();
  EXPECT_NE(Find(profile, "kernel", 2), nullptr) << profile.Table();
  EXPECT_EQ(outer->flops, 2 * 2.0 * 256 * 256 * 256);
  EXPECT_EQ(inner->flops, 6 * 2.0 * 256 * 256 * 256);
  EXPECT_EQ(inner->site.source, "m.py:7");
  EXPECT_EQ(loop->iterations, 6);
  // A loop lasts longer than what is in it, and has no part of that for itself.
  EXPECT_GE(loop->total_ms, inner->total_ms);
  EXPECT_LE(loop->self_ms, loop->total_ms - inner->total_ms + 1e-6);
  double self = 0;
  for (const Profile::Row& row : profile.rows()) self += row.self_ms;
  EXPECT_LE(self, 2 * profile.run_ms() + 1e-6);
}

TEST(ProfileTest, TraceIsJsonWithThreadsAndFacts) {
  const Profiled run = RunProfiled(1);
  const Profile profile("a \"name\"", run.executable->profile_sites(), *run.run, run.compiled, {1000, 20});
  google::protobuf::Struct trace, table;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(profile.Trace(), &trace).ok()) << profile.Trace();
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(profile.TableJson(), &table).ok());
  int compiling = 0, running = 0, threads = 0, with_source = 0;
  for (const auto& value : trace.fields().at("traceEvents").list_value().values()) {
    const auto& event = value.struct_value().fields();
    threads += event.at("name").string_value() == "thread_name";
    if (event.at("ph").string_value() != "X") continue;
    EXPECT_GE(event.at("ts").number_value(), 0);
    EXPECT_GE(event.at("dur").number_value(), 0);
    (event.at("pid").number_value() == 1 ? compiling : running) += 1;
    with_source += event.at("args").struct_value().fields().count("source");
  }
  EXPECT_GT(compiling, 10);  // passes, LLVM's units, linking
  EXPECT_GE(running, 1 + 1 + 1 + 1 + 3);
  EXPECT_GE(with_source, 3);
  EXPECT_GE(threads, 2);
  EXPECT_THAT(profile.Roofline(), HasSubstr("GFLOP/s, measured"));
}

TEST(ProfileTest, BeyondTheLimitOnlySumsAreKept) {
  const Profiled run = RunProfiled(4, /*most_events=*/3);
  EXPECT_EQ(run.run->events().size(), 3u);
  EXPECT_GT(run.run->dropped(), 0);
  const Profile profile("profiled", run.executable->profile_sites(), *run.run, {}, {1000, 20});
  EXPECT_NE(Find(profile, "library", 12), nullptr) << profile.Table();
  EXPECT_THAT(profile.Table(), HasSubstr("The trace leaves out"));
}

TEST(ProfileTest, ChangesNoResultAndCostsNothingWhereItIsOff) {
  const Profiled on = RunProfiled(1), off = RunProfiled(1, RunProfile::kMostEvents, /*profile=*/false);
  EXPECT_TRUE(off.executable->profile_sites().empty());
  EXPECT_EQ(off.run->runs(), 0);
  ASSERT_EQ(on.outputs.size(), 1u);
  EXPECT_EQ(std::string(on.outputs[0].bytes(), on.outputs[0].bytes() + on.outputs[0].byte_size()),
            std::string(off.outputs[0].bytes(), off.outputs[0].bytes() + off.outputs[0].byte_size()));
  for (const char* text : {"xc_rt_profile"}) {
    CompileOptions options;
    options.keep_texts = true;
    auto module = ParseModule(kModule);
    auto plain = Client::Default()->Compile(*std::move(module), "cpu", options);
    ASSERT_TRUE(plain.ok());
    EXPECT_THAT((*plain)->Text("llvm_ir"), testing::Not(HasSubstr(text)));
  }
}

TEST(CeilingsTest, AreMeasured) {
  auto ceilings = MeasureCeilings(1);
  ASSERT_TRUE(ceilings.ok()) << ceilings.status();
  EXPECT_GT(ceilings->gflops, 0.1);
  EXPECT_GT(ceilings->gbps, 0.1);
}

}  // namespace
}  // namespace xc
