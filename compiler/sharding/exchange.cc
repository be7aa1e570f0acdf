#include "compiler/sharding/exchange.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/make.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using O = HloOpcode;
using Digits = std::vector<DeviceTiling::Digit>;

int64_t SizeOf(const Digits& digits) {
  int64_t size = 1;
  for (const DeviceTiling::Digit& digit : digits) size *= digit.size;
  return size;
}

// How many of each, from the first on, make as many tiles: as many as possible.
std::pair<size_t, size_t> EquallyMany(const Digits& a, const Digits& b) {
  std::pair<size_t, size_t> most = {0, 0};
  int64_t tiles_a = 1, tiles_b = 1;
  for (size_t i = 0, j = 0; i <= a.size() && j <= b.size();) {
    if (tiles_a == tiles_b) most = {i, j};
    if (tiles_a <= tiles_b) {
      if (i < a.size()) tiles_a *= a[i].size;
      ++i;
    } else {
      if (j < b.size()) tiles_b *= b[j].size;
      ++j;
    }
  }
  return most;
}

// `tiling` with other digits along dimension d.
DeviceTiling With(const DeviceTiling& tiling, int64_t d, const Digits& digits) {
  DeviceTiling other = tiling;
  other.Clear(d);
  for (const DeviceTiling::Digit& digit : digits) other.Append(d, digit);
  return other;
}

}  // namespace

std::vector<Int64List> DeviceExchange::Groups(const Digits& digits, const Int64List& order) const {
  std::map<int64_t, Int64List> by_rest;
  for (int64_t position = 0; position < devices_; ++position) {
    int64_t rank = 0, rest = position;
    for (const DeviceTiling::Digit& digit : digits) {
      const int64_t value = position / digit.stride % digit.size;
      rank = rank * digit.size + value;
      rest -= value * digit.stride;
    }
    Int64List& group = by_rest[rest];
    group.resize(SizeOf(digits));
    group[rank] = order.empty() ? position : order[position];
  }
  std::vector<Int64List> groups;
  for (auto& [rest, group] : by_rest) groups.push_back(std::move(group));
  return groups;
}

HloInstruction* DeviceExchange::Collective(HloInstruction* part, O opcode, const Shape& shape, const Digits& digits,
                                           const Int64List& order) {
  ReplicaGroups groups;
  groups.groups = Groups(digits, order);
  HloInstruction* const collective = part->parent()->Add(opcode, shape, {part});
  collective->set_attr<AttrKind::kReplicaGroups>(std::move(groups));
  collective->set_attr<AttrKind::kChannelId>(++channels_);
  return collective;
}

HloInstruction* DeviceExchange::Permute(HloInstruction* part, const DeviceTiling& tiling, int64_t d,
                                        absl::FunctionRef<int64_t(int64_t)> source) {
  std::vector<Int64List> pairs;
  for (const Int64List& group : Groups(tiling.dim(d), tiling.order())) {
    for (size_t tile = 0; tile < group.size(); ++tile) {
      pairs.push_back({group[source(static_cast<int64_t>(tile))], group[tile]});
    }
  }
  return Permutation(part, std::move(pairs));
}

HloInstruction* DeviceExchange::Permutation(HloInstruction* part, std::vector<Int64List> pairs) {
  HloInstruction* const moved = part->parent()->Add(O::kCollectivePermute, part->shape(), {part});
  moved->set_attr<AttrKind::kSourceTargetPairs>(std::move(pairs));
  moved->set_attr<AttrKind::kChannelId>(++channels_);
  return moved;
}

HloInstruction* DeviceExchange::Reassign(HloInstruction* part, const DeviceTiling& from, const DeviceTiling& to) {
  const auto tiles_of = [](const DeviceTiling& tiling, int64_t device) {
    Int64List tiles;
    for (int64_t d = 0; d < tiling.rank(); ++d) tiles.push_back(tiling.TileOf(device, d));
    return tiles;
  };
  // Devices that have what they get stay out of it as far as they can: each gives its part to one device.
  std::map<Int64List, Int64List> free;
  std::vector<Int64List> pairs;
  Int64List waiting;
  for (int64_t device = 0; device < devices_; ++device) {
    if (tiles_of(from, device) == tiles_of(to, device)) {
      pairs.push_back({device, device});
    } else {
      free[tiles_of(from, device)].push_back(device);
      waiting.push_back(device);
    }
  }
  if (waiting.empty()) return part;
  for (const int64_t device : waiting) {
    Int64List& sources = free[tiles_of(to, device)];
    pairs.push_back({sources.back(), device});
    sources.pop_back();
  }
  return Permutation(part, std::move(pairs));
}

