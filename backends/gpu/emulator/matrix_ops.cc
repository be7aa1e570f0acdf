// Tensor cores and what feeds them: mma.sync, ldmatrix, cp.async.
#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {

absl::Span<const DecodeRow> MatrixOps() { return {}; }

}  // namespace xc::emulator
