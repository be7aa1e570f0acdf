#include "compiler/sharding/indexed_parts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/make.h"
#include "compiler/sharding/independent_dims.h"
#include "compiler/sharding/partition_rules.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using O = HloOpcode;
using Digits = std::vector<DeviceTiling::Digit>;
using Tilings = std::vector<const DeviceTiling*>;

bool IsUsed(const DeviceTiling::Digit& digit, const Tilings& tilings) {
  for (const DeviceTiling* tiling : tilings) {
    for (int64_t d = 0; d < tiling->rank(); ++d) {
      if (std::find(tiling->dim(d).begin(), tiling->dim(d).end(), digit) != tiling->dim(d).end()) return true;
    }
  }
  return false;
}

// Whether all that are cut have devices in this order.
bool HaveOrder(const Int64List& order, const Tilings& tilings) {
  return std::all_of(tilings.begin(), tilings.end(),
                     [&](const DeviceTiling* tiling) { return tiling->IsReplicated() || tiling->order() == order; });
}

HloInstruction* Zeros(HloComputation* computation, const Shape& shape) {
  return make::Full(computation, shape.type(), shape.dims(), 0);
}

// The sum over devices that differ in `digits` of what one of them has.
HloInstruction* OfThoseThatHave(HloInstruction* has, HloInstruction* taken, const Digits& digits,
                                const Int64List& order, DeviceExchange* exchange) {
  // What adds nothing to any number, zeros of either sign among them.
  HloInstruction* nothing = Zeros(taken->parent(), taken->shape());
  if (IsFloating(taken->type()) || IsComplex(taken->type())) nothing = make::Unary(O::kNegate, nothing);
  const O sum = taken->type() == ElementType::kPred ? O::kOr : O::kAdd;
  return exchange->AllReduce(make::Select(has, taken, nothing), sum, digits, order);
}

// Bounds of the numbers of indices; those that are not said have none.
class Bounds {
 public:
  Bounds(HloInstruction* indices, int64_t index_vector_dim)
      : indices_(indices),
        vector_(index_vector_dim),
        is_vector_(vector_ < indices->shape().rank()),
        low_(is_vector_ ? indices->shape().dim(vector_) : 1, std::numeric_limits<int64_t>::min()),
        high_(low_.size(), std::numeric_limits<int64_t>::max()) {}

  // From 0 up to `size`, which is not reached.
  void Set(int64_t number, int64_t size) {
    low_[number] = 0;
    high_[number] = size - 1;
  }
  HloInstruction* Clamped() const {
    return indices_->parent()->Add(O::kClamp, indices_->shape(), {Spread(low_), indices_, Spread(high_)});
  }
  // Which indices are within: of their positions.
  HloInstruction* Within() const {
    HloInstruction* const within = make::Binary(O::kAnd, make::Compare(CompareDirection::kGe, indices_, Spread(low_)),
                                                make::Compare(CompareDirection::kLe, indices_, Spread(high_)));
    if (!is_vector_) return within;
    HloComputation* const both = make::Combiner(indices_->module(), O::kAnd, ElementType::kPred);
    return make::Reduce(within, make::ScalarInt(indices_->parent(), ElementType::kPred, 1), {vector_}, both);
  }

 private:
  HloInstruction* Spread(const std::vector<int64_t>& numbers) const {
    const Shape shape = is_vector_ ? Shape(ElementType::kS64, {static_cast<int64_t>(numbers.size())})
                                   : Shape::Scalar(ElementType::kS64);
    HloInstruction* const constant = indices_->parent()->Add(
        HloInstruction::CreateConstant(Literal::FromValues(shape, absl::Span<const int64_t>(numbers))));
    return make::Broadcast(constant, indices_->shape().dims(), is_vector_ ? Int64List{vector_} : Int64List{});
  }

  HloInstruction* const indices_;  // s64
  const int64_t vector_;
  const bool is_vector_;
  std::vector<int64_t> low_, high_;
};

// The instruction for parts.
absl::StatusOr<HloInstruction*> AddPart(const HloInstruction& i, const std::vector<HloInstruction*>& operands,
                                        const Shape& whole, const DeviceTiling& tiling) {
  XC_ASSIGN_OR_RETURN(const Shape shape, tiling.ShardShape(WithoutLayout(whole)));
  HloInstruction* const part = operands[0]->parent()->Add(i.CloneWith(shape, operands));
  part->mutable_attributes()->Erase(AttrKind::kSharding);
  return part;
}

