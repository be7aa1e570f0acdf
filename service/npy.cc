#include "service/npy.h"

#include <cctype>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/interpreter/strided.h"
#include "hlo/base/status.h"
#include "service/files.h"

namespace xc {
namespace {

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> dims;
  absl::string_view data;
};

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("not a .npy file: ", what)); }

// The text after `'key':` in the header's dictionary.
absl::StatusOr<absl::string_view> ValueOf(absl::string_view dict, absl::string_view key) {
  const size_t at = dict.find(absl::StrCat("'", key, "':"));
  if (at == absl::string_view::npos) return Bad(absl::StrCat("the header has no '", key, "'"));
  absl::string_view rest = dict.substr(at + key.size() + 3);
  while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  return rest;
}

absl::StatusOr<Header> ParseHeader(absl::string_view contents) {
  if (contents.size() < 10 || contents.substr(0, 6) != absl::string_view("\x93NUMPY", 6)) return Bad("wrong magic");
  const int major = static_cast<unsigned char>(contents[6]);
  size_t length, start;
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(contents[i])); };
  if (major == 1) {
    length = byte(8) | byte(9) << 8;
    start = 10;
  } else {
    if (contents.size() < 12) return Bad("truncated");
    length = byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
    start = 12;
  }
  if (contents.size() - start < length) return Bad("truncated header");
  const absl::string_view dict = contents.substr(start, length);
  Header header;
  header.data = contents.substr(start + length);
  XC_ASSIGN_OR_RETURN(absl::string_view descr, ValueOf(dict, "descr"));
  if (descr.empty() || descr[0] != '\'') return Bad("structured types are not supported");
  const size_t end = descr.find('\'', 1);
  if (end == absl::string_view::npos) return Bad("unterminated type");
  header.descr = std::string(descr.substr(1, end - 1));
  XC_ASSIGN_OR_RETURN(absl::string_view fortran, ValueOf(dict, "fortran_order"));
  header.fortran = absl::StartsWith(fortran, "True");
  XC_ASSIGN_OR_RETURN(absl::string_view shape, ValueOf(dict, "shape"));
  if (shape.empty() || shape[0] != '(') return Bad("the shape is not a tuple");
  const size_t close = shape.find(')');
  if (close == absl::string_view::npos) return Bad("unterminated shape");
  std::string number;
  for (char c : shape.substr(1, close - 1)) {
    if (std::isdigit(static_cast<unsigned char>(c))) {
      number.push_back(c);
    } else if (c == ',' || c == ' ' || c == 'L') {
      int64_t d;
      if (c == ',' || !number.empty()) {
        if (!absl::SimpleAtoi(number, &d)) return Bad("the shape has something other than numbers");
        header.dims.push_back(d);
        number.clear();
      }
    } else {
      return Bad("the shape has something other than numbers");
    }
  }
  if (!number.empty()) {
    int64_t d;
    if (!absl::SimpleAtoi(number, &d)) return Bad("a dimension is too large");
    header.dims.push_back(d);
  }
  return header;
}

absl::StatusOr<ElementType> TypeOf(absl::string_view descr) {
  static constexpr struct {
    absl::string_view code;
    ElementType type;
  } kTypes[] = {{"b1", ElementType::kPred}, {"i1", ElementType::kS8},   {"i2", ElementType::kS16},
                {"i4", ElementType::kS32},  {"i8", ElementType::kS64},  {"u1", ElementType::kU8},
                {"u2", ElementType::kU16},  {"u4", ElementType::kU32},  {"u8", ElementType::kU64},
                {"f2", ElementType::kF16},  {"f4", ElementType::kF32},  {"f8", ElementType::kF64},
                {"c8", ElementType::kC64},  {"c16", ElementType::kC128}};
  if (!descr.empty() && descr[0] != '>') {
    for (const auto& row : kTypes) {
      if (descr.substr(1) == row.code) return row.type;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("a .npy file of type '", descr,
                                                 "' cannot be read: booleans, integers, floats and complex numbers in "
                                                 "little endian order can"));
}

}  // namespace

absl::StatusOr<Literal> ParseNpy(absl::string_view contents) {
  XC_ASSIGN_OR_RETURN(Header header, ParseHeader(contents));
  XC_ASSIGN_OR_RETURN(ElementType type, TypeOf(header.descr));
  Shape shape(type, header.dims);
  XC_RETURN_IF_ERROR(ValidateShape(shape));
  if (shape.ByteSize() > static_cast<int64_t>(header.data.size())) {
    return Bad(absl::StrCat("truncated: ", shape.ToString(), " needs ", shape.ByteSize(), " bytes, there are ",
                            header.data.size()));
  }
  if (header.fortran) {
    Layout layout;
    for (int64_t i = 0; i < shape.rank(); ++i) layout.minor_to_major.push_back(i);
    shape.set_layout(layout);
  }
  Literal literal(shape);
  literal.FromLayout(reinterpret_cast<const uint8_t*>(header.data.data()));
  literal.mutable_shape()->clear_layout();
  return literal;
}

