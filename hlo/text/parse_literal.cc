// Literals. Elements are read straight from the characters, since constants are most of many texts.
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/text/float_bits.h"
#include "hlo/text/parser_impl.h"
#include "hlo/text/structure.h"

namespace xc {
namespace {

template <typename T>
struct NarrowIntInfo {
  static constexpr bool kIs = false;
};
template <int kB, bool kS>
struct NarrowIntInfo<NarrowInt<kB, kS>> {
  static constexpr bool kIs = true;
  static constexpr int64_t kMin = kS ? -(int64_t{1} << (kB - 1)) : 0;
  static constexpr int64_t kMax = kS ? (int64_t{1} << (kB - 1)) - 1 : (int64_t{1} << kB) - 1;
};

constexpr char kOutOfRange[] = "this value is out of range for the constant's type";
constexpr char kNotInteger[] = "expected an integer";
constexpr char kNotFloat[] = "expected a number";

bool StartsWith(const char* p, const char* end, absl::string_view word) {
  return static_cast<size_t>(end - p) >= word.size() && absl::string_view(p, word.size()) == word;
}

// nan, -nan, nan(0x7f), inf, -inf: nullptr if there is none of these.
template <typename T>
const char* ReadSpecial(const char* p, const char* end, T* out, const char** error) {
  const bool negative = p < end && *p == '-';
  const char* q = p + negative;
  if (StartsWith(q, end, "inf")) {
    const double v = negative ? -HUGE_VAL : HUGE_VAL;
    *out = T(v);
    return q + 3;
  }
  if (!StartsWith(q, end, "nan")) return nullptr;
  q += 3;
  uint64_t payload = FloatBits<T>::kQuietPayload;
  if (StartsWith(q, end, "(0x")) {
    const auto [stop, ec] = std::from_chars(q + 3, end, payload, 16);
    if (ec != std::errc() || stop == end || *stop != ')') {
      *error = "expected a NaN's payload as (0xHEX)";
      return nullptr;
    }
    if (payload == 0 || payload > FloatBits<T>::kPayloadMask) {
      *error = "this NaN payload does not fit into the constant's type";
      return nullptr;
    }
    q = stop + 1;
  }
  *out = FloatBits<T>::MakeNan(negative, payload);
  return q;
}

// Reads one element at `p`. Returns the place behind it, or nullptr with *error set.
template <typename T>
const char* ReadElement(const char* p, const char* end, T* out, const char** error) {
  if constexpr (std::is_same_v<T, bool>) {
    if (StartsWith(p, end, "true")) return *out = true, p + 4;
    if (StartsWith(p, end, "false")) return *out = false, p + 5;
    if (p < end && (*p == '0' || *p == '1')) return *out = *p == '1', p + 1;
    *error = "expected true, false, 1 or 0";
    return nullptr;
  } else if constexpr (std::is_integral_v<T> || NarrowIntInfo<T>::kIs) {
    using Wide = std::conditional_t<NarrowIntInfo<T>::kIs, int64_t, T>;
    Wide value = 0;
    const bool negative_unsigned = std::is_unsigned_v<T> && p < end && *p == '-';
    const auto [stop, ec] = std::from_chars(p, end, value);
    if (negative_unsigned || ec == std::errc::result_out_of_range) {
      *error = kOutOfRange;
      return nullptr;
    }
    if (ec != std::errc() || (stop < end && (*stop == '.' || *stop == 'e' || *stop == 'E'))) {
      *error = kNotInteger;
      return nullptr;
    }
    if constexpr (NarrowIntInfo<T>::kIs) {
      if (value < NarrowIntInfo<T>::kMin || value > NarrowIntInfo<T>::kMax) {
        *error = kOutOfRange;
        return nullptr;
      }
    }
    *out = T(value);
    return stop;
  } else {
    // Floating point.
    using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
    if (p < end && (*p == 'n' || *p == 'i' || (*p == '-' && p + 1 < end && (p[1] == 'n' || p[1] == 'i')))) {
      *error = kNotFloat;
      return ReadSpecial<T>(p, end, out, error);
    }
    Wide value = 0;
    auto [stop, ec] = std::from_chars(p, end, value);
    if (ec == std::errc::result_out_of_range) {
      // Too small rounds to a denormal or zero; too large is an error.
      const std::string copy(p, stop);
      const double exact = std::strtod(copy.c_str(), nullptr);
      if (std::fabs(exact) > 1) {
        *error = kOutOfRange;
        return nullptr;
      }
      value = static_cast<Wide>(exact);
    } else if (ec != std::errc()) {
      *error = kNotFloat;
      return nullptr;
    }
    *out = T(value);
    if constexpr (!std::is_same_v<T, Wide>) {
      if (!std::isfinite(static_cast<double>(*out))) {
        *error = kOutOfRange;
        return nullptr;
      }
    }
    return stop;
  }
}

// Walks the nested braces of an array's elements.
template <typename T>
class ElementReader {
 public:
  ElementReader(const Lexer& lex, Literal* literal)
      : lex_(lex),
        end_(lex.end()),
        dims_(literal->shape().dims()),
        out_(reinterpret_cast<T*>(literal->mutable_bytes())) {}

