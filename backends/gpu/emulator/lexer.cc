#include "backends/gpu/emulator/lexer.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace xc::emulator {

absl::string_view Lexer::Next() {
  SkipBlank();
  line_ = at_line_;
  const size_t start = at_;
  if (at_ >= text_.size()) return {};
  const char c = text_[at_];
  if (IsWordStart(c) || (c == '.' && at_ + 1 < text_.size() && IsWordStart(text_[at_ + 1]))) {
    ++at_;
    while (at_ < text_.size()) {
      if (IsWord(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '.' && at_ + 1 < text_.size() && IsWord(text_[at_ + 1])) {
        at_ += 2;
      } else if (text_.substr(at_, 2) == "::" && c != '%') {
        at_ += 2;
      } else {
        break;
      }
    }
  } else if (IsDigit(c)) {
    while (at_ < text_.size() && (IsWord(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') &&
                                   (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') && text_[start + 1] != 'x'))) {
      ++at_;
    }
  } else if (c == '"') {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
  } else {
    ++at_;
  }
  return text_.substr(start, at_ - start);
}

void Lexer::SkipBlank() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') ++at_line_;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (text_.substr(at_, 2) == "/*") {
      while (at_ < text_.size() && text_.substr(at_, 2) != "*/") at_line_ += text_[at_++] == '\n';
      at_ = std::min(at_ + 2, text_.size());
    } else {
      break;
    }
  }
}

std::optional<uint64_t> ToInteger(absl::string_view text) {
  if (text.empty() || !IsDigit(text[0])) return std::nullopt;
  if (text.back() == 'U') text.remove_suffix(1);
  int base = 10;
  if (text.size() > 2 && (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 2 && (text.substr(0, 2) == "0b" || text.substr(0, 2) == "0B")) {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  const std::string digits(text);
  char* end = nullptr;
  const uint64_t value = std::strtoull(digits.c_str(), &end, base);
  if (digits.empty() || *end) return std::nullopt;
  return value;
}

}  // namespace xc::emulator
