// Programs on disk: loaded ones compute what compiled ones do, damaged files are compiled anew, many processes share a
// directory, what others may write is refused, and the budget evicts what was not used for the longest time.
#include "service/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/runtime/custom_call.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "service/client.h"
#include "service/content_hash.h"
#include "service/files.h"
#include "service/general_code.h"

namespace xc {
namespace {

// A fresh directory for the running test.
std::string TestDirectory() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = testing::TempDir() + "/xc_" + info->name();
  std::filesystem::remove_all(path);
  return path;
}

// The results' bytes, one after the other.
absl::StatusOr<std::string> RunProgram(Client& client, const std::string& text, const std::string& directory) {
  auto module = ParseModule(text);
  if (!module.ok()) return module.status();
  CompileOptions options;
  options.cache_dir = directory;
  auto executable = client.Compile(*std::move(module), "cpu", options);
  if (!executable.ok()) return executable.status();
  std::vector<Literal> inputs;
  for (const Shape& leaf : (*executable)->parameter_leaves()) {
    inputs.emplace_back(leaf);
    for (int64_t i = 0; i < leaf.ElementCount(); ++i)
      inputs.back().mutable_data<float>()[i] = 3.5f - static_cast<float>(i);
  }
  std::vector<const Literal*> pointers;
  for (const Literal& input : inputs) pointers.push_back(&input);
  auto results = RunOnLiterals(**executable, pointers);
  if (!results.ok()) return results.status();
  std::string bytes;
  for (const Literal& result : *results) {
    bytes.append(reinterpret_cast<const char*>(result.bytes()), result.byte_size());
  }
  return bytes;
}

constexpr char kFusion[] = R"(HloModule m
ENTRY e { p = f32[8] parameter(0) s = f32[8] sine(p) ROOT m = f32[8] multiply(s, p) })";

TEST(DiskCache, LoadedProgramsComputeTheSame) {
  ASSERT_TRUE(RegisterCustomCall("disk_cache_test.negate", [](RunContext*, const CallArgs& args) {
                for (int64_t i = 0; i < args.inputs[0].elements(); ++i) {
                  static_cast<float*>(args.outputs[0].data)[i] = -static_cast<const float*>(args.inputs[0].data)[i];
                }
                return absl::OkStatus();
              }).ok());
  const std::string programs[] = {
      kFusion,
      // A constant of the buffer assignment, a product by the library, a tuple.
      R"(HloModule m
ENTRY e { p = f32[4,4] parameter(0) c = f32[4,4] constant({{1,2,3,4},{5,6,7,8},{9,1,2,3},{4,5,6,7}})
  d = f32[4,4] dot(p, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[4,4] negate(d) ROOT t = (f32[4,4], f32[4,4], f32[4,4]) tuple(n, p, c) })",
      // A loop, and a result in a parameter's memory.
      R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
c { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 k = s32[] constant(5)
  ROOT l = pred[] compare(i, k), direction=LT }
b { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
  x = f32[4] get-tuple-element(s), index=1 y = f32[4] add(x, x) j = s32[] add(i, one)
  ROOT t = (s32[], f32[4]) tuple(j, y) }
ENTRY e { p = f32[4] parameter(0) z = s32[] constant(0) t = (s32[], f32[4]) tuple(z, p)
  w = (s32[], f32[4]) while(t), condition=c, body=b ROOT r = f32[4] get-tuple-element(w), index=1 })",
      // Custom calls: one of the library's, one of the user's.
      R"(HloModule m
ENTRY e { p = f32[6] parameter(0) n = f32[6] custom-call(p), custom_call_target="disk_cache_test.negate"
  ROOT t = (f32[2], s32[2]) custom-call(n), custom_call_target="TopK", called_computations={} })",
      // A size that the run computes, and a call that takes scalars to check it.
      R"(HloModule m
ENTRY e { p = f32[8] parameter(0) f = f32[1] slice(p), slice={[0:1]} g = f32[] reshape(f) n = s32[] convert(g)
  x = f32[<=8] set-dimension-size(p, n), dimensions={0} ROOT y = f32[<=8] exponential(x) })",
      // No native code: arrays inside of a reducer, which the interpreter runs.
      R"(HloModule m