absl::StatusOr<Literal> ReadNpy(const std::string& path) {
  XC_ASSIGN_OR_RETURN(std::string contents, ReadFile(path));
  absl::StatusOr<Literal> literal = ParseNpy(contents);
  if (!literal.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", literal.status().message()));
  return literal;
}

absl::StatusOr<NpyStrings> ParseNpyStrings(absl::string_view contents) {
  XC_ASSIGN_OR_RETURN(Header header, ParseHeader(contents));
  int64_t width;
  if (header.descr.size() < 3 || (header.descr[1] != 'S' && header.descr[1] != 'U') ||
      !absl::SimpleAtoi(header.descr.substr(2), &width) || width < 0 || width > (1 << 24)) {
    return Bad(absl::StrCat("type '", header.descr, "' is not a string type"));
  }
  const bool wide = header.descr[1] == 'U';
  Shape shape(ElementType::kU8, header.dims);
  XC_RETURN_IF_ERROR(ValidateShape(shape));
  const int64_t bytes = width * (wide ? 4 : 1);
  if (bytes > 0 && shape.ElementCount() > static_cast<int64_t>(header.data.size()) / bytes) return Bad("truncated");
  if (bytes == 0 && shape.ElementCount() > (1 << 24)) return Bad("too many empty strings");
  NpyStrings out;
  out.dims = header.dims;
  for (int64_t i = 0; i < shape.ElementCount(); ++i) {
    std::string value;
    for (int64_t j = 0; j < width; ++j) {
      const char* at = header.data.data() + i * bytes + j * (wide ? 4 : 1);
      uint32_t c = static_cast<unsigned char>(at[0]);
      if (wide) std::memcpy(&c, at, 4);
      if (c < 0x80 || !wide) {
        value.push_back(static_cast<char>(c));
      } else if (c < 0x800) {
        value.push_back(static_cast<char>(0xC0 | c >> 6));
        value.push_back(static_cast<char>(0x80 | (c & 0x3F)));
      } else if (c < 0x10000) {
        value.push_back(static_cast<char>(0xE0 | c >> 12));
        value.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
        value.push_back(static_cast<char>(0x80 | (c & 0x3F)));
      } else {
        value.push_back(static_cast<char>(0xF0 | (c >> 18 & 7)));
        value.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
        value.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
        value.push_back(static_cast<char>(0x80 | (c & 0x3F)));
      }
    }
    while (!value.empty() && value.back() == '\0') value.pop_back();
    out.values.push_back(std::move(value));
  }
  return out;
}

namespace {

// The elements that are there of an array whose dimensions are bounds of its sizes.
Literal ValidPart(const Literal& literal) {
  const std::vector<int64_t>& sizes = literal.dynamic_sizes();
  Literal part(Shape(literal.shape().type(), sizes));
  interp::StridedCopy(StorageBytes(literal.shape().type()), sizes, interp::RowMajorStrides(literal.shape().dims()),
                      interp::RowMajorStrides(sizes))
      .Run(literal.bytes(), part.mutable_bytes());
  return part;
}

}  // namespace

std::string ToNpy(const Literal& literal) {
  if (!literal.dynamic_sizes().empty()) return ToNpy(ValidPart(literal));
  const ElementType type = literal.shape().type();
  absl::string_view descr;
  ElementType stored = type;
  switch (type) {
    case ElementType::kPred:
      descr = "|b1";
      break;
    case ElementType::kS8:
      descr = "|i1";
      break;
    case ElementType::kU8:
      descr = "|u1";
      break;
    case ElementType::kS16:
      descr = "<i2";
      break;
    case ElementType::kS32:
      descr = "<i4";
      break;
    case ElementType::kS64:
      descr = "<i8";
      break;
    case ElementType::kU16:
      descr = "<u2";
      break;
    case ElementType::kU32:
      descr = "<u4";
      break;
    case ElementType::kU64:
      descr = "<u8";
      break;
    case ElementType::kF16:
      descr = "<f2";
      break;
    case ElementType::kF32:
      descr = "<f4";
      break;
    case ElementType::kF64:
      descr = "<f8";
      break;
    case ElementType::kC64:
      descr = "<c8";
      break;
    case ElementType::kC128:
      descr = "<c16";
      break;
    default:
      if (IsSignedInt(type)) {
        descr = "|i1";
        stored = ElementType::kS8;
      } else if (IsUnsignedInt(type)) {
        descr = "|u1";
        stored = ElementType::kU8;
      } else {
        descr = "<f4";
        stored = ElementType::kF32;
      }
  }
  std::string dims = absl::StrJoin(literal.shape().dims(), ", ");
  if (literal.shape().rank() == 1) dims += ",";
  std::string dict = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", dims, "), }");
  while ((10 + dict.size() + 1) % 64 != 0) dict.push_back(' ');
  dict.push_back('\n');
  std::string out("\x93NUMPY\x01\x00", 8);
  out.push_back(static_cast<char>(dict.size() & 0xFF));
  out.push_back(static_cast<char>(dict.size() >> 8));
  out += dict;
  if (stored == type) {
    out.append(reinterpret_cast<const char*>(literal.bytes()), literal.byte_size());
    return out;
  }
  Literal wide(Shape(stored, literal.shape().dims()));
  for (int64_t i = 0; i < literal.size(); ++i) {
    if (stored == ElementType::kF32) {
      wide.SetDouble(i, literal.GetDouble(i));
    } else {
      wide.SetInt(i, literal.GetInt(i));
    }
  }
  out.append(reinterpret_cast<const char*>(wide.bytes()), wide.byte_size());
  return out;
}

absl::Status WriteNpy(const std::string& path, const Literal& literal) { return WriteFile(path, ToNpy(literal)); }

}  // namespace xc
