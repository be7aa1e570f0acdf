// Pages are whole without a network, and what they show cannot break out of its place.
#include "service/page/page.h"

#include "gtest/gtest.h"

namespace xc {
namespace {

Page Odd() {
  Page page;
  page.title = "a<b>";
  page.headline = "</script><script>alert(1)</script>";
  page.trace = R"({"traceEvents":[{"name":"</script>"}]})";
  PageGraph graph;
  graph.label = "main";
  graph.nodes.push_back({"p\"q\"", "parameter", "f32[2]", "parameter", {}, {}, {{"op_name", "<!--"}}, {}});
  graph.nodes.push_back({"root", "add", "f32[2]", "other", {0, 0}, {}, {}, {2, 0, 16, 8}});
  graph.root = 1;
  page.graphs.push_back(graph);
  page.values.push_back({"root", 0, 64, 1, 1});
  page.memory_bytes = 64;
  page.steps = 2;
  page.tables.push_back({"t", "", {"a"}, {{"1"}}, {"yes"}, true});
  return page;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Page, DataStaysInsideItsScript) {
  const std::string html = ToHtml(Odd());
  EXPECT_EQ(Count(html, "</script>"), 3);  // the data's, the trace's, the page's own
  EXPECT_NE(html.find("\\u003c/script>\\u003cscript>alert(1)"), std::string::npos);
  EXPECT_NE(html.find("<title>a&lt;b&gt;</title>"), std::string::npos);
  EXPECT_EQ(html.find("@DATA@"), std::string::npos);
  EXPECT_EQ(html.find("@SCRIPT@"), std::string::npos);
}

TEST(Page, LoadsNothingFromElsewhere) {
  const std::string html = ToHtml(Odd());
  for (const char* outside : {"<link", "src=", "url(", "@import", "fetch(", "XMLHttpRequest"}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
}

TEST(Page, NodesAreListsInTheScriptsOrder) {
  const std::string html = ToHtml(Odd());
  EXPECT_NE(html.find(R"(["root", "add", "f32[2]", "other", [0, 0], [], {}, [2, 0, 16, 8]])"), std::string::npos);
  EXPECT_NE(html.find(R"("memory": {"bytes": 64, "steps": 2, "values": [["root",0,64,1,1]]})"), std::string::npos);
}

}  // namespace
}  // namespace xc
