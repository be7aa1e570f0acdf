#include "hlo/text/structure.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace xc {
namespace {

template <AttrKind kKind>
void DropIf(HloInstruction* instruction, const AttrType<kKind>& value) {
  const auto* has = instruction->FindAttr<kKind>();
  if (has != nullptr && *has == value) instruction->mutable_attributes()->Erase(kKind);
}

template <AttrKind kKind>
void SetIfMissing(HloInstruction* instruction, AttrType<kKind> value) {
  if (!instruction->attributes().Has(kKind)) instruction->set_attr<kKind>(std::move(value));
}

}  // namespace

absl::string_view MissingAttribute(const HloInstruction& i) {
  const auto without = [&](AttrKind kind) { return OpcodeHasAttr(i.opcode(), kind) && !i.attributes().Has(kind); };
  const size_t called = i.called_computations().size();
  switch (i.opcode()) {
    case HloOpcode::kAllToAll:
    case HloOpcode::kMap:
    case HloOpcode::kCustomCall:
      break;
    default:
      if (without(AttrKind::kDimensions)) return "dimensions";
      if (without(AttrKind::kWindow) && i.opcode() != HloOpcode::kConvolution) return "window";
      if (without(AttrKind::kDimLabels)) return "dim_labels";
      if (without(AttrKind::kSliceSizes)) return "slice_sizes";
      if (without(AttrKind::kDynamicSliceSizes)) return "dynamic_slice_sizes";
      if (without(AttrKind::kSlice)) return "slice";
      if (without(AttrKind::kPadding)) return "padding";
      if (without(AttrKind::kDirection)) return "direction";
      if (without(AttrKind::kIndex)) return "index";
      if (without(AttrKind::kIotaDimension)) return "iota_dimension";
      if (without(AttrKind::kEpsilon)) return "epsilon";
      if (without(AttrKind::kFeatureIndex)) return "feature_index";
      if (without(AttrKind::kFusionKind)) return "kind";
      if (without(AttrKind::kFftType)) return "fft_type";
      if (without(AttrKind::kFftLength)) return "fft_length";
      if (without(AttrKind::kExponentBits)) return "exponent_bits";
      if (without(AttrKind::kMantissaBits)) return "mantissa_bits";
      if (without(AttrKind::kDistribution)) return "distribution";
      if (without(AttrKind::kRngAlgorithm)) return "algorithm";
      if (without(AttrKind::kK)) return "k";
      if (without(AttrKind::kDelta)) return "delta";
      if (without(AttrKind::kDomain)) return "domain";
      if (without(AttrKind::kGatherDims)) return "offset_dims";
      if (without(AttrKind::kScatterDims)) return "update_window_dims";
      if (without(AttrKind::kSourceTargetPairs)) return "source_target_pairs";
  }
  if (i.opcode() == HloOpcode::kCustomCall && without(AttrKind::kCustomCallTarget)) return "custom_call_target";
  switch (OpcodeCallStyle(i.opcode())) {
    case CallStyle::kToApply:
      if (called < 1) return "to_apply";
      break;
    case CallStyle::kCalls:
      if (called < 1) return "calls";
      break;
    case CallStyle::kAsync:
      if (called < 1 && i.opcode() == HloOpcode::kAsyncStart) return "calls";
      break;
    case CallStyle::kConditionBody:
      if (called < 1) return "condition";
      if (called < 2) return "body";
      break;
    case CallStyle::kBranches:
      if (called < 1) return "branch_computations";
      break;
    case CallStyle::kSelectScatter:
      if (called < 1) return "select";
      if (called < 2) return "scatter";
      break;
    default:
      break;
  }
  return {};
}

