#include "service/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "service/content_hash.h"
#include "service/files.h"

namespace xc {
namespace {

constexpr char kMagic[] = "xcprogrm";
constexpr uint32_t kVersion = 2;
constexpr char kEnding[] = ".xcp";
// A temporary file of this age was left by a process that died.
constexpr int64_t kStaleSeconds = 3600;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t key_bytes;
  uint64_t program_bytes;
  ContentHash checksum;
};
static_assert(sizeof(Header) == 56);

void Say(const std::string& path, absl::string_view what) {
  std::fprintf(stderr, "xc: compile cache: %s: %s\n", path.c_str(), std::string(what).c_str());
}

// The same, but once for each line.
void SayOnce(const std::string& path, absl::string_view what) {
  static std::mutex mu;
  static auto* const said = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mu);
  if (said->size() < 100 && said->insert(absl::StrCat(path, ": ", what)).second) Say(path, what);
}

// What keeps a directory or file from being trusted; "" if nothing does.
std::string WhyNotOwn(const struct stat& info) {
  if (info.st_uid != geteuid()) {
    return absl::StrCat("belongs to another user (", info.st_uid, ", not ", geteuid(), ")");
  }
  if ((info.st_mode & S_IWOTH) != 0) return "is writable by everybody";
  if ((info.st_mode & S_IWGRP) != 0) return "is writable by its group";
  return "";
}

// A whole file of this user's, of `most` bytes at most. NotFound if there is none; other errors say what is wrong with
// it.
absl::StatusOr<std::string> ReadOwnFile(int directory, const std::string& name, int64_t most) {
  const int file = openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT) return absl::NotFoundError("no such file");
    return absl::UnavailableError(errno == ELOOP ? "is a link" : std::strerror(errno));
  }
  absl::Cleanup close_file = [file] { close(file); };
  struct stat info;
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return absl::FailedPreconditionError("not a regular file");
  if (const std::string why = WhyNotOwn(info); !why.empty()) return absl::PermissionDeniedError(why);
  if (info.st_size > most) return absl::ResourceExhaustedError("larger than the whole cache may be");
  std::string bytes(info.st_size, '\0');
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = read(file, &bytes[done], bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::UnavailableError(std::strerror(errno));
    if (n == 0) return absl::DataLossError("shorter than its size");
    done += n;
  }
  // Used now: the last to be evicted.
  futimens(file, nullptr);
  return bytes;
}

}  // namespace

std::string WrapProgram(absl::string_view key, absl::string_view program) {
  Header header;
  std::memcpy(header.magic, kMagic, sizeof(header.magic));
  header.version = kVersion;
  header.key_bytes = static_cast<uint32_t>(key.size());
  header.program_bytes = program.size();
  header.checksum = HashOf(key, program);
  return absl::StrCat(absl::string_view(reinterpret_cast<const char*>(&header), sizeof(header)), key, program);
}

absl::StatusOr<std::string> UnwrapProgram(absl::string_view key, std::string file) {
  Header header;
  if (file.size() < sizeof(header)) return absl::DataLossError("cut off");
  std::memcpy(&header, file.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(header.magic)) != 0) {
    return absl::InvalidArgumentError("not a compiled program");
  }
  if (header.version != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat("of version ", header.version, ", not ", kVersion));
  }
  const size_t rest = file.size() - sizeof(header);
  if (header.key_bytes > rest || header.program_bytes != rest - header.key_bytes) {
    return absl::DataLossError("cut off");
  }
  const absl::string_view content = absl::string_view(file).substr(sizeof(header));
  const absl::string_view stored_key = content.substr(0, header.key_bytes);
  if (HashOf(stored_key, content.substr(header.key_bytes)) != header.checksum) return absl::DataLossError("damaged");
  if (stored_key != key) return absl::InvalidArgumentError("of another program");
  file.erase(0, sizeof(header) + header.key_bytes);
  return file;
}

DiskCache::DiskCache(std::string directory, int64_t budget_bytes)
    : directory_(std::move(directory)), budget_bytes_(budget_bytes > 0 ? budget_bytes : kDefaultBytes) {
  while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
}

std::string DiskCache::NameOf(absl::string_view key) const { return absl::StrCat(ToHex(HashOf(key)), kEnding); }

std::string DiskCache::PathOf(absl::string_view key) const { return absl::StrCat(directory_, "/", NameOf(key)); }

