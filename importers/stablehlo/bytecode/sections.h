// The parts of a file of MLIR bytecode, before anything in them has a meaning: strings, dialects, names of operations,
// and where each attribute, type, property and resource lies.
#ifndef XC_IMPORTERS_STABLEHLO_BYTECODE_SECTIONS_H_
#define XC_IMPORTERS_STABLEHLO_BYTECODE_SECTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "importers/stablehlo/bytecode/cursor.h"

namespace xc::stablehlo {

// What came with a version of the format.
inline constexpr uint64_t kDialectVersions = 1;
inline constexpr uint64_t kIsolatedSections = 2;
inline constexpr uint64_t kUseListOrders = 3;
inline constexpr uint64_t kElidedLocations = 4;
inline constexpr uint64_t kNameCounts = 4;
inline constexpr uint64_t kProperties = 5;
inline constexpr uint64_t kNewestVersion = 6;

enum class SectionId : uint8_t {
  kString,
  kDialect,
  kAttrType,
  kAttrTypeOffset,
  kIr,
  kResource,
  kResourceOffset,
  kDialectVersions,
  kProperties,
};
inline constexpr int kSectionIds = 9;

struct OpName {
  absl::string_view dialect, name;
  bool registered = true;
};

// The bytes of an attribute or a type.
struct Encoded {
  absl::string_view bytes;
  absl::string_view dialect;
  bool custom = false;  // in the dialect's own encoding; else as assembly text
};

struct Resource {
  absl::string_view key;
  absl::string_view bytes;
  uint8_t kind = 0;  // 0: a blob
};

struct Sections {
  uint64_t version = 0;
  std::vector<absl::string_view> strings;
  std::vector<absl::string_view> dialects;
  std::vector<OpName> op_names;
  std::vector<Encoded> attributes, types;
  std::vector<absl::string_view> properties;
  std::vector<Resource> resources;  // of dialects, in the order that attributes refer to them by
  absl::string_view ir;
};

// The id and the bytes of the section at the cursor. `file` is what alignment is relative to.
bool ReadSection(Cursor* in, absl::string_view file, SectionId* id, absl::string_view* bytes);

bool ReadSections(absl::string_view file, ErrorState* errors, Sections* out);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_BYTECODE_SECTIONS_H_
