#include "importers/stablehlo/syntax/print_attribute.h"

#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hlo/base/format.h"

namespace xc::stablehlo {
namespace {

using Kind = Attr::Kind;

std::string ElementTypeText(ElementType type) {
  if (type == ElementType::kPred) return "i1";
  if (IsComplex(type)) return absl::StrCat("complex<", ElementTypeText(ComplexComponent(type)), ">");
  const std::string name(ElementTypeName(type));
  if (IsUnsignedInt(type)) return absl::StrCat("u", "i", name.substr(1));
  if (IsSignedInt(type)) return absl::StrCat("i", name.substr(1));
  // Of the narrow floats, all but the `f` is written in capitals.
  const bool narrow = ElementBits(type) < 16;
  return narrow ? absl::StrCat("f", absl::AsciiStrToUpper(name.substr(1))) : name;
}

std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '"') {
      out.push_back(c);
    } else {
      AppendFormat(&out, "\\%02X", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

// A name that needs no quotes: letters, digits, `_`, `$` and `.`, the first no digit.
bool IsBare(absl::string_view name) {
  if (name.empty() || !(absl::ascii_isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_')) return false;
  for (unsigned char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '$' && c != '.') return false;
  }
  return true;
}

void AppendElement(const Literal& literal, int64_t i, std::string* out) {
  const ElementType type = literal.shape().type();
  if (type == ElementType::kPred) {
    absl::StrAppend(out, literal.GetInt(i) != 0 ? "true" : "false");
  } else if (IsComplex(type)) {
    const std::complex<double> value = literal.GetComplex(i);
    Literal parts(Shape(ComplexComponent(type), {2}));
    parts.SetDouble(0, value.real());
    parts.SetDouble(1, value.imag());
    absl::StrAppend(out, "(", FloatText(parts, 0, ""), ",", FloatText(parts, 1, ""), ")");
  } else if (IsFloating(type)) {
    absl::StrAppend(out, FloatText(literal, i, ""));
  } else if (IsUnsignedInt(type)) {
    absl::StrAppend(out, static_cast<uint64_t>(literal.GetInt(i)));
  } else {
    absl::StrAppend(out, literal.GetInt(i));
  }
}

void AppendElements(const Literal& literal, int64_t dim, int64_t* next, std::string* out) {
  if (dim == literal.shape().rank()) return AppendElement(literal, (*next)++, out);
  out->push_back('[');
  for (int64_t i = 0; i < literal.shape().dim(dim); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    AppendElements(literal, dim + 1, next, out);
  }
  out->push_back(']');
}

void AppendAttr(const Attr& attr, bool in_list, std::string* out) {
  if (!attr.source.empty()) {
    // In lists, numbers of 64 bits are without their type.
    absl::string_view source = attr.source;
    if (in_list && (attr.kind == Kind::kInt || attr.kind == Kind::kFloat)) {
      source = absl::StripSuffix(absl::StripSuffix(source, " : i64"), " : f64");
    }
    absl::StrAppend(out, source);
    return;
  }
  switch (attr.kind) {
    case Kind::kString:
      absl::StrAppend(out, Quoted(attr.text));
      return;
    case Kind::kSymbol:
      absl::StrAppend(out, "@", IsBare(attr.text) ? attr.text : Quoted(attr.text));
      return;
    case Kind::kInts:
    case Kind::kList:
      out->push_back('[');
      for (size_t i = 0; i < attr.items.size(); ++i) {
        if (i > 0) absl::StrAppend(out, ", ");
        AppendAttr(attr.items[i], true, out);
      }
      out->push_back(']');
      return;
    case Kind::kDictionary:
      out->push_back('{');
      for (size_t i = 0; i < attr.fields.size(); ++i) {
        const auto& [name, value] = attr.fields[i];
        absl::StrAppend(out, i > 0 ? ", " : "", IsBare(name) ? name : Quoted(name));
        if (value.kind == Kind::kUnit) continue;
        absl::StrAppend(out, " = ");
        AppendAttr(value, false, out);
      }
      out->push_back('}');
      return;
    case Kind::kElements: {
      absl::StrAppend(out, "dense<");
      int64_t next = 0;
      if (attr.elements->size() > 0) AppendElements(*attr.elements, 0, &next, out);
      absl::StrAppend(out, "> : ", attr.shape.rank() == 0 ? "tensor<" : "", TypeText(attr.shape),
                      attr.shape.rank() == 0 ? ">" : "");
      return;
    }
    case Kind::kUnit:
      absl::StrAppend(out, "unit");
      return;
    default:
      absl::StrAppend(out, "#", attr.text);
  }
}

}  // namespace

std::string TypeText(const Shape& shape) {
  if (shape.IsToken()) return "!stablehlo.token";
  std::string out;
  if (shape.IsTuple()) {
    for (const Shape& element : shape.tuple_shapes()) {
      absl::StrAppend(&out, out.empty() ? "" : ", ", element.IsScalar() ? "tensor<" : "", TypeText(element),
                      element.IsScalar() ? ">" : "");
    }
    return absl::StrCat("tuple<", out, ">");
  }
  if (shape.rank() == 0) return ElementTypeText(shape.type());
  std::string bounds;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool dynamic = shape.is_dynamic_dim(d);
    absl::StrAppend(&out, dynamic ? "?" : absl::StrCat(shape.dim(d)), "x");
    absl::StrAppend(&bounds, d > 0 ? ", " : "", dynamic ? absl::StrCat(shape.dim(d)) : "?");
  }
  return absl::StrCat("tensor<", out, ElementTypeText(shape.type()),
                      shape.is_dynamic() ? absl::StrCat(", #stablehlo.bounds<", bounds, ">") : "", ">");
}

// Six digits behind the point, or as many as the value needs; other values than numbers are their bits.
std::string FloatText(const Literal& literal, int64_t i, absl::string_view type) {
  const double value = literal.GetDouble(i);
  const ElementType element = literal.shape().type();
  std::string text;
  if (!std::isfinite(value)) {
    uint64_t bits = 0;
    const int width = StorageBytes(element);
    std::memcpy(&bits, literal.bytes() + i * width, width);
    text = Format("0x%0*X", 2 * width, bits);
  } else {
    text = Format("%.6e", value);
    Literal back{Shape::Scalar(element)};
    back.SetDouble(0, std::strtod(text.c_str(), nullptr));
    if (back.GetDouble(0) != value) {
      char digits[64];
      const auto end = element == ElementType::kF64
                           ? std::to_chars(digits, digits + sizeof(digits), value)
                           : std::to_chars(digits, digits + sizeof(digits), static_cast<float>(value));
      text.assign(digits, end.ptr);
      if (text.find_first_of(".eE") == std::string::npos) text += ".0";
    }
  }
  return type.empty() ? text : absl::StrCat(text, " : ", type);
}

std::string AttrText(const Attr& attr) {
  std::string out;
  AppendAttr(attr, false, &out);
  return out;
}

}  // namespace xc::stablehlo
