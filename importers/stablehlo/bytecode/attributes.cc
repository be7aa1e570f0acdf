// Attributes: the table of them, builtin ones, and those that are written as assembly text.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/bytecode/reader.h"
#include "importers/stablehlo/syntax/parser.h"
#include "importers/stablehlo/syntax/print_attribute.h"

namespace xc::stablehlo {

using Kind = Attr::Kind;

const Attr* BytecodeReader::AttrAt(uint64_t index, Parent* parent, Cursor* in) {
  const auto decode = [&](Parent* self, AttrEntry* out) {
    const Encoded& encoded = sections_.attributes[index];
    if (!DecodeAttr(encoded, self, &out->attr)) return false;
    out->attr.at = encoded.bytes.data();
    constexpr size_t kBytesPerPiece = 64, kIntsPerPiece = 16;
    self->size += static_cast<int64_t>(out->attr.text.size() / kBytesPerPiece + out->attr.ints.size() / kIntsPerPiece);
    return true;
  };
  const AttrEntry* entry = EntryAt("attribute", index, attributes_, parent, in, decode);
  return entry == nullptr ? nullptr : &entry->attr;
}

const Attr* BytecodeReader::ReadAttrRef(Parent* parent, Cursor* in) {
  uint64_t index = 0;
  return in->VarInt(&index) ? AttrAt(index, parent, in) : nullptr;
}

bool BytecodeReader::ReadAttrRefs(Parent* parent, Cursor* in, std::vector<Attr>* out) {
  uint64_t count = 0;
  if (!in->Count("attributes", &count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const Attr* attr = ReadAttrRef(parent, in);
    if (attr == nullptr) return false;
    out->push_back(*attr);
  }
  return true;
}

bool BytecodeReader::ReadStringRef(Parent* parent, Cursor* in, std::string* out) {
  const Attr* attr = ReadAttrRef(parent, in);
  if (attr == nullptr) return false;
  if (attr->kind != Kind::kString) return in->Fail("expected a reference to a string");
  *out = attr->text;
  return true;
}

bool BytecodeReader::DecodeAttr(const Encoded& encoded, Parent* parent, Attr* out) {
  if (!encoded.custom) return DecodeAttrText(encoded, parent, out);
  Cursor in(encoded.bytes, "attribute", &errors_);
  const absl::string_view dialect = encoded.dialect;
  if (dialect == "builtin") return DecodeBuiltinAttr(&in, parent, out) && in.AtEnd("the attribute has");
  if (dialect == "vhlo") return DecodeVhloAttr(&in, parent, out) && in.AtEnd("the attribute has");
  if (dialect == "stablehlo") return DecodeStablehloAttr(&in, parent, out) && in.AtEnd("the attribute has");
  if (dialect == "chlo") return DecodeChloAttr(&in, out) && in.AtEnd("the attribute has");
  if (dialect == "sdy") return DecodeSdyAttr(&in, parent, out) && in.AtEnd("the attribute has");
  // Those of dialects that mean nothing here.
  out->kind = Kind::kDialect;
  out->text = std::string(dialect.substr(0, 100));
  return true;
}

bool BytecodeReader::DecodeAttrText(const Encoded& encoded, Parent* parent, Attr* out) {
  Cursor in(encoded.bytes, "attribute", &errors_);
  absl::string_view text;
  if (!in.ZeroTerminated(&text) || !in.AtEnd("the attribute has")) return false;
  parent->size += static_cast<int64_t>(text.size() / 4);
  Program scratch;
  Parser parser(text, text_options_, &scratch);
  if (!parser.ParseAttrAlone(out)) {
    return in.FailAt(encoded.bytes.data(), absl::StrCat("its text cannot be read: ", parser.status().message()));
  }
  return true;
}

bool BytecodeReader::DecodeBuiltinAttr(Cursor* in, Parent* parent, Attr* out) {
  const char* at = in->at();
  uint64_t code = 0;
  if (!in->VarInt(&code)) return false;
  switch (code) {
    case 0:
      return DecodeArray(in, parent, out);
    case 1:
      return DecodeDictionary(in, parent, out);
    case 2:
    case 3: {  // the second with a type
      absl::string_view text;
      if (!String(in, &text) || (code == 3 && ReadTypeRef(parent, in) == nullptr)) return false;
      out->kind = Kind::kString;
      out->text = std::string(text);
      return true;
    }
    case 4:
    case 5: {  // the second with names inside of the first
      out->kind = Kind::kSymbol;
      std::vector<Attr> nested;
      return ReadStringRef(parent, in, &out->text) && (code == 4 || ReadAttrRefs(parent, in, &nested));
    }
    case 6:
      return DecodeTypeAttr(in, parent, out);
    case 7:
      return true;  // a unit
    case 8:
      return DecodeInteger(in, parent, out);
    case 9:
      return DecodeFloat(in, parent, out);
    case 16:
      return DecodeResource(in, parent, out);
    case 17:
      return DecodeDenseArray(in, parent, out);
    case 18:
      return DecodeElements(in, parent, out);
    default:
      return in->FailAt(at, absl::StrCat("the builtin attribute with the code ", code, " is not supported here"));
  }
}

// A list of integers is kept compactly too.
bool BytecodeReader::DecodeArray(Cursor* in, Parent* parent, Attr* out) {
  if (!ReadAttrRefs(parent, in, &out->items)) return false;
  const bool ints =
      std::all_of(out->items.begin(), out->items.end(), [](const Attr& item) { return item.kind == Kind::kInt; });
  out->kind = ints ? Kind::kInts : Kind::kList;
  if (ints) {
    for (const Attr& item : out->items) out->ints.push_back(item.integer);
  }
  return true;
}

bool BytecodeReader::DecodeDictionary(Cursor* in, Parent* parent, Attr* out) {
  out->kind = Kind::kDictionary;
  uint64_t count = 0;
  if (!in->Count("attributes", &count)) return false;
  absl::flat_hash_set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    std::string name;
    if (!ReadStringRef(parent, in, &name)) return false;
    const Attr* value = ReadAttrRef(parent, in);
    if (value == nullptr) return false;
    if (!names.insert(name).second) return in->Fail(absl::StrCat("attribute `", name, "` is given twice"));
    out->fields.push_back({std::move(name), *value});
  }
  std::sort(out->fields.begin(), out->fields.end(),
            [](const NamedAttr& a, const NamedAttr& b) { return a.name < b.name; });
  return true;
}

// Numbers of up to 8 bits are a byte, wider ones a variable number of bytes.
bool BytecodeReader::ReadBits(int width, Cursor* in, uint64_t* out) {
  if (width <= 8) {
    uint8_t byte = 0;
    if (!in->Byte(&byte)) return false;
    *out = byte;
  } else {
    int64_t value = 0;
    if (!in->SignedVarInt(&value)) return false;
    *out = static_cast<uint64_t>(value);
  }
  if (width < 64) *out &= (uint64_t{1} << width) - 1;
  return true;
}

bool BytecodeReader::DecodeInteger(Cursor* in, Parent* parent, Attr* out) {
  const TypeEntry* type = ReadTypeRef(parent, in);
  if (type == nullptr || !UsableType(*type, in)) return false;
  const ElementType element = type->shape.type();
  const bool truth = element == ElementType::kPred;
  if (type->is_none || type->shape.rank() != 0 || !(truth || IsIntegral(element))) {
    return in->Fail("the type of an integer should be an integer's");
  }
  const int width = truth ? 1 : ElementBits(element);
  uint64_t bits = 0;
  if (!ReadBits(width, in, &bits)) return false;
  if (truth) {
    out->kind = Kind::kBool;
    out->integer = static_cast<int64_t>(bits);
    out->source = bits != 0 ? "true" : "false";
    return true;
  }
  out->kind = Kind::kInt;
  const bool negative = !IsUnsignedInt(element) && (bits >> (width - 1) & 1) != 0;
  out->integer = static_cast<int64_t>(negative && width < 64 ? bits | ~uint64_t{0} << width : bits);
  out->number = static_cast<double>(out->integer);
  out->source =
      Keep(absl::StrCat(IsUnsignedInt(element) ? absl::StrCat(bits) : absl::StrCat(out->integer), " : ", type->text));
  return true;
}

bool BytecodeReader::DecodeFloat(Cursor* in, Parent* parent, Attr* out) {
  const TypeEntry* type = ReadTypeRef(parent, in);
  if (type == nullptr || !UsableType(*type, in)) return false;
  if (!IsFloating(type->shape.type()) || type->shape.rank() != 0)
    return in->Fail("the type of a number should be a float");
  uint64_t bits = 0;
  if (!ReadBits(ElementBits(type->shape.type()), in, &bits)) return false;
  Literal value{Shape::Scalar(type->shape.type())};
  std::memcpy(value.mutable_bytes(), &bits, value.byte_size());
  out->kind = Kind::kFloat;
  out->number = value.GetDouble(0);
  out->source = Keep(FloatText(value, 0, type->text));
  return true;
}

bool BytecodeReader::DecodeTypeAttr(Cursor* in, Parent* parent, Attr* out) {
  const TypeEntry* type = ReadTypeRef(parent, in);
  if (type == nullptr) return false;
  out->kind = Kind::kType;
  out->shape = type->shape;
  out->source = Keep(type->text.empty() ? TypeText(type->shape) : type->text);
  return true;
}

}  // namespace xc::stablehlo
