// Thread-local blocks.
#include "backends/runtime/scratch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/runtime/arena.h"
#include "hlo/base/per_thread.h"

namespace xc {

absl::StatusOr<char*> ThreadScratch(size_t bytes, int slot) {
  constexpr size_t kKeep = size_t{64} << 20, kLarge = size_t{1} << 20;
  static PerThread<std::array<Block, kNumScratchSlots>> all_blocks;
  std::array<Block, kNumScratchSlots>* blocks = all_blocks.TryGet();
  if (blocks == nullptr) return absl::ResourceExhaustedError("no memory for a thread's scratch blocks");
  Block& block = (*blocks)[slot];
  if (block.data() == nullptr || block.size() < bytes || (block.size() > kKeep && bytes <= kKeep)) {
    block = Block();
    // Of a large one, all that is mapped with huge pages at least: few faults, and seldom another one.
    const size_t room = bytes + bytes / 4 + 64;
    absl::StatusOr<Block> fresh = Block::Allocate(room < kLarge ? room : std::max(room, kHugeBlock));
    if (!fresh.ok()) return fresh.status();
    block = *std::move(fresh);
  }
  return block.data();
}

}  // namespace xc
