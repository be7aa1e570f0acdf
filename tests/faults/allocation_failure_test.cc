// Memory runs out at each of the first 10,000 allocations of a compilation and a run: every call gives an error of code
// 8 or does what it should, nothing ends the process, and afterwards all works as before.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "hlo/base/format.h"
#include "service/xc.h"
#include "tests/faults/failing_allocator.h"

namespace xc {
namespace {

constexpr int64_t kAllocations = 10'000;

// Fused arithmetic, a reduction, a sort, which calls the library, and a loop.
constexpr char kModule[] = R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), direction=LT }
more { s = (s32[], f32[6]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[6]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
  j = s32[] add(i, one) x = f32[6] get-tuple-element(s), index=1 d = f32[6] add(x, x)
  ROOT r = (s32[], f32[6]) tuple(j, d) }
ENTRY main {
  p = f32[6,5] parameter(0)
  e = f32[6,5] exponential(p)
  q = f32[6,5] multiply(e, p)
  zero = f32[] constant(0)
  rows = f32[6] reduce(q, zero), dimensions={1}, to_apply=add
  sorted = f32[6] sort(rows), dimensions={0}, to_apply=less
  start = s32[] constant(0)
  state = (s32[], f32[6]) tuple(start, sorted)
  loop = (s32[], f32[6]) while(state), condition=more, body=body
  ROOT out = f32[6] get-tuple-element(loop), index=1
})";

// "" for an error of memory; else what is wrong with it. Frees the status.
std::string CheckStatus(xc_status* status) {
  std::string wrong;
  if (xc_status_code(status) != 8 || *xc_status_message(status) == 0) {
    wrong = "code " + std::to_string(xc_status_code(status)) + ": " + xc_status_message(status);
  }
  xc_status_free(status);
  return wrong;
}

// Compiles and runs. `*failed`: whether a call gave an error of memory. Returns what is wrong, or "".
std::string CompileAndRun(const char* options, int threads, bool* failed) {
  *failed = false;
  float in[30], out[6] = {};
  for (int i = 0; i < 30; ++i) in[i] = 0.1f * static_cast<float>((i * 7) % 30 - 10);
  const void* inputs[] = {in};
  void* outputs[] = {out};
  xc_executable* executable = nullptr;
  xc_status* status = xc_compile_hlo(kModule, sizeof(kModule) - 1, options, &executable);
  if (status == nullptr) {
    status = xc_executable_run(executable, inputs, 1, outputs, 1, threads);
    xc_executable_free(executable);
  } else if (executable != nullptr) {
    return "an error and an executable";
  }
  if (status != nullptr) {
    StopFailing();
    *failed = true;
    return CheckStatus(status);
  }
  StopFailing();
  float last = -INFINITY;
  double sum = 0, expected = 0;
  for (float x : in) expected += 8 * std::exp(static_cast<double>(x)) * x;
  for (float x : out) {
    if (!(x >= last)) return "the result is not sorted";
    last = x;
    sum += x;
  }
  if (std::abs(sum - expected) > 1e-4) return "the result is wrong";
  return "";
}

// Lets allocation number `first` fail; returns what is wrong, or "". `*reached`: whether there was such an allocation.
std::string Try(int64_t first, Failing failing, const char* options, int threads, bool* reached) {
  bool failed;
  FailAllocations(first, failing);
  const std::string wrong = CompileAndRun(options, threads, &failed);
  *reached = CountedAllocations() >= first;
  xc_cache_clear();
  if (!wrong.empty()) return "allocation " + std::to_string(first) + ": " + wrong;
  if (failed && !*reached) return "an error without a reason";
  return "";
}

struct Totals {
  int64_t tried = 0, lost = 0;
};

// Each allocation from `begin` to `end`, or to the last one there is.
std::string TryRange(int64_t begin, int64_t end, Failing failing, const char* options, int threads, Totals* totals) {
  bool failed, reached = true;
  for (int64_t first = begin; first < end; ++first) {
    const int64_t before = LiveAllocations();
    std::string wrong = Try(first, failing, options, threads, &reached);
    if (!wrong.empty()) return wrong;
    if (!reached) break;
    totals->lost += LiveAllocations() - before;
    ++totals->tried;
    if (first % 16 == 0 || first + 1 == end) {
      wrong = CompileAndRun(options, threads, &failed);
      xc_cache_clear();
      if (!wrong.empty() || failed) return "after allocation " + std::to_string(first) + ": " + wrong;
    }
  }
  return "";
}

class EachAllocation : public testing::TestWithParam<Failing> {};

void WarmUp(const char* options, int threads) {
  for (int i = 0; i < 3; ++i) {
    bool failed;
    ASSERT_EQ(CompileAndRun(options, threads, &failed), "");
    ASSERT_FALSE(failed);
    xc_cache_clear();
  }
}

