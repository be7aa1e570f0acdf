// Modules to and from the bytes of a HloModuleProto.
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "hlo/base/status.h"
#include "hlo/wire/module_proto.h"

namespace xc {

absl::StatusOr<std::string> ModuleToBytes(const HloModule& module) {
  XC_ASSIGN_OR_RETURN(const pb::HloModuleProto proto, ModuleToProto(module));
  if (proto.ByteSizeLong() > static_cast<size_t>(INT32_MAX)) {
    return absl::ResourceExhaustedError("the module is over 2 GiB as a message; keep it as text");
  }
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  const bool ok = proto.SerializeToCodedStream(&coded);
  coded.Trim();
  if (!ok) return absl::InternalError("the module cannot be written as a message");
  return out;
}

absl::StatusOr<std::unique_ptr<HloModule>> ModuleFromBytes(absl::string_view bytes) {
  if (bytes.size() > static_cast<size_t>(INT32_MAX)) return absl::InvalidArgumentError("the message is over 2 GiB");
  const google::protobuf::LogSilencer quiet;  // the library writes of bad UTF-8 to stderr; the status says enough
  pb::HloModuleProto proto;
  if (!proto.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("this is no HloModuleProto");
  }
  return ModuleFromProto(std::move(proto));
}

}  // namespace xc
