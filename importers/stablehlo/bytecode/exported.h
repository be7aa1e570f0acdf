// The files that jax.export writes: a flatbuffer around a module as MLIR bytecode, with what is needed to call it.
#ifndef XC_IMPORTERS_STABLEHLO_BYTECODE_EXPORTED_H_
#define XC_IMPORTERS_STABLEHLO_BYTECODE_EXPORTED_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "importers/stablehlo/syntax/ast.h"

namespace xc::stablehlo {

struct Exported {
  absl::string_view module;
  std::vector<std::string> platforms;
  uint64_t devices = 1;
  uint64_t calling_convention = 0;
  bool ordered_effects = false;
};

// Nothing if the bytes are no such file: they have no mark at their beginning, but a module inside that has one.
std::optional<Exported> FindExported(absl::string_view bytes);

// OK if this reader can run it: on one device, which is a CPU.
absl::Status CheckExported(const Exported& exported);

// A program for several platforms may take as its first argument the number of the one that it runs on: that of the CPU
// among `platforms` takes its place.
absl::Status BindPlatform(const std::vector<std::string>& platforms, Program* program);

// A program of the first calling conventions may take sizes of its arguments as arguments before those: these take
// their place.
absl::Status BindSizes(const std::vector<int64_t>& sizes, Program* program);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_BYTECODE_EXPORTED_H_