// Cuts indices and updates of a scatter alike where the updates, or else the indices, are cut and the results are not.
Digits CutUpdates(const HloInstruction& i, const DeviceTiling& indices, const DeviceTiling& updates,
                  ScatterTilings* tilings) {
  const ScatterDims& dims = i.scatter_dims();
  const Tilings all = {&tilings->result, &tilings->indices, &tilings->updates};
  Digits cut;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d == dims.index_vector_dim) continue;
    const int64_t of_updates = UpdatesDim(dims, d);
    const bool by_updates = !updates.dim(of_updates).empty();
    const DeviceTiling& from = by_updates ? updates : indices;
    if (!HaveOrder(from.order(), all)) continue;
    for (const DeviceTiling::Digit& digit : from.dim(by_updates ? of_updates : d)) {
      if (IsUsed(digit, all)) break;
      tilings->indices.set_order(from.order());
      tilings->updates.set_order(from.order());
      tilings->indices.Append(d, digit);
      tilings->updates.Append(of_updates, digit);
      cut.push_back(digit);
    }
  }
  return cut;
}

}  // namespace

absl::StatusOr<std::optional<DevicePart>> GatherFromParts(const HloInstruction& i, const DevicePart& array,
                                                          const DevicePart& indices, DeviceExchange* exchange) {
  const GatherDims& dims = i.gather_dims();
  const std::optional<ShardingRule> rule = IndependentDims(i);
  if (!rule.has_value()) return std::nullopt;
  XC_ASSIGN_OR_RETURN(RuleTilings tilings, TilingsByRule(*rule, i, {array.tiling, indices.tiling}));
  DeviceTiling& lies = tilings.operands[0];
  const DeviceTiling& result = tilings.results[0];
  const Tilings all = {&lies, &tilings.operands[1], &result};
  const Int64List order = array.tiling.order();
  if (!HaveOrder(order, all)) return std::nullopt;
  std::vector<std::pair<int64_t, int64_t>> offsets = CountedOffsets(i, lies), single;
  Digits summed;
  for (size_t n = 0; n < dims.start_index_map.size(); ++n) {
    const int64_t d = dims.start_index_map[n];
    if (!HasDim(dims.collapsed_slice_dims, d) || !lies.dim(d).empty()) continue;
    for (const DeviceTiling::Digit& digit : array.tiling.dim(d)) {
      if (IsUsed(digit, all)) break;
      lies.set_order(order);
      lies.Append(d, digit);
      summed.push_back(digit);
    }
    if (!lies.dim(d).empty()) single.emplace_back(static_cast<int64_t>(n), d);
  }
  if (summed.empty()) return std::nullopt;
  const Shape& shape = i.operand(0)->shape();
  XC_ASSIGN_OR_RETURN(const Shape part_shape, lies.ShardShape(WithoutLayout(shape)));
  XC_ASSIGN_OR_RETURN(const DevicePart from, exchange->In(array, lies));
  XC_ASSIGN_OR_RETURN(const DevicePart at, exchange->In(indices, tilings.operands[1]));
  Bounds of_whole(make::Convert(at.part, ElementType::kS64), dims.index_vector_dim);
  for (const auto& [number, d] : single) of_whole.Set(number, shape.dim(d));
  offsets.insert(offsets.end(), single.begin(), single.end());
  XC_ASSIGN_OR_RETURN(HloInstruction* const local,
                      exchange->parts().Offset(of_whole.Clamped(), dims.index_vector_dim, offsets, lies, shape));
  Bounds of_part(local, dims.index_vector_dim);
  for (const auto& [number, d] : single) of_part.Set(number, part_shape.dim(d));
  XC_ASSIGN_OR_RETURN(HloInstruction* const taken, AddPart(i, {from.part, local}, i.shape(), result));
  FitAttributes(taken, lies);
  Int64List positions;
  for (int64_t d = 0; d < result.rank(); ++d) {
    if (!HasDim(dims.offset_dims, d)) positions.push_back(d);
  }
  HloInstruction* const has = make::Broadcast(of_part.Within(), taken->shape().dims(), positions);
  return DevicePart{OfThoseThatHave(has, taken, summed, order, exchange), result};
}

