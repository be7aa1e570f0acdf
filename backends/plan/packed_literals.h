// Constants in the order in which kernels read them, shared by the programs of a process: those of one graph for
// several shapes have the same constants.
#ifndef XC_BACKENDS_PLAN_PACKED_LITERALS_H_
#define XC_BACKENDS_PLAN_PACKED_LITERALS_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "hlo/literal.h"

namespace xc::plan {

// What `pack` made of `source`, now or for another program that still lives. `order` tells packings of one constant
// apart. Thread-safe; two threads may pack at the same time, of which one copy is kept.
std::shared_ptr<const Literal> PackedLiteral(const std::shared_ptr<const Literal>& source, absl::string_view order,
                                             absl::FunctionRef<std::shared_ptr<const Literal>()> pack);

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_PACKED_LITERALS_H_
