#include "service/bundle.h"

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "service/files.h"
#include "service/npy.h"
#include "service/option_text.h"

namespace xc {

absl::Status BeginBundle(const std::string& directory, const HloModule& module, absl::string_view platform,
                         CompileOptions* options) {
  XC_RETURN_IF_ERROR(MakeDirectories(directory));
  XC_RETURN_IF_ERROR(WriteFile(absl::StrCat(directory, "/module.hlo"), module.ToString()));
  XC_RETURN_IF_ERROR(WriteFile(absl::StrCat(directory, "/options.txt"), BundleOptionText(platform, *options)));
  options->dump = [directory](absl::string_view name, absl::string_view contents) {
    // A dump that cannot be written (disk full, say) must not fail the compilation.
    WriteFile(absl::StrCat(directory, "/", name), contents).IgnoreError();
  };
  return absl::OkStatus();
}

absl::Status AddToBundle(const std::string& directory, absl::string_view name, absl::Span<const Literal> values) {
  const std::string folder = absl::StrCat(directory, "/", name);
  XC_RETURN_IF_ERROR(MakeDirectories(folder));
  for (size_t i = 0; i < values.size(); ++i) {
    XC_RETURN_IF_ERROR(WriteNpy(absl::StrCat(folder, "/", i, ".npy"), values[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<Bundle> ReadBundle(const std::string& directory, const ParseOptions& parse) {
  if (!FileExists(directory + "/module.hlo")) {
    return absl::InvalidArgumentError(absl::StrCat(directory, " is not a bundle: it has no module.hlo"));
  }
  Bundle bundle;
  XC_ASSIGN_OR_RETURN(bundle.module, ReadModuleFile(directory + "/module.hlo", parse));
  if (FileExists(directory + "/options.txt")) {
    XC_ASSIGN_OR_RETURN(std::string text, ReadFile(directory + "/options.txt"));
    absl::StatusOr<TextOptions> options = ParseBundleOptions(text);
    if (!options.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(directory, "/options.txt: ", options.status().message()));
    }
    bundle.platform = std::move(options->platform);
    bundle.options = std::move(options->compile);
  }
  if (IsDirectory(directory + "/inputs")) bundle.inputs_dir = directory + "/inputs";
  return bundle;
}

}  // namespace xc
