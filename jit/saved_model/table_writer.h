// Writes tables in the format of table.h, right or wrong on purpose: for tests.
#ifndef XC_JIT_SAVED_MODEL_TABLE_WRITER_H_
#define XC_JIT_SAVED_MODEL_TABLE_WRITER_H_

#include <string>

#include "jit/saved_model/crc32c.h"

namespace xc {

inline std::string Varint(uint64_t v) {
  std::string out;
  for (; v >= 128; v >>= 7) out.push_back(static_cast<char>(v | 128));
  out.push_back(static_cast<char>(v));
  return out;
}

template <typename T>
std::string Fixed(T v) {
  return std::string(reinterpret_cast<const char*>(&v), sizeof(v));
}

// An entry whose key has its first `shared` bytes from the one before.
inline std::string TableEntry(int shared, const std::string& rest, const std::string& value) {
  return Varint(shared) + Varint(rest.size()) + Varint(value.size()) + rest + value;
}

class TableWriter {
 public:
  // Adds a block of any bytes with its checksum; gives its handle.
  std::string AddBlock(std::string block, char compression = 0) {
    std::string handle = Varint(bytes_.size()) + Varint(block.size());
    block.push_back(compression);
    bytes_ += block + Fixed<uint32_t>(MaskedCrc32c(Crc32c(block)));
    return handle;
  }
  // A block of entries with one restart point.
  std::string Add(const std::string& entries, char compression = 0) {
    return AddBlock(entries + Fixed<uint32_t>(0) + Fixed<uint32_t>(1), compression);
  }
  // The file whose only block of entries has this handle.
  std::string Finish(const std::string& last_key, const std::string& block) {
    std::string meta = Add("");
    std::string footer = meta + Add(TableEntry(0, last_key, block));
    footer.resize(40);
    return bytes_ + footer + Fixed<uint64_t>(0xdb4775248b80fb57u);
  }

 private:
  std::string bytes_;
};

}  // namespace xc

#endif  // XC_JIT_SAVED_MODEL_TABLE_WRITER_H_
