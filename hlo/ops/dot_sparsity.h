// Structured sparsity of a dot's operands: the attribute's text as numbers, and where the elements that are there
// stand.
#ifndef XC_HLO_OPS_DOT_SPARSITY_H_
#define XC_HLO_OPS_DOT_SPARSITY_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xc {

// Of every `block_size` elements along `dimension` the operand holds `num_non_zero`; the others are zero.
struct OperandSparsity {
  int64_t dimension = 0;
  int64_t num_non_zero = 0;
  int64_t block_size = 0;
  int64_t stride = 0;  // carried, not acted upon

  // The place of each held element in its block is a number of so many bits, and a u16 of the metadata holds as many of
  // them as fit, the first in its lowest bits.
  int index_bits() const;
  int64_t indices_per_word() const { return 16 / index_bits(); }
  // The size of the metadata's, and of the whole array's, `dimension` when the operand holds `held` elements along it.
  int64_t MetadataSize(int64_t held) const { return (held + indices_per_word() - 1) / indices_per_word(); }
  int64_t WholeSize(int64_t held) const { return held / num_non_zero * block_size; }
};

struct DotSparsity {
  std::optional<OperandSparsity> lhs, rhs;
};

// Reads `L.1@2:4`, `R.0@2:4/2` or both joined by an underscore: dimension@non-zeros:block[/stride].
absl::StatusOr<DotSparsity> ParseDotSparsity(absl::string_view text);

}  // namespace xc

#endif  // XC_HLO_OPS_DOT_SPARSITY_H_
