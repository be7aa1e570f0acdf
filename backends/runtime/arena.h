// Blocks of memory for runs: 64-byte aligned, kept in a pool between runs, and in a debugging mode set between guard
// pages, so that generated code that leaves its arena faults.
#ifndef XC_BACKENDS_RUNTIME_ARENA_H_
#define XC_BACKENDS_RUNTIME_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace xc {

inline constexpr size_t kBufferAlignment = 64;
inline constexpr size_t kHugeBlock = size_t{4} << 20;  // blocks of this size and more are mapped, with huge pages

// One block, freed with its owner. Movable.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept;
  ~Block() { Free(); }

  // `size` bytes at a multiple of 64 (never null, also for 0). With `guard`, the block ends at a page that cannot be
  // touched (but for rounding up to 64 bytes), another such page stands before it, and the rest of its first page and
  // the rounding bytes hold a pattern that PatternIntact() compares. ResourceExhausted when the memory is not there.
  static absl::StatusOr<Block> Allocate(size_t size, bool guard = false);

  char* data() const { return data_; }
  size_t size() const { return size_; }
  // False when something wrote into the pattern around a guarded block.
  bool PatternIntact() const;

 private:
  void Free();
  char* data_ = nullptr;
  size_t size_ = 0;
  char* mapping_ = nullptr;  // of guarded and large blocks; null when the block came from aligned_alloc
  size_t mapping_size_ = 0;
  bool guard_ = false;
};

// A pool of equal blocks, one for each run under way. Thread-safe; must outlive its leases.
class ArenaPool {
 public:
  // Keeps up to `max_idle` blocks between runs.
  explicit ArenaPool(size_t size, bool guard = false, size_t max_idle = 4)
      : size_(size), guard_(guard), max_idle_(max_idle) {}

  // A block that goes back to the pool with its owner.
  class Lease {
   public:
    Lease() = default;
    Lease(ArenaPool* pool, Block block) : pool_(pool), block_(std::move(block)) {}
    Lease(Lease&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), block_(std::move(other.block_)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(block_, other.block_);
      return *this;
    }
    ~Lease() {
      if (pool_ != nullptr) pool_->Return(std::move(block_));
    }
    char* data() const { return block_.data(); }
    size_t size() const { return block_.size(); }
    const Block& block() const { return block_; }

   private:
    ArenaPool* pool_ = nullptr;
    Block block_;
  };

  absl::StatusOr<Lease> Acquire();
  size_t size() const { return size_; }
  // Frees the blocks that no run holds.
  void Trim();

 private:
  void Return(Block block);
  const size_t size_;
  const bool guard_;
  const size_t max_idle_;
  std::mutex mu_;
  std::vector<Block> idle_;
};

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_ARENA_H_
