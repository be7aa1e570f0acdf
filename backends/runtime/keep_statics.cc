// The library calls __cxa_atexit, of the C++ ABI, to have an object destroyed, through a slot that the loader fills in.
#include "backends/runtime/keep_statics.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace xc {
namespace {

// In the place of __cxa_atexit: that the object was noted is all that the caller wants to know.
int NeverDestroyed(void (*)(void*), void*, void*) { return 0; }

struct Relocations {
  const Elf64_Rela* first = nullptr;
  size_t bytes = 0;
};

// The slot in which the library has the address of the function; null if there is none.
void** SlotOf(const link_map& library, const char* function) {
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  Relocations plt, other;
  for (const ElfW(Dyn)* d = library.l_ld; d != nullptr && d->d_tag != DT_NULL; ++d) {
    const auto* const at = reinterpret_cast<const void*>(d->d_un.d_ptr);
    switch (d->d_tag) {
      case DT_SYMTAB:
        symbols = static_cast<const Elf64_Sym*>(at);
        break;
      case DT_STRTAB:
        names = static_cast<const char*>(at);
        break;
      case DT_JMPREL:
        plt.first = static_cast<const Elf64_Rela*>(at);
        break;
      case DT_PLTRELSZ:
        plt.bytes = d->d_un.d_val;
        break;
      case DT_RELA:
        other.first = static_cast<const Elf64_Rela*>(at);
        break;
      case DT_RELASZ:
        other.bytes = d->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (symbols == nullptr || names == nullptr) return nullptr;
  for (const Relocations& table : {plt, other}) {
    if (table.first == nullptr) continue;
    for (size_t i = 0; i < table.bytes / sizeof(Elf64_Rela); ++i) {
      const Elf64_Rela& r = table.first[i];
      const auto type = ELF64_R_TYPE(r.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      if (std::strcmp(names + symbols[ELF64_R_SYM(r.r_info)].st_name, function) != 0) continue;
      return reinterpret_cast<void**>(library.l_addr + r.r_offset);
    }
  }
  return nullptr;
}

struct Place {
  uintptr_t base, offset;  // of the library, and from there
  bool read_only = false;
};

// Whether the loader has made the place read-only, once it had filled it in.
bool IsReadOnly(const link_map& library, const void* at) {
  Place place{library.l_addr, reinterpret_cast<uintptr_t>(at) - library.l_addr};
  const auto look = [](dl_phdr_info* info, size_t, void* data) {
    auto* const p = static_cast<Place*>(data);
    if (info->dlpi_addr != p->base) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const Elf64_Phdr& s = info->dlpi_phdr[i];
      p->read_only |= s.p_type == PT_GNU_RELRO && p->offset >= s.p_vaddr && p->offset < s.p_vaddr + s.p_memsz;
    }
    return 1;
  };
  dl_iterate_phdr(look, &place);
  return place.read_only;
}

}  // namespace

bool KeepStatics(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return false;
  void** const slot = SlotOf(*map, "__cxa_atexit");
  if (slot == nullptr) return false;
  // Its page cannot be written to where the loader fills in all slots at once.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, reinterpret_cast<void*>(&NeverDestroyed), __ATOMIC_RELEASE);
  if (IsReadOnly(*map, slot)) mprotect(begin, page, PROT_READ);
  return true;
}

}  // namespace xc
