// Every recorded op case through its lowering, on the interpreter and on the CPU, and through the host's kernels.
#include "jit/op_cases/op_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "jit/host/session.h"

namespace xc {
namespace {

// How many cases there are, ops in them, cases that must be compiled whole, and cases that the host's kernels alone
// run.
constexpr int kCases = 2876, kOps = 564, kCompiled = 1695, kByKernels = 1334;

const std::vector<OpCase>& Cases() {
  static const auto* cases = new std::vector<OpCase>(ReadOpCases("jit/op_cases/op_cases.gz").value());
  return *cases;
}

// What is wrong with the case; empty if nothing. `stats` gets what was launched.
std::string Problem(const OpCase& c, const HostOptions& host, LaunchStats* stats, int* clusters) {
  SessionOptions options;
  options.host = host;
  options.host.mark.min_cluster_size = 0;
  options.inputs = c.feeds;
  options.feed_nothing = c.feeds.empty();
  options.outputs = c.fetches;
  auto session = Session::Create(c.graph, options);
  if (!session.ok()) return session.status().ToString();
  auto got = (*session)->Run(c.inputs);
  if (!got.ok()) return got.status().ToString();
  *stats = (*session)->executor().stats();
  *clusters = (*session)->executor().marking().num_clusters;
  for (size_t i = 0; i < c.wanted.size(); ++i) {
    std::string difference = Difference((*got)[i], c.wanted[i]);
    if (!difference.empty()) return absl::StrCat("output ", i, " ", difference);
  }
  return "";
}

TEST(OpCases, AreAll) {
  std::set<std::string> ops;
  int compiled = 0;
  for (const OpCase& c : Cases()) {
    ops.insert(c.op);
    compiled += c.compiled ? 1 : 0;
  }
  EXPECT_EQ(Cases().size(), kCases);
  EXPECT_EQ(ops.size(), kOps);
  EXPECT_EQ(compiled, kCompiled);
}

TEST(OpCases, DifferencesAreSeen) {
  auto number = [](float v) { return Tensor::Scalar<float>(DT_FLOAT, v); };
  EXPECT_EQ(Difference(number(1), number(1.0001f)), "");
  EXPECT_EQ(Difference(number(NAN), number(NAN)), "");
  EXPECT_NE(Difference(number(1), number(1.001f)), "");
  EXPECT_NE(Difference(number(1), number(NAN)), "");
  EXPECT_NE(Difference(number(1), number(INFINITY)), "");
  EXPECT_EQ(Difference(Tensor::Int32s({1, 2}), Tensor::Int32s({1, 2})), "");
  EXPECT_NE(Difference(Tensor::Int32s({1, 2}), Tensor::Int32s({1, 3})), "");
  EXPECT_NE(Difference(Tensor::Int32s({1, 2}), Tensor::Int64s({1, 2})), "");
  EXPECT_NE(Difference(Tensor::Int32s({1, 2}), Tensor::Int32s({1, 2}).Reshaped({2, 1})), "");
}

class Lowered : public ::testing::TestWithParam<const char*> {};

TEST_P(Lowered, GiveWhatTensorFlowGives) {
  HostOptions host;
  host.launch.platform = GetParam();
  int compiled = 0;
  for (const OpCase& c : Cases()) {
    LaunchStats stats;
    int clusters = 0;
    EXPECT_EQ(Problem(c, host, &stats, &clusters), "") << c.name;
    if (!c.compiled) continue;
    const bool whole = clusters > 0 && stats.fallbacks == 0;
    EXPECT_TRUE(whole) << c.name;
    compiled += whole ? 1 : 0;
  }
  EXPECT_EQ(compiled, kCompiled);
}
INSTANTIATE_TEST_SUITE_P(OpCases, Lowered, ::testing::Values("interpreter", "cpu"),
                         [](const auto& info) { return std::string(info.param); });

TEST(OpCases, HostKernelsGiveWhatTensorFlowGives) {
  HostOptions host;
  host.mode = HostMode::kHost;
  host.prefer_kernels = true;
  host.launch.platform = "interpreter";
  int by_kernels = 0;
  for (const OpCase& c : Cases()) {
    LaunchStats stats;
    int clusters = 0;
    EXPECT_EQ(Problem(c, host, &stats, &clusters), "") << c.name;
    by_kernels += stats.compilations == 0 ? 1 : 0;
  }
  EXPECT_EQ(by_kernels, kByKernels);
}

}  // namespace
}  // namespace xc
