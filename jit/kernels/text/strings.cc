// Host kernels on strings.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/base/format.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

int64_t Utf8Length(const std::string& s) {
  int64_t n = 0;
  for (char c : s) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
}

// Where character `n` begins; the end for the number of all.
size_t Utf8Place(const std::string& s, int64_t n) {
  size_t at = 0;
  for (; at < s.size(); ++at) {
    if ((static_cast<unsigned char>(s[at]) & 0xc0) != 0x80 && n-- == 0) break;
  }
  return at;
}

absl::Status StringLength(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string unit, c.node.String("unit"));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const std::string& s = c.in(0).strings()[i];
    int64_t n = unit == "UTF8_CHAR" ? Utf8Length(s) : static_cast<int64_t>(s.size());
    out.data<int32_t>()[i] = static_cast<int32_t>(n);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status AsString(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t precision, c.node.Int("precision"));
  XC_ASSIGN_OR_RETURN(bool scientific, c.node.Bool("scientific"));
  XC_ASSIGN_OR_RETURN(bool shortest, c.node.Bool("shortest"));
  XC_ASSIGN_OR_RETURN(int64_t width, c.node.Int("width"));
  XC_ASSIGN_OR_RETURN(std::string fill, c.node.String("fill"));
  if (fill.size() > 1) return c.Error("fill must be at most one character");
  if (width > 4096 || precision > 4096) return c.Error("width or precision is too large");
  std::string format = "%" + fill;
  if (width > -1) absl::StrAppend(&format, width);
  DataType type = c.in(0).dtype();
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  char buffer[9000];
  if (type == DT_BOOL) {
    for (int64_t i = 0; i < out.num_elements(); ++i) out.strings()[i] = c.in(0).data<uint8_t>()[i] ? "true" : "false";
  } else if (type == DT_STRING) {
    out = c.in(0);
  } else if (IsInteger(type)) {
    XC_ASSIGN_OR_RETURN(auto values, c.Ints(0));
    format += type == DT_UINT64 ? "lu" : "ld";
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      std::snprintf(buffer, sizeof(buffer), format.c_str(), values[i]);
      out.strings()[i] = buffer;
    }
  } else if (IsFloating(type)) {
    XC_ASSIGN_OR_RETURN(auto values, c.in(0).AsDoubles());
    if (precision > -1) absl::StrAppend(&format, ".", precision);
    format += scientific ? "e" : shortest ? "g" : "f";
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      std::snprintf(buffer, sizeof(buffer), format.c_str(), values[i]);
      out.strings()[i] = buffer;
    }
  } else {
    return absl::UnimplementedError(absl::StrCat("AsString of ", DataTypeName(type)));
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status MapStrings(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    std::string s = c.in(0).strings()[i];
    if (c.node.op == "StringLower") s = absl::AsciiStrToLower(s);
    if (c.node.op == "StringUpper") s = absl::AsciiStrToUpper(s);
    if (c.node.op == "StringStrip") s = std::string(absl::StripAsciiWhitespace(s));
    out.strings()[i] = std::move(s);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status StringJoin(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string separator, c.node.String("separator"));
  Dims dims;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.in(i).rank() == 0) continue;
    if (!dims.empty() && dims != c.in(i).dims()) return c.Error("inputs differ in shape");
    dims = c.in(i).dims();
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  for (int64_t k = 0; k < out.num_elements(); ++k) {
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (i > 0) out.strings()[k] += separator;
      out.strings()[k] += c.in(i).strings()[c.in(i).rank() == 0 ? 0 : k];
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status StringToNumber(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const std::string& s = c.in(0).strings()[i];
    bool ok = false;
    switch (out.dtype()) {
      case DT_FLOAT:
        ok = absl::SimpleAtof(s, &out.data<float>()[i]);
        break;
      case DT_DOUBLE:
        ok = absl::SimpleAtod(s, &out.data<double>()[i]);
        break;
      case DT_INT32:
        ok = absl::SimpleAtoi(s, &out.data<int32_t>()[i]);
        break;
      case DT_INT64:
        ok = absl::SimpleAtoi(s, reinterpret_cast<long*>(&out.data<int64_t>()[i]));
        break;
      default:
        break;
    }
    if (!ok) return c.Error(absl::StrCat("StringToNumberOp could not correctly convert string: ", s));
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status Substr(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string unit, c.node.String("unit"));
  const bool characters = unit == "UTF8_CHAR";
  XC_ASSIGN_OR_RETURN(auto pos, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto len, c.Ints(2));
  bool scalar = c.in(1).rank() == 0;
  if (!scalar && (c.in(1).dims() != c.in(0).dims() || c.in(2).dims() != c.in(0).dims())) {
    return absl::UnimplementedError("Substr with broadcasting");
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const std::string& s = c.in(0).strings()[i];
    const int64_t given = pos[scalar ? 0 : i], n = std::max<int64_t>(len[scalar ? 0 : i], 0);
    const int64_t size = characters ? Utf8Length(s) : static_cast<int64_t>(s.size());
    const int64_t p = given < 0 ? given + size : given;
    if (p < 0 || p > size) {
      return c.Error(absl::StrCat("pos ", given, " out of range for string b'", s, "' at index ", i));
    }
    const int64_t end = p + std::min(n, size - p);
    out.strings()[i] =
        characters ? s.substr(Utf8Place(s, p), Utf8Place(s, end) - Utf8Place(s, p)) : s.substr(p, end - p);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// The shortest of two precisions that reads back as the same number.
template <typename T>
std::string ShortFloat(T v) {
  std::string text = Format("%.*g", std::numeric_limits<T>::digits10, v);
  if (std::isfinite(v) && static_cast<T>(std::strtod(text.c_str(), nullptr)) != v) {
    text = Format("%.*g", std::numeric_limits<T>::max_digits10, v);
  }
  return text;
}

// One element as StringFormat writes it.
absl::StatusOr<std::string> ElementText(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DT_STRING:
      return absl::StrCat("\"", t.strings()[i], "\"");
    case DT_FLOAT:
      return ShortFloat(t.data<float>()[i]);
    case DT_DOUBLE:
      return ShortFloat(t.data<double>()[i]);
    case DT_HALF:
      return ShortFloat(HalfToFloat(t.data<uint16_t>()[i]));
    case DT_BFLOAT16:
      return ShortFloat(Bfloat16ToFloat(t.data<uint16_t>()[i]));
    case DT_UINT64:
      return absl::StrCat(t.data<uint64_t>()[i]);
    default:
      break;
  }
  int64_t size = DataTypeSize(t.dtype());
  if (size == 0 || !(IsInteger(t.dtype()) || t.dtype() == DT_BOOL)) {
    return absl::UnimplementedError(absl::StrCat("the text of ", DataTypeName(t.dtype())));
  }
  Tensor one = Tensor::FromBuffer(t.dtype(), {}, t.buffer(), const_cast<char*>(t.data<char>()) + i * size);
  XC_ASSIGN_OR_RETURN(auto value, one.AsInt64s());
  return absl::StrCat(value[0]);
}

// Elements from dimension `d` on, nested in brackets; of a long dimension the first and last `ends`.
absl::Status AppendText(const Tensor& t, int d, int64_t at, int64_t ends, std::string* out) {
  if (d == t.rank()) {
    XC_ASSIGN_OR_RETURN(std::string text, ElementText(t, at));
    *out += text;
    return absl::OkStatus();
  }
  int64_t count = t.dims()[d], step = 1;
  for (int k = d + 1; k < t.rank(); ++k) step *= t.dims()[k];
  auto space = [&] {
    if (d == t.rank() - 1) {
      *out += ' ';
    } else {
      out->append(t.rank() - d - 1, '\n');
      out->append(d + 1, ' ');
    }
  };
  *out += '[';
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) space();
    if (i == ends && count - ends > ends) {
      *out += "...";
      i = count - ends - 1;
    } else {
      XC_RETURN_IF_ERROR(AppendText(t, d + 1, at + i * step, ends, out));
    }
  }
  *out += ']';
  return absl::OkStatus();
}

absl::Status StringFormat(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string text, c.node.String("template"));
  XC_ASSIGN_OR_RETURN(std::string placeholder, c.node.String("placeholder"));
  XC_ASSIGN_OR_RETURN(int64_t summarize, c.node.Int("summarize"));
  if (placeholder.empty()) return c.Error("an empty placeholder");
  int64_t ends = summarize < 0 ? std::numeric_limits<int64_t>::max() / 2 : summarize;
  std::vector<std::string> parts = absl::StrSplit(text, placeholder);
  if (static_cast<int>(parts.size()) != c.num_inputs() + 1) {
    return c.Error(absl::StrCat("num placeholders in template and num inputs must match: ", parts.size() - 1, " vs. ",
                                c.num_inputs()));
  }
  std::string out = parts[0];
  for (int i = 0; i < c.num_inputs(); ++i) {
    XC_RETURN_IF_ERROR(AppendText(c.in(i), 0, 0, ends, &out));
    out += parts[i + 1];
  }
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, {}));
  c.outputs[0].strings()[0] = std::move(out);
  return absl::OkStatus();
}

