// Blocks from aligned_alloc, or from mmap where they are large (for huge pages) or guarded.
#include "backends/runtime/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace xc {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMaxBlock = size_t{1} << 46;
constexpr unsigned char kPattern = 0xA5;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

absl::Status NoMemory(size_t size) {
  return absl::ResourceExhaustedError(absl::StrCat("cannot allocate a block of ", size, " bytes"));
}

}  // namespace

absl::StatusOr<Block> Block::Allocate(size_t size, bool guard) {
  if (size > kMaxBlock) return NoMemory(size);
  Block block;
  block.size_ = size;
  const size_t rounded = std::max<size_t>(RoundUp(size, kBufferAlignment), kBufferAlignment);
  if (!guard && size < kHugeBlock) {
    block.data_ = static_cast<char*>(std::aligned_alloc(kBufferAlignment, rounded));
    if (block.data_ == nullptr) return NoMemory(size);
    return block;
  }
  const size_t body = RoundUp(rounded, kPage);
  const size_t slack = guard ? kPage : kHugePage;
  const size_t total = body + 2 * slack;
  void* mapping = mmap(nullptr, total, guard ? PROT_NONE : PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return NoMemory(size);
  block.mapping_ = static_cast<char*>(mapping);
  block.mapping_size_ = total;
  if (!guard) {
    const auto start = reinterpret_cast<uintptr_t>(mapping);
    block.data_ = block.mapping_ + (RoundUp(start, kHugePage) - start);
    // A hint; not every kernel takes it. The last page is a huge one, too, if much of it is the block's.
    const size_t last = body % kHugePage >= kHugePage / 8 ? RoundUp(body, kHugePage) : body;
    madvise(block.data_, last, MADV_HUGEPAGE);
    return block;
  }
  block.guard_ = true;
  char* first = block.mapping_ + kPage;
  if (mprotect(first, body, PROT_READ | PROT_WRITE) != 0) return NoMemory(size);
  block.data_ = first + (body - rounded);
  std::memset(first, kPattern, body - rounded);
  std::memset(block.data_ + size, kPattern, rounded - size);
  return block;
}

Block& Block::operator=(Block&& other) noexcept {
  if (this == &other) return *this;
  Free();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  mapping_ = std::exchange(other.mapping_, nullptr);
  mapping_size_ = std::exchange(other.mapping_size_, 0);
  guard_ = std::exchange(other.guard_, false);
  return *this;
}

bool Block::PatternIntact() const {
  if (!guard_) return true;
  auto intact = [](const char* begin, const char* end) {
    return std::all_of(begin, end, [](char c) { return static_cast<unsigned char>(c) == kPattern; });
  };
  return intact(mapping_ + kPage, data_) && intact(data_ + size_, mapping_ + mapping_size_ - kPage);
}

void Block::Free() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapping_size_);
  } else {
    std::free(data_);
  }
  data_ = mapping_ = nullptr;
}

absl::StatusOr<ArenaPool::Lease> ArenaPool::Acquire() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (!idle_.empty()) {
      Block block = std::move(idle_.back());
      idle_.pop_back();
      return Lease(this, std::move(block));
    }
  }
  absl::StatusOr<Block> block = Block::Allocate(size_, guard_);
  if (!block.ok()) return block.status();
  return Lease(this, *std::move(block));
}

void ArenaPool::Trim() {
  std::vector<Block> freed;
  std::lock_guard<std::mutex> lock(mu_);
  freed.swap(idle_);
}

void ArenaPool::Return(Block block) {
  if (block.data() == nullptr) return;
  std::lock_guard<std::mutex> lock(mu_);
  if (idle_.size() >= max_idle_) return;
  try {
    idle_.push_back(std::move(block));
  } catch (...) {  // no memory to keep it: it is freed
  }
}

}  // namespace xc
