// Layout: a header of 64 bytes, the description, then code images (whole pages) and constants (at multiples of 64).
#include "backends/loader/program_file.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/loader/file_bytes.h"
#include "backends/loader/open_sizes.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr char kMagic[8] = {'X', 'C', 'P', 'R', 'O', 'G', '\r', '\n'};
constexpr int64_t kHeaderBytes = 64, kPage = 4096;

// FNV-1a of 64 bits: against accidents, not against somebody who wants his code to be run.
uint64_t HashOf(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

absl::StatusOr<std::string> ReadText(FileReader* reader) {
  XC_ASSIGN_OR_RETURN(const absl::string_view text, reader->Text());
  return std::string(text);
}

// The part of the file from `offset`.
absl::StatusOr<absl::string_view> Part(absl::string_view file, FileReader* reader, int64_t alignment) {
  XC_ASSIGN_OR_RETURN(const int64_t offset, reader->Bounded(static_cast<int64_t>(file.size()), "an offset"));
  XC_ASSIGN_OR_RETURN(const int64_t size, reader->Bounded(static_cast<int64_t>(file.size()) - offset, "a length"));
  if (offset % alignment != 0) return absl::InvalidArgumentError("a part of it is not aligned");
  return file.substr(offset, size);
}

absl::Status CheckCode(const CodeImage& code, absl::string_view file) {
  const auto size = static_cast<int64_t>(code.bytes.size());
  const int64_t data = size - code.text_bytes;
  const auto in_data = [&](int64_t offset, int64_t bytes) {
    return offset >= code.text_bytes && bytes <= data && offset <= size - bytes && offset % 8 == 0;
  };
  bool fits = code.text_bytes % kPage == 0 && code.entry < code.text_bytes;
  fits = fits && in_data(code.import_slots, 8 * static_cast<int64_t>(code.imports.size()));
  for (const int64_t relocation : code.relocations) {
    fits = fits && in_data(relocation, 8);
    if (!fits) break;
    int64_t target;
    std::memcpy(&target, code.bytes.data() + relocation, 8);
    fits = target >= 0 && target < size;
  }
  if (!fits) return absl::InvalidArgumentError("its code does not fit together");
  return absl::OkStatus();
}

absl::StatusOr<CodeImage> ReadCode(FileReader* reader, absl::string_view file) {
  CodeImage code;
  XC_ASSIGN_OR_RETURN(code.bytes, Part(file, reader, kPage));
  XC_ASSIGN_OR_RETURN(const int64_t hash, reader->Number());
  if (static_cast<uint64_t>(hash) != HashOf(code.bytes)) return absl::DataLossError("its code is damaged");
  const auto size = static_cast<int64_t>(code.bytes.size());
  XC_ASSIGN_OR_RETURN(code.text_bytes, reader->Bounded(size, "the code's length"));
  XC_ASSIGN_OR_RETURN(code.entry, reader->Bounded(size, "the entry's place"));
  XC_ASSIGN_OR_RETURN(const int64_t imports, reader->Count(8));
  for (int64_t i = 0; i < imports; ++i) {
    XC_ASSIGN_OR_RETURN(code.imports.emplace_back(), ReadText(reader));
  }
  XC_ASSIGN_OR_RETURN(code.import_slots, reader->Bounded(size, "a place"));
  XC_ASSIGN_OR_RETURN(code.relocations, reader->Numbers(size, "a place"));
  XC_RETURN_IF_ERROR(CheckCode(code, file));
  return code;
}

absl::StatusOr<ProgramFile> ReadDescription(absl::string_view description, absl::string_view bytes) {
  FileReader reader(description);
  ProgramFile file;
  XC_ASSIGN_OR_RETURN(file.name, ReadText(&reader));
  XC_ASSIGN_OR_RETURN(file.made_by, ReadText(&reader));
  for (std::vector<std::string>* texts : {&file.cpus, &file.texts}) {
    XC_ASSIGN_OR_RETURN(const int64_t count, reader.Count(8));
    for (int64_t i = 0; i < count; ++i) {
      XC_ASSIGN_OR_RETURN(texts->emplace_back(), ReadText(&reader));
    }
  }
  XC_ASSIGN_OR_RETURN(const int64_t constants, reader.Count(16));
  for (int64_t i = 0; i < constants; ++i) {
    XC_ASSIGN_OR_RETURN(const absl::string_view constant, Part(bytes, &reader, ProgramFile::kAlignment));
    file.constants.push_back(constant);
  }
  XC_ASSIGN_OR_RETURN(const int64_t codes, reader.Count(64));
  for (int64_t i = 0; i < codes; ++i) {
    XC_ASSIGN_OR_RETURN(CodeImage code, ReadCode(&reader, bytes));
    file.codes.push_back(std::move(code));
  }
  XC_ASSIGN_OR_RETURN(const int64_t groups, reader.Count(40));
  if (groups == 0) return absl::InvalidArgumentError("it has a program for no sizes");
  for (int64_t i = 0; i < groups; ++i) {
    const int64_t first = file.num_sizes();
    XC_ASSIGN_OR_RETURN(NumberRows rows, NumberRows::Read(&reader));
    file.groups.push_back(std::move(rows));
    XC_RETURN_IF_ERROR(file.Sizes(first).status());
  }
  XC_ASSIGN_OR_RETURN(const int64_t opens, reader.Count(80));
  for (int64_t i = 0; i < opens; ++i) {
    XC_ASSIGN_OR_RETURN(OpenSize open, ReadOpenSize(&reader, file));
    file.opens.push_back(std::move(open));
  }
  if (!reader.empty()) return absl::InvalidArgumentError("its description goes on after its end");
  return file;
}

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// The description, for parts that begin at `start` in the file; appends the parts to `parts` if there are any wanted.
std::string Describe(const ProgramFile& file, int64_t start, std::string* parts) {
  int64_t end = start;
  const auto place = [&](absl::string_view part, int64_t alignment) {
    const int64_t offset = RoundUp(end, alignment);
    if (parts != nullptr) {
      parts->resize(offset - start);
      parts->append(part.data(), part.size());
    }
    end = offset + static_cast<int64_t>(part.size());
    return offset;
  };
  FileWriter w;
  w.Text(file.name);
  w.Text(file.made_by);
  for (const std::vector<std::string>* texts : {&file.cpus, &file.texts}) {
    w.Number(static_cast<int64_t>(texts->size()));
    for (const std::string& text : *texts) w.Text(text);
  }
  std::vector<int64_t> images;
  for (const CodeImage& code : file.codes) images.push_back(place(code.bytes, kPage));
  w.Number(static_cast<int64_t>(file.constants.size()));
  for (const absl::string_view constant : file.constants) {
    w.Number(place(constant, ProgramFile::kAlignment));
    w.Number(static_cast<int64_t>(constant.size()));
  }
  w.Number(static_cast<int64_t>(file.codes.size()));
  for (size_t i = 0; i < file.codes.size(); ++i) {
    const CodeImage& code = file.codes[i];
    w.Number(images[i]);
    w.Number(static_cast<int64_t>(code.bytes.size()));
    w.Number(static_cast<int64_t>(HashOf(code.bytes)));
    w.Number(code.text_bytes);
    w.Number(code.entry);
    w.Number(static_cast<int64_t>(code.imports.size()));
    for (const std::string& name : code.imports) w.Text(name);
    w.Number(code.import_slots);
    w.Numbers(code.relocations);
  }
  w.Number(static_cast<int64_t>(file.groups.size()));
  for (const NumberRows& rows : file.groups) rows.Write(&w);
  w.Number(static_cast<int64_t>(file.opens.size()));
  for (const OpenSize& open : file.opens) WriteOpenSize(open, &w);
  return w.bytes();
}

}  // namespace

