#include "tools/stdin_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace xc {
namespace {

constexpr int64_t kMost = int64_t{4} << 30;

std::string& Path() {
  static auto* const path = new std::string;
  return *path;
}

absl::Status Failed(const char* what) {
  return absl::FailedPreconditionError(absl::StrCat(what, " standard input: ", std::strerror(errno)));
}

// All of it, whatever writes are cut short.
bool WriteAll(int file, const char* bytes, ssize_t size) {
  while (size > 0) {
    const ssize_t n = write(file, bytes, static_cast<size_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= n;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> StdinFile() {
  if (!Path().empty()) return Path();
  const int file = memfd_create("xla-stdin", MFD_CLOEXEC);
  if (file < 0) return Failed("there is no memory for");
  std::string buffer(1 << 16, '\0');
  for (int64_t size = 0;;) {
    const ssize_t n = read(STDIN_FILENO, &buffer[0], buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("cannot read");
    if (n == 0) break;
    size += n;
    if (size > kMost) return absl::ResourceExhaustedError("standard input has more than 4 GiB");
    if (!WriteAll(file, buffer.data(), n)) return Failed("there is no memory for");
  }
  return Path() = absl::StrCat("/proc/self/fd/", file);
}

std::string NameStdin(std::string text) {
  return Path().empty() ? text : absl::StrReplaceAll(text, {{Path(), "standard input"}});
}

}  // namespace xc
