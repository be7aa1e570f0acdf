// The device's memory: which ranges of the host's memory are allocated on the emulated device.
#ifndef XC_BACKENDS_GPU_EMULATOR_MEMORY_H_
#define XC_BACKENDS_GPU_EMULATOR_MEMORY_H_

#include <cstdint>
#include <map>

namespace xc::emulator {

struct AddressRange {
  uint64_t begin = 0, end = 0;  // empty where equal
  bool Holds(uint64_t from, uint64_t to) const { return from >= begin && to <= end && from <= to; }
};

// Addresses of the device are those of the host. Not thread-safe.
class Memory {
 public:
  explicit Memory(int64_t capacity) : capacity_(capacity) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // 256-byte aligned, filled with a pattern that no program expects; 0 if there is no room. Nothing else is allocated
  // within 256 bytes of either end.
  uint64_t Allocate(int64_t bytes);
  // False if `address` is not what Allocate returned.
  bool Free(uint64_t address);
  // Makes memory of somebody else accessible, and takes it back.
  void Register(uint64_t address, int64_t bytes);
  bool Unregister(uint64_t address);

  // The allocation that holds `address`; empty if none.
  AddressRange Find(uint64_t address) const;
  // The allocation next to `address`, for messages; empty if there is none.
  AddressRange FindNearest(uint64_t address) const;
  int64_t used() const { return used_; }
  int64_t capacity() const { return capacity_; }
  void set_capacity(int64_t bytes) { capacity_ = bytes; }

 private:
  struct Allocation {
    int64_t bytes;
    void* memory;  // null: somebody else's
  };
  std::map<uint64_t, Allocation> allocations_;
  int64_t capacity_, used_ = 0;
};

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_MEMORY_H_