absl::StatusOr<int> DiskCache::Open() const {
  // All that follows happens in the directory that is open then, whatever its name means by that time.
  const int directory = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    if (errno == ENOENT) return absl::NotFoundError("no such directory");
    if (errno == ENOTDIR) return absl::FailedPreconditionError("is not a directory");
    return absl::UnavailableError(std::strerror(errno));
  }
  absl::Cleanup close_directory = [directory] { close(directory); };
  struct stat info, link;
  if (fstat(directory, &info) != 0) return absl::UnavailableError(std::strerror(errno));
  if (const std::string why = WhyNotOwn(info); !why.empty()) return absl::PermissionDeniedError(why);
  if (lstat(directory_.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != geteuid()) {
    return absl::PermissionDeniedError("is a link of another user's");
  }
  std::move(close_directory).Cancel();
  return directory;
}

absl::optional<std::string> DiskCache::Get(absl::string_view key) const {
  if (!enabled()) return absl::nullopt;
  const absl::StatusOr<int> directory = Open();
  if (!directory.ok()) {
    if (!absl::IsNotFound(directory.status())) SayUnfit(directory.status());
    return absl::nullopt;
  }
  absl::Cleanup close_directory = [&directory] { close(*directory); };
  absl::StatusOr<std::string> program = ReadOwnFile(*directory, NameOf(key), budget_bytes_);
  if (program.ok()) program = UnwrapProgram(key, *std::move(program));
  if (program.ok()) return *std::move(program);
  if (!absl::IsNotFound(program.status())) Reject(key, program.status());
  return absl::nullopt;
}

void DiskCache::Reject(absl::string_view key, const absl::Status& why) const {
  Say(PathOf(key), absl::StrCat(why.message(), "; it is ignored"));
}

void DiskCache::SayUnfit(const absl::Status& why) const {
  SayOnce(directory_,
          absl::StrCat(why.message(), "; nothing is kept or looked for there, since code from there is run"));
}

void DiskCache::Put(absl::string_view key, absl::string_view program) const {
  if (!enabled()) return;
  const std::string file = WrapProgram(key, program);
  if (static_cast<int64_t>(file.size()) > budget_bytes_) return;
  absl::StatusOr<int> directory = Open();
  if (absl::IsNotFound(directory.status())) {
    const std::string parent = std::filesystem::path(directory_).parent_path().string();
    absl::Status made = parent.empty() ? absl::OkStatus() : MakeDirectories(parent);
    if (made.ok() && mkdir(directory_.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      made = absl::NotFoundError(absl::StrCat("cannot make the directory: ", std::strerror(errno)));
    }
    if (!made.ok()) return Say(directory_, made.message());
    directory = Open();
  }
  if (!directory.ok()) return SayUnfit(directory.status());
  absl::Cleanup close_directory = [&directory] { close(*directory); };
  const absl::Status written = WriteFileAt(*directory, NameOf(key), file, S_IRUSR | S_IWUSR);
  if (!written.ok()) return Say(directory_, written.message());
  EvictOverBudget(*directory);
}

void DiskCache::EvictOverBudget(int directory) const {
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const list = again < 0 ? nullptr : fdopendir(again);
  if (list == nullptr) {
    if (again >= 0) close(again);
    return;
  }
  absl::Cleanup close_list = [list] { closedir(list); };
  std::vector<std::tuple<struct timespec, int64_t, std::string>> files;
  int64_t total = 0;
  const time_t now = time(nullptr);
  while (const dirent* entry = readdir(list)) {
    const std::string name = entry->d_name;
    struct stat info;
    // Another process may remove it at any time.
    if (!absl::StrContains(name, kEnding) || fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    if (!absl::EndsWith(name, kEnding)) {
      if (info.st_mtime < now - kStaleSeconds) unlinkat(directory, name.c_str(), 0);
      continue;
    }
    files.emplace_back(info.st_mtim, info.st_size, name);
    total += info.st_size;
  }
  if (total <= budget_bytes_) return;
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    const timespec &s = std::get<0>(a), &t = std::get<0>(b);
    return std::tie(s.tv_sec, s.tv_nsec, std::get<2>(a)) < std::tie(t.tv_sec, t.tv_nsec, std::get<2>(b));
  });
  for (const auto& [time, size, name] : files) {
    if (total <= budget_bytes_) break;
    if (unlinkat(directory, name.c_str(), 0) == 0) total -= size;
  }
}

}  // namespace xc
