// Bundles: a directory that holds everything to repeat a compilation and a run.
//
//   module.hlo            the module as it was given
//   options.txt           `key=value` lines: platform, cpu, disabled_passes, until_pass, excess_precision
//   NNN.PASS.hlo          the module after each pass that changed it; other numbered stages of the backend
//   inputs/I.npy          the inputs, and outputs/I.npy the results, if asked for
#ifndef XC_SERVICE_BUNDLE_H_
#define XC_SERVICE_BUNDLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/registry.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"

namespace xc {

struct Bundle {
  std::unique_ptr<HloModule> module;
  std::string platform = DefaultPlatform();
  CompileOptions options;
  std::string inputs_dir;  // "" if the bundle has no inputs
};

// Starts a bundle in `directory` (made if it is missing) and points options->dump at it.
absl::Status BeginBundle(const std::string& directory, const HloModule& module, absl::string_view platform,
                         CompileOptions* options);
// Adds `directory`/`name`/I.npy for each literal; name is "inputs" or "outputs".
absl::Status AddToBundle(const std::string& directory, absl::string_view name, absl::Span<const Literal> values);
absl::StatusOr<Bundle> ReadBundle(const std::string& directory, const ParseOptions& parse = {});

}  // namespace xc

#endif  // XC_SERVICE_BUNDLE_H_
