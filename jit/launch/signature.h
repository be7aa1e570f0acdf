// The signature of a call: what selects the code that serves it.
#ifndef XC_JIT_LAUNCH_SIGNATURE_H_
#define XC_JIT_LAUNCH_SIGNATURE_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "jit/graph/types.h"

namespace xc {

// An argument of a call: a dense array in the host's memory; of a variable its value.
struct ArgView {
  DataType type = DT_INVALID;
  absl::Span<const int64_t> dims;
  const void* data = nullptr;
  size_t bytes = 0;
};

using Signature = absl::InlinedVector<int64_t, 96>;

constexpr size_t kMaxConstantBytes = 1 << 16;  // of one argument's value in a signature

// Types and shapes, and the values of the arguments `constants`. False if one of these is too large.
bool MakeSignature(absl::Span<const ArgView> args, absl::Span<const int> constants, Signature* signature);

// For maps from signatures that are kept as vectors.
struct SignatureHash {
  using is_transparent = void;
  size_t operator()(absl::Span<const int64_t> s) const { return absl::Hash<absl::Span<const int64_t>>()(s); }
};
struct SignatureEq {
  using is_transparent = void;
  bool operator()(absl::Span<const int64_t> a, absl::Span<const int64_t> b) const { return a == b; }
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_SIGNATURE_H_
