// Text from a printf format, checked as absl::StrFormat's is. That one writes in a destructor, and so ends the process
// where there is no memory for its text; here that is std::bad_alloc, as everywhere.
#ifndef XC_HLO_BASE_FORMAT_H_
#define XC_HLO_BASE_FORMAT_H_

#include <string>

#include "absl/strings/str_format.h"

namespace xc {

// Appends to `out`, which must not be among `args`.
template <typename... Args>
void AppendFormat(std::string* out, const absl::FormatSpec<Args...>& format, const Args&... args) {
  const size_t before = out->size();
  const int size = absl::SNPrintF(nullptr, 0, format, args...);
  if (size <= 0) return;
  out->resize(before + size + 1);  // the terminating zero as well
  absl::SNPrintF(&(*out)[before], static_cast<size_t>(size) + 1, format, args...);
  out->resize(before + size);
}

template <typename... Args>
std::string Format(const absl::FormatSpec<Args...>& format, const Args&... args) {
  std::string text;
  AppendFormat(&text, format, args...);
  return text;
}

}  // namespace xc

#endif  // XC_HLO_BASE_FORMAT_H_
