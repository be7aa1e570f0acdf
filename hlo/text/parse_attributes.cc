// Attributes: the table of their names in the text, and which of them an instruction may have.
#include <bitset>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/text/parser_impl.h"
#include "hlo/text/structure.h"

namespace xc {
namespace {

using Handler = bool (*)(Parser&, HloInstruction*);

template <AttrKind kKind>
bool Whole(Parser& parser, HloInstruction* instruction) {
  AttrType<kKind> value{};
  if (!parser.Parse(&value)) return false;
  instruction->set_attr<kKind>(std::move(value));
  return true;
}

// One member of an attribute whose text is spread over several names.
template <AttrKind kKind, auto kMember>
bool Member(Parser& parser, HloInstruction* instruction) {
  AttrType<kKind> value = instruction->attr_or<kKind>({});
  if (!parser.Parse(&(value.*kMember))) return false;
  instruction->set_attr<kKind>(std::move(value));
  return true;
}

template <AttrKind kKind>
bool Word(Parser& parser, HloInstruction* instruction) {
  std::string value;
  if (!parser.ParseWord(&value)) return false;
  instruction->set_attr<kKind>(std::move(value));
  return true;
}

template <AttrKind kKind>
bool Raw(Parser& parser, HloInstruction* instruction) {
  std::string value;
  if (!parser.ParseRaw(&value)) return false;
  instruction->set_attr<kKind>(std::move(value));
  return true;
}

template <size_t kSlot>
bool Call(Parser& parser, HloInstruction* instruction) {
  return parser.ParseCalled(instruction, kSlot);
}
bool CallList(Parser& parser, HloInstruction* instruction) { return parser.ParseCalledList(instruction); }
bool Control(Parser& parser, HloInstruction* instruction) { return parser.ParseControlPredecessors(instruction); }

// A row applies to an opcode that has attribute `kind`, or whose computations are called in one of the `calls` styles.
struct Row {
  absl::string_view name;
  int kind;  // AttrKind, or -1
  uint32_t calls;
  Handler parse;
};

constexpr uint32_t Style(CallStyle style) { return 1u << static_cast<int>(style); }
constexpr uint32_t kEvery = ~0u;

#define XC_WHOLE(name, kind) \
  { name, static_cast<int>(AttrKind::kind), 0, &Whole<AttrKind::kind> }
#define XC_WORD(name, kind) \
  { name, static_cast<int>(AttrKind::kind), 0, &Word<AttrKind::kind> }
#define XC_RAW(name, kind) \
  { name, static_cast<int>(AttrKind::kind), 0, &Raw<AttrKind::kind> }
#define XC_MEMBER(name, kind, member) \
  { name, static_cast<int>(AttrKind::kind), 0, &Member<AttrKind::kind, &AttrType<AttrKind::kind>::member> }

constexpr Row kRows[] = {
    {"to_apply", -1, Style(CallStyle::kToApply) | Style(CallStyle::kCustom), &Call<0>},
    {"calls", -1, Style(CallStyle::kCalls) | Style(CallStyle::kAsync), &Call<0>},
    {"called_computation", -1, Style(CallStyle::kAsync), &Call<0>},
    {"condition", -1, Style(CallStyle::kConditionBody), &Call<0>},
    {"body", -1, Style(CallStyle::kConditionBody), &Call<1>},
    {"true_computation", -1, Style(CallStyle::kBranches), &Call<0>},
    {"false_computation", -1, Style(CallStyle::kBranches), &Call<1>},
    {"branch_computations", -1, Style(CallStyle::kBranches), &CallList},
    {"select", -1, Style(CallStyle::kSelectScatter), &Call<0>},
    {"scatter", -1, Style(CallStyle::kSelectScatter), &Call<1>},
    {"called_computations", -1, Style(CallStyle::kCustom), &CallList},
    {"control-predecessors", -1, kEvery, &Control},
    XC_WHOLE("dimensions", kDimensions),
    XC_WHOLE("window", kWindow),
    XC_WHOLE("dim_labels", kDimLabels),
    XC_WHOLE("feature_group_count", kFeatureGroupCount),
    XC_WHOLE("batch_group_count", kBatchGroupCount),
    XC_WHOLE("operand_precision", kOperandPrecision),
    XC_MEMBER("lhs_batch_dims", kDotDims, lhs_batch),
    XC_MEMBER("rhs_batch_dims", kDotDims, rhs_batch),
    XC_MEMBER("lhs_contracting_dims", kDotDims, lhs_contracting),
    XC_MEMBER("rhs_contracting_dims", kDotDims, rhs_contracting),
    XC_MEMBER("lhs_ragged_dims", kRaggedDims, lhs_ragged),
    XC_MEMBER("rhs_group_dims", kRaggedDims, rhs_group),
    XC_RAW("sparsity", kSparsity),
    XC_WORD("algorithm", kAlgorithm),
    XC_WHOLE("algorithm", kRngAlgorithm),
    XC_MEMBER("offset_dims", kGatherDims, offset_dims),
    XC_MEMBER("collapsed_slice_dims", kGatherDims, collapsed_slice_dims),
    XC_MEMBER("start_index_map", kGatherDims, start_index_map),
    XC_MEMBER("operand_batching_dims", kGatherDims, operand_batching_dims),
    XC_MEMBER("start_indices_batching_dims", kGatherDims, start_indices_batching_dims),
    XC_MEMBER("index_vector_dim", kGatherDims, index_vector_dim),
    XC_MEMBER("update_window_dims", kScatterDims, update_window_dims),
    XC_MEMBER("inserted_window_dims", kScatterDims, inserted_window_dims),
    XC_MEMBER("scatter_dims_to_operand_dims", kScatterDims, scatter_dims_to_operand_dims),
    XC_MEMBER("input_batching_dims", kScatterDims, input_batching_dims),
    XC_MEMBER("scatter_indices_batching_dims", kScatterDims, scatter_indices_batching_dims),
    XC_MEMBER("index_vector_dim", kScatterDims, index_vector_dim),
    XC_WHOLE("slice_sizes", kSliceSizes),
    XC_WHOLE("slice_sizes", kSliceSizesList),
    XC_WHOLE("dynamic_slice_sizes", kDynamicSliceSizes),
    XC_WHOLE("indices_are_sorted", kIndicesAreSorted),
    XC_WHOLE("unique_indices", kUniqueIndices),
    XC_WHOLE("slice", kSlice),
    XC_WHOLE("padding", kPadding),
    XC_WHOLE("direction", kDirection),
    XC_WHOLE("type", kCompareType),
    XC_WHOLE("index", kIndex),
    XC_WHOLE("iota_dimension", kIotaDimension),
    XC_WHOLE("inferred_dimension", kInferredDimension),
    XC_WHOLE("epsilon", kEpsilon),
    XC_WHOLE("feature_index", kFeatureIndex),
    XC_WHOLE("kind", kFusionKind),
    XC_WHOLE("output_to_operand_aliasing", kOutputToOperandAliasing),
    XC_WHOLE("fft_type", kFftType),
    XC_WHOLE("fft_length", kFftLength),
    XC_WHOLE("exponent_bits", kExponentBits),
    XC_WHOLE("mantissa_bits", kMantissaBits),
    XC_WHOLE("distribution", kDistribution),
    XC_WHOLE("delta", kDelta),
    XC_WHOLE("is_stable", kIsStable),
    XC_WHOLE("k", kK),
    XC_WHOLE("largest", kLargest),
    XC_WHOLE("lower", kLower),
    XC_WHOLE("left_side", kLeftSide),
    XC_WHOLE("unit_diagonal", kUnitDiagonal),
    XC_WHOLE("transpose_a", kTransposeA),
    XC_WHOLE("is_reverse", kIsReverse),
    XC_WORD("is_associative", kIsAssociative),
    XC_WHOLE("num_carries", kNumCarries),
    XC_WHOLE("is_composite", kIsComposite),
    XC_WHOLE("custom_call_target", kCustomCallTarget),
    XC_WHOLE("operand_layout_constraints", kOperandLayoutConstraints),
    XC_WHOLE("custom_call_has_side_effect", kCustomCallHasSideEffect),
    XC_WORD("schedule", kCustomCallSchedule),
    XC_WORD("custom_call_schedule", kCustomCallSchedule),
    XC_WORD("api_version", kApiVersion),
    XC_WORD("padding_type", kPaddingType),
    XC_WHOLE("literal", kLiteral),
    XC_WHOLE("replica_groups", kReplicaGroups),
    XC_WHOLE("source_target_pairs", kSourceTargetPairs),
    XC_WHOLE("channel_id", kChannelId),
    XC_WHOLE("constrain_layout", kConstrainLayout),
    XC_WHOLE("use_global_device_ids", kUseGlobalDeviceIds),
    XC_WHOLE("is_host_transfer", kIsHostTransfer),
    XC_WHOLE("infeed_config", kInfeedConfig),
    XC_WHOLE("outfeed_config", kOutfeedConfig),
    XC_WHOLE("outfeed_shape", kOutfeedShape),
    XC_WHOLE("async_execution_thread", kAsyncExecutionThread),
    XC_WHOLE("cross_program_prefetch_index", kCrossProgramPrefetchIndex),
    XC_WHOLE("parameter_replication", kParameterReplication),
    XC_WHOLE("domain", kDomain),
    XC_WHOLE("metadata", kMetadata),
    XC_WHOLE("sharding", kSharding),
    XC_WHOLE("backend_config", kBackendConfig),
    XC_WHOLE("frontend_attributes", kFrontendAttributes),
    XC_WHOLE("statistics", kStatistics),
    XC_RAW("origin", kOrigin),
    XC_RAW("result_accuracy", kResultAccuracy),
};
constexpr int kRowCount = sizeof(kRows) / sizeof(kRows[0]);

bool Applies(const Row& row, HloOpcode opcode) {
  if (row.kind >= 0) return OpcodeHasAttr(opcode, static_cast<AttrKind>(row.kind));
  return row.calls == kEvery || (row.calls & Style(OpcodeCallStyle(opcode)));
}

// First row of each name; rows of one name stand together or are found by going on.
const absl::flat_hash_map<absl::string_view, std::vector<int>>& RowsByName() {
  static const auto* const kMap = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, std::vector<int>>();
    for (int i = 0; i < kRowCount; ++i) (*map)[kRows[i].name].push_back(i);
    return map;
  }();
  return *kMap;
}

}  // namespace

