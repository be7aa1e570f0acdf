// Collectives among the devices that run the module, as custom calls of the runtime's (backends/runtime/collectives.h).
// Start ops do all the work; done ops pass it on.
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/base/status.h"
#include "hlo/devices/device_groups.h"

namespace xc {
namespace {

using O = HloOpcode;

// Values that are combined one after the other by a computation that the runtime does not have.
constexpr int64_t kMaxUnrolled = 64;

bool IsStartOp(O opcode) {
  return opcode == O::kAllReduceStart || opcode == O::kAllGatherStart || opcode == O::kCollectivePermuteStart;
}

// The op without "-start".
std::string NameOf(O opcode) {
  absl::string_view name = OpcodeName(opcode);
  if (IsStartOp(opcode)) name.remove_suffix(6);
  return std::string(name);
}

// What the runtime has for `combiner` over `type`, or "".
std::string ReductionOf(const HloComputation* combiner, ElementType type) {
  if (!IsIntegral(type) && type != ElementType::kPred && type != ElementType::kF16 && type != ElementType::kBF16 &&
      type != ElementType::kF32 && type != ElementType::kF64 && type != ElementType::kC64 &&
      type != ElementType::kC128) {
    return "";
  }
  if (StorageBytes(type) == 1 && type != ElementType::kPred && type != ElementType::kS8 && type != ElementType::kU8) {
    return "";
  }
  for (O opcode : {O::kAdd, O::kMultiply, O::kMaximum, O::kMinimum, O::kAnd, O::kOr, O::kXor}) {
    if (IsCombiner(combiner, opcode)) return std::string(OpcodeName(opcode));
  }
  return "";
}

class Expander {
 public:
  Expander(HloInstruction* collective, std::vector<Int64List> groups)
      : i_(collective), computation_(collective->parent()), groups_(std::move(groups)) {}

  // The results: one for each operand, or the one of a ragged-all-to-all.
  absl::StatusOr<std::vector<HloInstruction*>> Results() {
    switch (i_->opcode()) {
      case O::kAllReduce:
      case O::kAllReduceStart:
        return Reduced();
      case O::kReduceScatter:
        return Scattered();
      case O::kCollectivePermute:
      case O::kCollectivePermuteStart: {
        const auto* slices = i_->FindAttr<AttrKind::kSliceSizesList>();
        if (slices != nullptr && !slices->empty()) {
          return absl::UnimplementedError(absl::StrCat(i_->name(), ": permutations of slices run on one device only"));
        }
        XC_ASSIGN_OR_RETURN(const Int64List pairs, DevicePairs(*i_));
        return Call(NameOf(i_->opcode()), i_->operands(), ResultShapes(),
                    absl::StrCat(", pairs = array<i64", pairs.empty() ? "" : ": ", absl::StrJoin(pairs, ", "), ">"));
      }
      default:
        return Call(NameOf(i_->opcode()), i_->operands(), ResultShapes(), Dimension());
    }
  }

 private:
  std::string Dimension() const {
    const auto* dims = i_->FindAttr<AttrKind::kDimensions>();
    return dims == nullptr || dims->empty() ? "" : absl::StrCat(", dimension = ", (*dims)[0], " : i64");
  }

  // The arrays that the collective gives.
  std::vector<Shape> ResultShapes() const {
    const Shape* shape = &i_->shape();
    if (i_->opcode() == O::kAllGatherStart || i_->opcode() == O::kCollectivePermuteStart) {
      shape = &shape->tuple_shape(1);
    }
    if (!shape->IsTuple()) return {WithoutLayout(*shape)};
    std::vector<Shape> shapes;
    for (const Shape& part : shape->tuple_shapes()) shapes.push_back(WithoutLayout(part));
    return shapes;
  }

