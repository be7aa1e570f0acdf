// What several devices or streams need and one does not: collectives, asynchronous pairs, copies between memories, and
// annotations become the values that they pass on.
#include <algorithm>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/devices/device_groups.h"
#include "hlo/devices/participants.h"
#include "hlo/ops/known_calls.h"
#include "hlo/ops/permute_slices.h"

namespace xc {
namespace {

bool SameArrays(const Shape& a, const Shape& b) {
  if (a.IsTuple() != b.IsTuple()) return false;
  if (!a.IsTuple()) return SameShape(a, b);
  if (a.tuple_size() != b.tuple_size()) return false;
  for (int64_t i = 0; i < a.tuple_size(); ++i) {
    if (!SameArrays(a.tuple_shape(i), b.tuple_shape(i))) return false;
  }
  return true;
}

// Zeros of any shape; null for shapes that have no constants.
HloInstruction* Zeros(HloComputation* computation, const Shape& shape) {
  if (shape.IsToken()) return computation->Add(HloOpcode::kAfterAll, Shape::Token(), {});
  if (shape.IsTuple()) {
    std::vector<HloInstruction*> elements;
    for (const Shape& s : shape.tuple_shapes()) {
      elements.push_back(Zeros(computation, s));
      if (elements.back() == nullptr) return nullptr;
    }
    return make::Tuple(computation, elements);
  }
  if (!shape.IsArray() || shape.is_dynamic()) return nullptr;
  return make::Full(computation, shape.type(), shape.dims(), 0);
}

HloInstruction* OperandsAsOne(HloInstruction* i) {
  if (i->operand_count() == 1) return i->operand(0);
  return make::Tuple(i->parent(), i->operands());
}

// (first, second if not null, zeros of the remaining elements of `shape`).
HloInstruction* StartTuple(HloInstruction* start, HloInstruction* first, HloInstruction* second) {
  std::vector<HloInstruction*> elements = {first};
  if (second != nullptr) elements.push_back(second);
  for (int64_t i = elements.size(); i < start->shape().tuple_size(); ++i) {
    elements.push_back(Zeros(start->parent(), start->shape().tuple_shape(i)));
    if (elements.back() == nullptr) return nullptr;
  }
  return make::Tuple(start->parent(), elements);
}

HloInstruction* TupleElement(HloInstruction* tuple, int64_t index) {
  if (!tuple->shape().IsTuple() || tuple->shape().tuple_size() <= index) return nullptr;
  return make::GetTupleElement(tuple, index);
}

// Whether `value` needs `other` to be computed first.
bool DependsOn(const HloInstruction* value, const HloInstruction* other) {
  std::vector<const HloInstruction*> pending = {value};
  absl::flat_hash_set<const HloInstruction*> seen = {value};
  while (!pending.empty()) {
    const HloInstruction* i = pending.back();
    pending.pop_back();
    if (i == other) return true;
    for (const auto* before : {&i->operands(), &i->control_predecessors()}) {
      for (const HloInstruction* b : *before) {
        if (seen.insert(b).second) pending.push_back(b);
      }
    }
  }
  return false;
}

// What each recv of the computation receives: values sent to the device itself, in order, channel by channel. A channel
// on which sends and recvs do not pair up is for another device or the host.
absl::flat_hash_map<const HloInstruction*, HloInstruction*> SentToSelf(const HloComputation& computation) {
  std::map<int64_t, std::pair<std::vector<HloInstruction*>, std::vector<HloInstruction*>>> channels;
  for (HloInstruction* i : computation.PostOrder()) {
    if (i->opcode() != HloOpcode::kSend && i->opcode() != HloOpcode::kRecv) continue;
    auto& [sends, recvs] = channels[i->attr_or<AttrKind::kChannelId>(0)];
    (i->opcode() == HloOpcode::kSend ? sends : recvs).push_back(i);
  }
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> values;
  for (const auto& [channel, both] : channels) {
    const auto& [sends, recvs] = both;
    bool fits = sends.size() == recvs.size();
    for (size_t k = 0; fits && k < recvs.size(); ++k) {
      const Shape& shape = recvs[k]->shape();
      fits = !sends[k]->attr_or<AttrKind::kIsHostTransfer>(false) &&
             !recvs[k]->attr_or<AttrKind::kIsHostTransfer>(false) && shape.IsTuple() && shape.tuple_size() == 3 &&
             SameArrays(shape.tuple_shape(0), sends[k]->operand(0)->shape()) &&
             !DependsOn(sends[k]->operand(0), recvs[k]);
    }
    for (size_t k = 0; fits && k < recvs.size(); ++k) {
      values[recvs[k]] = values[sends[k]] = sends[k]->operand(0);
    }
  }
  return values;
}

HloInstruction* ElementAt(HloInstruction* tuple, const ShapeIndex& index) {
  for (int64_t i : index) tuple = make::GetTupleElement(tuple, i);
  return tuple;
}

// The outputs of a collective-permute with slices after those of its inputs have arrived. Null: they do not fit.
HloInstruction* WithSlices(HloInstruction* permute, const std::vector<Int64List>& sizes) {
  std::vector<const Shape*> shapes;
  for (const HloInstruction* operand : permute->operands()) shapes.push_back(&operand->shape());
  const absl::StatusOr<std::vector<PermuteSlice>> slices = PermuteSlices(shapes, sizes);
  if (!slices.ok()) return nullptr;
  HloComputation* computation = permute->parent();
  HloInstruction *inputs = permute->operand(0), *outputs = permute->operand(1);
  std::vector<HloInstruction*> results;
  for (int64_t b = 0; outputs->shape().IsTuple() && b < outputs->shape().tuple_size(); ++b) {
    results.push_back(make::GetTupleElement(outputs, b));
  }
  if (!outputs->shape().IsTuple()) results.push_back(outputs);
  for (const PermuteSlice& slice : *slices) {
    HloInstruction*& result = results[std::max<int64_t>(slice.buffer, 0)];
    std::vector<HloInstruction*> read = {slice.buffer < 0 ? inputs : make::GetTupleElement(inputs, slice.buffer)};
    HloInstruction* starts = ElementAt(permute->operand(2), slice.starts);
    for (int64_t d = 0; d < starts->shape().tuple_size(); ++d) read.push_back(make::GetTupleElement(starts, d));
    HloInstruction* sent = computation->Add(HloOpcode::kDynamicSlice, Shape(read[0]->type(), slice.sizes), read);
    sent->set_attr<AttrKind::kDynamicSliceSizes>(slice.sizes);
    std::vector<HloInstruction*> write = {result, sent};
    starts = ElementAt(permute->operand(3), slice.starts);
    for (int64_t d = 0; d < starts->shape().tuple_size(); ++d) write.push_back(make::GetTupleElement(starts, d));
    result = computation->Add(HloOpcode::kDynamicUpdateSlice, WithoutLayout(result->shape()), write);
  }
  return outputs->shape().IsTuple() ? make::Tuple(computation, results) : results[0];
}

// What `i` gives on one device, or null when it must stay.
HloInstruction* Replacement(HloInstruction* i) {
  HloComputation* computation = i->parent();
  switch (i->opcode()) {
    case HloOpcode::kCustomCall:
      return IsAnnotation(*i) && i->operand_count() == 1 ? i->operand(0) : nullptr;
    case HloOpcode::kCopyStart:
      return i->shape().IsTuple() && i->shape().tuple_size() == 3 ? StartTuple(i, i->operand(0), i->operand(0))
                                                                  : nullptr;
    case HloOpcode::kCopyDone:
      return TupleElement(i->operand(0), 0);
    case HloOpcode::kAsyncStart: {
      if (!i->shape().IsTuple() || i->shape().tuple_size() < 2) return nullptr;
      HloInstruction* call = computation->Add(HloOpcode::kCall, i->called(0)->root()->shape(), i->operands());
      call->AddCalledComputation(i->called(0));
      return StartTuple(i, make::Tuple(computation, i->operands()), call);
    }
    case HloOpcode::kSendDone:
      // Of a send to the device itself, which has become a tuple by now.
      if (i->operand(0)->opcode() != HloOpcode::kTuple) return nullptr;
      return TupleElement(i->operand(0), 2);
    case HloOpcode::kRecvDone: {
      HloInstruction* recv = i->operand(0);
      if (recv->opcode() != HloOpcode::kTuple || recv->operand_count() != 3) return nullptr;
      if (!SameShape(recv->operand(0)->shape(), i->shape().tuple_shape(0))) return nullptr;
      return make::Tuple(computation, {recv->operand(0), recv->operand(2)});
    }
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAllReduceDone:
      return i->operand(0);
    case HloOpcode::kAsyncDone:
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kCollectivePermuteDone:
      return TupleElement(i->operand(0), 1);
    case HloOpcode::kAllGatherStart: {
      HloInstruction* all = OperandsAsOne(i);
      return StartTuple(i, all, all);
    }
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart: {
      const auto& pairs = i->attr<AttrKind::kSourceTargetPairs>();
      const bool kept = std::find(pairs.begin(), pairs.end(), Int64List{0, 0}) != pairs.end();
      const bool start = i->opcode() == HloOpcode::kCollectivePermuteStart;
      if (const auto* sizes = i->FindAttr<AttrKind::kSliceSizesList>(); sizes != nullptr && !sizes->empty()) {
        HloInstruction* outputs = kept ? WithSlices(i, *sizes) : i->operand(1);
        return start && outputs != nullptr ? StartTuple(i, i->operand(0), outputs) : outputs;
      }
      if (i->operand_count() != 1 || (start && (!i->shape().IsTuple() || i->shape().tuple_size() < 2))) return nullptr;
      HloInstruction* received = kept ? i->operand(0) : Zeros(computation, i->operand(0)->shape());
      if (received == nullptr || !start) return received;
      return StartTuple(i, i->operand(0), received);
    }
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kAllGather:
    case HloOpcode::kAllToAll:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kCollectiveBroadcast:
      return i->shape().IsTuple() ? make::Tuple(computation, i->operands()) : OperandsAsOne(i);
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<bool> ReduceToOneDevice(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    std::vector<HloInstruction*> replaced;
    const int64_t count = computation->instruction_count();
    const auto sent = SentToSelf(*computation);
    const bool alone = DeviceCount(*module) == 1;
    for (HloInstruction* i : computation->PostOrder()) {
      // What speaks of more than one device, or has another shape than its operand, stays, to be refused when it runs.
      if (IsCollective(i->opcode()) && (!alone || ParticipantCount(*i) > 1)) continue;
      HloInstruction* value = Replacement(i);
      if (const auto it = sent.find(i); it != sent.end()) value = StartTuple(i, it->second, nullptr);
      if (value == nullptr || value == i || !SameArrays(value->shape(), i->shape())) continue;
      if (!i->control_predecessors().empty() || !i->control_successors().empty()) {
        const auto before = i->control_predecessors(), after = i->control_successors();
        i->RemoveControlDependencies();
        for (HloInstruction* a : after) {
          for (HloInstruction* b : before) a->AddControlPredecessor(b);
        }
      }
      i->ReplaceAllUsesWith(value);
      context.Count(std::string("one_device.") + std::string(OpcodeName(i->opcode())));
      replaced.push_back(i);
    }
    // Users first, since a start op is used by its done op.
    for (auto it = replaced.rbegin(); it != replaced.rend(); ++it) computation->Remove(*it);
    changed |= !replaced.empty() || computation->instruction_count() != count;
  }
  return changed;
}

}  // namespace xc
