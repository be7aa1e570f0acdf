// Splits HLO text into tokens, and turns places in the text into messages with line, column and the line itself.
#ifndef XC_HLO_TEXT_LEXER_H_
#define XC_HLO_TEXT_LEXER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace xc {

enum class Tok : uint8_t {
  kEof,
  kName,    // identifier: letters, digits, `_`, `.`, `-`, `$`, `@`; also with a leading `%`
  kInt,     // [-]digits
  kFloat,   // a number with a point or an exponent
  kString,  // "…"
  kPunct,   // one other character
  kArrow,   // ->
  kBad,     // unterminated string or comment; Lexer::bad() says which
};

struct Token {
  Tok kind = Tok::kEof;
  char punct = 0;        // for kPunct
  bool percent = false;  // the name was written with `%` (which `text` leaves out)
  const char* begin = nullptr;
  const char* end = nullptr;
  absl::string_view text;  // strings: between the quotes, escapes not yet resolved
};

// Holds the current token; Next() moves on. White space, `//` and `/* */` comments are skipped.
class Lexer {
 public:
  explicit Lexer(absl::string_view text);

  const Token& tok() const { return tok_; }
  void Next() {
    last_end_ = tok_.end;
    Scan();
  }
  bool At(char punct) const { return tok_.kind == Tok::kPunct && tok_.punct == punct; }
  bool AtName(absl::string_view name) const { return tok_.kind == Tok::kName && !tok_.percent && tok_.text == name; }

  // The next character after the current token, white space and comments skipped; 0 at the end.
  char PeekChar() const;

  // Rereads from the start of the current token: characters up to white space or one of `,})`; becomes consumed.
  absl::string_view RawWord();
  // The current token must be `{`: the text up to and with the matching `}` (strings in it are skipped). Empty if
  // there is none.
  absl::string_view RawBraces();

  // For scanners that read characters themselves: the start of the current token, and going on at `at`.
  const char* position() const { return tok_.begin; }
  const char* end() const { return end_; }
  void ContinueAt(const char* at) {
    last_end_ = at;
    p_ = at;
    Scan();
  }
  // Skips white space and comments from `p`.
  const char* SkipSpace(const char* p) const;

  const char* bad() const { return bad_; }

  // "line 3, column 5: MESSAGE", the line and a caret. Long lines are cut around the column.
  std::string Describe(const char* at, absl::string_view message) const;

 private:
  void Scan();

  const char* begin_;
  const char* end_;
  const char* p_;
  const char* last_end_;
  const char* bad_ = "";
  Token tok_;
};

// Resolves C escapes (\n, \", \', \\, \t, \r, octal, \xHH).
std::string Unescape(absl::string_view text);
// The inverse, with the quotes.
std::string Quote(absl::string_view text);

}  // namespace xc

#endif  // XC_HLO_TEXT_LEXER_H_