l { p = f32[] parameter(0) q = f32[] parameter(1) ROOT t = pred[] compare(p, q), direction=LT }
r { x = f32[] parameter(0) y = f32[] parameter(1) b = f32[2] broadcast(x), dimensions={} v = f32[1] reshape(y)
  c = f32[3] concatenate(b, v), dimensions={0} s = f32[3] sort(c), dimensions={0}, to_apply=l
  f = f32[1] slice(s), slice={[2:3]} ROOT g = f32[] reshape(f) }
ENTRY e { p = f32[3,4] parameter(0) z = f32[] constant(1) q = f32[4] reduce(p, z), dimensions={0}, to_apply=r
  ROOT s = f32[4] sine(q) })",
  };
  const std::string directory = TestDirectory();
  for (const std::string& text : programs) {
    SCOPED_TRACE(text);
    Client first, second;
    const auto expected = RunProgram(first, text, "");
    ASSERT_TRUE(expected.ok()) << expected.status();
    Client writer;
    EXPECT_EQ(*RunProgram(writer, text, directory), *expected);
    EXPECT_EQ(writer.cache().stats().disk_hits, 0);
    EXPECT_EQ(writer.cache().stats().disk_writes, 1);
    EXPECT_EQ(*RunProgram(second, text, directory), *expected);
    EXPECT_EQ(second.cache().stats().disk_hits, 1);
    EXPECT_EQ(second.cache().stats().disk_writes, 0);
    EXPECT_EQ(*RunProgram(second, text, directory), *expected);  // from memory
    EXPECT_EQ(second.cache().stats().disk_hits, 1);
  }
}

// Code for several sizes: another process generates none, and the code serves sizes that neither has seen.
TEST(DiskCache, CodeForSeveralSizesIsLoaded) {
  const auto softmax = [](int64_t b, int64_t n) {
    const std::string m = absl::StrCat("f32[", b, ",", n, "]"), v = absl::StrCat("f32[", b, "]");
    return absl::StrCat("HloModule m\nadd { a = f32[] parameter(0) c = f32[] parameter(1) ROOT s = f32[] add(a, c) }\n",
                        "ENTRY e { p = ", m, " parameter(0) x = ", m, " exponential(p) z = f32[] constant(0) s = ", v,
                        " reduce(x, z), dimensions={1}, to_apply=add t = ", m,
                        " broadcast(s), dimensions={0} ROOT r = ", m, " divide(x, t) }");
  };
  CompileOptions options;
  options.cache_dir = TestDirectory();
  const auto general_code = [&](Client& client) {
    return GeneralCode(&client, "cpu", [&](int which) {
      constexpr int64_t kSizes[] = {131, 137, 31, 503, 11};
      return which < 4 ? ParseModule(softmax(kSizes[which], kSizes[which + 1])) : absl::OutOfRangeError("no more");
    });
  };
  const auto find = [&](GeneralCode& code, int64_t b, int64_t n) {
    const auto module = [&] { return ParseModule(softmax(b, n)); };
    auto executable = code.Find(*module(), module, options);
    EXPECT_TRUE(executable.ok()) << executable.status();
    return *std::move(executable);
  };
  Client writer, reader;
  GeneralCode made = general_code(writer), loaded = general_code(reader);
  EXPECT_FALSE(find(made, 6, 10)->loaded());
  EXPECT_EQ(writer.cache().stats().disk_writes, 1);
  const std::shared_ptr<const Executable> executable = find(loaded, 5, 12);
  EXPECT_TRUE(executable->loaded());
  EXPECT_EQ(reader.cache().stats().disk_hits, 1);
  EXPECT_EQ(reader.cache().stats().disk_writes, 0);
  Literal x(Shape(ElementType::kF32, {5, 12}));
  for (int64_t i = 0; i < 60; ++i) x.mutable_data<float>()[i] = 1.f;
  const Literal* inputs[] = {&x};
  auto results = RunOnLiterals(*executable, inputs);
  ASSERT_TRUE(results.ok()) << results.status();
  for (int64_t i = 0; i < 60; ++i) EXPECT_NEAR((*results)[0].data<float>()[i], 1.f / 12, 1e-6f);
}

