// Modules from bytes and files, whatever form they are in.
#ifndef XC_HLO_IO_H_
#define XC_HLO_IO_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"

namespace xc {

// Reads HLO text. Errors say where in the bytes they are.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(absl::string_view bytes, const ParseOptions& options = {});

// The same from a file; errors name the path.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFile(const std::string& path, const ParseOptions& options = {});

}  // namespace xc

#endif  // XC_HLO_IO_H_
