// Attributes: the table of text names, and the values that are not shapes, literals, shardings or metadata.
#include <algorithm>
#include <bitset>
#include <charconv>

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

// Simple values.

bool Parser::Parse(bool* out) {
  if (lex_.AtName("true") || lex_.AtName("false")) {
    *out = lex_.AtName("true");
  } else if (lex_.tok().kind == Tok::kInt && (lex_.tok().text == "0" || lex_.tok().text == "1")) {
    *out = lex_.tok().text == "1";
  } else {
    return Expected("true or false");
  }
  lex_.Next();
  return true;
}

bool Parser::Parse(int64_t* out) {
  if (lex_.tok().kind != Tok::kInt) return Expected("an integer");
  const absl::string_view text = lex_.tok().text;
  const auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), *out);
  if (ec != std::errc()) return Fail(lex_.position(), absl::StrCat(text, " does not fit into 64 bits"));
  lex_.Next();
  return true;
}

bool Parser::Parse(double* out) {
  const char* p = lex_.position();
  const auto [stop, ec] = std::from_chars(p, lex_.end(), *out);
  if (ec == std::errc::result_out_of_range) return Fail(p, "this number is out of range");
  if (ec != std::errc()) return Expected("a number");
  lex_.ContinueAt(stop);
  return true;
}

bool Parser::Parse(float* out) {
  const char* p = lex_.position();
  const auto [stop, ec] = std::from_chars(p, lex_.end(), *out);
  if (ec == std::errc::result_out_of_range) return Fail(p, "this number is out of range for f32");
  if (ec != std::errc()) return Expected("a number");
  lex_.ContinueAt(stop);
  return true;
}

bool Parser::Parse(std::string* out) {
  if (lex_.tok().kind != Tok::kString) return Expected("a string in quotes");
  *out = Unescape(lex_.tok().text);
  lex_.Next();
  return true;
}

bool Parser::ParseWord(std::string* out) {
  if (lex_.tok().kind != Tok::kName) return Expected("a word");
  *out = std::string(lex_.tok().text);
  lex_.Next();
  return true;
}

bool Parser::ParseRaw(std::string* out) {
  if (!lex_.At('{')) {
    const char* at = lex_.position();
    *out = std::string(lex_.RawWord());
    return !out->empty() || Fail(at, "expected text in braces");
  }
  const char* at = lex_.position();
  const absl::string_view text = lex_.RawBraces();
  if (text.empty()) return Fail(at, "this '{' has no matching '}'");
  *out = std::string(text);
  return true;
}

