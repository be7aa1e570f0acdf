// What `xla compile` compiles: the modules of its FILEs, and those of --shapes' ranges of sizes.
#ifndef XC_TOOLS_COMPILE_SIZES_H_
#define XC_TOOLS_COMPILE_SIZES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/ahead_of_time.h"

namespace xc {

// FILEs and the flags that say how modules are read from them (`xla compile --help`).
struct CompileSources {
  std::vector<std::string> paths;
  std::string constants, shapes, signature = "serving_default", samples, pieces;
  bool constants_beside = false;
};

// Errors are those of the files and of the flags. Modules of ranges are read when they are asked for. `notes` are
// ranges that got an end, each with the reason.
absl::StatusOr<SizesAhead> SizesOf(const CompileSources& sources, std::vector<std::string>* notes);

}  // namespace xc

#endif  // XC_TOOLS_COMPILE_SIZES_H_
