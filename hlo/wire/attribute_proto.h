// Attributes of one instruction to and from HloInstructionProto.
#ifndef XC_HLO_WIRE_ATTRIBUTE_PROTO_H_
#define XC_HLO_WIRE_ATTRIBUTE_PROTO_H_

#include "absl/status/status.h"
#include "hlo/instruction.h"
#include "proto/hlo.pb.h"

namespace xc {

// Operands, shape, name and called computations are the caller's to write.
absl::Status AttributesToProto(const HloInstruction& instruction, pb::HloInstructionProto* proto);

// Sets the attributes that the opcode of `instruction` has, and clears their fields in `*proto`. The operands of the
// instruction must be set. `*elided_bytes` counts down what literals without elements may take.
absl::Status AttributesFromProto(pb::HloInstructionProto* proto, HloInstruction* instruction, int64_t* elided_bytes);

}  // namespace xc

#endif  // XC_HLO_WIRE_ATTRIBUTE_PROTO_H_
