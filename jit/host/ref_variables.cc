#include "jit/host/ref_variables.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// What a reference stands for: a variable, after a write to it if `written` is a node.
struct Reference {
  OutputRef handle;
  DataType type = DT_INVALID;
  int written = -1;
};

// The op that does the same to a resource; null if there is none.
const OpSignature* OnResource(const std::string& op) {
  static const std::map<std::string, std::string> kNames = {{"Assign", "AssignVariableOp"},
                                                            {"AssignAdd", "AssignAddVariableOp"},
                                                            {"AssignSub", "AssignSubVariableOp"},
                                                            {"IsVariableInitialized", "VarIsInitializedOp"}};
  auto it = kNames.find(op);
  const OpSignature* def = FindOpDef(it != kNames.end() ? it->second : "Resource" + op);
  const bool takes_one = def != nullptr && !def->inputs.empty() && def->inputs[0].type == DT_RESOURCE;
  return takes_one ? def : nullptr;
}

class Replacement {
 public:
  explicit Replacement(Graph& graph) : graph_(graph) {}

  absl::Status Run() {
    XC_ASSIGN_OR_RETURN(std::vector<int> order, graph_.TopologicalOrder());
    for (int id : order) {
      const std::string op = graph_.node(id).op;
      if (op == "VariableV2" || op == "Variable") {
        XC_RETURN_IF_ERROR(ToHandle(id));
        continue;
      }
      bool uses = false;
      for (const OutputRef& in : graph_.node(id).inputs) uses |= references_.count(in) != 0;
      if (!uses) continue;
      if (op == "RefIdentity") {
        Reference passed = references_.at(graph_.node(id).inputs[0]);
        XC_RETURN_IF_ERROR(Read(id, 0));
        references_[{id, 0}] = passed;
        graph_.node(id).op = "Identity";
        graph_.node(id).def = FindOpDef("Identity");
      } else if (const OpSignature* def = OnResource(op); def != nullptr) {
        XC_RETURN_IF_ERROR(ToResourceOp(id, *def));
      } else {
        const int inputs = static_cast<int>(graph_.node(id).inputs.size());
        for (int i = 0; i < inputs; ++i) XC_RETURN_IF_ERROR(Read(id, i));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ToHandle(int id) {
    Node& node = graph_.node(id);
    XC_ASSIGN_OR_RETURN(DataType type, node.Type("dtype"));
    node.op = "VarHandleOp";
    node.def = FindOpDef(node.op);
    XC_RETURN_IF_ERROR(ResolveSignature(node));
    references_[{id, 0}] = {{id, 0}, type, -1};
    return absl::OkStatus();
  }

  // If input i of the node is a reference, it becomes what is read of the variable.
  absl::Status Read(int id, int i) {
    auto it = references_.find(graph_.node(id).inputs[i]);
    if (it == references_.end()) return absl::OkStatus();
    const Reference ref = it->second;
    const std::string& op = graph_.node(id).op;
    if (op == "RefSwitch" || op == "RefMerge" || op == "RefEnter" || op == "RefNextIteration" || op == "RefExit") {
      return absl::UnimplementedError(
          absl::StrCat("node '", graph_.node(id).name, "' (", op, "): references to variables in control flow"));
    }
    Node read;
    read.name = graph_.UniqueName(graph_.node(id).name + "/read");
    read.op = "ReadVariableOp";
    read.attrs["dtype"].set_type(ref.type);
    read.inputs = {ref.handle};
    read.control_inputs = graph_.node(id).control_inputs;
    if (ref.written >= 0) read.control_inputs.push_back(ref.written);
    XC_RETURN_IF_ERROR(ResolveSignature(read));
    const int added = graph_.Add(std::move(read)).id;
    graph_.node(id).inputs[i] = {added, 0};
    return absl::OkStatus();
  }

  absl::Status ToResourceOp(int id, const OpSignature& def) {
    const int inputs = static_cast<int>(graph_.node(id).inputs.size());
    if (inputs < 1 || references_.count(graph_.node(id).inputs[0]) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", graph_.node(id).name, "' (", graph_.node(id).op, "): writes to what is no variable"));
    }
    const Reference target = references_.at(graph_.node(id).inputs[0]);
    std::vector<int> before;  // writes whose results it takes
    for (int i = 0; i < inputs; ++i) {
      auto it = references_.find(graph_.node(id).inputs[i]);
      const bool handle = i < static_cast<int>(def.inputs.size()) && def.inputs[i].type == DT_RESOURCE;
      if (it == references_.end() || !handle) {
        XC_RETURN_IF_ERROR(Read(id, i));
        continue;
      }
      if (it->second.written >= 0) before.push_back(it->second.written);
      graph_.node(id).inputs[i] = it->second.handle;
    }
    Node& node = graph_.node(id);
    for (int b : before) {
      if (std::find(node.control_inputs.begin(), node.control_inputs.end(), b) == node.control_inputs.end()) {
        node.control_inputs.push_back(b);
      }
    }
    node.op = def.name;
    node.def = &def;
    if (def.FindAttr("dtype") != nullptr) node.attrs["dtype"].set_type(target.type);
    XC_RETURN_IF_ERROR(ResolveSignature(node));
    // What it gave was the variable it wrote to (IsVariableInitialized gives a bool as before).
    if (node.num_outputs() == 0) references_[{id, 0}] = {target.handle, target.type, id};
    return absl::OkStatus();
  }

  Graph& graph_;
  std::map<OutputRef, Reference> references_;
};

}  // namespace

absl::Status ReplaceRefVariables(Graph& graph) { return Replacement(graph).Run(); }

}  // namespace xc
