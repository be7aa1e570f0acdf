#include "compiler/sharding/rotation.h"

#include <algorithm>

#include "compiler/make.h"

namespace xc {
namespace {

using O = HloOpcode;

// Along dimension d only, and each element of it.
bool IsRange(const HloInstruction& i, int64_t d) {
  if (i.opcode() != O::kSlice) return false;
  const SliceAttr& slice = i.slice();
  for (int64_t other = 0; other < i.shape().rank(); ++other) {
    if (slice.strides[other] != 1) return false;
    if (other != d && i.shape().dim(other) != i.operand(0)->shape().dim(other)) return false;
  }
  return true;
}

HloInstruction* Range(HloInstruction* x, int64_t d, int64_t from, int64_t to) {
  const Int64List& dims = x->shape().dims();
  Int64List starts(dims.size(), 0), limits = dims;
  starts[d] = from;
  limits[d] = to;
  return make::Slice(x, starts, limits, Int64List(dims.size(), 1));
}

}  // namespace

std::optional<Rotation> RotationOf(const HloInstruction& i) {
  if (i.opcode() != O::kConcatenate || i.operand_count() != 2) return std::nullopt;
  const int64_t d = i.dimensions()[0];
  const HloInstruction &last = *i.operand(0), &first = *i.operand(1);
  if (!IsRange(last, d) || !IsRange(first, d) || last.operand(0) != first.operand(0)) return std::nullopt;
  const int64_t size = last.operand(0)->shape().dim(d), by = last.slice().starts[d];
  if (last.slice().limits[d] != size || first.slice().starts[d] != 0 || first.slice().limits[d] != by) {
    return std::nullopt;
  }
  if (by <= 0 || by >= size) return std::nullopt;
  return Rotation{last.operand(0), d, by};
}

bool IsOnlyRotated(const HloInstruction& i) {
  if (i.opcode() != O::kSlice || i.user_count() == 0 || &i == i.parent()->root()) return false;
  return std::all_of(i.users().begin(), i.users().end(),
                     [](const HloInstruction* user) { return RotationOf(*user).has_value(); });
}

HloInstruction* RotatedPart(const Rotation& rotation, const DevicePart& array, DeviceExchange* exchange) {
  const int64_t d = rotation.dimension, size = array.part->shape().dim(d), tiles = array.tiling.Tiles(d);
  // A device's part begins within that of the device so many parts further on, and ends within the next one.
  const int64_t parts = rotation.by / size, rest = rotation.by % size;
  const auto of_device = [&](int64_t from, int64_t to, int64_t further) {
    HloInstruction* const piece = Range(array.part, d, from, to);
    if (further % tiles == 0) return piece;
    return exchange->Permute(piece, array.tiling, d, [&](int64_t tile) { return (tile + further) % tiles; });
  };
  HloInstruction* const begin = of_device(rest, size, parts);
  if (rest == 0) return begin;
  HloInstruction* const end = of_device(0, rest, parts + 1);
  HloInstruction* const all = begin->parent()->Add(O::kConcatenate, array.part->shape(), {begin, end});
  all->set_attr<AttrKind::kDimensions>({d});
  return all;
}

}  // namespace xc
