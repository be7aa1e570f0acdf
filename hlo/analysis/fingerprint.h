// 128-bit fingerprints of modules and computations: equal for equal graphs whatever their names, ids, metadata and
// order of text, and the same in every process, so that files can be named by them.
#ifndef XC_HLO_ANALYSIS_FINGERPRINT_H_
#define XC_HLO_ANALYSIS_FINGERPRINT_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace xc {

struct Fingerprint {
  uint64_t high = 0, low = 0;
  bool operator==(const Fingerprint&) const = default;
  auto operator<=>(const Fingerprint&) const = default;
  // 32 hexadecimal digits.
  std::string ToHex() const;
  template <typename H>
  friend H AbslHashValue(H h, const Fingerprint& f) {
    return H::combine(std::move(h), f.high, f.low);
  }
};

// Takes in numbers and bytes; not for adversaries, but 128 bits keep accidents away.
class FingerprintHasher {
 public:
  void Add(uint64_t value);
  // The length is taken in as well.
  void AddBytes(const void* data, size_t size);
  void AddText(absl::string_view text) { AddBytes(text.data(), text.size()); }
  Fingerprint Finish() const;

 private:
  uint64_t a_ = 0x243f6a8885a308d3, b_ = 0x13198a2e03707344;
};

// What the entry reaches, with the module's aliasing, layouts and counts.
Fingerprint FingerprintOf(const HloModule& module);
// Hands on, piece by piece, the bytes of all that the fingerprint takes in, for a hash that adversaries do not break.
void FeedModule(const HloModule& module, absl::FunctionRef<void(absl::string_view)> take);
// A computation and all that it calls.
Fingerprint FingerprintOf(const HloComputation& computation);
Fingerprint FingerprintOf(const Literal& literal);

}  // namespace xc

#endif  // XC_HLO_ANALYSIS_FINGERPRINT_H_
