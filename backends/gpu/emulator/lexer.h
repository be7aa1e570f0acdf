// Tokens of PTX text: words with all of their parts, numbers, strings, single characters.
#ifndef XC_BACKENDS_GPU_EMULATOR_LEXER_H_
#define XC_BACKENDS_GPU_EMULATOR_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace xc::emulator {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
inline bool IsWord(char c) { return IsWordStart(c) || IsDigit(c); }

class Lexer {
 public:
  // `text` must outlive the tokens.
  explicit Lexer(absl::string_view text) : text_(text) {}
  // The next token: a word (`ld.global.f32`, `%tid.x`, `.reg`), a number, a string, or one character. Empty at the end.
  absl::string_view Next();
  // Of the last token.
  int line() const { return line_; }

 private:
  void SkipBlank();

  const absl::string_view text_;
  size_t at_ = 0;
  int at_line_ = 1, line_ = 1;
};

// 12, 12U, 0x1F, 0b101, 017.
std::optional<uint64_t> ToInteger(absl::string_view text);

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_LEXER_H_
