// Walks the program headers of what is loaded, in the format that elf(5) and dl_iterate_phdr(3) describe.
#include "backends/runtime/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "absl/strings/escaping.h"

namespace xc {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

// The description of the build id's note among `size` bytes of notes; empty if there is none.
absl::string_view FindNote(const char* notes, size_t size) {
  constexpr char kOwner[] = "GNU";
  const auto padded = [](size_t n) { return (n + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof(note));
    const size_t total = sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz);
    if (total > size) break;
    const char* name = notes + sizeof(note);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(kOwner) &&
        std::memcmp(name, kOwner, sizeof(kOwner)) == 0) {
      return absl::string_view(name + padded(note.n_namesz), note.n_descsz);
    }
    notes += total;
    size -= total;
  }
  return "";
}

int Visit(dl_phdr_info* object, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    inside |= header.p_type == PT_LOAD && search->address >= begin && search->address - begin < header.p_memsz;
  }
  if (!inside) return 0;
  for (int i = 0; i < object->dlpi_phnum && search->id.empty(); ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    search->id = absl::BytesToHexString(
        FindNote(reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr), header.p_memsz));
  }
  return 1;
}

}  // namespace

std::string BuildId(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(&Visit, &search);
  return search.id;
}

}  // namespace xc
