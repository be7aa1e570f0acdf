// Candidate orders of a computation and the choice of the one with the lowest peak.
#include "compiler/memory/schedule.h"

#include <algorithm>
#include <queue>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "compiler/memory/in_place.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using CalleePeaks = absl::flat_hash_map<const HloComputation*, int64_t>;

int64_t CalleeBytes(const HloInstruction* instruction, const CalleePeaks& peaks) {
  int64_t most = 0;
  for (const HloComputation* callee : InlineCallees(instruction)) {
    if (auto it = peaks.find(callee); it != peaks.end()) most = std::max(most, it->second);
  }
  return most;
}

// Bytes that the instruction's own result takes: nothing for what only passes bytes on, or what lives elsewhere.
int64_t ResultBytes(const HloInstruction* instruction) {
  if (IsForwarding(instruction) || instruction->opcode() == HloOpcode::kParameter || instruction->IsConstant())
    return 0;
  // A loop's state takes the place of its init.
  if (instruction->opcode() == HloOpcode::kWhile) return 0;
  return instruction->shape().TotalByteSize();
}

// One computation as numbers: dependencies, and for each buffer the instructions that keep it alive.
struct Graph {
  std::vector<HloInstruction*> nodes;  // in the computation's own post-order
  std::vector<std::vector<int>> successors;
  std::vector<int> predecessor_count;
  std::vector<int64_t> bytes, callee_bytes;
  // buffers[i]: the nodes whose result is read by node i, seen through forwarding instructions; readers: the inverse
  // without forwarding nodes. `overwrites`: those of `buffers` that the node's result may take the place of if they die
  // there. `kept`: results that reach the root.
  std::vector<std::vector<int>> buffers, readers, overwrites;
  std::vector<bool> kept;

  void AddEdge(int before, int after) {
    successors[before].push_back(after);
    ++predecessor_count[after];
  }
};

// Makes readers of a value precede an in-place update of it unless they depend on the update; likewise readers of a
// loop's state precede the computation of that state's next value.
void OrderReadersFirst(Graph* graph, const absl::flat_hash_map<const HloInstruction*, int>& number) {
  const int n = static_cast<int>(graph->nodes.size());
  std::vector<int> seen(n, -1);
  int stamp = 0;
  int budget = 50 * n + 10000;  // steps of reachability search, so that this stays linear
  const auto readers_before = [&](const HloInstruction* target, int update) {
    for (const HloInstruction* reader : target->users()) {
      const int r = number.at(reader);
      if (r == update || budget <= 0 || (IsForwarding(reader) && reader->shape().IsTuple())) continue;
      // Adding reader -> update makes a cycle iff the reader is reachable from the update. A sweep per reader: each
      // edge added changes what is reachable.
      bool reachable = false;
      std::vector<int> work = {update};
      seen[update] = ++stamp;
      while (!work.empty() && !reachable) {
        const int at = work.back();
        work.pop_back();
        for (int next : graph->successors[at]) {
          --budget;
          if (next == r) {
            reachable = true;
            break;
          }
          if (seen[next] != stamp) {
            seen[next] = stamp;
            work.push_back(next);
          }
        }
      }
      if (!reachable) graph->AddEdge(r, update);
    }
  };
  for (int u = 0; u < n; ++u) {
    const HloInstruction* update = graph->nodes[u];
    if (update->opcode() == HloOpcode::kDynamicUpdateSlice || update->opcode() == HloOpcode::kScatter) {
      readers_before(update->operand(0), u);
    } else if (update->opcode() == HloOpcode::kFusion) {
      if (const HloInstruction* p = InPlaceUpdateParameter(update->fused_computation())) {
        readers_before(update->operand(p->parameter_number()), u);
      }
    }
  }
  const HloComputation* computation = graph->nodes.front()->parent();
  const HloInstruction* root = computation->root();
  const bool may_be_loop_body = !computation->IsEntry() && computation->parameter_count() == 1 &&
                                root->opcode() == HloOpcode::kTuple &&
                                SameShape(root->shape(), computation->parameter(0)->shape());
  if (!may_be_loop_body) return;
  for (const HloInstruction* state : computation->parameter(0)->users()) {
    if (state->opcode() != HloOpcode::kGetTupleElement || !state->shape().IsArray()) continue;
    const HloInstruction* next = root->operand(state->tuple_index());
    while (IsForwarding(next) && next->operand_count() == 1 && next->shape().IsArray() &&
           next->operand(0)->shape().IsArray()) {
      next = next->operand(0);
    }
    if (next->opcode() == HloOpcode::kGetTupleElement || next->opcode() == HloOpcode::kParameter) continue;
    readers_before(state, number.at(next));
  }
}

