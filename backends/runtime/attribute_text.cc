// The reader of MLIR attribute dictionaries.
#include "backends/runtime/attribute_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using Kind = TypedAttribute::Kind;

constexpr int kMaxDepth = 64;
// Elements of a `dense` of one value, whose text says nothing of their number.
constexpr int64_t kMaxElements = int64_t{1} << 26;

RtType TypeNamed(absl::string_view name) {
  static constexpr std::pair<const char*, RtType> kNames[] = {
      {"i1", RtType::kPred},          {"i8", RtType::kS8},
      {"i16", RtType::kS16},          {"i32", RtType::kS32},
      {"i64", RtType::kS64},          {"index", RtType::kS64},
      {"ui8", RtType::kU8},           {"ui16", RtType::kU16},
      {"ui32", RtType::kU32},         {"ui64", RtType::kU64},
      {"si8", RtType::kS8},           {"si16", RtType::kS16},
      {"si32", RtType::kS32},         {"si64", RtType::kS64},
      {"f16", RtType::kF16},          {"bf16", RtType::kBF16},
      {"f32", RtType::kF32},          {"f64", RtType::kF64},
      {"f8E5M2", RtType::kF8E5M2},    {"f8E4M3FN", RtType::kF8E4M3FN},
      {"f8E4M3", RtType::kF8E4M3},    {"f8E3M4", RtType::kF8E3M4},
      {"complex<f32>", RtType::kC64}, {"complex<f64>", RtType::kC128},
  };
  for (const auto& [known, type] : kNames) {
    if (name == known) return type;
  }
  return RtType::kInvalid;
}

template <typename T>
void Append(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Appends the number that `word` writes, in the form of `type`. False if it writes none.
bool AppendNumber(absl::string_view word, RtType type, std::string* out) {
  if (type == RtType::kC64 || type == RtType::kC128) {
    const RtType part = type == RtType::kC64 ? RtType::kF32 : RtType::kF64;
    const size_t comma = word.find(',');
    if (comma == absl::string_view::npos) return AppendNumber(word, part, out) && AppendNumber("0", part, out);
    return AppendNumber(word.substr(0, comma), part, out) && AppendNumber(word.substr(comma + 1), part, out);
  }
  const size_t bytes = SizeOf(type);
  if (word == "true" || word == "false") {
    out->append(std::string(1, word == "true"));
    out->append(bytes - 1, '\0');
    return true;
  }
  uint64_t bits = 0;
  if (absl::StartsWith(word, "0x")) {
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), bits, 16);
    if (error != std::errc() || end != word.data() + word.size() || word.size() == 2) return false;
  } else if (IsFloat(type)) {
    double value = 0;
    if (!absl::SimpleAtod(word, &value)) return false;
    switch (type) {
      case RtType::kF64:
        Append(value, out);
        return true;
      case RtType::kF32:
        Append(static_cast<float>(value), out);
        return true;
      case RtType::kF16:
        Append(static_cast<_Float16>(value), out);
        return true;
      default: {
        uint32_t wide;
        const float narrow = static_cast<float>(value);
        std::memcpy(&wide, &narrow, sizeof(wide));
        Append(static_cast<uint16_t>(value != value ? 0x7fc0 : (wide + 0x7fff + ((wide >> 16) & 1)) >> 16), out);
        return true;
      }
    }
  } else {
    int64_t value = 0;
    if (absl::SimpleAtoi(word, &value)) {
      bits = static_cast<uint64_t>(value);
    } else if (!absl::SimpleAtoi(word, &bits)) {
      return false;
    }
  }
  out->append(reinterpret_cast<const char*>(&bits), bytes);
  return true;
}

class AttributeParser {
 public:
  explicit AttributeParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<TypedAttribute> All() {
    XC_ASSIGN_OR_RETURN(TypedAttribute dictionary, Dictionary());
    if (Peek() != '\0') return Error("the end");
    return dictionary;
  }