TEST(DiskCache, OptionsHaveTheirOwnPrograms) {
  const std::string directory = TestDirectory();
  for (const char* cpu : {"", "x86-64-v2"}) {
    Client client;
    CompileOptions options;
    options.cache_dir = directory;
    options.cpu = cpu;
    ASSERT_TRUE(client.Compile(*ParseModule(kFusion), "cpu", options).ok());
    EXPECT_EQ(client.cache().stats().disk_hits, 0);
  }
  // The interpreter keeps nothing on disk.
  Client client;
  CompileOptions options;
  options.cache_dir = directory;
  ASSERT_TRUE(client.Compile(*ParseModule(kFusion), "interpreter", options).ok());
  EXPECT_EQ(ListDirectory(directory)->size(), 2);
}

TEST(DiskCache, CallsWithoutAFunctionAreNotKept) {
  const std::string directory = TestDirectory();
  Client client;
  const auto result = RunProgram(client, R"(HloModule m
ENTRY e { p = f32[6] parameter(0) ROOT n = f32[6] custom-call(p), custom_call_target="disk_cache_test.nobody" })",
                                 directory);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(client.cache().stats().disk_writes, 0);
}

TEST(DiskCache, DamagedFilesAreCompiledAnew) {
  const std::string directory = TestDirectory();
  Client first;
  const auto expected = RunProgram(first, kFusion, directory);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::string path = directory + "/" + ListDirectory(directory)->at(0);
  const std::string good = *ReadFile(path);
  const auto check = [&](const std::string& contents, const std::string& message) {
    ASSERT_TRUE(WriteFile(path, contents).ok());
    Client client;
    testing::internal::CaptureStderr();
    const auto result = RunProgram(client, kFusion, directory);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(message), std::string::npos) << said;
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, *expected);
    EXPECT_EQ(client.cache().stats().disk_hits, 0);
    EXPECT_EQ(*ReadFile(path), good);  // written anew
  };
  for (size_t size : {size_t{0}, size_t{7}, size_t{55}, size_t{56}, size_t{100}, good.size() / 2, good.size() - 1}) {
    check(good.substr(0, size), "cut off; it is ignored");
  }
  check(good + "x", "cut off");
  for (size_t at = 0; at < good.size(); at += 1 + good.size() / 50) {
    std::string flipped = good;
    flipped[at] ^= 0x10;
    check(flipped, "it is ignored");
  }
  std::string version = good;
  version[8] = 1;
  check(version, "of version 1, not 2");
  std::string foreign = good;
  foreign[0] = 'y';
  check(foreign, "not a compiled program");
  // So large that reading it would take more memory than the cache may have of the disk: nothing is allocated.
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 40), 0);
  testing::internal::CaptureStderr();
  Client patient;
  EXPECT_EQ(*RunProgram(patient, kFusion, directory), *expected);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("larger than the whole cache may be"), std::string::npos);
  EXPECT_EQ(*ReadFile(path), good);
  // A whole file under another one's name.
  Client other;
  ASSERT_TRUE(
      RunProgram(other, "HloModule m ENTRY e { p = f32[8] parameter(0) ROOT m = f32[8] negate(p) }", directory).ok());
  const std::vector<std::string> names = *ListDirectory(directory);
  for (const std::string& name : names) {
    if (directory + "/" + name != path) check(*ReadFile(directory + "/" + name), "of another program");
  }
  // Its header and key are right, its program is not.
  const DiskCache disk(directory, 0);
  uint32_t key_size;
  std::memcpy(&key_size, good.data() + 12, sizeof(key_size));
  disk.Put(good.substr(56, key_size), "no program");
  check(*ReadFile(path), "ProgramProto");
}

TEST(DiskCache, OthersFilesAreIgnored) {
  const std::string directory = TestDirectory();
  Client first;
  ASSERT_TRUE(RunProgram(first, kFusion, directory).ok());
  const std::string path = directory + "/" + ListDirectory(directory)->at(0);
  const auto check = [&](const std::string& message) {
    testing::internal::CaptureStderr();
    Client second;
    ASSERT_TRUE(RunProgram(second, kFusion, directory).ok());
    EXPECT_NE(testing::internal::GetCapturedStderr().find(message), std::string::npos) << message;
    EXPECT_EQ(second.cache().stats().disk_hits, 0);
  };
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600);
  ASSERT_EQ(chmod(path.c_str(), 0606), 0);
  check("is writable by everybody");
  ASSERT_EQ(chmod(path.c_str(), 0660), 0);
  check("is writable by its group");
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    check("belongs to another user (12345");
  }
  // A link, if only to a good file: it is not followed, and what takes its place leaves the file alone.
  const std::string elsewhere = directory + "_elsewhere";
  std::filesystem::rename(path, elsewhere);
  const std::string good = *ReadFile(elsewhere);
  ASSERT_EQ(symlink(elsewhere.c_str(), path.c_str()), 0);
  check("is a link");
  ASSERT_EQ(lstat(path.c_str(), &info), 0);
  EXPECT_TRUE(S_ISREG(info.st_mode));
  EXPECT_EQ(*ReadFile(elsewhere), good);
  // A pipe, which nobody writes to.
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  check("not a regular file");
}

