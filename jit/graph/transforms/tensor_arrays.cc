#include "jit/graph/transforms/tensor_arrays.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/graph/transforms/extract.h"

namespace xc {
namespace {

bool PassesOn(const Node& n) {
  return n.op == "Identity" || n.op == "Enter" || n.op == "Exit" || n.op == "Switch" || n.op == "Merge" ||
         n.op == "NextIteration";
}

bool IsArrayOp(const Node& n) {
  static const std::set<std::string> kOps = {"TensorArrayWriteV3",   "TensorArrayReadV3", "TensorArrayGatherV3",
                                             "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArrayConcatV3",
                                             "TensorArraySplitV3",   "TensorArrayCloseV3"};
  return kOps.count(n.op) != 0;
}

// What belongs to one TensorArrayV3.
struct Array {
  int node = -1;
  std::set<int> handles;  // nodes that only pass the handle on
  std::set<int> flows;    // nodes that pass the flow on
  std::set<int> ops;
};

class Replacement {
 public:
  explicit Replacement(Graph& graph) : graph_(graph), users_(graph.Users()) {}

  absl::Status Run() {
    std::vector<Array> arrays;
    for (int id = 0; id < graph_.size(); ++id) {
      if (!graph_.has(id) || graph_.node(id).op != "TensorArrayV3") continue;
      Array a;
      a.node = id;
      if (!Trace(a)) return absl::OkStatus();
      arrays.push_back(std::move(a));
    }
    std::map<int, int> owner;
    for (const Array& a : arrays) {
      for (int id : a.flows) {
        if (!owner.emplace(id, a.node).second) return absl::OkStatus();  // a Merge of two arrays
      }
      for (int id : a.ops) {
        if (!owner.emplace(id, a.node).second) return absl::OkStatus();
      }
    }
    for (const Array& a : arrays) XC_RETURN_IF_ERROR(Replace(a));
    return absl::OkStatus();
  }

 private:
  // Follows handle and flow; false if either is used in another way.
  bool Trace(Array& a) {
    std::vector<OutputRef> handles = {{a.node, 0}}, flows = {{a.node, 1}};
    while (!handles.empty() || !flows.empty()) {
      bool is_flow = handles.empty();
      std::vector<OutputRef>& list = is_flow ? flows : handles;
      OutputRef ref = list.back();
      list.pop_back();
      for (int user : users_[ref.node]) {
        const Node& n = graph_.node(user);
        for (size_t i = 0; i < n.inputs.size(); ++i) {
          if (!(n.inputs[i] == ref)) continue;
          if (PassesOn(n) && (i == 0 || n.op == "Merge")) {
            if (!(is_flow ? a.flows : a.handles).insert(user).second) continue;
            list.push_back({user, 0});
            if (n.op == "Switch") list.push_back({user, 1});
            continue;
          }
          if (!IsArrayOp(n) || (is_flow ? i + 1 != n.inputs.size() : i != 0)) return false;
          if (is_flow && n.op == "TensorArrayCloseV3") return false;
          if (a.ops.insert(user).second && n.num_outputs() == 1 && n.op != "TensorArraySizeV3" &&
              n.output_types[0] == DT_FLOAT && IsWrite(n)) {
            flows.push_back({user, 0});
          }
        }
      }
    }
    // Where the flow goes, nothing else comes in.
    for (int id : a.flows) {
      const Node& n = graph_.node(id);
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        if (i > 0 && n.op != "Merge") continue;
        int src = n.inputs[i].node;
        bool own = src == a.node || a.flows.count(src) || (a.ops.count(src) && IsWrite(graph_.node(src)));
        if (!own) return false;
      }
    }
    for (int id : a.ops) {
      const Node& n = graph_.node(id);
      int flow = n.inputs.back().node;
      bool own = flow == a.node || a.flows.count(flow) || (a.ops.count(flow) && IsWrite(graph_.node(flow)));
      if (n.op != "TensorArrayCloseV3" && !own) return false;
    }
    return true;
  }

  static bool IsWrite(const Node& n) {
    return n.op == "TensorArrayWriteV3" || n.op == "TensorArrayScatterV3" || n.op == "TensorArraySplitV3";
  }

  // A constant that lives where `beside` does.
  OutputRef Constant(const std::string& base, const Tensor& value, int beside) {
    Node node = ConstantNode(graph_, base, value);
    if (beside >= 0) node.control_inputs = {beside};
    return {graph_.Add(std::move(node)).id, 0};
  }

  OutputRef ElementShape(const PartialShape& shape, const std::string& base, int beside) {
    return Constant(base + "/element_shape",
                    shape.known_rank ? Tensor::Int32s(shape.dims) : Tensor::Scalar<int32_t>(DT_INT32, -1), beside);
  }

