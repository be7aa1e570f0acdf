// Code first, with a stub for each imported function; then constants and a table of addresses.
#include "backends/loader/link_image.h"

#include <elf.h>

#include <cstring>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kPage = 4096, kStubBytes = 8;
constexpr int64_t kNowhere = -1;
// Of newer <elf.h>.
constexpr uint32_t kUnwindSection = 0x70000001;

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

struct Object {
  const char* bytes = nullptr;
  std::vector<Elf64_Shdr> sections;
  std::vector<int64_t> places;  // of the sections in the image
  std::vector<Elf64_Sym> symbols;
  const char* names = nullptr;  // of symbols

  const char* SectionName(const Elf64_Shdr& section) const {
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes);
    return bytes + sections[header->e_shstrndx].sh_offset + section.sh_name;
  }
};

absl::StatusOr<Object> ReadObject(const std::string& text) {
  Object object;
  object.bytes = text.data();
  Elf64_Ehdr header;
  if (text.size() < sizeof(header)) return absl::InternalError("an object file ends early");
  std::memcpy(&header, text.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64 || header.e_type != ET_REL ||
      header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr) > text.size()) {
    return absl::InternalError("an object file is not relocatable ELF for x86-64");
  }
  object.sections.resize(header.e_shnum);
  std::memcpy(object.sections.data(), text.data() + header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : object.sections) {
    if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > text.size()) {
      return absl::InternalError("an object file's section ends outside of it");
    }
    if (section.sh_type != SHT_SYMTAB) continue;
    object.symbols.resize(section.sh_size / sizeof(Elf64_Sym));
    std::memcpy(object.symbols.data(), text.data() + section.sh_offset, object.symbols.size() * sizeof(Elf64_Sym));
    object.names = text.data() + object.sections[section.sh_link].sh_offset;
  }
  object.places.assign(object.sections.size(), kNowhere);
  return object;
}

class Linker {
 public:
  absl::Status Add(const std::string& text) {
    XC_ASSIGN_OR_RETURN(Object object, ReadObject(text));
    objects_.push_back(std::move(object));
    return absl::OkStatus();
  }

  absl::StatusOr<CodeImage> Link(const std::string& entry, std::string* bytes) {
    Place(/*code=*/true);
    XC_RETURN_IF_ERROR(DefineAndImport());
    stubs_ = RoundUp(static_cast<int64_t>(image_.size()), 16);
    image_.resize(stubs_ + kStubBytes * static_cast<int64_t>(image_imports_.size()), '\xCC');
    const int64_t text_bytes = RoundUp(static_cast<int64_t>(image_.size()), kPage);
    image_.resize(text_bytes, '\xCC');
    Place(/*code=*/false);
    XC_RETURN_IF_ERROR(Define(/*code=*/false));
    slots_ = RoundUp(static_cast<int64_t>(image_.size()), 64);
    image_.resize(slots_ + 8 * static_cast<int64_t>(image_imports_.size()));
    for (size_t i = 0; i < image_imports_.size(); ++i) WriteStub(static_cast<int64_t>(i));
    XC_RETURN_IF_ERROR(RelocateAll());
    const auto found = defined_.find(entry);
    if (found == defined_.end()) return absl::InternalError("the program's entry is in no object file");
    CodeImage code;
    code.text_bytes = text_bytes;
    code.entry = found->second;
    code.imports = image_imports_;
    code.import_slots = slots_;
    code.relocations = relocations_;
    *bytes = std::move(image_);
    code.bytes = *bytes;
    return code;
  }

 private:
  static bool IsPlaced(const Object& object, const Elf64_Shdr& section) {
    return (section.sh_flags & SHF_ALLOC) != 0 && section.sh_type != kUnwindSection && section.sh_size > 0 &&
           !absl::StartsWith(object.SectionName(section), ".eh_frame");
  }

