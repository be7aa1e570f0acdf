#include "service/size_ranges.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kMostLowest = 1024;  // multiple that an open range begins with

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':'; }

// The multiples that a symbol may be.
int64_t Lowest(const Symbol& s) { return s.low / s.multiple + (s.low % s.multiple != 0); }
int64_t ValuesOf(const Symbol& s) { return std::max<int64_t>(0, s.high / s.multiple - Lowest(s) + 1); }

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

bool IsOneOf(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Gives the ranges of known.closed an end: a power of two of sizes each, so that there are known.tries combinations at
// most with the others and a few pieces of the open ones.
void CloseRanges(const RangesKnown& known, std::vector<Symbol>* symbols) {
  constexpr int64_t kPieces = 16;
  int64_t room = std::min(SizeRanges::kMost, known.tries), closed = 0;
  for (const Symbol& s : *symbols) {
    const bool endless = s.high == INT64_MAX;
    if (endless && IsOneOf(known.closed, s.name)) {
      ++closed;
    } else {
      room /= endless ? kPieces : std::max<int64_t>(ValuesOf(s), 1);
    }
  }
  int64_t each = 1;
  const auto fits = [&](int64_t n) {
    for (int64_t i = 0, left = room; i < closed; ++i) {
      left /= n;
      if (left == 0) return false;
    }
    return true;
  };
  while (closed > 0 && fits(2 * each)) each *= 2;
  for (Symbol& s : *symbols) {
    const int64_t lowest = std::max<int64_t>(1, Lowest(s));
    if (s.high != INT64_MAX || !IsOneOf(known.closed, s.name) || lowest > INT64_MAX / s.multiple - each) continue;
    s.high = (lowest + each - 1) * s.multiple;
  }
}

}  // namespace

absl::StatusOr<SizeRanges> SizeRanges::Parse(absl::string_view text, const RangesKnown& known) {
  if (text.find_first_of("\n\r\"{}") != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no list of shapes"));
  }
  const Named named = NameRanges(text);
  XC_ASSIGN_OR_RETURN(const SymbolicText parsed, WithHeader(named.symbols, named.text));
  return Make(parsed.symbols(), named.text, known);
}

absl::StatusOr<SizeRanges> SizeRanges::OfSymbols(const std::vector<Symbol>& symbols, const RangesKnown& known) {
  std::string text;
  for (const Symbol& symbol : symbols) {
    absl::StrAppend(&text, text.empty() ? "" : ",", symbol.name, "=$", symbol.name);
  }
  return Make(symbols, text, known);
}

absl::StatusOr<SizeRanges> SizeRanges::Make(std::vector<Symbol> symbols, absl::string_view text,
                                            const RangesKnown& known) {
  CloseRanges(known, &symbols);
  std::vector<bool> open(symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (ValuesOf(symbols[i]) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("the range ", symbols[i].ToString(), " has no value"));
    }
    open[i] = symbols[i].high == INT64_MAX;
  }
  // Which of two closed ranges is opened first.
  const auto before = [&](const Symbol& a, const Symbol& b) {
    const auto is_apart = [&](const Symbol& s) { return IsOneOf(known.apart, s.name); };
    return std::make_pair(is_apart(a), ValuesOf(a)) > std::make_pair(is_apart(b), ValuesOf(b));
  };
  for (;;) {
    int64_t count = 1;
    size_t first = symbols.size();
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (open[i]) continue;
      const int64_t values = ValuesOf(symbols[i]);
      if (first == symbols.size() || before(symbols[i], symbols[first])) first = i;
      count = count > kMost / values ? kMost + 1 : count * values;
    }
    if (count <= kMost) break;
    open[first] = true;
  }
  std::vector<std::string> in, out;
  std::vector<Open> opens;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    out.push_back(absl::StrCat(symbol.name, "=1..:", symbol.multiple));
    in.push_back(open[i] ? out.back()
                         : absl::StrCat(symbol.name, "=", symbol.low, "..", symbol.high, ":", symbol.multiple));
    if (!open[i]) continue;
    const int64_t lowest = std::max<int64_t>(1, Lowest(symbol));
    if (lowest > kMostLowest) {
      return absl::InvalidArgumentError(
          absl::StrCat("the range ", symbol.ToString(), " has no end, or too many values ",
                       "to try each: it has to begin at ", kMostLowest * symbol.multiple, " at most"));
    }
    opens.push_back({symbol.name, lowest * symbol.multiple, symbol.high, symbol.multiple, {}});
  }
  XC_ASSIGN_OR_RETURN(SymbolicText inside, WithHeader(in, text));
  XC_ASSIGN_OR_RETURN(SymbolicText outside, WithHeader(out, text));
  SizeRanges ranges(std::move(inside), std::move(outside));
  ranges.open_ = std::move(opens);
  if (!known.closed.empty()) ranges.most_ = std::min(kMost, known.tries);
  XC_RETURN_IF_ERROR(ranges.SetPieces(1, 1));
  return ranges;
}

