// Shadow memory that finds races: two accesses to one place, at least one a write, that nothing orders. Order within a
// block comes from barriers, kept as vector clocks of warps; nothing orders the blocks of a launch.
#ifndef XC_BACKENDS_GPU_EMULATOR_RACES_H_
#define XC_BACKENDS_GPU_EMULATOR_RACES_H_

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace xc::emulator {

enum class Access : uint8_t { kRead, kWrite, kAtomic };

// The clocks of a block's warps: clock[w][v] is the last moment of warp v that warp w knows to be over.
class Clocks {
 public:
  void Reset(int warps);
  uint32_t own(int warp) const { return clock_[warp][warp]; }
  // A barrier of the warps in `participants` (bits).
  void Join(uint32_t participants);
  // A barrier within one warp.
  void Advance(int warp) { ++clock_[warp][warp]; }
  // Whether what lane `lane` of warp `warp` did at `clock` is over for `by_lane` of `by_warp`.
  bool Ordered(int warp, int lane, uint32_t clock, int by_warp, int by_lane) const {
    if (warp != by_warp) return clock <= clock_[by_warp][warp];
    return lane == by_lane || clock < clock_[warp][warp];
  }

 private:
  std::array<std::array<uint32_t, 32>, 32> clock_;
};

// Accesses to one granule of memory, each packed as warp, lane, whether it was atomic, and clock + 1; 0: none.
struct Cell {
  uint32_t writer = 0, reader = 0, other_reader = 0;
};

class SharedRaces {
 public:
  // Forgets everything. `bytes` of shared memory in granules of `granule` bytes.
  void Reset(int warps, int64_t bytes, int granule);
  Clocks& clocks() { return clocks_; }
  // Notes an access; returns the thread of an earlier one that races with it, or -1. `same_value`: a write that changes
  // nothing, which does not race with writes of the same instruction.
  int Note(int64_t offset, int bytes, Access access, int warp, int lane, bool same_value);

 private:
  Clocks clocks_;
  std::vector<Cell> cells_;
  int granule_ = 4;
};

// The same for global memory, between the blocks of one launch and within them.
class GlobalRaces {
 public:
  // Begins a launch with granules of `granule` bytes.
  void Reset(int granule);
  // Returns whether the access races with one of thread `*thread` of block `*block` (linear indices).
  bool Note(uint64_t address, int bytes, Access access, uint64_t block, const Clocks& clocks, int warp, int lane,
            bool same_value, uint64_t* other_block, int* thread);

 private:
  static constexpr int kPageBits = 12;
  struct GlobalCell {
    Cell cell;
    uint32_t writer_block = 0, reader_block = 0, other_reader_block = 0;
  };
  std::unordered_map<uint64_t, std::vector<GlobalCell>> pages_;
  uint64_t last_page_ = ~uint64_t{0};
  std::vector<GlobalCell>* last_ = nullptr;
  int granule_ = 4;
};

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_RACES_H_
