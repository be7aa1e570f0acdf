#include "jit/graph/transforms/list_sums.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

class ListSum {
 public:
  ListSum(Graph& graph, int id) : graph_(graph), id_(id) {}

  // Finds the operands that are lists of zeros with one element written; false if there is none.
  bool Analyze() {
    std::vector<std::vector<int>> users = graph_.Users();
    const std::vector<OutputRef>& inputs = graph_.node(id_).inputs;
    auto is = [&](int id, const char* op) { return graph_.node(id).op == op && users[id].size() == 1; };
    for (const OutputRef& in : inputs) {
      bool fits = is(in.node, "TensorListSetItem") && OfNumbers(graph_.node(in.node)) &&
                  std::count(inputs.begin(), inputs.end(), in) == 1;
      int reserve = fits ? graph_.node(in.node).inputs[0].node : -1;
      fits = fits && is(reserve, "TensorListReserve");
      // One operand stays what it is, for the others to be written to.
      if (fits && (!others_.empty() || &in != &inputs.back())) {
        writes_.emplace_back(in.node, reserve);
      } else {
        others_.push_back(in);
      }
    }
    return !writes_.empty();
  }

  absl::Status Replace() {
    OutputRef sum = others_[0];
    if (others_.size() > 1) {
      tf::AttrValue variant, count;
      variant.set_type(DT_VARIANT);
      count.set_i(static_cast<int64_t>(others_.size()));
      XC_ASSIGN_OR_RETURN(sum, Add("others", "AddN", others_, {{"T", variant}, {"N", count}}));
    }
    for (const auto& [write, reserve] : writes_) {
      XC_ASSIGN_OR_RETURN(sum, WriteTo(sum, write));
    }
    for (int c : graph_.node(id_).control_inputs) graph_.node(sum.node).control_inputs.push_back(c);
    graph_.ReplaceOutput({id_, 0}, sum);
    graph_.RedirectControl(id_, sum.node);
    graph_.Remove(id_);
    return absl::OkStatus();
  }

  // The writes and the nodes that reserve their lists, which nothing uses after Replace.
  const std::vector<std::pair<int, int>>& writes() const { return writes_; }

 private:
  // A list of variants, such as ragged tensors, has no sum of two elements.
  static bool OfNumbers(const Node& write) {
    auto type = write.Type("element_dtype");
    return type.ok() && *type != DT_VARIANT;
  }

  // The sum of list `a` and of zeros with one element written by node `write`.
  absl::StatusOr<OutputRef> WriteTo(OutputRef a, int write) {
    const Node old = graph_.node(write);
    XC_ASSIGN_OR_RETURN(DataType type, old.Type("element_dtype"));
    tf::AttrValue element, int32;
    element.set_type(type);
    int32.set_type(DT_INT32);
    OutputRef index = old.inputs[1], item = old.inputs[2];
    XC_ASSIGN_OR_RETURN(OutputRef shape, Add("shape", "Shape", {item}, {{"T", element}, {"out_type", int32}}));
    XC_ASSIGN_OR_RETURN(OutputRef before,
                        Add("read", "TensorListGetItem", {a, index, shape}, {{"element_dtype", element}}));
    XC_ASSIGN_OR_RETURN(OutputRef sum, Add("sum", "AddV2", {before, item}, {{"T", element}}));
    XC_ASSIGN_OR_RETURN(OutputRef after,
                        Add("write", "TensorListSetItem", {a, index, sum}, {{"element_dtype", element}}));
    for (int c : old.control_inputs) graph_.node(after.node).control_inputs.push_back(c);
    return after;
  }

  absl::StatusOr<OutputRef> Add(const char* part, const char* op, std::vector<OutputRef> inputs,
                                std::map<std::string, tf::AttrValue> attrs) {
    const Node& sum = graph_.node(id_);
    Node node;
    node.name = graph_.UniqueName(absl::StrCat(sum.name, "/", part));
    node.op = op;
    node.device = sum.device;
    node.source = sum.source;
    node.def = FindOpDef(op);
    node.inputs = std::move(inputs);
    node.attrs = std::move(attrs);
    XC_RETURN_IF_ERROR(ResolveSignature(node));
    return OutputRef{graph_.Add(std::move(node)).id, 0};
  }

  Graph& graph_;
  const int id_;
  std::vector<OutputRef> others_;
  std::vector<std::pair<int, int>> writes_;
};

}  // namespace

absl::Status SimplifyListSums(Graph& graph) {
  for (int id = 0, end = graph.size(); id < end; ++id) {
    if (!graph.has(id)) continue;
    const Node& n = graph.node(id);
    if (n.op != "AddN" || n.output_types[0] != DT_VARIANT) continue;
    ListSum sum(graph, id);
    if (!sum.Analyze()) continue;
    XC_RETURN_IF_ERROR(sum.Replace());
    for (const auto& [write, reserve] : sum.writes()) {
      graph.Remove(write);
      graph.Remove(reserve);
    }
  }
  return absl::OkStatus();
}

}  // namespace xc
