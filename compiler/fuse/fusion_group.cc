// How often and where a fusion evaluates its members, and what that allows to be added.
#include "compiler/fuse/fusion_group.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "compiler/cost_analysis.h"
#include "compiler/memory/in_place.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

// Code for more positions than this is not worth what it saves.
constexpr size_t kMaxPositions = 8;
constexpr int64_t kMaxCodeSize = 400;

bool KeepsPosition(const HloInstruction* i) {
  return i->IsElementwise() || i->opcode() == HloOpcode::kReshape || i->opcode() == HloOpcode::kBitcast ||
         i->opcode() == HloOpcode::kCopy || i->opcode() == HloOpcode::kTuple;
}

// Whether neighbours in the result's last dimension are neighbours in the operand's: whole rows are read as they lie,
// and an index is computed once for each.
bool GathersRows(const HloInstruction* gather) {
  const GatherDims& dims = gather->gather_dims();
  const Shape &from = gather->operand(0)->shape(), &to = gather->shape();
  if (from.rank() == 0 || to.rank() == 0 || dims.offset_dims.empty() || dims.offset_dims.back() != to.rank() - 1) {
    return false;
  }
  for (const Int64List* single : {&dims.collapsed_slice_dims, &dims.operand_batching_dims}) {
    if (std::find(single->begin(), single->end(), from.rank() - 1) != single->end()) return false;
  }
  return to.dim(to.rank() - 1) == from.dim(from.rank() - 1);
}

// Whether neighbours in the result's last dimension come from operand elements that are not neighbours.
bool MovesMinorDimension(const HloInstruction* i) {
  const int64_t rank = i->shape().rank();
  switch (i->opcode()) {
    case HloOpcode::kTranspose: {
      // The last dimension of more than one element must stay last.
      int64_t last = rank - 1;
      while (last > 0 && i->shape().dim(last) == 1) --last;
      int64_t source_last = rank - 1;
      while (source_last > 0 && i->operand(0)->shape().dim(source_last) == 1) --source_last;
      return rank > 0 && i->dimensions()[last] != source_last;
    }
    case HloOpcode::kSlice:
      return rank > 0 && i->slice().strides[rank - 1] != 1;
    case HloOpcode::kReverse:
      return std::find(i->dimensions().begin(), i->dimensions().end(), rank - 1) != i->dimensions().end();
    case HloOpcode::kGather:
      return !GathersRows(i);
    default:
      return false;
  }
}

// Whether neighbours in a transpose's last dimension lie farther apart in its operand than elements that are picked out
// of whole vectors.
bool TurnsRows(const HloInstruction* i) {
  constexpr int64_t kNear = 11;
  if (i->opcode() != HloOpcode::kTranspose || !MovesMinorDimension(i)) return false;
  int64_t apart = 1;
  for (int64_t d = i->dimensions().back() + 1; d < i->shape().rank(); ++d) apart *= i->operand(0)->shape().dim(d);
  return apart > kNear;
}

// Whether the operand of a gather is a concatenation of the indices' components: each is read where it comes from.
bool JoinsIndices(const HloInstruction* gather, int64_t operand) {
  if (gather->opcode() != HloOpcode::kGather || operand != 1) return false;
  const HloInstruction* indices = gather->operand(1);
  const int64_t d = gather->gather_dims().index_vector_dim;
  return indices->opcode() == HloOpcode::kConcatenate && indices->dimensions()[0] == d &&
         std::all_of(indices->operands().begin(), indices->operands().end(),
                     [&](const HloInstruction* part) { return part->shape().dim(d) == 1; });
}

// How many parts of what `update` updates are read at other places than they are updated at, elementwise on the way to
// what it writes. Each would be an array of its own beside the update in place.
int64_t PartsReadElsewhere(const HloInstruction* update) {
  constexpr size_t kMost = 64;  // instructions that are looked at
  const HloInstruction* updated = update->operand(0);
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> left = {update->operand(1)};
  int64_t parts = 0;
  while (!left.empty() && seen.size() < kMost) {
    const HloInstruction* i = left.back();
    left.pop_back();
    if (!seen.insert(i).second) continue;
    if (std::find(i->operands().begin(), i->operands().end(), updated) != i->operands().end()) {
      if (!ReadsUpdatedPlace(i, update) && SameDims(i->shape(), update->operand(1)->shape())) ++parts;
    } else if (i->IsElementwise()) {
      left.insert(left.end(), i->operands().begin(), i->operands().end());
    }
  }
  return parts;
}

