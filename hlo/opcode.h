// HloOpcode: the opcodes of HLO and what the op table (hlo/opcode.def) says of each.
#ifndef XC_HLO_OPCODE_H_
#define XC_HLO_OPCODE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/attributes.h"

namespace xc {

enum class HloOpcode : uint8_t {
#define XC_OPCODE(e, ...) e,
#include "hlo/opcode.def"
#undef XC_OPCODE
};

inline constexpr int kOpcodeCount = 0
#define XC_OPCODE(e, ...) +1
#include "hlo/opcode.def"
#undef XC_OPCODE
    ;

inline constexpr int kVariadic = -1;

// How an op gets from the elements of its operands to those of its result.
enum class OpAccess : uint8_t {
  kStructure,    // touches no element: names, groups or passes on arrays
  kElementwise,  // each from the same element of each operand (operands of select and clamp may be scalars)
  kMoves,        // each is an element of an operand, or follows from the position
  kReduces,      // combines many elements into one
  kOpaque,       // anything else: control flow, communication, libraries
};

// What computing one element takes. Costs in cycles, bytes or weights are their users' own, by these classes.
enum class OpCost : uint8_t {
  kNone,          // nothing: an address that changes evenly, or bits seen as others
  kSimple,        // an operation of the machine, or address arithmetic
  kDivision,      // division or square root
  kFunction,      // a function of one polynomial
  kLongFunction,  // one of several polynomials, cases or divisions
  kSpecial,       // depends on the instruction's shapes and attributes
};

// Traits of an opcode, as bits.
enum OpTrait : uint32_t {
  kCommutative = 1,
  // Must not be removed, duplicated or reordered with others of its kind.
  kSideEffect = 2,
  kCollective = 4,
  // Results in a floating-point type need no rounding: they are operands, or have no more digits than those.
  kExact = 8,
};

absl::string_view OpcodeName(HloOpcode opcode);
std::optional<HloOpcode> OpcodeFromName(absl::string_view name);
// The exact number of operands, or kVariadic.
int OpcodeArity(HloOpcode opcode);
uint32_t OpcodeTraits(HloOpcode opcode);
OpAccess OpcodeAccess(HloOpcode opcode);
OpCost OpcodeCost(HloOpcode opcode);
// Of an elementwise op: the classes (TypeClass) of its first operand's element type that it is defined for.
int OpcodeTypes(HloOpcode opcode);
// Whether instructions with this opcode may carry attribute `kind` (those that every instruction may carry included).
bool OpcodeHasAttr(HloOpcode opcode, AttrKind kind);
// The attributes that an instruction with this opcode cannot be without; all others have a default.
absl::Span<const AttrKind> OpcodeRequiredAttrs(HloOpcode opcode);

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
// How many computations an instruction with this opcode may call.
struct CallCount {
  int64_t min, max;
};
CallCount OpcodeCallCount(HloOpcode opcode);

inline bool IsElementwise(HloOpcode o) { return OpcodeAccess(o) == OpAccess::kElementwise; }
inline bool IsCommutative(HloOpcode o) { return OpcodeTraits(o) & kCommutative; }
// Whether it is a function whose evaluation takes a polynomial or more: exponential, sine, power, …
inline bool IsTranscendental(HloOpcode o) {
  return OpcodeCost(o) == OpCost::kFunction || OpcodeCost(o) == OpCost::kLongFunction;
}
inline bool IsCollective(HloOpcode o) { return OpcodeTraits(o) & kCollective; }

}  // namespace xc

#endif  // XC_HLO_OPCODE_H_
