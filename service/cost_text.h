// The costs of a compiled program as text, for the C API.
#ifndef XC_SERVICE_COST_TEXT_H_
#define XC_SERVICE_COST_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace xc {

// One line for each instruction of the entry computation of `hlo` that costs something: its name, opcode, FLOPs,
// transcendental functions, bytes read and bytes written (CostOf), with spaces between. "" if `hlo` cannot be read.
std::string CostText(absl::string_view hlo);

}  // namespace xc

#endif  // XC_SERVICE_COST_TEXT_H_
