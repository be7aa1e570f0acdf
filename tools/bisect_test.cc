// No fault is kept in the compiler for this: what is called right is what another program gives.
#include "tools/bisect.h"

#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

constexpr char kModule[] = R"(HloModule m
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] multiply(a, a)
  ROOT c = f32[4] add(b, a)
}
)";

std::vector<Literal> Values(const std::vector<float>& values) {
  std::vector<Literal> literals;
  literals.push_back(Literal::FromValues<float>(Shape(ElementType::kF32, {4}), values));
  return literals;
}

TEST(Bisect, WhereNoPassIsToBlame) {
  auto module = ParseModule(kModule);
  ASSERT_TRUE(module.ok()) << module.status();
  auto verdict = BisectPasses(**module, "cpu", {}, {}, Values({1, 2, 3, 4}), Values({2, 6, 12, 21}));
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_NE(verdict->find("the result differs without any pass: the fault is in platform cpu"), std::string::npos)
      << *verdict;
  EXPECT_NE(verdict->find("no instruction gives another value by itself"), std::string::npos) << *verdict;
}

TEST(Bisect, WhereNothingIsWrong) {
  auto module = ParseModule(kModule);
  ASSERT_TRUE(module.ok()) << module.status();
  auto verdict = BisectPasses(**module, "cpu", {}, {}, Values({1, 2, 3, 4}), Values({2, 6, 12, 20}));
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_NE(verdict->find("the result agrees"), std::string::npos) << *verdict;
}

TEST(Bisect, TheFirstChangedValueIsNamed) {
  auto before = ParseModule(R"(HloModule m
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] multiply(a, a)
  c = f32[4] add(b, a)
  ROOT d = f32[4] negate(c)
}
)");
  auto after = ParseModule(R"(HloModule m
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] multiply(a, a)
  c = f32[4] subtract(b, a)
  ROOT d = f32[4] negate(c)
}
)");
  ASSERT_TRUE(before.ok() && after.ok());
  auto line = FirstChangedValue(**before, **after, Values({1, 2, 3, 4}));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_NE(line->find("the pass changed the value of c: "), std::string::npos) << *line;
  EXPECT_NE(line->find("subtract"), std::string::npos) << *line;
  line = FirstChangedValue(**before, **before, Values({1, 2, 3, 4}));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_NE(line->find("no instruction that the pass kept"), std::string::npos) << *line;
}

}  // namespace
}  // namespace xc
