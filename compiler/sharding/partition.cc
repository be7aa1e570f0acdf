#include "compiler/sharding/partition.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "compiler/make.h"
#include "compiler/sharding/exchange.h"
#include "compiler/sharding/independent_dims.h"
#include "compiler/sharding/indexed_parts.h"
#include "compiler/sharding/partition_rules.h"
#include "compiler/sharding/rotation.h"
#include "compiler/sharding/wanted.h"
#include "hlo/base/status.h"
#include "hlo/devices/device_groups.h"

namespace xc {
namespace {

using O = HloOpcode;
using Digits = std::vector<DeviceTiling::Digit>;

class Partitioner {
 public:
  Partitioner(HloModule* module, const EntryTilings& tilings)
      : module_(module), entry_(module->entry()), tilings_(tilings), devices_(DeviceCount(*module)) {}

  absl::Status Run() {
    XC_ASSIGN_OR_RETURN(wanted_, WantedTilings(*module_, tilings_, devices_));
    XC_RETURN_IF_ERROR(CutParameters());
    const std::vector<HloInstruction*> old = entry_->PostOrder();
    const Shape result = entry_->root()->shape();
    XC_ASSIGN_OR_RETURN(Value root, Emit(*entry_, {}));
    for (size_t l = 0; l < root.size(); ++l) {
      XC_ASSIGN_OR_RETURN(root[l], In(root[l], tilings_.results[l]));
    }
    size_t leaf = 0;
    entry_->set_root(Joined(result, root, &leaf));
    CutResultLayouts(module_, tilings_.results);
    for (auto i = old.rbegin(); i != old.rend(); ++i) {
      (*i)->RemoveControlDependencies();
      if ((*i)->opcode() != O::kParameter && (*i)->IsDead()) entry_->Remove(*i);
    }
    entry_->RemoveDead();
    module_->RemoveUnusedComputations();
    return absl::OkStatus();
  }

 private:
  using Leaf = DevicePart;
  using Value = std::vector<Leaf>;  // of the leaves of a shape

  // Whoever asks the program about the arrays finds them whole.
  absl::Status CutParameters() {
    const auto cut = [&](HloInstruction* parameter, const DeviceTiling& tiling) -> absl::Status {
      XC_ASSIGN_OR_RETURN(HloInstruction* const stand_in, CutParameter(parameter, tiling));
      given_[stand_in] = {{parameter, tiling}};
      return absl::OkStatus();
    };
    return ForEachArrayParameter(*module_, tilings_.parameters, cut);
  }

  // The leaves of a whole value.
  Value Taken(HloInstruction* whole) {
    Value value;
    for (const auto& [index, leaf] : Leaves(whole->shape())) {
      HloInstruction* part = whole;
      for (const int64_t element : index) part = make::GetTupleElement(part, element);
      value.push_back({part, DeviceTiling::Replicated(leaf->IsArray() ? leaf->rank() : 0)});
    }
    return value;
  }

  // The value of a shape of these leaves; `leaf` counts them.
  HloInstruction* Joined(const Shape& shape, const Value& leaves, size_t* leaf) {
    if (!shape.IsTuple()) return leaves[(*leaf)++].part;
    std::vector<HloInstruction*> elements;
    for (const Shape& element : shape.tuple_shapes()) elements.push_back(Joined(element, leaves, leaf));
    return make::Tuple(to_, elements);
  }

  // The shape of a device's parts of a value; `leaf` counts its leaves.
  static absl::StatusOr<Shape> Cut(const Shape& shape, const std::vector<DeviceTiling>& tilings, size_t* leaf) {
    if (!shape.IsTuple()) {
      const DeviceTiling& tiling = tilings[(*leaf)++];
      return shape.IsArray() ? tiling.ShardShape(WithoutLayout(shape)) : shape;
    }
    Shape cut = shape;
    for (Shape& element : cut.mutable_tuple_shapes()) {
      XC_ASSIGN_OR_RETURN(element, Cut(element, tilings, leaf));
    }
    return cut;
  }

  static std::vector<DeviceTiling> TilingsOf(const Value& value) {
    std::vector<DeviceTiling> tilings;
    for (const Leaf& leaf : value) tilings.push_back(leaf.tiling);
    return tilings;
  }

