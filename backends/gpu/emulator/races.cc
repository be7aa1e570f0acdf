#include "backends/gpu/emulator/races.h"

#include <algorithm>

namespace xc::emulator {
namespace {

constexpr uint32_t kClockBits = 21;
constexpr uint32_t kClockMask = (1u << kClockBits) - 1;

uint32_t Pack(int warp, int lane, bool atomic, uint32_t clock) {
  return static_cast<uint32_t>(warp) << 27 | static_cast<uint32_t>(lane) << 22 |
         static_cast<uint32_t>(atomic) << kClockBits | ((clock + 1) & kClockMask);
}
int WarpOf(uint32_t packed) { return static_cast<int>(packed >> 27); }
int LaneOf(uint32_t packed) { return static_cast<int>(packed >> 22 & 31); }
bool IsAtomic(uint32_t packed) { return packed >> kClockBits & 1; }
uint32_t ClockOf(uint32_t packed) { return (packed & kClockMask) - 1; }
int ThreadOf(uint32_t packed) { return WarpOf(packed) * 32 + LaneOf(packed); }
bool SameThread(uint32_t a, uint32_t b) { return a >> 22 == b >> 22; }

}  // namespace

void Clocks::Reset(int warps) {
  for (int w = 0; w < warps; ++w) {
    clock_[w].fill(0);
    clock_[w][w] = 1;
  }
}

void Clocks::Join(uint32_t participants) {
  std::array<uint32_t, 32> joined{};
  for (int w = 0; w < 32; ++w) {
    if (!(participants >> w & 1)) continue;
    for (int v = 0; v < 32; ++v) joined[v] = std::max(joined[v], clock_[w][v]);
  }
  for (int w = 0; w < 32; ++w) {
    if (!(participants >> w & 1)) continue;
    clock_[w] = joined;
    ++clock_[w][w];
  }
}

void SharedRaces::Reset(int warps, int64_t bytes, int granule) {
  clocks_.Reset(warps);
  granule_ = granule;
  cells_.assign(static_cast<size_t>((bytes + granule - 1) / granule), Cell());
}

int SharedRaces::Note(int64_t offset, int bytes, Access access, int warp, int lane, bool same_value) {
  const bool atomic = access == Access::kAtomic;
  const uint32_t now = Pack(warp, lane, atomic, clocks_.own(warp));
  const auto races = [&](uint32_t other) {
    if (other == 0 || SameThread(other, now) || (atomic && IsAtomic(other))) return false;
    return !clocks_.Ordered(WarpOf(other), LaneOf(other), ClockOf(other), warp, lane);
  };
  const size_t last = static_cast<size_t>((offset + bytes - 1) / granule_);
  for (size_t at = static_cast<size_t>(offset / granule_); at <= last; ++at) {
    Cell& cell = cells_[at];
    if (access == Access::kRead) {
      if (races(cell.writer)) return ThreadOf(cell.writer);
      if (!SameThread(cell.reader, now)) cell.other_reader = cell.reader;
      cell.reader = now;
    } else {
      if (!same_value && races(cell.writer)) return ThreadOf(cell.writer);
      if (races(cell.reader)) return ThreadOf(cell.reader);
      if (races(cell.other_reader)) return ThreadOf(cell.other_reader);
      cell.writer = now;
    }
  }
  return -1;
}

void GlobalRaces::Reset(int granule) {
  pages_.clear();
  last_page_ = ~uint64_t{0};
  last_ = nullptr;
  granule_ = granule;
}

bool GlobalRaces::Note(uint64_t address, int bytes, Access access, uint64_t block, const Clocks& clocks, int warp,
                       int lane, bool same_value, uint64_t* other_block, int* thread) {
  const bool atomic = access == Access::kAtomic;
  const uint32_t now = Pack(warp, lane, atomic, clocks.own(warp));
  const uint32_t here = static_cast<uint32_t>(block);
  const auto races = [&](uint32_t other, uint32_t from) {
    if (other == 0 || (atomic && IsAtomic(other))) return false;
    if (from == here &&
        (SameThread(other, now) || clocks.Ordered(WarpOf(other), LaneOf(other), ClockOf(other), warp, lane))) {
      return false;
    }
    *other_block = from;
    *thread = ThreadOf(other);
    return true;
  };
  const uint64_t last = (address + static_cast<uint64_t>(bytes) - 1) / static_cast<uint64_t>(granule_);
  for (uint64_t at = address / static_cast<uint64_t>(granule_); at <= last; ++at) {
    if (at >> kPageBits != last_page_) {
      last_page_ = at >> kPageBits;
      std::vector<GlobalCell>& page = pages_[last_page_];
      if (page.empty()) page.resize(size_t{1} << kPageBits);
      last_ = &page;
    }
    GlobalCell& global = (*last_)[at & ((uint64_t{1} << kPageBits) - 1)];
    Cell& cell = global.cell;
    if (access == Access::kRead) {
      if (races(cell.writer, global.writer_block)) return true;
      if (!(SameThread(cell.reader, now) && global.reader_block == here)) {
        cell.other_reader = cell.reader;
        global.other_reader_block = global.reader_block;
      }
      cell.reader = now;
      global.reader_block = here;
    } else {
      if (!same_value && races(cell.writer, global.writer_block)) return true;
      if (races(cell.reader, global.reader_block)) return true;
      if (races(cell.other_reader, global.other_reader_block)) return true;
      cell.writer = now;
      global.writer_block = here;
    }
  }
  return false;
}

}  // namespace xc::emulator
