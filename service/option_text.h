// Options as lines of `key=value`: those of the C API, and those of a bundle.
#ifndef XC_SERVICE_OPTION_TEXT_H_
#define XC_SERVICE_OPTION_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/registry.h"
#include "hlo/text/parser.h"

namespace xc {

struct TextOptions {
  std::string platform = DefaultPlatform();
  std::string dump_to;  // "" for no bundle
  CompileOptions compile;
  ParseOptions parse;
  std::vector<Shape> argument_shapes;  // which `parse` gives where they are open
};

// What service/xc.h lists at xc_compile_hlo. Errors name the first line that is wrong.
absl::StatusOr<TextOptions> ParseOptionText(absl::string_view text);

// The options.txt of a bundle: platform, cpu, disabled_passes and until_pass. Those that name files are refused, since
// a bundle may come from others.
absl::StatusOr<TextOptions> ParseBundleOptions(absl::string_view text);
std::string BundleOptionText(absl::string_view platform, const CompileOptions& options);

}  // namespace xc

#endif  // XC_SERVICE_OPTION_TEXT_H_
