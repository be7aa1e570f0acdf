// CRC-32C (Castagnoli), with which tables and checkpoints guard their bytes.
#ifndef XC_JIT_SAVED_MODEL_CRC32C_H_
#define XC_JIT_SAVED_MODEL_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace xc {

// Of `bytes`, continuing from the checksum of what stands before them.
uint32_t Crc32c(absl::string_view bytes, uint32_t before = 0);

// The form in which a checksum is stored beside what it covers.
uint32_t MaskedCrc32c(uint32_t crc);

}  // namespace xc

#endif  // XC_JIT_SAVED_MODEL_CRC32C_H_
