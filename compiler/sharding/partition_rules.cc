#include "compiler/sharding/partition_rules.h"

#include <algorithm>
#include <utility>

#include "compiler/make.h"

namespace xc {

using O = HloOpcode;

bool HasDim(const Int64List& dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

void TakeCut(const DeviceTiling& from, int64_t d, DeviceTiling* to, int64_t to_d) {
  if (from.dim(d).empty()) return;
  to->set_order(from.order());
  for (const DeviceTiling::Digit& digit : from.dim(d)) to->Append(to_d, digit);
}

DeviceTiling Reshaped(const Shape& from, const Shape& into, DeviceTiling* operand) {
  const DeviceTiling given = *operand;
  *operand = DeviceTiling::Replicated(from.rank());
  DeviceTiling result = DeviceTiling::Replicated(into.rank());
  if (from.ElementCount() == 0) return result;
  int64_t a = 0, b = 0;
  while (a < from.rank() && b < into.rank()) {
    const int64_t first_b = b;
    // Digits count from the outermost dimension inwards, as far as dimensions before are cut to single elements.
    int64_t first_a = a, product_a = from.dim(a++), product_b = into.dim(b++);
    while (product_a != product_b) {
      if (product_a < product_b) {
        product_a *= from.dim(a++);
      } else {
        product_b *= into.dim(b++);
      }
    }
    int64_t to = first_b, room = into.dim(to);
    bool stopped = false;
    for (int64_t d = first_a; d < a && !stopped; ++d) {
      for (const DeviceTiling::Digit& digit : given.dim(d)) {
        while (room == 1 && to + 1 < b) room = into.dim(++to);
        if (room % digit.size != 0) {
          stopped = true;
          break;
        }
        room /= digit.size;
        operand->set_order(given.order());
        operand->Append(d, digit);
        result.set_order(given.order());
        result.Append(to, digit);
      }
      stopped |= operand->Tiles(d) != from.dim(d);
    }
  }
  return result;
}

std::optional<Movement> MovementOf(const HloInstruction& i) {
  Movement m;
  switch (i.opcode()) {
    case O::kSlice:
    case O::kPad:
    case O::kReverse:
    case O::kDynamicSlice:
      break;
    case O::kConcatenate:
    case O::kSort:
      m.arrays = i.operand_count();
      break;
    case O::kReduceWindow:
      m.arrays = i.operand_count() / 2;
      break;
    case O::kDynamicUpdateSlice:
      m.arrays = 2;
      break;
    default:
      return std::nullopt;
  }
  const Shape& operand = i.operand(0)->shape();
  for (int64_t d = 0; d < operand.rank(); ++d) {
    switch (i.opcode()) {
      case O::kSlice:
        // Every so many elements, too, in parts of as many times that (KeepCuts).
        m.keeps.push_back(i.slice().starts[d] < i.slice().strides[d] &&
                          i.shape().dim(d) * i.slice().strides[d] == operand.dim(d));
        break;
      case O::kPad:
        m.keeps.push_back(i.padding().dims[d] == PaddingDim());
        break;
      case O::kReverse:
      case O::kConcatenate:
      case O::kSort:
        m.keeps.push_back(!HasDim(i.dimensions(), d));
        break;
      case O::kDynamicSlice:
        m.keeps.push_back(i.shape().dim(d) == operand.dim(d));
        break;
      case O::kDynamicUpdateSlice:
        m.keeps.push_back(i.operand(1)->shape().dim(d) == operand.dim(d));
        break;
      case O::kReduceWindow:
        m.keeps.push_back(i.window().dims[d] == WindowDim());
        break;
      default:
        break;
    }
  }
  return m;
}

void KeepCuts(const HloInstruction& i, const Movement& movement, DeviceTiling* tiling) {
  const Shape& shape = i.operand(0)->shape();
  for (int64_t d = 0; d < tiling->rank(); ++d) {
    if (tiling->dim(d).empty()) continue;
    bool keeps = movement.keeps[d];
    if (i.opcode() == O::kSlice) keeps = keeps && shape.dim(d) / tiling->Tiles(d) % i.slice().strides[d] == 0;
    if (keeps) continue;
    for (int64_t other = 0; other < tiling->rank(); ++other) {
      if (i.opcode() != O::kSort && i.opcode() != O::kConcatenate) break;
      const bool fits = shape.dim(other) % (tiling->Tiles(other) * tiling->Tiles(d)) == 0;
      if (other == d || !movement.keeps[other] || shape.dim(other) == 0 || !fits) continue;
      TakeCut(DeviceTiling(*tiling), d, tiling, other);
      break;
    }
    tiling->Clear(d);
  }
}

void FitAttributes(HloInstruction* part, const DeviceTiling& operand) {
  if (part->FindAttr<AttrKind::kOperandLayoutConstraints>() != nullptr) {
    std::vector<Shape> constraints = part->attr<AttrKind::kOperandLayoutConstraints>();
    for (size_t o = 0; o < constraints.size(); ++o) {
      for (int64_t d = 0; d < constraints[o].rank(); ++d) constraints[o].set_dim(d, part->operand(o)->shape().dim(d));
    }
    part->set_attr<AttrKind::kOperandLayoutConstraints>(std::move(constraints));
  }
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (operand.dim(d).empty()) continue;
    const int64_t size = part->operand(0)->shape().dim(d);
    if (part->opcode() == O::kSlice) {
      SliceAttr slice = part->slice();
      slice.limits[d] = size;
      part->set_attr<AttrKind::kSlice>(std::move(slice));
    } else if (part->opcode() == O::kDynamicSlice) {
      Int64List sizes = part->attr<AttrKind::kDynamicSliceSizes>();
      sizes[d] = size;
      part->set_attr<AttrKind::kDynamicSliceSizes>(std::move(sizes));
    } else if (part->opcode() == O::kGather && !HasDim(part->gather_dims().operand_batching_dims, d) &&
               !HasDim(part->gather_dims().collapsed_slice_dims, d)) {
      Int64List sizes = part->attr<AttrKind::kSliceSizes>();
      sizes[d] = size;
      part->set_attr<AttrKind::kSliceSizes>(std::move(sizes));
    }
  }
}

bool IsPlainReduction(const HloInstruction& reduce, HloOpcode* op) {
  if (reduce.operand_count() != 2) return false;
  for (const O candidate : {O::kAdd, O::kMultiply, O::kMaximum, O::kMinimum, O::kAnd, O::kOr}) {
    if (!IsCombiner(reduce.to_apply(), candidate)) continue;
    *op = candidate;
    // Every device starts from the initial value.
    const HloInstruction* const start = reduce.operand(1);
    if (candidate != O::kAdd && candidate != O::kMultiply) return true;
    if (!start->IsConstant() || IsComplex(start->type())) return false;
    return start->literal().GetDouble(0) == (candidate == O::kAdd ? 0 : 1);
  }
  return false;
}

}  // namespace xc
