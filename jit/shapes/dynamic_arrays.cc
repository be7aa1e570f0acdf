#include "jit/shapes/dynamic_arrays.h"

#include <vector>

#include "jit/lowering/dynamic_array.h"

namespace xc {
namespace {

// The operand that may be an array that grows, for ops that take it only there; -1 for others.
int GrowingOperand(const Node& n) {
  switch (UseOfDynamicArray(n)) {
    case DynamicArrayUse::kAppend:
      return n.op == "Concat" ? 1 : 0;
    case DynamicArrayUse::kLast:
    case DynamicArrayUse::kPick:
    case DynamicArrayUse::kReduce:
    case DynamicArrayUse::kTranspose:
    case DynamicArrayUse::kExpandDims:
      return 0;
    default:
      return -1;
  }
}

bool Passes(const Node& n) { return UseOfDynamicArray(n) == DynamicArrayUse::kPass; }

// Operands of a fused product that are not its matrices: they may only come beside a matrix that grows.
bool IsAppended(const Node& n, size_t operand) {
  return operand > 1 && UseOfDynamicArray(n) == DynamicArrayUse::kProduct;
}

// The operand as a constant of the function; null if it is not one.
const Node* ConstantOperand(const Graph& graph, const Node& n, size_t i) {
  const Node* from = i < n.inputs.size() ? &graph.node(n.inputs[i].node) : nullptr;
  while (from != nullptr && Passes(*from)) from = &graph.node(from->inputs[0].node);
  return from != nullptr && from->op == "Const" && from->constant != nullptr ? from : nullptr;
}

// Whether a slice has a known number of last elements in some dimension, as x[:, -1] has.
bool TakesLast(const Graph& graph, const Node& n) {
  const Node* begin = ConstantOperand(graph, n, 1);
  const Node* strides = ConstantOperand(graph, n, 3);
  if (begin == nullptr || strides == nullptr) return false;
  auto from = begin->constant->tensor.AsInt64s(), step = strides->constant->tensor.AsInt64s();
  if (!from.ok() || !step.ok() || from->size() != step->size() || from->size() > 32) return false;
  const int64_t from_start = n.Int("begin_mask").value_or(0);
  for (size_t i = 0; i < from->size(); ++i) {
    if (!(from_start >> i & 1) && (*from)[i] < 0 && (*step)[i] > 0) return true;
  }
  return false;
}

}  // namespace

bool TakesDynamicArrays(const Graph& function, const std::set<OutputRef>& growing, std::set<int>* nodes) {
  for (int id = 0; id < function.size(); ++id) {
    if (!function.has(id)) continue;
    const Node& n = function.node(id);
    const int only = GrowingOperand(n);
    bool takes = false;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (growing.count(n.inputs[i]) == 0) continue;
      if (only >= 0 && static_cast<int>(i) != only) return false;
      if (IsAppended(n, i) && !takes) return false;
      takes = true;
    }
    if (!takes || n.op == "_Retval") continue;
    const DynamicArrayUse use = UseOfDynamicArray(n);
    if (use == DynamicArrayUse::kNone || (use == DynamicArrayUse::kLast && !TakesLast(function, n))) return false;
    nodes->insert(id);
  }
  return true;
}

bool TakesCut(const Graph& graph, const Node& node, const std::vector<bool>& cut, bool* still) {
  const int only = GrowingOperand(node);
  int operands = 0;
  for (size_t i = 0; i < cut.size(); ++i) {
    if (cut[i] && only >= 0 && static_cast<int>(i) != only) return false;
    if (cut[i] && IsAppended(node, i)) {
      if (operands != 1) return false;
    } else {
      operands += cut[i];
    }
  }
  *still = true;
  switch (UseOfDynamicArray(node)) {
    case DynamicArrayUse::kNone:
    case DynamicArrayUse::kAppend:  // there is no capacity any more
    case DynamicArrayUse::kShape:   // whatever is made of the length would have to be known
      return false;
    case DynamicArrayUse::kLast:
      *still = false;
      return TakesLast(graph, node);
    case DynamicArrayUse::kProduct:
      *still = operands == 1;
      return true;
    default:
      return true;
  }
}

bool Appends(const Graph& body, int index) {
  const std::vector<int> results = body.Retvals();
  if (index >= static_cast<int>(results.size())) return false;
  OutputRef at = body.node(results[index]).inputs[0];
  for (;;) {
    const Node& n = body.node(at.node);
    if (n.op == "_Arg") return n.Int("index").value_or(-1) == index;
    const DynamicArrayUse use = UseOfDynamicArray(n);
    if (use != DynamicArrayUse::kPass && use != DynamicArrayUse::kAppend && use != DynamicArrayUse::kPick) return false;
    at = n.inputs[use == DynamicArrayUse::kPass ? at.index : GrowingOperand(n)];
  }
}

}  // namespace xc
