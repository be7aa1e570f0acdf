// `-` as a file: standard input, read to its end into memory that has a path.
#ifndef XC_TOOLS_STDIN_FILE_H_
#define XC_TOOLS_STDIN_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace xc {

// The path of a file with what standard input gives, which lives as long as the process. Errors: more than 4 GiB.
absl::StatusOr<std::string> StdinFile();
// `text` with that path called `standard input`.
std::string NameStdin(std::string text);

}  // namespace xc

#endif  // XC_TOOLS_STDIN_FILE_H_
