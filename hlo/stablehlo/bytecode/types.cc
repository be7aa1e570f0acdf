// Types: builtin ones, VHLO's copies of them, tokens, and those that are written as assembly text.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/stablehlo/bytecode/reader.h"
#include "hlo/stablehlo/parser.h"

namespace xc::stablehlo {
namespace {

constexpr uint64_t kMaxRank = 128;

struct ScalarCode {
  uint64_t code;
  absl::string_view name;  // in assembly text
};

constexpr ScalarCode kBuiltinScalars[] = {{3, "bf16"}, {4, "f16"}, {5, "f32"}, {6, "f64"}};
constexpr ScalarCode kVhloScalars[] = {
    {0, "i1"},        {2, "bf16"},      {3, "f16"},         {4, "f32"},         {5, "f64"},
    {6, "f8E4M3FN"},  {7, "f8E5M2"},    {10, "i4"},         {11, "i8"},         {12, "i16"},
    {13, "i32"},      {14, "i64"},      {15, "ui4"},        {16, "ui8"},        {17, "ui16"},
    {18, "ui32"},     {19, "ui64"},     {27, "f8E4M3FNUZ"}, {28, "f8E5M2FNUZ"}, {29, "f8E4M3B11FNUZ"},
    {31, "i2"},       {32, "ui2"},      {34, "tf32"},       {35, "f8E4M3"},     {36, "f8E3M4"},
    {37, "f4E2M1FN"}, {38, "f6E2M3FN"}, {39, "f6E3M2FN"},   {40, "f8E8M0FNU"}};

// The element type of a name; a type that has none can be named, but no array can have it.
bool SetScalar(absl::string_view name, absl::string_view* refusal, Shape* shape) {
  const std::optional<ElementType> type = ScalarType(name);
  if (!type) {
    *refusal = "is not supported";
    return false;
  }
  *shape = Shape::Scalar(*type);
  return true;
}

}  // namespace

const BytecodeReader::TypeEntry* BytecodeReader::TypeAt(uint64_t index, Parent* parent, Cursor* in) {
  if (!in->CheckIndex("type", index, types_.size())) return nullptr;
  TypeEntry& entry = types_[index];
  if (entry.state == State::kReading) {
    in->Fail(absl::StrCat("type ", index, " contains itself"));
    return nullptr;
  }
  if (entry.state == State::kUnread) {
    if (depth_ >= options_.max_nesting) {
      in->Fail(absl::StrCat("nested more than ", options_.max_nesting, " deep"));
      return nullptr;
    }
    ++depth_;
    entry.state = State::kReading;
    Parent self;
    if (!DecodeType(sections_.types[index], &self, &entry)) return nullptr;
    entry.state = State::kRead;
    entry.depth = self.depth;
    entry.size = self.size;
    --depth_;
  }
  return Enter(parent, entry.depth, entry.size, in) ? &entry : nullptr;
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
  const auto scalar = [&](absl::string_view name) {
    absl::string_view refusal;
    out->text = std::string(name);
    if (!SetScalar(name, &refusal, &out->shape)) out->refusal = std::string(refusal);
    return true;
  };
  for (const ScalarCode& known : kBuiltinScalars) {
    if (known.code == code) return scalar(known.name);
  }
  switch (code) {
    case 0: {  // the width, and whether it has a sign: 0 does not say, 1 has, 2 has none
      uint64_t value = 0;
      if (!in->VarInt(&value)) return false;
      return scalar(absl::StrCat((value & 3) == 0 ? "i" : (value & 3) == 1 ? "si" : "ui", value >> 2));
    }
    case 1:
      out->text = "index";
      out->shape = Shape::Scalar(ElementType::kS64);
      return true;
    case 2:
      return DecodeFunction(in, parent, out);
    case 9:
      return DecodeComplex(in, parent, out);
    case 12:
      out->text = "none";
      out->is_none = true;
      out->shape = Shape::Scalar(ElementType::kS64);
      return true;
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
    if (known.code != code) continue;
    absl::string_view refusal;
    out->text = std::string(known.name);
    if (!SetScalar(known.name, &refusal, &out->shape)) out->refusal = std::string(refusal);
    return true;
  }
  switch (code) {
    case 1:
      return DecodeComplex(in, parent, out);
    case 8:
      return DecodeFunction(in, parent, out);
    case 9:
      out->text = "index";
      out->shape = Shape::Scalar(ElementType::kS64);
      return true;
    case 20:
    case 21:
      return DecodeTensor(code == 21, in, parent, out);
    case 22:
      out->shape = Shape::Token();
      return true;
    case 23:
      return DecodeTuple(in, parent, out);
    case 33:
      out->text = "none";
      out->is_none = true;
      out->shape = Shape::Scalar(ElementType::kS64);
      return true;
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
    if (bounds == nullptr || upper[d] < 0) {
      out->refusal = absl::StrCat(
          "size ", d, " of a tensor is known only at run time (`?`) and has no bound; that is not supported");
      return true;
    }
    shape.set_dim(d, upper[d]);
    shape.set_dynamic_dim(d, true);
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
