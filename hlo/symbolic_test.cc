// Texts with symbolic sizes: expressions, binding, and finding the sizes from shapes.
#include "hlo/symbolic.h"

#include <gtest/gtest.h>

namespace xc {
namespace {

constexpr char kRows[] = R"(
HloModule rows, symbols={b=1..64, n=8..512:8}
add { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] add(a, c) }
ENTRY main {
  x = f32[$b,$n] parameter(0)
  y = f32[$(b*n)] reshape(x)
  z = f32[$(n*b/2)] slice(y), slice={[0:$(b*n/2)]}
  zero = f32[] constant(0)
  ROOT r = f32[] reduce(z, zero), dimensions={0}, to_apply=add
})";

TEST(SymbolicTest, Evaluates) {
  const SymbolValues values = {{"a", 7}, {"b", -3}};
  const auto value = [&](const char* text) {
    const absl::StatusOr<int64_t> result = EvaluateSize(text, values);
    return result.ok() ? std::to_string(*result) : std::string(result.status().message());
  };
  EXPECT_EQ(value("a*2 - 1"), "13");
  EXPECT_EQ(value("(a+1)*(a-1)"), "48");
  EXPECT_EQ(value("b/2"), "-2");
  EXPECT_EQ(value("b%2"), "1");
  EXPECT_EQ(value("min(a,4)+max(-a,b)"), "1");
  EXPECT_EQ(value("a-1-1"), "5");
  EXPECT_EQ(value("c"), "size \"c\", character 2: there is no symbol c");
  EXPECT_EQ(value("a/(b+3)"), "size \"a/(b+3)\", character 8: it divides by 0");
  EXPECT_EQ(value("9223372036854775807+a"), "size \"9223372036854775807+a\", character 22: the value is out of range");
  EXPECT_EQ(value("(a"), "size \"(a\", character 3: a closing parenthesis is missing");
  EXPECT_EQ(value("a a"), "size \"a a\", character 3: what follows is no operator");
  EXPECT_NE(value(std::string(5000, '(').c_str()).find("it nests too deeply"), std::string::npos);
}

TEST(SymbolicTest, Binds) {
  EXPECT_TRUE(SymbolicText::IsSymbolic(kRows));
  EXPECT_FALSE(SymbolicText::IsSymbolic("HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }"));
  auto text = SymbolicText::Parse(kRows);
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_EQ(text->symbols().size(), 2);
  EXPECT_EQ(text->symbols()[0].ToString(), "b=1..64");
  EXPECT_EQ(text->symbols()[1].ToString(), "n=8..512:8");
  auto module = text->BindModule({{"b", 3}, {"n", 16}});
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->entry()->parameters()[0]->shape().ToString(false), "f32[3,16]");
  EXPECT_EQ(text->Bind({{"b", 3}, {"n", 17}}).status().message(), "symbol n=8..512:8 cannot be 17");
  EXPECT_EQ(text->Bind({{"b", 65}, {"n", 16}}).status().message(), "symbol b=1..64 cannot be 65");
  EXPECT_EQ(text->Bind({{"b", 3}}).status().message(), "symbol n has no value");
  EXPECT_EQ(text->Bind({{"b", 3}, {"n", 16}, {"k", 1}}).status().message(), "there is no symbol k");
}

// What a text claims about its shapes is checked for each binding.
TEST(SymbolicTest, ChecksClaims) {
  auto text = SymbolicText::Parse(R"(
HloModule halves, symbols={n}
ENTRY main {
  x = f32[$n] parameter(0)
  ROOT y = f32[2,$(n/2)] reshape(x)
})");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE(text->BindModule({{"n", 6}}).ok());
  EXPECT_FALSE(text->BindModule({{"n", 7}}).ok());
}

TEST(SymbolicTest, Solves) {
  auto text = SymbolicText::Parse(kRows);
  ASSERT_TRUE(text.ok());
  auto values = text->Solve({{5, 24}});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(*values, (SymbolValues{{"b", 5}, {"n", 24}}));
  EXPECT_FALSE(text->Solve({{5, 25}}).ok());
  EXPECT_FALSE(text->Solve({{5}}).ok());
  auto same = SymbolicText::Parse(R"(
HloModule same, symbols={n}
ENTRY main { x = f32[$n] parameter(0)  y = f32[$n] parameter(1)  ROOT z = f32[$n] add(x, y) })");
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->Solve({{5}, {6}}).status().message(), "symbol n is 5 and, in dimension 0 of parameter 1, 6");
}

TEST(SymbolicTest, SamplesDiffer) {
  auto text = SymbolicText::Parse(kRows);
  ASSERT_TRUE(text.ok());
  const SymbolValues first = *text->Sample(0), second = *text->Sample(1);
  EXPECT_NE(first.at("b"), second.at("b"));
  EXPECT_NE(first.at("n"), second.at("n"));
  EXPECT_EQ(first.at("n") % 8, 0);
  EXPECT_LE(first.at("b"), 64);
}

TEST(SymbolicTest, RefusesBadHeaders) {
  for (const char* header : {"symbols={1a}", "symbols={a=3}", "symbols={a=4..2}", "symbols={a, a}",
                             "symbols={a=1..2:0}", "symbols={min}", "symbols={a"}) {
    EXPECT_FALSE(SymbolicText::Parse(std::string("HloModule m, ") + header + "\n").ok()) << header;
  }
}

TEST(SymbolicTest, RangesMayHaveNoEnd) {
  const auto text =
      SymbolicText::Parse("HloModule m, symbols={b=8..:8, n=2.., k}\nf32[$(2*b+k)] f32[$(n/2)] f32[$b] nn");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->symbols()[0].ToString(), "b=8..:8");
  EXPECT_EQ(text->symbols()[1].ToString(), "n=2..");
  EXPECT_TRUE(text->symbols()[1].Check(INT64_MAX).ok());
  EXPECT_FALSE(text->symbols()[0].Check(4).ok());
  EXPECT_TRUE(text->OnlyAddsAndMultiplies("b") && text->OnlyAddsAndMultiplies("k"));
  EXPECT_FALSE(text->OnlyAddsAndMultiplies("n"));
  EXPECT_FALSE(SymbolicText::Parse("HloModule m, symbols={b=..8}\n").ok());
}

}  // namespace
}  // namespace xc