  absl::StatusOr<Leaf> In(const Leaf& leaf, const DeviceTiling& tiling) {
    if (!leaf.part->shape().IsArray()) return leaf;
    return exchange_.In(leaf, tiling);
  }

  absl::StatusOr<HloInstruction*> Whole(const HloInstruction* i, const Value& value) {
    Value whole;
    for (const Leaf& leaf : value) {
      XC_ASSIGN_OR_RETURN(whole.emplace_back(), In(leaf, DeviceTiling::Replicated(leaf.tiling.rank())));
    }
    size_t leaf = 0;
    return Joined(i->shape(), whole, &leaf);
  }

  // The instruction for parts: `tilings` of its leaves.
  absl::StatusOr<Value> Add(const HloInstruction& i, absl::Span<HloInstruction* const> operands,
                            const std::vector<DeviceTiling>& tilings, HloInstruction** made = nullptr) {
    size_t leaf = 0;
    XC_ASSIGN_OR_RETURN(const Shape shape, Cut(i.shape(), tilings, &leaf));
    HloInstruction* const part = to_->Add(i.CloneWith(shape, operands));
    part->mutable_attributes()->Erase(AttrKind::kSharding);
    if (made != nullptr) *made = part;
    Value value = Taken(part);
    for (size_t l = 0; l < tilings.size(); ++l) value[l].tiling = tilings[l];
    return value;
  }

  absl::StatusOr<Value> Emit(const HloComputation& computation, std::vector<Value> arguments) {
    absl::flat_hash_map<const HloInstruction*, Value> values;
    for (const HloInstruction* i : computation.PostOrder()) {
      if (i->opcode() == O::kParameter) {
        values[i] = computation.IsEntry() ? Taken(entry_->parameter(i->parameter_number()))
                                          : std::move(arguments[i->parameter_number()]);
        continue;
      }
      if (const auto given = given_.find(i); given != given_.end()) {
        values[i] = given->second;
        continue;
      }
      if (IsOnlyRotated(*i)) continue;
      if (const std::optional<Rotation> rotation = RotationOf(*i)) {
        const Leaf& array = values.at(rotation->array)[0];
        values[i] = {{RotatedPart(*rotation, array, &exchange_), array.tiling}};
        continue;
      }
      std::vector<const Value*> operands;
      for (const HloInstruction* operand : i->operands()) operands.push_back(&values.at(operand));
      XC_ASSIGN_OR_RETURN(Value value, Visit(*i, operands));
      values[i] = std::move(value);
    }
    return std::move(values.at(computation.root()));
  }

  using Operands = std::vector<const Value*>;

