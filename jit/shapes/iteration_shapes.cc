#include "jit/shapes/iteration_shapes.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/lowering/callees.h"
#include "jit/lowering/loop_sizes.h"
#include "jit/lowering/lowering.h"
#include "jit/lowering/unrolled_loop.h"
#include "jit/shapes/dynamic_arrays.h"
#include "jit/shapes/shape_rules.h"

namespace xc {
namespace {

constexpr int kMaxCallDepth = 32;
constexpr int kMaxPasses = 16;  // over the body of one loop
constexpr int64_t kMaxNodeRuns = 400000;

using Tensors = std::vector<SymbolicTensor>;

bool IsLoop(const std::string& op) { return op == "While" || op == "StatelessWhile" || op == "XlaWhile"; }
bool IsBranch(const std::string& op) {
  return op == "If" || op == "StatelessIf" || op == "XlaIf" || op == "Case" || op == "StatelessCase";
}
bool IsCall(const std::string& op) { return op == "PartitionedCall" || op == "StatefulPartitionedCall"; }

// Whether an argument of the graph chooses the branch: each choice has its code then.
bool ChosenByArgument(const Graph& graph, const Node& node) {
  const Node* from = &graph.node(node.inputs[0].node);
  while (from->op == "Identity") from = &graph.node(from->inputs[0].node);
  return from->op == "_Arg" || from->op == "Placeholder" || from->op == "PlaceholderV2" || from->op == "Const";
}

class Inference {
 public:
  // The results of a function. `problem` gets the first node that does not compile; `problems` all of them.
  Tensors Run(const Graph& graph, const Tensors& args, int depth, std::string* problem,
              std::map<int, std::string>* problems = nullptr) {
    auto [it, fresh] = orders_.try_emplace(&graph);
    if (fresh) it->second = graph.TopologicalOrder().value_or(std::vector<int>());
    const std::vector<int>& order = it->second;
    std::vector<Tensors> values(graph.size());
    const auto growing = growing_.find(&graph);
    Tensors results(graph.Retvals().size());
    for (int id : order) {
      if (--budget_ < 0) return results;
      const Node& n = graph.node(id);
      size_t index = static_cast<size_t>(n.Int("index").value_or(0));
      if (n.op == "_Arg" && index < args.size()) {
        values[id] = {args[index]};
        if (&graph == watched_) Watch(id, values[id]);
        continue;
      }
      Tensors inputs;
      for (const OutputRef& in : n.inputs) {
        const Tensors& from = values[in.node];  // empty where a loop of frames closes
        inputs.push_back(in.index < static_cast<int>(from.size()) ? from[in.index] : SymbolicTensor());
      }
      if (n.op == "_Retval") {
        if (index < results.size() && !inputs.empty()) results[index] = inputs[0];
        continue;
      }
      std::string why;
      values[id] = RunNode(graph, n, inputs, depth, &why);
      values[id].resize(n.num_outputs());
      if (&graph == watched_) Watch(id, values[id]);
      if (why.empty() && !PassCut(graph, n, inputs, &values[id])) {
        why = "takes an array whose length only the run of a loop tells";
      }
      if (growing != growing_.end() && growing->second.count(id) != 0) continue;
      if (widening_ == 0 && TakesPart(n, inputs, values[id])) found_.insert(n.name);
      if (why.empty() && widening_ == 0) why = WhyNotOneCode(n, inputs, values[id]);
      if (why.empty()) continue;
      if (problems != nullptr) problems->emplace(id, why);
      if (problem != nullptr && problem->empty()) *problem = absl::StrCat("node '", n.name, "': ", why);
    }
    return results;
  }

  // What takes arrays whose length only the run of a loop tells may give such arrays; false if there is no code for it.
  static bool PassCut(const Graph& graph, const Node& n, const Tensors& inputs, Tensors* outputs) {
    std::vector<bool> cut;
    for (const SymbolicTensor& t : inputs) cut.push_back(t.cut);
    if (std::count(cut.begin(), cut.end(), true) == 0) return true;
    bool still = false;
    if (!TakesCut(graph, n, cut, &still)) return false;
    for (SymbolicTensor& t : *outputs) t.cut = still && !(t.ranked && t.dims.empty());
    return true;
  }

  bool complete() const { return budget_ >= 0; }
  const std::set<std::string>& found() const { return found_; }