// Instructions of the code for one evaluation. What costs much more is a loop or a call.
int64_t CodeSize(const HloInstruction* instruction, const TargetInfo& target) {
  return IsCodeConstant(instruction) ? 0 : 1 + std::min<int64_t>(16, ElementCost(instruction, target)) / 4;
}

}  // namespace

bool IsCodeConstant(const HloInstruction* instruction) {
  if (instruction->opcode() == HloOpcode::kBroadcast) instruction = instruction->operand(0);
  return instruction->IsConstant() && instruction->shape().IsScalar();
}

int64_t ElementCost(const HloInstruction* instruction, const TargetInfo& target) {
  const auto by_type = [&](int64_t narrow, int64_t wide, int64_t complex) {
    const ElementType type = instruction->operand(0)->type();
    return IsComplex(type) ? complex : type == ElementType::kF64 ? wide : narrow;
  };
  switch (OpcodeCost(instruction->opcode())) {
    case OpCost::kNone:
      return 0;
    case OpCost::kDivision:
      return by_type(4, 8, target.complex_transcendental_cost / 4);
    case OpCost::kFunction:
    case OpCost::kLongFunction:
      return by_type(target.transcendental_cost, target.wide_transcendental_cost, target.complex_transcendental_cost);
    case OpCost::kSimple:
    case OpCost::kSpecial:
      break;
  }
  switch (instruction->opcode()) {
    case HloOpcode::kConcatenate:
      return instruction->operand_count();
    case HloOpcode::kGather:
      return GathersRows(instruction) ? 2 : 12;
    case HloOpcode::kReduce: {
      const int64_t out = instruction->shape().IsArray() ? instruction->shape().ElementCount()
                                                         : instruction->shape().tuple_shape(0).ElementCount();
      return out == 0 ? 1 : std::max<int64_t>(1, instruction->operand(0)->shape().ElementCount() / out);
    }
    default:
      return 1;
  }
}

FusionGroup::FusionGroup(HloInstruction* root, int id, const TargetInfo& target)
    : root_(root), id_(id), target_(target) {
  members_.push_back(root);
  const Shape& shape = root->shape().IsTuple() ? root->shape().tuple_shape(0) : root->shape();
  int64_t times = shape.ElementCount();
  if (root->opcode() == HloOpcode::kDynamicUpdateSlice) times = root->operand(1)->shape().ElementCount();
  evaluations_[root] = {{1, times, false, false}};
  if (root->opcode() == HloOpcode::kReduce) reduce_ = root;
  CountInputs(root);
}

void FusionGroup::CountInputs(const HloInstruction* member) {
  for (const HloInstruction* operand : member->operands()) {
    if (!Contains(operand) && !(operand->IsConstant() && operand->shape().IsScalar())) inputs_.insert(operand);
  }
}

std::vector<Evaluation> FusionGroup::EvaluationsOf(const HloInstruction* producer) const {
  std::vector<Evaluation> out;
  const auto add = [&](Evaluation e) {
    for (Evaluation& known : out) {
      if (known.position == e.position) {
        known.times = std::max(known.times, e.times);
        return;
      }
    }
    out.push_back(e);
  };
  for (const HloInstruction* user : producer->users()) {
    auto it = evaluations_.find(user);
    if (it == evaluations_.end()) continue;
    for (int64_t o = 0; o < user->operand_count(); ++o) {
      if (user->operand(o) != producer) continue;
      for (const Evaluation& e : it->second) {
        if (producer->shape().rank() == 0) {
          // A scalar is read at one place, whoever reads it; code motion takes it out of loops only if it is cheap.
          add({2, e.times, false, e.inner});
          continue;
        }
        if (KeepsPosition(user)) {
          add(e);
          continue;
        }
        Evaluation next = e;
        // Arrays that are reduced together are read at one position.
        const int64_t slot = user->opcode() == HloOpcode::kReduce ? 0 : o;
        next.position = absl::HashOf(e.position, user->id(), slot);
        if (!JoinsIndices(user, o)) {
          next.strided |= MovesMinorDimension(user) || (user->opcode() == HloOpcode::kGather && o > 0);
        }
        const int64_t out_elements = std::max<int64_t>(1, user->shape().IsArray() ? user->shape().ElementCount() : 1);
        switch (user->opcode()) {
          case HloOpcode::kReduce:
            next.times = e.times * ElementCost(user, target_);
            next.inner = true;
            break;
          case HloOpcode::kGather: {
            // An index is computed once for the elements along the minor dimension, where they are a window's.
            const int64_t rank = user->shape().rank();
            const auto& offsets = user->gather_dims().offset_dims;
            if (o == 1 && rank > 0 && std::find(offsets.begin(), offsets.end(), rank - 1) != offsets.end()) {
              next.times = std::max<int64_t>(1, e.times / std::max<int64_t>(1, user->shape().dim(rank - 1)));
            }
            break;
          }
          case HloOpcode::kConcatenate:
          case HloOpcode::kPad:
            next.times = static_cast<int64_t>(static_cast<double>(e.times) *
                                              static_cast<double>(producer->shape().ElementCount()) /
                                              static_cast<double>(out_elements));
            break;
          default:
            break;
        }
        add(next);
      }
    }
  }
  return out;
}