bool Parser::ParseAttributes(HloInstruction* instruction) {
  std::bitset<kRowCount> seen;
  while (Accept(',')) {
    const char* at = lex_.position();
    if (lex_.tok().kind != Tok::kName) return Expected("the name of an attribute");
    const absl::string_view name = lex_.tok().text;
    int found = -1;
    const auto& by_name = RowsByName();
    if (auto it = by_name.find(name); it != by_name.end()) {
      for (int row : it->second) {
        if (Applies(kRows[row], instruction->opcode())) found = row;
      }
    }
    if (found < 0) {
      std::vector<absl::string_view> allowed;
      for (const Row& row : kRows) {
        if (Applies(row, instruction->opcode())) allowed.push_back(row.name);
      }
      return Fail(at, absl::StrCat("unknown attribute '", name, "' of ", OpcodeName(instruction->opcode()),
                                   "; expected one of: ", absl::StrJoin(allowed, ", ")));
    }
    if (seen.test(found)) return Fail(at, absl::StrCat("attribute '", name, "' is given twice"));
    seen.set(found);
    lex_.Next();
    if (!Expect('=') || !kRows[found].parse(*this, instruction)) return false;
  }
  return true;
}

bool Parser::CheckRequired(const HloInstruction& instruction, const char* at) {
  const absl::string_view missing = MissingAttribute(instruction);
  if (missing.empty()) return true;
  return Fail(at, absl::StrCat(OpcodeName(instruction.opcode()), " needs the attribute '", missing, "'"));
}

}  // namespace xc
