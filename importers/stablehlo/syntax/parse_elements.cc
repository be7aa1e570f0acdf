// The elements of constants: `dense<[[1, 2], [3, 4]]>`, one value for all, or their bytes as hexadecimal digits.
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {
namespace {

using Kind = Attr::Kind;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads nested lists of elements into a literal from its first element on.
class ElementReader {
 public:
  ElementReader(absl::string_view body, Literal* literal)
      : p_(body.data()), end_(body.data() + body.size()), literal_(literal) {
    const ElementType type = literal->shape().type();
    part_ = ComplexComponent(type);
    complex_ = IsComplex(type);
    part_bytes_ = StorageBytes(part_);
    bits_ = ElementBits(part_);
    out_ = literal->mutable_bytes();
  }

  // Whether the list at `dim` has the sizes of the literal's shape from there on.
  bool List(size_t dim) {
    const std::vector<int64_t>& dims = literal_->shape().dims();
    if (dim == dims.size()) return Element();
    const char* open = p_;
    if (!Take('[')) return Fail(p_, absl::StrCat("expected `[` to open dimension ", dim, " of the constant"));
    int64_t count = 0;
    for (; !Peek(']'); ++count) {
      if (count > 0 && !Take(',')) return Fail(p_, "expected `,` or `]` after an element");
      if (count == dims[dim]) return WrongCount(open, dim, absl::StrCat("more than ", count));
      if (!List(dim + 1)) return false;
    }
    Take(']');
    return count == dims[dim] || WrongCount(open, dim, absl::StrCat(count));
  }
  bool Element() {
    if (!complex_) return Number();
    if (!Take('(')) return Fail(p_, "expected a complex number as (real, imaginary)");
    if (!Number()) return false;
    if (!Take(',')) return Fail(p_, "expected `,` between the parts of a complex number");
    if (!Number()) return false;
    return Take(')') || Fail(p_, "expected `)` after a complex number");
  }
  bool Peek(char c) {
    p_ = Space(p_);
    return p_ < end_ && *p_ == c;
  }
  bool AtEnd() { return Space(p_) == end_; }
  const char* at() const { return at_; }
  const char* position() { return p_ = Space(p_); }
  const std::string& message() const { return message_; }

 private:
  bool Take(char c) {
    if (!Peek(c)) return false;
    ++p_;
    return true;
  }
  const char* Space(const char* p) const {
    while (p < end_ && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) ++p;
    return p;
  }
  bool Fail(const char* at, std::string message) {
    at_ = at;
    message_ = std::move(message);
    return false;
  }
  bool WrongCount(const char* at, size_t dim, const std::string& found) {
    return Fail(at, absl::StrCat("dimension ", dim, " of the constant needs ", literal_->shape().dim(dim),
                                 " elements, found ", found));
  }
  bool Word(absl::string_view word) {
    if (absl::string_view(p_, end_ - p_).substr(0, word.size()) != word) return false;
    p_ += word.size();
    return true;
  }
  void Store(uint64_t bits) {
    std::memcpy(out_, &bits, part_bytes_);
    out_ += part_bytes_;
  }

  // One number, as its value or, `0x…`, as its bits.
  bool Number() {
    p_ = Space(p_);
    const char* start = p_;
    if (part_ == ElementType::kPred && (Word("true") || Word("false"))) {
      Store(*start == 't');
      return true;
    }
    const bool negative = p_ < end_ && *p_ == '-';
    const char* digits = p_ + negative;
    const bool hex = end_ - digits > 2 && digits[0] == '0' && digits[1] == 'x';
    if (IsFloating(part_) && !hex) return Float(start);
    uint64_t magnitude = 0;
    const auto [stop, error] = std::from_chars(digits + 2 * hex, end_, magnitude, hex ? 16 : 10);
    if (error == std::errc::result_out_of_range) return OutOfRange(start);
    if (error != std::errc() || (stop < end_ && (*stop == '.' || *stop == 'e' || *stop == 'E'))) {
      return Fail(start, part_ == ElementType::kPred ? "expected true or false" : "expected an integer");
    }
    p_ = stop;
    if (IsFloating(part_)) {
      if (negative || (bits_ < 64 && magnitude >> bits_ != 0)) {
        return Fail(start, absl::StrCat("the bits of a ", ElementTypeName(part_), " are ", bits_, " without a sign"));
      }
      Store(magnitude);
      return true;
    }
    // Signless integers may be written with and without a sign.
    const int bits = part_ == ElementType::kPred ? 1 : bits_;
    const uint64_t most = negative ? uint64_t{1} << (bits - 1) : ~uint64_t{0} >> (64 - bits);
    if (magnitude > most || (negative && magnitude != 0 && IsUnsignedInt(part_))) return OutOfRange(start);
    Literal number{Shape::Scalar(part_)};
    number.SetInt(0, static_cast<int64_t>(negative ? -magnitude : magnitude));
    std::memcpy(out_, number.bytes(), part_bytes_);
    out_ += part_bytes_;
    return true;
  }

  bool Float(const char* start) {
    double value = 0;
    float narrow = 0;
    const bool single = part_ == ElementType::kF32;
    const auto [stop, error] = single ? std::from_chars(p_, end_, narrow) : std::from_chars(p_, end_, value);
    if (single) value = narrow;
    if (error == std::errc::result_out_of_range) {
      value = std::strtod(std::string(start, stop).c_str(), nullptr);
      if (std::fabs(value) > 1) return OutOfRange(start);
    } else if (error != std::errc() || !std::isfinite(value)) {
      return Fail(start, "expected a number");
    }
    if (absl::string_view(start, stop - start).find_first_of(".eE") == absl::string_view::npos) {
      return Fail(start, "expected a number with a point");
    }
    p_ = stop;
    Literal number{Shape::Scalar(part_)};
    number.SetDouble(0, value);
    if (!std::isfinite(number.GetDouble(0))) return OutOfRange(start);
    std::memcpy(out_, number.bytes(), part_bytes_);
    out_ += part_bytes_;
    return true;
  }
  bool OutOfRange(const char* at) {
    return Fail(at, absl::StrCat("this value is out of range for ", ElementTypeName(part_)));
  }

  const char* p_;
  const char* end_;
  Literal* literal_;
  ElementType part_;
  bool complex_;
  int part_bytes_, bits_;
  uint8_t* out_;
  const char* at_ = nullptr;
  std::string message_;
};

}  // namespace

void ClearSpareBits(Literal* literal) {
  const ElementType type = literal->shape().type();
  if (type != ElementType::kPred && !IsSubByte(type)) return;
  uint8_t* bytes = literal->mutable_bytes();
  for (int64_t i = 0; i < literal->size(); ++i) {
    if (IsFloating(type)) {
      bytes[i] &= (1 << ElementBits(type)) - 1;
    } else {
      literal->SetInt(i, type == ElementType::kPred ? bytes[i] != 0 : static_cast<int64_t>(bytes[i]));
    }
  }
}

// Behind `dense`. The type follows the elements, so that these are found first and read then.
bool Parser::ParseDense(Attr* out) {
  const char* open = lex_.tok().begin;
  if (!lex_.At('<')) return Expected("`<`");
  lex_.Next();
  const Token first = lex_.tok();
  if (first.kind == Tok::kString) {
    lex_.Next();
    if (!Expect('>')) return false;
  } else {
    const void* close = std::memchr(first.begin, '>', lex_.end() - first.begin);
    if (close == nullptr) return Fail(open, "this `<` is not closed");
    lex_.ContinueAt(static_cast<const char*>(close) + 1);
  }
  if (!Expect(':')) return false;
  const char* at = lex_.tok().begin;
  if (lex_.AtName("vector")) return Fail(at, "vectors are not supported");
  // Layouts and the like are `tensor<…xindex>`.
  const absl::string_view written(at, lex_.end() - at);
  const absl::string_view type_text = written.substr(0, written.find('>'));
  const size_t index = type_text.size() >= 5 ? type_text.size() - 5 : absl::string_view::npos;
  if (index != absl::string_view::npos && type_text.substr(index) == "index") {
    std::string as_integers = absl::StrCat(type_text.substr(0, index), "i64>");
    Program scratch;
    Parser inner(as_integers, options_, &scratch);
    if (!inner.ParseType(&out->shape)) return Fail(at, "expected the type of a constant");
    lex_.ContinueAt(at + type_text.size() + 1);
  } else if (!ParseType(&out->shape)) {
    return false;
  }
  if (!out->shape.IsArray()) return Fail(at, "the type of a constant should be a tensor");
  if (out->shape.is_dynamic()) return Fail(at, "the sizes of a constant should be known");
  out->kind = Kind::kElements;
  if (first.kind == Tok::kString) return ReadBlob(first.text, first.begin, out);
  const char* close = static_cast<const char*>(std::memchr(first.begin, '>', lex_.end() - first.begin));
  return ReadElements(absl::string_view(first.begin, close - first.begin), out);
}

bool Parser::ReadElements(absl::string_view body, Attr* out) {
  const auto read = [&](const Shape& shape, auto method) {
    Literal literal(shape);
    ElementReader reader(body, &literal);
    if (!method(reader)) return Fail(reader.at(), reader.message());
    if (!reader.AtEnd()) return Fail(reader.position(), "expected `>` after the elements of the constant");
    out->elements = std::make_shared<const Literal>(std::move(literal));
    return true;
  };
  const size_t start = body.find_first_not_of(" \t\r\n");
  if (start == absl::string_view::npos) {
    if (!out->shape.IsZeroSized()) return Fail(body.data(), "expected the elements of the constant");
    out->elements = std::make_shared<const Literal>(out->shape);
    return true;
  }
  if (body[start] != '[') {
    return read(Shape::Scalar(out->shape.type()), [](ElementReader& reader) { return reader.Element(); });
  }
  // Every element takes a character at least, so that the text bounds what is allocated.
  if (out->shape.ElementCount() > static_cast<int64_t>(body.size())) {
    return Fail(body.data(), absl::StrCat("the constant needs ", out->shape.ElementCount(), " elements (",
                                          out->shape.ToString(false), "), the text has fewer"));
  }
  return read(Shape(out->shape.type(), out->shape.dims()), [](ElementReader& reader) { return reader.List(0); });
}

// `0x` and the elements' bytes in order; those of one element stand for all. Truth values are bits, or bytes.
bool Parser::ReadBlob(absl::string_view hex, const char* at, Attr* out) {
  if (hex.substr(0, 2) != "0x") return Fail(at, "expected hexadecimal digits, \"0x…\"");
  hex.remove_prefix(2);
  const int64_t bytes = static_cast<int64_t>(hex.size() / 2), count = out->shape.ElementCount();
  const ElementType type = out->shape.type();
  const int64_t width = StorageBytes(type);
  const bool packed = type == ElementType::kPred && bytes == (count + 7) / 8;
  const bool one = !(bytes == count * width || packed);
  if (hex.size() % 2 != 0 || (one && bytes != width)) {
    return Fail(at, absl::StrCat("the constant ", out->shape.ToString(false), " needs ", count * width,
                                 " bytes, found ", hex.size() / 2));
  }
  Literal literal(one ? Shape::Scalar(type) : Shape(type, out->shape.dims()));
  std::string raw(packed ? bytes : 0, '\0');
  uint8_t* to = packed ? reinterpret_cast<uint8_t*>(raw.data()) : literal.mutable_bytes();
  for (int64_t i = 0; i < bytes; ++i) {
    const int high = HexDigit(hex[2 * i]), low = HexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return Fail(hex.data() + 2 * i, "expected hexadecimal digits");
    to[i] = static_cast<uint8_t>(16 * high + low);
  }
  if (packed) {
    for (int64_t i = 0; i < count; ++i) literal.mutable_bytes()[i] = to[i / 8] >> (i % 8) & 1;
  } else {
    ClearSpareBits(&literal);
  }
  out->elements = std::make_shared<const Literal>(std::move(literal));
  return true;
}

// Behind `dense_resource`: `<__elided__> : tensor<…>`, elements that the writer left out.
bool Parser::ParseElided(Attr* out) {
  const char* at = lex_.tok().begin;
  if (!Expect('<')) return false;
  if (!lex_.AtName("__elided__")) return Fail(at, "constants in resources are not supported");
  lex_.Next();
  if (!Expect('>') || !Expect(':') || !ParseType(&out->shape)) return false;
  if (!out->shape.IsArray() || out->shape.is_dynamic()) return Fail(at, "the type of a constant should be a tensor");
  if (out->shape.ByteSize() > options_.max_elided_bytes - elided_bytes_) {
    return Fail(at, absl::StrCat("constants whose elements are left out would take more than ",
                                 options_.max_elided_bytes, " bytes"));
  }
  elided_bytes_ += out->shape.ByteSize();
  Literal literal(Shape(out->shape.type(), out->shape.dims()));
  literal.set_elided(true);
  out->kind = Kind::kElements;
  out->elements = std::make_shared<const Literal>(std::move(literal));
  return true;
}

}  // namespace xc::stablehlo