bool Parser::Parse(Int64List* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    if (!Parse(&out->emplace_back())) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::Parse(std::vector<bool>* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    bool value;
    if (!Parse(&value)) return false;
    out->push_back(value);
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::Parse(std::vector<Int64List>* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    if (!Parse(&out->emplace_back())) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::Parse(StringList* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    if (!ParseWord(&out->emplace_back())) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

template <typename T, size_t kCount>
bool Parser::ParseEnum(const std::pair<absl::string_view, T> (&names)[kCount], T* out) {
  if (lex_.tok().kind == Tok::kName) {
    for (const auto& [name, value] : names) {
      if (lex_.tok().text == name) {
        *out = value;
        lex_.Next();
        return true;
      }
    }
  }
  std::string all;
  for (const auto& [name, value] : names) absl::StrAppend(&all, all.empty() ? "" : ", ", name);
  return Expected(absl::StrCat("one of ", all));
}

#define XC_ENUM(T, ...)                                                      \
  bool Parser::Parse(T* out) {                                               \
    static constexpr std::pair<absl::string_view, T> kNames[] = __VA_ARGS__; \
    return ParseEnum(kNames, out);                                           \
  }
XC_ENUM(CompareDirection, {{"EQ", CompareDirection::kEq},
                           {"NE", CompareDirection::kNe},
                           {"GE", CompareDirection::kGe},
                           {"GT", CompareDirection::kGt},
                           {"LE", CompareDirection::kLe},
                           {"LT", CompareDirection::kLt}})
XC_ENUM(CompareType, {{"FLOAT", CompareType::kFloat},
                      {"TOTALORDER", CompareType::kTotalOrder},
                      {"SIGNED", CompareType::kSigned},
                      {"UNSIGNED", CompareType::kUnsigned}})
XC_ENUM(FusionKind, {{"kLoop", FusionKind::kLoop},
                     {"kInput", FusionKind::kInput},
                     {"kOutput", FusionKind::kOutput},
                     {"kCustom", FusionKind::kCustom}})
XC_ENUM(FftType,
        {{"FFT", FftType::kFft}, {"IFFT", FftType::kIfft}, {"RFFT", FftType::kRfft}, {"IRFFT", FftType::kIrfft}})
XC_ENUM(RandomDistribution, {{"rng_invalid", RandomDistribution::kInvalid},
                             {"rng_uniform", RandomDistribution::kUniform},
                             {"rng_normal", RandomDistribution::kNormal}})
XC_ENUM(RandomAlgorithm, {{"rng_default", RandomAlgorithm::kDefault},
                          {"rng_three_fry", RandomAlgorithm::kThreeFry},
                          {"rng_philox", RandomAlgorithm::kPhilox}})
XC_ENUM(TriangularTranspose, {{"TRANSPOSE_INVALID", TriangularTranspose::kInvalid},
                              {"NO_TRANSPOSE", TriangularTranspose::kNo},
                              {"TRANSPOSE", TriangularTranspose::kTranspose},
                              {"ADJOINT", TriangularTranspose::kAdjoint}})
#undef XC_ENUM

// {[0:4:2], [1:3]}
bool Parser::Parse(SliceAttr* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    int64_t start, limit, stride = 1;
    if (!Expect('[') || !Parse(&start) || !Expect(':') || !Parse(&limit)) return false;
    if (Accept(':') && !Parse(&stride)) return false;
    if (!Expect(']')) return false;
    out->starts.push_back(start);
    out->limits.push_back(limit);
    out->strides.push_back(stride);
    if (!Accept(',')) break;
  }
  return Expect('}');
}

// {{0}: (0, {}), {1}: (2, {1}, may-alias)}; the kind is dropped.
bool Parser::Parse(OutputOperandAliasing* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    OutputOperandAlias& alias = out->emplace_back();
    if (!ParseShapeIndex(&alias.output_index) || !Expect(':') || !Expect('(') || !Parse(&alias.operand) ||
        !Expect(',') || !ParseShapeIndex(&alias.operand_index)) {
      return false;
    }
    if (Accept(',')) {
      std::string kind;
      if (!ParseWord(&kind)) return false;
    }
    if (!Expect(')')) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::Parse(BackendConfig* out) {
  if (lex_.At('{')) {
    out->braces = true;
    return ParseRaw(&out->text);
  }
  if (!Parse(&out->text)) return false;
  out->braces = IsBraced(out->text);
  return true;
}

// {a="b",c={raw}}; a braced value keeps its braces.
bool Parser::Parse(FrontendAttributes* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    auto& [key, value] = out->emplace_back();
    if (lex_.tok().kind == Tok::kString) {
      if (!Parse(&key)) return false;
    } else if (!ParseWord(&key)) {
      return false;
    }
    if (!Expect('=')) return false;
    if (lex_.At('{') ? !ParseRaw(&value) : !Parse(&value)) return false;
    if (!Accept(',')) break;
  }
  // The wire format has a map: in order of keys.
  std::stable_sort(out->begin(), out->end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return Expect('}');
}

// {visualizing_index=1,stat-1=33,stat-2=44.5}
bool Parser::Parse(Statistics* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    std::string name;
    if (!ParseWord(&name) || !Expect('=')) return false;
    if (name == "visualizing_index") {
      if (!Parse(&out->visualizing_index)) return false;
    } else {
      double value;
      if (!Parse(&value)) return false;
      out->values.emplace_back(std::move(name), value);
    }
    if (!Accept(',')) break;
  }
  return Expect('}');
}

namespace {

// Splits "3x4x5" and reads each part with `read`, which moves its pointer on.
template <typename F>
bool ReadDims(absl::string_view word, const F& read) {
  const char* p = word.data();
  const char* end = p + word.size();
  if (p == end) return false;
  for (size_t i = 0;; ++i) {
    if (!read(i, p, end)) return false;
    if (p == end) return true;
    if (*p != 'x') return false;
    ++p;
  }
}

bool ReadInt(const char*& p, const char* end, int64_t* out) {
  const auto [stop, ec] = std::from_chars(p, end, *out);
  if (ec != std::errc()) return false;
  p = stop;
  return true;
}

}  // namespace

// 1_2x0_0_3: low_high[_interior] per dimension. A scalar's padding is empty.
bool Parser::Parse(PaddingAttr* out) {
  const char* at = lex_.position();
  if (lex_.At(',') || lex_.tok().kind == Tok::kName || lex_.tok().kind == Tok::kEof) return true;
  const absl::string_view word = lex_.RawWord();
  const bool ok = ReadDims(word, [&](size_t, const char*& p, const char* end) {
    PaddingDim& dim = out->dims.emplace_back();
    if (!ReadInt(p, end, &dim.low) || p == end || *p++ != '_' || !ReadInt(p, end, &dim.high)) return false;
    if (p < end && *p == '_') return ReadInt(++p, end, &dim.interior);
    return true;
  });
  return ok || Fail(at, "expected padding as LOW_HIGH or LOW_HIGH_INTERIOR for each dimension, joined by 'x'");
}

// {size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x0}
bool Parser::Parse(WindowAttr* out) {
  if (!Expect('{')) return false;
  uint32_t seen = 0;
  const char* start = lex_.position();
  while (!lex_.At('}')) {
    const char* at = lex_.position();
    static constexpr absl::string_view kNames[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
    size_t which = 0;
    while (which < 6 && !lex_.AtName(kNames[which])) ++which;
    if (which == 6) return Expected("size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
    if (seen & (1u << which)) return Fail(at, absl::StrCat("'", kNames[which], "' is given twice"));
    lex_.Next();
    if (!lex_.At('=')) return Expected("'='");
    lex_.Next();
    const char* value_at = lex_.position();
    const absl::string_view word = lex_.RawWord();
    size_t count = 0;
    const bool ok = ReadDims(word, [&](size_t i, const char*& p, const char* end) {
      count = i + 1;
      if (i >= out->dims.size()) {
        if (seen != 0) return false;
        out->dims.emplace_back();
      }
      WindowDim& dim = out->dims[i];
      int64_t value = 0;
      switch (which) {
        case 0:
          return ReadInt(p, end, &dim.size);
        case 1:
          return ReadInt(p, end, &dim.stride);
        case 2:
          return ReadInt(p, end, &dim.padding_low) && p < end && *p++ == '_' && ReadInt(p, end, &dim.padding_high);
        case 3:
          return ReadInt(p, end, &dim.base_dilation);
        case 4:
          return ReadInt(p, end, &dim.window_dilation);
        default:
          if (!ReadInt(p, end, &value) || value < 0 || value > 1) return false;
          dim.reversal = value == 1;
          return true;
      }
    });
    if (!ok || count != out->dims.size()) {
      return Fail(value_at, absl::StrCat("expected ", which == 2 ? "LOW_HIGH" : (which == 5 ? "0 or 1" : "a number"),
                                         " for each dimension of the window, joined by 'x'"));
    }
    seen |= 1u << which;
    Accept(',');
  }
  if (!out->dims.empty() && !(seen & 1)) return Fail(start, "a window needs 'size'");
  return Expect('}');
}

// b01f_01io->b01f
bool Parser::Parse(ConvDims* out) {
  const char* at = lex_.position();
  const absl::string_view word = lex_.RawWord();
  const size_t underscore = word.find('_');
  const size_t arrow = word.find("->");
  const auto fail = [&](absl::string_view why) {
    return Fail(at, absl::StrCat("expected dimension labels such as b01f_01io->b01f: ", why));
  };
  if (underscore == absl::string_view::npos || arrow == absl::string_view::npos || arrow < underscore) {
    return fail("an input, a kernel and an output part");
  }
  const absl::string_view parts[3] = {word.substr(0, underscore), word.substr(underscore + 1, arrow - underscore - 1),
                                      word.substr(arrow + 2)};
  const size_t rank = parts[0].size();
  if (rank < 2 || rank > 12 || parts[1].size() != rank || parts[2].size() != rank) {
    return fail("the three parts need the same number of dimensions, two at least and twelve at most");
  }
  struct {
    char first, second;
    int64_t *first_out, *second_out;
    Int64List* spatial;
  } const rules[3] = {{'b', 'f', &out->input_batch, &out->input_feature, &out->input_spatial},
                      {'i', 'o', &out->kernel_input_feature, &out->kernel_output_feature, &out->kernel_spatial},
                      {'b', 'f', &out->output_batch, &out->output_feature, &out->output_spatial}};
  for (int part = 0; part < 3; ++part) {
    rules[part].spatial->assign(rank - 2, -1);
    bool first = false, second = false;
    for (size_t i = 0; i < rank; ++i) {
      const char c = parts[part][i];
      if (c == rules[part].first && !first) {
        first = true;
        *rules[part].first_out = i;
      } else if (c == rules[part].second && !second) {
        second = true;
        *rules[part].second_out = i;
      } else if (c >= '0' && c < static_cast<char>('0' + rank - 2) && (*rules[part].spatial)[c - '0'] == -1) {
        (*rules[part].spatial)[c - '0'] = i;
      } else {
        return fail(
            absl::StrCat("'", std::string(1, c), "' does not belong at position ", i, " of '", parts[part], "'"));
      }
    }
  }
  return true;
}

}  // namespace xc
