// The roofline picture (Williams, Waterman and Patterson, 2009): each site a disc, its area the time that it takes.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hlo/base/format.h"
#include "service/profile.h"

namespace xc {
namespace {

constexpr double kLeft = 70, kTop = 48, kWidth = 620, kHeight = 380;
constexpr int kNamed = 12;  // discs with names in the list

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// A logarithmic axis over whole decades.
struct Axis {
  int first = 0, last = 1;
  void Include(double value) {
    if (value <= 0) return;
    first = std::min(first, static_cast<int>(std::floor(std::log10(value))));
    last = std::max(last, static_cast<int>(std::ceil(std::log10(value))));
  }
  double Part(double value) const { return (std::log10(value) - first) / (last - first); }
};

std::string Power(int exponent) {
  return exponent >= 0 && exponent < 5 ? Format("%.0f", std::pow(10, exponent)) : Format("%g", std::pow(10, exponent));
}

absl::string_view Color(absl::string_view kind) {
  if (kind == "library") return "#c2410c";
  if (kind == "loop") return "#6d28d9";
  if (kind == "copy") return "#64748b";
  return "#0369a1";
}

}  // namespace

std::string Profile::Roofline() const {
  Axis x, y;
  x.first = -2;
  x.last = 3;
  y.last = 2;
  y.Include(ceilings_.gflops);
  std::vector<const Row*> shown;
  for (const Row& row : rows_) {
    if (row.flops <= 0 || row.bytes <= 0 || row.gflops <= 0) continue;
    x.Include(row.flops / row.bytes);
    y.Include(row.gflops);
    shown.push_back(&row);
  }
  const auto at_x = [&](double value) { return kLeft + kWidth * x.Part(value); };
  const auto at_y = [&](double value) { return kTop + kHeight * (1 - y.Part(value)); };
  std::string out = Format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1080\" height=\"500\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
      "<text x=\"%g\" y=\"24\" font-size=\"15\">%s: %s a run</text>\n",
      kLeft, Escaped(module_), RunTime());
  for (int e = x.first; e <= x.last; ++e) {
    const double at = at_x(std::pow(10, e));
    AppendFormat(&out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\" stroke=\"#e2e8f0\"/>", at, at, kTop,
                 kTop + kHeight);
    AppendFormat(&out, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", at, kTop + kHeight + 16,
                 Power(e));
  }
  for (int e = y.first; e <= y.last; ++e) {
    const double at = at_y(std::pow(10, e));
    AppendFormat(&out, "<line x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#e2e8f0\"/>", kLeft, kLeft + kWidth,
                 at, at);
    AppendFormat(&out, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", kLeft - 6, at + 4, Power(e));
  }
  AppendFormat(&out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">operations per byte (FLOP/B)</text>\n",
               kLeft + kWidth / 2, kTop + kHeight + 38);
  AppendFormat(&out, "<text transform=\"translate(18 %g) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>\n",
               kTop + kHeight / 2);
  if (ceilings_.gflops > 0 && ceilings_.gbps > 0) {
    // The memory's line from the left edge (or from where it enters) to the ridge, then the processor's.
    const double ridge = ceilings_.gflops / ceilings_.gbps, lowest = std::pow(10, y.first);
    const double start = std::max(std::pow(10, x.first), lowest / ceilings_.gbps);
    AppendFormat(&out,
                 "<polyline points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"none\" stroke=\"#0f172a\" "
                 "stroke-width=\"2\"/>\n",
                 at_x(start), at_y(start * ceilings_.gbps), at_x(ridge), at_y(ceilings_.gflops), kLeft + kWidth,
                 at_y(ceilings_.gflops));
    AppendFormat(&out, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%.0f GFLOP/s, measured</text>\n",
                 kLeft + kWidth - 4, at_y(ceilings_.gflops) - 6, ceilings_.gflops);
    AppendFormat(&out, "<text x=\"%.1f\" y=\"%.1f\">%.1f GB/s, measured</text>\n", at_x(start) + 8,
                 at_y(start * ceilings_.gbps) - 14, ceilings_.gbps);
  }
  const double all_ms = std::max(1e-12, run_ms_ * static_cast<double>(std::max<int64_t>(runs_, 1)));
  double list_y = kTop + 4;
  AppendFormat(&out, "<text x=\"%g\" y=\"%g\" font-weight=\"bold\">longest, with their part of the run</text>\n",
               kLeft + kWidth + 24, list_y);
  for (size_t i = shown.size(); i-- > 0;) {  // the largest first below the others
    const Row& row = *shown[shown.size() - 1 - i];
    const double part = row.total_ms / all_ms;
    const std::string title = Format("%s %s, %s: %.1f GFLOP/s, %.1f GB/s, %.1f %% of the run", row.site.kind,
                                     row.site.name, row.site.detail, row.gflops, row.gbps, 100 * part);
    AppendFormat(&out,
                 "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\"0.55\" stroke=\"%s\">"
                 "<title>%s</title></circle>\n",
                 at_x(row.flops / row.bytes), at_y(row.gflops), 3 + 22 * std::sqrt(std::min(1.0, part)),
                 std::string(Color(row.site.kind)), std::string(Color(row.site.kind)), Escaped(title));
    const size_t number = shown.size() - i;
    if (number > kNamed) continue;
    AppendFormat(&out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n", at_x(row.flops / row.bytes),
                 at_y(row.gflops) + 4, number);
    list_y += 20;
    std::string name = row.site.name;
    if (name.size() > 36) name = absl::StrCat(name.substr(0, 35), "…");
    AppendFormat(&out, "<text x=\"%g\" y=\"%g\" fill=\"%s\">%d  %s  %.1f %%</text>\n", kLeft + kWidth + 24, list_y,
                 std::string(Color(row.site.kind)), number, Escaped(name), 100 * part);
  }
  return out + "</svg>\n";
}

}  // namespace xc
