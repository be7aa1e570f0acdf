// All attributes of an instruction as text, with the computations that it calls, in XLA's order.
#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "hlo/text/print_impl.h"

namespace xc {
namespace {

// The order in which XLA writes attributes; called computations come at kCallsRank.
constexpr AttrKind kOrder[] = {
    AttrKind::kChannelId, AttrKind::kReplicaGroups, AttrKind::kSourceTargetPairs, AttrKind::kSliceSizesList,
    AttrKind::kConstrainLayout, AttrKind::kDimensions, AttrKind::kUseGlobalDeviceIds, AttrKind::kNumCarries,
    AttrKind::kIsReverse, AttrKind::kIsAssociative, AttrKind::kK, AttrKind::kLargest, AttrKind::kIsStable,
    AttrKind::kWindow, AttrKind::kDimLabels, AttrKind::kFeatureGroupCount, AttrKind::kBatchGroupCount,
    AttrKind::kDotDims, AttrKind::kRaggedDims, AttrKind::kOperandPrecision, AttrKind::kSparsity, AttrKind::kAlgorithm,
    AttrKind::kPaddingType, AttrKind::kCustomCallTarget, AttrKind::kOperandLayoutConstraints,
    AttrKind::kCustomCallHasSideEffect, AttrKind::kLiteral, AttrKind::kGatherDims, AttrKind::kScatterDims,
    AttrKind::kSliceSizes, AttrKind::kIndicesAreSorted, AttrKind::kUniqueIndices, AttrKind::kDynamicSliceSizes,
    AttrKind::kSlice, AttrKind::kPadding, AttrKind::kDirection, AttrKind::kCompareType, AttrKind::kIndex,
    AttrKind::kIotaDimension, AttrKind::kInferredDimension, AttrKind::kEpsilon, AttrKind::kFeatureIndex,
    AttrKind::kFusionKind, AttrKind::kOutputToOperandAliasing, AttrKind::kCustomCallSchedule, AttrKind::kApiVersion,
    AttrKind::kFftType, AttrKind::kFftLength, AttrKind::kExponentBits, AttrKind::kMantissaBits, AttrKind::kDistribution,
    AttrKind::kRngAlgorithm, AttrKind::kDelta, AttrKind::kLeftSide, AttrKind::kLower, AttrKind::kUnitDiagonal,
    AttrKind::kTransposeA, AttrKind::kIsHostTransfer, AttrKind::kInfeedConfig, AttrKind::kOutfeedShape,
    AttrKind::kOutfeedConfig, AttrKind::kCrossProgramPrefetchIndex, AttrKind::kParameterReplication, AttrKind::kDomain,
    AttrKind::kResultAccuracy, AttrKind::kAsyncExecutionThread,
    // Called computations stand here.
    AttrKind::kIsComposite, AttrKind::kSharding, AttrKind::kFrontendAttributes,
    // Control predecessors stand here.
    AttrKind::kStatistics, AttrKind::kOrigin, AttrKind::kMetadata, AttrKind::kBackendConfig};
constexpr int kCount = sizeof(kOrder) / sizeof(kOrder[0]);

constexpr int Find(AttrKind kind) {
  for (int i = 0; i < kCount; ++i) {
    if (kOrder[i] == kind) return i;
  }
  return -1;
}
constexpr int kCallsRank = Find(AttrKind::kIsComposite);
constexpr int kControlRank = Find(AttrKind::kStatistics);

const std::vector<int>& Ranks() {
  static const auto* const kRanks = [] {
    auto* ranks = new std::vector<int>(256, kCount);
    for (int i = 0; i < kCount; ++i) (*ranks)[static_cast<int>(kOrder[i])] = i;
    return ranks;
  }();
  return *kRanks;
}

void AppendCalls(const HloInstruction& instruction, const PrintOptions& options, std::string* out) {
  const auto& called = instruction.called_computations();
  if (called.empty()) return;
  const auto one = [&](absl::string_view name, size_t i) {
    if (i >= called.size() || called[i] == nullptr) return;
    absl::StrAppend(out, ", ", name, "=");
    AppendName(called[i]->name(), options, out);
  };
  const auto list = [&](absl::string_view name) {
    absl::StrAppend(out, ", ", name, "=");
    out->push_back('{');
    for (size_t i = 0; i < called.size(); ++i) {
      if (i > 0) out->append(", ");
      AppendName(called[i]->name(), options, out);
    }
    out->push_back('}');
  };
  switch (OpcodeCallStyle(instruction.opcode())) {
    case CallStyle::kNone:
      break;
    case CallStyle::kToApply:
      return one("to_apply", 0);
    case CallStyle::kCalls:
    case CallStyle::kAsync:
      return one("calls", 0);
    case CallStyle::kConditionBody:
      one("condition", 0);
      return one("body", 1);
    case CallStyle::kBranches:
      if (instruction.operand_count() > 0 && instruction.operand(0)->type() == ElementType::kPred &&
          called.size() == 2) {
        one("true_computation", 0);
        return one("false_computation", 1);
      }
      return list("branch_computations");
    case CallStyle::kSelectScatter:
      one("select", 0);
      return one("scatter", 1);
    case CallStyle::kCustom:
      return list("called_computations");
  }
}

void AppendControl(const HloInstruction& instruction, const PrintOptions& options, std::string* out) {
  if (!options.control_predecessors || instruction.control_predecessors().empty()) return;
  out->append(", control-predecessors={");
  bool first = true;
  for (const HloInstruction* before : instruction.control_predecessors()) {
    if (!first) out->append(", ");
    first = false;
    AppendName(before->name(), options, out);
  }
  out->push_back('}');
}

}  // namespace

void AppendAttributes(const HloInstruction& instruction, const PrintOptions& options, std::string* out) {
  const auto& entries = instruction.attributes().entries();
  absl::InlinedVector<std::pair<int, int>, 8> order;
  for (size_t i = 0; i < entries.size(); ++i) {
    order.emplace_back(Ranks()[static_cast<int>(entries[i].first)], static_cast<int>(i));
  }
  std::sort(order.begin(), order.end());
  bool calls = false, control = false;
  for (const auto& [rank, i] : order) {
    if (!calls && rank >= kCallsRank) {
      AppendCalls(instruction, options, out);
      calls = true;
    }
    if (!control && rank >= kControlRank) {
      AppendControl(instruction, options, out);
      control = true;
    }
    const AttrKind kind = entries[i].first;
    if (kind == AttrKind::kMetadata && !options.metadata) continue;
    if (kind == AttrKind::kBackendConfig && !options.backend_config) continue;
    AppendAttribute(kind, *entries[i].second, out);
  }
  if (!calls) AppendCalls(instruction, options, out);
  if (!control) AppendControl(instruction, options, out);
}

}  // namespace xc
