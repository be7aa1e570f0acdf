// What the commands take for a module: a file, or a signature of a SavedModel.
#ifndef XC_TOOLS_READ_MODULE_H_
#define XC_TOOLS_READ_MODULE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"

namespace xc {

struct ModuleSource {
  std::string path;
  std::string shapes;  // see ReadModuleOfShapes; of a SavedModel's signature, of its inputs in the order of their names
  std::string signature = "serving_default";
};

inline constexpr char kSignatureHelp[] = "of a SavedModel: the signature to take (default: serving_default)";

// What to call a file in reports: its name without folder and `suffix`, or `stdin`.
std::string SourceName(const std::string& path, absl::string_view suffix = "");

// The error of a file that `xla compile` wrote, which no command takes for a module or graph: what is damaged in it, or
// who runs it. OK for all other files.
absl::Status RefuseCompiled(const std::string& path);

// VerifyModule; errors name the path.
absl::Status VerifySource(const std::string& path, const HloModule& module);

// Reads and verifies; errors name the path. Of a SavedModel the module has the values of its variables as constants; a
// line on stderr says so where the module does not refuse what TensorFlow does.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(const ModuleSource& source, ParseOptions options = {},
                                                      std::vector<Literal>* arguments = nullptr);

}  // namespace xc

#endif  // XC_TOOLS_READ_MODULE_H_
