#include "jit/graph/transforms/conditionals.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/graph/transforms/extract.h"

namespace xc {
namespace {

bool IsSwitch(const Node& n) { return n.op == "Switch" || n.op == "RefSwitch" || n.op == "_SwitchN"; }
// Whether control edges delay the node without making it conditional.
bool OnlyWaits(const Node& n) { return n.op == "ControlTrigger" || n.op == "_Retval"; }
bool IsMerge(const Node& n) { return n.op == "Merge" || n.op == "RefMerge"; }

// When a node runs: the side taken of each selector. A selector is the output that a Switch asks, Identities skipped.
using Condition = std::map<OutputRef, int>;

// One conditional: Merges of the same selector under the same outer condition, none of which needs another.
struct Group {
  OutputRef selector;
  Condition outer;
  std::vector<int> merges;
  int sides = 2;
};

class Conditionals {
 public:
  Conditionals(Graph& graph, const FunctionalizeOptions& options, FunctionalizeResult* result)
      : graph_(graph), options_(options), result_(result) {}

  absl::Status Run() {
    for (;;) {
      XC_RETURN_IF_ERROR(Analyze());
      Group group;
      if (!Choose(&group)) break;
      absl::Status status = Replace(group);
      if (status.ok()) continue;
      for (int m : group.merges) refused_[graph_.node(m).name] = std::string(status.message());
      ++result_->irregular;
    }
    PinRest();
    return absl::OkStatus();
  }

 private:
  OutputRef Selector(const Node& n) const {
    OutputRef ref = n.inputs[1];
    while (graph_.node(ref.node).op == "Identity") ref = graph_.node(ref.node).inputs[0];
    return ref;
  }

  // The condition under which an output is alive.
  Condition Of(OutputRef ref) const {
    Condition c = conditions_[ref.node];
    const Node& n = graph_.node(ref.node);
    if (IsSwitch(n) && n.pinned.empty()) c[Selector(n)] = ref.index;
    return c;
  }

  absl::Status Analyze() {
    XC_ASSIGN_OR_RETURN(order_, graph_.TopologicalOrder());
    conditions_.assign(graph_.size(), {});
    merge_selector_.clear();
    for (int id : order_) {
      const Node& n = graph_.node(id);
      Condition& own = conditions_[id];
      if (IsMerge(n) && n.pinned.empty()) {
        std::string why = AnalyzeMerge(n, &own);
        if (!why.empty()) refused_.emplace(n.name, why);
        continue;
      }
      // A loop that stays may stand in a branch: what it gives is alive as what it takes is.
      for (const OutputRef& in : n.inputs) {
        if (IsBackEdge(graph_.node(in.node), n)) continue;
        for (const auto& entry : Of(in)) own.insert(entry);
      }
      for (int c : n.control_inputs) {
        if (OnlyWaits(n)) break;
        for (const auto& entry : conditions_[c]) own.insert(entry);
      }
    }
    return absl::OkStatus();
  }

  // The selector whose sides the inputs are, and the condition that they share; or why there is none.
  std::string AnalyzeMerge(const Node& n, Condition* outer) {
    std::vector<Condition> sides;
    for (const OutputRef& in : n.inputs) sides.push_back(Of(in));
    if (sides.size() < 2) return "a Merge of fewer than two values";
    OutputRef selector;
    for (const auto& [candidate, side] : sides[0]) {
      std::set<int> seen;
      for (const Condition& c : sides) {
        auto it = c.find(candidate);
        if (it != c.end()) seen.insert(it->second);
      }
      if (seen.size() == sides.size() && *seen.rbegin() + 1 == static_cast<int>(sides.size())) selector = candidate;
    }
    for (Condition& c : sides) c.erase(selector);
    for (const Condition& c : sides) {
      for (const auto& entry : c) {
        bool shared = std::all_of(sides.begin(), sides.end(), [&](const Condition& other) {
          auto it = other.find(entry.first);
          return it != other.end() && it->second == entry.second;
        });
        if (shared) outer->insert(entry);
      }
    }
    if (selector.node < 0) return "a Merge whose values do not come from the sides of one Switch";
    for (const Condition& c : sides) {
      if (c != *outer) return "a Merge of values that hang on different conditions";
    }
    // Control edges from one side only delay a Merge.
    merge_selector_[n.id] = selector;
    return "";
  }