  absl::StatusOr<Value> Visit(const HloInstruction& i, const Operands& x) {
    switch (i.opcode()) {
      case O::kTuple: {
        Value all;
        for (const Value* operand : x) all.insert(all.end(), operand->begin(), operand->end());
        return all;
      }
      case O::kGetTupleElement: {
        size_t first = 0;
        const Shape& tuple = i.operand(0)->shape();
        for (int64_t e = 0; e < i.tuple_index(); ++e) first += tuple.tuple_shape(e).LeafCount();
        return Value(x[0]->begin() + first, x[0]->begin() + first + i.shape().LeafCount());
      }
      case O::kCopy:
      case O::kDomain:
        return *x[0];
      case O::kOptBarrier:
        return VisitBarrier(i, *x[0]);
      case O::kCall: {
        std::vector<Value> arguments;
        for (const Value* operand : x) arguments.push_back(*operand);
        return Emit(*i.called(0), std::move(arguments));
      }
      case O::kReshape:
        return VisitReshape(i, (*x[0])[0]);
      case O::kReduce:
        return VisitReduce(i, x);
      default:
        break;
    }
    std::vector<std::vector<DeviceTiling>> operands;
    for (const Value* operand : x) operands.push_back(TilingsOf(*operand));
    XC_ASSIGN_OR_RETURN(std::vector<DeviceTiling> to, ResultTilings(i, devices_, operands));
    if (const auto wanted = wanted_.find(&i); wanted != wanted_.end() && to[0].IsReplicated()) to[0] = wanted->second;
    switch (i.opcode()) {
      case O::kCustomCall:
        if (i.custom_call_target() != "Sharding" || x.size() != 1 || !i.shape().IsArray()) break;
        return InOne((*x[0])[0], to[0]);
      case O::kBroadcast:
      case O::kTranspose: {
        const bool broadcasts = i.opcode() == O::kBroadcast;
        DeviceTiling from = DeviceTiling::Replicated(i.operand(0)->shape().rank());
        for (size_t d = 0; d < i.dimensions().size(); ++d) {
          if (broadcasts) {
            TakeCut(to[0], i.dimensions()[d], &from, d);
          } else {
            TakeCut(to[0], d, &from, i.dimensions()[d]);
          }
        }
        XC_ASSIGN_OR_RETURN(const Leaf operand, In((*x[0])[0], from));
        return Add(i, {operand.part}, to);
      }
      case O::kIota: {
        XC_ASSIGN_OR_RETURN(Value part, Add(i, {}, to));
        XC_ASSIGN_OR_RETURN(part[0].part, exchange_.parts().FromStart(part[0].part, to[0]));
        return part;
      }
      case O::kDot:
        return i.operand_count() == 2 ? VisitDot(i, x, to[0]) : VisitWhole(i, x);
      case O::kConvolution:
        return VisitConvolution(i, x, to[0]);
      case O::kWhile:
        return VisitWhile(i, *x[0], to);
      case O::kConditional:
        return VisitConditional(i, x, to);
      default:
        break;
    }
    if (i.opcode() == O::kScatter) {
      Value operands;
      for (const Value* operand : x) operands.push_back((*operand)[0]);
      return ScatterIntoParts(i, operands, to[0], &exchange_);
    }
    if (i.opcode() == O::kGather) {
      XC_ASSIGN_OR_RETURN(const std::optional<Leaf> sum, GatherFromParts(i, (*x[0])[0], (*x[1])[0], &exchange_));
      if (sum.has_value()) return Value{*sum};
    }
    if (const std::optional<ShardingRule> rule = IndependentDims(i)) return VisitByRule(i, x, *rule);
    if (const std::optional<Movement> movement = MovementOf(i)) return VisitMovement(i, x, *movement);
    return VisitElementwise(i, x, to);
  }

  absl::StatusOr<Value> InOne(const Leaf& leaf, const DeviceTiling& tiling) {
    XC_ASSIGN_OR_RETURN(const Leaf lies, In(leaf, tiling));
    return Value{lies};
  }

  // What has no rule is computed whole.
  absl::StatusOr<Value> VisitWhole(const HloInstruction& i, const Operands& x) {
    std::vector<HloInstruction*> operands;
    for (size_t o = 0; o < x.size(); ++o) {
      XC_ASSIGN_OR_RETURN(operands.emplace_back(), Whole(i.operand(o), *x[o]));
    }
    HloInstruction* const whole = to_->Add(i.CloneWith(i.shape(), operands));
    whole->mutable_attributes()->Erase(AttrKind::kSharding);
    return Taken(whole);
  }

  absl::StatusOr<Value> VisitElementwise(const HloInstruction& i, const Operands& x,
                                         const std::vector<DeviceTiling>& to) {
    bool elementwise = i.IsElementwise() && !x.empty() && i.shape().IsArray() && !to[0].IsReplicated();
    for (const HloInstruction* operand : i.operands()) {
      const Shape& shape = operand->shape();
      elementwise &= shape.IsArray() && (SameDims(shape, i.shape()) || shape.rank() == 0);
    }
    if (!elementwise) return VisitWhole(i, x);
    std::vector<HloInstruction*> operands;
    for (const Value* operand : x) {
      if ((*operand)[0].tiling.rank() == 0) {
        operands.push_back((*operand)[0].part);
      } else {
        XC_ASSIGN_OR_RETURN(const Leaf leaf, In((*operand)[0], to[0]));
        operands.push_back(leaf.part);
      }
    }
    return Add(i, operands, to);
  }