 private:
  Tensors RunNode(const Graph& graph, const Node& n, const Tensors& inputs, int depth, std::string* why) {
    const bool loop = IsLoop(n.op), branch = IsBranch(n.op);
    if (!(loop || branch || IsCall(n.op)) || depth > kMaxCallDepth) return InferNode(n, inputs, symbols_);
    std::vector<std::shared_ptr<const Graph>> functions;
    for (const NameAttrList& f : CalleesOf(n)) {
      if (!Find(graph, f, &functions)) return {};
    }
    if (functions.empty() || (loop && functions.size() != 2) || (branch && inputs.empty())) return {};
    if (loop) return RunLoop(*functions[0], *functions[1], inputs, depth, why);
    Tensors args(inputs.begin() + (branch ? 1 : 0), inputs.end());
    std::vector<Tensors> results;
    for (const auto& f : functions) results.push_back(Run(*f, args, depth + 1, why));
    if (!branch) return results[0];
    return Join(graph, n, results, ValueVaries(symbols_, inputs[0]), why);
  }

  bool Find(const Graph& graph, const NameAttrList& name, std::vector<std::shared_ptr<const Graph>>* out) {
    const auto library = graph.library();
    if (library == nullptr) return false;
    auto body = library->Instantiate(name, library);
    if (body.ok()) out->push_back(*body);
    if (body.ok()) kept_.push_back(*body);  // orders_ goes by address
    return body.ok();
  }

  // What all branches give, as far as it is the same.
  Tensors Join(const Graph& graph, const Node& n, const std::vector<Tensors>& results, bool varies, std::string* why) {
    Tensors out = results[0];
    for (size_t k = 1; k < results.size(); ++k) {
      for (size_t i = 0; i < std::min(out.size(), results[k].size()); ++i) {
        SymbolicTensor& to = out[i];
        const SymbolicTensor& from = results[k][i];
        bool differ = to.ranked && from.ranked && to.dims.size() != from.dims.size();
        if (!to.ranked || !from.ranked || differ) {
          to.shape_varies = ShapeVaries(symbols_, to) || ShapeVaries(symbols_, from) || (differ && varies);
          to.ranked = false;
        }
        for (size_t d = 0; to.ranked && d < to.dims.size(); ++d) {
          Size &a = to.dims[d], b = from.dims[d];
          if (a == b) continue;
          const bool other = symbols_.Differ(a, b);
          differ |= other;
          a = symbols_.Fresh(symbols_.Varies(a) || symbols_.Varies(b) || (other && varies));
        }
        if (to.known && !(from.known && from.elements == to.elements)) to.known = false;
        to.state = to.state == from.state ? to.state : -1;
        to.varies |= from.varies || varies;
        if (differ && why->empty() && !ChosenByArgument(graph, n)) {
          *why = absl::StrCat("its branches give different shapes as result ", i);
        }
      }
    }
    return out;
  }

