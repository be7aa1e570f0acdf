// Pass tests in one call: HLO text in, HLO text out.
#ifndef XC_COMPILER_PASS_TEST_SUPPORT_H_
#define XC_COMPILER_PASS_TEST_SUPPORT_H_

#include <string>
#include <vector>

#include "compiler/pass.h"

namespace xc {

// Runs passes one after another over `text` and gives the lines of the result's instructions without names of modules
// and computations' shapes, each computation as `name {`, lines, `}`; the entry is named ENTRY. Instructions are
// renamed by order (parameters p0, p1, …, which have no line of their own; others %0, %1, …), so that tests do not
// depend on names. Verifies before and after. An error or a false claim of "changed" comes back as text that starts
// with "error:".
std::string RunPasses(const std::vector<PassFunction>& passes, absl::string_view text, PassContext* context = nullptr);

// The entry computation's lines only, for a text that is only a list of instructions; `root` marks the last one. The
// text is wrapped into `HloModule m` and `ENTRY e { … }`.
std::string Simplified(const std::vector<PassFunction>& passes, absl::string_view instructions,
                       absl::string_view computations = "", PassContext* context = nullptr);

}  // namespace xc

#endif  // XC_COMPILER_PASS_TEST_SUPPORT_H_
