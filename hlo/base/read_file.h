// Reading files.
#ifndef XC_HLO_BASE_READ_FILE_H_
#define XC_HLO_BASE_READ_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace xc {

// What ReadFile takes, if its caller does not say: more than any module, model or input that a machine holds twice.
inline constexpr int64_t kMaxFileBytes = int64_t{64} << 30;

// A whole file, of `most` bytes at most: ResourceExhausted for a longer one, whose contents are not read if its size
// says so. NotFound when there is no such file; directories, devices, pipes and sockets are refused without waiting for
// them. Files of /proc, whose size is not known before, are read. Every error names the path.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t most = kMaxFileBytes);

// `size` bytes of a file from `offset`; DataLoss where it has fewer. Otherwise as ReadFile.
absl::StatusOr<std::string> ReadFileRange(const std::string& path, int64_t offset, int64_t size);

}  // namespace xc

#endif  // XC_HLO_BASE_READ_FILE_H_
