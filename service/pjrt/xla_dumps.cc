#include "service/pjrt/xla_dumps.h"

#include <atomic>
#include <cstdio>
#include <regex>

#include "absl/strings/str_cat.h"
#include "hlo/base/format.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "proto/hlo.pb.h"
#include "service/files.h"
#include "service/pjrt/xla_options.h"

namespace xc::pjrt {
namespace {

std::string OptionText(const pb::CompileOptionsProto& options, const char* name, const std::string& otherwise) {
  const auto found = options.env_option_overrides().find(name);
  return found == options.env_option_overrides().end() ? otherwise : found->second.string_field();
}

bool OptionFlag(const pb::CompileOptionsProto& options, const char* name, bool otherwise) {
  const auto found = options.env_option_overrides().find(name);
  return found == options.env_option_overrides().end() ? otherwise : BoolOf(found->second);
}

absl::Status WriteDump(const XlaDump& dump, absl::string_view stage, const HloModule& module) {
  XC_RETURN_IF_ERROR(MakeDirectories(dump.directory));
  const std::string path = absl::StrCat(dump.directory, "/", dump.prefix, ".", stage);
  if (dump.text) XC_RETURN_IF_ERROR(WriteFile(absl::StrCat(path, ".txt"), module.ToString()));
  if (!dump.proto) return absl::OkStatus();
  XC_ASSIGN_OR_RETURN(const std::string bytes, WriteModule(module, ModuleFormat::kBinaryProto));
  pb::HloProto proto;
  if (!proto.mutable_hlo_module()->ParseFromString(bytes)) return absl::InternalError("the module cannot be written");
  return WriteFile(absl::StrCat(path, ".hlo.pb"), proto.SerializeAsString());
}

}  // namespace

absl::StatusOr<XlaDump> DumpOf(const pb::CompileOptionsProto& options, const std::string& module_name) {
  const pb::DebugOptions& flags = options.executable_build_options().debug_options();
  XlaDump dump;
  dump.directory = OptionText(options, "xla_dump_to", flags.xla_dump_to());
  if (dump.directory.empty()) return dump;
  const std::string names = OptionText(options, "xla_dump_hlo_module_re", flags.xla_dump_hlo_module_re());
  try {
    if (!names.empty() && !std::regex_search(module_name, std::regex(names))) return XlaDump{};
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(absl::StrCat("xla_dump_hlo_module_re: ", error.what()));
  }
  dump.proto = OptionFlag(options, "xla_dump_hlo_as_proto", flags.xla_dump_hlo_as_proto());
  // Text, where no other form is asked for.
  dump.text = OptionFlag(options, "xla_dump_hlo_as_text", flags.xla_dump_hlo_as_text()) || !dump.proto;
  static std::atomic<int> modules{0};
  dump.prefix = Format("module_%04d.%s", modules++, module_name);
  return dump;
}

void DumpModule(const XlaDump& dump, absl::string_view stage, const HloModule& module) {
  if (dump.directory.empty()) return;
  const absl::Status written = WriteDump(dump, stage, module);
  if (!written.ok()) std::fprintf(stderr, "xc: xla_dump_to: %s\n", std::string(written.message()).c_str());
}

}  // namespace xc::pjrt
