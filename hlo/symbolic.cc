#include "hlo/symbolic.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "hlo/base/primes.h"
#include "hlo/base/status.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

constexpr absl::string_view kSymbols = "symbols={";
constexpr int kMaxDepth = 100;

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || std::isdigit(static_cast<unsigned char>(c)); }

// A recursive descent over one expression.
class SizeParser {
 public:
  SizeParser(absl::string_view text, const SymbolValues& values) : text_(text), values_(values) {}

  absl::StatusOr<int64_t> Run() {
    XC_ASSIGN_OR_RETURN(const int64_t value, Sum());
    Skip();
    if (at_ != text_.size()) return Error("what follows is no operator");
    return value;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("size \"", text_, "\", character ", at_ + 1, ": ", what));
  }
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  absl::StatusOr<int64_t> Sum() {
    XC_ASSIGN_OR_RETURN(int64_t value, Product());
    for (;;) {
      const bool plus = Take('+');
      if (!plus && !Take('-')) return value;
      XC_ASSIGN_OR_RETURN(const int64_t next, Product());
      if (plus ? __builtin_add_overflow(value, next, &value) : __builtin_sub_overflow(value, next, &value)) {
        return Error("the value is out of range");
      }
    }
  }

  absl::StatusOr<int64_t> Product() {
    XC_ASSIGN_OR_RETURN(int64_t value, Factor());
    for (;;) {
      const char op = Take('*') ? '*' : Take('/') ? '/' : Take('%') ? '%' : 0;
      if (op == 0) return value;
      XC_ASSIGN_OR_RETURN(const int64_t next, Factor());
      if (op == '*') {
        if (__builtin_mul_overflow(value, next, &value)) return Error("the value is out of range");
        continue;
      }
      if (next == 0) return Error("it divides by 0");
      if (next == -1) {
        if (op == '/' && __builtin_sub_overflow(int64_t{0}, value, &value)) return Error("the value is out of range");
        if (op == '%') value = 0;
        continue;
      }
      const int64_t rest = value % next, floor = value / next - (rest != 0 && (rest < 0) != (next < 0));
      value = op == '/' ? floor : value - floor * next;
    }
  }

  absl::StatusOr<int64_t> Factor() {
    if (++depth_ > kMaxDepth) return Error("it nests too deeply");
    absl::StatusOr<int64_t> value = Primary();
    --depth_;
    return value;
  }

  absl::StatusOr<int64_t> Primary() {
    if (Take('-')) {
      XC_ASSIGN_OR_RETURN(const int64_t value, Factor());
      if (value == INT64_MIN) return Error("the value is out of range");
      return -value;
    }
    if (Take('(')) {
      XC_ASSIGN_OR_RETURN(const int64_t value, Sum());
      if (!Take(')')) return Error("a closing parenthesis is missing");
      return value;
    }
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (word.empty()) return Error("a number or a symbol is missing");
    if (!IsNameStart(word[0])) {
      int64_t value = 0;
      if (!absl::SimpleAtoi(word, &value)) return Error(absl::StrCat("\"", word, "\" is no number"));
      return value;
    }
    if ((word == "min" || word == "max") && Take('(')) {
      XC_ASSIGN_OR_RETURN(const int64_t a, Sum());
      if (!Take(',')) return Error("a comma is missing");
      XC_ASSIGN_OR_RETURN(const int64_t b, Sum());
      if (!Take(')')) return Error("a closing parenthesis is missing");
      return word == "min" ? std::min(a, b) : std::max(a, b);
    }
    const auto it = values_.find(word);
    if (it == values_.end()) return Error(absl::StrCat("there is no symbol ", word));
    return it->second;
  }

  const absl::string_view text_;
  const SymbolValues& values_;
  size_t at_ = 0;
  int depth_ = 0;
};

// "n=8..512:8".
absl::StatusOr<Symbol> ParseSymbol(absl::string_view text) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("symbol \"", text, "\": ", what));
  };
  Symbol symbol;
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  symbol.name = std::string(absl::StripAsciiWhitespace(parts.first));
  const bool name = !symbol.name.empty() && IsNameStart(symbol.name[0]) &&
                    std::all_of(symbol.name.begin(), symbol.name.end(), IsNamePart);
  if (!name || symbol.name == "min" || symbol.name == "max") return error("this is no name for a symbol");
  absl::string_view range = absl::StripAsciiWhitespace(parts.second);
  if (range.empty()) return symbol;
  if (const size_t colon = range.find(':'); colon != absl::string_view::npos) {
    if (!absl::SimpleAtoi(range.substr(colon + 1), &symbol.multiple) || symbol.multiple < 1) {
      return error("after the colon stands what it is a multiple of");
    }
    range = range.substr(0, colon);
  }
  const size_t dots = range.find("..");
  const bool open = dots != absl::string_view::npos && dots + 2 == range.size();
  const bool two = dots != absl::string_view::npos && absl::SimpleAtoi(range.substr(0, dots), &symbol.low) &&
                   (open || absl::SimpleAtoi(range.substr(dots + 2), &symbol.high));
  if (!two || symbol.low < 0 || symbol.high < symbol.low) return error("a range is written LOW..HIGH, or LOW..");
  return symbol;
}

}  // namespace