TEST(DiskCache, OthersDirectoriesAreNotUsed) {
  const std::string directory = TestDirectory();
  Client first;
  ASSERT_TRUE(RunProgram(first, kFusion, directory).ok());
  struct stat info;
  ASSERT_EQ(stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700);
  const size_t files = ListDirectory(directory)->size();
  const auto check = [&](const std::string& name, const std::string& message) {
    testing::internal::CaptureStderr();
    Client client;
    ASSERT_TRUE(RunProgram(client, kFusion, name).ok());
    ASSERT_TRUE(
        RunProgram(client, "HloModule m ENTRY e { p = f32[8] parameter(0) ROOT m = f32[8] tan(p) }", name).ok());
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string line = "xc: compile cache: " + name + ": " + message;
    EXPECT_NE(said.find(line), std::string::npos) << said;
    EXPECT_EQ(said.find(line), said.rfind(line)) << "said twice";
    EXPECT_EQ(client.cache().stats().disk_hits, 0);
    EXPECT_EQ(ListDirectory(directory)->size(), files);
  };
  ASSERT_EQ(chmod(directory.c_str(), 0770), 0);
  check(directory, "is writable by its group; nothing is kept");
  ASSERT_EQ(chmod(directory.c_str(), 01707), 0);
  check(directory, "is writable by everybody; nothing is kept");
  ASSERT_EQ(chmod(directory.c_str(), 0700), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(directory.c_str(), 12345, 12345), 0);
    check(directory, "belongs to another user (12345, not 0); nothing is kept");
    ASSERT_EQ(chown(directory.c_str(), 0, 0), 0);
    const std::string link = directory + "_link";
    unlink(link.c_str());
    ASSERT_EQ(symlink(directory.c_str(), link.c_str()), 0);
    ASSERT_EQ(lchown(link.c_str(), 12345, 12345), 0);
    check(link, "is a link of another user's; nothing is kept");
  } else {
    check("/", "belongs to another user (0");
  }
  // The user's own link to the user's own directory, and a slash at its end.
  const std::string own = directory + "_own";
  unlink(own.c_str());
  ASSERT_EQ(symlink(directory.c_str(), own.c_str()), 0);
  for (const std::string& name : {own, directory + "/", directory}) {
    Client client;
    ASSERT_TRUE(RunProgram(client, kFusion, name).ok());
    EXPECT_EQ(client.cache().stats().disk_hits, 1) << name;
  }
}

TEST(DiskCache, FilesAreWrittenBesideWhatOthersLeft) {
  const std::string directory = TestDirectory();
  ASSERT_TRUE(MakeDirectories(directory).ok());
  const std::string victim = directory + "/victim", path = directory + "/program";
  ASSERT_TRUE(WriteFile(victim, "mine").ok());
  ASSERT_EQ(symlink(victim.c_str(), path.c_str()), 0);
  ASSERT_TRUE(WriteFile(path, "new").ok());
  EXPECT_EQ(*ReadFile(victim), "mine");
  EXPECT_EQ(*ReadFile(path), "new");
  // What cannot be put in its place leaves nothing behind.
  ASSERT_TRUE(MakeDirectories(directory + "/folder/inner").ok());
  EXPECT_FALSE(WriteFile(directory + "/folder", "new").ok());
  EXPECT_EQ(*ListDirectory(directory), (std::vector<std::string>{"folder", "program", "victim"}));
}