  // Widens the state until one more iteration changes nothing that is known of it.
  Tensors RunLoop(const Graph& condition, const Graph& body, const Tensors& before, int depth, std::string* why) {
    Tensors state = before;
    for (size_t i = 0; i < state.size(); ++i) state[i].state = next_state_++;
    ++widening_;
    std::set<int> changed;  // variables that change their shape
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      Tensors after = Run(body, state, depth + 1, nullptr);
      bool more = false;
      for (size_t i = 0; i < std::min(state.size(), after.size()); ++i) {
        bool shape = false;
        more |= Widen(&state[i], after[i], &shape);
        if (shape) changed.insert(static_cast<int>(i));
      }
      if (!more || budget_ < 0) break;
    }
    --widening_;
    bool counted = false;  // whether the trip count hangs on counters alone
    const bool grow = !changed.empty() && Grow(condition, body, before, state, changed, depth, &counted);
    const std::set<std::string> found = found_;
    std::string inner;
    Run(body, state, depth + 1, &inner);
    if (inner.empty()) Run(condition, state, depth + 1, &inner);
    growing_.erase(&body);
    growing_.erase(&condition);
    if (!changed.empty() && !grow) {
      *why = absl::StrCat("loop variable ", *changed.begin(), " changes its shape from iteration to iteration");
    } else if (!inner.empty()) {
      *why = absl::StrCat(inner, " of '", body.name, "'");
    }
    if (!why->empty() && Unrolls(condition, body, before, state, depth)) {
      why->clear();
      found_ = found;
      counted = true;
    }
    Tensors out = before;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].cut = why->empty() && !counted && changed.count(static_cast<int>(i)) != 0;
      // After the loop what changed in it has some value.
      if (!state[i].ranked) out[i].ranked = false;
      for (size_t d = 0; out[i].ranked && d < out[i].dims.size(); ++d) {
        if (!(state[i].dims[d] == before[i].dims[d])) out[i].dims[d] = symbols_.Fresh(false);
      }
      for (size_t e = 0; out[i].known && e < out[i].elements.size(); ++e) {
        if (!(state[i].elements[e] == before[i].elements[e])) out[i].elements[e] = symbols_.Fresh(false);
      }
    }
    return out;
  }

  // Whether the loop variables only grow, in nodes that have code for that: these are left in peace from then on.
  // Something that does not change in an outer loop must bound the iterations.
  bool Grow(const Graph& condition, const Graph& body, const Tensors& before, const Tensors& state,
            const std::set<int>& variables, int depth, bool* counted) {
    const std::set<int> counters = TurnCounters(condition, body, counted);
    if (counters.empty()) return false;
    for (int i : counters) {
      if (i < static_cast<int>(before.size()) && ValueVaries(symbols_, before[i])) return false;
    }
    for (int i : variables) {
      if (!Appends(body, i)) return false;
    }
    for (const Graph* function : {&body, &condition}) {
      if (!TakesDynamicArrays(*function, Varying(*function, state, depth), &growing_[function])) {
        growing_.erase(&body);
        growing_.erase(&condition);
        return false;
      }
    }
    return true;
  }

  // Whether each iteration may have code of its own: they are few, by constants of the graph (a number that only a call
  // tells could turn out too large for code, when it is too late for clusters inside of the loop), and nothing but what
  // differs from iteration to iteration keeps one from compiling.
  bool Unrolls(const Graph& condition, const Graph& body, const Tensors& before, const Tensors& state, int depth) {
    bool counted = false;
    const std::set<int> counters = TurnCounters(condition, body, &counted);
    if (!counted || counters.size() > before.size()) return false;
    std::vector<Known> known;
    for (size_t i = 0; i < before.size(); ++i) {
      if (ShapeVaries(symbols_, before[i])) return false;
      if (counters.count(static_cast<int>(i)) != 0 && ValueVaries(symbols_, before[i])) return false;
      known.push_back(KnownOf(before[i], body, static_cast<int>(i)));
    }
    const int64_t most = kMaxUnrolledNodes / TurnNodes(condition, body);
    if (KnownTurns(condition, body, known, most) < 0) return false;
    Tensors iteration = state;
    for (SymbolicTensor& t : iteration) {
      for (std::vector<Size>* sizes : {&t.dims, &t.elements}) {
        for (Size& s : *sizes) s = symbols_.Varies(s) ? symbols_.Fresh(false) : s;
      }
      t.shape_varies = t.varies = false;
    }
    std::string why;
    Run(body, iteration, depth + 1, &why);
    if (why.empty()) Run(condition, iteration, depth + 1, &why);
    return why.empty();
  }

  static Known KnownOf(const SymbolicTensor& t, const Graph& body, int index) {
    Known known;
    auto number = [](const Size& s) { return s.IsNumber(); };
    const std::vector<int> args = body.Args();
    if (!t.ranked || !std::all_of(t.dims.begin(), t.dims.end(), number)) return known;
    known.has_dims = true;
    for (const Size& s : t.dims) known.dims.push_back(s.offset);
    if (!t.known || index >= static_cast<int>(args.size())) return known;
    if (!std::all_of(t.elements.begin(), t.elements.end(), number)) return known;
    const DataType type = body.node(args[index]).output_types[0];
    if (type != DT_INT32 && type != DT_INT64) return known;
    auto tensor = Tensor::Create(type, known.dims);
    if (!tensor.ok() || tensor->num_elements() != static_cast<int64_t>(t.elements.size())) return known;
    for (size_t e = 0; e < t.elements.size(); ++e) {
      if (type == DT_INT32) tensor->data<int32_t>()[e] = static_cast<int32_t>(t.elements[e].offset);
      if (type == DT_INT64) tensor->data<int64_t>()[e] = t.elements[e].offset;
    }
    known.constant = std::make_shared<const HostConstant>(*std::move(tensor));
    return known;
  }

  // Outputs of the function's nodes whose shapes vary.
  std::set<OutputRef> Varying(const Graph& function, const Tensors& args, int depth) {
    const Graph* const outer = std::exchange(watched_, &function);
    std::set<OutputRef> outer_varying = std::exchange(varying_, {});
    ++widening_;
    Run(function, args, depth + 1, nullptr);
    --widening_;
    watched_ = outer;
    return std::exchange(varying_, std::move(outer_varying));
  }

  void Watch(int node, const Tensors& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (ShapeVaries(symbols_, outputs[i])) varying_.insert(OutputRef{node, static_cast<int>(i)});
    }
  }

  // Whether the variable is known to become something else. `shape`: whether its shape does.
  bool Widen(SymbolicTensor* state, const SymbolicTensor& after, bool* shape) {
    bool more = false;
    if (!state->ranked) {
      *shape = !state->shape_varies && ShapeVaries(symbols_, after);
      state->shape_varies |= *shape;
      more |= *shape;
    } else if (after.ranked && after.dims.size() != state->dims.size()) {
      *shape = more = true;
      state->ranked = state->known = false;
      state->shape_varies = true;
    } else if (after.ranked) {
      for (size_t d = 0; d < state->dims.size(); ++d) {
        Size& dim = state->dims[d];
        const bool varies = symbols_.Varies(after.dims[d]);
        if (symbols_.Varies(dim) || !(varies || symbols_.Differ(dim, after.dims[d]))) continue;
        dim = symbols_.Fresh(true);
        *shape = more = true;
      }
    }
    for (size_t e = 0; state->known && e < state->elements.size(); ++e) {
      Size& element = state->elements[e];
      bool same = after.known && e < after.elements.size() && after.elements[e] == element;
      if (same || symbols_.Varies(element)) continue;
      element = symbols_.Fresh(true);
      more = true;
    }
    if (!state->varies && after.state != state->state) state->varies = more = true;
    return more;
  }

  // Whether the node has to do with shapes that vary, or its code with values that do.
  bool TakesPart(const Node& n, const Tensors& inputs, const Tensors& outputs) const {
    auto shape_varies = [&](const SymbolicTensor& t) { return ShapeVaries(symbols_, t); };
    if (std::any_of(inputs.begin(), inputs.end(), shape_varies)) return true;
    if (std::any_of(outputs.begin(), outputs.end(), shape_varies)) return true;
    const Lowering* lowering = LoweringRegistry::Get().Find(n.op);
    for (int i : lowering != nullptr ? ConstantOperands(n, *lowering) : std::vector<int>()) {
      if (i < static_cast<int>(inputs.size()) && ValueVaries(symbols_, inputs[i])) return true;
    }
    return false;
  }

  // Why the node has no code that serves for all iterations of a loop, where that is certain.
  std::string WhyNotOneCode(const Node& n, const Tensors& inputs, const Tensors& outputs) const {
    const Lowering* lowering = LoweringRegistry::Get().Find(n.op);
    if (lowering == nullptr || (lowering->flags & (kControlFlow | kUsesLists))) return "";
    for (const SymbolicTensor& t : outputs) {
      if (t.ranked && ShapeVaries(symbols_, t)) return "its shape changes from iteration to iteration";
    }
    for (int i : ConstantOperands(n, *lowering)) {
      if (i < static_cast<int>(inputs.size()) && inputs[i].known && ValueVaries(symbols_, inputs[i])) {
        return absl::StrCat("operand ", i, " must be constant, but changes from iteration to iteration");
      }
    }
    return "";
  }

  Symbols symbols_;
  int64_t budget_ = kMaxNodeRuns;
  int next_state_ = 0;
  int widening_ = 0;  // loops whose variables are not as wide yet as they get
  std::set<std::string> found_;
  const Graph* watched_ = nullptr;  // whose varying shapes are noted
  std::set<OutputRef> varying_;
  std::map<const Graph*, std::set<int>> growing_;  // nodes that arrays which grow in a loop go through
  std::map<const Graph*, std::vector<int>> orders_;
  std::vector<std::shared_ptr<const Graph>> kept_;
};

}  // namespace

IterationShapes FindIterationShapes(const Graph& graph) {
  IterationShapes out;
  bool any = false;
  for (int id = 0; id < graph.size() && !any; ++id) {
    any = graph.has(id) && (IsLoop(graph.node(id).op) || IsBranch(graph.node(id).op) || IsCall(graph.node(id).op));
  }
  if (!any) return out;
  Inference inference;
  inference.Run(graph, {}, 0, nullptr, &out.changing);
  if (!inference.complete()) return IterationShapes();
  out.nodes = inference.found();
  return out;
}

}  // namespace xc
