// For tests: runs HLO text on the CPU backend and on the interpreter and compares the results.
#ifndef XC_BACKENDS_CPU_COMPARE_H_
#define XC_BACKENDS_CPU_COMPARE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace xc::cpu {

struct CompareOptions {
  std::string cpu;        // target, as CompileOptions::cpu
  double tolerance = -1;  // relative to the larger value or 1e-3 of the largest; < 0: by element type
  bool passes = false;    // run the compiler's passes (else code is generated from the module as it stands)
  int threads = 1;
};

// OK if all results agree. Else the first element that differs, or the error of parsing, compiling or running.
// Arguments are made up: small integers, and floats of both signs with zeros, infinities and NaN among them if
// `specials`.
absl::Status CompareWithInterpreter(absl::string_view hlo, const CompareOptions& options = {}, bool specials = false);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_COMPARE_H_
