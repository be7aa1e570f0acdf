// The form on disk: written and read, and refused whatever byte is wrong.
#include "backends/loader/program_file.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/loader/loaded_program.h"
#include "backends/loader/open_sizes.h"
#include "gtest/gtest.h"

namespace xc {
namespace {

// xor eax, eax; ret: a program that does nothing, well.
std::string Image() {
  std::string image(4096 + 64, '\0');
  std::memcpy(&image[0], "\x31\xC0\xC3", 3);
  return image;
}

ProgramFile Small(const std::string& image, const std::string& constant) {
  ProgramFile file;
  file.name = "small";
  file.made_by = "a test";
  file.cpus = {"x86-64-v2"};
  file.constants = {constant};
  CodeImage code;
  code.bytes = image;
  code.text_bytes = 4096;
  code.import_slots = 4096;
  code.imports = {"memcpy"};
  code.relocations = {4104};
  file.codes = {code};
  // Rows of 2 to 4 elements, of which a part is a result.
  std::vector<std::vector<int64_t>> rows;
  for (int64_t n : {3, 4, 2}) {
    FileSizes sizes;
    sizes.inputs = {{11, {2, n}, {1, 0}, {false, false}, 8 * n}};
    sizes.outputs = {{11, {4}, {0}, {true}, 16}, {17, {}, {}, {}, 0}};
    FileVariant v;
    v.table = {n, 7, n * n};
    v.arena_bytes = 128;
    v.parameters = {{8 * n, true}};
    v.outputs = {{16, 0, 8 * n - 16}, {4, -1, 0}, {0, -1, 0}};
    v.constants = {0};
    v.calls = {{"TopK", "{k = 2 : i64}", true, sizes.inputs, sizes.inputs}};
    sizes.variants = {v};
    rows.push_back(file.RowOf(sizes));
  }
  file.groups = {NumberRows(rows, 2)};
  return file;
}

TEST(ProgramFileTest, ReadsWhatItWrote) {
  const std::string image = Image(), constant(100, 'c');
  const std::string bytes = WriteProgramFile(Small(image, constant));
  const absl::StatusOr<ProgramFile> file = ReadProgramFile(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->name, "small");
  ASSERT_EQ(file->constants.size(), 1u);
  EXPECT_EQ(file->constants[0], constant);
  EXPECT_EQ((file->constants[0].data() - bytes.data()) % ProgramFile::kAlignment, 0);
  ASSERT_EQ(file->codes.size(), 1u);
  EXPECT_EQ(file->codes[0].bytes, image);
  EXPECT_EQ(file->codes[0].imports, std::vector<std::string>{"memcpy"});
  EXPECT_EQ(file->num_sizes(), 3);
  const absl::StatusOr<FileSizes> sizes = file->Sizes(1);
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  EXPECT_EQ(sizes->Key(), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(sizes->outputs[0].dynamic, std::vector<bool>{true});
  EXPECT_EQ(sizes->variants[0].table, (std::vector<int64_t>{4, 7, 16}));
  EXPECT_EQ(sizes->variants[0].outputs[0].offset, 16);
  EXPECT_EQ(sizes->variants[0].calls[0].target, "TopK");
  EXPECT_EQ(sizes->variants[0].calls[0].inputs[0].bytes, 32);
  EXPECT_EQ(WriteProgramFile(*file), bytes);
}

TEST(ProgramFileTest, LoadsAndRuns) {
  const std::string bytes = WriteProgramFile(Small(Image(), "constant"));
  absl::StatusOr<ProgramBytes> own = ProgramBytes::Of(bytes);
  ASSERT_TRUE(own.ok());
  const auto program = LoadedProgram::Load(*std::move(own));
  ASSERT_TRUE(program.ok()) << program.status();
  float in[6] = {1, 2, 3, 4, 5, 6}, out[4] = {};
  const void* inputs[] = {in};
  void* outputs[] = {out, nullptr};
  std::vector<int32_t> sizes;
  const absl::Status status = (*program)->Run(inputs, outputs, nullptr, 1, nullptr, nullptr, &sizes);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0], 3);  // the part of the parameter that the output is in
  EXPECT_EQ(sizes.size(), 1u);
  EXPECT_FALSE((*program)->Run({}, outputs, nullptr, 1, nullptr, nullptr).ok());
}

TEST(ProgramFileTest, HasItsProgramForSeveralSizes) {
  const std::string bytes = WriteProgramFile(Small(Image(), "constant"));
  absl::StatusOr<ProgramBytes> own = ProgramBytes::Of(bytes);
  ASSERT_TRUE(own.ok());
  std::unique_ptr<LoadedProgram> program = *LoadedProgram::Load(*std::move(own));
  EXPECT_EQ(program->num_sizes(), 3);
  EXPECT_EQ(program->inputs()[0].dims, (std::vector<int64_t>{2, 3}));
  const std::unique_ptr<LoadedProgram> other = *program->For({2, 2});
  const auto wrong = [&](std::vector<int64_t> key) { return std::string(program->For(key).status().message()); };
  EXPECT_EQ(wrong({2, 5}),
            "dimension 1 of input 0 is 5; the program was compiled for 2 to 4 there, with the sizes "
            "before it as they are");
  EXPECT_EQ(wrong({1, 3}), "dimension 0 of input 0 is 1; the program was compiled for 2");
  EXPECT_EQ(wrong({2}), "the program's inputs have 2 sizes, but 1 are given");
  EXPECT_FALSE(program->At(3).ok());
  EXPECT_FALSE(program->At(-1).ok());
  program.reset();  // the other one does not need it
  EXPECT_EQ(other->inputs()[0].dims, (std::vector<int64_t>{2, 2}));
  float in[4] = {1, 2, 3, 4}, out[4] = {};
  const void* inputs[] = {in};
  void* outputs[] = {out, nullptr};
  ASSERT_TRUE(other->Run(inputs, outputs, nullptr, 1, nullptr, nullptr).ok());
  EXPECT_EQ(out[0], 1);
}

// Gives back its input, of 1, 2 or 4 by 1, 2 or 3 elements; both sizes are open, the first from 2 to 1000.
ProgramFile Open(const std::string& image) {
  ProgramFile file = Small(image, "");
  file.constants.clear();
  std::vector<std::vector<int64_t>> rows;
  for (int64_t a : {1, 2, 4}) {
    for (int64_t b : {1, 2, 3}) {
      FileSizes sizes;
      sizes.inputs = sizes.outputs = {{11, {a, b}, {1, 0}, {false, false}, 4 * a * b}};
      FileVariant v;
      v.parameters = {{4 * a * b, true}};
      v.outputs = {{4 * a * b, 0, 0}};
      sizes.variants = {v};
      rows.push_back(file.RowOf(sizes));
    }
  }
  file.groups = {NumberRows(rows, 2)};
  file.opens = {{"a", 2, 1000, 1, 0, {0}, {0}, {1, 2, 4}, 0, 1}, {"b", 1, INT64_MAX, 1, 0, {1}, {1}, {1, 2, 3}, 0, 1}};
  return file;
}

TEST(ProgramFileTest, RunsOpenSizesInPieces) {
  const std::string image = Image(), bytes = WriteProgramFile(Open(image));
  EXPECT_EQ(WriteProgramFile(*ReadProgramFile(bytes)), bytes);
  absl::StatusOr<ProgramBytes> own = ProgramBytes::Of(bytes);
  ASSERT_TRUE(own.ok());
  const std::unique_ptr<LoadedProgram> program = *LoadedProgram::Load(*std::move(own));
  for (const auto& [a, b] :
       {std::pair(11, 2), std::pair(2, 17), std::pair(7, 8), std::pair(1000, 1), std::pair(3, 3)}) {
    const auto whole = program->For({a, b});
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_EQ((*whole)->inputs()[0].dims, (std::vector<int64_t>{a, b}));
    EXPECT_EQ((*whole)->outputs()[0].bytes, 4 * a * b);
    std::vector<float> in(a * b), out(a * b);
    for (int i = 0; i < a * b; ++i) in[i] = static_cast<float>(i);
    const void* inputs[] = {in.data()};
    void* outputs[] = {out.data()};
    const absl::Status status = (*whole)->Run(inputs, outputs, nullptr, 1, nullptr, nullptr);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(out, in) << a << " by " << b;
  }
  const auto wrong = [&](std::vector<int64_t> key) { return std::string(program->For(key).status().message()); };
  EXPECT_EQ(wrong({1001, 2}),
            "dimension 0 of input 0 is 1001; the program was compiled for any size from 2 to 1000 there (a)");
  EXPECT_EQ(wrong({2, -5}), "dimension 1 of input 0 is -5; the program was compiled for any size from 1 on there (b)");
  EXPECT_EQ(wrong({2, INT64_MAX}),
            "b is 9223372036854775807, for which an array would have more bytes than there can be");
  EXPECT_EQ(wrong({2}), "the program's inputs have 2 sizes, but 1 are given");
}

TEST(ProgramFileTest, PiecesOfOpenSizesLeaveNothing) {
  const std::string image = Image();
  ProgramFile file = Open(image);
  file.opens = {{"a", 30, INT64_MAX, 10, 0, {0}, {0}, {30, 40, 50, 80, 160}, 0, 1}};
  const std::string bytes = WriteProgramFile(file);
  ASSERT_TRUE(ReadProgramFile(bytes).ok()) << ReadProgramFile(bytes).status();
  for (int64_t size = 60; size < 5000; size += 10) {
    const auto cut = CutKey(file, {size, 2}, nullptr, absl::InvalidArgumentError("no row"));
    if (size == 80 || size == 160) continue;  // it is there
    ASSERT_TRUE(cut.ok()) << cut.status();
    int64_t sum = 0;
    for (const KeyCut::Piece& piece : cut->pieces) sum += piece.size * piece.count;
    ASSERT_EQ(sum, size);
  }
  EXPECT_FALSE(CutKey(file, {75, 2}, nullptr, absl::InvalidArgumentError("no row")).ok());
  EXPECT_FALSE(CutKey(file, {20, 2}, nullptr, absl::InvalidArgumentError("no row")).ok());
  file.opens[0].pieces = {30, 50, 160};  // nothing makes 70
  EXPECT_FALSE(ReadProgramFile(WriteProgramFile(file)).ok());
}

TEST(ProgramFileTest, RefusesOtherFilesAndOtherVersions) {
  EXPECT_FALSE(ReadProgramFile("").ok());
  EXPECT_FALSE(ReadProgramFile(std::string(200, 'x')).ok());
  std::string bytes = WriteProgramFile(Small(Image(), ""));
  bytes[8] = 9;
  EXPECT_EQ(ReadProgramFile(bytes).status().code(), absl::StatusCode::kUnimplemented);
}

// Everything but the padding between parts is covered by a hash or compared.
TEST(ProgramFileTest, NoDamageIsOverlooked) {
  const std::string image = Image();
  const std::string bytes = WriteProgramFile(Small(image, "constant"));
  const size_t code = bytes.find("\x31\xC0\xC3");
  const auto description =
      static_cast<size_t>(static_cast<unsigned char>(bytes[24]) + 256 * static_cast<unsigned char>(bytes[25]));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool covered = i < 40 || (i >= 64 && i < 64 + description) || (i >= code && i < code + image.size());
    if (!covered) continue;
    if (i > 64 + description && i % 97 != 0 && i > code + 3) continue;  // a part of the code's padding
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x11);
    EXPECT_FALSE(ReadProgramFile(damaged).ok()) << i;
  }
  for (size_t length = 0; length < bytes.size(); length += 61) {
    EXPECT_FALSE(ReadProgramFile(absl::string_view(bytes).substr(0, length)).ok()) << length;
  }
}

