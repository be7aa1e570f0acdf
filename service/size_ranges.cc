#include "service/size_ranges.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':'; }

// The multiples that a symbol may be.
int64_t Lowest(const Symbol& s) { return s.low / s.multiple + (s.low % s.multiple != 0); }
int64_t Values(const Symbol& s) { return std::max<int64_t>(0, s.high / s.multiple - Lowest(s) + 1); }

// The text of ranges with symbols in their place, and these as `b=1..64`.
struct Named {
  std::string text;
  std::vector<std::string> symbols;
};

Named NameRanges(absl::string_view text) {
  Named out;
  bool inside = false;  // of brackets
  const auto name = [&text](size_t number) {
    std::string fresh = absl::StrCat("size", number);
    while (text.find(fresh) != absl::string_view::npos) fresh += "_";
    return fresh;
  };
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '$') {  // an expression
      const size_t end = text.find_first_of(")],", at);
      const size_t stop = end == absl::string_view::npos ? text.size() : end;
      out.text.append(text.data() + at, stop - at);
      at = stop;
      continue;
    }
    if (!IsWordPart(c)) {
      if (c == '[' || c == ']') inside = c == '[';
      out.text += c;
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && IsWordPart(text[end])) ++end;
    std::string word(text.substr(at, end - at)), range;
    if (end < text.size() && text[end] == '=') {
      size_t stop = end + 1;
      while (stop < text.size() && IsWordPart(text[stop])) ++stop;
      range = std::string(text.substr(end + 1, stop - end - 1));
      end = stop;
    } else if (word.find("..") != std::string::npos) {
      range = std::exchange(word, name(out.symbols.size()));
    }
    at = end;
    if (range.find("..") != std::string::npos) {
      out.symbols.push_back(absl::StrCat(word, "=", range));
      absl::StrAppend(&out.text, inside ? "" : absl::StrCat(word, "="), "$", word);
    } else if (!range.empty()) {
      absl::StrAppend(&out.text, word, "=", range);
    } else {
      const bool symbol = inside && !std::isdigit(static_cast<unsigned char>(word[0]));
      absl::StrAppend(&out.text, symbol ? "$" : "", word);
    }
  }
  return out;
}

absl::StatusOr<SymbolicText> WithHeader(const std::vector<std::string>& symbols, absl::string_view text) {
  std::string header = "HloModule m, symbols={";
  for (const std::string& symbol : symbols) absl::StrAppend(&header, symbol, ",");
  return SymbolicText::Parse(absl::StrCat(header, "}\n", text));
}

}  // namespace

absl::StatusOr<SizeRanges> SizeRanges::Parse(absl::string_view text) {
  if (text.find_first_of("\n\r\"{}") != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no list of shapes"));
  }
  const Named named = NameRanges(text);
  XC_ASSIGN_OR_RETURN(const SymbolicText parsed, WithHeader(named.symbols, named.text));
  return Make(parsed.symbols(), named.text);
}

absl::StatusOr<SizeRanges> SizeRanges::OfSymbols(const std::vector<Symbol>& symbols) {
  std::string text;
  for (const Symbol& symbol : symbols) {
    absl::StrAppend(&text, text.empty() ? "" : ",", symbol.name, "=$", symbol.name);
    if (symbol.high < INT64_MAX) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "symbol ", symbol.name, " has no largest value: a program compiled ahead of time is for sizes that ",
        "were tried; give a range, as --shapes=", symbol.name, "=1..64"));
  }
  return Make(symbols, text);
}

absl::StatusOr<SizeRanges> SizeRanges::Make(const std::vector<Symbol>& symbols, absl::string_view text) {
  std::vector<std::string> in, out;
  int64_t count = 1;
  for (const Symbol& symbol : symbols) {
    in.push_back(absl::StrCat(symbol.name, "=", symbol.low, "..", symbol.high, ":", symbol.multiple));
    out.push_back(absl::StrCat(symbol.name, "=1..", INT64_MAX, ":", symbol.multiple));
    const int64_t values = Values(symbol);
    if (values == 0) return absl::InvalidArgumentError(absl::StrCat("the range ", symbol.ToString(), " has no value"));
    if (count > kMost / values) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' has more than ", kMost, " combinations of sizes, each of which is tried"));
    }
    count *= values;
  }
  XC_ASSIGN_OR_RETURN(SymbolicText inside, WithHeader(in, text));
  XC_ASSIGN_OR_RETURN(SymbolicText outside, WithHeader(out, text));
  SizeRanges ranges(std::move(inside), std::move(outside));
  ranges.count_ = count;
  return ranges;
}

absl::StatusOr<std::string> SizeRanges::Bind(const SymbolicText& text, const SymbolValues& values) {
  XC_ASSIGN_OR_RETURN(const std::string bound, text.Bind(values));
  return bound.substr(bound.find('\n') + 1);
}

absl::StatusOr<std::string> SizeRanges::At(int64_t i) const {
  SymbolValues values;
  for (const Symbol& symbol : text_.symbols()) {
    const int64_t count = Values(symbol);
    values[symbol.name] = (Lowest(symbol) + i % count) * symbol.multiple;
    i /= count;
  }
  return Bind(text_, values);
}

absl::StatusOr<std::string> SizeRanges::Sample(int which, bool outside) const {
  const SymbolicText& text = outside ? outside_ : text_;
  XC_ASSIGN_OR_RETURN(const SymbolValues values, text.Sample(which));
  return Bind(text, values);
}

}  // namespace xc
