#include "jit/lowering/loop_sizes.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

constexpr int64_t kMaxNodeRuns = 2000000, kFewNodeRuns = 10000;
constexpr int64_t kMaxElements = 1024;
constexpr int64_t kMaxListLength = int64_t{1} << 26;
constexpr int64_t kMaxTurns = int64_t{1} << 20;
constexpr int kMaxNesting = 32;

std::shared_ptr<const Graph> FunctionOf(const Graph& graph, const NameAttrList& name) {
  if (graph.library() == nullptr) return nullptr;
  auto body = graph.library()->Instantiate(name, graph.library());
  return body.ok() ? *body : nullptr;
}

bool IsLoop(const Node& n) { return n.op == "While" || n.op == "StatelessWhile"; }

// The functions that a call may run, and the number of operands before their arguments.
std::vector<std::shared_ptr<const Graph>> Callees(const Graph& graph, const Node& n, int* first) {
  std::vector<std::shared_ptr<const Graph>> out;
  *first = n.op == "If" || n.op == "StatelessIf" || n.op == "Case" || n.op == "StatelessCase" ? 1 : 0;
  auto add = [&](const absl::StatusOr<NameAttrList>& f) { out.push_back(f.ok() ? FunctionOf(graph, *f) : nullptr); };
  if (n.op == "If" || n.op == "StatelessIf") {
    add(n.Func("else_branch"));
    add(n.Func("then_branch"));
  } else if (n.op == "Case" || n.op == "StatelessCase") {
    for (const NameAttrList& f : n.Funcs("branches").value_or(std::vector<NameAttrList>())) add(f);
  } else if (n.op == "PartitionedCall" || n.op == "StatefulPartitionedCall") {
    add(n.Func("f"));
  }
  return out;
}

class Simulation {
 public:
  explicit Simulation(int64_t node_runs = kMaxNodeRuns) : budget_(node_runs) {}
  // Empty when the budget ran out or the graph is not usable.
  std::vector<Known> Evaluate(const Graph& graph, const std::vector<Known>& args, int depth) {
    auto order = orders_.find(&graph);
    if (order == orders_.end()) {
      order = orders_.emplace(&graph, graph.TopologicalOrder().value_or(std::vector<int>())).first;
    }
    if (depth > kMaxNesting) return {};
    std::vector<std::vector<Known>> values(graph.size());
    std::vector<Known> results;
    for (int id : order->second) {
      if (--budget_ < 0) return {};
      const Node& n = graph.node(id);
      if (n.op == "_Arg") {
        size_t index = static_cast<size_t>(n.Int("index").value_or(0));
        values[id] = {index < args.size() ? args[index] : Known()};
        continue;
      }
      std::vector<Known> inputs;
      for (const OutputRef& in : n.inputs) inputs.push_back(values[in.node][in.index]);
      if (n.op == "_Retval") {
        size_t index = static_cast<size_t>(n.Int("index").value_or(0));
        if (index > 100000) return {};
        if (results.size() <= index) results.resize(index + 1);
        results[index] = inputs[0];
        continue;
      }
      values[id] = EvaluateNode(graph, n, inputs, depth);
      values[id].resize(n.num_outputs());
    }
    return results;
  }

  // `bound`: whether the most iterations that what is known allows are of use where their number is not known.
  TripCount Loop(const Graph& condition, const Graph& body, const std::vector<Known>& before, int depth,
                 const std::vector<LoopGrowth>& growths = {}, bool bound = false, int64_t max_iterations = kMaxTurns) {
    TripCount out;
    std::vector<Known> state = before;
    for (int64_t iterations = 0; iterations <= max_iterations; ++iterations) {
      std::vector<Known> go = Evaluate(condition, state, depth + 1);
      const bool known = go.size() == 1 && go[0].constant != nullptr && go[0].constant->tensor.dtype() == DT_BOOL &&
                         go[0].constant->tensor.num_elements() == 1;
      if (!known && (!bound || budget_ < 0)) return out;
      out.exact &= known;
      if (known && !go[0].constant->tensor.data<uint8_t>()[0]) {
        out.at_most = iterations;
        if (out.exact) out.after = std::move(state);
        return out;
      }
      std::vector<Known> next = Evaluate(body, state, depth + 1);
      if (next.size() != before.size()) return out;
      // Compiled loops keep the shapes of their variables, but for those that are known to grow.
      for (size_t i = 0; i < next.size(); ++i) {
        if (!next[i].has_dims && !next[i].is_list) {
          next[i].has_dims = before[i].has_dims;
          next[i].dims = before[i].dims;
        }
      }
      for (const LoopGrowth& g : growths) {
        next[g.variable].dims = state[g.variable].dims;
        next[g.variable].dims[g.axis] += g.count;
      }
      state = std::move(next);
    }
    return out;
  }

