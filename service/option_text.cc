#include "service/option_text.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "hlo/base/status.h"
#include "service/argument_shapes.h"
#include "service/read_limits.h"

namespace xc {
namespace {

// Takes the options that decide what is compiled, for what; false for others.
bool TakeResultOption(absl::string_view key, absl::string_view value, TextOptions* options) {
  if (key == "platform") {
    options->platform = std::string(value);
  } else if (key == "cpu") {
    options->compile.cpu = std::string(value);
  } else if (key == "disabled_passes") {
    options->compile.disabled_passes = absl::StrSplit(value, ',', absl::SkipEmpty());
  } else if (key == "until_pass") {
    options->compile.until_pass = std::string(value);
  } else if (key == "excess_precision" && (value == "0" || value == "1")) {
    options->compile.excess_precision = value == "1";
  } else if (key == "emulate" && (value == "0" || value == "1")) {
    options->compile.emulate = value == "1";
  } else if (key == "gpu_libraries" && (value == "0" || value == "1")) {
    options->compile.gpu_libraries = value == "1";
  } else {
    return false;
  }
  return true;
}

bool TakePathOption(absl::string_view key, absl::string_view value, TextOptions* options) {
  if (key == "dump_to") {
    options->dump_to = std::string(value);
  } else if (key == "cache_dir") {
    options->compile.cache_dir = std::string(value);
  } else {
    return false;
  }
  return true;
}

absl::StatusOr<bool> TakeNumberOption(absl::string_view key, absl::string_view value, TextOptions* options) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number)) return false;
  CompileOptions& compile = options->compile;
  if (key == "cache_dir_bytes") {
    compile.cache_dir_bytes = number;
  } else if (key == "keep_texts") {
    compile.keep_texts = number != 0;
  } else if (key == "profile") {
    compile.profile = number != 0;
  } else if (key == "max_memory_bytes") {
    compile.max_memory_bytes = number;
  } else if (key == "max_instructions") {
    compile.max_instructions = number;
  } else if (key == "compile_threads" && number == static_cast<int>(number)) {
    compile.compile_threads = static_cast<int>(number);
  } else if (key == "compile_timeout_s") {
    compile.deadline = absl::Now() + absl::Seconds(number);
  } else if (IsReadLimit(key)) {
    XC_RETURN_IF_ERROR(SetReadLimit(key, number, &options->parse));
  } else {
    return false;
  }
  return true;
}

absl::StatusOr<bool> TakeShapesOption(absl::string_view key, absl::string_view value, TextOptions* options) {
  if (key != "argument_shapes") return false;
  XC_ASSIGN_OR_RETURN(options->argument_shapes, ParseArgumentShapes(value));
  UseArgumentShapes(options->argument_shapes, &options->parse);
  return true;
}

using Line = std::pair<absl::string_view, absl::string_view>;

}  // namespace

absl::StatusOr<TextOptions> ParseOptionText(absl::string_view text) {
  TextOptions options;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const Line entry = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (TakeResultOption(entry.first, entry.second, &options) || TakePathOption(entry.first, entry.second, &options)) {
      continue;
    }
    XC_ASSIGN_OR_RETURN(bool taken, TakeShapesOption(entry.first, entry.second, &options));
    if (taken) continue;
    XC_ASSIGN_OR_RETURN(taken, TakeNumberOption(entry.first, entry.second, &options));
    if (!taken) {
      return absl::InvalidArgumentError(absl::StrCat("unknown option or value: '", line, "'; service/xc.h lists them"));
    }
  }
  return options;
}

absl::StatusOr<TextOptions> ParseBundleOptions(absl::string_view text) {
  TextOptions options;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const Line entry = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (!TakeResultOption(entry.first, entry.second, &options)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown line '", line, "'"));
    }
  }
  return options;
}

std::string BundleOptionText(absl::string_view platform, const CompileOptions& options) {
  return absl::StrCat("platform=", platform, "\ncpu=", options.cpu,
                      "\ndisabled_passes=", absl::StrJoin(options.disabled_passes, ","),
                      "\nuntil_pass=", options.until_pass, "\nexcess_precision=", options.excess_precision ? 1 : 0,
                      options.emulate ? "\nemulate=1" : "", options.gpu_libraries ? "\n" : "\ngpu_libraries=0\n");
}

}  // namespace xc
