#include "service/page/page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "hlo/base/json.h"
#include "service/page/assets.h"

namespace xc {
namespace {

template <typename Items, typename F>
std::string List(const Items& items, F&& to_json) {
  JsonList list;
  for (const auto& item : items) list.Add(to_json(item));
  return list.ToString();
}

std::string Texts(const std::vector<std::string>& texts) {
  return List(texts, [](const std::string& text) { return JsonText(text); });
}

template <typename Number>
std::string Numbers(const std::vector<Number>& numbers) {
  return List(numbers, [](Number number) { return absl::StrCat(number); });
}

// The order of fields is that of the constants in model.js.
std::string NodeJson(const PageNode& node) {
  JsonObject details;
  for (const auto& [title, text] : node.details) details.Add(title, text);
  JsonList out;
  for (const std::string* text : {&node.name, &node.opcode, &node.shape, &node.kind}) out.Add(JsonText(*text));
  out.Add(Numbers(node.inputs));
  out.Add(Numbers(node.calls));
  out.Add(details.ToString());
  if (!node.cost.empty()) out.Add(Numbers(node.cost));
  return out.ToString();
}

std::string GraphJson(const PageGraph& graph) {
  return JsonObject()
      .Add("label", graph.label)
      .Add("root", int64_t{graph.root})
      .AddJson("nodes", List(graph.nodes, NodeJson))
      .ToString();
}

std::string TableJson(const PageTable& table) {
  return JsonObject()
      .Add("title", table.title)
      .Add("note", table.note)
      .Add("closed", table.closed)
      .AddJson("columns", Texts(table.columns))
      .AddJson("styles", Texts(table.styles))
      .AddJson("rows", List(table.rows, Texts))
      .ToString();
}

std::string MemoryJson(const Page& page) {
  if (page.values.empty()) return "null";
  const auto value = [](const PageValue& v) {
    return absl::StrCat("[", JsonText(v.name), ",", v.offset, ",", v.size, ",", v.begin, ",", v.end, "]");
  };
  return JsonObject()
      .Add("bytes", page.memory_bytes)
      .Add("steps", page.steps)
      .AddJson("values", List(page.values, value))
      .ToString();
}

std::string PageJson(const Page& page) {
  return JsonObject()
      .Add("headline", page.headline)
      .AddJson("facts", Texts(page.facts))
      .Add("unit", page.unit)
      .Add("entry", int64_t{page.entry})
      .AddJson("graphs", List(page.graphs, GraphJson))
      .AddJson("memory", MemoryJson(page))
      .AddJson("tables", List(page.tables, TableJson))
      .ToString();
}

// JSON in which nothing ends the script that it stands in: `<` occurs in strings alone.
std::string InScript(absl::string_view json) { return absl::StrReplaceAll(json, {{"<", "\\u003c"}}); }

}  // namespace

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string ToText(const Page& page) {
  std::string out = absl::StrCat(page.title, "\n", page.headline, "\n");
  for (const PageTable& table : page.tables) {
    absl::StrAppend(&out, table.title, table.note.empty() ? "" : ": ", table.note, "\n");
    absl::StrAppend(&out, "  ", absl::StrJoin(table.columns, " | "), "\n");
    for (const std::vector<std::string>& row : table.rows) absl::StrAppend(&out, "  ", absl::StrJoin(row, " | "), "\n");
  }
  return out;
}

std::string ToHtml(const Page& page) {
  return absl::StrReplaceAll(kPageTemplate, {{"@TITLE@", EscapeHtml(page.title)},
                                             {"@DATA@", InScript(PageJson(page))},
                                             {"@TRACE@", page.trace.empty() ? "null" : InScript(page.trace)},
                                             {"@SCRIPT@", PageScript()}});
}

}  // namespace xc
