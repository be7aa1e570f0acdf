#include "service/files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace xc {
namespace fs = std::filesystem;

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  return WriteFileAt(AT_FDCWD, path, contents, 0666);
}

absl::Status WriteFileAt(int directory, const std::string& name, absl::string_view contents, unsigned mode) {
  const auto failed = [&name] {
    return absl::NotFoundError(absl::StrCat("cannot write ", name, ": ", std::strerror(errno)));
  };
  std::string random(16, '\0');
  if (getrandom(&random[0], random.size(), 0) != static_cast<ssize_t>(random.size())) return failed();
  const std::string temporary = absl::StrCat(name, ".tmp", absl::BytesToHexString(random));
  const int file = openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (file < 0) return failed();
  bool ok = true;
  for (size_t done = 0; ok && done < contents.size();) {
    const ssize_t n = write(file, contents.data() + done, contents.size() - done);
    if (n < 0 && errno == EINTR) continue;
    ok = n > 0;
    if (ok) done += n;
  }
  ok = close(file) == 0 && ok;
  if (ok && renameat(directory, temporary.c_str(), directory, name.c_str()) == 0) return absl::OkStatus();
  const absl::Status status = failed();
  unlinkat(directory, temporary.c_str(), 0);
  return absl::DataLossError(status.message());
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
