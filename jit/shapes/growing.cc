#include "jit/shapes/growing.h"

#include <vector>

#include "jit/lowering/grown.h"

namespace xc {
namespace {

// The operand that may be an array that grows, for ops that take it only there; -1 for others.
int GrowingOperand(const Node& n) {
  switch (UseOfGrown(n)) {
    case GrownUse::kAppend:
      return n.op == "Concat" ? 1 : 0;
    case GrownUse::kLast:
    case GrownUse::kPick:
    case GrownUse::kReduce:
    case GrownUse::kTranspose:
    case GrownUse::kExpandDims:
      return 0;
    default:
      return -1;
  }
}

bool Passes(const Node& n) { return UseOfGrown(n) == GrownUse::kPass; }

// Operands of a fused product that are not its matrices: they may only come beside a matrix that grows.
bool IsAppended(const Node& n, size_t operand) { return operand > 1 && UseOfGrown(n) == GrownUse::kProduct; }

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

bool TakesGrowing(const Graph& function, const std::set<OutputRef>& growing, std::set<int>* nodes) {
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
    const GrownUse use = UseOfGrown(n);
    if (use == GrownUse::kNone || (use == GrownUse::kLast && !TakesLast(function, n))) return false;
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
  switch (UseOfGrown(node)) {
    case GrownUse::kNone:
    case GrownUse::kAppend:  // there is no room any more
    case GrownUse::kShape:   // whatever is made of the length would have to be known
      return false;
    case GrownUse::kLast:
      *still = false;
      return TakesLast(graph, node);
    case GrownUse::kProduct:
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
    const GrownUse use = UseOfGrown(n);
    if (use != GrownUse::kPass && use != GrownUse::kAppend && use != GrownUse::kPick) return false;
    at = n.inputs[use == GrownUse::kPass ? at.index : GrowingOperand(n)];
  }
}

}  // namespace xc
