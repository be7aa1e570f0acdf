#include "jit/graph/transforms/extract.h"

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {

Node ConstantNode(const Graph& graph, const std::string& base, Tensor value) {
  Node node;
  node.name = graph.UniqueName(base);
  node.op = "Const";
  node.def = FindOpDef("Const");
  node.attrs["dtype"].set_type(value.dtype());
  TensorProto* proto = node.attrs["value"].mutable_tensor();
  proto->set_dtype(value.dtype());
  proto->mutable_tensor_shape();
  for (int64_t d : value.dims()) proto->mutable_tensor_shape()->add_dim()->set_size(d);
  proto->set_tensor_content(value.raw(), value.byte_size());
  node.output_types = {value.dtype()};
  node.constant = std::make_shared<const HostConstant>(std::move(value));
  return node;
}

Node PortNode(const Graph& graph, const std::string& op, const std::string& base, DataType type, int index) {
  Node node;
  node.name = graph.UniqueName(base);
  node.op = op;
  node.def = FindOpDef(op);
  node.attrs["T"].set_type(type);
  node.attrs["index"].set_i(index);
  (op == "_Arg" ? node.output_types : node.input_types).push_back(type);
  return node;
}

std::string NewFunctionName(const Graph& graph, const std::string& base) {
  for (int i = 0;; ++i) {
    std::string name = absl::StrCat(graph.name, "/", base, "_", i);
    if (!graph.library()->Has(name)) return name;
  }
}

bool HasState(const Graph& graph) {
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id)) continue;
    const Node& n = graph.node(id);
    if (n.op == "_Arg" || n.op == "_Retval") continue;
    if (n.stateful() || n.def == nullptr) return true;
  }
  return false;
}

Extractor::Extractor(const Graph& from, std::string name, std::function<Border(OutputRef)> data,
                     std::function<bool(int)> control)
    : from_(from), data_(std::move(data)), control_(std::move(control)), graph_(std::make_shared<Graph>()) {
  graph_->name = std::move(name);
  graph_->borrow_library(from.library());
}

int Extractor::TrueConstant() {
  if (true_ < 0) true_ = graph_->Add(ConstantNode(*graph_, "true", Tensor::Scalar<uint8_t>(DT_BOOL, 1))).id;
  return true_;
}

absl::StatusOr<Border> Extractor::Resolve(OutputRef ref) const {
  for (;;) {
    Border border = data_(ref);
    if (border.kind == Border::kError) {
      const Node& n = from_.node(ref.node);
      return absl::UnimplementedError(absl::StrCat("node '", n.name, "' (", n.op, "): ", border.error));
    }
    if (border.kind != Border::kAlias) {
      border.alias = ref;
      return border;
    }
    ref = border.alias;
  }
}

absl::StatusOr<OutputRef> Extractor::Inside(OutputRef ref) {
  XC_ASSIGN_OR_RETURN(Border border, Resolve(ref));
  if (border.kind == Border::kArgument) return OutputRef{args_[border.argument], 0};
  if (border.kind == Border::kTrue) return OutputRef{TrueConstant(), 0};
  return OutputRef{copied_.at(border.alias.node), border.alias.index};
}

absl::Status Extractor::Collect() {
  std::vector<int> todo;
  auto need = [&](int id) {
    if (needed_.insert(id).second) todo.push_back(id);
  };
  for (const OutputRef& ref : results_) {
    XC_ASSIGN_OR_RETURN(Border border, Resolve(ref));
    if (border.kind == Border::kInside) need(border.alias.node);
  }
  for (int effect : effects_) need(effect);
  while (!todo.empty()) {
    const Node& node = from_.node(todo.back());
    todo.pop_back();
    for (const OutputRef& in : node.inputs) {
      XC_ASSIGN_OR_RETURN(Border border, Resolve(in));
      if (border.kind == Border::kInside) need(border.alias.node);
    }
    for (int c : node.control_inputs) {
      if (control_(c)) need(c);
    }
  }
  return absl::OkStatus();
}

absl::Status Extractor::Copy(const std::vector<int>& order, const std::vector<DataType>& types) {
  for (DataType type : types) {
    int index = static_cast<int>(args_.size());
    args_.push_back(graph_->Add(PortNode(*graph_, "_Arg", absl::StrCat("arg", index), type, index)).id);
  }
  for (int id : order) {
    if (needed_.count(id) == 0) continue;
    const Node& node = from_.node(id);
    Node copy = node;
    copy.inputs.clear();
    copy.control_inputs.clear();
    for (const OutputRef& in : node.inputs) {
      XC_ASSIGN_OR_RETURN(OutputRef inside, Inside(in));
      copy.inputs.push_back(inside);
    }
    for (int c : node.control_inputs) {
      if (control_(c)) copy.control_inputs.push_back(copied_.at(c));
    }
    copy.name = graph_->UniqueName(node.name);
    copied_[id] = graph_->Add(std::move(copy)).id;
  }
  int index = 0;
  auto add_result = [&](OutputRef inside) {
    Node ret = PortNode(*graph_, "_Retval", absl::StrCat("result", index),
                        graph_->node(inside.node).output_types[inside.index], index);
    ret.inputs.push_back(inside);
    for (int effect : effects_) ret.control_inputs.push_back(copied_.at(effect));
    graph_->Add(std::move(ret));
    ++index;
  };
  for (const OutputRef& ref : results_) {
    XC_ASSIGN_OR_RETURN(OutputRef inside, Inside(ref));
    add_result(inside);
  }
  for (int32_t value : constant_results_) {
    Node constant = ConstantNode(*graph_, "value_index", Tensor::Scalar<int32_t>(DT_INT32, value));
    add_result({graph_->Add(std::move(constant)).id, 0});
  }
  return absl::OkStatus();
}

}  // namespace xc
