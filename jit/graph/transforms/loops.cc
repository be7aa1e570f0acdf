// Frames of Enter, Merge, Switch, NextIteration and Exit become While nodes, the inner ones first.
#include "jit/graph/transforms/loops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/graph/transforms/conditionals.h"
#include "jit/graph/transforms/extract.h"
#include "jit/graph/transforms/frames.h"

namespace xc {
namespace {

// One frame on its way to a While node. Nothing is changed before Replace.
class Loop {
 public:
  Loop(Graph& graph, const Frames& frames, int frame, const FunctionalizeOptions& options)
      : graph_(graph), frames_(frames), frame_(frame), options_(options) {}

  absl::Status Analyze() {
    users_ = graph_.Users();
    for (int id : nodes()) {
      const Node& n = graph_.node(id);
      if (!n.pinned.empty()) return Irregular(n, n.pinned);
      if (n.op == "LoopCond") {
        if (condition_ >= 0) return Irregular(n, "a second condition in one frame");
        condition_ = id;
      }
    }
    if (condition_ < 0) return absl::UnimplementedError("it has no condition");
    for (int id : nodes()) {
      const Node& n = graph_.node(id);
      if (IsV1Op(n, "Merge")) XC_RETURN_IF_ERROR(AddVariable(n));
    }
    if (variables_.empty()) return absl::UnimplementedError("it has no loop variable");
    for (int id : nodes()) {
      if (IsV1Op(graph_.node(id), "Enter") && !FeedsOnlyMerges(id)) {
        state_of_enter_[id] = num_states();
        invariants_.push_back(id);
      }
    }
    for (int id : nodes()) {
      const Node& n = graph_.node(id);
      if (IsV1Op(n, "Exit")) {
        XC_ASSIGN_OR_RETURN(int state, ExitState(n));
        exits_[id] = state;
      }
      // Values leave the frame through Exits only.
      for (int user : users_[id]) {
        if (frames_.of[user] != frame_ && !IsV1Op(n, "Exit")) {
          const Node& u = graph_.node(user);
          bool enters = IsV1Op(u, "Enter") && frames_.all[frames_.of[user]].parent == frame_;
          if (!enters) return Irregular(n, absl::StrCat("used by '", u.name, "' outside its frame"));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Build() {
    XC_ASSIGN_OR_RETURN(std::vector<int> order, graph_.TopologicalOrder());
    for (const Variable& v : variables_) types_.push_back(graph_.node(v.merge).output_types[0]);
    for (int e : invariants_) types_.push_back(graph_.node(e).output_types[0]);
    auto control = [this](int id) {
      const Node& n = graph_.node(id);
      bool border = IsV1Op(n, "Enter") || IsV1Op(n, "Exit") || IsV1Op(n, "NextIteration") || n.op == "LoopCond" ||
                    state_of_merge_.count(id) != 0 || IsLoopSwitch(id);
      return frames_.of[id] == frame_ && !border;
    };
    const std::string base = frames_.all[frame_].name;
    // The condition's name is taken before the body's is made: both go to the library only at the end.
    Extractor test(
        graph_, NewFunctionName(graph_, base + "_cond"), [this](OutputRef r) { return At(r, false); }, control);
    Extractor body(
        graph_, NewFunctionName(graph_, base + "_body"), [this](OutputRef r) { return At(r, true); }, control);
    test.AddResult(graph_.node(condition_).inputs[0]);
    for (const Variable& v : variables_) body.AddResult(graph_.node(v.next).inputs[0]);
    for (int e : invariants_) body.AddResult({e, 0});
    // Effects run on the side on which they stand, whether or not a result needs them.
    std::set<int> after_test, after_exit;
    for (int id : order) {
      if (frames_.of[id] != frame_) continue;
      const Node& n = graph_.node(id);
      auto follow = [&](int src, int output) {
        if (frames_.of[src] != frame_) return;
        if (IsLoopSwitch(src)) {
          if (output != 0) after_test.insert(id);
          if (output == 0) after_exit.insert(id);
        } else if (IsBackEdge(graph_.node(src), n)) {
          return;
        }
        if (after_test.count(src) || graph_.node(src).op == "LoopCond") after_test.insert(id);
        if (after_exit.count(src)) after_exit.insert(id);
      };
      for (const OutputRef& in : n.inputs) follow(in.node, in.index);
      for (int c : n.control_inputs) follow(c, 1);
      bool effect = (n.stateful() || n.def == nullptr) && !IsV1ControlFlow(n.op);
      if (!effect) continue;
      if (after_exit.count(id)) return Irregular(n, "has effects where the loop ends");
      (after_test.count(id) ? body : test).AddEffect(id);
    }
    for (const Variable& v : variables_) {
      for (int c : graph_.node(v.next).control_inputs) {
        if (control(c)) body.AddEffect(c);
      }
    }
    XC_RETURN_IF_ERROR(test.Collect());
    XC_RETURN_IF_ERROR(body.Collect());
    XC_RETURN_IF_ERROR(test.Copy(order, types_));
    XC_RETURN_IF_ERROR(body.Copy(order, types_));
    for (const auto& [id, copy] : test.copied()) {
      const Node& n = graph_.node(id);
      if ((n.stateful() || n.def == nullptr) && body.copied().count(id)) {
        return Irregular(n, "has effects and is used by condition and body");
      }
    }
    test_ = test.graph();
    body_ = body.graph();
    for (const auto& part : {test_, body_}) {
      FunctionalizeResult inner;
      XC_RETURN_IF_ERROR(FunctionalizeConditionals(*part, options_, &inner));
      for (int id = 0; id < part->size(); ++id) {
        if (part->has(id) && !part->node(id).pinned.empty()) return absl::UnimplementedError(part->node(id).pinned);
      }
    }
    return absl::OkStatus();
  }

  // Puts the While node in the place of the frame; gives its id.
  absl::StatusOr<int> Replace() {
    bool state = HasState(*test_) || HasState(*body_);
    Node loop;
    loop.name = graph_.UniqueName(frames_.all[frame_].name + "/loop");
    loop.op = state ? "While" : "StatelessWhile";
    loop.device = graph_.node(condition_).device;
    loop.source = graph_.node(condition_).source;
    auto* list = loop.attrs["T"].mutable_list();
    for (DataType t : types_) list->add_type(t);
    loop.attrs["cond"].mutable_func()->set_name(test_->name);
    loop.attrs["body"].mutable_func()->set_name(body_->name);
    XC_RETURN_IF_ERROR(ResolveSignature(loop));
    std::vector<int> enters;
    for (const Variable& v : variables_) enters.push_back(v.enter);
    enters.insert(enters.end(), invariants_.begin(), invariants_.end());
    for (int e : enters) loop.inputs.push_back(graph_.node(e).inputs[0]);
    std::set<int> controls;
    for (int id : nodes()) {
      if (!IsV1Op(graph_.node(id), "Enter")) continue;
      for (int c : graph_.node(id).control_inputs) controls.insert(c);
    }
    loop.control_inputs.assign(controls.begin(), controls.end());
    graph_.library()->AddGraph(test_->name, test_);
    graph_.library()->AddGraph(body_->name, body_);
    int id = graph_.Add(std::move(loop)).id;
    for (const auto& [exit, state_number] : exits_) {
      graph_.ReplaceOutput({exit, 0}, {id, state_number});
      graph_.RedirectControl(exit, id);
    }
    for (int n : nodes()) graph_.Remove(n);
    return id;
  }

 private:
  struct Variable {
    int enter, merge, next;
  };

  const std::vector<int>& nodes() const { return frames_.all[frame_].nodes; }
  int num_states() const { return static_cast<int>(variables_.size() + invariants_.size()); }

  static absl::Status Irregular(const Node& node, const std::string& what) {
    return absl::UnimplementedError(absl::StrCat("node '", node.name, "' (", node.op, ") ", what));
  }

  bool IsLoopSwitch(int id) const {
    const Node& n = graph_.node(id);
    return IsV1Op(n, "Switch") && SkipIdentities(graph_, n.inputs[1]).node == condition_;
  }

  // A Merge of an Enter and a NextIteration is a loop variable; any other belongs to a conditional.
  absl::Status AddVariable(const Node& merge) {
    int enter = -1, next = -1;
    for (const OutputRef& in : merge.inputs) {
      const Node& src = graph_.node(in.node);
      if (IsV1Op(src, "Enter")) enter = in.node;
      if (IsV1Op(src, "NextIteration")) next = in.node;
    }
    if (enter < 0 && next < 0) return absl::OkStatus();
    if (enter < 0 || next < 0 || merge.inputs.size() != 2) return Irregular(merge, "is an incomplete loop variable");
    state_of_merge_[merge.id] = static_cast<int>(variables_.size());
    variables_.push_back({enter, merge.id, next});
    return absl::OkStatus();
  }

  bool FeedsOnlyMerges(int enter) const {
    for (int user : users_[enter]) {
      if (state_of_merge_.count(user) == 0) return false;
    }
    return !users_[enter].empty();
  }

  // The state that a value of the frame is, where it is one unchanged; -1 otherwise.
  int StateOf(OutputRef ref) const {
    for (;;) {
      const Node& n = graph_.node(ref.node);
      if (auto m = state_of_merge_.find(ref.node); m != state_of_merge_.end() && ref.index == 0) return m->second;
      if (auto e = state_of_enter_.find(ref.node); e != state_of_enter_.end()) return e->second;
      if (n.op != "Identity" && !IsLoopSwitch(ref.node)) return -1;
      ref = n.inputs[0];
    }
  }

  absl::StatusOr<int> ExitState(const Node& exit) const {
    OutputRef from = SkipIdentities(graph_, exit.inputs[0]);
    if (IsLoopSwitch(from.node) && from.index != 0) return Irregular(exit, "leaves the loop before its end");
    int state = StateOf(from);
    if (state < 0) return Irregular(exit, "gives a value that is no loop variable");
    return state;
  }

  // What stands for `ref` in the body or the condition.
  Border At(OutputRef ref, bool in_body) const {
    Border border;
    auto error = [&](const char* what) {
      border.kind = Border::kError;
      border.error = what;
      return border;
    };
    const Node& n = graph_.node(ref.node);
    if (frames_.of[ref.node] != frame_ && frames_.OfOutput(n) != frame_) return error("belongs to another frame");
    if (auto m = state_of_merge_.find(ref.node); m != state_of_merge_.end()) {
      if (ref.index != 0) return error("its index is used in a loop");
      border.kind = Border::kArgument;
      border.argument = m->second;
    } else if (auto e = state_of_enter_.find(ref.node); e != state_of_enter_.end()) {
      border.kind = Border::kArgument;
      border.argument = e->second;
    } else if (ref.node == condition_) {
      if (!in_body) return error("the condition depends on itself");
      border.kind = Border::kTrue;
    } else if (IsLoopSwitch(ref.node)) {
      if (!in_body || ref.index != 1) return error("is used on the wrong side of the condition");
      border.kind = Border::kAlias;
      border.alias = n.inputs[0];
    } else if (IsV1Op(n, "Enter") || IsV1Op(n, "NextIteration") || IsV1Op(n, "Exit")) {
      return error("stands where the loop has no place for it");
    }
    return border;
  }

  Graph& graph_;
  const Frames& frames_;
  const int frame_;
  const FunctionalizeOptions& options_;
  std::vector<std::vector<int>> users_;
  int condition_ = -1;
  std::vector<Variable> variables_;
  std::vector<int> invariants_;  // Enters
  std::map<int, int> state_of_merge_, state_of_enter_, exits_;
  std::vector<DataType> types_;
  std::shared_ptr<Graph> test_, body_;
};

void Pin(Graph& graph, const std::vector<int>& nodes, const std::string& why) {
  for (int id : nodes) {
    if (graph.has(id) && graph.node(id).pinned.empty()) graph.node(id).pinned = why;
  }
}

}  // namespace

absl::Status FunctionalizeLoops(Graph& graph, const FunctionalizeOptions& options, FunctionalizeResult* result) {
  XC_ASSIGN_OR_RETURN(Frames frames, FindFrames(graph));
  std::vector<int> todo;
  for (size_t f = 1; f < frames.all.size(); ++f) todo.push_back(static_cast<int>(f));
  std::stable_sort(todo.begin(), todo.end(), [&](int a, int b) { return frames.all[a].depth > frames.all[b].depth; });
  for (int f : todo) {
    Frame& frame = frames.all[f];
    absl::Status status = absl::OkStatus();
    if (auto kept = options.keep.find(frame.name); kept != options.keep.end()) {
      status = absl::UnimplementedError(absl::StrCat("its loop would not compile: ", kept->second));
    }
    if (!frame.irregular.empty()) status = absl::UnimplementedError(frame.irregular);
    Loop loop(graph, frames, f, options);
    if (status.ok()) status = loop.Analyze();
    if (status.ok()) status = loop.Build();
    if (!status.ok()) {
      ++result->irregular;
      std::string why = absl::StrCat("in the frame '", frame.name,
                                     "', which was not turned into a loop: ", absl::string_view(status.message()));
      Pin(graph, frame.nodes, why);
      if (frame.parent != 0 && frames.all[frame.parent].irregular.empty()) {
        frames.all[frame.parent].irregular = absl::StrCat("it holds the frame '", frame.name, "'");
      }
      continue;
    }
    XC_ASSIGN_OR_RETURN(int id, loop.Replace());
    result->made[graph.node(id).name] = frame.name;
    frames.of.resize(graph.size(), 0);
    frames.of[id] = frame.parent;
    frames.all[frame.parent].nodes.push_back(id);
    frame.nodes.clear();
  }
  return absl::OkStatus();
}

}  // namespace xc
