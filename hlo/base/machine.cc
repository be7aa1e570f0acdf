#include "hlo/base/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "hlo/base/read_file.h"

namespace xc {
namespace {

// Files of /proc and control groups are short; mountinfo has a line for each mount.
std::string ReadSmall(const std::string& path) { return ReadFile(path, int64_t{16} << 20).value_or(""); }

// The number in a file; none where there is no such file, or it says "max".
absl::optional<int64_t> ReadNumber(const std::string& path) {
  int64_t number;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(ReadSmall(path)), &number)) return absl::nullopt;
  return number;
}

// Where the hierarchy of a controller ("" for version 2) is mounted, and the group that the mount shows as its root.
struct Mount {
  std::string point, group;
};

absl::optional<Mount> FindMount(const std::string& mountinfo, absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    // ID PARENT DEVICE ROOT POINT OPTIONS … - TYPE SOURCE OPTIONS
    const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<absl::string_view> where = absl::StrSplit(halves.first, ' ');
    const std::vector<absl::string_view> what = absl::StrSplit(halves.second, ' ');
    if (where.size() < 5 || what.size() < 3) continue;
    const std::vector<absl::string_view> options = absl::StrSplit(what[2], ',');
    if (controller.empty() ? what[0] != "cgroup2"
                           : what[0] != "cgroup" || !absl::c_linear_search(options, controller)) {
      continue;
    }
    const auto plain = [](absl::string_view path) {
      return absl::StrReplaceAll(path, {{"\\040", " "}, {"\\011", "\t"}, {"\\134", "\\"}});
    };
    return Mount{plain(where[4]), plain(where[3])};
  }
  return absl::nullopt;
}

// The process's group in the hierarchy of a controller; "" if it has none.
std::string FindGroup(const std::string& cgroup, absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(cgroup, '\n')) {
    // ID:CONTROLLERS:PATH
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (controller.empty() ? parts[1].empty() : absl::c_linear_search(controllers, controller)) return parts[2];
  }
  return "";
}

// The folders of the process's group and of those above it, as far as they are mounted.
std::vector<std::string> GroupFolders(const std::string& proc, const std::string& root, absl::string_view controller) {
  const absl::optional<Mount> mount = FindMount(ReadSmall(proc + "/mountinfo"), controller);
  if (!mount.has_value()) return {};
  std::string group = FindGroup(ReadSmall(proc + "/cgroup"), controller);
  // In a container, the mount may show the container's group only, while the process's is named from the top.
  if (mount->group != "/") group = absl::StartsWith(group, mount->group) ? group.substr(mount->group.size()) : "";
  std::vector<std::string> folders;
  while (!group.empty() && group != "/") {
    folders.push_back(absl::StrCat(root, mount->point, group));
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  folders.push_back(absl::StrCat(root, mount->point));
  return folders;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& proc, const std::string& root) {
  CgroupLimits limits;
  const auto memory = [&](absl::optional<int64_t> bytes) {
    if (bytes.has_value() && *bytes > 0) limits.memory = std::min(limits.memory, *bytes);
  };
  const auto cpus = [&](absl::optional<int64_t> quota, absl::optional<int64_t> period) {
    if (!quota.has_value() || !period.has_value() || *quota <= 0 || *period <= 0) return;
    limits.cpus = std::min(limits.cpus, static_cast<double>(*quota) / static_cast<double>(*period));
  };
  for (const std::string& folder : GroupFolders(proc, root, "")) {
    memory(ReadNumber(folder + "/memory.max"));
    const std::vector<std::string> quota = absl::StrSplit(ReadSmall(folder + "/cpu.max"), absl::ByAnyChar(" \n"));
    int64_t used, period;
    if (quota.size() >= 2 && absl::SimpleAtoi(quota[0], &used) && absl::SimpleAtoi(quota[1], &period)) {
      cpus(used, period);
    }
  }
  for (const std::string& folder : GroupFolders(proc, root, "memory")) {
    memory(ReadNumber(folder + "/memory.limit_in_bytes"));
  }
  for (const std::string& folder : GroupFolders(proc, root, "cpu")) {
    cpus(ReadNumber(folder + "/cpu.cfs_quota_us"), ReadNumber(folder + "/cpu.cfs_period_us"));
  }
  return limits;
}

int AvailableCpus() {
  static const int quota = static_cast<int>(std::ceil(std::min(ReadCgroupLimits().cpus, 1e6)));
  cpu_set_t set;
  CPU_ZERO(&set);
  const int64_t mask = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(mask, quota)));
}

int64_t AvailableMemory() {
  static const int64_t bytes = [] {
    int64_t least = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    least = std::min(least, ReadCgroupLimits().memory);
    rlimit addresses;
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
      least = std::min(least, static_cast<int64_t>(std::min<rlim_t>(addresses.rlim_cur, INT64_MAX)));
    }
    return least;
  }();
  return bytes;
}

}  // namespace xc
