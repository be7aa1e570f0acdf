// Attributes as assembly text, for those that HLO carries as text.
#ifndef XC_IMPORTERS_STABLEHLO_SYNTAX_PRINT_ATTRIBUTE_H_
#define XC_IMPORTERS_STABLEHLO_SYNTAX_PRINT_ATTRIBUTE_H_

#include <string>

#include "hlo/literal.h"
#include "hlo/shape.h"
#include "importers/stablehlo/syntax/ast.h"

namespace xc::stablehlo {

// `tensor<2x?xf32, #stablehlo.bounds<?, 5>>`, `f32` for a scalar.
std::string TypeText(const Shape& shape);

// Element `i` of an array of floats: `1.500000e+00`, with the type behind a colon if there is one.
std::string FloatText(const Literal& literal, int64_t i, absl::string_view type);

// As MLIR prints it, with the types of numbers; what was written as text is repeated.
std::string AttrText(const Attr& attr);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_SYNTAX_PRINT_ATTRIBUTE_H_