std::string WriteProgramFile(const ProgramFile& file) {
  // Offsets have a fixed length, so that the description's own length does not depend on them.
  const auto description_bytes = static_cast<int64_t>(Describe(file, 0, nullptr).size());
  const int64_t start = kHeaderBytes + description_bytes;
  std::string parts;
  const std::string description = Describe(file, start, &parts);
  FileWriter header;
  header.Number(ProgramFile::kVersion);
  header.Number(start + static_cast<int64_t>(parts.size()));
  header.Number(description_bytes);
  header.Number(static_cast<int64_t>(HashOf(description)));
  std::string out(kMagic, sizeof(kMagic));
  out += header.bytes();
  out.resize(kHeaderBytes);
  out += description;
  out += parts;
  return out;
}

bool BeginsProgramFile(absl::string_view bytes) {
  return !bytes.empty() && std::memcmp(bytes.data(), kMagic, std::min(bytes.size(), sizeof(kMagic))) == 0;
}

absl::StatusOr<ProgramFile> ReadProgramFile(absl::string_view bytes) {
  if (bytes.size() < sizeof(kMagic) || !BeginsProgramFile(bytes)) {
    return absl::InvalidArgumentError("it is no compiled program (of `xla compile`)");
  }
  if (bytes.size() < kHeaderBytes) {
    return absl::DataLossError(absl::StrCat("it ends after ", bytes.size(), " bytes, within its header"));
  }
  FileReader header(bytes.substr(sizeof(kMagic), kHeaderBytes - sizeof(kMagic)));
  XC_ASSIGN_OR_RETURN(const int64_t version, header.Number());
  if (version != ProgramFile::kVersion) {
    return absl::UnimplementedError(absl::StrCat("it is of version ", version, " of the format; this library reads ",
                                                 ProgramFile::kVersion, ": compile it again"));
  }
  XC_ASSIGN_OR_RETURN(const int64_t size, header.Number());
  if (size != static_cast<int64_t>(bytes.size())) {
    return absl::DataLossError(absl::StrCat("it should have ", size, " bytes, and has ", bytes.size()));
  }
  XC_ASSIGN_OR_RETURN(const int64_t description_bytes, header.Bounded(size - kHeaderBytes, "the description's length"));
  XC_ASSIGN_OR_RETURN(const int64_t hash, header.Number());
  const absl::string_view description = bytes.substr(kHeaderBytes, description_bytes);
  if (static_cast<uint64_t>(hash) != HashOf(description)) {
    return absl::DataLossError(absl::StrCat("its description, bytes ", kHeaderBytes, " to ",
                                            kHeaderBytes + description_bytes, ", is damaged"));
  }
  return ReadDescription(description, bytes);
}

}  // namespace xc
