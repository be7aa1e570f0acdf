#include "service/read_limits.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace xc {
namespace {

struct ReadLimit {
  absl::string_view name;
  int64_t least, greatest;
  void (*set)(ParseOptions* options, int64_t value);
};

constexpr ReadLimit kLimits[] = {
    {"max_nesting", 1, 500, [](ParseOptions* o, int64_t value) { o->max_nesting = static_cast<int>(value); }},
    {"max_call_depth", 1, 500, [](ParseOptions* o, int64_t value) { o->max_call_depth = static_cast<int>(value); }},
    {"max_elided_bytes", 0, std::numeric_limits<int64_t>::max(),
     [](ParseOptions* o, int64_t value) { o->max_elided_bytes = value; }},
};

const ReadLimit* FindLimit(absl::string_view name) {
  for (const ReadLimit& limit : kLimits) {
    if (limit.name == name) return &limit;
  }
  return nullptr;
}

}  // namespace

bool IsReadLimit(absl::string_view name) { return FindLimit(name) != nullptr; }

absl::Status SetReadLimit(absl::string_view name, int64_t value, ParseOptions* options) {
  const ReadLimit* limit = FindLimit(name);
  if (limit == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no limit '", name, "'"));
  if (value < limit->least || value > limit->greatest) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", value, "; it may be ", limit->least, " to ", limit->greatest));
  }
  limit->set(options, value);
  return absl::OkStatus();
}

}  // namespace xc
