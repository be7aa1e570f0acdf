// Fusion of one computation: places each instruction with its users, joins fusions that share a loop, builds them.
#include "compiler/fuse/fuse.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "compiler/fuse/fusion_group.h"
#include "compiler/fuse/fusion_record.h"
#include "compiler/make.h"
#include "compiler/memory/in_place.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// What a kernel costs beyond its work, in additions, where it has so few elements that its code may stand where it
// would be called (TargetInfo::inlines_kernels).
constexpr int64_t kSmallKernelCost = 32, kSmallKernel = 64;
constexpr size_t kMaxResults = 12;
// Copies of instructions, in fusions beyond the first that computes them, that a computation may get besides as many as
// it has instructions: where each value is used twice, copies of copies would be many times what there is to compute.
constexpr int64_t kMinCopies = 200;

// Several fusion groups that become one fusion.
struct Unit {
  std::vector<FusionGroup*> groups;  // by the order of their roots
  absl::flat_hash_set<const HloInstruction*> members;
  absl::flat_hash_set<const HloInstruction*> inputs;
  int64_t instruction_count() const {
    return members.size() - std::count_if(members.begin(), members.end(), IsCodeConstant);
  }
  bool merged_away = false;
  int first = 0;  // order of the first root
};

class ComputationFuser {
 public:
  ComputationFuser(HloComputation* computation, PassContext& context)
      : computation_(computation), context_(context), order_(computation->PostOrder()) {
    for (size_t i = 0; i < order_.size(); ++i) number_[order_[i]] = static_cast<int>(i);
  }

  absl::StatusOr<bool> Run() {
    const bool recorded = ForAllSizes() && MayRecordFusions(*computation_);
    std::vector<FusionRecord> fusions;
    if (recorded && Choices::current()->replays()) {
      fusions = ReplayFusions(order_, context_.target);
    } else {
      {
        const ChoicesScope own(recorded ? nullptr : Choices::current());
        XC_ASSIGN_OR_RETURN(fusions, FindFusions());
      }
      if (recorded) RecordFusions(order_, fusions);
    }
    for (const FusionRecord& fusion : fusions) {
      XC_RETURN_IF_ERROR(context_.CheckDeadline());
      Build(fusion);
    }
    if (!fusions.empty()) computation_->RemoveDead();
    return !fusions.empty();
  }

 private:
  absl::StatusOr<std::vector<FusionRecord>> FindFusions() {
    max_copies_ = kMinCopies + static_cast<int64_t>(order_.size());
    FindTreeCosts();
    for (size_t i = order_.size(); i-- > 0;) {
      XC_RETURN_IF_ERROR(context_.CheckDeadline());
      Place(order_[i]);
    }
    MakeUnits();
    if (context_.target.multi_output_fusion) XC_RETURN_IF_ERROR(MergeUnits());
    std::vector<FusionRecord> fusions;
    for (const Unit& unit : units_) {
      if (unit.merged_away || unit.members.size() < 2) continue;
      FusionRecord& fusion = fusions.emplace_back();
      for (const HloInstruction* member : unit.members) fusion.members.push_back(number_.at(member));
      for (const FusionGroup* group : unit.groups) fusion.roots.push_back(number_.at(group->root()));
      std::sort(fusion.members.begin(), fusion.members.end());
      std::sort(fusion.roots.begin(), fusion.roots.end());
    }
    return fusions;
  }

  static int64_t Elements(const HloInstruction* i) { return i->shape().IsArray() ? i->shape().ElementCount() : 0; }

