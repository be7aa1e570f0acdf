// Layout: a header of 64 bytes, the description, then code images (whole pages) and constants (at multiples of 64).
#include "backends/loader/program_file.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr char kMagic[8] = {'X', 'C', 'P', 'R', 'O', 'G', '\r', '\n'};
constexpr int64_t kHeaderBytes = 64, kPage = 4096, kMostRank = 64;

// FNV-1a of 64 bits: against accidents, not against somebody who wants his code to be run.
uint64_t HashOf(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

class Writer {
 public:
  void Number(int64_t value) {
    for (int i = 0; i < 8; ++i) out_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void Text(absl::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    out_.append(text.data(), text.size());
  }
  void Numbers(const std::vector<int64_t>& values) {
    Number(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) Number(value);
  }
  void Shape(const FileShape& shape) {
    Number(shape.type);
    Numbers(shape.dims);
    Numbers(shape.minor_to_major);
    std::vector<int64_t> dynamic;
    for (size_t d = 0; d < shape.dynamic.size(); ++d) {
      if (shape.dynamic[d]) dynamic.push_back(static_cast<int64_t>(d));
    }
    Numbers(dynamic);
    Number(shape.bytes);
  }
  void Shapes(const std::vector<FileShape>& shapes) {
    Number(static_cast<int64_t>(shapes.size()));
    for (const FileShape& shape : shapes) Shape(shape);
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  absl::StatusOr<int64_t> Number() {
    if (rest_.size() < 8) return absl::InvalidArgumentError("it ends early");
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(8);
    return static_cast<int64_t>(value);
  }
  // From 0 to `most`.
  absl::StatusOr<int64_t> Bounded(int64_t most, absl::string_view what) {
    XC_ASSIGN_OR_RETURN(const int64_t value, Number());
    if (value >= 0 && value <= most) return value;
    return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, "; 0 to ", most, " can be"));
  }
  // How many things there are of which each takes at least `least` bytes.
  absl::StatusOr<int64_t> Count(int64_t least) {
    return Bounded(static_cast<int64_t>(rest_.size()) / least, "a number of parts");
  }
  absl::StatusOr<std::string> Text() {
    XC_ASSIGN_OR_RETURN(const int64_t size, Count(1));
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  absl::StatusOr<std::vector<int64_t>> Numbers(int64_t most, absl::string_view what) {
    XC_ASSIGN_OR_RETURN(const int64_t count, Count(8));
    std::vector<int64_t> values(count);
    for (int64_t& value : values) {
      XC_ASSIGN_OR_RETURN(value, Bounded(most, what));
    }
    return values;
  }
  absl::StatusOr<FileShape> Shape() {
    FileShape shape;
    XC_ASSIGN_OR_RETURN(const int64_t type, Bounded(INT16_MAX, "an element type"));
    shape.type = static_cast<int32_t>(type);
    XC_ASSIGN_OR_RETURN(shape.dims, Numbers(INT64_MAX, "a size"));
    XC_ASSIGN_OR_RETURN(shape.minor_to_major, Numbers(kMostRank, "a dimension"));
    XC_ASSIGN_OR_RETURN(const std::vector<int64_t> dynamic, Numbers(kMostRank, "a dimension"));
    XC_ASSIGN_OR_RETURN(shape.bytes, Bounded(INT64_MAX, "a number of bytes"));
    const auto rank = static_cast<int64_t>(shape.dims.size());
    std::vector<bool> seen(rank);
    bool fits = rank <= kMostRank && static_cast<int64_t>(shape.minor_to_major.size()) == rank;
    for (size_t i = 0; fits && i < shape.minor_to_major.size(); ++i) {
      const int64_t d = shape.minor_to_major[i];
      fits = d < rank && !seen[d];
      if (fits) seen[d] = true;
    }
    shape.dynamic.resize(fits ? rank : 0);
    for (const int64_t d : dynamic) {
      fits = fits && d < rank;
      if (fits) shape.dynamic[d] = true;
    }
    // An element takes a byte at least (16 at most), so that sizes and bytes bound each other.
    int64_t elements = 1;
    for (const int64_t size : shape.dims) {
      fits = fits && !__builtin_mul_overflow(elements, size, &elements);
    }
    constexpr int64_t kToken = 17;
    fits = fits && (shape.type == kToken ? shape.bytes == 0 && rank == 0
                                         : shape.bytes >= elements && shape.bytes / 16 <= elements);
    if (!fits) return absl::InvalidArgumentError("an array's sizes, layout and bytes do not fit together");
    return shape;
  }
  absl::StatusOr<std::vector<FileShape>> Shapes() {
    XC_ASSIGN_OR_RETURN(const int64_t count, Count(40));
    std::vector<FileShape> shapes;
    for (int64_t i = 0; i < count; ++i) {
      XC_ASSIGN_OR_RETURN(FileShape shape, Shape());
      shapes.push_back(std::move(shape));
    }
    return shapes;
  }
  bool empty() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
};

// The part of the file from `offset`.
absl::StatusOr<absl::string_view> Part(absl::string_view file, Reader* reader, int64_t alignment) {
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

absl::StatusOr<CodeImage> ReadCode(Reader* reader, absl::string_view file) {
  CodeImage code;
  XC_ASSIGN_OR_RETURN(code.bytes, Part(file, reader, kPage));
  XC_ASSIGN_OR_RETURN(const int64_t hash, reader->Number());
  if (static_cast<uint64_t>(hash) != HashOf(code.bytes)) return absl::DataLossError("its code is damaged");
  const auto size = static_cast<int64_t>(code.bytes.size());
  XC_ASSIGN_OR_RETURN(code.text_bytes, reader->Bounded(size, "the code's length"));
  XC_ASSIGN_OR_RETURN(code.entry, reader->Bounded(size, "the entry's place"));
  XC_ASSIGN_OR_RETURN(const int64_t imports, reader->Count(8));
  for (int64_t i = 0; i < imports; ++i) {
    XC_ASSIGN_OR_RETURN(std::string name, reader->Text());
    code.imports.push_back(std::move(name));
  }
  XC_ASSIGN_OR_RETURN(code.import_slots, reader->Bounded(size, "a place"));
  XC_ASSIGN_OR_RETURN(code.relocations, reader->Numbers(size, "a place"));
  XC_RETURN_IF_ERROR(CheckCode(code, file));
  return code;
}

absl::StatusOr<FileVariant> ReadVariant(Reader* reader, absl::string_view file, int64_t num_constants) {
  FileVariant v;
  XC_ASSIGN_OR_RETURN(v.cpu, reader->Text());
  XC_ASSIGN_OR_RETURN(v.arena_bytes, reader->Bounded(INT64_MAX, "temporary memory"));
  XC_ASSIGN_OR_RETURN(const int64_t parameters, reader->Count(16));
  for (int64_t i = 0; i < parameters; ++i) {
    FileVariant::Parameter& p = v.parameters.emplace_back();
    XC_ASSIGN_OR_RETURN(p.bytes, reader->Bounded(INT64_MAX, "a number of bytes"));
    XC_ASSIGN_OR_RETURN(const int64_t donated, reader->Bounded(1, "a flag"));
    p.donated = donated != 0;
  }
  XC_ASSIGN_OR_RETURN(const int64_t outputs, reader->Count(24));
  for (int64_t i = 0; i < outputs; ++i) {
    FileVariant::Output& o = v.outputs.emplace_back();
    XC_ASSIGN_OR_RETURN(o.bytes, reader->Bounded(INT64_MAX, "a number of bytes"));
    XC_ASSIGN_OR_RETURN(const int64_t parameter, reader->Bounded(parameters, "a parameter"));
    o.parameter = parameter - 1;
    XC_ASSIGN_OR_RETURN(o.offset, reader->Bounded(INT64_MAX, "a place"));
    if (o.parameter < 0) continue;
    const int64_t size = v.parameters[o.parameter].bytes;
    if (o.bytes > size || o.offset > size - o.bytes) {
      return absl::InvalidArgumentError("an output lies outside of its parameter");
    }
  }
  XC_ASSIGN_OR_RETURN(v.constants, reader->Numbers(num_constants - 1, "a constant"));
  XC_ASSIGN_OR_RETURN(const int64_t calls, reader->Count(40));
  for (int64_t i = 0; i < calls; ++i) {
    FileCall& call = v.calls.emplace_back();
    XC_ASSIGN_OR_RETURN(call.target, reader->Text());
    XC_ASSIGN_OR_RETURN(call.backend_config, reader->Text());
    XC_ASSIGN_OR_RETURN(const int64_t tuple, reader->Bounded(1, "a flag"));
    call.tuple_result = tuple != 0;
    XC_ASSIGN_OR_RETURN(call.inputs, reader->Shapes());
    XC_ASSIGN_OR_RETURN(call.outputs, reader->Shapes());
  }
  XC_ASSIGN_OR_RETURN(v.code, ReadCode(reader, file));
  return v;
}

// Whether a variant takes the inputs and gives the outputs that the file says.
bool HasSignature(const FileVariant& v, const ProgramFile& file) {
  if (v.parameters.size() != file.inputs.size()) return false;
  for (size_t i = 0; i < v.parameters.size(); ++i) {
    if (v.parameters[i].bytes != file.inputs[i].bytes) return false;
  }
  size_t next = 0;
  for (const FileShape& output : file.outputs) {
    if (next == v.outputs.size() || v.outputs[next++].bytes != output.bytes) return false;
    for (const bool dynamic : output.dynamic) {
      if (dynamic && (next == v.outputs.size() || v.outputs[next++].bytes != 4)) return false;
    }
  }
  return next == v.outputs.size();
}

absl::StatusOr<ProgramFile> ReadDescription(absl::string_view description, absl::string_view bytes) {
  Reader reader(description);
  ProgramFile file;
  XC_ASSIGN_OR_RETURN(file.name, reader.Text());
  XC_ASSIGN_OR_RETURN(file.made_by, reader.Text());
  XC_ASSIGN_OR_RETURN(file.inputs, reader.Shapes());
  XC_ASSIGN_OR_RETURN(file.outputs, reader.Shapes());
  XC_ASSIGN_OR_RETURN(const int64_t constants, reader.Count(16));
  for (int64_t i = 0; i < constants; ++i) {
    XC_ASSIGN_OR_RETURN(const absl::string_view constant, Part(bytes, &reader, ProgramFile::kAlignment));
    file.constants.push_back(constant);
  }
  XC_ASSIGN_OR_RETURN(const int64_t variants, reader.Count(64));
  for (int64_t i = 0; i < variants; ++i) {
    XC_ASSIGN_OR_RETURN(FileVariant variant, ReadVariant(&reader, bytes, constants));
    if (!HasSignature(variant, file)) {
      return absl::InvalidArgumentError(
          absl::StrCat("its code for ", variant.cpu, " has other inputs or outputs than the program"));
    }
    file.variants.push_back(std::move(variant));
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
  Writer w;
  w.Text(file.name);
  w.Text(file.made_by);
  w.Shapes(file.inputs);
  w.Shapes(file.outputs);
  std::vector<int64_t> images;
  for (const FileVariant& v : file.variants) images.push_back(place(v.code.bytes, kPage));
  w.Number(static_cast<int64_t>(file.constants.size()));
  for (const absl::string_view constant : file.constants) {
    w.Number(place(constant, ProgramFile::kAlignment));
    w.Number(static_cast<int64_t>(constant.size()));
  }
  w.Number(static_cast<int64_t>(file.variants.size()));
  for (size_t i = 0; i < file.variants.size(); ++i) {
    const FileVariant& v = file.variants[i];
    w.Text(v.cpu);
    w.Number(v.arena_bytes);
    w.Number(static_cast<int64_t>(v.parameters.size()));
    for (const FileVariant::Parameter& p : v.parameters) {
      w.Number(p.bytes);
      w.Number(p.donated);
    }
    w.Number(static_cast<int64_t>(v.outputs.size()));
    for (const FileVariant::Output& o : v.outputs) {
      w.Number(o.bytes);
      w.Number(o.parameter + 1);
      w.Number(o.offset);
    }
    w.Numbers(v.constants);
    w.Number(static_cast<int64_t>(v.calls.size()));
    for (const FileCall& call : v.calls) {
      w.Text(call.target);
      w.Text(call.backend_config);
      w.Number(call.tuple_result);
      w.Shapes(call.inputs);
      w.Shapes(call.outputs);
    }
    w.Number(images[i]);
    w.Number(static_cast<int64_t>(v.code.bytes.size()));
    w.Number(static_cast<int64_t>(HashOf(v.code.bytes)));
    w.Number(v.code.text_bytes);
    w.Number(v.code.entry);
    w.Number(static_cast<int64_t>(v.code.imports.size()));
    for (const std::string& name : v.code.imports) w.Text(name);
    w.Number(v.code.import_slots);
    w.Numbers(v.code.relocations);
  }
  return w.bytes();
}

}  // namespace

std::string WriteProgramFile(const ProgramFile& file) {
  // Offsets have a fixed length, so that the description's own length does not depend on them.
  const auto description_bytes = static_cast<int64_t>(Describe(file, 0, nullptr).size());
  const int64_t start = kHeaderBytes + description_bytes;
  std::string parts;
  const std::string description = Describe(file, start, &parts);
  Writer header;
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

absl::StatusOr<ProgramFile> ReadProgramFile(absl::string_view bytes) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    return absl::InvalidArgumentError("it is no compiled program (of `xla compile`)");
  }
  Reader header(bytes.substr(sizeof(kMagic), kHeaderBytes - sizeof(kMagic)));
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
  if (static_cast<uint64_t>(hash) != HashOf(description)) return absl::DataLossError("its description is damaged");
  return ReadDescription(description, bytes);
}

}  // namespace xc