TEST_P(EachAllocation, OfTheInterpreterLosesNothing) {
  const char* options = "platform=interpreter";
  WarmUp(options, 1);
  bool reached;
  ASSERT_EQ(Try(20, GetParam(), options, 1, &reached), "");  // what handling the first error makes for good
  Totals totals;
  ASSERT_EQ(TryRange(1, kAllocations + 1, GetParam(), options, 1, &totals), "");
  std::printf("%lld allocations\n", static_cast<long long>(totals.tried));
  EXPECT_GT(totals.tried, 500);
  EXPECT_EQ(totals.lost, 0);
}

// Everything, each allocation in a process of its own, instead of what a test run has time for (docs/testing.md).
bool Full() {
  const char* full = std::getenv("XC_FAULTS");
  return full != nullptr && absl::string_view(full) == "all";
}

// What is wrong in a process of its own that runs `body`, or "".
template <typename Body>
std::string InProcess(const Body& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return "no process";
  if (child == 0) {
    alarm(300);  // nothing waits for a lock that an exception left locked
    const std::string wrong = body();
    std::fprintf(stderr, "%s%s", wrong.c_str(), wrong.empty() ? "" : "\n");
    _exit(wrong.empty() ? 0 : 1);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child) return "lost the process";
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return status == 0 ? "" : "wrong result";
}

constexpr char kCpu[] = "platform=cpu\ncompile_threads=1";

// The one allocation that is to fail, in this process (for a debugger), or 0: XC_FAULTS is its number.
int64_t Only() {
  const char* only = std::getenv("XC_FAULTS");
  return only == nullptr ? 0 : std::atoll(only);
}

// The first compilation of a process, where LLVM makes state of its own. First in this file: nothing was compiled yet.
TEST(FirstCompilation, FailsOrWorksAndSoDoTheNext) {
  if (Only() > 0) {
    bool reached;
    ASSERT_EQ(Try(Only(), Failing::kOne, kCpu, 1, &reached), "");
    return;
  }
  int64_t all = 0;
  int counts[2];
  ASSERT_EQ(pipe(counts), 0);
  ASSERT_EQ(InProcess([&]() -> std::string {
              bool failed;
              FailAllocations(INT64_MAX, Failing::kOne);
              const std::string wrong = CompileAndRun(kCpu, 1, &failed);
              all = CountedAllocations();
              return write(counts[1], &all, sizeof(all)) == sizeof(all) ? wrong : "no count";
            }),
            "");
  ASSERT_EQ(read(counts[0], &all, sizeof(all)), static_cast<ssize_t>(sizeof(all)));
  const int64_t stride = Full() ? 1 : 29;
  std::printf("%lld allocations, of which every %lldth is to fail\n", static_cast<long long>(all),
              static_cast<long long>(stride));
  EXPECT_GT(all, kAllocations);
  for (int64_t first = 1; first <= all; first += stride) {
    for (const Failing failing : {Failing::kOne, Failing::kAll}) {
      const std::string wrong = InProcess([&] {
        bool failed, reached;
        std::string problem = Try(first, failing, kCpu, 1, &reached);
        if (problem.empty()) problem = CompileAndRun(kCpu, 1, &failed);
        return problem;
      });
      EXPECT_EQ(wrong, "") << "allocation " << first << (failing == Failing::kAll ? " and all behind it" : "");
    }
  }
}

// What LLVM was at work on is lost where memory runs out inside of it (backends/cpu/abandoned.h): processes of their
// own give it back.
TEST_P(EachAllocation, OfTheCpuIsAnError) {
  WarmUp(kCpu, 1);
  FailAllocations(INT64_MAX, GetParam());
  bool failed;
  ASSERT_EQ(CompileAndRun(kCpu, 1, &failed), "");
  xc_cache_clear();
  const int64_t all = CountedAllocations(), end = Full() ? all : std::min(all, kAllocations);
  const int64_t each = Full() ? 1 : 500;
  std::printf("%lld allocations, of which the first %lld fail\n", static_cast<long long>(all),
              static_cast<long long>(end));
  EXPECT_GE(end, kAllocations);
  for (int64_t begin = 1; begin <= end; begin += each) {
    const int64_t behind = std::min(begin + each, end + 1);
    Totals totals;
    EXPECT_EQ(InProcess([&] { return TryRange(begin, behind, GetParam(), kCpu, 1, &totals); }), "")
        << "allocations " << begin << " to " << behind - 1;
  }
}

// absl::StrFormat would end the process.
TEST(Format, ThrowsWhereThereIsNoMemory) {
  const std::string text(1000, 'x');
  for (int64_t first = 1; first <= 2; ++first) {
    bool thrown = false;
    std::string out;
    FailAllocations(first, Failing::kAll);
    try {
      out = Format("%s and %d", text, 7);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    StopFailing();
    EXPECT_EQ(thrown, CountedAllocations() >= first);
    EXPECT_EQ(out.empty(), thrown);
  }
}

INSTANTIATE_TEST_SUITE_P(Allocations, EachAllocation, testing::Values(Failing::kOne, Failing::kAll),
                         [](const auto& info) { return info.param == Failing::kOne ? "One" : "All"; });

}  // namespace
}  // namespace xc
