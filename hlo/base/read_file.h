// Reading a whole file.
#ifndef XC_HLO_BASE_READ_FILE_H_
#define XC_HLO_BASE_READ_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace xc {

// NotFound when there is no such file; every error names the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace xc

#endif  // XC_HLO_BASE_READ_FILE_H_