  // Puts the sections of code, or the others, into the image.
  void Place(bool code) {
    for (Object& object : objects_) {
      for (size_t i = 0; i < object.sections.size(); ++i) {
        const Elf64_Shdr& section = object.sections[i];
        if (!IsPlaced(object, section) || ((section.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
        const int64_t at = RoundUp(static_cast<int64_t>(image_.size()),
                                   std::max<int64_t>(1, static_cast<int64_t>(section.sh_addralign)));
        image_.resize(at, code ? '\xCC' : '\0');
        object.places[i] = at;
        if (section.sh_type == SHT_NOBITS) {
          image_.resize(at + section.sh_size);
        } else {
          image_.append(object.bytes + section.sh_offset, section.sh_size);
        }
      }
    }
  }

  // Notes where the names of placed sections are.
  absl::Status Define(bool code) {
    for (const Object& object : objects_) {
      for (const Elf64_Sym& symbol : object.symbols) {
        if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_UNDEF) continue;
        if (symbol.st_shndx >= object.sections.size()) return absl::InternalError("a symbol is in no section");
        const bool in_code = (object.sections[symbol.st_shndx].sh_flags & SHF_EXECINSTR) != 0;
        if (in_code != code || object.places[symbol.st_shndx] == kNowhere) continue;
        const auto at = object.places[symbol.st_shndx] + static_cast<int64_t>(symbol.st_value);
        const bool fresh = defined_.emplace(object.names + symbol.st_name, at).second;
        if (!fresh && ELF64_ST_BIND(symbol.st_info) != STB_WEAK) {
          return absl::InternalError(absl::StrCat("two object files define ", object.names + symbol.st_name));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status DefineAndImport() {
    XC_RETURN_IF_ERROR(Define(/*code=*/true));
    // Data is placed later, but is known to be ours.
    std::map<std::string, bool> ours;
    for (const Object& object : objects_) {
      for (const Elf64_Sym& symbol : object.symbols) {
        if (symbol.st_shndx != SHN_UNDEF) ours[object.names + symbol.st_name] = true;
      }
    }
    for (const Object& object : objects_) {
      for (const Elf64_Sym& symbol : object.symbols) {
        const char* const name = object.names + symbol.st_name;
        if (symbol.st_shndx != SHN_UNDEF || *name == 0 || ours.count(name) != 0) continue;
        if (import_numbers_.emplace(name, static_cast<int64_t>(image_imports_.size())).second) {
          image_imports_.push_back(name);
        }
      }
    }
    return absl::OkStatus();
  }

  // jmp *slot(%rip)
  void WriteStub(int64_t import) {
    const int64_t at = stubs_ + kStubBytes * import, slot = slots_ + 8 * import;
    image_[at] = '\xFF';
    image_[at + 1] = '\x25';
    const auto distance = static_cast<int32_t>(slot - (at + 6));
    std::memcpy(&image_[at + 2], &distance, 4);
  }

  // Where a symbol is; of an import, its stub.
  absl::StatusOr<int64_t> AddressOf(const Object& object, const Elf64_Sym& symbol, int64_t* import) {
    *import = -1;
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) {
      if (symbol.st_shndx >= object.sections.size() || object.places[symbol.st_shndx] == kNowhere) {
        return absl::InternalError("generated code refers to a section that is not loaded");
      }
      return object.places[symbol.st_shndx] + static_cast<int64_t>(symbol.st_value);
    }
    const std::string name = object.names + symbol.st_name;
    if (auto it = defined_.find(name); it != defined_.end()) return it->second;
    auto it = import_numbers_.find(name);
    if (it == import_numbers_.end()) return absl::InternalError(absl::StrCat("there is no ", name));
    *import = it->second;
    return stubs_ + kStubBytes * it->second;
  }

  // The slot of the table of addresses that holds `target`, or the import's address.
  int64_t SlotOf(int64_t target, int64_t import) {
    if (import >= 0) return slots_ + 8 * import;
    auto [it, fresh] = own_slots_.try_emplace(target, static_cast<int64_t>(image_.size()));
    if (fresh) {
      image_.resize(image_.size() + 8);
      std::memcpy(&image_[it->second], &target, 8);
      relocations_.push_back(it->second);
    }
    return it->second;
  }

  absl::Status Relocate(const Object& object, int64_t place, const Elf64_Rela& rela) {
    const uint64_t type = ELF64_R_TYPE(rela.r_info), number = ELF64_R_SYM(rela.r_info);
    if (number >= object.symbols.size()) return absl::InternalError("a relocation has no symbol");
    int64_t import;
    XC_ASSIGN_OR_RETURN(const int64_t target, AddressOf(object, object.symbols[number], &import));
    const int64_t at = place + static_cast<int64_t>(rela.r_offset), addend = rela.r_addend;
    int64_t value = 0;
    switch (type) {
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        value = target + addend - at;
        break;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        value = SlotOf(target, import) + addend - at;
        break;
      case R_X86_64_PC64:
        value = target + addend - at;
        std::memcpy(&image_[at], &value, 8);
        return absl::OkStatus();
      case R_X86_64_64:
        value = target + addend;
        std::memcpy(&image_[at], &value, 8);
        if (at % 8 != 0) return absl::InternalError("an address in generated code is not aligned");
        relocations_.push_back(at);
        return absl::OkStatus();
      default:
        return absl::InternalError(absl::StrCat("generated code has a relocation of type ", type));
    }
    if (value != static_cast<int32_t>(value)) return absl::ResourceExhaustedError("the code is larger than 2 GiB");
    const auto narrow = static_cast<int32_t>(value);
    std::memcpy(&image_[at], &narrow, 4);
    return absl::OkStatus();
  }

  absl::Status RelocateAll() {
    for (const Object& object : objects_) {
      for (const Elf64_Shdr& section : object.sections) {
        if (section.sh_type != SHT_RELA || section.sh_info >= object.places.size()) continue;
        const int64_t place = object.places[section.sh_info];
        if (place == kNowhere) continue;
        if (absl::StartsWith(object.SectionName(object.sections[section.sh_info]), ".data") &&
            (object.sections[section.sh_info].sh_flags & SHF_EXECINSTR) != 0) {
          return absl::InternalError("generated code writes to itself");
        }
        for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Rela); ++i) {
          Elf64_Rela rela;
          std::memcpy(&rela, object.bytes + section.sh_offset + i * sizeof(rela), sizeof(rela));
          XC_RETURN_IF_ERROR(Relocate(object, place, rela));
        }
      }
    }
    return absl::OkStatus();
  }

  std::vector<Object> objects_;
  std::string image_;
  std::map<std::string, int64_t> defined_, import_numbers_;
  std::vector<std::string> image_imports_;
  std::map<int64_t, int64_t> own_slots_;
  std::vector<int64_t> relocations_;
  int64_t stubs_ = 0, slots_ = 0;
};

}  // namespace

absl::StatusOr<CodeImage> LinkImage(const std::vector<std::string>& objects, const std::string& entry,
                                    std::string* bytes) {
  Linker linker;
  for (const std::string& object : objects) XC_RETURN_IF_ERROR(linker.Add(object));
  return linker.Link(entry, bytes);
}

}  // namespace xc
