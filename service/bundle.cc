#include "service/bundle.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "hlo/base/status.h"
#include "hlo/io.h"
#include "service/files.h"
#include "service/npy.h"

namespace xc {

absl::Status BeginBundle(const std::string& directory, const HloModule& module, absl::string_view platform,
                         CompileOptions* options) {
  XC_RETURN_IF_ERROR(MakeDirectories(directory));
  XC_RETURN_IF_ERROR(WriteFile(absl::StrCat(directory, "/module.hlo"), module.ToString()));
  XC_RETURN_IF_ERROR(WriteFile(absl::StrCat(directory, "/options.txt"),
                               absl::StrCat("platform=", platform, "\ncpu=", options->cpu,
                                            "\ndisabled_passes=", absl::StrJoin(options->disabled_passes, ","),
                                            "\nuntil_pass=", options->until_pass, "\n")));
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
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
      const std::pair<std::string, std::string> entry = absl::StrSplit(line, absl::MaxSplits('=', 1));
      if (entry.first == "platform") {
        bundle.platform = entry.second;
      } else if (entry.first == "cpu") {
        bundle.options.cpu = entry.second;
      } else if (entry.first == "disabled_passes") {
        bundle.options.disabled_passes = absl::StrSplit(entry.second, ',', absl::SkipEmpty());
      } else if (entry.first == "until_pass") {
        bundle.options.until_pass = entry.second;
      } else {
        return absl::InvalidArgumentError(absl::StrCat(directory, "/options.txt: unknown line '", line, "'"));
      }
    }
  }
  if (IsDirectory(directory + "/inputs")) bundle.inputs_dir = directory + "/inputs";
  return bundle;
}

}  // namespace xc