  // Returns the place behind the elements, or nullptr with at() and message() set.
  const char* Read(const char* p) { return ReadDim(p, 0); }
  // Of an array, its first element alone: the place behind it, or nullptr.
  const char* ReadFirst(const char* p) { return ReadOne(p); }
  const char* at() const { return at_; }
  const std::string& message() const { return message_; }

 private:
  const char* Error(const char* at, std::string message) {
    at_ = at;
    message_ = std::move(message);
    return nullptr;
  }

  const char* ReadOne(const char* p) {
    const char* error = nullptr;
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      typename T::value_type parts[2];
      if (p >= end_ || *p != '(') return Error(p, "expected a complex number as (real, imaginary)");
      for (int i = 0; i < 2; ++i) {
        p = lex_.SkipSpace(p + 1);
        const char* q = ReadElement(p, end_, &parts[i], &error);
        if (q == nullptr) return Error(p, error);
        p = lex_.SkipSpace(q);
        if (p >= end_ || *p != (i == 0 ? ',' : ')')) return Error(p, "expected a complex number as (real, imaginary)");
      }
      *out_++ = T(parts[0], parts[1]);
      return p + 1;
    } else {
      const char* q = ReadElement(p, end_, out_, &error);
      if (q == nullptr) return Error(p, error);
      ++out_;
      return q;
    }
  }

  const char* ReadDim(const char* p, size_t dim) {
    if (dim == dims_.size()) return ReadOne(p);
    if (p >= end_ || *p != '{') {
      return Error(p, absl::StrCat("expected '{' to open dimension ", dim, " of the constant"));
    }
    const char* open = p;
    p = lex_.SkipSpace(p + 1);
    const int64_t size = dims_[dim];
    const bool last = dim + 1 == dims_.size();
    for (int64_t i = 0; i < size; ++i) {
      if (p < end_ && *p == '}') return WrongCount(open, dim, i);
      p = last ? ReadOne(p) : ReadDim(p, dim + 1);
      if (p == nullptr) return nullptr;
      p = Skip(p);
      if (p < end_ && *p == ',') {
        p = Skip(p + 1);
      } else if (i + 1 < size && p < end_ && *p == '}') {
        return WrongCount(open, dim, i + 1);
      } else if (i + 1 < size) {
        return Error(p, "expected ',' between elements");
      }
    }
    if (p >= end_) return Error(open, "this '{' has no matching '}'");
    if (*p != '}') {
      return Error(p, absl::StrCat("expected '}' after the ", size, " elements of dimension ", dim));
    }
    return p + 1;
  }

  const char* Skip(const char* p) const {
    if (p < end_ && *p == ' ') ++p;
    return p < end_ && (static_cast<unsigned char>(*p) <= ' ' || *p == '/') ? lex_.SkipSpace(p) : p;
  }

  const char* WrongCount(const char* at, size_t dim, int64_t found) {
    return Error(at,
                 absl::StrCat("dimension ", dim, " of the constant needs ", dims_[dim], " elements, found ", found));
  }

  const Lexer& lex_;
  const char* end_;
  const std::vector<int64_t>& dims_;
  T* out_;
  const char* at_ = nullptr;
  std::string message_;
};

}  // namespace

bool Parser::ParseElements(Literal* literal) {
  const char* start = lex_.position();
  const char* stop = nullptr;
  const bool ok = DispatchArrayType(
      literal->shape().type(),
      [&]<ElementType kType>() {
        ElementReader<Native<kType>> reader(lex_, literal);
        stop = reader.Read(start);
        return stop != nullptr || Fail(reader.at(), reader.message());
      },
      [&] { return Fail(start, "a constant of this type has no text form"); });
  if (!ok) return false;
  lex_.ContinueAt(stop);
  return true;
}

// XLA's readers take a number where an array's braces should stand as its first element; the others are zero.
bool Parser::ParseFirstElement(const Shape& shape, Literal* out) {
  const char* start = lex_.position();
  Literal first{Shape(shape.type(), {1})};
  const char* stop = nullptr;
  DispatchArrayType(
      shape.type(), [&]<ElementType kType>() { stop = ElementReader<Native<kType>>(lex_, &first).ReadFirst(start); },
      [] {});
  if (stop == nullptr) return Fail(start, "expected '{' to open dimension 0 of the constant");
  const int64_t bytes = BoundedBytes(shape, options_.max_elided_bytes - elided_bytes_);
  if (bytes < 0) {
    return Fail(start, absl::StrCat("of a constant that is written as its first element alone, and of all that are "
                                    "left out, the elements may take ",
                                    options_.max_elided_bytes, " bytes"));
  }
  elided_bytes_ += bytes;
  *out = Literal(shape);
  std::memcpy(out->mutable_bytes(), first.bytes(), first.byte_size());
  lex_.ContinueAt(stop);
  return true;
}

