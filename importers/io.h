// Reads and writes modules in every form there is: HLO text, HloModuleProto and HloProto, binary or as protobuf text;
// and reads StableHLO, as text or bytecode, and snapshots.
#ifndef XC_IMPORTERS_IO_H_
#define XC_IMPORTERS_IO_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"

namespace xc {

enum class ModuleFormat { kText, kBinaryProto, kTextProto };

// The form is told by the content, not by the name of the file. A snapshot of a run (HloSnapshot,
// HloUnoptimizedSnapshot) gives its module; and the arrays that the parameters had, of the first partition, to
// `arguments` if that is not null.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(absl::string_view bytes, const ParseOptions& options = {},
                                                      std::vector<Literal>* arguments = nullptr);
// Errors name the path.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFile(const std::string& path, const ParseOptions& options = {},
                                                          std::vector<Literal>* arguments = nullptr);

// Protos are HloModuleProto. The same module gives the same bytes.
absl::StatusOr<std::string> WriteModule(const HloModule& module, ModuleFormat format);

}  // namespace xc

#endif  // XC_IMPORTERS_IO_H_
