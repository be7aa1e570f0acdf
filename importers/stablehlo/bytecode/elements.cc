// The elements of constants and of dense arrays, and those that lie in resources.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "importers/stablehlo/bytecode/reader.h"

namespace xc::stablehlo {

using Kind = Attr::Kind;

bool BytecodeReader::Blob(Cursor* in, absl::string_view* out) {
  uint64_t size = 0;
  return in->VarInt(&size) && in->Bytes(size, out);
}

bool BytecodeReader::DecodeElements(Cursor* in, Parent* parent, Attr* out) {
  const TypeEntry* type = ReadTypeRef(parent, in);
  absl::string_view blob;
  return type != nullptr && Blob(in, &blob) && FillElements(*type, blob, in, out);
}

// The bytes of all elements, or of one that stands for all. Truth values are bits, or bytes.
bool BytecodeReader::FillElements(const TypeEntry& type, absl::string_view blob, Cursor* in, Attr* out) {
  if (!UsableType(type, in)) return false;
  if (!type.shape.IsArray() || type.shape.is_dynamic()) return in->Fail("the type of a constant should be a tensor");
  const ElementType element = type.shape.type();
  const Shape shape(element, type.shape.dims());
  const int64_t count = shape.ElementCount(), width = StorageBytes(element), bytes = static_cast<int64_t>(blob.size());
  const bool truth = element == ElementType::kPred;
  const bool packed = truth && bytes == count / 8 + (count % 8 != 0) && bytes != count;
  const bool one = !packed && bytes == width;
  if (!packed && !one && bytes != count * width) {
    return in->Fail(
        absl::StrCat("the constant ", shape.ToString(false), " needs ", count * width, " bytes, found ", bytes));
  }
  constexpr int64_t kBytesPerPiece = 64;  // constants are shared, not copied, but resources may be referred to often
  if (!Charge(*in, (packed ? count : bytes) / kBytesPerPiece)) return false;
  Literal literal(one ? Shape::Scalar(element) : shape);
  uint8_t* to = literal.mutable_bytes();
  if (packed) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(blob[i / 8]) >> (i % 8) & 1;
  } else if (bytes > 0) {
    std::memcpy(to, blob.data(), blob.size());
    ClearSpareBits(&literal);
  }
  if (!one && count > 0 && literal.IsBroadcastScalar()) {
    Literal scalar{Shape::Scalar(element)};
    std::memcpy(scalar.mutable_bytes(), literal.bytes(), width);
    literal = std::move(scalar);
  }
  out->kind = Kind::kElements;
  out->shape = shape;
  out->elements = std::make_shared<const Literal>(std::move(literal));
  return true;
}

bool BytecodeReader::DecodeDenseArray(Cursor* in, Parent* parent, Attr* out) {
  const TypeEntry* type = ReadTypeRef(parent, in);
  uint64_t count = 0;
  absl::string_view blob;
  if (type == nullptr || !UsableType(*type, in) || !in->VarInt(&count) || !Blob(in, &blob)) return false;
  const ElementType element = type->shape.type();
  if (type->is_none || type->shape.rank() != 0 || !IsArrayType(element) || IsComplex(element)) {
    return in->Fail("the elements of an array should be numbers or truth values");
  }
  const uint64_t width = static_cast<uint64_t>(StorageBytes(element));
  if (blob.size() / width != count || blob.size() % width != 0) {
    return in->Fail(absl::StrCat("an array of ", count, " ", type->text, " cannot have ", blob.size(), " bytes"));
  }
  Literal literal(Shape(element, {static_cast<int64_t>(count)}));
  if (!blob.empty()) std::memcpy(literal.mutable_bytes(), blob.data(), blob.size());
  ClearSpareBits(&literal);
  out->kind = IsFloating(element) ? Kind::kList : Kind::kInts;
  if (!Charge(*in, static_cast<int64_t>(count))) return false;
  for (int64_t i = 0; i < literal.size(); ++i) {
    if (out->kind == Kind::kInts) {
      out->ints.push_back(literal.GetInt(i));
      continue;
    }
    Attr number;
    number.kind = Kind::kFloat;
    number.number = literal.GetDouble(i);
    out->items.push_back(std::move(number));
  }
  if (out->kind == Kind::kInts) {
    const std::string items = element != ElementType::kPred
                                  ? absl::StrJoin(out->ints, ", ")
                                  : absl::StrJoin(out->ints, ", ", [](std::string* text, int64_t value) {
                                      absl::StrAppend(text, value != 0 ? "true" : "false");
                                    });
    out->source = Keep(absl::StrCat("array<", type->text, count > 0 ? ": " : "", items, ">"));
  } else {
    parent->size += static_cast<int64_t>(count);
  }
  return true;
}

// A constant whose elements are a blob of the section of resources: its alignment, its size, and, aligned, its bytes.
bool BytecodeReader::DecodeResource(Cursor* in, Parent* parent, Attr* out) {
  const TypeEntry* type = ReadTypeRef(parent, in);
  uint64_t index = 0;
  if (type == nullptr || !in->Index("resource", sections_.resources.size(), &index)) return false;
  const Resource& resource = sections_.resources[index];
  if (resource.kind != 0) return in->Fail(absl::StrCat("resource ", index, " should be a blob"));
  Cursor data(resource.bytes, "resource", &errors_);
  uint64_t alignment = 0, size = 0;
  if (!data.VarInt(&alignment) || !data.VarInt(&size)) return false;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return data.Fail(absl::StrCat("its alignment is ", alignment, ", no power of 2"));
  }
  const uint64_t offset = static_cast<uint64_t>(data.at() - file_.data());
  absl::string_view padding, blob;
  return data.Bytes((alignment - offset % alignment) % alignment, &padding) && data.Bytes(size, &blob) &&
         FillElements(*type, blob, in, out);
}

}  // namespace xc::stablehlo
