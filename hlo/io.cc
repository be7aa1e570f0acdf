#include "hlo/io.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace xc {

absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(absl::string_view bytes, const ParseOptions& options) {
  return ParseModule(bytes, options);
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFile(const std::string& path, const ParseOptions& options) {
  FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  std::string bytes;
  char buffer[1 << 16];
  size_t n;
  while ((n = std::fread(buffer, 1, sizeof(buffer), file)) > 0) bytes.append(buffer, n);
  const bool failed = std::ferror(file);
  std::fclose(file);
  if (failed) return absl::DataLossError(absl::StrCat("cannot read ", path));
  absl::StatusOr<std::unique_ptr<HloModule>> module = ReadModule(bytes, options);
  if (!module.ok()) return absl::Status(module.status().code(), absl::StrCat(path, ": ", module.status().message()));
  return module;
}

}  // namespace xc
