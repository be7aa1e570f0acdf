// Attributes of the dialect sdy, which says how arrays are laid out over devices: read into the text that assembly has
// of them, so that what follows sees one form.
#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "importers/stablehlo/bytecode/reader.h"

namespace xc::stablehlo {
namespace {

// Their numbers in the file. Some have a second one, for a form with more fields.
enum SdyCode : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kSubAxis = 3,
  kAxisRef = 4,
  kDimSharding = 5,
  kSharding = 6,
  kShardingPerValue = 7,
  kDimMapping = 8,
  kTensorMapping = 9,
  kShardingRule = 10,
  kAxisRefList = 11,
  kShardingUnreduced = 15,
  kShardingPerValueUnreduced = 16,
  kShardingReduction = 17,
};

std::string Quoted(absl::string_view name) { return absl::StrCat("\"", absl::CEscape(name), "\""); }

}  // namespace

// A list of references to attributes of the dialect, as their texts.
bool BytecodeReader::SdyList(Parent* parent, Cursor* in, std::vector<std::string>* out) {
  std::vector<Attr> attributes;
  if (!ReadAttrRefs(parent, in, &attributes)) return false;
  for (const Attr& attr : attributes) {
    out->push_back(attr.kind == Attr::Kind::kString ? Quoted(attr.text) : std::string(attr.source));
  }
  return true;
}

bool BytecodeReader::DecodeSdySharding(uint64_t code, Cursor* in, Parent* parent, std::string* text) {
  const Attr* const mesh = ReadAttrRef(parent, in);
  std::vector<std::string> dims, replicated, unreduced;
  if (mesh == nullptr || !SdyList(parent, in, &dims) || !SdyList(parent, in, &replicated)) return false;
  if (code != kSharding && !SdyList(parent, in, &unreduced)) return false;
  int64_t reduction = 0;
  const char* const at = in->at();
  if (code == kShardingReduction && !in->SignedVarInt(&reduction)) return false;
  if (reduction != 0) return in->FailAt(at, "sdy.sharding: reductions other than sums are not supported");
  absl::string_view mesh_text = mesh->source;
  absl::ConsumePrefix(&mesh_text, "#sdy.");
  *text = absl::StrCat("#sdy.sharding<", mesh->kind == Attr::Kind::kSymbol ? absl::StrCat("@", mesh->text) : mesh_text,
                       ", [", absl::StrJoin(dims, ", "), "]");
  if (!replicated.empty()) absl::StrAppend(text, ", replicated={", absl::StrJoin(replicated, ", "), "}");
  if (!unreduced.empty()) absl::StrAppend(text, ", unreduced={", absl::StrJoin(unreduced, ", "), "}");
  absl::StrAppend(text, ">");
  return true;
}

bool BytecodeReader::DecodeSdyAxis(uint64_t code, Cursor* in, Parent* parent, std::string* text) {
  absl::string_view name;
  if (code != kSubAxis && !String(in, &name)) return false;
  if (code == kAxisRef) {
    uint64_t reference = 0;
    bool has_part = false;
    if (!in->VarIntWithFlag(&reference, &has_part)) return false;
    *text = Quoted(name);
    if (!has_part) return true;
    const Attr* const part = AttrAt(reference, parent, in);
    if (part == nullptr) return false;
    absl::StrAppend(text, ":", part->source);
    return true;
  }
  int64_t pre_size = 0, size = 0;
  if ((code == kSubAxis && !in->SignedVarInt(&pre_size)) || !in->SignedVarInt(&size)) return false;
  *text = code == kSubAxis ? absl::StrCat("(", pre_size, ")", size) : absl::StrCat(Quoted(name), "=", size);
  return true;
}

bool BytecodeReader::DecodeSdyDim(Cursor* in, Parent* parent, std::string* text) {
  std::vector<std::string> axes;
  uint8_t closed = 0;
  uint64_t priority = 0;
  bool has_priority = false;
  if (!SdyList(parent, in, &axes) || !in->Byte(&closed) || !in->VarIntWithFlag(&priority, &has_priority)) return false;
  if (closed == 0) axes.push_back("?");
  *text = absl::StrCat("{", absl::StrJoin(axes, ", "), "}");
  if (has_priority) absl::StrAppend(text, "p", priority);
  return true;
}

bool BytecodeReader::DecodeSdyMesh(Cursor* in, Parent* parent, std::string* text) {
  std::vector<std::string> axes;
  Int64List ids;
  if (!SdyList(parent, in, &axes) || !SignedInts(in, &ids)) return false;
  *text = absl::StrCat("#sdy.mesh<[", absl::StrJoin(axes, ", "), "]");
  if (!ids.empty()) absl::StrAppend(text, ", device_ids=[", absl::StrJoin(ids, ", "), "]");
  absl::StrAppend(text, ">");
  return true;
}

