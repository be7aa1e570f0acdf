// A visitor of instructions with one handler per opcode, dispatched by the op table at compile time.
#ifndef XC_HLO_VISITOR_H_
#define XC_HLO_VISITOR_H_

#include "absl/status/status.h"
#include "hlo/base/status.h"
#include "hlo/module.h"

namespace xc {

// Chooses the overload of a handler.
template <HloOpcode kOpcode>
struct OpTag {};

// Derived classes overload Handle for the opcodes that they care about and bring in the default for the rest:
//
//   class CountDots : public HloVisitor<CountDots> {
//    public:
//     using HloVisitor::Handle;
//     absl::Status Handle(OpTag<HloOpcode::kDot>, HloInstruction* dot) { ++dots; return absl::OkStatus(); }
//     int dots = 0;
//   };
template <typename Derived>
class HloVisitor {
 public:
  // What happens to opcodes without an overload; hide it to do something else.
  absl::Status DefaultAction(HloInstruction*) { return absl::OkStatus(); }

  template <HloOpcode kOpcode>
  absl::Status Handle(OpTag<kOpcode>, HloInstruction* instruction) {
    return derived().DefaultAction(instruction);
  }

  absl::Status Visit(HloInstruction* instruction) {
    switch (instruction->opcode()) {
#define XC_OPCODE(e, name, arity, traits, attributes) \
  case HloOpcode::e:                                  \
    return derived().Handle(OpTag<HloOpcode::e>(), instruction);
#include "hlo/opcode.def"
#undef XC_OPCODE
    }
    return absl::InternalError("an instruction has no valid opcode");
  }

  // Operands before users, in the order that holds when the walk starts. A handler may add instructions, which are not
  // visited, and remove the one it handles, but none that is still to come.
  absl::Status VisitComputation(HloComputation* computation) {
    for (HloInstruction* instruction : computation->PostOrder()) XC_RETURN_IF_ERROR(Visit(instruction));
    return absl::OkStatus();
  }

  // Callees before callers.
  absl::Status VisitModule(HloModule* module) {
    for (HloComputation* computation : module->ComputationPostOrder()) {
      XC_RETURN_IF_ERROR(VisitComputation(computation));
    }
    return absl::OkStatus();
  }

 private:
  Derived& derived() { return static_cast<Derived&>(*this); }
};

}  // namespace xc

#endif  // XC_HLO_VISITOR_H_