absl::StatusOr<std::optional<DevicePart>> SliceFromParts(const HloInstruction& i, const DevicePart& array,
                                                         DeviceExchange* exchange) {
  const Shape& shape = i.operand(0)->shape();
  SliceAttr slice = i.slice();
  DeviceTiling result = array.tiling;
  Digits summed;
  HloInstruction* has = nullptr;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool whole = slice.starts[d] == 0 && i.shape().dim(d) == shape.dim(d);
    if (array.tiling.dim(d).empty() || whole) {
      slice.limits[d] -= shape.dim(d) - array.part->shape().dim(d);
      continue;
    }
    const int64_t tiles = array.tiling.Tiles(d), size = shape.dim(d) / tiles, tile = slice.starts[d] / size;
    if (i.shape().dim(d) % tiles == 0 || tile != (slice.limits[d] - 1) / size) return std::nullopt;
    slice.starts[d] -= tile * size;
    slice.limits[d] -= tile * size;
    const Digits& digits = array.tiling.dim(d);
    summed.insert(summed.end(), digits.begin(), digits.end());
    result.Clear(d);
    HloComputation* const computation = array.part->parent();
    HloInstruction* const here =
        make::Compare(CompareDirection::kEq, exchange->parts().StartOf(computation, array.tiling, d, 1),
                      make::ScalarInt(computation, ElementType::kS32, tile));
    has = has == nullptr ? here : make::Binary(O::kAnd, has, here);
  }
  if (has == nullptr) return std::nullopt;
  HloInstruction* const taken = make::Slice(array.part, slice.starts, slice.limits, slice.strides);
  has = make::Broadcast(has, taken->shape().dims(), {});
  return DevicePart{OfThoseThatHave(has, taken, summed, array.tiling.order(), exchange), result};
}

absl::StatusOr<std::vector<DevicePart>> ScatterIntoParts(const HloInstruction& i, const std::vector<DevicePart>& x,
                                                         const DeviceTiling& to, DeviceExchange* exchange) {
  ScatterTilings tilings = TilingsOfScatter(i, to);
  const size_t count = x.size() / 2;
  Digits summed;
  if (count == 1 && i.type() != ElementType::kPred && IsCombiner(i.to_apply(), O::kAdd)) {
    summed = CutUpdates(i, x[1].tiling, x[2].tiling, &tilings);
  }
  std::vector<HloInstruction*> operands;
  for (size_t o = 0; o < x.size(); ++o) {
    XC_ASSIGN_OR_RETURN(const DevicePart lies, exchange->In(x[o], o < count    ? tilings.result
                                                                  : o == count ? tilings.indices
                                                                               : tilings.updates));
    operands.push_back(lies.part);
  }
  if (!tilings.offsets.empty()) {
    XC_ASSIGN_OR_RETURN(operands[count],
                        exchange->parts().Offset(operands[count], i.scatter_dims().index_vector_dim, tilings.offsets,
                                                 tilings.result, i.operand(0)->shape()));
  }
  if (!summed.empty()) {
    HloInstruction* const before = std::exchange(operands[0], Zeros(operands[0]->parent(), operands[0]->shape()));
    const Int64List order = tilings.updates.order();
    XC_ASSIGN_OR_RETURN(HloInstruction* const sums, AddPart(i, operands, i.shape(), tilings.result));
    return std::vector<DevicePart>{
        {make::Binary(O::kAdd, before, exchange->AllReduce(sums, O::kAdd, summed, order)), tilings.result}};
  }
  Shape shape = i.shape();
  if (!shape.IsTuple()) {
    XC_ASSIGN_OR_RETURN(HloInstruction* const part, AddPart(i, operands, shape, tilings.result));
    return std::vector<DevicePart>{{part, tilings.result}};
  }
  for (Shape& element : shape.mutable_tuple_shapes()) {
    XC_ASSIGN_OR_RETURN(element, tilings.result.ShardShape(WithoutLayout(element)));
  }
  HloInstruction* const all = operands[0]->parent()->Add(i.CloneWith(shape, operands));
  all->mutable_attributes()->Erase(AttrKind::kSharding);
  std::vector<DevicePart> parts;
  for (size_t r = 0; r < count; ++r) {
    parts.push_back({make::GetTupleElement(all, static_cast<int64_t>(r)), tilings.result});
  }
  return parts;
}

}  // namespace xc
