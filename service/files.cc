#include "service/files.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace xc {
namespace fs = std::filesystem;

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  static std::atomic<int> counter{0};
  const std::string temporary = absl::StrCat(path, ".tmp", getpid(), "_", counter++);
  FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  const bool ok = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  if (std::fclose(file) != 0 || !ok || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return absl::DataLossError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool FileExists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

absl::Status MakeDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !IsDirectory(path)) return absl::NotFoundError(absl::StrCat("cannot make directory ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return absl::NotFoundError(absl::StrCat("cannot list ", path, ": ", error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

std::string BaseName(absl::string_view path, absl::string_view suffix) {
  while (path.size() > 1 && absl::EndsWith(path, "/")) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash != absl::string_view::npos) path.remove_prefix(slash + 1);
  if (!suffix.empty() && absl::EndsWith(path, suffix)) path.remove_suffix(suffix.size());
  return std::string(path);
}

}  // namespace xc