  // Moves the instruction into all fusions that read it, or starts one of its own. Users have been placed before.
  void Place(HloInstruction* producer) {
    bool partly = false;
    if (CanBeFused(producer, context_.target) && producer != computation_->root() && !producer->IsDead()) {
      std::vector<FusionGroup*> groups;
      bool others = false;
      for (const HloInstruction* user : producer->users()) {
        auto it = groups_of_.find(user);
        if (it == groups_of_.end()) {
          others = true;
          continue;
        }
        for (FusionGroup* group : it->second) {
          if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
        }
        // A user that is computed for itself besides being fused reads the producer as well.
        others |= alone_.contains(user);
      }
      std::sort(groups.begin(), groups.end(), [](auto* a, auto* b) { return a->id() < b->id(); });
      std::vector<std::vector<Evaluation>> evaluations;
      std::vector<bool> accepted;
      int64_t times = 0;
      bool all = !groups.empty() && !others;
      for (FusionGroup* group : groups) {
        evaluations.push_back(group->EvaluationsOf(producer));
        const Decision decision = group->CanAdd(producer, evaluations.back());
        accepted.push_back(static_cast<bool>(decision));
        all &= accepted.back();
        for (const Evaluation& e : evaluations.back()) {
          if (__builtin_add_overflow(times, e.times, &times)) times = std::numeric_limits<int64_t>::max();
        }
      }
      const int64_t copies = ElementCost(producer, context_.target) == 0 ? 0 : static_cast<int64_t>(groups.size()) - 1;
      const bool worth = all && copies_ + copies <= max_copies_ && ChooseAny(IsWorth(producer, times, groups.size()));
      if (worth) copies_ += copies;
      // What costs nothing to compute is never read from memory where it can be fused.
      const bool free_leaf = producer->opcode() == HloOpcode::kIota || producer->IsConstant() ||
                             (producer->opcode() == HloOpcode::kBroadcast && producer->operand(0)->shape().IsScalar());
      if (worth || free_leaf) {
        bool everywhere = all;
        for (size_t g = 0; g < groups.size(); ++g) {
          if (!accepted[g]) continue;
          groups[g]->Add(producer, std::move(evaluations[g]));
          groups_of_[producer].push_back(groups[g]);
          partly = true;
        }
        if (everywhere) return;
      }
    }
    if (partly) {
      alone_.insert(producer);
      return;
    }
    if (CanBeFusionRoot(producer, context_.target)) {
      groups_.push_back(std::make_unique<FusionGroup>(producer, static_cast<int>(groups_.size()), context_.target));
      groups_of_[producer].push_back(groups_.back().get());
    }
  }

  // Whether what is computed again costs less than the memory traffic that goes away.
  bool IsWorth(const HloInstruction* producer, int64_t times, size_t readers) const {
    const int64_t cost = ElementCost(producer, context_.target);
    const int64_t elements = Elements(producer);
    // Scalars are taken out of loops by the code generator, unless they are calls.
    if (producer->shape().IsScalar()) return cost <= 8 && producer->opcode() != HloOpcode::kReduce;
    if (times <= elements || cost == 0) return true;
    // Elements of one byte cost more than their bytes, for they are widened and narrowed.
    const TargetInfo& target = context_.target;
    const double traffic = static_cast<double>(std::max(producer->shape().ByteSize(), 2 * elements)) *
                           static_cast<double>(1 + readers) / 4 * static_cast<double>(target.memory_cost);
    const double tree = TreeCost(producer), again = static_cast<double>(times) / static_cast<double>(elements) - 1;
    const bool small = target.inlines_kernels && elements <= kSmallKernel;
    const double overhead = static_cast<double>(small ? kSmallKernelCost : target.kernel_cost);
    // What only the producer needs is computed again with it, wherever the line is drawn: a long chain pays as a whole,
    // though simple operations in a row cost less than one alone.
    constexpr double kChain = 4;
    return again * static_cast<double>(elements * cost) <= traffic + overhead &&
           again * tree <= kChain * traffic + overhead;
  }

  // The work, in additions, of computing the producer once with all that is fused with it and that nothing else reads.
  double TreeCost(const HloInstruction* producer) const { return tree_cost_[number_.at(producer)]; }

  void FindTreeCosts() {
    tree_cost_.resize(order_.size());
    for (size_t n = 0; n < order_.size(); ++n) {
      const HloInstruction* i = order_[n];
      double cost = static_cast<double>(Elements(i)) * static_cast<double>(ElementCost(i, context_.target));
      for (const HloInstruction* operand : i->operands()) {
        if (operand->user_count() != 1 || operand->opcode() == HloOpcode::kReduce) continue;
        if (CanBeFused(operand, context_.target)) cost += TreeCost(operand);
      }
      tree_cost_[n] = cost;
    }
  }

  void MakeUnits() {
    for (auto& group : groups_) {
      Unit unit;
      unit.groups = {group.get()};
      unit.members.insert(group->members().begin(), group->members().end());
      for (const HloInstruction* input : group->inputs()) unit.inputs.insert(input);
      unit.first = number_.at(group->root());
      units_.push_back(std::move(unit));
    }
    std::sort(units_.begin(), units_.end(), [](const Unit& a, const Unit& b) { return a.first < b.first; });
    for (size_t u = 0; u < units_.size(); ++u) {
      for (const HloInstruction* member : units_[u].members) units_of_[member].push_back(static_cast<int>(u));
    }
  }

