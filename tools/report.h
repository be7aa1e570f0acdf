// What a command says on stdout: lines for people or, with --json, one line, an object of what was found or of the
// error.
#ifndef XC_TOOLS_REPORT_H_
#define XC_TOOLS_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "hlo/base/json.h"

namespace xc {

class Report {
 public:
  // The one of this process.
  static Report& Get();

  // Whether --json was given.
  bool json = false;
  // With --json: the fields of the line.
  JsonObject fields;

  // Prints a line for people; nothing with --json.
  void Line(const std::string& text);
  // With --json, makes the line say this error and nothing else.
  void SetError(const absl::Status& status);
  // With --json, prints the line, unless the command printed its own.
  void Finish();
  void SetPrinted() { printed_ = true; }

 private:
  bool printed_ = false;
};

}  // namespace xc

#endif  // XC_TOOLS_REPORT_H_
