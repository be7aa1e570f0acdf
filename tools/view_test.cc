// Pictures are well formed, whole without a network, and show what they should.
#include "tools/view.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

constexpr char kModule[] = R"(HloModule odd
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT l = pred[] compare(x, y), direction=LT }
fused {
  p = f32[64] parameter(0)
  e = f32[64] exponential(p)
  ROOT m = f32[64] multiply(e, p)
}
ENTRY main {
  a = f32[64] parameter(0), metadata={op_name="a<b>&\"c\""}
  f = f32[64] fusion(a), kind=kLoop, calls=fused
  s = f32[64] sort(f), dimensions={0}, to_apply=less
  t = f32[64] transpose(s), dimensions={0}
  ROOT r = f32[64] add(t, a)
}
)";

std::unique_ptr<HloModule> Module() {
  auto module = ParseModule(kModule);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// "" if every element that is opened is closed, in order; scripts and styles are skipped.
std::string Unbalanced(const std::string& text) {
  std::vector<std::string> open;
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const size_t end = text.find('>', at);
    if (end == std::string::npos) return "a tag is not closed";
    std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.empty()) return "an empty tag";
    if (tag[0] == '!' || tag[0] == '?' || tag.back() == '/') continue;
    const bool closes = tag[0] == '/';
    const std::string name = tag.substr(closes, tag.find(' ') - closes);
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes " + (open.empty() ? "" : open.back());
      open.pop_back();
    } else if (name != "meta" && name != "input" && name != "br") {
      open.push_back(name);
      if (name == "script" || name == "style") at = text.find("</" + name, end) - 1;
    }
  }
  return open.empty() ? "" : open.back() + " stays open";
}

TEST(View, PageIsWellFormedAndWhole) {
  const auto module = Module();
  auto memory = MemoryOf(*module);
  ASSERT_TRUE(memory.ok()) << memory.status();
  ASSERT_FALSE(memory->values.empty());
  for (const PageValue& value : memory->values) {
    EXPECT_LE(value.begin, value.end) << value.name;
    EXPECT_LT(value.end, memory->steps) << value.name;
    EXPECT_LE(value.offset + value.size, memory->bytes) << value.name;
    EXPECT_EQ(value.size, 256) << value.name;
  }
  const std::string page = ToHtml(ViewPage(*module, *memory));
  EXPECT_EQ(Unbalanced(page), "");
}

TEST(View, PagesHaveOperandsCallsSourcesAndCosts) {
  const auto module = Module();
  const Page page = ViewPage(*module, {});
  ASSERT_EQ(page.graphs.size(), 3u);
  const PageGraph& entry = page.graphs[page.entry];
  EXPECT_EQ(entry.label, "entry main: 5 instructions");
  ASSERT_EQ(entry.nodes.size(), 5u);
  EXPECT_EQ(entry.root, 4);
  const PageNode& fusion = entry.nodes[1];
  EXPECT_EQ(fusion.kind, "fusion");
  EXPECT_EQ(fusion.inputs, std::vector<int>({0}));
  ASSERT_EQ(fusion.calls.size(), 1u);
  EXPECT_EQ(page.graphs[fusion.calls[0]].label, "fused: 3 instructions");
  EXPECT_EQ(fusion.cost, std::vector<int64_t>({64, 64, 256, 256}));
  EXPECT_EQ(fusion.details[0].second, "kind=kLoop, calls=%fused");
  const std::pair<std::string, std::string> name("op_name", "a<b>&\"c\"");
  EXPECT_EQ(entry.nodes[0].details, (std::vector<std::pair<std::string, std::string>>{name}));
}

TEST(View, DrawingsAreWellFormed) {
  const auto module = Module();
  EXPECT_EQ(Unbalanced(ViewSvg(*module)), "");
  const std::string dot = ViewDot(*module);
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
  EXPECT_NE(dot.find("subgraph"), std::string::npos);
  EXPECT_NE(ViewSvg(*module, 2).find("the first 2 instructions"), std::string::npos);
}

}  // namespace
}  // namespace xc