void CanonicalizeAttributes(HloInstruction* i) {
  switch (i->opcode()) {
    case HloOpcode::kDot:
    case HloOpcode::kRaggedDot:
    case HloOpcode::kScaledDot:
      SetIfMissing<AttrKind::kDotDims>(i, {});
      break;
    case HloOpcode::kConvolution:
      SetIfMissing<AttrKind::kWindow>(i, {});  // no spatial dimensions
      break;
    case HloOpcode::kMap:
      if (i->shape().rank() == 0) SetIfMissing<AttrKind::kDimensions>(i, {});
      break;
    case HloOpcode::kTopk:
      SetIfMissing<AttrKind::kLargest>(i, true);
      break;
    case HloOpcode::kCompare:
      if (const ElementType type = i->operand(0)->type(); IsFloating(type) || IsComplex(type)) {
        DropIf<AttrKind::kCompareType>(i, CompareType::kFloat);
      } else {
        DropIf<AttrKind::kCompareType>(i, IsSignedInt(type) ? CompareType::kSigned : CompareType::kUnsigned);
      }
      break;
    default:
      break;
  }
  if (i->attributes().entries().empty()) return;
  DropIf<AttrKind::kIndicesAreSorted>(i, false);
  DropIf<AttrKind::kUniqueIndices>(i, false);
  DropIf<AttrKind::kIsStable>(i, false);
  DropIf<AttrKind::kLower>(i, false);
  DropIf<AttrKind::kLeftSide>(i, false);
  DropIf<AttrKind::kUnitDiagonal>(i, false);
  DropIf<AttrKind::kIsReverse>(i, false);
  DropIf<AttrKind::kIsComposite>(i, false);
  DropIf<AttrKind::kCustomCallHasSideEffect>(i, false);
  DropIf<AttrKind::kConstrainLayout>(i, false);
  DropIf<AttrKind::kUseGlobalDeviceIds>(i, false);
  DropIf<AttrKind::kIsHostTransfer>(i, false);
  DropIf<AttrKind::kFeatureGroupCount>(i, 1);
  DropIf<AttrKind::kBatchGroupCount>(i, 1);
  DropIf<AttrKind::kTransposeA>(i, TriangularTranspose::kInvalid);
  DropIf<AttrKind::kCustomCallSchedule>(i, "SCHEDULE_NONE");
  DropIf<AttrKind::kApiVersion>(i, "API_VERSION_ORIGINAL");
  DropIf<AttrKind::kPaddingType>(i, "PADDING_INVALID");
  DropIf<AttrKind::kInfeedConfig>(i, "");
  DropIf<AttrKind::kOutfeedConfig>(i, "");
  DropIf<AttrKind::kMetadata>(i, {});
  DropIf<AttrKind::kFrontendAttributes>(i, {});
  if (const auto* config = i->FindAttr<AttrKind::kBackendConfig>(); config != nullptr && config->text.empty()) {
    i->mutable_attributes()->Erase(AttrKind::kBackendConfig);
  }
  if (const auto* precision = i->FindAttr<AttrKind::kOperandPrecision>();
      precision != nullptr &&
      std::all_of(precision->begin(), precision->end(), [](const std::string& p) { return p == "default"; })) {
    i->mutable_attributes()->Erase(AttrKind::kOperandPrecision);
  }
}

bool IsBraced(absl::string_view text) {
  if (text.empty() || text.front() != '{') return false;
  int64_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return i + 1 == text.size();
    }
  }
  return false;
}

int64_t BoundedBytes(const Shape& shape, int64_t limit) {
  int64_t total = 0;
  for (const auto& leaf : Leaves(shape)) {
    if (!leaf.second->IsArray()) return -1;
    for (int64_t d : leaf.second->dims()) {
      if (d == Shape::kUnknownSize) return -1;
    }
    const int64_t bytes = leaf.second->ByteSize();  // fits, as ValidateShape has seen
    if (bytes > limit - total) return -1;
    total += bytes;
  }
  return total;
}

std::string CallGraphError(const HloModule& module, int max_depth, const HloComputation** at) {
  struct Frame {
    const HloComputation* computation;
    std::vector<const HloComputation*> callees;
    size_t next = 0;
    int depth = 1;  // of the deepest chain of calls found below, this one included
  };
  absl::flat_hash_map<const HloComputation*, int> done;  // depth; 0 while it is on the stack
  const auto open = [&](const HloComputation* computation) {
    Frame frame{computation, {}};
    for (const auto& instruction : computation->instructions()) {
      for (const HloComputation* callee : instruction->called_computations()) frame.callees.push_back(callee);
    }
    done[computation] = 0;
    return frame;
  };
  std::vector<Frame> stack;
  for (const auto& computation : module.computations()) {
    if (done.contains(computation.get())) continue;
    stack.push_back(open(computation.get()));
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.callees.size()) {
        const int depth = top.depth;
        done[top.computation] = depth;
        if (depth > max_depth) {
          *at = top.computation;
          return absl::StrCat("calls nest more than ", max_depth, " deep from '", top.computation->name(), "'");
        }
        stack.pop_back();
        if (!stack.empty()) stack.back().depth = std::max(stack.back().depth, depth + 1);
        continue;
      }
      const HloComputation* callee = top.callees[top.next++];
      const auto it = done.find(callee);
      if (it == done.end()) {
        stack.push_back(open(callee));
      } else if (it->second == 0) {
        *at = callee;
        return absl::StrCat("computation '", callee->name(), "' calls itself, directly or through others");
      } else {
        top.depth = std::max(top.depth, it->second + 1);
      }
    }
  }
  return {};
}

}  // namespace xc
