// Reads MLIR attribute dictionaries, as they stand in backend_config, with the types of their values.
#ifndef XC_BACKENDS_RUNTIME_ATTRIBUTE_TEXT_H_
#define XC_BACKENDS_RUNTIME_ATTRIBUTE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/runtime/types.h"

namespace xc {

struct NamedAttribute;

struct TypedAttribute {
  enum class Kind {
    kScalar,      // one element
    kArray,       // `count` elements: of array<…>, of dense<…> (row-major), or of a list of numbers
    kString,      // `bytes`
    kDictionary,  // `entries`, sorted by name; of a list of other things, whose names are 0, 1, …
    kOther,       // something else (a symbol, a dialect's attribute): its text in `bytes`
  };
  Kind kind = Kind::kOther;
  RtType type = RtType::kInvalid;  // of the elements, which `bytes` holds
  int64_t count = 0;
  std::string bytes;
  std::vector<NamedAttribute> entries;
};

struct NamedAttribute {
  std::string name;
  TypedAttribute value;
};

// The dictionary that `text` is. Text that is none (another backend_config: JSON, or anything that does not begin with
// a brace) gives an empty one; a broken one is an InvalidArgument error.
absl::StatusOr<TypedAttribute> ReadAttributeDictionary(absl::string_view text);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_ATTRIBUTE_TEXT_H_
