// Shows a module as an HTML page.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/view.h"

namespace xc {
namespace {

constexpr absl::string_view kStyle = R"(<style>
body{font:14px/1.4 system-ui,sans-serif;margin:1.5em;color:#222}
code,td{font-family:ui-monospace,monospace;font-size:12.5px}
details{border:1px solid #ccd;border-radius:6px;margin:.5em 0;padding:.3em .7em;background:#fafbfd}
details details{background:#fff8ec;border-color:#e6c88a}
summary{cursor:pointer;font-weight:600}
table{border-collapse:collapse;width:100%}
td{padding:1px 8px;vertical-align:top;border-bottom:1px solid #eef}
tr.root td{background:#eaf6ea}
tr.hit td{background:#fff3a8}
tr:target td{outline:2px solid #4a7bd0}
.op{color:#7a3e9d;font-weight:600}.shape{color:#666}.attr{color:#567}
a{color:#1a5fb4;text-decoration:none}a:hover{text-decoration:underline}
#search{position:sticky;top:0;background:#fff;padding:.4em 0;z-index:1}
#search input{width:24em;padding:.3em}
svg text{font:11px system-ui,sans-serif}
</style>)";

constexpr absl::string_view kScript = R"(<script>
const field=document.getElementById('q'),count=document.getElementById('n');
field.addEventListener('input',()=>{const q=field.value.toLowerCase();let n=0;
for(const row of document.querySelectorAll('tr[data-t]')){const hit=q!==''&&row.dataset.t.includes(q);
row.classList.toggle('hit',hit);if(hit){n++;let d=row.closest('details');while(d){d.open=true;d=d.parentElement.closest('details');}}}
count.textContent=q===''?'':n+' found';});
window.addEventListener('hashchange',()=>{const e=document.getElementById(location.hash.slice(1));
if(!e)return;let d=e.closest('details');while(d){d.open=true;d=d.parentElement.closest('details');}e.scrollIntoView({block:'center'});});
</script>)";

// What follows the operand list in the printed line.
std::string AttributesOf(const HloInstruction& instruction) {
  const std::string line = instruction.ToString();
  size_t at = line.find(absl::StrCat(OpcodeName(instruction.opcode()), "("));
  if (at == std::string::npos) return "";
  at = line.find('(', at);
  int depth = 0;
  for (; at < line.size(); ++at) {
    if (line[at] == '(') ++depth;
    if (line[at] == ')' && --depth == 0) break;
  }
  if (at >= line.size()) return "";
  std::string rest = line.substr(at + 1);
  if (rest.size() > 2 && rest[0] == ',') rest = rest.substr(2);
  if (rest.size() > 400) rest = rest.substr(0, 400) + "…";
  return rest;
}

void AppendComputation(const HloComputation& computation, bool open, std::string* out) {
  absl::StrAppend(out, "<details", open ? " open" : "", " id=\"c", computation.id(), "\"><summary>",
                  computation.IsEntry() ? "ENTRY " : "", EscapeHtml(computation.name()), " · ",
                  computation.instruction_count(), " instructions → ",
                  computation.root() ? EscapeHtml(computation.root()->shape().ToString(false)) : "",
                  "</summary><table>\n");
  for (const auto& instruction : computation.instructions()) {
    std::string text =
        absl::StrCat(instruction->name(), " ", OpcodeName(instruction->opcode()), " ", instruction->metadata().op_name);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    absl::StrAppend(out, "<tr id=\"i", instruction->id(), "\" data-t=\"", EscapeHtml(text), "\"",
                    instruction->IsRoot() ? " class=\"root\"" : "", "><td>", EscapeHtml(instruction->name()),
                    "</td><td class=\"op\">", OpcodeName(instruction->opcode()), "</td><td class=\"shape\">",
                    EscapeHtml(instruction->shape().ToString()), "</td><td>",
                    absl::StrJoin(instruction->operands(), ", ",
                                  [](std::string* o, const HloInstruction* operand) {
                                    absl::StrAppend(o, "<a href=\"#i", operand->id(), "\">",
                                                    EscapeHtml(operand->name()), "</a>");
                                  }),
                    "</td><td class=\"attr\">", EscapeHtml(AttributesOf(*instruction)), "</td></tr>\n");
    if (instruction->opcode() == HloOpcode::kFusion && !instruction->called_computations().empty()) {
      absl::StrAppend(out, "<tr><td colspan=\"5\">");
      AppendComputation(*instruction->fused_computation(), false, out);
      absl::StrAppend(out, "</td></tr>\n");
    }
  }
  absl::StrAppend(out, "</table></details>\n");
}

void AppendBuffers(const std::vector<BufferLife>& buffers, std::string* out) {
  int64_t bytes = 1, steps = 1;
  for (const BufferLife& b : buffers) {
    bytes = std::max(bytes, b.offset + b.size);
    steps = std::max(steps, b.end + 1);
  }
  constexpr double kWidth = 1000, kHeight = 320;
  absl::StrAppend(out, "<h2>Buffers over time</h2><p>", bytes,
                  " bytes of temporary memory (height) over the schedule (width)</p><svg width=\"", kWidth,
                  "\" height=\"", kHeight, "\" style=\"border:1px solid #ccd\">\n");
  int color = 0;
  for (const BufferLife& b : buffers) {
    absl::StrAppend(out, "<rect x=\"", kWidth * b.begin / steps, "\" y=\"",
                    kHeight - kHeight * (b.offset + b.size) / bytes, "\" width=\"",
                    std::max(1.0, kWidth * (b.end - b.begin + 1) / steps), "\" height=\"",
                    std::max(1.0, kHeight * b.size / bytes), "\" fill=\"hsl(", (color += 47) % 360,
                    ",55%,70%)\" stroke=\"#fff\"><title>", EscapeHtml(b.name), ": ", b.size, " bytes at ", b.offset,
                    ", steps ", b.begin, " to ", b.end, "</title></rect>\n");
  }
  absl::StrAppend(out, "</svg>\n");
}

}  // namespace

std::string EscapeHtml(absl::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

std::string ViewHtml(const HloModule& module, const std::vector<BufferLife>& buffers) {
  std::string out =
      absl::StrCat("<!doctype html><html><head><meta charset=\"utf-8\"><title>", EscapeHtml(module.name()), "</title>",
                   kStyle, "</head><body><h1>", EscapeHtml(module.name()), "</h1><p>", module.computations().size(),
                   " computations, ", module.InstructionCount(),
                   " instructions</p><div id=\"search\"><input id=\"q\" placeholder=\"search names, "
                   "opcodes, op_name\"> <span id=\"n\"></span></div>\n");
  if (module.entry() != nullptr) AppendComputation(*module.entry(), true, &out);
  for (const auto& computation : module.computations()) {
    if (computation->IsEntry() || computation->IsFusion()) continue;
    AppendComputation(*computation, false, &out);
  }
  if (!buffers.empty()) AppendBuffers(buffers, &out);
  absl::StrAppend(&out, kScript, "</body></html>\n");
  return out;
}

}  // namespace xc
