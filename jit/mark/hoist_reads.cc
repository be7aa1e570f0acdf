#include "jit/mark/hoist_reads.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/graph/transforms/extract.h"

namespace xc {
namespace {

class ReadHoister {
 public:
  ReadHoister(Graph& graph, const std::set<std::string>& preserve) : graph_(graph), preserve_(preserve) {}

  // One round: reads in a frame go to the frame around it. Whether any did.
  absl::StatusOr<bool> Round() {
    enters_.clear();
    users_ = graph_.Users();
    std::vector<int> found;
    for (int id = 0; id < graph_.size(); ++id) {
      if (!graph_.has(id)) continue;
      const Node& n = graph_.node(id);
      if (n.op == "Enter") {
        XC_ASSIGN_OR_RETURN(std::string frame, n.String("frame_name"));
        enters_[frame].push_back(id);
      }
      bool reads = n.op == "ReadVariableOp" || (n.op == "ResourceGather" && n.Int("batch_dims").value_or(1) == 0);
      if (reads && preserve_.count(n.name) == 0 && graph_.node(n.inputs[0].node).op == "Enter") {
        found.push_back(id);
      }
    }
    bool changed = false;
    for (int id : found) {
      const Node& enter = graph_.node(graph_.node(id).inputs[0].node);
      auto constant = enter.Bool("is_constant");
      if (!constant.ok() || !*constant) continue;
      XC_ASSIGN_OR_RETURN(std::string frame, enter.String("frame_name"));
      if (!OnlyRead(enter.inputs[0], frame)) continue;
      int read = id;
      if (graph_.node(id).op == "ResourceGather") {
        XC_ASSIGN_OR_RETURN(read, SplitGather(id));
      }
      XC_RETURN_IF_ERROR(Move(read, enter.id, frame));
      changed = true;
    }
    return changed;
  }

 private:
  // Whether nothing in the frame does more with the variable than to read it.
  bool OnlyRead(OutputRef handle, const std::string& frame) {
    for (int e : enters_[frame]) {
      if (!graph_.has(e) || graph_.node(e).inputs[0] != handle) continue;
      for (int user : users_[e]) {
        if (!graph_.has(user)) continue;  // a read that has gone
        const Node& u = graph_.node(user);
        if (u.op == "ReadVariableOp" || u.op == "VariableShape" || u.op == "ResourceGather") continue;
        bool enters = u.op == "Enter" && u.FindAttr("frame_name") != nullptr;
        if (!enters || !OnlyRead({e, 0}, u.FindAttr("frame_name")->s())) return false;
      }
    }
    return true;
  }

  // A gather from a variable becomes a read, whose id is the result, and a gather from the value.
  absl::StatusOr<int> SplitGather(int id) {
    const Node& gather = graph_.node(id);
    Node read;
    read.name = graph_.UniqueName(absl::StrCat(gather.name, "/read"));
    read.op = "ReadVariableOp";
    read.device = gather.device;
    read.inputs = {gather.inputs[0]};
    read.control_inputs = gather.control_inputs;
    read.attrs["dtype"] = *gather.FindAttr("dtype");
    XC_RETURN_IF_ERROR(ResolveSignature(read));
    int read_id = graph_.Add(std::move(read)).id;
    Node axis = ConstantNode(graph_, absl::StrCat(gather.name, "/axis"), Tensor::Scalar<int32_t>(DT_INT32, 0));
    axis.device = gather.device;
    axis.control_inputs = {read_id};  // in the frame
    XC_RETURN_IF_ERROR(ResolveSignature(axis));
    int axis_id = graph_.Add(std::move(axis)).id;
    Node value;
    value.name = graph_.UniqueName(absl::StrCat(gather.name, "/from_value"));
    value.op = "GatherV2";
    value.device = gather.device;
    value.source = gather.source;
    value.inputs = {{read_id, 0}, gather.inputs[1], {axis_id, 0}};
    value.attrs["Tparams"].set_type(gather.output_types[0]);
    value.attrs["Tindices"].set_type(gather.input_types[1]);
    value.attrs["Taxis"].set_type(DT_INT32);
    XC_RETURN_IF_ERROR(ResolveSignature(value));
    int value_id = graph_.Add(std::move(value)).id;
    graph_.ReplaceOutput({id, 0}, {value_id, 0});
    graph_.RedirectControl(id, value_id);
    graph_.Remove(id);
    return read_id;
  }

  absl::Status Move(int read_id, int enter_id, const std::string& frame) {
    const Node& read = graph_.node(read_id);
    Node outside = read;
    outside.name = graph_.UniqueName(absl::StrCat(read.name, "/before_loop"));
    outside.inputs = {graph_.node(enter_id).inputs[0]};
    outside.attrs.erase("_class");
    // What comes before the loop comes before its reads.
    std::set<int> before;
    for (int e : enters_[frame]) {
      if (!graph_.has(e)) continue;
      before.insert(graph_.node(e).control_inputs.begin(), graph_.node(e).control_inputs.end());
    }
    outside.control_inputs.assign(before.begin(), before.end());
    Node enter = graph_.node(enter_id);
    enter.name = graph_.UniqueName(absl::StrCat(read.name, "/enter"));
    enter.attrs.erase("_class");
    enter.attrs["T"].set_type(read.output_types[0]);
    enter.inputs = {{graph_.Add(std::move(outside)).id, 0}};
    XC_RETURN_IF_ERROR(ResolveSignature(enter));
    int value = graph_.Add(std::move(enter)).id;
    graph_.ReplaceOutput({read_id, 0}, {value, 0});
    graph_.RedirectControl(read_id, value);
    graph_.Remove(read_id);
    // A handle that nothing uses any more would still be a variable of the loop.
    auto left = [&](int user) { return graph_.has(user); };
    const std::vector<int>& users = users_[enter_id];
    if (std::none_of(users.begin(), users.end(), left)) graph_.Remove(enter_id);
    return absl::OkStatus();
  }

  Graph& graph_;
  const std::set<std::string>& preserve_;
  std::map<std::string, std::vector<int>> enters_;  // by frame
  std::vector<std::vector<int>> users_;
};

}  // namespace

absl::Status HoistVariableReads(Graph& graph, const std::set<std::string>& preserve) {
  ReadHoister hoister(graph, preserve);
  for (;;) {  // each round leaves fewer reads below the surface
    XC_ASSIGN_OR_RETURN(bool changed, hoister.Round());
    if (!changed) return absl::OkStatus();
  }
}

}  // namespace xc