  // `node` becomes another op with these inputs; types follow from the attributes.
  absl::Status Become(int id, const char* op, std::vector<OutputRef> inputs,
                      const std::map<std::string, tf::AttrValue>& attrs) {
    Node& node = graph_.node(id);
    node.op = op;
    node.def = FindOpDef(op);
    node.inputs = std::move(inputs);
    node.attrs = attrs;
    if (node.def == nullptr) return absl::InternalError(absl::StrCat("no op ", op));
    return ResolveSignature(node);
  }

  absl::Status Replace(const Array& a) {
    Node array = graph_.node(a.node);
    XC_ASSIGN_OR_RETURN(DataType type, array.Type("dtype"));
    XC_ASSIGN_OR_RETURN(PartialShape shape, array.ShapeAttr("element_shape"));
    bool dynamic = array.Bool("dynamic_size").value_or(false);
    tf::AttrValue element, int32, yes;
    element.set_type(type);
    int32.set_type(DT_INT32);
    yes.set_b(true);
    for (int id : a.ops) {
      Node n = graph_.node(id);
      OutputRef flow = n.inputs.back();
      if (flow == OutputRef{a.node, 1}) flow.index = 0;
      auto shape_here = [&] { return ElementShape(shape, n.name, flow.node); };
      absl::Status status = absl::OkStatus();
      if (n.op == "TensorArrayWriteV3") {
        std::map<std::string, tf::AttrValue> attrs = {{"element_dtype", element}};
        if (dynamic) attrs["resize_if_index_out_of_bounds"] = yes;
        status = Become(id, "TensorListSetItem", {flow, n.inputs[1], n.inputs[2]}, attrs);
      } else if (n.op == "TensorArrayReadV3") {
        OutputRef s = shape_here();
        status = Become(id, "TensorListGetItem", {flow, n.inputs[1], s}, {{"element_dtype", element}});
      } else if (n.op == "TensorArrayGatherV3") {
        OutputRef s = shape_here();
        status = Become(id, "TensorListGather", {flow, n.inputs[1], s}, {{"element_dtype", element}});
      } else if (n.op == "TensorArrayScatterV3") {
        status = Become(id, "TensorListScatterIntoExistingList", {flow, n.inputs[2], n.inputs[1]},
                        {{"element_dtype", element}});
      } else if (n.op == "TensorArraySizeV3") {
        status = Become(id, "TensorListLength", {flow}, {});
      } else if (n.op == "TensorArrayConcatV3") {
        OutputRef s = ElementShape(PartialShape(), n.name, flow.node);
        OutputRef leading = Constant(n.name + "/leading_dims", Tensor::Int64s({}), flow.node);
        status =
            Become(id, "TensorListConcatV2", {flow, s, leading}, {{"element_dtype", element}, {"shape_type", int32}});
      } else if (n.op == "TensorArraySplitV3") {
        OutputRef s = ElementShape(PartialShape(), n.name, flow.node);
        status = Become(id, "TensorListSplit", {n.inputs[1], s, n.inputs[2]},
                        {{"element_dtype", element}, {"shape_type", int32}});
      } else {
        Node& close = graph_.node(id);
        for (const OutputRef& in : n.inputs) close.control_inputs.push_back(in.node == a.node ? a.node : flow.node);
        status = Become(id, "NoOp", {}, {});
      }
      XC_RETURN_IF_ERROR(status);
    }
    for (int id : a.flows) {
      Node& n = graph_.node(id);
      n.attrs["T"].set_type(DT_VARIANT);
      for (OutputRef& in : n.inputs) {
        if (in == OutputRef{a.node, 1}) in.index = 0;
      }
      XC_RETURN_IF_ERROR(ResolveSignature(n));
    }
    for (int id : a.handles) {
      graph_.RedirectControl(id, a.node);
      graph_.Remove(id);
    }
    int beside = -1;  // of the array's own frame
    for (int c : array.control_inputs) beside = c;
    if (!array.inputs.empty()) beside = array.inputs[0].node;
    OutputRef s = ElementShape(shape, array.name, beside);
    return Become(a.node, "TensorListReserve", {s, array.inputs[0]},
                  {{"element_dtype", element}, {"shape_type", int32}});
  }

  Graph& graph_;
  std::vector<std::vector<int>> users_;
};

}  // namespace

absl::Status ReplaceTensorArrays(Graph& graph) {
  for (int id = 0; id < graph.size(); ++id) {
    if (graph.has(id) && graph.node(id).op == "TensorArrayV3") return Replacement(graph).Run();
  }
  return absl::OkStatus();
}

}  // namespace xc