TEST(DiskCache, KeysAreToldApartByAHashThatNobodyBreaks) {
  // BLAKE3 of the length of the first text in eight bytes, here 0, and both texts.
  EXPECT_EQ(ToHex(HashOf("")), "71e0a99173564931c0b8acc52d2685a8e39c64dc52e3d02390fdac2a12b155cb");
  EXPECT_NE(HashOf("ab", "c"), HashOf("a", "bc"));
  const auto hash = [](const char* text) { return ToHex(HashOf(**ParseModule(text))); };
  const std::string own = hash(
      "HloModule m ENTRY e { p = f32[2] parameter(0) c = f32[2] constant({1, 2}) ROOT a = f32[2] "
      "add(p, c) }");
  EXPECT_EQ(own, hash("HloModule n ENTRY f { c1 = f32[2] constant({1, 2}) q = f32[2] parameter(0) ROOT b = f32[2] "
                      "add(q, c1), metadata={op_name=\"x\"} }"));
  EXPECT_NE(own, hash("HloModule m ENTRY e { p = f32[2] parameter(0) c = f32[2] constant({1, 3}) ROOT a = f32[2] "
                      "add(p, c) }"));
  EXPECT_NE(own, hash("HloModule m ENTRY e { p = f32[2] parameter(0) c = f32[2] constant({1, 2}) ROOT a = f32[2] "
                      "add(c, p) }"));
}

TEST(DiskCache, ReadersSeeWholeProgramsWhileOthersWrite) {
  const std::string directory = TestDirectory();
  const DiskCache disk(directory, 0);
  const auto program = [](int i) { return std::string(1 + 7919 * (i % 13), static_cast<char>('a' + i % 13)); };
  std::vector<pid_t> writers;
  for (int w = 0; w < 2; ++w) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0; i < 400; ++i) disk.Put("key", program(i + 5 * w));
      _exit(0);
    }
    writers.push_back(child);
  }
  testing::internal::CaptureStderr();
  int found = 0;
  for (size_t ended = 0; ended < writers.size();) {
    if (const absl::optional<std::string> read = disk.Get("key")) {
      ++found;
      ASSERT_EQ(*read, program((*read)[0] - 'a'));
    }
    int status = 0;
    if (waitpid(writers[ended], &status, WNOHANG) != 0) {
      EXPECT_EQ(status, 0);
      ++ended;
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(found, 0);
  EXPECT_EQ(ListDirectory(directory)->size(), 1);
}

TEST(DiskCache, DirectoriesThatCannotBeAreNoError) {
  const std::string path = TestDirectory();
  ASSERT_TRUE(WriteFile(path, "a file").ok());
  testing::internal::CaptureStderr();
  Client client;
  EXPECT_TRUE(RunProgram(client, kFusion, path).ok());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("is not a directory; nothing is kept"), std::string::npos);
}

TEST(DiskCache, ManyProcessesShareADirectory) {
  const std::string directory = TestDirectory();
  const auto program = [](int i) {
    return "HloModule m ENTRY e { p = f32[" + std::to_string(4 + i) + "] parameter(0) ROOT s = f32[" +
           std::to_string(4 + i) + "] cosine(p) }";
  };
  std::vector<pid_t> children;
  for (int c = 0; c < 6; ++c) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Client client;
      bool ok = true;
      for (int i = 0; i < 5; ++i) ok &= RunProgram(client, program((i + c) % 5), directory).ok();
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(ListDirectory(directory)->size(), 5);
  Client client;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(RunProgram(client, program(i), directory).ok());
  EXPECT_EQ(client.cache().stats().disk_hits, 5);
}

TEST(DiskCache, TheLeastRecentlyUsedGo) {
  const std::string directory = TestDirectory();
  const DiskCache disk(directory, 3500);
  const std::string program(1000, 'p');
  for (const char* key : {"a", "b", "c"}) disk.Put(key, program);
  ASSERT_EQ(disk.Get("a"), program);
  // What a process that died left behind, long ago.
  const std::string stale = disk.PathOf("z") + ".tmp1_2";
  ASSERT_TRUE(WriteFile(stale, "half").ok());
  const timespec old[2] = {{1000000, 0}, {1000000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, stale.c_str(), old, 0), 0);
  disk.Put("d", program);
  EXPECT_EQ(disk.Get("a"), program);
  EXPECT_EQ(disk.Get("b"), absl::nullopt);
  EXPECT_EQ(disk.Get("c"), program);
  EXPECT_EQ(disk.Get("d"), program);
  EXPECT_FALSE(FileExists(stale));
  disk.Put("large", std::string(5000, 'l'));  // more than the budget: not kept
  EXPECT_EQ(disk.Get("large"), absl::nullopt);
  EXPECT_EQ(disk.Get("d"), program);
}

}  // namespace
}  // namespace xc
