// What the printer's files share.
#ifndef XC_HLO_TEXT_PRINT_IMPL_H_
#define XC_HLO_TEXT_PRINT_IMPL_H_

#include <string>

#include "hlo/text/printer.h"

namespace xc {

// Appends ", name=value" for all attributes and called computations of `instruction`, in XLA's order.
void AppendAttributes(const HloInstruction& instruction, const PrintOptions& options, std::string* out);
// Appends the same for one attribute.
void AppendAttribute(AttrKind kind, const AttrValue& value, std::string* out);
void AppendFrontendAttributes(const FrontendAttributes& attributes, std::string* out);
void AppendLiteral(const Literal& literal, int64_t max_elements, std::string* out);
void AppendName(absl::string_view name, const PrintOptions& options, std::string* out);
// "{0,1}"
void AppendInts(const Int64List& ints, std::string* out);

}  // namespace xc

#endif  // XC_HLO_TEXT_PRINT_IMPL_H_
