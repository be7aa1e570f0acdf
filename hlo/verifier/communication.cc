// Rules of starts and dones, and of the device lists of collectives. Which devices exist is not looked at.
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "hlo/verifier/internal.h"

namespace xc::verifier {
namespace {

using O = HloOpcode;

// The op whose result a done (or update) takes, or nothing for other ops. Async ops take updates as well.
struct Chain {
  O start, update;
};
const Chain* ChainOf(O opcode) {
  static constexpr struct {
    O done;
    Chain chain;
  } kChains[] = {
      {O::kAllGatherDone, {O::kAllGatherStart, O::kAllGatherStart}},
      {O::kAllReduceDone, {O::kAllReduceStart, O::kAllReduceStart}},
      {O::kCollectivePermuteDone, {O::kCollectivePermuteStart, O::kCollectivePermuteStart}},
      {O::kCopyDone, {O::kCopyStart, O::kCopyStart}},
      {O::kSendDone, {O::kSend, O::kSend}},
      {O::kRecvDone, {O::kRecv, O::kRecv}},
      {O::kAsyncUpdate, {O::kAsyncStart, O::kAsyncUpdate}},
      {O::kAsyncDone, {O::kAsyncStart, O::kAsyncUpdate}},
  };
  for (const auto& row : kChains) {
    if (row.done == opcode) return &row.chain;
  }
  return nullptr;
}

absl::Status VerifyChain(const HloInstruction& instruction, const Chain& chain) {
  const HloInstruction& before = *instruction.operand(0);
  bool sends = chain.start == O::kSend || chain.start == O::kRecv;
  // A send or receive may be under way across a loop's edge.
  if (sends && (before.opcode() == O::kGetTupleElement || before.opcode() == O::kParameter)) return absl::OkStatus();
  if (before.opcode() != chain.start && before.opcode() != chain.update) {
    return Error(instruction, OpcodeName(instruction.opcode()), ": operand 0 is the ", OpcodeName(before.opcode()), " ",
                 before.name(), ", should be ", OpcodeName(chain.start));
  }
  if (!instruction.called_computations().empty() && !before.called_computations().empty() &&
      instruction.called(0) != before.called(0)) {
    return Error(instruction, "calls ", instruction.called(0)->name(), ", should call ", before.called(0)->name(),
                 " as ", before.name());
  }
  return absl::OkStatus();
}

absl::Status VerifyStart(const HloInstruction& instruction) {
  int64_t dones = 0;
  for (const HloInstruction* user : instruction.users()) {
    const Chain* chain = ChainOf(user->opcode());
    dones += chain != nullptr && (chain->start == instruction.opcode() || chain->update == instruction.opcode());
  }
  if (dones > 1) {
    return Error(instruction, OpcodeName(instruction.opcode()), ": is waited for ", dones, " times, should be once");
  }
  return absl::OkStatus();
}

absl::Status VerifyGroups(const HloInstruction& instruction, const ReplicaGroups& groups) {
  absl::flat_hash_set<int64_t> seen;
  for (const Int64List& group : groups.groups) {
    for (int64_t device : group) {
      if (device < 0) return Error(instruction, "replica_groups has ", device, ", should not be negative");
      if (!seen.insert(device).second) {
        return Error(instruction, "replica_groups has ", device, " twice, should have it once");
      }
    }
  }
  if (groups.iota_dims.empty()) return absl::OkStatus();
  __int128 products[2] = {1, 1};
  const Int64List* lists[2] = {&groups.iota_dims, &groups.iota_reshape_dims};
  for (int i = 0; i < 2; ++i) {
    for (int64_t d : *lists[i]) {
      if (d < 1) return Error(instruction, "replica_groups has dimension ", d, ", should be at least 1");
      products[i] *= d;
      if (products[i] > INT32_MAX) return Error(instruction, "replica_groups names too many devices");
    }
  }
  if (!groups.iota_reshape_dims.empty() && products[0] != products[1]) {
    return Error(instruction, "replica_groups [", absl::StrJoin(groups.iota_dims, ","), "]<=[",
                 absl::StrJoin(groups.iota_reshape_dims, ","), "]: both should have the same number of devices");
  }
  std::vector<bool> used(groups.iota_reshape_dims.size());
  bool permutation = groups.iota_transpose.empty() || groups.iota_transpose.size() == used.size();
  for (int64_t d : groups.iota_transpose) {
    permutation = permutation && d >= 0 && d < static_cast<int64_t>(used.size()) && !used[d];
    if (permutation) used[d] = true;
  }
  if (!permutation) {
    return Error(instruction, "replica_groups T(", absl::StrJoin(groups.iota_transpose, ","),
                 "), should be a permutation of ", used.size(), " dimensions");
  }
  return absl::OkStatus();
}

absl::Status VerifyPairs(const HloInstruction& instruction, const std::vector<Int64List>& pairs) {
  absl::flat_hash_set<int64_t> ends[2];
  for (const Int64List& pair : pairs) {
    if (pair.size() != 2) {
      return Error(instruction, "source_target_pairs has {", absl::StrJoin(pair, ","), "}, should have pairs only");
    }
    for (int i = 0; i < 2; ++i) {
      if (pair[i] < 0) return Error(instruction, "source_target_pairs has ", pair[i], ", should not be negative");
      if (!ends[i].insert(pair[i]).second) {
        return Error(instruction, "source_target_pairs has ", i == 0 ? "source " : "target ", pair[i],
                     " twice, should have it once");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyCommunication(const HloInstruction& instruction) {
  if (const Chain* chain = ChainOf(instruction.opcode())) XC_RETURN_IF_ERROR(VerifyChain(instruction, *chain));
  switch (instruction.opcode()) {
    case O::kAllGatherStart:
    case O::kAllReduceStart:
    case O::kAsyncStart:
    case O::kAsyncUpdate:
    case O::kCollectivePermuteStart:
    case O::kCopyStart:
      XC_RETURN_IF_ERROR(VerifyStart(instruction));
      break;
    default:
      break;
  }
  if (!IsCollective(instruction.opcode())) return absl::OkStatus();
  if (const ReplicaGroups* groups = instruction.FindAttr<AttrKind::kReplicaGroups>()) {
    XC_RETURN_IF_ERROR(VerifyGroups(instruction, *groups));
  }
  if (const auto* pairs = instruction.FindAttr<AttrKind::kSourceTargetPairs>()) {
    XC_RETURN_IF_ERROR(VerifyPairs(instruction, *pairs));
  }
  const int64_t* channel = instruction.FindAttr<AttrKind::kChannelId>();
  if (channel != nullptr && *channel < 0) {
    return Error(instruction, "channel_id is ", *channel, ", should not be negative");
  }
  if (instruction.attr_or<AttrKind::kUseGlobalDeviceIds>(false) && channel == nullptr) {
    return Error(instruction, "has use_global_device_ids without channel_id, should have both");
  }
  return absl::OkStatus();
}

}  // namespace xc::verifier