HloInstruction* DeviceExchange::AllReduce(HloInstruction* part, O op, const Digits& digits, const Int64List& order) {
  HloInstruction* const sum = Collective(part, O::kAllReduce, part->shape(), digits, order);
  sum->set_attr<AttrKind::kUseGlobalDeviceIds>(true);
  sum->AddCalledComputation(make::Combiner(part->module(), op, part->type()));
  return sum;
}

HloInstruction* DeviceExchange::AllGather(HloInstruction* part, int64_t d, const Digits& digits,
                                          const Int64List& order) {
  Shape shape = part->shape();
  shape.set_dim(d, shape.dim(d) * SizeOf(digits));
  HloInstruction* const all = Collective(part, O::kAllGather, shape, digits, order);
  all->set_attr<AttrKind::kUseGlobalDeviceIds>(true);
  all->set_attr<AttrKind::kDimensions>({d});
  return all;
}

HloInstruction* DeviceExchange::AllToAll(HloInstruction* part, int64_t from, int64_t to, const Digits& digits,
                                         const Int64List& order) {
  const int64_t count = SizeOf(digits);
  // [.., to, ..] as [.., count, to / count, ..]: a device gives the others one of these each, and gets theirs, which
  // follow one another along `from`.
  Int64List dims = part->shape().dims();
  dims[to] /= count;
  dims.insert(dims.begin() + to, count);
  HloInstruction* const split = make::Reshape(part, dims);
  HloInstruction* const exchanged = Collective(split, O::kAllToAll, split->shape(), digits, order);
  exchanged->set_attr<AttrKind::kDimensions>({to});
  Int64List permutation, result;
  for (int64_t d = 0; d < part->shape().rank(); ++d) {
    if (d == from) permutation.push_back(to);
    permutation.push_back(d < to ? d : d + 1);
    result.push_back(d == from ? part->shape().dim(d) * count : d == to ? dims[to + 1] : part->shape().dim(d));
  }
  return make::Reshape(make::Transpose(exchanged, permutation), result);
}

absl::StatusOr<DevicePart> DeviceExchange::In(const DevicePart& from, const DeviceTiling& tiling) {
  if (from.tiling == tiling || (from.tiling.IsReplicated() && tiling.IsReplicated())) return from;
  for (const DevicePart& before : made_[from.part]) {
    if (before.tiling == tiling) return before;
  }
  DevicePart now = from;
  const Int64List order = from.tiling.order();
  // Cuts that move from the end of one dimension to that of another.
  for (int64_t a = 0; a < tiling.rank(); ++a) {
    const Digits digits = now.tiling.dim(a);
    const auto [mine, theirs] = EquallyMany(digits, tiling.dim(a));
    const Digits stay(digits.begin(), digits.begin() + mine), moved(digits.begin() + mine, digits.end());
    if (moved.empty() || theirs != tiling.dim(a).size()) continue;
    for (int64_t b = 0; b < tiling.rank(); ++b) {
      Digits after = now.tiling.dim(b);
      after.insert(after.end(), moved.begin(), moved.end());
      if (a == b || EquallyMany(after, tiling.dim(b)).first != after.size()) continue;
      now.part = AllToAll(now.part, a, b, moved, order);
      now.tiling = With(With(now.tiling, a, stay), b, after);
      break;
    }
  }
  // As many tiles along each dimension as both have; other devices may get them.
  DeviceTiling kept = tiling;
  for (int64_t d = 0; d < tiling.rank(); ++d) {
    const Digits digits = now.tiling.dim(d);
    const auto [mine, theirs] = EquallyMany(digits, tiling.dim(d));
    kept = With(kept, d, Digits(tiling.dim(d).begin(), tiling.dim(d).begin() + theirs));
    if (mine == digits.size()) continue;
    now.part = AllGather(now.part, d, Digits(digits.begin() + mine, digits.end()), order);
    now.tiling = With(now.tiling, d, Digits(digits.begin(), digits.begin() + mine));
  }
  if (!kept.IsReplicated()) now.part = Reassign(now.part, now.tiling, kept);
  DeviceTiling added = DeviceTiling::Replicated(tiling.rank());
  added.set_order(tiling.order());
  for (int64_t d = 0; d < tiling.rank(); ++d) {
    for (size_t n = kept.dim(d).size(); n < tiling.dim(d).size(); ++n) added.Append(d, tiling.dim(d)[n]);
  }
  XC_ASSIGN_OR_RETURN(now.part, parts_.Part(now.part, added));
  now.tiling = tiling;
  made_[from.part].push_back(now);
  return now;
}

}  // namespace xc
