// Modules to and from HloModuleProto.
#ifndef XC_HLO_WIRE_MODULE_PROTO_H_
#define XC_HLO_WIRE_MODULE_PROTO_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"
#include "proto/hlo.pb.h"

namespace xc {

// In ModuleConfig::extra_proto only: instruction messages, each with an id and the fields that have no place in the
// instruction of that id. They are merged back when the module is written.
inline constexpr int kLeftoverField = 536870001;

// Instructions and computations are written in the order of the text, with their ids. What the message has no field for
// (replica count, partitions, elided constants, …) goes into private fields, so that nothing is lost on the way back.
// Errors: attributes whose text the message has no value for.
absl::StatusOr<pb::HloModuleProto> ModuleToProto(const HloModule& module);

// Instructions must come after their operands, as in every message that XLA writes. The result has the same guarantees
// as ParseModule's; errors name the computation and instruction. Fields that have no place in the module are kept and
// written again.
absl::StatusOr<std::unique_ptr<HloModule>> ModuleFromProto(pb::HloModuleProto proto, const ParseOptions& options = {});

// The message as bytes: the same module gives the same bytes. Errors: a message above 2 GiB.
absl::StatusOr<std::string> ModuleToBytes(const HloModule& module);

// Reads what ModuleToBytes wrote.
absl::StatusOr<std::unique_ptr<HloModule>> ModuleFromBytes(absl::string_view bytes);

}  // namespace xc

#endif  // XC_HLO_WIRE_MODULE_PROTO_H_
