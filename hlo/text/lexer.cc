#include "hlo/text/lexer.h"

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace xc {
namespace {

enum CharClass : uint8_t { kNameStart = 1, kNameRest = 2, kDigit = 4, kSpace = 8 };

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> t{};
  for (int c = 'a'; c <= 'z'; ++c) t[c] = kNameStart | kNameRest;
  for (int c = 'A'; c <= 'Z'; ++c) t[c] = kNameStart | kNameRest;
  for (int c = '0'; c <= '9'; ++c) t[c] = kDigit | kNameRest;
  t['_'] = kNameStart | kNameRest;
  t['@'] = t['$'] = kNameStart | kNameRest;
  t['.'] = t['-'] = kNameRest;
  t[' '] = t['\t'] = t['\n'] = t['\r'] = t['\f'] = t['\v'] = kSpace;
  return t;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();
inline bool Is(char c, uint8_t classes) { return kClasses[static_cast<uint8_t>(c)] & classes; }

}  // namespace

Lexer::Lexer(absl::string_view text)
    : begin_(text.data()), end_(text.data() + text.size()), p_(begin_), last_end_(begin_) {
  Scan();
}

const char* Lexer::SkipSpace(const char* p) const {
  while (p < end_) {
    if (Is(*p, kSpace)) {
      ++p;
    } else if (*p == '/' && p + 1 < end_ && p[1] == '/') {
      while (p < end_ && *p != '\n') ++p;
    } else if (*p == '/' && p + 1 < end_ && p[1] == '*') {
      const char* q = p + 2;
      while (q + 1 < end_ && !(q[0] == '*' && q[1] == '/')) ++q;
      if (q + 1 >= end_) return p;  // unterminated: Scan reports it
      p = q + 2;
    } else {
      break;
    }
  }
  return p;
}

char Lexer::PeekChar() const {
  const char* p = SkipSpace(p_);
  return p < end_ ? *p : 0;
}

void Lexer::Scan() {
  p_ = SkipSpace(p_);
  tok_.begin = p_;
  tok_.percent = false;
  tok_.punct = 0;
  if (p_ >= end_) {
    tok_.kind = Tok::kEof;
    tok_.end = p_;
    tok_.text = {};
    return;
  }
  const char c = *p_;
  const char* q = p_ + 1;
  const bool percent = c == '%' && q < end_ && Is(*q, kNameStart | kDigit);
  if (percent || Is(c, kNameStart)) {
    const char* start = percent ? q : p_;
    while (q < end_ && Is(*q, kNameRest) && !(*q == '-' && q + 1 < end_ && q[1] == '>')) ++q;
    tok_.kind = Tok::kName;
    tok_.percent = percent;
    tok_.text = absl::string_view(start, q - start);
  } else if (Is(c, kDigit) || (c == '-' && q < end_ && (Is(*q, kDigit) || *q == '.'))) {
    while (q < end_ && Is(*q, kDigit)) ++q;
    tok_.kind = Tok::kInt;
    if (q < end_ && *q == '.' && !(q + 1 < end_ && q[1] == '.')) {
      tok_.kind = Tok::kFloat;
      ++q;
      while (q < end_ && Is(*q, kDigit)) ++q;
    }
    if (q < end_ && (*q == 'e' || *q == 'E')) {
      const char* r = q + 1;
      if (r < end_ && (*r == '+' || *r == '-')) ++r;
      if (r < end_ && Is(*r, kDigit)) {
        while (r < end_ && Is(*r, kDigit)) ++r;
        q = r;
        tok_.kind = Tok::kFloat;
      }
    }
    tok_.text = absl::string_view(p_, q - p_);
  } else if (c == '"') {
    while (q < end_ && *q != '"') q += (*q == '\\' && q + 1 < end_) ? 2 : 1;
    if (q >= end_) {
      tok_.kind = Tok::kBad;
      bad_ = "this string has no closing quote";
      q = end_;
      tok_.text = {};
    } else {
      tok_.kind = Tok::kString;
      tok_.text = absl::string_view(p_ + 1, q - p_ - 1);
      ++q;
    }
  } else if (c == '-' && q < end_ && *q == '>') {
    tok_.kind = Tok::kArrow;
    ++q;
    tok_.text = absl::string_view(p_, 2);
  } else if (c == '/' && q < end_ && *q == '*') {
    tok_.kind = Tok::kBad;
    bad_ = "this comment has no closing */";
    q = end_;
    tok_.text = {};
  } else {
    tok_.kind = Tok::kPunct;
    tok_.punct = c;
    tok_.text = absl::string_view(p_, 1);
  }
  p_ = q;
  tok_.end = q;
}

absl::string_view Lexer::RawWord() {
  const char* p = tok_.begin;
  while (p < end_ && !Is(*p, kSpace) && *p != ',' && *p != '}' && *p != ')') ++p;
  const absl::string_view word(tok_.begin, p - tok_.begin);
  ContinueAt(p);
  return word;
}

absl::string_view Lexer::RawBraces() {
  const char* p = tok_.begin;
  int64_t depth = 0;
  while (p < end_) {
    if (*p == '"') {
      ++p;
      while (p < end_ && *p != '"') p += (*p == '\\' && p + 1 < end_) ? 2 : 1;
      if (p >= end_) break;
    } else if (*p == '{') {
      ++depth;
    } else if (*p == '}' && --depth == 0) {
      ++p;
      const absl::string_view text(tok_.begin, p - tok_.begin);
      ContinueAt(p);
      return text;
    }
    ++p;
  }
  return {};
}

std::string Lexer::Describe(const char* at, absl::string_view message) const {
  at = std::clamp(at, begin_, end_);
  // At the end of the text, point behind the last line that holds something.
  if (at == end_) {
    while (at > begin_ && Is(at[-1], kSpace)) --at;
  }
  const int64_t line = 1 + std::count(begin_, at, '\n');
  const char* start = at;
  while (start > begin_ && start[-1] != '\n') --start;
  const char* stop = std::find(at, end_, '\n');
  if (stop > start && stop[-1] == '\r') --stop;
  const int64_t column = at - start + 1;
  constexpr int64_t kBefore = 60, kAfter = 60;
  absl::string_view left = "", right = "";
  if (at - start > kBefore + 3) {
    start = at - kBefore;
    left = "...";
  }
  if (stop - at > kAfter + 3) {
    stop = at + kAfter;
    right = "...";
  }
  std::string shown(left);
  std::string caret(left.size(), ' ');
  for (const char* p = start; p < stop; ++p) {
    const bool printable = static_cast<unsigned char>(*p) >= 0x20 && static_cast<unsigned char>(*p) != 0x7F;
    shown.push_back(printable && !(static_cast<unsigned char>(*p) & 0x80) ? *p : (*p == '\t' ? ' ' : '?'));
    if (p < at) caret.push_back(' ');
  }
  return absl::StrCat("line ", line, ", column ", column, ": ", message, "\n", shown, right, "\n", caret, "^");
}

std::string Unescape(absl::string_view text) {
  if (text.find('\\') == absl::string_view::npos) return std::string(text);
  std::string out;
  std::string error;
  if (absl::CUnescape(text, &out, &error)) return out;
  return std::string(text);  // an escape that C does not know is taken as it stands
}

std::string Quote(absl::string_view text) {
  for (char c : text) {
    if (c == '"' || c == '\\' || c == '\'' || static_cast<unsigned char>(c) < 0x20 ||
        static_cast<unsigned char>(c) >= 0x7F) {
      return absl::StrCat("\"", absl::CEscape(text), "\"");
    }
  }
  return absl::StrCat("\"", text, "\"");
}

}  // namespace xc