// The buffers that leaves of the instruction's result may take the place of; buffer_of(operand) is -1 for none.
template <typename BufferOf>
std::vector<int> Overwrites(const HloInstruction* instruction, BufferOf buffer_of) {
  std::vector<int> found;
  const int64_t leaves = instruction->shape().LeafCount();
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    for (int64_t operand = 0; operand < instruction->operand_count(); ++operand) {
      const int buffer = instruction->operand(operand)->shape().IsArray() ? buffer_of(operand) : -1;
      if (buffer < 0 || std::find(found.begin(), found.end(), buffer) != found.end()) continue;
      if (!MayOverwrite(instruction, operand, leaf)) continue;
      found.push_back(buffer);
      break;
    }
  }
  return found;
}

Graph BuildGraph(const HloComputation* computation, const CalleePeaks& peaks) {
  Graph graph;
  graph.nodes = computation->PostOrder();
  const int n = static_cast<int>(graph.nodes.size());
  absl::flat_hash_map<const HloInstruction*, int> number;
  number.reserve(n);
  for (int i = 0; i < n; ++i) number[graph.nodes[i]] = i;
  graph.successors.resize(n);
  graph.predecessor_count.resize(n);
  graph.buffers.resize(n);
  graph.readers.resize(n);
  graph.overwrites.resize(n);
  graph.kept.resize(n);
  std::vector<std::vector<int>> sources(n);  // of each node: the nodes whose results its result consists of
  int last_effect = -1;
  for (int i = 0; i < n; ++i) {
    const HloInstruction* instruction = graph.nodes[i];
    graph.bytes.push_back(ResultBytes(instruction));
    graph.callee_bytes.push_back(CalleeBytes(instruction, peaks));
    std::vector<int> before;
    for (const HloInstruction* operand : instruction->operands()) before.push_back(number.at(operand));
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    std::vector<int>& read = graph.buffers[i];
    for (int b : before) {
      graph.AddEdge(b, i);
      read.insert(read.end(), sources[b].begin(), sources[b].end());
    }
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const HloInstruction* control : instruction->control_predecessors()) graph.AddEdge(number.at(control), i);
    if (instruction->HasSideEffect()) {
      if (last_effect >= 0) graph.AddEdge(last_effect, i);
      last_effect = i;
    }
    if (IsForwarding(instruction) || instruction->opcode() == HloOpcode::kWhile) {
      // A tuple's sources may be many and be read by many elements; get-tuple-element of a tuple is rare by now.
      sources[i] = read;
    } else {
      sources[i] = {i};
    }
    if (!IsForwarding(instruction)) {
      for (int b : read) graph.readers[b].push_back(i);
      graph.overwrites[i] = Overwrites(instruction, [&](int64_t operand) {
        const std::vector<int>& of = sources[number.at(instruction->operand(operand))];
        return of.size() == 1 && graph.bytes[of[0]] > 0 ? of[0] : -1;
      });
    }
  }
  for (int s : sources[number.at(computation->root())]) graph.kept[s] = true;
  OrderReadersFirst(&graph, number);
  return graph;
}

