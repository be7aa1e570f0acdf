// Values as JSON text. Reading JSON is protobuf's business; what we write needs no more than this.
#ifndef XC_HLO_BASE_JSON_H_
#define XC_HLO_BASE_JSON_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace xc {

// `text` in quotes; what is not UTF-8 in it becomes U+FFFD.
std::string JsonText(absl::string_view text);
// A number with at most `digits` significant digits, `null` if it is not finite.
std::string JsonNumber(double number, int digits = 9);

// An object, written field by field.
class JsonObject {
 public:
  JsonObject& Add(absl::string_view key, absl::string_view text) { return AddJson(key, JsonText(text)); }
  JsonObject& Add(absl::string_view key, const std::string& text) { return AddJson(key, JsonText(text)); }
  JsonObject& Add(absl::string_view key, const char* text) { return AddJson(key, JsonText(text)); }
  JsonObject& Add(absl::string_view key, double number) { return AddJson(key, JsonNumber(number)); }
  JsonObject& Add(absl::string_view key, int64_t number) { return AddJson(key, std::to_string(number)); }
  JsonObject& Add(absl::string_view key, bool value) { return AddJson(key, value ? "true" : "false"); }
  // A value that is JSON already.
  JsonObject& AddJson(absl::string_view key, absl::string_view json);

  bool empty() const { return fields_.empty(); }
  std::string ToString() const { return "{" + fields_ + "}"; }

 private:
  std::string fields_;
};

// A list of values that are JSON already.
class JsonList {
 public:
  void Add(absl::string_view json);
  std::string ToString() const { return "[" + items_ + "]"; }

 private:
  std::string items_;
};

}  // namespace xc

#endif  // XC_HLO_BASE_JSON_H_