 private:
  absl::Status Error(absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("backend_config: expected ", what, " at offset ", at_, " of `", text_.substr(0, 200), "`"));
  }
  void Space() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  char Peek() {
    Space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(absl::string_view word) {
    Space();
    if (!absl::StartsWith(text_.substr(at_), word)) return false;
    at_ += word.size();
    return true;
  }
  absl::Status Expect(char c) { return Take(c) ? absl::OkStatus() : Error(absl::StrCat("'", std::string(1, c), "'")); }

  absl::StatusOr<TypedAttribute> Dictionary() {
    TypedAttribute dictionary;
    dictionary.kind = Kind::kDictionary;
    XC_RETURN_IF_ERROR(Expect('{'));
    if (Take('}')) return dictionary;
    do {
      XC_ASSIGN_OR_RETURN(std::string name, Name());
      TypedAttribute value;  // a unit attribute
      value.kind = Kind::kScalar;
      value.type = RtType::kPred;
      value.count = 1;
      value.bytes = std::string(1, '\1');
      if (Take('=')) {
        XC_ASSIGN_OR_RETURN(value, Value());
      }
      dictionary.entries.push_back({std::move(name), std::move(value)});
    } while (Take(','));
    XC_RETURN_IF_ERROR(Expect('}'));
    std::stable_sort(dictionary.entries.begin(), dictionary.entries.end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
    return dictionary;
  }

  absl::StatusOr<std::string> Name() {
    if (Peek() == '"') return String();
    const size_t start = at_;
    while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) || text_[at_] == '_' || text_[at_] == '.' ||
                                  text_[at_] == '$' || text_[at_] == '-')) {
      ++at_;
    }
    if (at_ == start) return Error("a name");
    return std::string(text_.substr(start, at_ - start));
  }

  absl::StatusOr<std::string> String() {
    XC_RETURN_IF_ERROR(Expect('"'));
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        value += text_[at_++];
        continue;
      }
      ++at_;
      if (at_ >= text_.size()) break;
      if (at_ + 1 < text_.size() && absl::ascii_isxdigit(text_[at_]) && absl::ascii_isxdigit(text_[at_ + 1])) {
        value += absl::HexStringToBytes(std::string(text_.substr(at_, 2)));
        at_ += 2;
      } else {
        const char c = text_[at_++];
        value += c == 'n' ? '\n' : (c == 't' ? '\t' : c);
      }
    }
    XC_RETURN_IF_ERROR(Expect('"'));
    return value;
  }

  absl::StatusOr<RtType> Type() {
    XC_ASSIGN_OR_RETURN(std::string name, Name());
    if (name == "complex" && Take('<')) {
      XC_ASSIGN_OR_RETURN(const std::string part, Name());
      XC_RETURN_IF_ERROR(Expect('>'));
      name = absl::StrCat("complex<", part, ">");
    }
    const RtType type = TypeNamed(name);
    if (type == RtType::kInvalid) return Error(absl::StrCat("a type, not ", name, ","));
    return type;
  }

  // A number, or the two of a complex one with a comma between them.
  absl::StatusOr<std::string> Numeral() {
    if (Take('(')) {
      XC_ASSIGN_OR_RETURN(const std::string real, Numeral());
      XC_RETURN_IF_ERROR(Expect(','));
      XC_ASSIGN_OR_RETURN(const std::string imaginary, Numeral());
      XC_RETURN_IF_ERROR(Expect(')'));
      return absl::StrCat(real, ",", imaginary);
    }
    Space();
    const size_t start = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isalnum(text_[at_]) || text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    if (at_ == start) return Error("a value");
    return std::string(text_.substr(start, at_ - start));
  }

  absl::StatusOr<TypedAttribute> Elements(RtType type, absl::Span<const std::string> words, Kind kind) {
    TypedAttribute value;
    value.kind = kind;
    value.type = type;
    value.count = static_cast<int64_t>(words.size());
    for (const std::string& word : words) {
      if (!AppendNumber(word, type, &value.bytes)) return Error(absl::StrCat("a value, not ", word, ","));
    }
    return value;
  }

  absl::StatusOr<TypedAttribute> Number() {
    const size_t start = at_;
    XC_ASSIGN_OR_RETURN(const std::string word, Numeral());
    RtType type = RtType::kS64;
    if (word == "true" || word == "false") {
      type = RtType::kPred;
    } else if (Take(':')) {
      XC_ASSIGN_OR_RETURN(type, Type());
    } else if (!absl::StartsWith(word, "0x") && word.find_first_of(".eEn") != std::string::npos) {
      type = RtType::kF64;
    }
    absl::StatusOr<TypedAttribute> value = Elements(type, {word}, Kind::kScalar);
    if (!value.ok()) {
      at_ = start;
      Space();
      return Error("a value");
    }
    return value;
  }

  absl::StatusOr<TypedAttribute> Value() {
    if (depth_ >= kMaxDepth) return Error("values that are nested less deep");
    ++depth_;
    absl::StatusOr<TypedAttribute> value = ValueAtDepth();
    --depth_;
    return value;
  }

  absl::StatusOr<TypedAttribute> ValueAtDepth() {
    const char c = Peek();
    if (c == '"') {
      TypedAttribute value;
      value.kind = Kind::kString;
      XC_ASSIGN_OR_RETURN(value.bytes, String());
      return value;
    }
    if (c == '{') return Dictionary();
    if (c == '[') return List();
    if (TakeWord("array<")) return DenseArray();
    if (TakeWord("dense<")) return Dense();
    if (c == '#' || c == '@') return Verbatim();
    return Number();
  }

  // array<i64: 1, 2>
  absl::StatusOr<TypedAttribute> DenseArray() {
    XC_ASSIGN_OR_RETURN(const RtType type, Type());
    std::vector<std::string> words;
    if (!Take('>')) {
      XC_RETURN_IF_ERROR(Expect(':'));
      do {
        XC_ASSIGN_OR_RETURN(words.emplace_back(), Numeral());
      } while (Take(','));
      XC_RETURN_IF_ERROR(Expect('>'));
    }
    return Elements(type, words, Kind::kArray);
  }

  absl::Status DenseNumbers(int depth, std::vector<std::string>* words) {
    if (depth > kMaxDepth) return Error("lists that are nested less deep");
    if (!Take('[')) {
      XC_ASSIGN_OR_RETURN(words->emplace_back(), Numeral());
      return absl::OkStatus();
    }
    if (Take(']')) return absl::OkStatus();
    do {
      XC_RETURN_IF_ERROR(DenseNumbers(depth + 1, words));
    } while (Take(','));
    return Expect(']');
  }

  // dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  absl::StatusOr<TypedAttribute> Dense() {
    std::vector<std::string> words;
    std::string hex;
    if (Peek() == '"') {
      XC_ASSIGN_OR_RETURN(hex, String());
    } else if (Peek() != '>') {
      XC_RETURN_IF_ERROR(DenseNumbers(0, &words));
    }
    XC_RETURN_IF_ERROR(Expect('>'));
    XC_RETURN_IF_ERROR(Expect(':'));
    if (!TakeWord("tensor<") && !TakeWord("vector<")) return Error("a tensor type");
    int64_t count = 1;
    while (absl::ascii_isdigit(Peek())) {
      int64_t size = 0;
      while (at_ < text_.size() && absl::ascii_isdigit(text_[at_])) {
        size = std::min<int64_t>(size * 10 + (text_[at_++] - '0'), kMaxElements);
      }
      if (!Take('x')) return Error("'x'");
      count = size == 0 ? 0 : count > kMaxElements / size ? kMaxElements : count * size;
    }
    XC_ASSIGN_OR_RETURN(const RtType type, Type());
    XC_RETURN_IF_ERROR(Expect('>'));
    if (!hex.empty()) {
      TypedAttribute value;
      value.kind = Kind::kArray;
      value.type = type;
      value.count = count;
      value.bytes = absl::HexStringToBytes(absl::StripPrefix(hex, "0x"));
      if (static_cast<int64_t>(value.bytes.size()) == SizeOf(type) && count > 1 && count < kMaxElements) {
        const std::string one = value.bytes;
        for (int64_t i = 1; i < count; ++i) value.bytes += one;
      }
      if (static_cast<int64_t>(value.bytes.size()) != count * SizeOf(type)) return Error("as many elements as it has");
      return value;
    }
    if (words.size() == 1 && count != 1) {
      if (count >= kMaxElements) return Error("an array of fewer elements");
      words.assign(count, words[0]);
    }
    if (static_cast<int64_t>(words.size()) != count) return Error("as many elements as its type says");
    return Elements(type, words, Kind::kArray);
  }

  absl::StatusOr<TypedAttribute> List() {
    XC_RETURN_IF_ERROR(Expect('['));
    std::vector<TypedAttribute> values;
    std::vector<std::string> words;
    bool numbers = true, floats = false, same = true;
    if (!Take(']')) {
      do {
        Space();
        const size_t start = at_;
        XC_ASSIGN_OR_RETURN(values.emplace_back(), Value());
        const TypedAttribute& value = values.back();
        numbers &= value.kind == Kind::kScalar;
        floats |= IsFloat(value.type);
        same &= value.type == values[0].type;
        std::string word(text_.substr(start, at_ - start));
        words.push_back(std::string(absl::StripAsciiWhitespace(word.substr(0, word.find(':')))));
      } while (Take(','));
      XC_RETURN_IF_ERROR(Expect(']'));
    }
    if (numbers) {
      const RtType type = values.empty() ? RtType::kS64 : same ? values[0].type : floats ? RtType::kF64 : RtType::kS64;
      if (!same) return Elements(type, words, Kind::kArray);
      TypedAttribute array;
      array.kind = Kind::kArray;
      array.type = type;
      array.count = static_cast<int64_t>(values.size());
      for (const TypedAttribute& value : values) array.bytes += value.bytes;
      return array;
    }
    TypedAttribute dictionary;
    dictionary.kind = Kind::kDictionary;
    for (size_t i = 0; i < values.size(); ++i) dictionary.entries.push_back({absl::StrCat(i), std::move(values[i])});
    std::stable_sort(dictionary.entries.begin(), dictionary.entries.end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
    return dictionary;
  }

  // The text of a value of another kind, up to the comma or brace that ends it.
  absl::StatusOr<TypedAttribute> Verbatim() {
    const size_t start = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '{' || c == '<' || c == '[' || c == '(') ++depth;
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
      if (c == '}' || c == '>' || c == ']' || c == ')') --depth;
    }
    TypedAttribute value;
    value.bytes = std::string(text_.substr(start, at_ - start));
    return value;
  }

  absl::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<TypedAttribute> ReadAttributeDictionary(absl::string_view text) {
  TypedAttribute none;
  none.kind = Kind::kDictionary;
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  if (stripped.empty() || stripped[0] != '{') return none;
  // A JSON object, as other calls' configurations are: its names are quoted and followed by a colon.
  const absl::string_view inside = absl::StripLeadingAsciiWhitespace(stripped.substr(1));
  if (!inside.empty() && inside[0] == '"') {
    const size_t quote = inside.find('"', 1);
    const absl::string_view after = quote == absl::string_view::npos
                                        ? absl::string_view()
                                        : absl::StripLeadingAsciiWhitespace(inside.substr(quote + 1));
    if (after.empty() || after[0] == ':') return none;
  }
  return AttributeParser(stripped).All();
}

}  // namespace xc
