#include "jit/tensorflow/known_build.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace xc_tensorflow {
namespace {

// libtensorflow_framework.so.2 of the wheels that the plugin was tested with.
constexpr uint64_t kKnownBuilds[] = {
#include "jit/tensorflow/known_builds.inc"
};

// The 64-bit FNV-1a hash.
void Add(const void* data, size_t size, uint64_t* hash) {
  for (const unsigned char *p = static_cast<const unsigned char*>(data), *end = p + size; p != end; ++p) {
    *hash = (*hash ^ *p) * 0x100000001b3;
  }
}

// How many symbols a table has, by the hash table over it.
size_t NumSymbols(const uint32_t* gnu_hash) {
  const uint32_t num_buckets = gnu_hash[0], first = gnu_hash[1], bloom_words = gnu_hash[2];
  const uint32_t* buckets = gnu_hash + 4 + bloom_words * 2;
  const uint32_t* chains = buckets + num_buckets;
  uint32_t last = 0;
  for (uint32_t i = 0; i < num_buckets; ++i) last = std::max(last, buckets[i]);
  if (last < first) return first;
  while ((chains[last - first] & 1) == 0) ++last;
  return last + 1;
}

}  // namespace

uint64_t BuildFingerprint(const void* address) {
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return 0;
  const char* base = static_cast<const char*>(info.dli_fbase);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base);
  const void* symbols = nullptr;
  const uint32_t* gnu_hash = nullptr;
  for (const Elf64_Dyn* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) gnu_hash = reinterpret_cast<const uint32_t*>(entry->d_un.d_ptr);
  }
  if (symbols == nullptr || gnu_hash == nullptr) return 0;
  uint64_t hash = 0xcbf29ce484222325;
  Add(base + header->e_phoff, size_t{header->e_phnum} * sizeof(Elf64_Phdr), &hash);
  Add(symbols, NumSymbols(gnu_hash) * sizeof(Elf64_Sym), &hash);
  return hash;
}

bool IsKnownBuild(uint64_t fingerprint) {
  return std::find(std::begin(kKnownBuilds), std::end(kKnownBuilds), fingerprint) != std::end(kKnownBuilds);
}

}  // namespace xc_tensorflow
