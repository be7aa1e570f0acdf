#include "jit/launch/signature.h"

#include <cstring>

namespace xc {

bool MakeSignature(absl::Span<const ArgView> args, absl::Span<const int> constants, Signature* signature) {
  for (const ArgView& arg : args) {
    signature->push_back((static_cast<int64_t>(arg.type) << 8) | static_cast<int64_t>(arg.dims.size()));
    signature->insert(signature->end(), arg.dims.begin(), arg.dims.end());
  }
  for (int i : constants) {
    const ArgView& arg = args[i];
    if (arg.bytes > kMaxConstantBytes) return false;
    const size_t at = signature->size();
    signature->resize(at + (arg.bytes + 7) / 8, 0);
    if (arg.bytes > 0) std::memcpy(signature->data() + at, arg.data, arg.bytes);
  }
  return true;
}

}  // namespace xc