  static bool IsRowReduce(const HloInstruction* reduce) {
    const int64_t rank = reduce->operand(0)->shape().rank(), count = reduce->dimensions().size();
    for (int64_t d : reduce->dimensions()) {
      if (d < rank - count) return false;
    }
    return true;
  }

  Decision CanShareLoop(const Unit& a, const Unit& b) const {
    const FusionGroup *x = a.groups[0], *y = b.groups[0];
    for (const Unit* unit : {&a, &b}) {
      for (const FusionGroup* group : unit->groups) {
        const HloInstruction* root = group->root();
        if (!root->shape().IsArray()) return Decision::No("a root has several results");
        if (root->opcode() == HloOpcode::kDynamicUpdateSlice) return Decision::No("a root is updated in place");
        if (root->opcode() == HloOpcode::kConcatenate) return Decision::No("a root joins arrays");
      }
    }
    if (!ChooseSafe(SameDims(x->root()->shape(), y->root()->shape())))
      return Decision::No("the results differ in shape");
    if (x->has_reduce() != y->has_reduce()) return Decision::No("only one of them reduces");
    if (x->has_reduce()) {
      if (!ChooseSafe(SameDims(x->reduce()->operand(0)->shape(), y->reduce()->operand(0)->shape())) ||
          x->reduce()->dimensions() != y->reduce()->dimensions() || !IsRowReduce(x->reduce())) {
        return Decision::No("they reduce differently");
      }
    }
    if (a.groups.size() + b.groups.size() > kMaxResults)
      return Decision::No("the fusion has its full number of results");
    if (a.instruction_count() + b.instruction_count() > context_.target.max_fused_instructions) {
      return Decision::No("the fusion has its full number of instructions");
    }
    int64_t inputs = a.inputs.size();
    for (const HloInstruction* input : b.inputs) inputs += !a.inputs.contains(input);
    if (inputs > context_.target.max_fusion_parameters) return Decision::No("it has too many operands");
    return Decision::Yes();
  }

  // Bytes that both read, of arrays as large as the results at least.
  int64_t SharedBytes(const Unit& a, const Unit& b) const {
    int64_t shared = 0;
    const int64_t elements = Elements(a.groups[0]->root());
    const auto count = [&](const HloInstruction* value) {
      if (value->shape().IsArray() && Elements(value) >= elements && elements > 1) shared += value->shape().ByteSize();
    };
    for (const HloInstruction* input : b.inputs) {
      if (a.inputs.contains(input)) count(input);
    }
    for (const FusionGroup* group : a.groups) {
      if (b.inputs.contains(group->root())) count(group->root());
    }
    return shared;
  }

  int64_t InputBytes(const Unit& unit) const {
    int64_t bytes = 0;
    for (const HloInstruction* input : unit.inputs) bytes += input->shape().IsArray() ? input->shape().ByteSize() : 0;
    return bytes;
  }

  // Whether `b` reads a result of `a` only at the results' own position.
  bool DirectReadsInPosition(const Unit& a, const Unit& b) const {
    for (const FusionGroup* from : a.groups) {
      if (!b.inputs.contains(from->root())) continue;
      for (const FusionGroup* to : b.groups) {
        for (const Evaluation& e : to->EvaluationsOf(from->root())) {
          if (e.position != 1) return false;
        }
      }
    }
    return true;
  }

  int LastRoot(const Unit& unit) const {
    int last = 0;
    for (const FusionGroup* group : unit.groups) last = std::max(last, number_.at(group->root()));
    return last;
  }

  // The last number, in the order of the computation, of what the unit can depend on: that of its last root, or of the
  // last root of a unit of several that has another root before that, and so on.
  int LastNeeded(const Unit& unit) const {
    int last = LastRoot(unit);
    for (int u : several_) {  // in the order of their first roots
      if (units_[u].first > last) break;
      last = std::max(last, LastRoot(units_[u]));
    }
    return last;
  }