absl::Status Symbol::Check(int64_t value) const {
  if (value >= low && value <= high && value % multiple == 0) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("symbol ", ToString(), " cannot be ", value));
}

std::string Symbol::ToString() const {
  if (low == 1 && high == INT64_MAX && multiple == 1) return name;
  const std::string end = high == INT64_MAX ? "" : absl::StrCat(high);
  return absl::StrCat(name, "=", low, "..", end, multiple == 1 ? "" : absl::StrCat(":", multiple));
}

absl::StatusOr<int64_t> EvaluateSize(absl::string_view expression, const SymbolValues& values) {
  return SizeParser(expression, values).Run();
}

absl::StatusOr<SymbolValues> ParseSymbolValues(absl::string_view text) {
  SymbolValues values;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    int64_t value = 0;
    const std::string name(absl::StripAsciiWhitespace(pair.first));
    if (name.empty() || !absl::SimpleAtoi(pair.second, &value) || !values.emplace(name, value).second) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no list of values like b=2,n=17"));
    }
  }
  return values;
}

bool SymbolicText::IsSymbolic(absl::string_view text) {
  const size_t begin = text.find("HloModule");
  if (begin == absl::string_view::npos) return false;
  return text.substr(begin, text.find('\n', begin) - begin).find(kSymbols) != absl::string_view::npos;
}

absl::StatusOr<SymbolicText> SymbolicText::Parse(std::string text) {
  if (!IsSymbolic(text)) return absl::InvalidArgumentError("the module's header has no symbols={…}");
  SymbolicText parsed;
  const size_t begin = text.find("symbols={"), first = begin + kSymbols.size(), end = text.find('}', first);
  if (end == std::string::npos) return absl::InvalidArgumentError("symbols={ has no end");
  const std::string list = text.substr(first, end - first);
  for (absl::string_view part : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    XC_ASSIGN_OR_RETURN(Symbol symbol, ParseSymbol(part));
    for (const Symbol& other : parsed.symbols_) {
      if (other.name == symbol.name) return absl::InvalidArgumentError(absl::StrCat("symbol ", symbol.name, " twice"));
    }
    parsed.symbols_.push_back(std::move(symbol));
  }
  // The attribute goes, with the comma before it.
  size_t from = begin;
  while (from > 0 && (text[from - 1] == ' ' || text[from - 1] == ',')) --from;
  text.erase(from, end + 1 - from);
  std::string piece;
  bool quoted = false;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\\' && quoted && at + 1 < text.size()) {
      piece += text.substr(at, 2);
      at += 2;
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (c != '$' || quoted) {
      piece += c;
      ++at;
      continue;
    }
    size_t stop = ++at;
    if (stop < text.size() && text[stop] == '(') {
      int depth = 0;
      do {
        if (text[stop] == '(') ++depth;
        if (text[stop] == ')') --depth;
        ++stop;
      } while (depth > 0 && stop < text.size() && text[stop] != '\n');
      if (depth > 0) return absl::InvalidArgumentError("a size in $( has no end");
    } else {
      while (stop < text.size() && IsNamePart(text[stop])) ++stop;
    }
    if (stop == at) return absl::InvalidArgumentError("after $ stands a symbol, or an expression in parentheses");
    parsed.pieces_.push_back(std::move(piece));
    piece.clear();
    parsed.sizes_.push_back(text.substr(at, stop - at));
    at = stop;
  }
  parsed.pieces_.push_back(std::move(piece));
  return parsed;
}

absl::StatusOr<std::string> SymbolicText::Bind(const SymbolValues& values) const {
  for (const Symbol& symbol : symbols_) {
    const auto it = values.find(symbol.name);
    if (it == values.end()) return absl::InvalidArgumentError(absl::StrCat("symbol ", symbol.name, " has no value"));
    XC_RETURN_IF_ERROR(symbol.Check(it->second));
  }
  if (values.size() != symbols_.size()) {
    for (const auto& [name, value] : values) {
      const auto is = [&name = name](const Symbol& s) { return s.name == name; };
      if (std::none_of(symbols_.begin(), symbols_.end(), is)) {
        return absl::InvalidArgumentError(absl::StrCat("there is no symbol ", name));
      }
    }
  }
  std::string text = pieces_[0];
  for (size_t i = 0; i < sizes_.size(); ++i) {
    XC_ASSIGN_OR_RETURN(const int64_t size, EvaluateSize(sizes_[i], values));
    absl::StrAppend(&text, size, pieces_[i + 1]);
  }
  return text;
}

