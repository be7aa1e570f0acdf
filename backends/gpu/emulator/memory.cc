#include "backends/gpu/emulator/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace xc::emulator {
namespace {

constexpr int64_t kGuard = 256;

}  // namespace

Memory::~Memory() {
  for (auto& [address, allocation] : allocations_) std::free(allocation.memory);
}

uint64_t Memory::Allocate(int64_t bytes) {
  if (bytes <= 0 || bytes > capacity_ - used_) return 0;
  void* memory = nullptr;
  const int64_t whole = (bytes + kGuard - 1) / kGuard * kGuard;
  if (posix_memalign(&memory, kGuard, static_cast<size_t>(whole + 2 * kGuard)) != 0) return 0;
  const uint64_t address = reinterpret_cast<uint64_t>(memory) + kGuard;
  // Large ones keep the system's zero pages, which cost nothing until they are used.
  if (bytes <= (int64_t{1} << 24)) std::memset(reinterpret_cast<void*>(address), 0xD5, static_cast<size_t>(bytes));
  allocations_[address] = {bytes, memory};
  used_ += bytes;
  return address;
}

bool Memory::Free(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.memory == nullptr) return false;
  used_ -= found->second.bytes;
  std::free(found->second.memory);
  allocations_.erase(found);
  return true;
}

void Memory::Register(uint64_t address, int64_t bytes) { allocations_[address] = {bytes, nullptr}; }

bool Memory::Unregister(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.memory != nullptr) return false;
  allocations_.erase(found);
  return true;
}

AddressRange Memory::FindNearest(uint64_t address) const {
  AddressRange found;
  uint64_t distance = ~uint64_t{0};
  for (auto next = allocations_.upper_bound(address);; --next) {
    if (next != allocations_.end()) {
      const uint64_t end = next->first + static_cast<uint64_t>(next->second.bytes);
      const uint64_t away = address < next->first ? next->first - address : address - end;
      if (away < distance) {
        distance = away;
        found = {next->first, end};
      }
    }
    if (next == allocations_.begin() || (next != allocations_.end() && next->first <= address)) break;
  }
  return found;
}

AddressRange Memory::Find(uint64_t address) const {
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return {};
  --next;
  const uint64_t end = next->first + static_cast<uint64_t>(next->second.bytes);
  if (address >= end) return {};
  return {next->first, end};
}

}  // namespace xc::emulator