  // Whether something outside both depends on `a` and is needed by `b`. Gives up, with yes, after many steps.
  bool PathAround(int a, int b) {
    const Unit& target = units_[b];
    const int last = LastNeeded(target);
    absl::flat_hash_set<int> seen_units = {a, b};
    // Values outside both that depend on `a`: what users of its results become part of. Users within `b` alone read
    // directly.
    std::vector<const HloInstruction*> outside;
    for (const FusionGroup* group : units_[a].groups) {
      for (const HloInstruction* user : group->root()->users()) {
        if (--path_budget_ < 0) return true;
        auto it = units_of_.find(user);
        if (it == units_of_.end() || alone_.contains(user)) outside.push_back(user);
        if (it == units_of_.end()) continue;
        for (int unit : it->second) {
          const int u = Find(unit);
          if (!seen_units.insert(u).second) continue;
          for (const FusionGroup* other : units_[u].groups) outside.push_back(other->root());
        }
      }
    }
    absl::flat_hash_set<const HloInstruction*> visited;
    while (!outside.empty()) {
      const HloInstruction* at = outside.back();
      outside.pop_back();
      if (!visited.insert(at).second) continue;
      if (--path_budget_ < 0) return true;
      if (target.inputs.contains(at)) return true;
      for (const HloInstruction* successor : at->control_successors()) outside.push_back(successor);
      for (const HloInstruction* user : at->users()) {
        if (target.members.contains(user)) return true;
        auto it = units_of_.find(user);
        if (it == units_of_.end() || alone_.contains(user)) {
          if (number_.at(user) <= last) outside.push_back(user);
          if (it == units_of_.end()) continue;
        }
        for (int unit : it->second) {
          const int u = Find(unit);
          if (u == b) return true;
          if (u == a) continue;
          if (!seen_units.insert(u).second) continue;
          for (const FusionGroup* group : units_[u].groups) outside.push_back(group->root());
        }
      }
    }
    return false;
  }

  int Find(int unit) const {
    while (merged_into_.contains(unit)) unit = merged_into_.at(unit);
    return unit;
  }

  absl::Status MergeUnits() {
    // Candidates: units that read one array, or where one reads the other's result.
    absl::flat_hash_map<const HloInstruction*, std::vector<int>> readers;
    for (size_t u = 0; u < units_.size(); ++u) {
      for (const HloInstruction* input : units_[u].inputs) readers[input].push_back(static_cast<int>(u));
    }
    for (const HloInstruction* value : order_) {
      auto it = readers.find(value);
      if (it == readers.end() || !value->shape().IsArray() || Elements(value) <= 1) continue;
      XC_RETURN_IF_ERROR(context_.CheckDeadline());
      std::vector<int> candidates = it->second;
      if (auto own = units_of_.find(value);
          own != units_of_.end() && own->second.size() == 1 && !alone_.contains(value)) {
        candidates.push_back(own->second[0]);
      }
      std::sort(candidates.begin(), candidates.end());
      if (candidates.size() > 32) candidates.resize(32);
      for (size_t i = 0; i < candidates.size(); ++i) {
        for (size_t j = i + 1; j < candidates.size(); ++j) {
          const int a = Find(candidates[i]), b = Find(candidates[j]);
          if (a != b) TryMerge(std::min(a, b), std::max(a, b));
        }
      }
    }
    if (!context_.target.inlines_kernels) MergeSmallUnits();
    return absl::OkStatus();
  }

  // Loops over one index space that do less than it costs to start them.
  void MergeSmallUnits() {
    constexpr size_t kTries = 8;
    absl::flat_hash_map<std::vector<int64_t>, std::vector<int>> by_dims;
    for (size_t u = 0; u < units_.size(); ++u) {
      const FusionGroup& group = *units_[u].groups[0];
      if (units_[u].merged_away || group.has_reduce() || !group.root()->shape().IsArray()) continue;
      double work = 0;
      for (const FusionGroup* g : units_[u].groups) work += TreeCost(g->root());
      if (work > static_cast<double>(context_.target.kernel_cost)) continue;
      const auto dims = group.root()->shape().dims();
      std::vector<int>& others = by_dims[std::vector<int64_t>(dims.begin(), dims.end())];
      bool merged = false;
      for (size_t o = others.size(); o-- > 0 && others.size() - o <= kTries && !merged;) {
        merged = TryMerge(others[o], static_cast<int>(u), /*unrelated=*/true);
      }
      if (!merged) others.push_back(static_cast<int>(u));
    }
  }