  // An innermost group whose Merges were not refused; false if none is left.
  bool Choose(Group* group) {
    int first = -1;
    size_t depth = 0;
    for (int id : order_) {
      auto it = merge_selector_.find(id);
      if (it == merge_selector_.end() || refused_.count(graph_.node(id).name)) continue;
      if (auto kept = options_.keep.find(graph_.node(id).name); kept != options_.keep.end()) {
        refused_[kept->first] = absl::StrCat("its branches would not compile: ", kept->second);
        continue;
      }
      if (first >= 0 && conditions_[id].size() <= depth) continue;
      first = id;
      depth = conditions_[id].size();
    }
    if (first < 0) return false;
    group->selector = merge_selector_[first];
    group->outer = conditions_[first];
    group->sides = static_cast<int>(graph_.node(first).inputs.size());
    // Whatever depends on a Merge of the group cannot be in it.
    after_.assign(graph_.size(), false);
    for (int id : order_) {
      const Node& n = graph_.node(id);
      bool after = false;
      for (const OutputRef& in : n.inputs) after |= after_[in.node];
      for (int c : n.control_inputs) after |= after_[c];
      auto it = merge_selector_.find(id);
      bool member = !after && it != merge_selector_.end() && it->second == group->selector &&
                    conditions_[id] == group->outer && static_cast<int>(n.inputs.size()) == group->sides &&
                    refused_.count(n.name) == 0;
      if (member) group->merges.push_back(id);
      after_[id] = after || member;
    }
    return true;
  }

  bool IsEffect(const Node& n) const {
    return (n.stateful() || n.def == nullptr) && !IsV1ControlFlow(n.op) && n.op != "_Retval";
  }

  absl::Status Refuse(const Node& n, const std::string& what) const {
    return absl::UnimplementedError(absl::StrCat("node '", n.name, "' (", n.op, ") ", what));
  }

  absl::Status Replace(const Group& group) {
    const OutputRef selector = group.selector;
    std::vector<OutputRef> captured;
    std::map<OutputRef, int> argument;
    auto capture = [&](OutputRef ref) {
      auto [it, fresh] = argument.emplace(ref, static_cast<int>(captured.size()));
      if (fresh) captured.push_back(ref);
      return it->second;
    };
    auto is_border = [&](int id) {
      const Node& n = graph_.node(id);
      return IsSwitch(n) && n.pinned.empty() && Selector(n) == selector;
    };
    auto inside = [&](int id) { return conditions_[id].count(selector) != 0; };
    int stays = -1;  // a node of the branches that no function can have
    // The first pass finds what the branches capture, so that all of them take the same arguments.
    std::set<int> copied;
    std::vector<std::shared_ptr<Graph>> branches;
    std::set<int> controls;
    for (int pass = 0; pass < 2; ++pass) {
      branches.clear();
      std::vector<DataType> types;
      for (const OutputRef& ref : captured) types.push_back(graph_.node(ref.node).output_types[ref.index]);
      for (int side = 0; side < group.sides; ++side) {
        auto at = [&](OutputRef ref) {
          Border border;
          if (StaysInside(ref.node, selector)) {
            border.kind = Border::kError;
            border.error = "is part of a loop that stays";
            return border;
          }
          if (is_border(ref.node)) {
            if (ref.index != side) {
              border.kind = Border::kError;
              border.error = "is used on both sides of a conditional";
              return border;
            }
            border.kind = Border::kArgument;
            border.argument = capture(graph_.node(ref.node).inputs[0]);
          } else if (!inside(ref.node) && graph_.node(ref.node).op != "Const") {
            border.kind = Border::kArgument;
            border.argument = capture(ref);
          }
          return border;
        };
        auto control = [&](int c) {
          if (is_border(c) || graph_.node(c).op == "Const") return inside(c) && !is_border(c);
          if (StaysInside(c, selector)) {
            stays = c;
            return false;
          }
          if (!inside(c)) controls.insert(c);
          return inside(c);
        };
        Extractor branch(graph_, NewFunctionName(graph_, absl::StrCat(graph_.node(group.merges[0]).name, "_", side)),
                         at, control);
        for (int m : group.merges) branch.AddResult(graph_.node(m).inputs[InputOfSide(m, selector, side)]);
        for (int m : group.merges) branch.AddConstantResult(InputOfSide(m, selector, side));
        for (int id : order_) {
          if (!IsEffect(graph_.node(id)) || after_[id] || !RunsOnSide(id, group, side)) continue;
          if (StaysInside(id, selector)) stays = id;
          branch.AddEffect(id);
        }
        XC_RETURN_IF_ERROR(branch.Collect());
        if (stays >= 0) return Refuse(graph_.node(stays), "is part of a loop that stays");
        if (pass == 0) continue;
        XC_RETURN_IF_ERROR(branch.Copy(order_, types));
        for (const auto& entry : branch.copied()) copied.insert(entry.first);
        branches.push_back(branch.graph());
      }
    }
    XC_RETURN_IF_ERROR(CheckEffects(group, copied));
    for (int m : group.merges) {
      for (int c : graph_.node(m).control_inputs) {
        if (!inside(c)) controls.insert(c);
      }
    }
    return Emit(group, branches, captured, controls, copied);
  }

