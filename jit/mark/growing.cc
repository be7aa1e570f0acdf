#include "jit/mark/growing.h"

#include <algorithm>
#include <vector>

namespace xc {
namespace {

bool Passes(const Node& n) {
  return n.op == "Identity" || n.op == "StopGradient" || n.op == "PreventGradient" || n.op == "Snapshot";
}

// The operand of a concatenation or a pick that may be an array that grows.
int GrowingOperand(const Node& n) {
  if (n.op == "ConcatV2" || n.op == "GatherV2" || n.op == "Gather") return 0;
  return n.op == "Concat" ? 1 : -1;
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

bool OnlyGrows(const Graph& function, int index, bool grows, std::set<int>* nodes) {
  const std::vector<int> args = function.Args();
  const std::vector<std::vector<int>> users = function.Users();
  if (index >= static_cast<int>(args.size())) return false;
  std::vector<int> todo = {args[index]};  // nodes whose first output grows
  std::set<int> seen = {args[index]};
  bool returned = false;
  while (!todo.empty()) {
    const int from = todo.back();
    todo.pop_back();
    for (int id : users[from]) {
      const Node& n = function.node(id);
      const auto takes = [&](size_t i) { return n.inputs[i] == OutputRef{from, 0}; };
      size_t operands = 0;
      for (size_t i = 0; i < n.inputs.size(); ++i) operands += takes(i);
      if (operands == 0) continue;  // waits for it only
      if (n.op == "_Retval") {
        if (!grows || n.Int("index").value_or(-1) != index) return false;
        returned = true;
        continue;
      }
      nodes->insert(id);
      if (n.op == "Shape" || (n.op == "StridedSlice" && operands == 1 && takes(0) && TakesLast(function, n))) continue;
      const int growing = Passes(n) ? 0 : GrowingOperand(n);
      const bool appends = n.op == "ConcatV2" || n.op == "Concat";
      if (growing < 0 || operands != 1 || !takes(growing) || (appends && !grows)) return false;
      if (seen.insert(id).second) todo.push_back(id);
    }
  }
  return returned || !grows;
}

}  // namespace xc
