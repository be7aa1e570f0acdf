// Limits on what is read, set by name: the options of the C API and the flags of the tool that bound a text or message.
#ifndef XC_SERVICE_READ_LIMITS_H_
#define XC_SERVICE_READ_LIMITS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/text/parser.h"

namespace xc {

// Whether `name` is one of "max_nesting", "max_call_depth", "max_elided_bytes".
bool IsReadLimit(absl::string_view name);

// Sets the limit, or says which values it may have: what recurses (nesting, calls) cannot be allowed more depth than a
// thread's stack holds.
absl::Status SetReadLimit(absl::string_view name, int64_t value, ParseOptions* options);

}  // namespace xc

#endif  // XC_SERVICE_READ_LIMITS_H_