 private:
  static Known Constant(Tensor t) {
    Known k;
    k.has_dims = true;
    k.dims = t.dims();
    k.constant = std::make_shared<const HostConstant>(std::move(t));
    return k;
  }

  static Known List(int64_t length, int64_t capacity = -1) {
    Known k;
    k.is_list = true;
    k.length = length >= 0 && length <= kMaxListLength ? length : -1;
    k.capacity = k.length < 0 ? -1 : std::max(length, capacity);
    return k;
  }

  static int64_t Scalar(const Known& k) {
    if (k.constant == nullptr || k.constant->tensor.num_elements() != 1) return -1;
    auto v = k.constant->tensor.AsInt64s();
    return v.ok() ? (*v)[0] : -1;
  }

  static bool IsFalse(const Known& k) {
    return k.constant != nullptr && k.constant->tensor.dtype() == DT_BOOL && k.dims.empty() &&
           !k.constant->tensor.data<uint8_t>()[0];
  }

  // Two ways to the same value.
  static Known Join(const Known& a, const Known& b) {
    Known k;
    if (a.is_list && b.is_list && a.length == b.length && a.length >= 0) {
      return List(a.length, std::max(a.capacity, b.capacity));
    }
    k.is_list = a.is_list || b.is_list;
    if (a.has_dims && b.has_dims && a.dims == b.dims) {
      k.has_dims = true;
      k.dims = a.dims;
    }
    return k;
  }

  std::vector<Known> EvaluateNode(const Graph& graph, const Node& n, const std::vector<Known>& in, int depth) {
    if (n.op == "Const") {
      Known k;
      k.constant = n.constant;
      k.has_dims = true;
      k.dims = n.constant->tensor.dims();
      return {k};
    }
    if (n.op == "LogicalAnd" && (IsFalse(in[0]) || IsFalse(in[1]))) return {IsFalse(in[0]) ? in[0] : in[1]};
    if (n.op == "Identity" || n.op == "StopGradient" || n.op == "PreventGradient") return {in[0]};
    if (n.op == "IdentityN") return in;
    if (n.op == "Shape" && in[0].has_dims) {
      return {Constant(Tensor::Integers(n.output_types[0], in[0].dims))};
    }
    if ((n.op == "ZerosLike" || n.op == "AddN") && in[0].is_list) return {in[0]};
    if (n.op.rfind("TensorList", 0) == 0 || n.op == "EmptyTensorList") return ListOp(n, in);
    if (IsLoop(n)) return LoopOp(graph, n, in, depth);
    int first = 0;
    auto callees = Callees(graph, n, &first);
    if (!callees.empty()) return CallOp(n, in, callees, first, depth);
    return Fold(n, in);
  }

  std::vector<Known> Fold(const Node& n, const std::vector<Known>& in) {
    const HostKernel* kernel = KernelRegistry::Get().Find(n.op);
    if (kernel == nullptr || !kernel->foldable || n.stateful()) return {};
    std::vector<Tensor> tensors;
    for (const Known& k : in) {
      if (k.constant == nullptr || k.constant->tensor.num_elements() > kMaxElements) return {};
      tensors.push_back(k.constant->tensor);
    }
    KernelContext context(n, tensors);
    context.max_elements = kMaxElements;
    if (!kernel->fn(context).ok()) return {};
    std::vector<Known> out;
    for (Tensor& t : context.outputs) out.push_back(Constant(std::move(t)));
    return out;
  }

