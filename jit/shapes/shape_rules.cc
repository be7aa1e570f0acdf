#include "jit/shapes/shape_rules.h"

#include <algorithm>
#include <set>

#include "jit/lowering/lowering.h"

namespace xc {
namespace {

using Tensors = std::vector<SymbolicTensor>;

Size BroadcastDim(const Symbols& symbols, const Size& a, const Size& b) {
  if (a == b || b.Is(1)) return a;
  if (a.Is(1)) return b;
  if (a.IsNumber()) return a;
  if (b.IsNumber()) return b;
  return symbols.Varies(b) ? b : a;
}

std::vector<Size> BroadcastDims(const Symbols& symbols, std::vector<Size> a, const std::vector<Size>& b) {
  if (b.size() > a.size()) a.insert(a.begin(), b.size() - a.size(), Size{-1, 1});
  for (size_t i = 0; i < b.size(); ++i) {
    Size& to = a[a.size() - b.size() + i];
    to = BroadcastDim(symbols, to, b[i]);
  }
  return a;
}

// Elements of sums, differences and products of small integers.
void Arithmetic(RuleContext& c, SymbolicTensor* out) {
  const std::string& op = c.node.op;
  if (op == "Cast") {
    out->known = c.in[0].known && IsInteger(c.node.output_types[0]) && IsInteger(c.node.input_types[0]);
    out->elements = c.in[0].elements;
    return;
  }
  bool sum = op == "Add" || op == "AddV2", difference = op == "Sub", product = op == "Mul";
  bool greater = op == "Maximum", less = op == "Minimum";
  if (!(sum || difference || product || greater || less) || !c.in[0].known || !c.in[1].known) return;
  const std::vector<Size>&a = c.in[0].elements, &b = c.in[1].elements;
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return;
  size_t n = a.empty() || b.empty() ? 0 : std::max(a.size(), b.size());
  for (size_t i = 0; i < n; ++i) {
    const Size &x = a[a.size() == 1 ? 0 : i], &y = b[b.size() == 1 ? 0 : i];
    Size r = sum ? c.symbols.Sum(x, y) : difference ? c.symbols.Difference(x, y) : c.symbols.Product(x, y);
    if (greater || less) {
      bool numbers = x.IsNumber() && y.IsNumber();
      r = numbers ? Size{-1, greater ? std::max(x.offset, y.offset) : std::min(x.offset, y.offset)}
                  : c.symbols.Fresh(c.symbols.Varies(x) || c.symbols.Varies(y));
    }
    out->elements.push_back(r);
  }
  out->known = true;
}

Tensors Broadcast(RuleContext& c) {
  SymbolicTensor out = c.Make({});
  for (const SymbolicTensor& t : c.in) {
    if (!t.ranked) return {};
    out.dims = BroadcastDims(c.symbols, std::move(out.dims), t.dims);
  }
  if (KeepsElements(c.node)) Arithmetic(c, &out);
  return {out};
}

Tensors First(RuleContext& c) { return {c.in[0]}; }

Tensors SameShape(RuleContext& c) {
  SymbolicTensor out = c.in[0];
  out.known = false;
  out.state = -1;
  out.varies = c.varies;
  return {out};
}

Tensors MatMul(RuleContext& c) {
  bool batch = c.node.op != "MatMul" && c.node.op != "_FusedMatMul";
  bool ta = c.Flag(batch ? "adj_x" : "transpose_a"), tb = c.Flag(batch ? "adj_y" : "transpose_b");
  const SymbolicTensor &a = c.in[0], &b = c.in[1];
  if (!a.ranked || a.dims.size() < 2 || (batch && !b.ranked)) return {};
  size_t ra = a.dims.size();
  Size m = a.dims[ra - (ta ? 1 : 2)];
  Size n = b.ranked && b.dims.size() >= 2 ? b.dims[b.dims.size() - (tb ? 2 : 1)] : c.symbols.Fresh(b.shape_varies);
  std::vector<Size> dims;
  if (batch) {
    if (b.dims.size() < 2) return {};
    dims = BroadcastDims(c.symbols, {a.dims.begin(), a.dims.end() - 2}, {b.dims.begin(), b.dims.end() - 2});
  }
  dims.push_back(m);
  dims.push_back(n);
  return {c.Make(std::move(dims))};
}

Tensors Einsum(RuleContext& c) {
  std::string equation = c.node.String("equation").value_or("");
  size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return {};
  std::map<char, Size> labels;
  size_t operand = 0, at = 0;
  for (char label : equation.substr(0, arrow)) {
    if (label == ' ') continue;
    if (label == ',') {
      ++operand;
      at = 0;
      continue;
    }
    if (operand >= c.in.size() || !c.in[operand].ranked || at >= c.in[operand].dims.size()) return {};
    Size dim = c.in[operand].dims[at++];
    auto [it, fresh] = labels.emplace(label, dim);
    if (!fresh) it->second = BroadcastDim(c.symbols, it->second, dim);
  }
  std::vector<Size> dims;
  for (char label : equation.substr(arrow + 2)) {
    if (label == ' ') continue;
    if (labels.count(label) == 0) return {};
    dims.push_back(labels[label]);
  }
  return {c.Make(std::move(dims))};
}

Tensors Reduce(RuleContext& c) {
  std::vector<int64_t> axes;
  if (!c.in[0].ranked || !c.Numbers(1, &axes)) return {};
  bool arg = c.node.op == "ArgMax" || c.node.op == "ArgMin";
  int64_t rank = static_cast<int64_t>(c.in[0].dims.size());
  std::set<int64_t> gone;
  for (int64_t a : axes) gone.insert(a < 0 ? a + rank : a);
  std::vector<Size> dims;
  for (int64_t i = 0; i < rank; ++i) {
    if (gone.count(i) == 0) {
      dims.push_back(c.in[0].dims[i]);
    } else if (!arg && c.Flag("keep_dims")) {
      dims.push_back(Size{-1, 1});
    }
  }
  SymbolicTensor out = c.Make(std::move(dims));
  if (c.node.op == "Prod" && c.in[0].known && out.dims.empty()) {
    Size all{-1, 1};
    for (const Size& s : c.in[0].elements) all = c.symbols.Product(all, s);
    out.known = true;
    out.elements = {all};
  }
  return {out};
}

Tensors ShapeOf(RuleContext& c) {
  Tensors out;
  for (const SymbolicTensor& t : c.in) {
    SymbolicTensor shape;
    if (t.ranked) {
      shape = TensorOfElements(t.dims, false);
    } else {
      shape = SymbolicTensor::Of({c.symbols.Fresh(t.shape_varies)}, t.shape_varies);
    }
    out.push_back(shape);
  }
  return out;
}

Tensors SizeOf(RuleContext& c) {
  if (!c.in[0].ranked) return {};
  Size all{-1, c.node.op == "Rank" ? static_cast<int64_t>(c.in[0].dims.size()) : 1};
  for (const Size& s : c.in[0].dims) {
    if (c.node.op == "Size") all = c.symbols.Product(all, s);
  }
  return {TensorOfElements({all}, true)};
}

Tensors Constant(RuleContext& c) {
  if (c.node.constant == nullptr) return {};
  const xc::Tensor& t = c.node.constant->tensor;
  SymbolicTensor out;
  out.ranked = true;
  for (int64_t d : t.dims()) out.dims.push_back(Size{-1, d});
  if (KeepsElements(c.node) && t.num_elements() <= kMaxElements) {
    auto values = t.AsInt64s();
    out.known = values.ok();
    for (int64_t v : values.value_or(std::vector<int64_t>()))
      out.elements.push_back(Size{-1, std::clamp(v, -kMaxNumber, kMaxNumber)});
  }
  return {out};
}

// Of a loop or conditional in its v1 form: the rank is that of the first value that is known.
Tensors Merge(RuleContext& c) {
  for (const SymbolicTensor& t : c.in) {
    if (!t.ranked) continue;
    SymbolicTensor out = c.Make({});
    for (size_t d = 0; d < t.dims.size(); ++d) out.dims.push_back(c.symbols.Fresh(false));
    out.varies = true;
    return {out, SymbolicTensor::Of({}, true)};
  }
  return {};
}

// The shapes that the framework wrote down: of an argument, or of the variable that it is.
Tensors Declared(RuleContext& c) {
  Tensors out(c.node.num_outputs());
  for (const char* key : {"_handle_shapes", "_output_shapes", "shape"}) {
    const tf::AttrValue* attr = c.node.FindAttr(key);
    if (attr == nullptr) continue;
    const bool list = attr->value_case() == tf::AttrValue::kList;
    const bool handle = std::string(key) == "_handle_shapes";
    for (int i = 0; i < c.node.num_outputs(); ++i) {
      if (handle != (c.node.output_types[i] == DT_RESOURCE) || out[i].ranked) continue;
      if (list ? i >= attr->list().shape_size() : !attr->has_shape()) continue;
      const auto& shape = list ? attr->list().shape(i) : attr->shape();
      if (shape.unknown_rank()) continue;
      out[i].ranked = true;
      for (const auto& dim : shape.dim()) {
        out[i].dims.push_back(dim.size() < 0 ? c.symbols.Fresh(false, true) : Size{-1, dim.size()});
      }
    }
  }
  return out;
}

ShapeRules MakeRules() {
  ShapeRules rules;
  auto add = [&](std::initializer_list<const char*> ops, const ShapeRule& rule) {
    for (const char* op : ops) rules[op] = rule;
  };
  LoweringRegistry broadcast;  // families in which every op works on elements
  RegisterElementwise(broadcast);
  RegisterMath(broadcast);
  RegisterActivations(broadcast);
  RegisterSpecial(broadcast);
  for (const auto& row : broadcast.all()) rules[row.first] = Broadcast;
  add({"Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape", "ReadVariableOp", "Enter", "Exit"},
      First);
  add({"Softmax", "LogSoftmax", "Cumsum", "Cumprod", "Reverse", "ReverseV2", "ZerosLike", "OnesLike", "BiasAdd",
       "CheckNumerics", "ReverseSequence", "MatrixBandPart", "TensorScatterUpdate", "TensorScatterAdd", "Roll",
       "_UnaryOpsComposition", "_MklLayerNorm", "_MklFusedInstanceNorm"},
      SameShape);
  add({"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "_FusedMatMul", "_MklFusedBatchMatMulV2"}, MatMul);
  add({"Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm", "ArgMax", "ArgMin"}, Reduce);
  add({"Shape", "ShapeN"}, ShapeOf);
  add({"Size", "Rank"}, SizeOf);
  add({"Einsum"}, Einsum);
  add({"Const"}, Constant);
  add({"Switch"}, [](RuleContext& c) { return Tensors{c.in[0], c.in[0]}; });
  add({"Merge"}, Merge);
  add({"_Arg", "Placeholder", "PlaceholderV2", "VarHandleOp"}, Declared);
  AddMovementRules(rules);
  return rules;
}

}  // namespace

bool KeepsElements(const Node& node) {
  return node.num_outputs() > 0 && (IsInteger(node.output_types[0]) || node.output_types[0] == DT_BOOL);
}

SymbolicTensor TensorOfElements(std::vector<Size> elements, bool scalar) {
  SymbolicTensor t;
  t.ranked = true;
  if (!scalar) t.dims = {Size{-1, static_cast<int64_t>(elements.size())}};
  t.known = static_cast<int64_t>(elements.size()) <= kMaxElements;
  if (t.known) t.elements = std::move(elements);
  return t;
}

std::vector<SymbolicTensor> InferNode(const Node& node, const std::vector<SymbolicTensor>& inputs, Symbols& symbols) {
  static const auto* rules = new ShapeRules(MakeRules());
  bool varies = false, shape_varies = false;
  for (const SymbolicTensor& t : inputs) {
    shape_varies |= ShapeVaries(symbols, t);
    varies |= ValueVaries(symbols, t);
  }
  std::vector<SymbolicTensor> out;
  auto rule = rules->find(node.op);
  if (rule != rules->end()) {
    RuleContext context{node, inputs, symbols, varies};
    out = rule->second(context);
  }
  if (out.empty()) {
    const Lowering* lowering = LoweringRegistry::Get().Find(node.op);
    for (int i : lowering != nullptr ? ConstantOperands(node, *lowering) : std::vector<int>()) {
      if (i < static_cast<int>(inputs.size())) shape_varies |= ValueVaries(symbols, inputs[i]);
    }
    SymbolicTensor unknown;
    unknown.shape_varies = shape_varies;
    unknown.varies = varies;
    out.assign(node.num_outputs(), unknown);
  }
  out.resize(node.num_outputs());
  return out;
}

}  // namespace xc