absl::StatusOr<std::unique_ptr<HloModule>> SymbolicText::BindModule(const SymbolValues& values) const {
  XC_ASSIGN_OR_RETURN(const std::string text, Bind(values));
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ParseModule(text));
  XC_RETURN_IF_ERROR(VerifyModule(*module));
  return module;
}

bool SymbolicText::OnlyAddsAndMultiplies(absl::string_view symbol) const {
  for (const std::string& size : sizes_) {
    bool named = false, other = size.find_first_of("/%,") != std::string::npos;
    for (size_t at = 0; at < size.size();) {
      size_t end = at;
      while (end < size.size() && IsNamePart(size[end])) ++end;
      named = named || absl::string_view(size).substr(at, end - at) == symbol;
      at = std::max(end, at + 1);
    }
    if (named && other) return false;
  }
  return true;
}

absl::StatusOr<SymbolValues> SymbolicText::Sample(int which) const {
  // The first sample is of middling sizes, which decide the form of code; then come large ones, small ones, round ones,
  // and one size for all symbols that may have it, which shows what is equal by chance.
  constexpr int64_t kScales[] = {131, 1000, 3};
  constexpr int64_t kApart = 41;  // what divisors make of two sizes is unlike, too
  constexpr int kEqual = 4;
  constexpr int64_t kEqualSize = 12;
  const bool round = which >= 3;
  const int64_t scale = round ? 64 * int64_t{which - 1} : kScales[which];
  SymbolValues values;
  std::vector<int64_t> taken;
  for (const Symbol& symbol : symbols_) {
    const int64_t lowest = std::max<int64_t>(2, (symbol.low + symbol.multiple - 1) / symbol.multiple);
    const int64_t highest = symbol.high / symbol.multiple;
    int64_t chosen = -1;
    if (which == kEqual) {
      const int64_t n = (kEqualSize + symbol.multiple - 1) / symbol.multiple;
      if (n >= lowest && n <= highest) chosen = n;
    }
    const auto take = [&](int64_t n) {
      if (chosen < 0 && std::find(taken.begin(), taken.end(), n * symbol.multiple) == taken.end()) chosen = n;
    };
    const int64_t apart = which < 2 ? kApart * static_cast<int64_t>(taken.size()) : 0;
    for (int64_t n = std::max(lowest, scale + apart); chosen < 0 && n <= highest && n < scale + apart + 4096; ++n) {
      if (round ? n % 64 == 0 : IsPrime(n)) take(n);
    }
    // A range of small sizes: from its end downwards, for each sample others.
    for (const bool prime : {true, false}) {
      int skip = which;
      for (int64_t n = std::min(highest, scale); chosen < 0 && n >= lowest; --n) {
        if (IsPrime(n) == prime && skip-- <= 0) take(n);
      }
    }
    if (chosen < 0) return absl::OutOfRangeError(absl::StrCat("symbol ", symbol.ToString(), " has too few values"));
    values[symbol.name] = chosen * symbol.multiple;
    taken.push_back(values[symbol.name]);
  }
  return values;
}

absl::StatusOr<SymbolValues> SymbolicText::Solve(const std::vector<std::vector<int64_t>>& parameters) const {
  // A dimension that has a symbol's value in two bindings is that symbol.
  XC_ASSIGN_OR_RETURN(const SymbolValues marks, Sample(0));
  XC_ASSIGN_OR_RETURN(const SymbolValues others, Sample(1));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, BindModule(marks));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> second, BindModule(others));
  const std::vector<HloInstruction*>& wanted = module->entry()->parameters();
  if (wanted.size() != parameters.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the module takes ", wanted.size(), " parameters; shapes of ", parameters.size(), " are given"));
  }
  SymbolValues values;
  for (size_t p = 0; p < wanted.size(); ++p) {
    const Shape& shape = wanted[p]->shape();
    if (!shape.IsArray() || shape.dims().size() != parameters[p].size()) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", p, " is ", shape.ToString(false)));
    }
    for (int64_t d = 0; d < shape.rank(); ++d) {
      for (const auto& [name, mark] : marks) {
        if (shape.dim(d) != mark || second->entry()->parameters()[p]->shape().dim(d) != others.at(name)) continue;
        const int64_t size = parameters[p][d];
        if (const int64_t other = values.try_emplace(name, size).first->second; other != size) {
          return absl::InvalidArgumentError(
              absl::StrCat("symbol ", name, " is ", other, " and, in dimension ", d, " of parameter ", p, ", ", size));
        }
      }
    }
  }
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> bound, BindModule(values));
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (bound->entry()->parameters()[p]->shape().dims() != parameters[p]) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter ", p, " would be ", bound->entry()->parameters()[p]->shape().ToString(false)));
    }
  }
  return values;
}

}  // namespace xc