  std::vector<Known> ListOp(const Node& n, const std::vector<Known>& in) {
    if (n.op == "EmptyTensorList") return {List(0)};
    if (n.op == "TensorListReserve") return {List(Scalar(in[1]))};
    if (n.op == "TensorListFromTensor") return {List(in[0].has_dims && !in[0].dims.empty() ? in[0].dims[0] : -1)};
    if (n.op == "TensorListScatterV2") return {List(Scalar(in[3]))};
    const Known& list = in[0];
    if (n.op == "TensorListPushBack") return {List(list.length < 0 ? -1 : list.length + 1, list.capacity)};
    if (n.op == "TensorListPopBack") return {List(list.length - 1, list.capacity), Known()};
    if (n.op == "TensorListResize") return {List(Scalar(in[1]), list.capacity)};
    if (n.op == "TensorListSetItem") {
      if (!n.Bool("resize_if_index_out_of_bounds").value_or(false)) return {list};
      int64_t index = Scalar(in[1]);
      return {List(list.length < 0 || index < 0 ? -1 : std::max(list.length, index + 1), list.capacity)};
    }
    if (n.op == "TensorListScatterIntoExistingList") return {list};
    if (n.op == "TensorListLength" && list.length >= 0) {
      return {Constant(Tensor::Scalar<int32_t>(DT_INT32, static_cast<int32_t>(list.length)))};
    }
    return {};
  }

  std::vector<Known> LoopOp(const Graph& graph, const Node& n, const std::vector<Known>& in, int depth) {
    auto condition = n.Func("cond");
    auto body = n.Func("body");
    if (!condition.ok() || !body.ok()) return {};
    auto condition_graph = FunctionOf(graph, *condition);
    auto body_graph = FunctionOf(graph, *body);
    if (condition_graph == nullptr || body_graph == nullptr) return {};
    std::vector<Known> after = Loop(*condition_graph, *body_graph, in, depth + 1).after;
    if (!after.empty()) return after;
    // Iterations unknown: what the body leaves alone is still known.
    after.resize(in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      after[i].is_list = in[i].is_list;
      if (in[i].is_list && !ChangesLength(*body_graph, static_cast<int>(i))) after[i] = in[i];
      after[i].has_dims = in[i].has_dims;
      after[i].dims = in[i].dims;
    }
    return after;
  }

  std::vector<Known> CallOp(const Node& n, const std::vector<Known>& in,
                            const std::vector<std::shared_ptr<const Graph>>& callees, int first, int depth) {
    std::vector<Known> args(in.begin() + first, in.end());
    int chosen = callees.size() == 1 ? 0 : -1;
    if (first == 1 && in[0].constant != nullptr && in[0].constant->tensor.rank() == 0) {
      int last = static_cast<int>(callees.size()) - 1;
      auto v = in[0].constant->tensor.AsDoubles();
      if (v.ok() && n.op.find("Case") != std::string::npos) {
        chosen = (*v)[0] < 0 || (*v)[0] > last ? last : static_cast<int>((*v)[0]);
      } else if (v.ok()) {
        chosen = (*v)[0] != 0;
      }
    }
    std::vector<Known> out;
    for (size_t k = 0; k < callees.size(); ++k) {
      if (callees[k] == nullptr) return {};
      if (chosen >= 0 && static_cast<int>(k) != chosen) continue;
      std::vector<Known> results = Evaluate(*callees[k], args, depth + 1);
      results.resize(n.num_outputs());
      if (out.empty()) {
        out = std::move(results);
      } else {
        for (size_t i = 0; i < out.size(); ++i) out[i] = Join(out[i], results[i]);
      }
    }
    return out;
  }

  std::map<const Graph*, std::vector<int>> orders_;
  int64_t budget_;
};

// Arguments that result `index` of `graph` is computed from; shapes of arguments do not count.
std::set<int> ArgumentsOf(const Graph& graph, int index) {
  std::set<int> out;
  std::vector<bool> seen(graph.size(), false);
  std::vector<int> rets = graph.Retvals(), todo;
  if (index < static_cast<int>(rets.size())) todo.push_back(rets[index]);
  while (!todo.empty()) {
    int id = todo.back();
    todo.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Node& n = graph.node(id);
    if (n.op == "_Arg") out.insert(static_cast<int>(n.Int("index").value_or(0)));
    if (n.op == "Shape" || n.op == "Size" || n.op == "Rank" || n.op == "TensorListLength") continue;
    for (const OutputRef& in : n.inputs) todo.push_back(in.node);
  }
  return out;
}

