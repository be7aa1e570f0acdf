#include "tests/faults/failing_allocator.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

// The C library's own, behind those below.
extern "C" {
void* __libc_malloc(size_t size);
void __libc_free(void* block);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace xc {
namespace {

std::atomic<int64_t> first_failing{0}, counted{0}, failures{0}, live{0};
std::atomic<bool> all_after{false};

bool Fails() {
  const int64_t first = first_failing.load(std::memory_order_relaxed);
  if (first == 0) return false;
  const int64_t number = counted.fetch_add(1) + 1;
  if (number != first && !(number > first && all_after.load(std::memory_order_relaxed))) return false;
  failures.fetch_add(1);
  return true;
}

void* Note(void* block) {
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void Free(void* block) {
  if (block == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}

void* Allocate(size_t size, size_t alignment) {
  if (Fails()) return nullptr;
  return Note(alignment == 0 ? __libc_malloc(size) : __libc_memalign(alignment, size));
}

void* New(size_t size, size_t alignment = 0) {
  void* block = Allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void FailAllocations(int64_t first, Failing failing) {
  all_after = failing == Failing::kAll;
  counted = failures = 0;
  first_failing = first;
}

int64_t StopFailing() {
  first_failing = 0;
  return failures;
}

int64_t CountedAllocations() { return counted; }
int64_t LiveAllocations() { return live; }

}  // namespace xc

void* operator new(size_t size) { return xc::New(size); }
void* operator new[](size_t size) { return xc::New(size); }
void* operator new(size_t size, std::align_val_t a) { return xc::New(size, static_cast<size_t>(a)); }
void* operator new[](size_t size, std::align_val_t a) { return xc::New(size, static_cast<size_t>(a)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return xc::Allocate(size, 0); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return xc::Allocate(size, 0); }
void* operator new(size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return xc::Allocate(size, static_cast<size_t>(a));
}
void* operator new[](size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return xc::Allocate(size, static_cast<size_t>(a));
}
void operator delete(void* block) noexcept { xc::Free(block); }
void operator delete[](void* block) noexcept { xc::Free(block); }
void operator delete(void* block, size_t) noexcept { xc::Free(block); }
void operator delete[](void* block, size_t) noexcept { xc::Free(block); }
void operator delete(void* block, std::align_val_t) noexcept { xc::Free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { xc::Free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { xc::Free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { xc::Free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { xc::Free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { xc::Free(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept { xc::Free(block); }
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept { xc::Free(block); }

extern "C" {
void* malloc(size_t size) {
  void* block = xc::Allocate(size, 0);
  if (block == nullptr) errno = ENOMEM;
  return block;
}
void free(void* block) { xc::Free(block); }
void* calloc(size_t count, size_t size) {
  void* block = xc::Fails() ? nullptr : xc::Note(__libc_calloc(count, size));
  if (block == nullptr) errno = ENOMEM;
  return block;
}
void* realloc(void* old, size_t size) {
  void* block = xc::Fails() ? nullptr : __libc_realloc(old, size);
  if (block == nullptr) {
    errno = ENOMEM;
  } else if (old == nullptr) {
    xc::Note(block);
  }
  return block;
}
void* memalign(size_t alignment, size_t size) { return xc::Allocate(size, alignment); }
void* aligned_alloc(size_t alignment, size_t size) { return xc::Allocate(size, alignment); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* block = xc::Allocate(size, alignment);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
}
