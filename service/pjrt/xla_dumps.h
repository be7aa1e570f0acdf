// What XLA's options --xla_dump_to and those beside it ask for: the module of each program in files, before it is
// optimized and after, by the names that XLA gives them.
#ifndef XC_SERVICE_PJRT_XLA_DUMPS_H_
#define XC_SERVICE_PJRT_XLA_DUMPS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "proto/compile_options.pb.h"

namespace xc::pjrt {

struct XlaDump {
  std::string directory;  // "" for none
  bool text = true, proto = false;
  std::string prefix;  // module_0004.jit_f
};

// What the options ask for, of which those of one program stand before XLA_FLAGS, for a module of this name. Each call
// that finds a directory numbers a module. InvalidArgument where the names of modules are given by no regular
// expression.
absl::StatusOr<XlaDump> DumpOf(const pb::CompileOptionsProto& options, const std::string& module_name);

// Writes PREFIX.STAGE.txt and PREFIX.STAGE.hlo.pb. What cannot be written is said on standard error, as XLA does: a
// program does not fail for it.
void DumpModule(const XlaDump& dump, absl::string_view stage, const HloModule& module);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_XLA_DUMPS_H_