  // Whether the node stands in a branch of the selector's conditional, as part of a loop that stays with the host.
  bool StaysInside(int id, OutputRef selector) const {
    return !graph_.node(id).pinned.empty() && conditions_[id].count(selector) != 0;
  }

  int InputOfSide(int merge, OutputRef selector, int side) const {
    const Node& n = graph_.node(merge);
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      Condition c = Of(n.inputs[i]);
      auto it = c.find(selector);
      if (it != c.end() && it->second == side) return static_cast<int>(i);
    }
    return 0;
  }

  bool RunsOnSide(int id, const Group& group, int side) const {
    Condition want = group.outer;
    want[group.selector] = side;
    return conditions_[id] == want;
  }

  // An effect must happen once: whoever uses a copied op with effects is copied as well, or runs in the branch only to
  // order what is in it.
  absl::Status CheckEffects(const Group& group, const std::set<int>& copied) const {
    std::set<int> merges(group.merges.begin(), group.merges.end());
    for (int id : order_) {
      const Node& n = graph_.node(id);
      auto check = [&](int src) -> absl::Status {
        if (copied.count(src) && IsEffect(graph_.node(src)) && !copied.count(id) && !merges.count(id) &&
            (!conditions_[id].count(group.selector) || StaysInside(id, group.selector))) {
          return Refuse(graph_.node(src), absl::StrCat("has effects and is used by '", n.name, "' beyond its branch"));
        }
        return absl::OkStatus();
      };
      for (const OutputRef& in : n.inputs) XC_RETURN_IF_ERROR(check(in.node));
      if (OnlyWaits(n)) continue;  // for the whole conditional
      for (int c : n.control_inputs) XC_RETURN_IF_ERROR(check(c));
    }
    return absl::OkStatus();
  }

  absl::Status Emit(const Group& group, const std::vector<std::shared_ptr<Graph>>& branches,
                    const std::vector<OutputRef>& captured, const std::set<int>& controls,
                    const std::set<int>& copied) {
    bool state = false;
    for (const auto& branch : branches) state |= HasState(*branch);
    const Node& model = graph_.node(group.merges[0]);
    Node node;
    node.name = graph_.UniqueName(absl::StrCat(model.name, "/conditional"));
    node.device = model.device;
    node.source = model.source;
    bool two = graph_.node(group.selector.node).output_types[group.selector.index] == DT_BOOL;
    if (two && group.sides != 2) return Refuse(model, "has more sides than its selector");
    node.op = absl::StrCat(state ? "" : "Stateless", two ? "If" : "Case");
    if (two) {
      node.attrs["Tcond"].set_type(DT_BOOL);
      node.attrs["then_branch"].mutable_func()->set_name(branches[1]->name);
      node.attrs["else_branch"].mutable_func()->set_name(branches[0]->name);
    } else {
      auto* list = node.attrs["branches"].mutable_list();
      for (const auto& branch : branches) list->add_func()->set_name(branch->name);
    }
    auto* tin = node.attrs["Tin"].mutable_list();
    for (const OutputRef& ref : captured) tin->add_type(graph_.node(ref.node).output_types[ref.index]);
    auto* tout = node.attrs["Tout"].mutable_list();
    for (int m : group.merges) tout->add_type(graph_.node(m).output_types[0]);
    for (size_t k = 0; k < group.merges.size(); ++k) tout->add_type(DT_INT32);
    XC_RETURN_IF_ERROR(ResolveSignature(node));
    node.inputs.push_back(group.selector);
    node.inputs.insert(node.inputs.end(), captured.begin(), captured.end());
    node.control_inputs.assign(controls.begin(), controls.end());
    for (const auto& branch : branches) graph_.library()->AddGraph(branch->name, branch);
    std::string kept = model.name;
    int id = graph_.Add(std::move(node)).id;
    result_->made[graph_.node(id).name] = kept;
    int count = static_cast<int>(group.merges.size());
    for (int k = 0; k < count; ++k) {
      graph_.ReplaceOutput({group.merges[k], 0}, {id, k});
      graph_.ReplaceOutput({group.merges[k], 1}, {id, count + k});
      graph_.RedirectControl(group.merges[k], id);
      graph_.Remove(group.merges[k]);
    }
    MoveWaits(group.selector, id);
    RemoveDead(group.selector, copied);
    return absl::OkStatus();
  }