  std::vector<HloInstruction*> Call(absl::string_view op, const std::vector<HloInstruction*>& operands,
                                    const std::vector<Shape>& shapes, absl::string_view more) {
    std::string name;
    for (char c : i_->name()) name += absl::ascii_isalnum(c) || c == '.' || c == '-' ? c : '_';
    Int64List members, sizes;
    for (const Int64List& group : groups_) {
      members.insert(members.end(), group.begin(), group.end());
      sizes.push_back(static_cast<int64_t>(group.size()));
    }
    const bool one = shapes.size() == 1 && !i_->shape().IsTuple();
    HloInstruction* call = computation_->Add(O::kCustomCall, one ? shapes[0] : Shape::Tuple(shapes), operands);
    call->set_attr<AttrKind::kCustomCallTarget>("xc.collective");
    call->set_attr<AttrKind::kCustomCallHasSideEffect>(true);
    std::vector<Shape> row_major;
    for (const HloInstruction* operand : operands) {
      row_major.push_back(WithoutLayout(operand->shape()));
      row_major.back().set_layout(Layout::Descending(operand->shape().rank()));
    }
    call->set_attr<AttrKind::kOperandLayoutConstraints>(std::move(row_major));
    BackendConfig config;
    config.text = absl::StrCat("{op = \"", op, "\", name = \"", name, "\", id = ", i_->id(),
                               " : i64, devices = ", DeviceCount(*i_->module()),
                               " : i64, groups = array<i64: ", absl::StrJoin(members, ", "),
                               ">, sizes = array<i64: ", absl::StrJoin(sizes, ", "), ">", more, "}");
    call->set_attr<AttrKind::kBackendConfig>(std::move(config));
    if (const auto* metadata = i_->FindAttr<AttrKind::kMetadata>()) call->set_attr<AttrKind::kMetadata>(*metadata);
    last_ = call;
    if (first_ == nullptr) first_ = call;
    if (one) return {call};
    std::vector<HloInstruction*> results;
    for (size_t r = 0; r < shapes.size(); ++r) results.push_back(make::GetTupleElement(call, r));
    return results;
  }

  absl::StatusOr<int64_t> GroupSize() const {
    for (const Int64List& group : groups_) {
      if (group.size() != groups_[0].size() || group.size() > kMaxUnrolled) {
        return absl::UnimplementedError(absl::StrCat(i_->name(), ": a computation of its own combines at most ",
                                                     kMaxUnrolled, " devices, in groups of one size"));
      }
    }
    return static_cast<int64_t>(groups_[0].size());
  }

  // x[:, …, r, …, :] along dimension d for each r, combined in order; the dimension goes.
  HloInstruction* Fold(HloInstruction* x, int64_t d) {
    const Int64List& dims = x->shape().dims();
    Int64List rest = dims;
    rest.erase(rest.begin() + d);
    HloInstruction* sum = nullptr;
    for (int64_t r = 0; r < dims[d]; ++r) {
      Int64List starts(dims.size(), 0), limits = dims, strides(dims.size(), 1);
      starts[d] = r;
      limits[d] = r + 1;
      HloInstruction* part = make::Reshape(make::Slice(x, starts, limits, strides), rest);
      if (sum == nullptr) {
        sum = part;
        continue;
      }
      HloInstruction* next = computation_->Add(O::kMap, Shape(part->type(), rest), {sum, part});
      next->set_attr<AttrKind::kDimensions>(make::Iota(rest.size()));
      next->AddCalledComputation(i_->to_apply());
      sum = next;
    }
    return sum;
  }

  absl::StatusOr<std::vector<HloInstruction*>> Reduced() {
    const std::string reduction = ReductionOf(i_->to_apply(), i_->operand(0)->type());
    bool one_type = true;
    for (const HloInstruction* operand : i_->operands()) one_type &= operand->type() == i_->operand(0)->type();
    if (!reduction.empty() && one_type) {
      return Call("all-reduce", i_->operands(), ResultShapes(), absl::StrCat(", reduction = \"", reduction, "\""));
    }
    XC_ASSIGN_OR_RETURN(const int64_t n, GroupSize());
    std::vector<HloInstruction*> stacked;
    std::vector<Shape> shapes;
    for (HloInstruction* operand : i_->operands()) {
      Int64List dims = operand->shape().dims();
      dims.insert(dims.begin(), 1);
      stacked.push_back(make::Reshape(operand, dims));
      dims[0] = n;
      shapes.emplace_back(operand->type(), dims);
    }
    std::vector<HloInstruction*> results = Call("all-gather", stacked, shapes, ", dimension = 0 : i64");
    for (HloInstruction*& result : results) result = Fold(result, 0);
    return results;
  }

