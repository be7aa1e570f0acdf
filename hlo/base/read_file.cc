#include "hlo/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// An open file, closed with its owner.
class OpenFile {
 public:
  // Regular files only.
  static absl::StatusOr<OpenFile> Open(const std::string& path) {
    // A pipe that nobody writes to would otherwise keep us here.
    OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.number_ < 0) {
      const std::string message = absl::StrCat("cannot read ", path, ": ", std::strerror(errno));
      return errno == ENOENT ? absl::NotFoundError(message) : absl::FailedPreconditionError(message);
    }
    struct stat info;
    if (fstat(file.number_, &info) != 0) {
      return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
    }
    if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is a directory"));
    if (!S_ISREG(info.st_mode)) {
      const char* what = S_ISFIFO(info.st_mode) ? "a pipe" : S_ISSOCK(info.st_mode) ? "a socket" : "a device";
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is ", what, "; only regular files are read: copy what it gives to one"));
    }
    file.size_ = info.st_size;
    return file;
  }
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)), size_(other.size_) {}
  ~OpenFile() {
    if (number_ >= 0) close(number_);
  }

  int64_t size() const { return size_; }
  // Appends up to `most` bytes from `offset` to `out`.
  absl::Status Read(const std::string& path, int64_t offset, int64_t most, std::string* out) const {
    constexpr int64_t kStep = 1 << 16;
    const int64_t start = static_cast<int64_t>(out->size());
    out->reserve(start + std::min(most, std::max<int64_t>(0, size_ - offset) + kStep));
    for (int64_t done = 0; done < most;) {
      // What its size tells, at once; beyond it, step by step.
      const int64_t wanted = std::min(most - done, std::max(kStep, size_ - offset - done));
      out->resize(start + done + wanted);
      const ssize_t n = pread(number_, &(*out)[start + done], wanted, offset + done);
      if (n < 0 && errno == EINTR) continue;
      out->resize(start + done + std::max<ssize_t>(n, 0));
      if (n < 0) return absl::DataLossError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
      if (n == 0) break;
      done += n;
    }
    return absl::OkStatus();
  }

 private:
  explicit OpenFile(int number) : number_(number) {}
  int number_;
  int64_t size_ = 0;
};

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t most) {
  XC_ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path));
  const auto too_long = [&](absl::string_view size) {
    return absl::ResourceExhaustedError(absl::StrCat(path, " has ", size, " bytes; at most ", most, " are read"));
  };
  if (file.size() > most) return too_long(absl::StrCat(file.size()));
  std::string contents;
  XC_RETURN_IF_ERROR(file.Read(path, 0, most + 1, &contents));
  if (static_cast<int64_t>(contents.size()) > most) return too_long("more");
  return contents;
}

absl::StatusOr<std::string> ReadFileRange(const std::string& path, int64_t offset, int64_t size) {
  XC_ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path));
  const auto too_short = [&] {
    return absl::DataLossError(
        absl::StrCat(path, " has ", file.size(), " bytes, not the ", size, " from byte ", offset));
  };
  if (offset < 0 || size < 0 || offset > file.size() || size > file.size() - offset) return too_short();
  std::string bytes;
  XC_RETURN_IF_ERROR(file.Read(path, offset, size, &bytes));
  if (static_cast<int64_t>(bytes.size()) < size) return too_short();
  return bytes;
}

}  // namespace xc
