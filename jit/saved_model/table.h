// Reads a sorted table in LevelDB's file format, which checkpoints use for their index: blocks of prefix-compressed
// entries, an index block and a footer. Only uncompressed blocks are taken, as checkpoints write them.
#ifndef XC_JIT_SAVED_MODEL_TABLE_H_
#define XC_JIT_SAVED_MODEL_TABLE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xc {

// All entries of the table in `file`. Checksums, sizes and the order of keys are checked; an error says what is wrong
// and at which byte.
absl::StatusOr<std::map<std::string, std::string>> ReadTable(absl::string_view file);

// Takes a base-128 number off the front of `bytes`; false if there is none that fits.
bool TakeVarint(absl::string_view* bytes, uint64_t* value);

}  // namespace xc

#endif  // XC_JIT_SAVED_MODEL_TABLE_H_
