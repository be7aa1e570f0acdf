// Types: builtin ones, VHLO's copies of them, tokens, and those that are written as assembly text.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/bytecode/reader.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {
namespace {

struct ScalarCode {
  uint64_t code;
  absl::string_view name;  // in assembly text
};

constexpr ScalarCode kBuiltinScalars[] = {
    {3, "bf16"},    {4, "f16"},       {5, "f32"},         {6, "f64"},         {22, "f8E5M2"},
    {23, "f8E4M3"}, {24, "f8E4M3FN"}, {25, "f8E5M2FNUZ"}, {26, "f8E4M3FNUZ"}, {27, "f8E4M3B11FNUZ"},
    {28, "f8E3M4"}, {29, "f4E2M1FN"}, {32, "f8E8M0FNU"}};
constexpr ScalarCode kVhloScalars[] = {
    {0, "i1"},        {2, "bf16"},      {3, "f16"},         {4, "f32"},         {5, "f64"},
    {6, "f8E4M3FN"},  {7, "f8E5M2"},    {10, "i4"},         {11, "i8"},         {12, "i16"},
    {13, "i32"},      {14, "i64"},      {15, "ui4"},        {16, "ui8"},        {17, "ui16"},
    {18, "ui32"},     {19, "ui64"},     {27, "f8E4M3FNUZ"}, {28, "f8E5M2FNUZ"}, {29, "f8E4M3B11FNUZ"},
    {31, "i2"},       {32, "ui2"},      {34, "tf32"},       {35, "f8E4M3"},     {36, "f8E3M4"},
    {37, "f4E2M1FN"}, {38, "f6E2M3FN"}, {39, "f6E3M2FN"},   {40, "f8E8M0FNU"}};

}  // namespace

const BytecodeReader::TypeEntry* BytecodeReader::TypeAt(uint64_t index, Parent* parent, Cursor* in) {
  return EntryAt("type", index, types_, parent, in,
                 [&](Parent* self, TypeEntry* out) { return DecodeType(sections_.types[index], self, out); });
}

// A type that no array can have can be named all the same.
void BytecodeReader::NameScalar(absl::string_view name, TypeEntry* out) {
  out->text = std::string(name);
  if (const std::optional<ElementType> type = ScalarType(name)) {
    out->shape = Shape::Scalar(*type);
  } else {
    out->refusal = "is not supported";
  }
}

void BytecodeReader::NameIndex(bool none, TypeEntry* out) {
  out->text = none ? "none" : "index";
  out->is_none = none;
  out->shape = Shape::Scalar(ElementType::kS64);
}

const BytecodeReader::TypeEntry* BytecodeReader::ReadTypeRef(Parent* parent, Cursor* in) {
  uint64_t index = 0;
  return in->VarInt(&index) ? TypeAt(index, parent, in) : nullptr;
}

bool BytecodeReader::UsableType(const TypeEntry& type, Cursor* in) {
  if (type.refusal.empty()) return true;
  return in->Fail(absl::StrCat(type.text.empty() ? "" : absl::StrCat("the type ", type.text, " "), type.refusal));
}

bool BytecodeReader::DecodeType(const Encoded& encoded, Parent* parent, TypeEntry* out) {
  if (!encoded.custom) return DecodeTypeText(encoded, parent, out);
  Cursor in(encoded.bytes, "type", &errors_);
  if (encoded.dialect == "builtin") return DecodeBuiltinType(&in, parent, out) && in.AtEnd("the type has");
  if (encoded.dialect == "vhlo") return DecodeVhloType(&in, parent, out) && in.AtEnd("the type has");
  if (encoded.dialect == "stablehlo") return DecodeStablehloType(&in, out) && in.AtEnd("the type has");
  out->refusal = absl::StrCat("a type of the dialect ", encoded.dialect.substr(0, 100), " is not supported");
  return true;
}

bool BytecodeReader::DecodeTypeText(const Encoded& encoded, Parent* parent, TypeEntry* out) {
  Cursor in(encoded.bytes, "type", &errors_);
  absl::string_view text;
  if (!in.ZeroTerminated(&text) || !in.AtEnd("the type has")) return false;
  parent->size += static_cast<int64_t>(text.size() / 4);
  constexpr size_t kShown = 100;
  out->text = std::string(text.substr(0, kShown));
  Program scratch;
  Parser parser(text, text_options_, &scratch);
  if (!parser.ParseTypeAlone(&out->shape)) {
    out->shape = Shape();
    out->refusal = "is not supported";
  }
  return true;
}

bool BytecodeReader::DecodeBuiltinType(Cursor* in, Parent* parent, TypeEntry* out) {
  const char* at = in->at();
  uint64_t code = 0;
  if (!in->VarInt(&code)) return false;
  for (const ScalarCode& known : kBuiltinScalars) {
    if (known.code == code) {
      NameScalar(known.name, out);
      return true;
    }
  }
  switch (code) {
    case 0: {  // the width, and whether it has a sign: 0 does not say, 1 has, 2 has none
      uint64_t value = 0;
      if (!in->VarInt(&value)) return false;
      NameScalar(absl::StrCat((value & 3) == 0 ? "i" : (value & 3) == 1 ? "si" : "ui", value >> 2), out);
      return true;
    }
    case 1:
    case 12:
      NameIndex(/*none=*/code == 12, out);
      return true;
    case 2:
      return DecodeFunction(in, parent, out);
    case 9:
      return DecodeComplex(in, parent, out);
    case 13:
    case 14:
      return DecodeTensor(code == 14, in, parent, out);
    case 15:
      return DecodeTuple(in, parent, out);
    default:
      return in->FailAt(at, absl::StrCat("the builtin type with the code ", code, " is not supported"));
  }
}

