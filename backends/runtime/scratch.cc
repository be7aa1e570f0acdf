// Thread-local blocks.
#include "backends/runtime/scratch.h"

#include <utility>

#include "backends/runtime/arena.h"

namespace xc {

absl::StatusOr<char*> ThreadScratch(size_t bytes, int slot) {
  constexpr size_t kKeep = size_t{64} << 20;
  thread_local Block blocks[kNumScratchSlots];
  Block& block = blocks[slot];
  if (block.data() == nullptr || block.size() < bytes || (block.size() > kKeep && bytes <= kKeep)) {
    block = Block();
    absl::StatusOr<Block> fresh = Block::Allocate(bytes + bytes / 4 + 64);
    if (!fresh.ok()) return fresh.status();
    block = *std::move(fresh);
  }
  return block.data();
}

}  // namespace xc