int64_t Peak(const Graph& graph, const std::vector<int>& order) {
  std::vector<int> left(graph.nodes.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = static_cast<int>(graph.readers[i].size());
  int64_t live = 0, peak = 0;
  for (int i : order) {
    int64_t freed = 0, overwritten = 0;
    if (!IsForwarding(graph.nodes[i])) {
      for (int b : graph.buffers[i]) {
        if (--left[b] == 0 && !graph.kept[b]) freed += graph.bytes[b];
      }
      for (int b : graph.overwrites[i]) {
        if (left[b] == 0 && !graph.kept[b]) overwritten += graph.bytes[b];
      }
    }
    live += graph.bytes[i];
    peak = std::max(peak, live - std::min(overwritten, graph.bytes[i]) + graph.callee_bytes[i]);
    live -= freed;
    if (left[i] == 0 && !graph.kept[i] && graph.readers[i].empty()) live -= graph.bytes[i];
  }
  return peak;
}

// Greedy: of the ready instructions takes the one that frees most bytes net; among equals the earliest in post-order.
// A node's gain changes only when it becomes the last reader of a buffer, which is when it is queued again.
std::vector<int> ListOrder(const Graph& graph) {
  const int n = static_cast<int>(graph.nodes.size());
  std::vector<int> waiting = graph.predecessor_count;
  std::vector<int> left(n);
  for (int i = 0; i < n; ++i) left[i] = static_cast<int>(graph.readers[i].size());
  std::vector<bool> done(n);
  const auto gain = [&](int i) {
    int64_t freed = 0;
    if (!IsForwarding(graph.nodes[i])) {
      for (int b : graph.buffers[i]) {
        if (left[b] == 1 && !graph.kept[b]) freed += graph.bytes[b];
      }
    }
    return freed - graph.bytes[i];
  };
  using Entry = std::pair<int64_t, int>;  // gain, -index
  std::priority_queue<Entry> ready;
  for (int i = 0; i < n; ++i) {
    if (waiting[i] == 0) ready.push({gain(i), -i});
  }
  std::vector<int> order;
  order.reserve(n);
  while (!ready.empty()) {
    const auto [queued_gain, negated] = ready.top();
    ready.pop();
    const int i = -negated;
    if (done[i]) continue;
    done[i] = true;
    order.push_back(i);
    if (!IsForwarding(graph.nodes[i])) {
      for (int b : graph.buffers[i]) {
        if (--left[b] != 1) continue;
        for (int r : graph.readers[b]) {
          if (!done[r] && waiting[r] == 0) ready.push({gain(r), -r});
        }
      }
    }
    for (int next : graph.successors[i]) {
      if (--waiting[next] == 0) ready.push({gain(next), -next});
    }
  }
  return order;
}

// Post-order again, but under the edges that were added.
std::vector<int> InOrder(const Graph& graph) {
  const int n = static_cast<int>(graph.nodes.size());
  std::vector<int> waiting = graph.predecessor_count;
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < n; ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<int> order;
  order.reserve(n);
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int next : graph.successors[i]) {
      if (--waiting[next] == 0) ready.push(next);
    }
  }
  return order;
}

// The order with each instruction that reads constants and parameters at most (a broadcast scalar, say) right before
// the first one that needs it: its result lives shorter, and nothing lives longer.
std::vector<int> SinkProducers(const Graph& graph, const std::vector<int>& order) {
  const int n = static_cast<int>(graph.nodes.size());
  std::vector<std::vector<int>> predecessors(n);
  for (int i = 0; i < n; ++i) {
    for (int next : graph.successors[i]) predecessors[next].push_back(i);
  }
  const auto sinks = [&](int i) {
    const HloInstruction* instruction = graph.nodes[i];
    if (instruction->HasSideEffect() || !InlineCallees(instruction).empty()) return false;
    const auto takes_no_room = [&](int b) { return graph.bytes[b] == 0; };
    return IsForwarding(instruction) || std::all_of(graph.buffers[i].begin(), graph.buffers[i].end(), takes_no_room);
  };
  std::vector<bool> done(n);
  std::vector<int> sunk, work;
  sunk.reserve(n);
  // Twice: those that nothing needs come at the end.
  for (const bool all : {false, true}) {
    for (int i : order) {
      if (done[i] || (!all && sinks(i))) continue;
      work.push_back(i);
      while (!work.empty()) {
        const int at = work.back();
        const size_t before = work.size();
        for (int p : predecessors[at]) {
          if (!done[at] && !done[p]) work.push_back(p);
        }
        if (work.size() != before) continue;
        work.pop_back();
        if (!done[at]) sunk.push_back(at);
        done[at] = true;
      }
    }
  }
  return sunk;
}

// Whether each of `nodes`, a computation's, comes in `order` after its operands, control predecessors, and side effects
// before its own.
bool IsOrderOf(const std::vector<HloInstruction*>& nodes, const std::vector<int>& order) {
  const int n = static_cast<int>(nodes.size());
  absl::flat_hash_map<const HloInstruction*, int> place;
  place.reserve(n);
  int last_effect = -1;
  for (int at : order) {
    if (at < 0 || at >= n) return false;
    const HloInstruction* instruction = nodes[at];
    const auto is_done = [&](const HloInstruction* before) { return place.contains(before); };
    if (!std::all_of(instruction->operands().begin(), instruction->operands().end(), is_done)) return false;
    const auto& control = instruction->control_predecessors();
    if (!std::all_of(control.begin(), control.end(), is_done)) return false;
    if (instruction->HasSideEffect()) {
      if (at < last_effect) return false;
      last_effect = at;
    }
    if (!place.try_emplace(instruction, at).second) return false;
  }
  return static_cast<int>(order.size()) == n;
}

