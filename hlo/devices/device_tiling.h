// How an array lies on the devices of a launch: which digits of a device's number count along which dimension.
#ifndef XC_HLO_DEVICES_DEVICE_TILING_H_
#define XC_HLO_DEVICES_DEVICE_TILING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/attributes.h"
#include "hlo/shape.h"

namespace xc {

class DeviceTiling {
 public:
  // (position / stride) % size, where a device's position is its number, or its place in the order of devices.
  struct Digit {
    int64_t stride = 1, size = 1;
    bool operator==(const Digit&) const = default;
  };

  DeviceTiling() = default;
  // The whole array on each device.
  static DeviceTiling Replicated(int64_t rank);
  // Of an array of `rank` dimensions on `devices` devices; no tuple. Arrays on one device or in manual parts of a
  // program count as replicated. InvalidArgument where the sharding has other numbers of dimensions or devices.
  static absl::StatusOr<DeviceTiling> FromSharding(const Sharding& sharding, int64_t rank, int64_t devices);
  // In the form with a list of devices; devices with the same part stand in the order of their numbers.
  Sharding ToSharding(int64_t devices) const;

  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  const std::vector<Digit>& dim(int64_t d) const { return dims_[d]; }
  // Digits are split into ones of prime size.
  void Append(int64_t d, Digit digit);
  void Clear(int64_t d) { dims_[d].clear(); }
  // Digits of which the devices hold summands: the array is the sum over them.
  const std::vector<Digit>& unreduced() const { return unreduced_; }
  void AppendUnreduced(Digit digit);
  // The device at each position; empty: numbers are positions.
  const Int64List& order() const { return order_; }
  void set_order(Int64List order) { order_ = std::move(order); }

  // Whether no dimension is cut.
  bool IsReplicated() const;
  // Parts along dimension d, and which of them a device has.
  int64_t Tiles(int64_t d) const;
  int64_t TileOf(int64_t device, int64_t d) const;
  // A device's part of an array; InvalidArgument where parts along a dimension would differ in size.
  absl::StatusOr<Shape> ShardShape(const Shape& shape) const;

  // Takes over what `other`, of equal rank, says of a dimension where this one says less and no digit is used twice.
  void MergeFrom(const DeviceTiling& other);
  bool operator==(const DeviceTiling&) const = default;

 private:
  int64_t ValueOf(int64_t device, const std::vector<Digit>& digits) const;

  std::vector<std::vector<Digit>> dims_;  // of each dimension, the digit that counts most first
  std::vector<Digit> unreduced_;
  Int64List order_;
};

}  // namespace xc

#endif  // XC_HLO_DEVICES_DEVICE_TILING_H_
