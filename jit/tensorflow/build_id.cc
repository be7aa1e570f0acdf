#include "jit/tensorflow/build_id.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <vector>

namespace xc_tensorflow {
namespace {

// Sections of notes are a few dozen bytes, a program header table a few hundred.
constexpr size_t kMaxNotes = 1 << 16;
constexpr int kMaxHeaders = 256;

bool ReadAt(std::ifstream& file, size_t offset, void* to, size_t size) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(static_cast<char*>(to), static_cast<std::streamsize>(size)));
}

std::string IdAmong(const std::vector<char>& notes) {
  auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
  size_t at = 0;
  while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, &notes[at], sizeof(note));
    at += sizeof(note);
    const size_t name = padded(note.n_namesz), value = padded(note.n_descsz);
    if (name > notes.size() - at || value > notes.size() - at - name) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(&notes[at], "GNU", 4) == 0) {
      return std::string(notes.data() + at + name, note.n_descsz);
    }
    at += name + value;
  }
  return "";
}

}  // namespace

std::string BuildId(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file || !ReadAt(file, 0, &header, sizeof(header))) return "";
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return "";
  for (int i = 0; i < header.e_phnum && i < kMaxHeaders; ++i) {
    Elf64_Phdr segment;
    if (!ReadAt(file, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment))) return "";
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNotes) continue;
    std::vector<char> notes(segment.p_filesz);
    if (!ReadAt(file, segment.p_offset, notes.data(), notes.size())) return "";
    std::string id = IdAmong(notes);
    if (!id.empty()) return id;
  }
  return "";
}

}  // namespace xc_tensorflow
