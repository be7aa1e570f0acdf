// One self-contained HTML page: graphs whose boxes open and close, a panel about the selected one, search, memory over
// time, and tables. HLO modules, host graphs and reports are shown by the same script.
#ifndef XC_SERVICE_PAGE_PAGE_H_
#define XC_SERVICE_PAGE_PAGE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace xc {

// A box. Its inputs and the graphs that it calls are positions in Graph::nodes and Page::graphs.
struct PageNode {
  std::string name, opcode, shape;
  // Decides the colour: parameter, constant, fusion, dot, control, compiled, host or other.
  std::string kind = "other";
  std::vector<int> inputs, calls;
  // What the panel shows, by title. "op_name" and "source" are searched, too.
  std::vector<std::pair<std::string, std::string>> details;
  // FLOPs, transcendental functions, bytes read, bytes written; empty if they are not known.
  std::vector<int64_t> cost;
};

struct PageGraph {
  std::string label;
  std::vector<PageNode> nodes;  // in an order in which inputs stand before their users
  int root = -1;
};

// A value in temporary memory: bytes, and the first and last position of the schedule at which it is there.
struct PageValue {
  std::string name;
  int64_t offset = 0, size = 0, begin = 0, end = 0;
};

struct PageTable {
  std::string title, note;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> styles;  // of rows: "yes" (green), "no" (red) or ""; may be shorter than rows
  bool closed = false;              // until the reader opens it
};

struct Page {
  std::string title, headline;
  std::vector<std::string> facts;  // beside the headline
  std::string unit = "instructions";
  std::vector<PageGraph> graphs;
  int entry = 0;
  std::vector<PageValue> values;  // no memory is drawn without any
  int64_t memory_bytes = 0, steps = 0;
  std::vector<PageTable> tables;
  std::string trace;  // a Chrome trace (JSON) whose events name nodes in args.hlo_op; "" for none
};

// The page as HTML. It loads nothing from elsewhere.
std::string ToHtml(const Page& page);

// The title, the headline and the tables as lines of text: cells are separated by " | ".
std::string ToText(const Page& page);

// & < > and quotes as entities.
std::string EscapeHtml(absl::string_view text);

}  // namespace xc

#endif  // XC_SERVICE_PAGE_PAGE_H_