Decision FusionGroup::CanAdd(const HloInstruction* producer, const std::vector<Evaluation>& evaluations) const {
  const TargetInfo& target = target_;
  // The parts of a concatenation are loops of their own: what counts is the size of one.
  const int64_t parts =
      root_->opcode() == HloOpcode::kConcatenate ? std::max<int64_t>(1, root_->operand_count() / 4) : 1;
  if (!IsCodeConstant(producer) && instruction_count_ + 1 > target.max_fused_instructions * parts) {
    return Decision::No("the fusion has its full number of instructions");
  }
  // A constant that is not fused is written as an array, and nothing knows any more what is divided by.
  if (!IsCodeConstant(producer) && evaluations.size() > kMaxPositions) {
    return Decision::No("it is read at too many positions");
  }
  if (Interleaves(*producer)) {
    for (const HloInstruction* user : producer->users()) {
      if (Contains(user) && !(user->operand(0) != producer && JoinsIndices(user, 1))) {
        return Decision::No("it joins single elements, which are stored together");
      }
    }
  }
  const int64_t size = code_size_ + static_cast<int64_t>(evaluations.size()) * CodeSize(producer, target);
  if (size > kMaxCodeSize * parts && producer->opcode() != HloOpcode::kReduce)
    return Decision::No("the code would be too large");
  int64_t array_inputs = 0, new_inputs = 0;
  for (const HloInstruction* operand : producer->operands()) {
    if (operand->shape().rank() > 0 || operand->shape().IsTuple()) ++array_inputs;
    if (!inputs_.contains(operand) && !Contains(operand)) ++new_inputs;
  }
  const int64_t most_inputs =
      parts == 1 ? target.max_fusion_parameters : std::max(target.max_fusion_parameters, root_->operand_count() + 4);
  if (input_count() - 1 + new_inputs > most_inputs) return Decision::No("it has too many operands");
  if (producer->opcode() == HloOpcode::kReduce) {
    if (reduce_ != nullptr) return Decision::No("the fusion has a reduction already");
    for (const Evaluation& e : evaluations) {
      if (e.position != 1) return Decision::No("a reduction would be computed for every element that reads it");
    }
  }
  for (const Evaluation& e : evaluations) {
    if (e.inner && ChooseAny(producer->shape().ElementCount() > 4096 && TurnsRows(producer))) {
      return Decision::No("a reduction would read across rows");
    }
    // One strided stream instead of several, and none where it was not before.
    if (e.strided && array_inputs > 1 && ChooseAny(producer->shape().ElementCount() > 4096)) {
      return Decision::No("its operands would be read across rows");
    }
  }
  if (root_->opcode() == HloOpcode::kDynamicUpdateSlice) {
    // What is updated must not be read elsewhere, or it could not be updated in place.
    const HloInstruction* target_array = root_->operand(0);
    if (producer == target_array) return Decision::No("it is updated in place");
    if (producer == root_->operand(1) && ChooseAny(PartsReadElsewhere(root_) > 1)) {
      return Decision::No("several arrays would be kept for it, which are one for what is computed apart");
    }
    for (const HloInstruction* operand : producer->operands()) {
      if (operand != target_array) continue;
      bool same_place = ChooseSafe(ReadsUpdatedPlace(producer, root_));
      for (const Evaluation& e : evaluations)
        same_place &= e.position == absl::HashOf(uint64_t{1}, root_->id(), int64_t{1});
      if (!same_place) return Decision::No("it reads what is updated in place");
    }
  }
  return Decision::Yes();
}

void FusionGroup::Add(HloInstruction* producer, std::vector<Evaluation> evaluations) {
  if (!IsCodeConstant(producer)) {
    ++instruction_count_;
    code_size_ += static_cast<int64_t>(evaluations.size()) * CodeSize(producer, target_);
  }
  if (producer->opcode() == HloOpcode::kReduce) reduce_ = producer;
  inputs_.erase(producer);
  evaluations_[producer] = std::move(evaluations);
  members_.push_back(producer);
  CountInputs(producer);
}

}  // namespace xc