namespace {

// Factors are `i` to `z`, then `z_1`, `z_2`, ….
std::string FactorName(int64_t factor) {
  constexpr int64_t kLetters = 'z' - 'i' + 1;
  return factor < kLetters ? std::string(1, static_cast<char>('i' + factor))
                           : absl::StrCat("z_", factor - kLetters + 1);
}

std::string FactorNames(const Int64List& factors, absl::string_view between) {
  return absl::StrJoin(factors, between, [](std::string* out, int64_t factor) { *out += FactorName(factor); });
}

bool AreFactors(const Int64List& factors) {
  return std::all_of(factors.begin(), factors.end(), [](int64_t factor) { return factor >= 0 && factor < 1 << 20; });
}

}  // namespace

bool BytecodeReader::DecodeSdyRule(Cursor* in, Parent* parent, std::string* text) {
  Int64List sizes;
  std::vector<std::string> operands, results;
  if (!SignedInts(in, &sizes) || !SdyList(parent, in, &operands) || !SdyList(parent, in, &results)) return false;
  *text = absl::StrCat("#sdy.op_sharding_rule<(", absl::StrJoin(operands, ", "), ")->(", absl::StrJoin(results, ", "),
                       ") {");
  for (size_t i = 0; i < sizes.size(); ++i) {
    absl::StrAppend(text, i == 0 ? "" : ", ", FactorName(static_cast<int64_t>(i)), "=", sizes[i]);
  }
  absl::StrAppend(text, "}");
  for (const char* name : {"reduction", "need_replication", "permutation", "blocked_propagation"}) {
    Int64List factors;
    const char* const at = in->at();
    if (!SignedInts(in, &factors)) return false;
    if (!AreFactors(factors)) return in->FailAt(at, "sdy.sharding_rule: these are no factors");
    if (!factors.empty()) absl::StrAppend(text, " ", name, "={", FactorNames(factors, ", "), "}");
  }
  uint8_t custom = 0;
  if (!in->Byte(&custom)) return false;
  absl::StrAppend(text, custom == 0 ? ">" : ", custom>");
  return true;
}

bool BytecodeReader::DecodeSdyAttr(Cursor* in, Parent* parent, Attr* out) {
  uint64_t code = 0;
  std::string text;
  absl::string_view rest;
  std::vector<std::string> items;
  out->kind = Attr::Kind::kDialect;
  if (!in->VarInt(&code)) return false;
  bool read = true;
  switch (code) {
    case kMesh:
      out->text = "sdy.mesh";
      read = DecodeSdyMesh(in, parent, &text);
      break;
    case kMeshAxis:
    case kSubAxis:
    case kAxisRef:
      read = DecodeSdyAxis(code, in, parent, &text);
      break;
    case kDimSharding:
      read = DecodeSdyDim(in, parent, &text);
      break;
    case kSharding:
    case kShardingUnreduced:
    case kShardingReduction:
      out->text = "sdy.sharding";
      read = DecodeSdySharding(code, in, parent, &text);
      break;
    case kShardingPerValue:
    case kShardingPerValueUnreduced:
      out->text = "sdy.sharding_per_value";
      read = SdyList(parent, in, &items);
      for (std::string& item : items) item = std::string(absl::StripPrefix(item, "#sdy.sharding"));
      text = absl::StrCat("#sdy.sharding_per_value<[", absl::StrJoin(items, ", "), "]>");
      break;
    case kManualAxes:
      out->text = "sdy.manual_axes";
      read = SdyList(parent, in, &items);
      text = absl::StrCat("#sdy<manual_axes{", absl::StrJoin(items, ", "), "}>");
      break;
    case kAxisRefList:
      out->text = "sdy.list_of_axis_refs";
      read = SdyList(parent, in, &items);
      text = absl::StrCat("#sdy<list_of_axis_refs[", absl::StrJoin(items, ", "), "]>");
      break;
    case kDimMapping: {
      Int64List factors;
      const char* const at = in->at();
      read = SignedInts(in, &factors) && (AreFactors(factors) || in->FailAt(at, "sdy: these are no factors"));
      text = FactorNames(factors, "");
      break;
    }
    case kTensorMapping:
      read = SdyList(parent, in, &items);
      text = absl::StrCat("[", absl::StrJoin(items, ", "), "]");
      break;
    case kShardingRule:
      out->text = "sdy.op_sharding_rule";
      read = DecodeSdyRule(in, parent, &text);
      break;
    default:
      // Of collectives, which mean nothing here.
      out->text = "sdy";
      return in->Bytes(in->remaining(), &rest);
  }
  if (!read) return false;
  if (out->text.empty()) out->text = "sdy";
  parent->size += static_cast<int64_t>(text.size() / 4);
  out->source = Keep(std::move(text));
  return true;
}

}  // namespace xc::stablehlo