  // A computation of one parameter, of which devices have parts by `from`, and of whose result they get parts by
  // `into`.
  absl::StatusOr<HloComputation*> Partitioned(const HloComputation& whole, const std::vector<DeviceTiling>& from,
                                              const std::vector<DeviceTiling>& into) {
    size_t leaf = 0;
    XC_ASSIGN_OR_RETURN(const Shape shape, Cut(whole.parameter(0)->shape(), from, &leaf));
    HloComputation* const before = to_;
    to_ = module_->AddComputation(whole.name());
    Value parameter = Taken(to_->Add(HloInstruction::CreateParameter(0, shape, whole.parameter(0)->name())));
    for (size_t l = 0; l < from.size(); ++l) parameter[l].tiling = from[l];
    XC_ASSIGN_OR_RETURN(Value result, Emit(whole, {std::move(parameter)}));
    for (size_t l = 0; l < result.size(); ++l) {
      XC_ASSIGN_OR_RETURN(result[l], In(result[l], into[l]));
    }
    leaf = 0;
    to_->set_root(Joined(whole.root()->shape(), result, &leaf));
    return std::exchange(to_, before);
  }

  absl::StatusOr<Value> VisitWhile(const HloInstruction& i, Value state, const std::vector<DeviceTiling>& tilings) {
    for (size_t l = 0; l < state.size(); ++l) {
      XC_ASSIGN_OR_RETURN(state[l], In(state[l], tilings[l]));
    }
    XC_ASSIGN_OR_RETURN(HloComputation* const condition,
                        Partitioned(*i.while_condition(), tilings, {DeviceTiling::Replicated(0)}));
    XC_ASSIGN_OR_RETURN(HloComputation* const body, Partitioned(*i.while_body(), tilings, tilings));
    size_t leaf = 0;
    HloInstruction* loop = nullptr;
    XC_ASSIGN_OR_RETURN(Value value, Add(i, {Joined(i.shape(), state, &leaf)}, tilings, &loop));
    loop->SetCalledComputation(0, condition);
    loop->SetCalledComputation(1, body);
    return value;
  }

  absl::StatusOr<Value> VisitConditional(const HloInstruction& i, const Operands& x,
                                         const std::vector<DeviceTiling>& tilings) {
    std::vector<HloInstruction*> operands = {(*x[0])[0].part};
    std::vector<HloComputation*> branches;
    for (size_t b = 0; b + 1 < x.size(); ++b) {
      size_t leaf = 0;
      operands.push_back(Joined(i.operand(static_cast<int64_t>(b) + 1)->shape(), *x[b + 1], &leaf));
      XC_ASSIGN_OR_RETURN(branches.emplace_back(),
                          Partitioned(*i.called(static_cast<int64_t>(b)), TilingsOf(*x[b + 1]), tilings));
    }
    HloInstruction* conditional = nullptr;
    XC_ASSIGN_OR_RETURN(Value value, Add(i, operands, tilings, &conditional));
    for (size_t b = 0; b < branches.size(); ++b) {
      conditional->SetCalledComputation(static_cast<int64_t>(b), branches[b]);
    }
    return value;
  }

  absl::StatusOr<Value> VisitBarrier(const HloInstruction& i, const Value& x) {
    std::vector<HloInstruction*> parts;
    for (const Leaf& leaf : x) parts.push_back(leaf.part);
    HloInstruction* const all = make::Tuple(to_, parts);
    HloInstruction* const barrier = to_->Add(i.CloneWith(all->shape(), {all}));
    Value value = x;
    for (size_t l = 0; l < value.size(); ++l) value[l].part = make::GetTupleElement(barrier, static_cast<int64_t>(l));
    return value;
  }

  absl::StatusOr<Value> VisitReshape(const HloInstruction& i, const Leaf& x) {
    DeviceTiling from = x.tiling;
    const DeviceTiling to = Reshaped(i.operand(0)->shape(), i.shape(), &from);
    XC_ASSIGN_OR_RETURN(const Leaf operand, In(x, from));
    return Add(i, {operand.part}, {to});
  }