bool Parser::ParseLiteralOf(const Shape& shape, Literal* out) {
  const char* at = lex_.position();
  if (absl::Status status = ValidateShape(shape); !status.ok()) return Fail(at, status.message());
  // Nothing is allocated that the text cannot fill: an element takes at least one character, an element of a tuple two.
  if (lex_.At('{') && lex_.PeekChar() == '.') {
    const int64_t bytes = BoundedBytes(shape, options_.max_elided_bytes - elided_bytes_);
    if (bytes < 0) {
      return Fail(
          at, absl::StrCat("a constant that is left out (`{...}`) needs known dimensions, and all of them may take ",
                           options_.max_elided_bytes, " bytes"));
    }
    elided_bytes_ += bytes;
    lex_.Next();
    for (int i = 0; i < 3; ++i) {
      if (!Expect('.')) return false;
    }
    if (!Expect('}')) return false;
    *out = Literal(shape);
    out->set_elided(true);
    return true;
  }
  if (shape.IsTuple()) {
    if (!Expect('(')) return false;
    std::vector<Literal> elements(shape.tuple_size());
    for (int64_t i = 0; i < shape.tuple_size(); ++i) {
      if (i > 0 && !Expect(',')) return false;
      if (!ParseLiteralOf(shape.tuple_shape(i), &elements[i])) return false;
    }
    Accept(',');
    if (!lex_.At(')')) return Expected(absl::StrCat("')' after the ", shape.tuple_size(), " elements of the tuple"));
    lex_.Next();
    *out = Literal::Tuple(std::move(elements));
    return true;
  }
  if (!shape.IsArray()) return Fail(at, absl::StrCat("a constant cannot be a ", ElementTypeName(shape.type())));
  int64_t count = 1;
  for (int64_t d : shape.dims()) {
    if (d == Shape::kUnknownSize) return Fail(at, "a constant needs known dimensions");
    count *= d;
  }
  if (count > 0 && shape.rank() > 0 && !IsComplex(shape.type()) && !lex_.At('{')) return ParseFirstElement(shape, out);
  if (count > lex_.end() - at) {
    return Fail(at, absl::StrCat("the constant ", shape.ToString(false), " has ", count,
                                 " elements, more than the text that follows can hold"));
  }
  *out = Literal(shape);
  if (count == 0) return lex_.At('{') && lex_.PeekChar() == '}' ? (lex_.Next(), Expect('}')) : ParseElements(out);
  return ParseElements(out);
}

bool Parser::Parse(std::shared_ptr<const Literal>* out) {
  // The shape comes without a layout, so that the brace after it opens the elements.
  Shape shape;
  const bool parenthesized = lex_.At('(');
  const char* at = lex_.position();
  if (parenthesized) {
    // A tuple literal with each element's own shape: ( f32[] 1, s32[2] {1, 2} ).
    lex_.Next();
    if (++literal_depth_ > options_.max_nesting) {
      return Fail(at, absl::StrCat("tuples are nested more than ", options_.max_nesting, " deep"));
    }
    std::vector<Literal> elements;
    while (!lex_.At(')')) {
      std::shared_ptr<const Literal> element;
      if (!Parse(&element)) return false;
      elements.push_back(element->Clone());
      if (!Accept(',')) break;
    }
    --literal_depth_;
    if (!Expect(')')) return false;
    *out = std::make_shared<const Literal>(Literal::Tuple(std::move(elements)));
    return true;
  }
  const std::optional<ElementType> type =
      lex_.tok().kind == Tok::kName ? ElementTypeFromName(lex_.tok().text) : std::nullopt;
  if (!type) return Expected("an element type");
  lex_.Next();
  shape = Shape(*type, {});
  if (!ParseDims(&shape)) return false;
  if (lex_.At('{') && shape.rank() > 0) {
    // A layout, if another brace follows it.
    const Lexer saved = lex_;
    const absl::string_view braces = lex_.RawBraces();
    const bool layout = !braces.empty() && lex_.At('{');
    lex_ = saved;
    if (layout && !ParseLayout(&shape)) return false;
  }
  if (absl::Status status = ValidateShape(shape); !status.ok()) return Fail(at, status.message());
  Literal literal;
  if (!ParseLiteralOf(shape, &literal)) return false;
  *out = std::make_shared<const Literal>(std::move(literal));
  return true;
}

absl::StatusOr<Literal> ParseLiteral(const Shape& shape, absl::string_view text, const ParseOptions& options) {
  Parser parser(text, options);
  Literal literal;
  if (parser.ParseLiteralOf(shape, &literal)) parser.AtEnd();
  if (absl::Status status = parser.status(); !status.ok()) return status;
  return literal;
}

}  // namespace xc