// Takes a number down, or gives the one that was taken down in its place.
int64_t Number(Choices* choices, int64_t n) { return choices == nullptr ? n : choices->Any(n); }

// The order that another program of the same form has; false if there is none.
bool ReplayOrder(HloModule* module, HloComputation* computation) {
  const std::vector<HloInstruction*> nodes = computation->PostOrder();
  std::vector<int> order;
  order.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) order.push_back(static_cast<int>(Number(Choices::current(), -1)));
  if (!IsOrderOf(nodes, order)) return false;
  auto& sequence = module->schedule()[computation];
  sequence.reserve(order.size());
  for (int i : order) sequence.push_back(nodes[i]);
  return true;
}

}  // namespace

absl::Status ScheduleModule(HloModule* module) {
  module->schedule().clear();
  std::vector<HloComputation*> computations = EmittedComputations(module);
  std::reverse(computations.begin(), computations.end());  // callees first: their peaks count in their callers
  CalleePeaks peaks;
  const bool replays = ForAllSizes() && Choices::current()->replays();
  for (HloComputation* computation : computations) {
    if (replays && !Choices::current()->failed()) {
      if (ReplayOrder(module, computation)) continue;
      Choices::current()->Fail();
    }
    // The order is all that is chosen here.
    Choices* const choices = Choices::current();
    const ChoicesScope natural(nullptr);
    const Graph graph = BuildGraph(computation, peaks);
    std::vector<int> list = ListOrder(graph), plain = InOrder(graph);
    if (list.size() != graph.nodes.size() || plain.size() != graph.nodes.size()) {
      return absl::InternalError(absl::StrCat("computation ", computation->name(), " has a dependency cycle"));
    }
    std::vector<int> sunk_plain = SinkProducers(graph, plain), sunk_list = SinkProducers(graph, list);
    const std::vector<int> orders[] = {std::move(plain), std::move(list), std::move(sunk_plain), std::move(sunk_list)};
    const std::vector<int>* best = nullptr;
    int64_t lowest = 0;
    for (const std::vector<int>& order : orders) {
      const int64_t peak = Peak(graph, order);
      if (best != nullptr && peak >= lowest) continue;
      best = &order;
      lowest = peak;
    }
    peaks[computation] = lowest;
    auto& sequence = module->schedule()[computation];
    sequence.reserve(best->size());
    for (int i : *best) sequence.push_back(graph.nodes[Number(choices, i)]);
  }
  return absl::OkStatus();
}

absl::Status VerifySchedule(const HloModule* module) {
  for (const HloComputation* computation : EmittedComputations(module)) {
    auto it = module->schedule().find(computation);
    if (it == module->schedule().end()) {
      return absl::InternalError(absl::StrCat("computation ", computation->name(), " has no schedule"));
    }
    absl::flat_hash_set<const HloInstruction*> done;
    for (const HloInstruction* instruction : it->second) {
      const auto check = [&](const HloInstruction* before) -> absl::Status {
        if (done.contains(before)) return absl::OkStatus();
        return absl::InternalError(absl::StrCat("schedule of ", computation->name(), ": ", instruction->name(),
                                                " comes before ", before->name(), ", which it needs"));
      };
      for (const HloInstruction* operand : instruction->operands()) XC_RETURN_IF_ERROR(check(operand));
      for (const HloInstruction* control : instruction->control_predecessors()) XC_RETURN_IF_ERROR(check(control));
      if (!done.insert(instruction).second) {
        return absl::InternalError(
            absl::StrCat("schedule of ", computation->name(), " has ", instruction->name(), " twice"));
      }
    }
    if (static_cast<int64_t>(done.size()) != computation->instruction_count()) {
      return absl::InternalError(absl::StrCat("schedule of ", computation->name(), " has ", done.size(), " of ",
                                              computation->instruction_count(), " instructions"));
    }
  }
  return absl::OkStatus();
}

}  // namespace xc
