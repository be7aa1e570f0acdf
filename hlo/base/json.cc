#include "hlo/base/json.h"

#include <cmath>
#include <cstdio>

namespace xc {
namespace {

// Bytes of the UTF-8 sequence that `text` begins with; 0 if it begins with none.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond Unicode.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
  if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

}  // namespace

std::string JsonText(absl::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    const char c = text[0];
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (length == 1 && (static_cast<unsigned char>(c) < 32 || c == 127)) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      out += escape;
    } else {
      out.append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

std::string JsonNumber(double number, int digits) {
  if (!std::isfinite(number)) return "null";
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, number);
  return text;
}

JsonObject& JsonObject::AddJson(absl::string_view key, absl::string_view json) {
  if (!fields_.empty()) fields_ += ", ";
  fields_ += JsonText(key) + ": ";
  fields_.append(json.data(), json.size());
  return *this;
}

void JsonList::Add(absl::string_view json) {
  if (!items_.empty()) items_ += ", ";
  items_.append(json.data(), json.size());
}

}  // namespace xc