  bool TryMerge(int a, int b, bool unrelated = false) {
    Unit &x = units_[a], &y = units_[b];
    if (!CanShareLoop(x, y)) return false;
    if (!unrelated) {
      const int64_t shared = SharedBytes(x, y);
      if (ChooseAny(shared == 0 || shared * 3 < std::min(InputBytes(x), InputBytes(y)))) return false;
    }
    if (!DirectReadsInPosition(x, y) || !DirectReadsInPosition(y, x)) return false;
    if (x.groups[0]->has_reduce()) {
      for (const FusionGroup* group : x.groups) {
        if (y.inputs.contains(group->root())) return false;
      }
      for (const FusionGroup* group : y.groups) {
        if (x.inputs.contains(group->root())) return false;
      }
    }
    if (PathAround(a, b) || PathAround(b, a)) return false;
    for (FusionGroup* group : y.groups) x.groups.push_back(group);
    x.members.insert(y.members.begin(), y.members.end());
    x.inputs.insert(y.inputs.begin(), y.inputs.end());
    for (const FusionGroup* group : x.groups) x.inputs.erase(group->root());
    y.merged_away = true;
    merged_into_[b] = a;
    several_.insert(a);
    several_.erase(b);
    context_.Count("fuse.results_merged");
    return true;
  }

  void Build(const FusionRecord& fusion_record) {
    std::vector<HloInstruction*> members, roots;
    for (int n : fusion_record.members) members.push_back(order_[n]);
    for (int n : fusion_record.roots) roots.push_back(order_[n]);
    const bool several = roots.size() > 1;
    bool reduces = false;
    HloModule* module = computation_->module();
    const std::string name = absl::StrCat(OpcodeName(roots.back()->opcode()), "_fusion");
    HloComputation* fused = module->AddComputation(absl::StrCat("fused_", OpcodeName(roots.back()->opcode())));
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> map;
    std::vector<HloInstruction*> inputs;
    for (HloInstruction* member : members) {
      std::vector<HloInstruction*> operands;
      for (HloInstruction* operand : member->operands()) {
        HloInstruction*& inner = map[operand];
        if (inner == nullptr) {
          inner = fused->Add(HloInstruction::CreateParameter(static_cast<int64_t>(inputs.size()), operand->shape(),
                                                             absl::StrCat("p", inputs.size())));
          inputs.push_back(operand);
        }
        operands.push_back(inner);
      }
      map[member] = fused->Add(member->CloneWith(member->shape(), operands));
      reduces |= member->opcode() == HloOpcode::kReduce;
    }
    std::vector<HloInstruction*> inner_roots;
    for (HloInstruction* root : roots) inner_roots.push_back(map.at(root));
    fused->set_root(several ? make::Tuple(fused, inner_roots) : inner_roots[0]);
    auto owned = HloInstruction::Create(HloOpcode::kFusion, fused->root()->shape(), inputs);
    owned->set_name(name);
    HloInstruction* fusion = computation_->Add(std::move(owned));
    fusion->set_attr<AttrKind::kFusionKind>(reduces ? FusionKind::kInput : FusionKind::kLoop);
    fusion->AddCalledComputation(fused);
    fused->set_is_fusion();
    if (const Metadata* metadata = roots.back()->FindAttr<AttrKind::kMetadata>()) {
      fusion->set_attr<AttrKind::kMetadata>(*metadata);
    }
    for (size_t r = 0; r < roots.size(); ++r) {
      HloInstruction* result = several ? make::GetTupleElement(fusion, static_cast<int64_t>(r)) : fusion;
      roots[r]->ReplaceAllUsesWith(result);
    }
    context_.Count("fuse.fusions");
  }

  HloComputation* computation_;
  PassContext& context_;
  const std::vector<HloInstruction*> order_;
  absl::flat_hash_map<const HloInstruction*, int> number_;
  std::vector<std::unique_ptr<FusionGroup>> groups_;
  absl::flat_hash_map<const HloInstruction*, std::vector<FusionGroup*>> groups_of_;
  absl::flat_hash_set<const HloInstruction*> alone_;  // computed for itself although some fusions compute it too
  std::vector<Unit> units_;
  absl::flat_hash_map<const HloInstruction*, std::vector<int>> units_of_;
  absl::flat_hash_map<int, int> merged_into_;
  absl::btree_set<int> several_;   // units that were merged, by the order of their first roots
  std::vector<double> tree_cost_;  // by number
  int64_t path_budget_ = 2000000;
  int64_t copies_ = 0, max_copies_ = 0;
};

}  // namespace

absl::StatusOr<bool> FuseInstructions(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : EmittedComputations(module)) {
    XC_RETURN_IF_ERROR(context.CheckDeadline());
    XC_ASSIGN_OR_RETURN(const bool here, ComputationFuser(computation, context).Run());
    changed |= here;
  }
  return changed;
}

}  // namespace xc