// Each string's bytes, cut or filled up with zeros to `length`, as numbers in one more dimension.
absl::Status DecodeBytes(KernelContext& c, int64_t length, int64_t size) {
  XC_ASSIGN_OR_RETURN(bool little, c.node.Bool("little_endian"));
  Dims dims = c.in(0).dims();
  dims.push_back(length / size);
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  char* to = out.data<char>();
  for (const std::string& s : c.in(0).strings()) {
    std::memcpy(to, s.data(), std::min<int64_t>(length, static_cast<int64_t>(s.size())));
    for (int64_t i = 0; !little && i < length; i += size) std::reverse(to + i, to + i + size);
    to += length;
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Strings of one length.
absl::Status DecodeRaw(KernelContext& c) {
  const std::vector<std::string>& strings = c.in(0).strings();
  const int64_t size = DataTypeSize(c.node.output_types[0]);
  const size_t length = strings.empty() ? 0 : strings[0].size();
  if (size == 0) return c.Error("out_type has no bytes");
  if (length % size != 0) {
    return c.Error(absl::StrCat("input to DecodeRaw has length ", length, " that is not a multiple of ", size));
  }
  for (const std::string& s : strings) {
    if (s.size() != length) return c.Error("the strings have different lengths");
  }
  return DecodeBytes(c, static_cast<int64_t>(length), size);
}

absl::Status DecodePaddedRaw(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t length, c.Int(1));
  const int64_t size = DataTypeSize(c.node.output_types[0]);
  if (size == 0) return c.Error("out_type has no bytes");
  if (length <= 0) return c.Error(absl::StrCat("fixed_length must be greater than zero, but is ", length));
  if (length % size != 0) {
    return c.Error(absl::StrCat("fixed_length (", length, ") must be a multiple of the size of out_type (", size, ")"));
  }
  return DecodeBytes(c, length, size);
}

}  // namespace

void RegisterStringKernels(KernelRegistry& r) {
  r.Add({"StringFormat"}, StringFormat, false);
  r.Add({"StringLength"}, StringLength, false);
  r.Add({"AsString"}, AsString, false);
  r.Add({"StringLower", "StringUpper", "StringStrip"}, MapStrings, false);
  r.Add({"StringJoin"}, StringJoin, false);
  r.Add({"StringToNumber"}, StringToNumber, false);
  r.Add({"Substr"}, Substr, false);
  r.Add({"DecodeRaw"}, DecodeRaw, false);
  r.Add({"DecodePaddedRaw"}, DecodePaddedRaw, false);
}

}  // namespace xc
