// libFuzzer's entry point for programs compiled ahead of time: input is read as it is, and as a file whose size and
// hash of the description are right. Nothing of it is run.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/loader/open_sizes.h"
#include "backends/loader/program_file.h"

namespace {

// Puts size and hash right where the header says how long the description is.
void Seal(std::string* bytes) {
  if (bytes->size() < 64) return;
  const uint64_t size = bytes->size();
  std::memcpy(&(*bytes)[16], &size, 8);
  uint64_t description;
  std::memcpy(&description, &(*bytes)[24], 8);
  if (description > size - 64) return;
  uint64_t hash = 0xcbf29ce484222325ull;
  for (uint64_t i = 0; i < description; ++i) {
    hash = (hash ^ static_cast<unsigned char>((*bytes)[64 + i])) * 0x100000001b3ull;
  }
  std::memcpy(&(*bytes)[32], &hash, 8);
}

bool Inside(absl::string_view part, const std::string& whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > (1 << 20)) return 0;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)xc::ReadProgramFile(bytes);
  Seal(&bytes);
  const auto file = xc::ReadProgramFile(bytes);
  if (!file.ok()) return 0;
  // What loading and running take for granted.
  for (const absl::string_view constant : file->constants) {
    if (!Inside(constant, bytes)) std::abort();
  }
  for (const xc::CodeImage& code : file->codes) {
    const auto image = static_cast<int64_t>(code.bytes.size());
    if (!Inside(code.bytes, bytes) || code.text_bytes > image || code.entry >= code.text_bytes) std::abort();
    if (code.import_slots + 8 * static_cast<int64_t>(code.imports.size()) > image) std::abort();
    for (const int64_t place : code.relocations) {
      if (place < code.text_bytes || place + 8 > image) std::abort();
    }
  }
  for (int64_t i = 0; i < std::min<int64_t>(file->num_sizes(), 16); ++i) {
    const auto sizes = file->Sizes(i);
    if (!sizes.ok()) continue;
    if (!file->Find(sizes->Key()).ok() || sizes->variants.size() != file->cpus.size()) std::abort();
    for (const xc::FileVariant& v : sizes->variants) {
      if (v.code < 0 || v.code >= static_cast<int64_t>(file->codes.size())) std::abort();
      for (const auto& o : v.outputs) {
        if (o.parameter >= 0 && o.offset + o.bytes > v.parameters.at(o.parameter).bytes) std::abort();
      }
      if (v.parameters.size() != sizes->inputs.size()) std::abort();
    }
  }
  for (const xc::OpenSize& open : file->opens) {
    std::vector<int64_t> key(file->groups[0].keys(), open.high);
    const auto cut = xc::CutKey(*file, key, &open, absl::InvalidArgumentError("no row"));
    if (!cut.ok()) continue;
    int64_t size = 0;
    for (const auto& piece : cut->pieces) size += piece.size * piece.count;
    if (size != cut->size) std::abort();
  }
  std::vector<int64_t> none(file->groups[0].keys(), -1);
  if (file->Find(none).ok() && !file->Sizes(0).ok()) std::abort();
  if (!xc::ReadProgramFile(xc::WriteProgramFile(*file)).ok()) std::abort();
  return 0;
}
