// How one op's output shapes follow from symbolic input shapes: a rule per family of ops.
#ifndef XC_JIT_SHAPES_SHAPE_RULES_H_
#define XC_JIT_SHAPES_SHAPE_RULES_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/shapes/symbolic_shapes.h"

namespace xc {

// What a rule sees of a node.
struct RuleContext {
  const Node& node;
  const std::vector<SymbolicTensor>& in;
  Symbols& symbols;
  bool varies;  // whether an input's value does

  SymbolicTensor Make(std::vector<Size> dims) const { return SymbolicTensor::Of(std::move(dims), varies); }
  // The number that input i is, if it is one.
  bool Number(size_t i, int64_t* out) const {
    if (i >= in.size() || !in[i].known || in[i].elements.size() != 1 || !in[i].elements[0].IsNumber()) return false;
    *out = in[i].elements[0].offset;
    return true;
  }
  bool Numbers(size_t i, std::vector<int64_t>* out) const {
    if (i >= in.size() || !in[i].known) return false;
    for (const Size& s : in[i].elements) {
      if (!s.IsNumber()) return false;
      out->push_back(s.offset);
    }
    return true;
  }
  bool Flag(const char* name) const { return node.Bool(name).value_or(false); }
  int64_t Int(const char* name, int64_t other) const { return node.Int(name).value_or(other); }
};

// The outputs; empty where the rule does not know them.
using ShapeRule = std::function<std::vector<SymbolicTensor>(RuleContext&)>;
using ShapeRules = std::map<std::string, ShapeRule>;

inline constexpr int64_t kMaxElements = 64;  // of a tensor whose elements are kept

// Whether the elements of the node's first output are worth knowing: integers.
bool KeepsElements(const Node& node);
// A vector, or a scalar, of these elements.
SymbolicTensor TensorOfElements(std::vector<Size> elements, bool scalar);

// Ops that move elements and compute nothing.
void AddMovementRules(ShapeRules& rules);

// The outputs of a node that calls no function.
std::vector<SymbolicTensor> InferNode(const Node& node, const std::vector<SymbolicTensor>& inputs, Symbols& symbols);

}  // namespace xc

#endif  // XC_JIT_SHAPES_SHAPE_RULES_H_