// The loop's variables that its trip count hangs on.
std::set<int> NeededFor(const Graph& condition, const Graph& body) {
  std::set<int> needed = ArgumentsOf(condition, 0);
  std::vector<int> todo(needed.begin(), needed.end());
  while (!todo.empty()) {
    int i = todo.back();
    todo.pop_back();
    for (int arg : ArgumentsOf(body, i)) {
      if (needed.insert(arg).second) todo.push_back(arg);
    }
  }
  return needed;
}

// Whether loop variable `i` is an integer made of itself and of those that are made of themselves alone: a counter or a
// limit.
bool Counts(const Graph& body, int i) {
  if (!IsInteger(body.node(body.Args()[i]).output_types[0])) return false;
  const std::set<int> from = ArgumentsOf(body, i);
  return std::all_of(from.begin(), from.end(),
                     [&](int k) { return k == i || ArgumentsOf(body, k) == std::set<int>{k}; });
}

}  // namespace

LoopSizes FindLoopSizes(const Graph& condition, const Graph& body, const std::vector<Known>& before) {
  LoopSizes out;
  out.after = Simulation().Loop(condition, body, before, 0).after;
  if (!out.after.empty()) return out;
  for (int i : NeededFor(condition, body)) {
    if (i < static_cast<int>(before.size()) && before[i].constant == nullptr && !before[i].is_list)
      out.wanted.insert(i);
  }
  out.why = "the trip count is not known while compiling";
  return out;
}

TripCount FindTripCount(const Graph& condition, const Graph& body, const std::vector<Known>& before,
                        const std::vector<LoopGrowth>& growths) {
  bool all = false;
  std::set<int> wanted;
  for (int i : TurnCounters(condition, body, &all)) {
    if (i >= static_cast<int>(before.size()) || before[i].constant != nullptr || !before[i].has_dims) continue;
    if (before[i].dims.empty()) wanted.insert(i);
  }
  // Where more can be asked for, the loop may be without end as far as is known.
  TripCount out = Simulation(wanted.empty() ? kMaxNodeRuns : kFewNodeRuns)
                      .Loop(condition, body, before, 0, growths, /*bound=*/true);
  if (out.at_most < 0) out.wanted = std::move(wanted);
  return out;
}

int64_t KnownTurns(const Graph& condition, const Graph& body, const std::vector<Known>& before, int64_t most) {
  return Simulation().Loop(condition, body, before, 0, {}, /*bound=*/false, most).at_most;
}

std::set<int> TurnCounters(const Graph& condition, const Graph& body, bool* all) {
  const std::set<int> needed = NeededFor(condition, body);
  std::set<int> out;
  for (int i : needed) {
    if (i < static_cast<int>(body.Args().size()) && Counts(body, i)) out.insert(i);
  }
  *all = out.size() == needed.size();
  return out;
}

bool ChangesLength(const Graph& body, int index, int depth) {
  if (depth > kMaxNesting) return true;
  std::vector<int> args = body.Args();
  if (index >= static_cast<int>(args.size())) return false;
  std::vector<std::vector<int>> users = body.Users();
  std::vector<bool> seen(body.size(), false);
  std::vector<OutputRef> todo = {{args[index], 0}};
  while (!todo.empty()) {
    OutputRef ref = todo.back();
    todo.pop_back();
    for (int user : users[ref.node]) {
      const Node& n = body.node(user);
      if (n.op == "TensorListPushBack" || n.op == "TensorListPopBack" || n.op == "TensorListResize") return true;
      if (n.op == "TensorListSetItem" && n.Bool("resize_if_index_out_of_bounds").value_or(false)) return true;
      int first = 0;
      auto callees = Callees(body, n, &first);
      if (IsLoop(n)) {
        auto f = n.Func("body");
        callees.push_back(f.ok() ? FunctionOf(body, *f) : nullptr);
      }
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        if (!(n.inputs[i] == ref)) continue;
        for (const auto& callee : callees) {
          if (callee == nullptr || ChangesLength(*callee, static_cast<int>(i) - first, depth + 1)) return true;
        }
      }
      if (seen[user]) continue;
      seen[user] = true;
      for (int i = 0; i < n.num_outputs(); ++i) {
        if (n.output_types[i] == DT_VARIANT) todo.push_back({user, i});
      }
    }
  }
  return false;
}

}  // namespace xc
