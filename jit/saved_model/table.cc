#include "jit/saved_model/table.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/saved_model/crc32c.h"

namespace xc {
namespace {

constexpr size_t kFooterSize = 48;
constexpr uint64_t kMagic = 0xdb4775248b80fb57u;
constexpr size_t kTrailerSize = 5;  // compression type and checksum

absl::Status Damaged(const std::string& what, uint64_t offset) {
  return absl::DataLossError(absl::StrCat("the table is damaged at byte ", offset, ": ", what));
}

template <typename T>
T LittleEndian(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

struct Handle {
  uint64_t offset = 0, size = 0;
};

bool TakeHandle(absl::string_view* bytes, Handle* handle) {
  return TakeVarint(bytes, &handle->offset) && TakeVarint(bytes, &handle->size);
}

absl::StatusOr<absl::string_view> Block(absl::string_view file, const Handle& h) {
  if (h.offset > file.size() || h.size > file.size() - h.offset ||
      file.size() - h.offset - h.size < kTrailerSize + kFooterSize) {
    return Damaged(absl::StrCat("a block of ", h.size, " bytes does not fit the file"), h.offset);
  }
  const char* trailer = file.data() + h.offset + h.size;
  if (MaskedCrc32c(Crc32c(file.substr(h.offset, h.size + 1))) != LittleEndian<uint32_t>(trailer + 1)) {
    return Damaged("a block's checksum is wrong", h.offset);
  }
  if (*trailer != 0) {
    return absl::UnimplementedError(absl::StrCat("the block at byte ", h.offset, " is compressed"));
  }
  return file.substr(h.offset, h.size);
}

struct Entry {
  std::string key;
  absl::string_view value;
};

absl::StatusOr<std::vector<Entry>> Entries(absl::string_view block, uint64_t offset) {
  if (block.size() < 4) return Damaged("a block without its restart points", offset);
  uint64_t restarts = LittleEndian<uint32_t>(block.data() + block.size() - 4);
  if (restarts > (block.size() - 4) / 4) return Damaged("a block has too many restart points", offset);
  block.remove_suffix(4 + 4 * restarts);
  std::vector<Entry> out;
  std::string key;
  while (!block.empty()) {
    uint64_t shared, fresh, size;
    if (!TakeVarint(&block, &shared) || !TakeVarint(&block, &fresh) || !TakeVarint(&block, &size) ||
        shared > key.size() || fresh > block.size() || size > block.size() - fresh) {
      return Damaged("an entry does not fit its block", offset);
    }
    std::string next = key.substr(0, shared);
    next.append(block.data(), fresh);
    if (!out.empty() && next <= key) return Damaged("the keys are not in order", offset);
    key = std::move(next);
    out.push_back({key, block.substr(fresh, size)});
    block.remove_prefix(fresh + size);
  }
  return out;
}

}  // namespace

bool TakeVarint(absl::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    uint8_t byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    *value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

absl::StatusOr<std::map<std::string, std::string>> ReadTable(absl::string_view file) {
  if (file.size() < kFooterSize) return absl::DataLossError("the table is shorter than its footer");
  absl::string_view footer = file.substr(file.size() - kFooterSize);
  if (LittleEndian<uint64_t>(footer.data() + kFooterSize - 8) != kMagic) {
    return absl::InvalidArgumentError("the file is not a table: its last bytes are others");
  }
  Handle meta, index;
  if (!TakeHandle(&footer, &meta) || !TakeHandle(&footer, &index)) {
    return Damaged("the footer has no place of the index", file.size() - kFooterSize);
  }
  XC_ASSIGN_OR_RETURN(absl::string_view index_block, Block(file, index));
  XC_ASSIGN_OR_RETURN(std::vector<Entry> blocks, Entries(index_block, index.offset));
  std::map<std::string, std::string> out;
  uint64_t end = 0;
  for (Entry& b : blocks) {
    Handle h;
    if (!TakeHandle(&b.value, &h)) return Damaged("the index has no place of a block", index.offset);
    // Blocks follow each other: none is read twice.
    if (h.offset < end) return Damaged("blocks overlap", h.offset);
    end = h.offset + h.size;
    XC_ASSIGN_OR_RETURN(absl::string_view block, Block(file, h));
    XC_ASSIGN_OR_RETURN(std::vector<Entry> entries, Entries(block, h.offset));
    for (Entry& e : entries) {
      if (!out.empty() && e.key <= out.rbegin()->first) return Damaged("the keys are not in order", h.offset);
      out.emplace_hint(out.end(), std::move(e.key), std::string(e.value));
    }
  }
  return out;
}

}  // namespace xc
