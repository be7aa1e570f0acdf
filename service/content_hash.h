// A cryptographic hash: nobody can make other contents of an equal one.
#ifndef XC_SERVICE_CONTENT_HASH_H_
#define XC_SERVICE_CONTENT_HASH_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace xc {

// BLAKE3, by LLVM's library.
using ContentHash = std::array<uint8_t, 32>;

// Of texts, told apart from others that join to the same bytes.
ContentHash HashOf(absl::string_view first, absl::string_view second = "");
// Of all that makes a module's fingerprint (hlo/analysis/fingerprint.h).
ContentHash HashOf(const HloModule& module);

// 64 hexadecimal digits.
std::string ToHex(const ContentHash& hash);

}  // namespace xc

#endif  // XC_SERVICE_CONTENT_HASH_H_
