// The parser of MLIR attribute dictionaries as they stand in backend_config.
#include <charconv>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/runtime/custom_call.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::Status Dictionary(std::map<std::string, CallAttributes::Value>* values) {
    XC_RETURN_IF_ERROR(Expect('{'));
    if (Take('}')) return End();
    do {
      XC_ASSIGN_OR_RETURN(std::string name, Name());
      CallAttributes::Value value = true;  // a unit attribute
      if (Take('=')) {
        XC_ASSIGN_OR_RETURN(value, Value());
      }
      (*values)[name] = std::move(value);
    } while (Take(','));
    XC_RETURN_IF_ERROR(Expect('}'));
    return End();
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
  absl::Status Expect(char c) { return Take(c) ? absl::OkStatus() : Error(absl::StrCat("'", std::string(1, c), "'")); }
  absl::Status End() { return Peek() == '\0' ? absl::OkStatus() : Error("the end"); }

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
        value += static_cast<char>(std::strtol(std::string(text_.substr(at_, 2)).c_str(), nullptr, 16));
        at_ += 2;
      } else {
        const char c = text_[at_++];
        value += c == 'n' ? '\n' : (c == 't' ? '\t' : c);
      }
    }
    XC_RETURN_IF_ERROR(Expect('"'));
    return value;
  }

  // A type after a colon; returns whether it is a float type.
  absl::StatusOr<bool> Type() {
    XC_ASSIGN_OR_RETURN(std::string type, Name());
    return type[0] == 'f' || type[0] == 'b';
  }

  struct Number {
    bool is_float;
    int64_t i;
    double d;
  };
  absl::StatusOr<Number> Numeral() {
    Space();
    const size_t start = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isalnum(text_[at_]) || text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    const std::string word(text_.substr(start, at_ - start));
    Number number{false, 0, 0};
    if (word == "true" || word == "false") {
      number.i = word == "true";
      return number;
    }
    const bool hex = word.rfind("0x", 0) == 0;
    const bool plain = !hex && word.find_first_of(".eE") == std::string::npos;
    uint64_t bits = 0;
    if (hex && std::from_chars(word.data() + 2, word.data() + word.size(), bits, 16).ptr == word.data() + word.size() &&
        word.size() > 2) {
      number.i = static_cast<int64_t>(bits);
    } else if (plain && absl::SimpleAtoi(word, &number.i)) {
    } else if (plain && absl::SimpleAtoi(word, &bits)) {
      number.i = static_cast<int64_t>(bits);
    } else if (absl::SimpleAtod(word, &number.d)) {
      number.is_float = true;
      return number;
    } else {
      at_ = start;
      return Error("a value");
    }
    number.d = static_cast<double>(number.i);
    return number;
  }

  absl::StatusOr<CallAttributes::Value> Value() {
    const char c = Peek();
    if (c == '"') {
      XC_ASSIGN_OR_RETURN(std::string value, String());
      return CallAttributes::Value(std::move(value));
    }
    if (c == '[') return Array('[', ']', false);
    const absl::string_view rest = text_.substr(at_);
    if (rest.substr(0, 6) == "array<") {
      at_ += 6;
      XC_ASSIGN_OR_RETURN(bool is_float, Type());
      if (Take('>')) return is_float ? CallAttributes::Value(std::vector<double>()) : std::vector<int64_t>();
      XC_RETURN_IF_ERROR(Expect(':'));
      return Array('\0', '>', is_float);
    }
    if (c == '{' || rest.substr(0, 6) == "dense<" || c == '#' || c == '@') return Verbatim();
    XC_ASSIGN_OR_RETURN(Number number, Numeral());
    if (rest.substr(0, 4) == "true" || rest.substr(0, 5) == "false") return CallAttributes::Value(number.i != 0);
    if (Take(':')) {
      XC_ASSIGN_OR_RETURN(bool is_float, Type());
      number.is_float = number.is_float || is_float;
    }
    if (number.is_float) return CallAttributes::Value(number.d);
    return CallAttributes::Value(number.i);
  }

  absl::StatusOr<CallAttributes::Value> Array(char open, char close, bool is_float) {
    if (open != '\0') XC_RETURN_IF_ERROR(Expect(open));
    std::vector<int64_t> ints;
    std::vector<double> floats;
    if (!Take(close)) {
      do {
        XC_ASSIGN_OR_RETURN(Number number, Numeral());
        if (Take(':')) {
          XC_ASSIGN_OR_RETURN(bool float_type, Type());
          is_float = is_float || float_type;
        }
        is_float = is_float || number.is_float;
        ints.push_back(number.i);
        floats.push_back(number.d);
      } while (Take(','));
      XC_RETURN_IF_ERROR(Expect(close));
    }
    if (is_float) return CallAttributes::Value(std::move(floats));
    return CallAttributes::Value(std::move(ints));
  }

  // The text of a value of another kind, up to the comma or brace that ends it.
  absl::StatusOr<CallAttributes::Value> Verbatim() {
    const size_t start = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '{' || c == '<' || c == '[' || c == '(') ++depth;
      if (depth == 0 && (c == ',' || c == '}')) break;
      if (c == '}' || c == '>' || c == ']' || c == ')') --depth;
    }
    return CallAttributes::Value(std::string(text_.substr(start, at_ - start)));
  }

  absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<CallAttributes> CallAttributes::Parse(absl::string_view text) {
  CallAttributes attributes;
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  if (stripped.empty() || stripped[0] != '{') return attributes;
  // A JSON object, as other calls' configurations are: its names are quoted and followed by a colon.
  const absl::string_view inside = absl::StripLeadingAsciiWhitespace(stripped.substr(1));
  if (!inside.empty() && inside[0] == '"') {
    const size_t quote = inside.find('"', 1);
    const absl::string_view after = quote == absl::string_view::npos
                                        ? absl::string_view()
                                        : absl::StripLeadingAsciiWhitespace(inside.substr(quote + 1));
    if (after.empty() || after[0] == ':') return attributes;
  }
  XC_RETURN_IF_ERROR(Parser(stripped).Dictionary(&attributes.values_));
  return attributes;
}

const CallAttributes::Value* CallAttributes::Find(absl::string_view name) const {
  auto it = values_.find(std::string(name));
  return it == values_.end() ? nullptr : &it->second;
}

absl::StatusOr<int64_t> CallAttributes::Int(absl::string_view name) const {
  const Value* value = Find(name);
  if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is missing"));
  if (const int64_t* i = std::get_if<int64_t>(value)) return *i;
  if (const bool* b = std::get_if<bool>(value)) return *b;
  return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is not an integer"));
}

}  // namespace xc
