// Where a run computes the results that lie in memory of parameters: what all that run programs do with donated
// parameters. `Parameter` has bytes and donated; `Output` has bytes, and the parameter in whose memory it lies (-1:
// none) at which offset.
#ifndef XC_BACKENDS_RUNTIME_DONATED_H_
#define XC_BACKENDS_RUNTIME_DONATED_H_

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/runtime/arena.h"
#include "hlo/base/status.h"

namespace xc {

// Parameters that the program donates are written to: each gets the bytes of `parameters[i]` in other memory, that of
// a result that takes all of it, else a block of its own. `writable(i)`: the caller lets the parameter be overwritten.
// `memory` is what the program is given.
template <typename Parameter, typename Output, typename Writable>
absl::Status PlaceDonated(const std::vector<Parameter>& parameters, const std::vector<Output>& outputs,
                          absl::Span<void* const> results, const Writable& writable, std::vector<void*>* memory,
                          std::vector<Block>* blocks) {
  std::vector<void*> whole;  // for each parameter, the result that takes all of it
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].donated || writable(i)) continue;
    if (whole.empty()) {
      whole.resize(parameters.size());
      for (size_t o = 0; o < outputs.size(); ++o) {
        const int64_t p = outputs[o].parameter;
        const bool all = p >= 0 && outputs[o].offset == 0 && outputs[o].bytes > 0;
        if (all && outputs[o].bytes == parameters[p].bytes && whole[p] == nullptr) whole[p] = results[o];
      }
    }
    void* to = whole[i];
    if (to == nullptr) {
      XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(parameters[i].bytes));
      to = block.data();
      blocks->push_back(std::move(block));
    }
    if (to != (*memory)[i]) std::memmove(to, (*memory)[i], parameters[i].bytes);
    (*memory)[i] = to;
  }
  return absl::OkStatus();
}

// Copies results that were computed in memory of parameters to where the caller wants them.
template <typename Output>
void CopyFromParameters(const std::vector<Output>& outputs, const std::vector<void*>& memory,
                        absl::Span<void* const> results) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& o = outputs[i];
    if (o.parameter < 0 || o.bytes == 0) continue;
    const char* const computed = static_cast<const char*>(memory[o.parameter]) + o.offset;
    if (computed != results[i]) std::memmove(results[i], computed, o.bytes);
  }
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_DONATED_H_
