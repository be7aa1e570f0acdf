// Small arrays of integers whose elements are known while a module is read: the sizes of arrays, and what operations
// on integers make of them. Where a type leaves sizes open (`?`), the sizes of results come from these.
#ifndef XC_IMPORTERS_STABLEHLO_LOWER_KNOWN_H_
#define XC_IMPORTERS_STABLEHLO_LOWER_KNOWN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlo/attributes.h"
#include "hlo/literal.h"
#include "importers/stablehlo/syntax/ast.h"

namespace xc::stablehlo {

// No shape has more numbers: two for each of its dimensions.
inline constexpr int64_t kMaxKnown = 256;

struct Known {
  ElementType type = ElementType::kInvalid;  // of integers or truth values
  Int64List dims;
  Int64List values;  // row-major, as Literal::GetInt has them
};
using KnownPtr = std::shared_ptr<const Known>;
using KnownValues = absl::flat_hash_map<const Value*, KnownPtr>;

inline Shape ShapeOf(const Known& known) { return Shape(known.type, known.dims); }
Literal LiteralOf(const Known& known);

// What an operation of one result gives for operands that are known. Null if it is none that is evaluated here, if its
// result is no small array of integers, or if anything about it is not as it should be: the lowering says what.
KnownPtr Fold(const Operation& op, absl::Span<const KnownPtr> operands);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_LOWER_KNOWN_H_