  // What only waited for nodes of the branches waits for the conditional.
  void MoveWaits(OutputRef selector, int conditional) {
    for (int id : order_) {
      if (!graph_.has(id) || !OnlyWaits(graph_.node(id))) continue;
      std::set<int> controls;
      for (int c : graph_.node(id).control_inputs) {
        bool inside = c < static_cast<int>(conditions_.size()) && conditions_[c].count(selector) != 0 &&
                      !StaysInside(c, selector);
        controls.insert(inside ? conditional : c);
      }
      graph_.node(id).control_inputs.assign(controls.begin(), controls.end());
    }
  }

  // Removes what was copied, and Switches on the selector, as far as nothing uses them any more.
  void RemoveDead(OutputRef selector, const std::set<int>& copied) {
    std::vector<std::vector<int>> users = graph_.Users();
    std::vector<int> uses(graph_.size());
    for (int id = 0; id < graph_.size(); ++id) uses[id] = static_cast<int>(users[id].size());
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      int id = *it;
      if (!graph_.has(id) || uses[id] != 0) continue;
      const Node& n = graph_.node(id);
      bool dead = copied.count(id) || (IsSwitch(n) && n.pinned.empty() && Selector(n) == selector) ||
                  (id < static_cast<int>(conditions_.size()) && conditions_[id].count(selector) && !IsEffect(n) &&
                   n.op != "_Retval");
      if (!dead) continue;
      std::set<int> sources(n.control_inputs.begin(), n.control_inputs.end());
      for (const OutputRef& in : n.inputs) sources.insert(in.node);
      for (int src : sources) --uses[src];
      graph_.Remove(id);
    }
  }

  // What is left of v1 conditionals, and all that hangs on it, stays with the host.
  void PinRest() {
    std::string why;
    for (const auto& [name, reason] : refused_) {
      if (why.empty()) why = reason;
    }
    for (int id : order_) {
      if (!graph_.has(id)) continue;
      Node& n = graph_.node(id);
      if (!n.pinned.empty() || (!IsSwitch(n) && !IsMerge(n) && conditions_[id].empty())) continue;
      auto own = refused_.find(n.name);
      const std::string& reason = own != refused_.end() ? own->second : why;
      n.pinned = absl::StrCat("in a conditional of Switch and Merge that was not turned into an If",
                              reason.empty() ? "" : ": ", reason);
    }
  }

  Graph& graph_;
  const FunctionalizeOptions& options_;
  FunctionalizeResult* result_;
  std::vector<int> order_;
  std::vector<Condition> conditions_;
  std::map<int, OutputRef> merge_selector_;
  std::vector<bool> after_;
  std::map<std::string, std::string> refused_;  // Merges, with the reason
};

}  // namespace

absl::Status FunctionalizeConditionals(Graph& graph, const FunctionalizeOptions& options, FunctionalizeResult* result) {
  bool any = false;
  for (int id = 0; id < graph.size() && !any; ++id) {
    any = graph.has(id) && graph.node(id).pinned.empty() && (IsSwitch(graph.node(id)) || IsMerge(graph.node(id)));
  }
  if (!any) return absl::OkStatus();
  return Conditionals(graph, options, result).Run();
}

}  // namespace xc