  absl::StatusOr<std::vector<HloInstruction*>> Scattered() {
    const std::string reduction = ReductionOf(i_->to_apply(), i_->operand(0)->type());
    bool one_type = true;
    for (const HloInstruction* operand : i_->operands()) one_type &= operand->type() == i_->operand(0)->type();
    if (!reduction.empty() && one_type) {
      return Call("reduce-scatter", i_->operands(), ResultShapes(),
                  absl::StrCat(Dimension(), ", reduction = \"", reduction, "\""));
    }
    XC_ASSIGN_OR_RETURN(const int64_t n, GroupSize());
    const int64_t d = i_->dimensions()[0];
    std::vector<HloInstruction*> split;
    std::vector<Shape> shapes;
    for (HloInstruction* operand : i_->operands()) {
      Int64List dims = operand->shape().dims();
      dims[d] /= n;
      dims.insert(dims.begin() + d, n);
      split.push_back(make::Reshape(operand, dims));
      shapes.emplace_back(operand->type(), dims);
    }
    std::vector<HloInstruction*> results =
        Call("all-to-all", split, shapes, absl::StrCat(", dimension = ", d, " : i64"));
    for (HloInstruction*& result : results) result = Fold(result, d);
    return results;
  }

 public:
  // The calls that were made, for control dependencies.
  HloInstruction* first() const { return first_; }
  HloInstruction* last() const { return last_; }

 private:
  HloInstruction* i_;
  HloComputation* computation_;
  std::vector<Int64List> groups_;
  HloInstruction *first_ = nullptr, *last_ = nullptr;
};

// A value of the shape of `start` whose done op gives `results`.
HloInstruction* AsStart(HloInstruction* start, const std::vector<HloInstruction*>& results) {
  HloComputation* computation = start->parent();
  const auto joined = [&](const std::vector<HloInstruction*>& values, const Shape& like) {
    return values.size() == 1 && !like.IsTuple() ? values[0] : make::Tuple(computation, values);
  };
  const Shape& shape = start->shape();
  if (start->opcode() != O::kAllGatherStart && start->opcode() != O::kCollectivePermuteStart) {
    return joined(results, shape);
  }
  std::vector<HloInstruction*> parts = {joined(start->operands(), shape.tuple_shape(0)),
                                        joined(results, shape.tuple_shape(1))};
  for (int64_t i = 2; i < shape.tuple_size(); ++i) {
    const Shape& context = shape.tuple_shape(i);
    if (!context.IsArray()) return nullptr;
    parts.push_back(make::Full(computation, context.type(), context.dims(), 0));
  }
  return make::Tuple(computation, parts);
}

}  // namespace

absl::StatusOr<bool> ExpandCollectives(HloModule* module, PassContext& context) {
  if (DeviceCount(*module) <= 1) return false;
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    std::vector<HloInstruction*> replaced;
    for (HloInstruction* i : computation->PostOrder()) {
      HloInstruction* value = nullptr;
      HloInstruction *first = nullptr, *last = nullptr;
      if (i->opcode() == O::kAllReduceDone) {
        value = i->operand(0);
      } else if (i->opcode() == O::kAllGatherDone || i->opcode() == O::kCollectivePermuteDone) {
        value = make::GetTupleElement(i->operand(0), 1);
      } else if (IsCollective(i->opcode())) {
        XC_ASSIGN_OR_RETURN(std::vector<Int64List> groups, DeviceGroups(*i));
        Expander expander(i, std::move(groups));
        XC_ASSIGN_OR_RETURN(const std::vector<HloInstruction*> results, expander.Results());
        value = AsStart(i, results);
        first = expander.first();
        last = expander.last();
      }
      if (value == nullptr) continue;
      const auto before = i->control_predecessors(), after = i->control_successors();
      i->RemoveControlDependencies();
      for (HloInstruction* b : before) {
        if (first != nullptr) first->AddControlPredecessor(b);
      }
      for (HloInstruction* a : after) {
        if (last != nullptr) a->AddControlPredecessor(last);
      }
      i->ReplaceAllUsesWith(value);
      context.Count(absl::StrCat("collectives.", OpcodeName(i->opcode())));
      replaced.push_back(i);
    }
    for (auto it = replaced.rbegin(); it != replaced.rend(); ++it) computation->Remove(*it);
    changed |= !replaced.empty();
  }
  return changed;
}

}  // namespace xc
