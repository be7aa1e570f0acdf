// Thread-local blocks.
#include "backends/runtime/scratch.h"

#include <array>
#include <utility>

#include "backends/runtime/arena.h"
#include "hlo/base/per_thread.h"

namespace xc {

absl::StatusOr<char*> ThreadScratch(size_t bytes, int slot) {
  constexpr size_t kKeep = size_t{64} << 20;
  static PerThread<std::array<Block, kNumScratchSlots>> all_blocks;
  std::array<Block, kNumScratchSlots>* blocks = all_blocks.TryGet();
  if (blocks == nullptr) return absl::ResourceExhaustedError("no memory for a thread's scratch blocks");
  Block& block = (*blocks)[slot];
  if (block.data() == nullptr || block.size() < bytes || (block.size() > kKeep && bytes <= kKeep)) {
    block = Block();
    absl::StatusOr<Block> fresh = Block::Allocate(bytes + bytes / 4 + 64);
    if (!fresh.ok()) return fresh.status();
    block = *std::move(fresh);
  }
  return block.data();
}

}  // namespace xc