bool BytecodeReader::DecodeVhloType(Cursor* in, Parent* parent, TypeEntry* out) {
  const char* at = in->at();
  uint64_t code = 0;
  if (!in->VarInt(&code)) return false;
  for (const ScalarCode& known : kVhloScalars) {
    if (known.code == code) {
      NameScalar(known.name, out);
      return true;
    }
  }
  switch (code) {
    case 1:
      return DecodeComplex(in, parent, out);
    case 8:
      return DecodeFunction(in, parent, out);
    case 9:
    case 33:
      NameIndex(/*none=*/code == 33, out);
      return true;
    case 20:
    case 21:
      return DecodeTensor(code == 21, in, parent, out);
    case 22:
      out->shape = Shape::Token();
      return true;
    case 23:
      return DecodeTuple(in, parent, out);
    case 24:
    case 30:
      return in->FailAt(at, "quantized types are not supported");
    default:
      return in->FailAt(at, absl::StrCat("the type of VHLO with the code ", code, " is not supported"));
  }
}

bool BytecodeReader::DecodeStablehloType(Cursor* in, TypeEntry* out) {
  const char* at = in->at();
  uint64_t code = 0;
  if (!in->VarInt(&code)) return false;
  if (code != 0) return in->FailAt(at, absl::StrCat("the type of StableHLO with the code ", code, " is not supported"));
  out->shape = Shape::Token();
  return true;
}

bool BytecodeReader::DecodeComplex(Cursor* in, Parent* parent, TypeEntry* out) {
  const TypeEntry* part = ReadTypeRef(parent, in);
  if (part == nullptr) return false;
  const ElementType type = part->shape.type();
  if (type != ElementType::kF32 && type != ElementType::kF64) return in->Fail("expected complex<f32> or complex<f64>");
  out->shape = Shape::Scalar(type == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128);
  out->text = absl::StrCat("complex<", part->text, ">");
  return true;
}

// Sizes below zero are known only at run time; an encoding may give bounds for them.
bool BytecodeReader::DecodeTensor(bool encoding, Cursor* in, Parent* parent, TypeEntry* out) {
  const Attr* bounds = nullptr;
  if (encoding) {
    bounds = ReadAttrRef(parent, in);
    if (bounds == nullptr) return false;
    if (bounds->text != "stablehlo.bounds" || bounds->kind != Attr::Kind::kDialect) {
      return in->Fail("a tensor's encoding should be #stablehlo.bounds<…>; no other is supported");
    }
  }
  const char* at = in->at();
  Int64List dims;
  if (!SignedInts(in, &dims)) return false;
  if (dims.size() > kMaxRank) return in->FailAt(at, absl::StrCat("a tensor has more than ", kMaxRank, " dimensions"));
  const TypeEntry* element = ReadTypeRef(parent, in);
  if (element == nullptr || !UsableType(*element, in)) return false;
  if (element->is_none || !IsArrayType(element->shape.type()) || element->shape.rank() != 0) {
    return in->Fail("the elements of a tensor should be numbers or truth values");
  }
  std::vector<int64_t> upper;
  if (bounds != nullptr) upper = bounds->fields[0].attr.ints;
  if (bounds != nullptr && upper.size() != dims.size()) {
    return in->FailAt(at, absl::StrCat("expected ", dims.size(), " bounds, found ", upper.size()));
  }
  Shape shape(element->shape.type(), dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] >= 0) continue;
    const int64_t dim = static_cast<int64_t>(d);
    if (bounds == nullptr || upper[d] < 0) {
      SetUnknownSize(dim, &shape);
      continue;
    }
    shape.set_dim(dim, upper[d]);
    shape.set_dynamic_dim(dim, true);
  }
  if (absl::Status status = ValidateShape(shape); !status.ok()) {
    return in->FailAt(at, absl::string_view(status.message()));
  }
  parent->size += static_cast<int64_t>(dims.size() / 8);
  out->shape = std::move(shape);
  return true;
}

bool BytecodeReader::DecodeTypes(Cursor* in, Parent* parent, std::vector<Shape>* out, std::string* refusal) {
  uint64_t count = 0;
  if (!in->Count("types", &count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const TypeEntry* type = ReadTypeRef(parent, in);
    if (type == nullptr) return false;
    if (refusal->empty()) *refusal = type->refusal;
    out->push_back(type->shape);
  }
  return true;
}

// As the parser has it: the tuple of the parameters' tuple and the results' tuple.
bool BytecodeReader::DecodeFunction(Cursor* in, Parent* parent, TypeEntry* out) {
  std::vector<Shape> parameters, results;
  if (!DecodeTypes(in, parent, &parameters, &out->refusal) || !DecodeTypes(in, parent, &results, &out->refusal)) {
    return false;
  }
  out->shape = Shape::Tuple({Shape::Tuple(std::move(parameters)), Shape::Tuple(std::move(results))});
  return true;
}

bool BytecodeReader::DecodeTuple(Cursor* in, Parent* parent, TypeEntry* out) {
  std::vector<Shape> elements;
  if (!DecodeTypes(in, parent, &elements, &out->refusal)) return false;
  out->shape = Shape::Tuple(std::move(elements));
  return true;
}

}  // namespace xc::stablehlo