uint64_t Hash(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

// With right hashes, nonsense in the description is refused or harmless: read, never followed out of the file.
TEST(ProgramFileTest, SurvivesWrongDescriptions) {
  const std::string image = Image(), constant = "constant";
  ProgramFile whole = Small(image, constant);
  whole.opens = {{"n", 2, 64, 2, 0, {1}, {0, -1}, {2, 4}, 0, 1}};
  const std::string bytes = WriteProgramFile(whole);
  ASSERT_TRUE(ReadProgramFile(bytes).ok()) << ReadProgramFile(bytes).status();
  uint64_t size;
  std::memcpy(&size, &bytes[24], 8);
  std::mt19937_64 random(1);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string wrong = bytes;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = 64 + random() % size;
      if (random() % 2 == 0) {
        wrong[at] = static_cast<char>(random());
      } else {
        static constexpr int64_t kNumbers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 4096, 1 << 20, 64};
        std::memcpy(&wrong[at - at % 8], &kNumbers[random() % 8], std::min<size_t>(8, wrong.size() - (at - at % 8)));
      }
    }
    const uint64_t hash = Hash(absl::string_view(wrong).substr(64, size));
    std::memcpy(&wrong[32], &hash, 8);
    const absl::StatusOr<ProgramFile> file = ReadProgramFile(wrong);
    if (!file.ok()) continue;
    ++read;
    for (const CodeImage& code : file->codes) ASSERT_LE(code.text_bytes, static_cast<int64_t>(code.bytes.size()));
    for (int64_t i = 0; i < std::min<int64_t>(file->num_sizes(), 4); ++i) {
      const absl::StatusOr<FileSizes> sizes = file->Sizes(i);
      if (!sizes.ok()) continue;
      for (const FileVariant& v : sizes->variants) {
        ASSERT_LT(v.code, static_cast<int64_t>(file->codes.size()));
        for (const int64_t c : v.constants) ASSERT_LT(c, static_cast<int64_t>(file->constants.size()));
      }
      std::vector<int64_t> key = sizes->Key();
      (void)file->Find(key);
      for (int64_t& size : key) size = 1000;
      (void)CutKey(*file, key, nullptr, absl::InvalidArgumentError("no row"));
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace xc
