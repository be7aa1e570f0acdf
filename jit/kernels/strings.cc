// Host kernels on strings.
#include <cmath>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

int64_t Utf8Length(const std::string& s) {
  int64_t n = 0;
  for (char c : s) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
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
  if (unit != "BYTE") return absl::UnimplementedError("Substr by UTF-8 characters");
  XC_ASSIGN_OR_RETURN(auto pos, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto len, c.Ints(2));
  bool scalar = c.in(1).rank() == 0;
  if (!scalar && (c.in(1).dims() != c.in(0).dims() || c.in(2).dims() != c.in(0).dims())) {
    return absl::UnimplementedError("Substr with broadcasting");
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const std::string& s = c.in(0).strings()[i];
    int64_t p = pos[scalar ? 0 : i], n = len[scalar ? 0 : i], size = static_cast<int64_t>(s.size());
    if (p < 0) p += size;
    if (p < 0 || p > size) return c.Error(absl::StrCat("pos ", p, " out of range for string b'", s, "'"));
    out.strings()[i] = s.substr(p, n < 0 ? 0 : n);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

}  // namespace

void RegisterStringKernels(KernelRegistry& r) {
  r.Add({"StringLength"}, StringLength, false);
  r.Add({"AsString"}, AsString, false);
  r.Add({"StringLower", "StringUpper", "StringStrip"}, MapStrings, false);
  r.Add({"StringJoin"}, StringJoin, false);
  r.Add({"StringToNumber"}, StringToNumber, false);
  r.Add({"Substr"}, Substr, false);
}

}  // namespace xc
