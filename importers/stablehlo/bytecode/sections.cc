#include "importers/stablehlo/bytecode/sections.h"

#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "importers/stablehlo/bytecode/bytecode.h"

namespace xc::stablehlo {
namespace {

constexpr absl::string_view kSectionNames[kSectionIds] = {
    "section of strings",          "section of dialects",         "section of attributes and types",
    "section of offsets",          "section of operations",       "section of resources",
    "section of resource offsets", "section of dialect versions", "section of properties"};

class Reader {
 public:
  Reader(absl::string_view file, ErrorState* errors, Sections* out) : file_(file), errors_(errors), out_(*out) {}

  bool Run();

 private:
  bool Has(SectionId id) const { return sections_[static_cast<int>(id)].has_value(); }
  Cursor Open(SectionId id) {
    return Cursor(*sections_[static_cast<int>(id)], kSectionNames[static_cast<int>(id)], errors_);
  }
  bool ReadStrings();
  bool ReadDialects();
  bool ReadOffsets();
  bool ReadProperties();
  bool ReadResources();
  bool String(Cursor* in, absl::string_view* out) {
    uint64_t index = 0;
    if (!in->Index("string", out_.strings.size(), &index)) return false;
    *out = out_.strings[index];
    return true;
  }

  absl::string_view file_;
  ErrorState* errors_;
  Sections& out_;
  std::array<std::optional<absl::string_view>, kSectionIds> sections_;
};

bool Reader::Run() {
  Cursor in(file_, "file", errors_);
  absl::string_view magic, producer;
  if (!in.Bytes(kBytecodeMagic.size(), &magic)) return false;
  const char* at = in.at();
  if (!in.VarInt(&out_.version)) return false;
  if (out_.version > kNewestVersion) {
    return in.FailAt(
        at, absl::StrCat("has version ", out_.version, " of the format; versions 0 to ", kNewestVersion, " are read"));
  }
  if (!in.ZeroTerminated(&producer)) return false;
  while (in.remaining() > 0) {
    const char* start = in.at();
    SectionId id;
    absl::string_view bytes;
    if (!ReadSection(&in, file_, &id, &bytes)) return false;
    std::optional<absl::string_view>& section = sections_[static_cast<int>(id)];
    if (section.has_value()) {
      return in.FailAt(start, absl::StrCat("has a second ", kSectionNames[static_cast<int>(id)]));
    }
    section = bytes;
  }
  for (SectionId id :
       {SectionId::kString, SectionId::kDialect, SectionId::kAttrType, SectionId::kAttrTypeOffset, SectionId::kIr}) {
    if (!Has(id)) return in.Fail(absl::StrCat("has no ", kSectionNames[static_cast<int>(id)]));
  }
  out_.ir = *sections_[static_cast<int>(SectionId::kIr)];
  return ReadStrings() && ReadDialects() && ReadOffsets() && ReadProperties() && ReadResources();
}

// The lengths, the last string's first, and all characters; each string ends with a zero, which its length counts.
bool Reader::ReadStrings() {
  Cursor in = Open(SectionId::kString);
  uint64_t count = 0;
  if (!in.Count("strings", &count)) return false;
  std::vector<uint64_t> lengths(count);
  uint64_t total = 0;
  for (uint64_t i = count; i-- > 0;) {
    if (!in.VarInt(&lengths[i])) return false;
    if (lengths[i] == 0 || lengths[i] > file_.size()) {
      return in.Fail(absl::StrCat("string ", i, " cannot have a length of ", lengths[i]));
    }
    total += lengths[i];
  }
  if (total != in.remaining()) {
    return in.Fail(absl::StrCat("its strings take ", total, " bytes together, but ", in.remaining(), " are left"));
  }
  out_.strings.reserve(count);
  for (uint64_t length : lengths) {
    absl::string_view string;
    if (!in.Bytes(length, &string)) return false;
    out_.strings.push_back(string.substr(0, length - 1));
  }
  return true;
}

bool Reader::ReadDialects() {
  Cursor in = Open(SectionId::kDialect);
  uint64_t count = 0;
  if (!in.Count("dialects", &count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t name = 0;
    bool versioned = false;
    if (out_.version < kDialectVersions ? !in.VarInt(&name) : !in.VarIntWithFlag(&name, &versioned)) return false;
    if (!in.CheckIndex("string", name, out_.strings.size())) return false;
    out_.dialects.push_back(out_.strings[name]);
    if (versioned) {
      SectionId id;
      absl::string_view version;
      if (!ReadSection(&in, file_, &id, &version)) return false;
      if (id != SectionId::kDialectVersions) return in.Fail("expected the version of a dialect");
    }
  }
  uint64_t names = 0;
  if (out_.version >= kNameCounts && !in.Count("names of operations", &names)) return false;
  while (in.remaining() > 0) {
    uint64_t dialect = 0, group = 0;
    if (!in.Index("dialect", out_.dialects.size(), &dialect) || !in.Count("names of operations", &group)) return false;
    for (uint64_t i = 0; i < group; ++i) {
      uint64_t name = 0;
      OpName op;
      if (out_.version < kProperties ? !in.VarInt(&name) : !in.VarIntWithFlag(&name, &op.registered)) return false;
      if (!in.CheckIndex("string", name, out_.strings.size())) return false;
      op.dialect = out_.dialects[dialect];
      op.name = out_.strings[name];
      out_.op_names.push_back(op);
    }
  }
  return true;
}

// Sizes of attributes and then of types, in groups of a dialect; they follow each other without gaps.
bool Reader::ReadOffsets() {
  Cursor in = Open(SectionId::kAttrTypeOffset), data = Open(SectionId::kAttrType);
  uint64_t attributes = 0, types = 0;
  if (!in.Count("attributes", &attributes) || !in.Count("types", &types)) return false;
  for (std::vector<Encoded>* list : {&out_.attributes, &out_.types}) {
    const uint64_t size = list == &out_.attributes ? attributes : types;
    while (list->size() < size) {
      uint64_t dialect = 0, group = 0;
      if (!in.Index("dialect", out_.dialects.size(), &dialect) || !in.Count("sizes", &group)) return false;
      if (group > size - list->size()) return in.Fail("a group has more attributes or types than there are");
      for (uint64_t i = 0; i < group; ++i) {
        uint64_t bytes = 0;
        Encoded encoded;
        encoded.dialect = out_.dialects[dialect];
        if (!in.VarIntWithFlag(&bytes, &encoded.custom) || !data.Bytes(bytes, &encoded.bytes)) return false;
        list->push_back(encoded);
      }
    }
  }
  return in.AtEnd("its attributes and types have") && data.AtEnd("the sizes of attributes and types say");
}

bool Reader::ReadProperties() {
  if (!Has(SectionId::kProperties)) return true;
  Cursor in = Open(SectionId::kProperties);
  uint64_t count = 0;
  if (!in.Count("properties", &count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    absl::string_view bytes;
    if (!in.VarInt(&size) || !in.Bytes(size, &bytes)) return false;
    out_.properties.push_back(bytes);
  }
  return in.AtEnd("its properties have");
}

// Resources of dialects are what attributes refer to; those of other providers (debuggers and the like) are skipped.
bool Reader::ReadResources() {
  if (!Has(SectionId::kResourceOffset)) return true;
  Cursor in = Open(SectionId::kResourceOffset);
  if (!Has(SectionId::kResource)) return in.Fail("has no section of resources beside it");
  Cursor data = Open(SectionId::kResource);
  uint64_t external = 0;
  if (!in.VarInt(&external)) return false;
  for (uint64_t group = 0; in.remaining() > 0; ++group) {
    uint64_t key = 0, count = 0;
    const uint64_t keys = group < external ? out_.strings.size() : out_.dialects.size();
    if (!in.Index(group < external ? "string" : "dialect", keys, &key) || !in.Count("resources", &count)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      Resource resource;
      uint64_t size = 0;
      if (!String(&in, &resource.key) || !in.VarInt(&size) || !in.Byte(&resource.kind) ||
          !data.Bytes(size, &resource.bytes)) {
        return false;
      }
      if (group >= external) out_.resources.push_back(resource);
    }
  }
  return true;
}

}  // namespace

bool ReadSection(Cursor* in, absl::string_view file, SectionId* id, absl::string_view* bytes) {
  const char* start = in->at();
  uint8_t first = 0;
  uint64_t length = 0, alignment = 1;
  if (!in->Byte(&first) || !in->VarInt(&length)) return false;
  if ((first & 0x7f) >= kSectionIds) return in->FailAt(start, absl::StrCat("has a section of kind ", first & 0x7f));
  *id = static_cast<SectionId>(first & 0x7f);
  if ((first & 0x80) != 0) {
    if (!in->VarInt(&alignment)) return false;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
      return in->Fail(absl::StrCat("a section's alignment is ", alignment, ", no power of 2"));
    }
    const uint64_t offset = static_cast<uint64_t>(in->at() - file.data());
    absl::string_view padding;
    if (!in->Bytes((alignment - offset % alignment) % alignment, &padding)) return false;
  }
  return in->Bytes(length, bytes);
}

bool ReadSections(absl::string_view file, ErrorState* errors, Sections* out) { return Reader(file, errors, out).Run(); }

}  // namespace xc::stablehlo
