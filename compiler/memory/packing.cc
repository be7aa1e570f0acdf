// Best-fit packing; blocks live at one time are found by slots of the time line.
#include "compiler/memory/packing.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "hlo/base/choices.h"

namespace xc {
namespace {

bool Overlap(const std::vector<LiveRange>& a, const std::vector<LiveRange>& b) {
  if (a.empty() || b.empty() || a.front().start > b.back().end || b.front().start > a.back().end) return false;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].start <= b[j].end && b[j].start <= a[i].end) return true;
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return false;
}

// Blocks placed so far, found by time: the time line is cut into equal slots, each listing the blocks live in it.
class Placed {
 public:
  Placed(int64_t last_time, size_t block_count)
      : width_(last_time / kSlots + 1), slots_(kSlots), seen_(block_count, -1) {}

  void Add(int id, const std::vector<LiveRange>& ranges) {
    ForSlots(ranges, [&](std::vector<int>& slot) {
      if (slot.empty() || slot.back() != id) slot.push_back(id);
    });
  }

  // Calls f(id) once for each block placed that may be live during `ranges`.
  template <typename F>
  void ForCandidates(int asking, const std::vector<LiveRange>& ranges, F f) {
    ForSlots(ranges, [&](std::vector<int>& slot) {
      for (int id : slot) {
        if (seen_[id] == asking) continue;
        seen_[id] = asking;
        f(id);
      }
    });
  }

 private:
  static constexpr int64_t kSlots = 512;

  template <typename F>
  void ForSlots(const std::vector<LiveRange>& ranges, F f) {
    int64_t next = 0;
    for (const LiveRange& range : ranges) {
      for (int64_t s = std::max(next, range.start / width_); s <= range.end / width_; ++s) {
        f(slots_[s]);
        next = s + 1;
      }
    }
  }

  int64_t width_;
  std::vector<std::vector<int>> slots_;
  std::vector<int> seen_;
};

// The tightest gap of at least `size` bytes, from a multiple of `alignment` on, between `taken` (offset, end), below
// `limit`; -1 if there is none.
int64_t FindGap(std::vector<std::pair<int64_t, int64_t>>& taken, int64_t size, int64_t limit, int64_t alignment) {
  std::sort(taken.begin(), taken.end());
  int64_t best = -1, best_gap = std::numeric_limits<int64_t>::max(), at = 0;
  for (const auto& [offset, end] : taken) {
    if (offset - at >= size && offset - at < best_gap) {
      best = at;
      best_gap = offset - at;
    }
    at = std::max(at, (end + alignment - 1) / alignment * alignment);
  }
  if (best < 0 && limit - at >= size) best = at;
  return best;
}

}  // namespace

int64_t PackBlocks(const std::vector<PackRegion>& regions, std::vector<PackedBlock>* blocks, int64_t alignment) {
  int64_t last_time = 0;
  for (const PackedBlock& block : *blocks) {
    if (!block.ranges.empty()) last_time = std::max(last_time, block.ranges.back().end);
  }
  std::vector<int> order(blocks->size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const PackedBlock &x = (*blocks)[a], &y = (*blocks)[b];
    if (x.size != y.size) return x.size > y.size;
    const int64_t sx = x.ranges.empty() ? 0 : x.ranges.front().start,
                  sy = y.ranges.empty() ? 0 : y.ranges.front().start;
    return sx != sy ? sx < sy : a < b;
  });
  std::vector<int> region_order(regions.size());
  std::iota(region_order.begin(), region_order.end(), 0);
  std::stable_sort(region_order.begin(), region_order.end(),
                   [&](int a, int b) { return regions[a].size < regions[b].size; });
  Placed placed(last_time, blocks->size());
  int64_t arena = 0;
  std::vector<std::pair<int, std::pair<int64_t, int64_t>>> conflicts;
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (int id : order) {
    PackedBlock& block = (*blocks)[id];
    if (block.size == 0) continue;
    conflicts.clear();
    placed.ForCandidates(id, block.ranges, [&](int other) {
      const PackedBlock& o = (*blocks)[other];
      if (Overlap(block.ranges, o.ranges)) conflicts.push_back({o.region, {o.offset, o.offset + o.size}});
    });
    const auto gap_in = [&](int region, int64_t limit) {
      taken.clear();
      for (const auto& [where, bytes] : conflicts) {
        if (where == region) taken.push_back(bytes);
      }
      return FindGap(taken, block.size, limit, std::min<int64_t>(alignment, std::bit_ceil(uint64_t(block.size))));
    };
    int64_t offset = -1;
    for (auto it = std::lower_bound(region_order.begin(), region_order.end(), block.size,
                                    [&](int r, int64_t size) { return regions[r].size < size; });
         it != region_order.end() && offset < 0; ++it) {
      if (Overlap(regions[*it].busy, block.ranges)) continue;
      offset = gap_in(*it, regions[*it].size);
      if (offset >= 0) block.region = *it;
    }
    if (offset < 0) {
      block.region = -1;
      offset = gap_in(-1, std::numeric_limits<int64_t>::max());
      arena = std::max(arena, offset + block.size);
    }
    block.offset = offset;
    placed.Add(id, block.ranges);
  }
  return arena;
}

int64_t PackBlocksForAllSizes(const std::vector<PackRegion>& regions, std::vector<PackedBlock>* blocks,
                              int64_t alignment) {
  std::vector<std::vector<const PackedBlock*>> inside(regions.size());
  const auto fits = [&](const PackedBlock& block, int64_t region) {
    const PackRegion& r = regions[region];
    return block.size <= r.size && !Overlap(r.busy, block.ranges) &&
           std::none_of(inside[region].begin(), inside[region].end(),
                        [&](const PackedBlock* other) { return Overlap(other->ranges, block.ranges); });
  };
  Choices* const choices = Choices::current();
  std::vector<PackedBlock> others;
  std::vector<size_t> of_other;
  for (size_t b = 0; b < blocks->size(); ++b) {
    PackedBlock& block = (*blocks)[b];
    int64_t natural = 0;  // 1 + the region
    for (size_t r = 0; r < regions.size() && natural == 0; ++r) {
      if (block.size > 0 && regions[r].size == block.size && fits(block, static_cast<int64_t>(r)))
        natural = static_cast<int64_t>(r) + 1;
    }
    const int64_t chosen = choices->Checked(natural, 0, [&](int64_t region) {
      return region <= static_cast<int64_t>(regions.size()) && fits(block, region - 1);
    });
    if (chosen > 0) {
      block.region = static_cast<int>(chosen) - 1;
      block.offset = 0;
      inside[chosen - 1].push_back(&block);
    } else {
      others.push_back(block);
      of_other.push_back(b);
    }
  }
  const int64_t arena = PackBlocks({}, &others, alignment);
  for (size_t o = 0; o < others.size(); ++o) (*blocks)[of_other[o]] = std::move(others[o]);
  return arena;
}

int64_t PackingLowerBound(const std::vector<PackedBlock>& blocks) {
  std::vector<std::pair<int64_t, int64_t>> events;  // (time, change); an end counts at end + 1
  for (const PackedBlock& block : blocks) {
    if (block.region != -1 || block.size == 0) continue;
    for (const LiveRange& range : block.ranges) {
      events.push_back({range.start, block.size});
      events.push_back({range.end + 1, -block.size});
    }
  }
  std::sort(events.begin(), events.end());
  int64_t live = 0, peak = 0;
  for (const auto& [time, change] : events) {
    live += change;
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace xc
