// What the lowerings of control flow share: functions by name, and values as the elements of tuples.
#ifndef XC_JIT_LOWERING_CALLEES_H_
#define XC_JIT_LOWERING_CALLEES_H_

#include <memory>
#include <string>
#include <vector>

#include "jit/lowering/graph_lowering.h"

namespace xc {

// The name of a function as HLO's text takes it.
std::string ComputationName(const Graph& function);

absl::StatusOr<std::shared_ptr<const Graph>> Body(OpContext& c, const NameAttrList& name);

// The functions that a node may call: a loop's condition and body, all branches, or a call's function.
std::vector<NameAttrList> CalleesOf(const Node& node);

// Results of a function that is lowered where `c` stands; its arguments are the operands from `first_operand` on, or
// what a loop made of them.
absl::StatusOr<std::vector<LoweredValue>> LowerInline(OpContext& c, const Graph& function,
                                                      std::vector<LoweredValue> args, int first_operand);

// The arrays that a value consists of: one, or two for a list or array whose length changes.
absl::Status Flatten(OpContext& c, GraphLowering& graph, Emitter& b, LoweredValue& v, std::vector<Val>* leaves);

// A value like `model` made of other arrays: the leaves from `*at` on of the tuple. Variables get the slot `slot`.
LoweredValue Rebuild(const LoweredValue& model, Emitter& b, Val tuple, int* at, VariableSlot* slot);

// The error of a nested lowering; what it needs constant is asked of this graph's arguments, if they may be.
absl::Status NestedError(OpContext& c, const GraphLowering& nested, const absl::Status& status, int first_operand);

// Takes in a loop (while_loop.cc).
absl::Status LowerWhile(OpContext& c);

}  // namespace xc

#endif  // XC_JIT_LOWERING_CALLEES_H_
