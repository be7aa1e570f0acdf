// Attributes of StableHLO, of CHLO, and VHLO's versioned copies of these and of builtin ones.
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/bytecode/reader.h"

namespace xc::stablehlo {
namespace {

using Kind = Attr::Kind;
using Words = std::initializer_list<absl::string_view>;

constexpr Words kDirections = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr Words kComparisons = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr Words kFfts = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr Words kPrecisions = {"DEFAULT", "HIGH", "HIGHEST"};
constexpr Words kAlgorithms = {"DEFAULT", "THREE_FRY", "PHILOX"};
constexpr Words kDistributions = {"", "UNIFORM", "NORMAL"};
constexpr Words kTransposes = {"", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr Words kAccuracies = {"DEFAULT", "HIGHEST", "TOLERANCE"};
constexpr uint64_t kApiVersions = 5;

constexpr Words kDotLists = {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
                             "rhs_contracting_dimensions"};
constexpr Words kGatherLists = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                "start_indices_batching_dims", "start_index_map"};
constexpr Words kScatterLists = {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                                 "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};

Attr IntAttr(int64_t value) {
  Attr attr;
  attr.kind = Kind::kInt;
  attr.integer = value;
  return attr;
}

}  // namespace

// Each side has every dimension once.
std::string WrongConvDims(const ConvDims& dims) {
  const auto wrong = [](int64_t first, int64_t second, const Int64List& spatial) {
    std::vector<bool> seen(spatial.size() + 2);
    Int64List all = spatial;
    all.push_back(first);
    all.push_back(second);
    for (int64_t d : all) {
      if (d < 0 || d >= static_cast<int64_t>(seen.size()) || seen[d]) return true;
      seen[d] = true;
    }
    return false;
  };
  if (wrong(dims.input_batch, dims.input_feature, dims.input_spatial) ||
      wrong(dims.kernel_input_feature, dims.kernel_output_feature, dims.kernel_spatial) ||
      wrong(dims.output_batch, dims.output_feature, dims.output_spatial)) {
    return "each side of a convolution's dimension numbers should have every dimension once";
  }
  if (dims.input_spatial.size() != dims.kernel_spatial.size() ||
      dims.input_spatial.size() != dims.output_spatial.size()) {
    return "the sides of a convolution's dimension numbers should have as many spatial dimensions each";
  }
  return "";
}

// One word of a list, by its number; an empty one stands for a number that nothing has.
bool BytecodeReader::DecodeWord(absl::string_view mnemonic, Words words, Cursor* in, Attr* out) {
  const char* at = in->at();
  uint64_t code = 0;
  if (!in->VarInt(&code)) return false;
  if (code >= words.size() || words.begin()[code].empty()) {
    return in->FailAt(at, absl::StrCat(code, " is no value of ", mnemonic));
  }
  out->kind = Kind::kWord;
  out->text = std::string(words.begin()[code]);
  out->source = Keep(absl::StrCat("#stablehlo<", mnemonic, " ", out->text, ">"));
  return true;
}

// Lists of integers, then an integer if it has a name.
bool BytecodeReader::DecodeFields(absl::string_view name, Words lists, absl::string_view integer, Cursor* in,
                                  Attr* out) {
  out->kind = Kind::kDialect;
  out->text = std::string(name);
  for (absl::string_view list : lists) {
    Attr ints;
    ints.kind = Kind::kInts;
    if (!SignedInts(in, &ints.ints)) return false;
    out->fields.push_back({std::string(list), std::move(ints)});
  }
  int64_t value = 0;
  if (integer.empty()) return true;
  if (!in->SignedVarInt(&value)) return false;
  out->fields.push_back({std::string(integer), IntAttr(value)});
  return true;
}

bool BytecodeReader::DecodeAlias(absl::string_view name, Cursor* in, Attr* out) {
  if (!DecodeFields(name, {"output_tuple_indices"}, "operand_index", in, out)) return false;
  Attr ints;
  ints.kind = Kind::kInts;
  if (!SignedInts(in, &ints.ints)) return false;
  out->fields.push_back({"operand_tuple_indices", std::move(ints)});
  return true;
}

bool BytecodeReader::DecodeConvDims(Cursor* in, Attr* out) {
  ConvDims dims;
  const char* at = in->at();
  const auto side = [&](int64_t* first, int64_t* second, Int64List* spatial) {
    return in->SignedVarInt(first) && in->SignedVarInt(second) && SignedInts(in, spatial);
  };
  if (!side(&dims.input_batch, &dims.input_feature, &dims.input_spatial) ||
      !side(&dims.kernel_input_feature, &dims.kernel_output_feature, &dims.kernel_spatial) ||
      !side(&dims.output_batch, &dims.output_feature, &dims.output_spatial)) {
    return false;
  }
  if (const std::string wrong = WrongConvDims(dims); !wrong.empty()) return in->FailAt(at, wrong);
  out->kind = Kind::kConvDims;
  out->conv_dims = std::make_shared<const ConvDims>(std::move(dims));
  return true;
}

bool BytecodeReader::DecodeAlgorithm(Cursor* in, Parent* parent, Attr* out) {
  out->kind = Kind::kDialect;
  out->text = "stablehlo.dot_algorithm";
  for (absl::string_view name : {"lhs_precision_type", "rhs_precision_type", "accumulation_type"}) {
    Attr type;
    if (!DecodeTypeAttr(in, parent, &type)) return false;
    out->fields.push_back({std::string(name), std::move(type)});
  }
  for (absl::string_view name : {"lhs_component_count", "rhs_component_count", "num_primitive_operations"}) {
    int64_t value = 0;
    if (!in->SignedVarInt(&value)) return false;
    out->fields.push_back({std::string(name), IntAttr(value)});
  }
  uint8_t fast = 0;
  if (!in->Byte(&fast)) return false;
  Attr allow = IntAttr(fast != 0);
  allow.kind = Kind::kBool;
  out->fields.push_back({"allow_imprecise_accumulation", std::move(allow)});
  return true;
}

// Two bounds of the error, a third one in units of the last place, and a mode. Results are as accurate as the backend
// makes them, whatever is asked for.
bool BytecodeReader::DecodeAccuracy(Cursor* in, Parent* parent, Attr* out) {
  uint64_t absolute = 0, relative = 0;
  int64_t ulps = 0;
  out->kind = Kind::kDialect;
  out->text = "stablehlo.result_accuracy";
  return ReadBits(64, in, &absolute) && ReadBits(64, in, &relative) && in->SignedVarInt(&ulps) &&
         ReadAttrRef(parent, in) != nullptr;
}

bool BytecodeReader::DecodeStablehloAttr(Cursor* in, Parent* parent, Attr* out) {
  const char* at = in->at();
  uint64_t code = 0;
  if (!in->VarInt(&code)) return false;
  switch (code) {
    case 1: {
      int64_t type = 0;
      if (!DecodeFields("stablehlo.channel_handle", {}, "handle", in, out) || !in->SignedVarInt(&type)) return false;
      out->fields.push_back({"type", IntAttr(type)});
      return true;
    }
    case 2:
      return DecodeWord("comparison_direction", kDirections, in, out);
    case 3:
      return DecodeWord("comparison_type", kComparisons, in, out);
    case 4:
      return DecodeConvDims(in, out);
    case 5:
      return DecodeFields("stablehlo.dot", kDotLists, "", in, out);
    case 6:
      return DecodeWord("fft_type", kFfts, in, out);
    case 7:
      return DecodeFields("stablehlo.gather", kGatherLists, "index_vector_dim", in, out);
    case 8:
      return DecodeWord("precision", kPrecisions, in, out);
    case 9:
      return DecodeWord("rng_algorithm", kAlgorithms, in, out);
    case 10:
      return DecodeWord("rng_distribution", kDistributions, in, out);
    case 11:
      return DecodeFields("stablehlo.scatter", kScatterLists, "index_vector_dim", in, out);
    case 12:
      return DecodeWord("transpose", kTransposes, in, out);
    case 13:
      return DecodeFields("stablehlo.bounds", {"bounds"}, "", in, out);
    case 14:
      return DecodeAlias("stablehlo.output_operand_alias", in, out);
    case 15:
      return DecodeAlgorithm(in, parent, out);
    case 16:
      return DecodeWord("result_accuracy_mode", kAccuracies, in, out);
    case 17:
      return DecodeAccuracy(in, parent, out);
    default:
      return in->FailAt(at, absl::StrCat("the attribute of StableHLO with the code ", code, " is not supported"));
  }
}

bool BytecodeReader::DecodeChloAttr(Cursor* in, Attr* out) {
  const char* at = in->at();
  uint64_t code = 0;
  if (!in->VarInt(&code)) return false;
  if (code == 0) return DecodeWord("comparison_direction", kDirections, in, out);
  if (code == 1) return DecodeWord("comparison_type", kComparisons, in, out);
  return in->FailAt(at, absl::StrCat("the attribute of CHLO with the code ", code, " is not supported"));
}

bool BytecodeReader::DecodeVhloAttr(Cursor* in, Parent* parent, Attr* out) {
  const char* at = in->at();
  uint64_t code = 0, value = 0;
  if (!in->VarInt(&code)) return false;
  switch (code) {
    case 1:
      return DecodeArray(in, parent, out);
    case 2:
      if (!in->VarInt(&value)) return false;
      out->kind = Kind::kBool;
      out->integer = value != 0;
      out->source = value != 0 ? "true" : "false";
      return true;
    case 3:
      return DecodeWord("comparison_direction", kDirections, in, out);
    case 4:
      return DecodeWord("comparison_type", kComparisons, in, out);
    case 5:
      if (!in->Index("version of custom calls", kApiVersions, &value)) return false;
      *out = IntAttr(static_cast<int64_t>(value));
      return true;
    case 6:
      return DecodeDictionary(in, parent, out);
    case 7:
      return DecodeWord("fft_type", kFfts, in, out);
    case 8:
      return DecodeFloat(in, parent, out);
    case 9:
      return DecodeInteger(in, parent, out);
    case 10:
      return DecodeAlias("stablehlo.output_operand_alias", in, out);
    case 11:
      return DecodeWord("precision", kPrecisions, in, out);
    case 12:
      return DecodeWord("rng_algorithm", kAlgorithms, in, out);
    case 13:
      return DecodeWord("rng_distribution", kDistributions, in, out);
    case 14: {
      absl::string_view text;
      if (!String(in, &text)) return false;
      out->kind = Kind::kString;
      out->text = std::string(text);
      return true;
    }
    case 15:
      return DecodeElements(in, parent, out);
    case 16:
      return DecodeWord("transpose", kTransposes, in, out);
    case 17:
      return DecodeTypeAttr(in, parent, out);
    case 18:
      return DecodeFields("stablehlo.bounds", {"bounds"}, "", in, out);
    case 19:
      return DecodeWord("result_accuracy_mode", kAccuracies, in, out);
    case 20:
      return DecodeAccuracy(in, parent, out);
    default:
      return in->FailAt(at, absl::StrCat("the attribute of VHLO with the code ", code, " is not supported"));
  }
}

}  // namespace xc::stablehlo
