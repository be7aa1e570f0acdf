// HloOpcode: the opcodes of HLO and what the op table (hlo/opcode.def) says of each.
#ifndef XC_HLO_OPCODE_H_
#define XC_HLO_OPCODE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "hlo/attributes.h"

namespace xc {

enum class HloOpcode : uint8_t {
#define XC_OPCODE(e, name, arity, traits, attributes) e,
#include "hlo/opcode.def"
#undef XC_OPCODE
};

inline constexpr int kOpcodeCount = 0
#define XC_OPCODE(e, name, arity, traits, attributes) +1
#include "hlo/opcode.def"
#undef XC_OPCODE
    ;

inline constexpr int kVariadic = -1;

// Traits of an opcode, as bits.
enum OpTrait : uint32_t {
  // Every output element depends on the same element of each operand (operands of select and clamp may be scalars).
  kElementwise = 1,
  kCommutative = 2,
  // Must not be removed, duplicated or reordered with others of its kind.
  kSideEffect = 4,
  kCollective = 8,
};

absl::string_view OpcodeName(HloOpcode opcode);
std::optional<HloOpcode> OpcodeFromName(absl::string_view name);
// The exact number of operands, or kVariadic.
int OpcodeArity(HloOpcode opcode);
uint32_t OpcodeTraits(HloOpcode opcode);
// Whether instructions with this opcode may carry attribute `kind` (those that every instruction may carry included).
bool OpcodeHasAttr(HloOpcode opcode, AttrKind kind);

// How the text names the computations that an opcode calls, and so how many there are.
enum class CallStyle : uint8_t {
  kNone,
  kToApply,        // to_apply=
  kCalls,          // calls= (fusion)
  kAsync,          // calls= or called_computation=; none on async-update and async-done is allowed
  kConditionBody,  // condition=, body=
  kBranches,       // branch_computations={}, or true_computation=, false_computation=
  kSelectScatter,  // select=, scatter=
  kCustom,         // any number: called_computations={} or to_apply=
};
CallStyle OpcodeCallStyle(HloOpcode opcode);

inline bool IsElementwise(HloOpcode o) { return OpcodeTraits(o) & kElementwise; }
inline bool IsCommutative(HloOpcode o) { return OpcodeTraits(o) & kCommutative; }
inline bool IsCollective(HloOpcode o) { return OpcodeTraits(o) & kCollective; }

}  // namespace xc

#endif  // XC_HLO_OPCODE_H_
