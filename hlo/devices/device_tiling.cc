#include "hlo/devices/device_tiling.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xc {
namespace {

using Digit = DeviceTiling::Digit;

// The devices of a tiled sharding in the order of its tile array.
Int64List ListedDevices(const Sharding& sharding, int64_t total) {
  if (!sharding.devices.empty()) return sharding.devices;
  Int64List dims = sharding.iota_reshape_dims, order = sharding.iota_transpose;
  if (dims.empty()) dims = {total};
  if (order.size() != dims.size()) {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  Int64List strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  Int64List devices;
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, device = 0;
    for (size_t d = order.size(); d-- > 0;) {
      device += rest % dims[order[d]] * strides[order[d]];
      rest /= dims[order[d]];
    }
    devices.push_back(device);
  }
  return devices;
}

Int64List PrimeFactors(int64_t n) {
  Int64List factors;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

void AppendPrimes(Digit digit, std::vector<Digit>* digits) {
  for (int64_t factor : PrimeFactors(digit.size)) {
    digit.size /= factor;
    digits->push_back({digit.stride * digit.size, factor});
  }
}

}  // namespace

DeviceTiling DeviceTiling::Replicated(int64_t rank) {
  DeviceTiling tiling;
  tiling.dims_.resize(rank);
  return tiling;
}

void DeviceTiling::Append(int64_t d, Digit digit) { AppendPrimes(digit, &dims_[d]); }

void DeviceTiling::AppendUnreduced(Digit digit) { AppendPrimes(digit, &unreduced_); }

absl::StatusOr<DeviceTiling> DeviceTiling::FromSharding(const Sharding& sharding, int64_t rank, int64_t devices) {
  DeviceTiling tiling = Replicated(rank);
  if (sharding.type == Sharding::Type::kUnreduced) tiling.AppendUnreduced({1, devices});
  if (sharding.type != Sharding::Type::kOther || sharding.tile_dims.empty()) return tiling;
  const auto bad = [&](auto... parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("sharding devices=[", absl::StrJoin(sharding.tile_dims, ","), "] ", parts...));
  };
  int64_t total = 1;
  for (int64_t size : sharding.tile_dims) {
    if (size < 1 || size > devices) return bad("has other dimensions than ", devices, " devices allow");
    total *= size;
    if (total > devices) break;
  }
  if (total != devices) return bad("is for ", total, " devices, the program for ", devices);
  if (static_cast<int64_t>(sharding.tile_dims.size()) < rank) return bad("of an array with ", rank, " dimensions");
  const Int64List list = ListedDevices(sharding, total);
  Int64List sorted = list;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < total; ++i) {
    if (static_cast<int64_t>(sorted.size()) != total || sorted[i] != i) return bad("should list each device once");
  }
  // The devices as a sum of digits: as far as moving one of them by one always adds the same.
  std::vector<Digit> digits;  // of all tile dimensions; `stride` in the list
  int64_t stride = total;
  for (int64_t size : sharding.tile_dims) {
    for (int64_t factor : PrimeFactors(size)) digits.push_back({stride /= factor, factor});
  }
  bool linear = list[0] == 0;
  for (int64_t i = 0; linear && i < total; ++i) {
    int64_t sum = 0;
    for (const Digit& digit : digits) sum += i / digit.stride % digit.size * list[digit.stride];
    linear = sum == list[i];
  }
  if (!linear) tiling.order_ = list;
  size_t next = 0;
  for (size_t d = 0; d < sharding.tile_dims.size(); ++d) {
    const size_t behind = d - rank;  // what the devices have of the same part
    for (int64_t left = sharding.tile_dims[d]; left > 1; ++next) {
      const Digit& digit = digits[next];
      const Digit own = {linear ? list[digit.stride] : digit.stride, digit.size};
      left /= digit.size;
      if (d < static_cast<size_t>(rank)) {
        tiling.dims_[d].push_back(own);
      } else if (behind < sharding.last_tile_dims.size() &&
                 sharding.last_tile_dims[behind] == Sharding::Type::kUnreduced) {
        tiling.unreduced_.push_back(own);
      }
    }
  }
  return tiling;
}

bool DeviceTiling::IsReplicated() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const auto& digits) { return digits.empty(); });
}

int64_t DeviceTiling::Tiles(int64_t d) const {
  int64_t tiles = 1;
  for (const Digit& digit : dims_[d]) tiles *= digit.size;
  return tiles;
}

int64_t DeviceTiling::TileOf(int64_t device, int64_t d) const { return ValueOf(device, dims_[d]); }

int64_t DeviceTiling::ValueOf(int64_t device, const std::vector<Digit>& digits) const {
  int64_t position = device;
  if (!order_.empty()) position = std::find(order_.begin(), order_.end(), device) - order_.begin();
  int64_t value = 0;
  for (const Digit& digit : digits) value = value * digit.size + position / digit.stride % digit.size;
  return value;
}

Sharding DeviceTiling::ToSharding(int64_t devices) const {
  Sharding sharding;
  if (IsReplicated() && unreduced_.empty()) return sharding;
  sharding.type = Sharding::Type::kOther;
  int64_t tiles = 1;
  for (int64_t d = 0; d < rank(); ++d) {
    sharding.tile_dims.push_back(Tiles(d));
    tiles *= Tiles(d);
  }
  int64_t summands = 1;
  for (const Digit& digit : unreduced_) summands *= digit.size;
  if (summands > 1) {
    sharding.tile_dims.push_back(summands);
    sharding.last_tile_dims.push_back(Sharding::Type::kUnreduced);
  }
  if (tiles * summands < devices) {
    sharding.tile_dims.push_back(devices / (tiles * summands));
    sharding.replicate_on_last_tile_dim = summands == 1;
    if (summands > 1) sharding.last_tile_dims.push_back(Sharding::Type::kReplicated);
  }
  std::vector<std::pair<int64_t, int64_t>> places;  // tile, device
  for (int64_t device = 0; device < devices; ++device) {
    int64_t tile = 0;
    for (int64_t d = 0; d < rank(); ++d) tile = tile * Tiles(d) + TileOf(device, d);
    tile = tile * summands + ValueOf(device, unreduced_);
    places.emplace_back(tile, device);
  }
  std::sort(places.begin(), places.end());
  for (const auto& [tile, device] : places) sharding.devices.push_back(device);
  return sharding;
}

absl::StatusOr<Shape> DeviceTiling::ShardShape(const Shape& shape) const {
  Shape shard = shape;
  for (int64_t d = 0; d < rank(); ++d) {
    if (shape.dim(d) % Tiles(d) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", d, " of ", shape.ToString(false), " cannot be shared by ", Tiles(d), " devices"));
    }
    shard.set_dim(d, shape.dim(d) / Tiles(d));
  }
  return shard;
}

void DeviceTiling::MergeFrom(const DeviceTiling& other) {
  if (other.rank() != rank() || other.IsReplicated()) return;
  if (IsReplicated()) order_ = other.order_;
  if (order_ != other.order_) return;
  for (int64_t d = 0; d < rank(); ++d) {
    const auto &mine = dims_[d], &theirs = other.dims_[d];
    if (theirs.size() <= mine.size() || !std::equal(mine.begin(), mine.end(), theirs.begin())) continue;
    bool used = false;
    for (int64_t e = 0; e < rank(); ++e) {
      for (size_t i = mine.size(); e != d && i < theirs.size(); ++i) {
        used |= std::find(dims_[e].begin(), dims_[e].end(), theirs[i]) != dims_[e].end();
      }
    }
    if (!used) dims_[d] = theirs;
  }
}

}  // namespace xc
