// Limits of control groups, from files as the kernel writes them; files that are no plain ones.
#include "hlo/base/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "hlo/base/read_file.h"

namespace xc {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/xc_machine_" + std::to_string(getpid());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  CgroupLimits Limits() { return ReadCgroupLimits(root_ + "/proc", root_); }

  std::string root_;
};

constexpr char kMounts2[] =
    "22 1 0:20 / /proc rw - proc proc rw\n"
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kMounts1[] =
    "31 23 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
    "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

TEST_F(Files, NoGroups) {
  EXPECT_EQ(Limits().memory, INT64_MAX);
  EXPECT_GE(Limits().cpus, 1e9);
}

TEST_F(Files, VersionTwoTakesTheLeastOnTheWayUp) {
  Write("/proc/mountinfo", kMounts2);
  Write("/proc/cgroup", "0::/user.slice/job.service\n");
  Write("/sys/fs/cgroup/user.slice/job.service/memory.max", "max\n");
  Write("/sys/fs/cgroup/user.slice/job.service/cpu.max", "max 100000\n");
  EXPECT_EQ(Limits().memory, INT64_MAX);
  EXPECT_GE(Limits().cpus, 1e9);
  Write("/sys/fs/cgroup/user.slice/memory.max", "3000000000\n");
  Write("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(Limits().memory, 3000000000);
  EXPECT_EQ(Limits().cpus, 1.5);
  Write("/sys/fs/cgroup/user.slice/job.service/memory.max", "500000000\n");
  Write("/sys/fs/cgroup/user.slice/job.service/cpu.max", "20000 100000\n");
  EXPECT_EQ(Limits().memory, 500000000);
  EXPECT_EQ(Limits().cpus, 0.2);
}

TEST_F(Files, VersionOneHasAHierarchyForEachController) {
  Write("/proc/mountinfo", kMounts1);
  Write("/proc/cgroup", "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "1073741824\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "400000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Limits().memory, 1073741824);
  EXPECT_EQ(Limits().cpus, 4);
}

TEST_F(Files, InAContainerTheMountBeginsAtItsGroup) {
  Write("/proc/mountinfo", "31 23 0:27 /docker/abc /sys/fs/cgroup/me\\040mory ro - cgroup cgroup rw,memory\n");
  Write("/proc/cgroup", "4:memory:/docker/abc/inner\n");
  Write("/sys/fs/cgroup/me mory/memory.limit_in_bytes", "2000000\n");
  EXPECT_EQ(Limits().memory, 2000000);
  Write("/sys/fs/cgroup/me mory/inner/memory.limit_in_bytes", "1000000\n");
  EXPECT_EQ(Limits().memory, 1000000);
  Write("/proc/cgroup", "4:memory:/elsewhere\n");
  EXPECT_EQ(Limits().memory, 2000000);
}

TEST_F(Files, DamagedFilesLimitNothing) {
  Write("/proc/mountinfo", std::string(kMounts2) + "nonsense\n - \n a - b\n");
  Write("/proc/cgroup", "::\nx\n0::/job\n");
  Write("/sys/fs/cgroup/job/memory.max", "many");
  Write("/sys/fs/cgroup/job/cpu.max", "7");
  EXPECT_EQ(Limits().memory, INT64_MAX);
  EXPECT_GE(Limits().cpus, 1e9);
}

TEST(Machine, HasSomeOfBoth) {
  EXPECT_GE(AvailableCpus(), 1);
  EXPECT_GE(AvailableMemory(), int64_t{16} << 20);
  EXPECT_LE(AvailableMemory(), int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
}

std::string Error(const absl::StatusOr<std::string>& read) { return std::string(read.status().message()); }

TEST_F(Files, ReadWhole) {
  Write("/empty", "");
  Write("/text", std::string(200000, 'x'));
  EXPECT_EQ(*ReadFile(root_ + "/empty"), "");
  EXPECT_EQ(*ReadFile(root_ + "/text"), std::string(200000, 'x'));
  EXPECT_EQ(*ReadFile(root_ + "/text", 200000), std::string(200000, 'x'));
  EXPECT_EQ(Error(ReadFile(root_ + "/text", 199999)), root_ + "/text has 200000 bytes; at most 199999 are read");
  EXPECT_EQ(ReadFile(root_ + "/none").status().code(), absl::StatusCode::kNotFound);
  // No size tells how long it is.
  EXPECT_NE(ReadFile("/proc/self/status")->find("Name:"), std::string::npos);
  EXPECT_EQ(Error(ReadFile("/proc/self/maps", 100)), "/proc/self/maps has more bytes; at most 100 are read");
  // Larger than memory; nothing of it is read.
  ASSERT_EQ(truncate((root_ + "/text").c_str(), int64_t{1} << 42), 0);
  EXPECT_EQ(ReadFile(root_ + "/text").status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(Files, WhatIsNoPlainFileIsRefusedAtOnce) {
  EXPECT_EQ(Error(ReadFile(root_)), root_ + " is a directory");
  EXPECT_NE(Error(ReadFile("/dev/zero")).find("/dev/zero is a device"), std::string::npos);
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_NE(Error(ReadFile(root_ + "/pipe")).find("/pipe is a pipe"), std::string::npos);
  EXPECT_NE(Error(ReadFileRange(root_ + "/pipe", 0, 1)).find("/pipe is a pipe"), std::string::npos);
}

TEST_F(Files, ReadRanges) {
  Write("/digits", "0123456789");
  const std::string path = root_ + "/digits";
  EXPECT_EQ(*ReadFileRange(path, 3, 4), "3456");
  EXPECT_EQ(*ReadFileRange(path, 10, 0), "");
  EXPECT_EQ(Error(ReadFileRange(path, 8, 3)), path + " has 10 bytes, not the 3 from byte 8");
  EXPECT_FALSE(ReadFileRange(path, -1, 3).ok());
  EXPECT_FALSE(ReadFileRange(path, 1, INT64_MAX).ok());
}

}  // namespace
}  // namespace xc