  absl::StatusOr<Value> VisitReduce(const HloInstruction& i, const Operands& x) {
    const size_t count = x.size() / 2;
    DeviceTiling from = (*x[0])[0].tiling;
    Digits reduced;
    for (const int64_t d : i.dimensions()) reduced.insert(reduced.end(), from.dim(d).begin(), from.dim(d).end());
    O op = O::kAdd;
    const Int64List order = from.order();
    if (!reduced.empty() && !IsPlainReduction(i, &op)) {
      reduced.clear();
      for (const int64_t d : i.dimensions()) from.Clear(d);
    }
    std::vector<HloInstruction*> operands;
    for (size_t o = 0; o < x.size(); ++o) {
      XC_ASSIGN_OR_RETURN(const Leaf leaf, In((*x[o])[0], o < count ? from : DeviceTiling::Replicated(0)));
      operands.push_back(leaf.part);
    }
    DeviceTiling to = DeviceTiling::Replicated(from.rank() - i.dimensions().size());
    int64_t next = 0;
    for (int64_t d = 0; d < from.rank(); ++d) {
      if (!HasDim(i.dimensions(), d)) TakeCut(from, d, &to, next++);
    }
    XC_ASSIGN_OR_RETURN(Value value, Add(i, operands, std::vector<DeviceTiling>(count, to)));
    if (!reduced.empty()) value[0].part = exchange_.AllReduce(value[0].part, op, reduced, order);
    return value;
  }

  // Batch and free dimensions are cut as the result is; what both operands can be cut by besides is summed over.
  absl::StatusOr<Value> VisitDot(const HloInstruction& i, const Operands& x, const DeviceTiling& to) {
    const DotDims& dims = i.dot_dims();
    const Leaf &lhs = (*x[0])[0], &rhs = (*x[1])[0];
    DeviceTiling l = DeviceTiling::Replicated(lhs.tiling.rank()), r = DeviceTiling::Replicated(rhs.tiling.rank());
    int64_t next = 0;
    for (size_t b = 0; b < dims.lhs_batch.size(); ++b, ++next) {
      TakeCut(to, next, &l, dims.lhs_batch[b]);
      TakeCut(to, next, &r, dims.rhs_batch[b]);
    }
    for (int64_t d = 0; d < l.rank(); ++d) {
      if (!HasDim(dims.lhs_batch, d) && !HasDim(dims.lhs_contracting, d)) TakeCut(to, next++, &l, d);
    }
    for (int64_t d = 0; d < r.rank(); ++d) {
      if (!HasDim(dims.rhs_batch, d) && !HasDim(dims.rhs_contracting, d)) TakeCut(to, next++, &r, d);
    }
    Digits used;
    for (int64_t d = 0; d < to.rank(); ++d) used.insert(used.end(), to.dim(d).begin(), to.dim(d).end());
    Int64List order =
        to.IsReplicated() ? lhs.tiling.IsReplicated() ? rhs.tiling.order() : lhs.tiling.order() : to.order();
    Digits summed;
    for (size_t c = 0; c < dims.lhs_contracting.size() && i.type() != ElementType::kPred; ++c) {
      const int64_t ld = dims.lhs_contracting[c], rd = dims.rhs_contracting[c];
      const Digits of_l = lhs.tiling.order() == order ? lhs.tiling.dim(ld) : Digits();
      const Digits of_r = rhs.tiling.order() == order ? rhs.tiling.dim(rd) : Digits();
      for (size_t n = 0; n < std::max(of_l.size(), of_r.size()); ++n) {
        const DeviceTiling::Digit digit = n < of_l.size() ? of_l[n] : of_r[n];
        const bool agree = n >= of_l.size() || n >= of_r.size() || of_l[n] == of_r[n];
        if (!agree || std::find(used.begin(), used.end(), digit) != used.end()) break;
        l.set_order(order);
        r.set_order(order);
        l.Append(ld, digit);
        r.Append(rd, digit);
        used.push_back(digit);
        summed.push_back(digit);
      }
    }
    XC_ASSIGN_OR_RETURN(const Leaf of_lhs, In(lhs, l));
    XC_ASSIGN_OR_RETURN(const Leaf of_rhs, In(rhs, r));
    XC_ASSIGN_OR_RETURN(Value value, Add(i, {of_lhs.part, of_rhs.part}, {to}));
    if (!summed.empty()) value[0].part = exchange_.AllReduce(value[0].part, O::kAdd, summed, order);
    return value;
  }

