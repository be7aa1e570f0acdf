#include "jit/lowering/lowering.h"

#include "absl/strings/str_cat.h"
#include "jit/lowering/graph_lowering.h"

namespace xc {

OpContext::OpContext(const Node& node, Emitter& emitter, GraphLowering& graph, std::vector<LoweredValue> inputs)
    : node(node), b(emitter), graph(graph), inputs_(std::move(inputs)), outputs_(node.num_outputs()) {}

Val OpContext::in(int i) { return graph.Materialize(inputs_[i], b); }

absl::StatusOr<Tensor> OpContext::Const(int i) {
  if (inputs_[i].constant) return inputs_[i].constant->tensor;
  return graph.RequestConstant(node, i);
}

absl::StatusOr<std::vector<int64_t>> OpContext::Ints(int i) {
  XC_ASSIGN_OR_RETURN(Tensor t, Const(i));
  return t.AsInt64s();
}

absl::StatusOr<int64_t> OpContext::Int(int i) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> v, Ints(i));
  if (v.size() != 1) return Error(absl::StrCat("operand ", i, " must have one element, has ", v.size()));
  return v[0];
}

absl::StatusOr<double> OpContext::Double(int i) {
  XC_ASSIGN_OR_RETURN(Tensor t, Const(i));
  XC_ASSIGN_OR_RETURN(std::vector<double> v, t.AsDoubles());
  if (v.size() != 1) return Error(absl::StrCat("operand ", i, " must have one element, has ", v.size()));
  return v[0];
}

absl::StatusOr<int64_t> OpContext::Axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) {
    return Error(absl::StrCat("axis ", axis, " is out of range for rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

void OpContext::set(int i, Val v) {
  LoweredValue& out = outputs_[i];
  out.type = node.output_types[i];
  out.array = v;
  out.dims = v->shape().dims();
}

void OpContext::set_constant(int i, Tensor t) {
  LoweredValue& out = outputs_[i];
  out.type = node.output_types[i];
  out.dims = t.dims();
  out.constant = std::make_shared<const HostConstant>(std::move(t));
}

void OpContext::FailIf(Val bad) { graph.AddCheck(b, bad); }

absl::Status OpContext::Error(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat("node '", node.name, "' (", node.op, "): ", what));
}

absl::Status OpContext::Unimplemented(const std::string& what) const {
  return absl::UnimplementedError(absl::StrCat("node '", node.name, "' (", node.op, "): ", what));
}

absl::Status OpContext::RequireSameDims(int i, int j) const {
  if (dims(i) == dims(j)) return absl::OkStatus();
  return Error(absl::StrCat("operands ", i, " and ", j, " have shapes ", DimsToString(dims(i)), " and ",
                            DimsToString(dims(j)), ", which must be equal"));
}

absl::Status OpContext::RequireRank(int i, int64_t want) const {
  if (rank(i) == want) return absl::OkStatus();
  return Error(absl::StrCat("operand ", i, " has shape ", DimsToString(dims(i)), ", expected rank ", want));
}

absl::Status Widened(OpContext& c, absl::Status (*lowering)(OpContext&)) {
  auto narrow = [](DataType t) { return t == DT_HALF || t == DT_BFLOAT16; };
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!narrow(c.type(i))) continue;
    LoweredValue& v = c.value(i);
    v.array = c.b.Convert(c.in(i), ElementType::kF32);
    v.constant = nullptr;
    v.type = DT_FLOAT;
  }
  XC_RETURN_IF_ERROR(lowering(c));
  for (int i = 0; i < c.num_outputs(); ++i) {
    Val v = c.outputs()[i].array;
    if (v != nullptr && narrow(c.out_type(i))) c.set(i, c.b.Convert(v, c.out_etype(i)));
  }
  return absl::OkStatus();
}

void LoweringRegistry::Add(std::vector<std::string> ops, TypeSet types, LoweringFn fn,
                           std::vector<std::string> constants, uint32_t flags) {
  for (std::string& op : ops) {
    bool fresh = rows_.emplace(op, Lowering{op, types, constants, fn, flags}).second;
    XC_CHECK(fresh) << "two lowerings for " << op;
  }
}

const Lowering* LoweringRegistry::Find(const std::string& op) const {
  auto it = rows_.find(op);
  return it == rows_.end() ? nullptr : &it->second;
}

const LoweringRegistry& LoweringRegistry::Get() {
  static const LoweringRegistry* registry = [] {
    auto* r = new LoweringRegistry;
    RegisterElementwise(*r);
    RegisterMath(*r);
    RegisterActivations(*r);
    RegisterReductions(*r);
    RegisterShapes(*r);
    RegisterSlices(*r);
    RegisterMatmul(*r);
    RegisterConvolution(*r);
    RegisterFused(*r);
    RegisterPooling(*r);
    RegisterNormalization(*r);
    RegisterGather(*r);
    RegisterScatter(*r);
    RegisterLists(*r);
    RegisterControlFlow(*r);
    RegisterVariables(*r);
    RegisterOptimizers(*r);
    RegisterDiagonals(*r);
    RegisterQuantization(*r);
    RegisterImages(*r);
    RegisterPatches(*r);
    RegisterSpecial(*r);
    RegisterFactorizations(*r);
    RegisterRandom(*r);
    RegisterLinalg(*r);
    RegisterMisc(*r);
    RegisterUniformQuantization(*r);
    RegisterXlaOps(*r);
    RegisterXlaCallModule(*r);
    return r;
  }();
  return *registry;
}

std::vector<int> ConstantOperands(const Node& node, const Lowering& lowering) {
  std::vector<int> out;
  if (node.def == nullptr || lowering.constant_operands.empty()) return out;
  int position = 0;
  for (const ArgSignature& arg : node.def->inputs) {
    int64_t width = 1;
    if (!arg.type_list_attr.empty()) {
      width = static_cast<int64_t>(node.Types(arg.type_list_attr).value_or(std::vector<DataType>{}).size());
    } else if (!arg.number_attr.empty()) {
      width = node.Int(arg.number_attr).value_or(0);
    }
    for (const std::string& name : lowering.constant_operands) {
      if (name != arg.name) continue;
      for (int64_t i = 0; i < width; ++i) out.push_back(position + static_cast<int>(i));
    }
    position += static_cast<int>(width);
  }
  return out;
}

}  // namespace xc