absl::Status SizeRanges::SetPieces(int64_t dense, int64_t most) {
  // Each has the same root of what all together may have.
  const auto power = [this](int64_t n) {
    int64_t product = 1;
    for (size_t o = 0; o < open_.size(); ++o) product = product > kMost * kMost / n ? kMost * kMost : product * n;
    return product;
  };
  int64_t each = 1;
  while (!open_.empty() && power(2 * each) <= most) each *= 2;
  int64_t closed = 1;
  for (const Symbol& symbol : text_.symbols()) {
    if (OpenNamed(symbol.name) == nullptr) closed *= ValuesOf(symbol);
  }
  for (;;) {
    count_ = closed;
    for (Open& open : open_) {
      // What is left of any number of pieces can be made of those from the lowest to before its double.
      const int64_t lowest = open.low / open.multiple;
      open.pieces.clear();
      for (int64_t unit = lowest; unit < lowest + std::max(lowest, dense); ++unit) open.pieces.push_back(unit);
      for (int64_t unit = 1; unit <= each; unit *= 2) {
        if (unit > open.pieces.back()) open.pieces.push_back(unit);
      }
      for (int64_t& piece : open.pieces) piece *= open.multiple;
      const auto pieces = static_cast<int64_t>(open.pieces.size());
      count_ = count_ > INT64_MAX / pieces ? INT64_MAX : count_ * pieces;
    }
    if (count_ <= most_) return absl::OkStatus();
    // Many rows in more pieces take little more time than in few.
    if (dense > 1) {
      dense /= 2;
    } else if (each > 1) {
      each /= 2;
    } else {
      break;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("the ranges have ", count_, " combinations of sizes or more; each is ",
                                                 "tried, so that there may be ", most_,
                                                 ": make one shorter, or give it a step, as n=16..4096:16"));
}

const SizeRanges::Open* SizeRanges::OpenNamed(const std::string& name) const {
  for (const Open& open : open_) {
    if (open.name == name) return &open;
  }
  return nullptr;
}

absl::StatusOr<std::string> SizeRanges::Bind(const SymbolicText& text, const SymbolValues& values) {
  XC_ASSIGN_OR_RETURN(const std::string bound, text.Bind(values));
  return bound.substr(bound.find('\n') + 1);
}

SymbolValues SizeRanges::Values(int64_t i) const {
  SymbolValues values;
  for (const Symbol& symbol : text_.symbols()) {
    const Open* const open = OpenNamed(symbol.name);
    const int64_t count = open == nullptr ? ValuesOf(symbol) : static_cast<int64_t>(open->pieces.size());
    const int64_t at = i % count;
    values[symbol.name] = open == nullptr ? (Lowest(symbol) + at) * symbol.multiple : open->pieces[at];
    i /= count;
  }
  return values;
}

int64_t SizeRanges::OpenValue(int64_t i, size_t o) const { return Values(i).at(open_[o].name); }

absl::StatusOr<std::string> SizeRanges::With(int64_t i, size_t o, int64_t value) const {
  SymbolValues values = Values(i);
  values[open_[o].name] = value;
  return Bind(text_, values);
}

absl::StatusOr<std::string> SizeRanges::At(int64_t i) const { return Bind(text_, Values(i)); }

absl::StatusOr<std::string> SizeRanges::Sample(int which, bool outside) const {
  const SymbolicText& text = outside ? outside_ : text_;
  XC_ASSIGN_OR_RETURN(const SymbolValues values, text.Sample(which));
  return Bind(text, values);
}

}  // namespace xc