  absl::StatusOr<Value> VisitConvolution(const HloInstruction& i, const Operands& x, DeviceTiling to) {
    const ConvDims& dims = i.conv_dims();
    if (i.attr_or<AttrKind::kFeatureGroupCount>(1) != 1) to.Clear(dims.output_feature);
    if (i.attr_or<AttrKind::kBatchGroupCount>(1) != 1) to = DeviceTiling::Replicated(to.rank());
    DeviceTiling l = DeviceTiling::Replicated(to.rank()), r = l;
    TakeCut(to, dims.output_batch, &l, dims.input_batch);
    TakeCut(to, dims.output_feature, &r, dims.kernel_output_feature);
    XC_ASSIGN_OR_RETURN(const Leaf lhs, In((*x[0])[0], l));
    XC_ASSIGN_OR_RETURN(const Leaf rhs, In((*x[1])[0], r));
    return Add(i, {lhs.part, rhs.part}, {to});
  }

  absl::StatusOr<Value> VisitByRule(const HloInstruction& i, const Operands& x, const ShardingRule& rule) {
    std::vector<DeviceTiling> given;
    for (const Value* operand : x) given.push_back((*operand)[0].tiling);
    XC_ASSIGN_OR_RETURN(const RuleTilings tilings, TilingsByRule(rule, i, given));
    std::vector<HloInstruction*> operands;
    for (size_t o = 0; o < x.size(); ++o) {
      XC_ASSIGN_OR_RETURN(const Leaf leaf, In((*x[o])[0], tilings.operands[o]));
      operands.push_back(leaf.part);
    }
    if (const auto offsets = CountedOffsets(i, tilings.operands[0]); !offsets.empty()) {
      XC_ASSIGN_OR_RETURN(operands[1], exchange_.parts().Offset(operands[1], i.gather_dims().index_vector_dim, offsets,
                                                                tilings.operands[0], i.operand(0)->shape()));
    }
    HloInstruction* part = nullptr;
    XC_ASSIGN_OR_RETURN(Value value, Add(i, operands, tilings.results, &part));
    FitAttributes(part, tilings.operands[0]);
    return value;
  }

  absl::StatusOr<Value> VisitMovement(const HloInstruction& i, const Operands& x, const Movement& movement) {
    DeviceTiling tiling = (*x[0])[0].tiling;
    for (int64_t o = 1; o < movement.arrays; ++o) {
      if (tiling.IsReplicated()) tiling = (*x[o])[0].tiling;
    }
    if (i.opcode() == O::kReverse) return VisitReverse(i, (*x[0])[0]);
    if (i.opcode() == O::kSlice) {
      XC_ASSIGN_OR_RETURN(const std::optional<Leaf> one, SliceFromParts(i, (*x[0])[0], &exchange_));
      if (one.has_value()) return Value{*one};
    }
    KeepCuts(i, movement, &tiling);
    std::vector<HloInstruction*> operands;
    for (size_t o = 0; o < x.size(); ++o) {
      const Leaf& leaf = (*x[o])[0];
      const bool is_array = static_cast<int64_t>(o) < movement.arrays;
      XC_ASSIGN_OR_RETURN(const Leaf lies, In(leaf, is_array ? tiling : DeviceTiling::Replicated(leaf.tiling.rank())));
      operands.push_back(lies.part);
    }
    HloInstruction* part = nullptr;
    XC_ASSIGN_OR_RETURN(Value value, Add(i, operands, std::vector<DeviceTiling>(i.shape().LeafCount(), tiling), &part));
    FitAttributes(part, tiling);
    return value;
  }

  absl::StatusOr<Value> VisitReverse(const HloInstruction& i, const Leaf& x) {
    XC_ASSIGN_OR_RETURN(Value value, Add(i, {x.part}, {x.tiling}));
    for (const int64_t d : i.dimensions()) {
      const int64_t last = x.tiling.Tiles(d) - 1;
      if (last == 0) continue;
      value[0].part = exchange_.Permute(value[0].part, x.tiling, d, [&](int64_t tile) { return last - tile; });
    }
    return value;
  }

  HloModule* const module_;
  HloComputation* const entry_;
  HloComputation* to_ = entry_;  // where instructions are added
  const EntryTilings& tilings_;
  const int64_t devices_;
  DeviceExchange exchange_{devices_};
  absl::flat_hash_map<const HloInstruction*, DeviceTiling> wanted_;  // of what would be whole
  absl::flat_hash_map<const HloInstruction*, Value> given_;          // what stands for parameters
};

}  // namespace

absl::Status PartitionModule(HloModule* module, const EntryTilings& tilings) {
  return Partitioner(module, tilings).Run();
}

}  // namespace xc
