#include "tools/report.h"

#include <cstdio>
#include <string>

namespace xc {

Report& Report::Get() {
  static auto* const report = new Report;
  return *report;
}

void Report::Line(const std::string& text) {
  if (!json) std::printf("%s\n", text.c_str());
}

void Report::SetError(const absl::Status& status) {
  fields = JsonObject();
  fields.Add("error", std::string(status.message())).Add("code", absl::StatusCodeToString(status.code()));
}

void Report::Finish() {
  if (json && !printed_) std::printf("%s\n", fields.ToString().c_str());
  printed_ = true;
}

}  // namespace xc
