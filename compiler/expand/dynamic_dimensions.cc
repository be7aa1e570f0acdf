// The values of a module with run-time sizes: how they pass through tuples, loops, branches and the result. What single
// ops do with them is in dynamic_ops.cc and dynamic_moves.cc.
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "compiler/expand/dynamic_ops.h"
#include "compiler/expand/expand.h"
#include "compiler/simplify/simplify.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using dynamic::Bounds;
using dynamic::DynamicArray;

// An array and its sizes; or, in `array`, a tuple or token in the form that WithSizes gives its shape.
using Value = DynamicArray;

// The shape with a place for each size beside its array.
Shape WithSizes(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.tuple_shapes()) elements.push_back(WithSizes(element));
    return Shape::Tuple(std::move(elements));
  }
  if (!shape.is_dynamic()) return WithoutLayout(shape);
  std::vector<Shape> parts = {Bounds(shape)};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.is_dynamic_dim(d)) parts.push_back(Shape::Scalar(ElementType::kS32));
  }
  return Shape::Tuple(std::move(parts));
}

class Expansion {
 public:
  Expansion(HloModule* module, const PassContext& context) : module_(module), context_(context) {}

  absl::Status Run() {
    XC_ASSIGN_OR_RETURN(HloComputation * entry, Expanded(module_->entry(), /*is_entry=*/true));
    module_->set_entry(entry);
    module_->config().has_entry_layout = false;
    module_->RemoveUnusedComputations();
    return absl::OkStatus();
  }

 private:
  using Values = absl::flat_hash_map<const HloInstruction*, Value>;

  // The value as one, in the form of WithSizes(shape).
  static Op Packed(HloBuilder& b, const Value& value, const Shape& shape) {
    if (!shape.IsArray() || !shape.is_dynamic()) return value.array;
    std::vector<Op> parts = {value.array};
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (shape.is_dynamic_dim(d)) parts.push_back(dynamic::SizeOf(b, value, d));
    }
    return b.Tuple(parts);
  }

  static Value Unpacked(HloBuilder& b, Op packed, const Shape& shape) {
    if (!shape.IsArray() || !shape.is_dynamic()) return {packed, {}};
    Value value = {b.GetTupleElement(packed, 0), dynamic::Sizes(shape.rank())};
    int64_t next = 1;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (shape.is_dynamic_dim(d)) value.sizes[d] = b.GetTupleElement(packed, next++);
    }
    return value;
  }

  // The tuple `value` of `shape` with `convert` applied to what stands for its arrays that have sizes.
  template <typename F>
  static Op ForDynamic(HloBuilder& b, Op value, const Shape& shape, F convert) {
    if (!shape.is_dynamic()) return value;
    if (shape.IsArray()) return convert(value, shape);
    std::vector<Op> elements;
    for (int64_t i = 0; i < shape.tuple_size(); ++i) {
      elements.push_back(ForDynamic(b, b.GetTupleElement(value, i), shape.tuple_shape(i), convert));
    }
    return b.Tuple(elements);
  }

  // A value of static shape, in which all elements count, as a packed one.
  static Op Whole(HloBuilder& b, Op value, const Shape& shape) {
    return ForDynamic(b, value, shape, [&](Op array, const Shape& s) { return Packed(b, {array, {}}, s); });
  }

  // The packed value with zeros beyond the sizes.
  static Op Tidy(HloBuilder& b, Op packed, const Shape& shape) {
    return ForDynamic(b, packed, shape, [&](Op array, const Shape& s) {
      Value value = Unpacked(b, array, s);
      value.array = dynamic::ZeroFilled(b, value);
      return Packed(b, value, s);
    });
  }

  // The computation on such values; the same for every caller.
  absl::StatusOr<HloComputation*> Expanded(const HloComputation* computation, bool is_entry = false) {
    if (auto it = done_.find(computation); it != done_.end()) return it->second;
    HloBuilder b(module_, computation->name());
    Values values;
    XC_RETURN_IF_ERROR(context_.CheckDeadline());
    for (const HloInstruction* op : computation->PostOrder()) {
      if (op->FindAttr<AttrKind::kMetadata>() != nullptr) {
        b.SetMetadata(op->metadata());
      } else {
        b.ClearMetadata();
      }
      XC_ASSIGN_OR_RETURN(Value value, ExpandedOp(b, *op, values, is_entry));
      XC_RETURN_IF_ERROR(b.status());
      for (const HloInstruction* before : op->control_predecessors()) {
        HloInstruction* to = value.array.instruction();
        HloInstruction* from = values.at(before).array.instruction();
        if (to != from) to->AddControlPredecessor(from);
      }
      values.emplace(op, std::move(value));
    }
    const HloInstruction* root = computation->root();
    Op result = Packed(b, values.at(root), root->shape());
    if (is_entry) result = Tidy(b, result, root->shape());
    XC_ASSIGN_OR_RETURN(HloComputation * made, b.BuildComputation(result));
    done_.emplace(computation, made);
    return made;
  }

  absl::StatusOr<Value> ExpandedOp(HloBuilder& b, const HloInstruction& op, const Values& values, bool is_entry) {
    const Shape& shape = op.shape();
    switch (op.opcode()) {
      case HloOpcode::kParameter:
        if (is_entry) {
          return Unpacked(b, Whole(b, b.Parameter(op.parameter_number(), Bounds(shape), op.name()), shape), shape);
        }
        return Unpacked(b, b.Parameter(op.parameter_number(), WithSizes(shape), op.name()), shape);
      case HloOpcode::kTuple:
      case HloOpcode::kOptBarrier:
      case HloOpcode::kAddDependency:
      case HloOpcode::kCall:
      case HloOpcode::kWhile:
      case HloOpcode::kConditional:
        return PassingOn(b, op, values);
      case HloOpcode::kGetTupleElement:
        return Unpacked(b, b.GetTupleElement(values.at(op.operand(0)).array, op.tuple_index()), shape);
      default:
        break;
    }
    std::vector<DynamicArray> operands;
    bool dynamic_op = op.opcode() == HloOpcode::kSetDimensionSize || op.opcode() == HloOpcode::kGetDimensionSize ||
                      op.opcode() == HloOpcode::kDynamicReshape;
    for (const HloInstruction* operand : op.operands()) {
      operands.push_back(values.at(operand));
      dynamic_op |= operand->shape().is_dynamic();
    }
    if (!dynamic_op) {
      std::vector<Op> arrays;
      for (const DynamicArray& operand : operands) arrays.push_back(operand.array);
      return Unpacked(b, Whole(b, dynamic::OnBounds(b, op, arrays), shape), shape);
    }
    dynamic::Rule rule = dynamic::MovementRule(op.opcode());
    if (rule == nullptr) rule = dynamic::ComputeRule(op.opcode());
    for (const HloInstruction* operand : op.operands()) {
      if (!operand->shape().IsArray()) rule = nullptr;
    }
    if (rule == nullptr) return dynamic::NoForm(op, "no form on arrays of run-time sizes");
    XC_ASSIGN_OR_RETURN(DynamicArray result, rule(b, op, operands));
    XC_RETURN_IF_ERROR(b.status());
    return WithSizesOfShape(b, op, std::move(result));
  }

  // Whether `shape` is an array with a place for each of the sizes.
  static bool HasPlaces(const Shape& shape, const dynamic::Sizes& sizes) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] && !shape.is_dynamic_dim(d)) return false;
    }
    return shape.IsArray();
  }

  // A rule's result with sizes where the op's shape has places for them. Tuples are those of ops on several arrays of
  // one shape, which share their sizes.
  static absl::StatusOr<Value> WithSizesOfShape(HloBuilder& b, const HloInstruction& op, DynamicArray result) {
    const Shape& shape = op.shape();
    if (!shape.IsTuple()) {
      if (!HasPlaces(shape, result.sizes)) return dynamic::NoForm(op, "a size where its shape has none");
      return result;
    }
    std::vector<Op> elements;
    for (int64_t i = 0; i < shape.tuple_size(); ++i) {
      const Shape& element = shape.tuple_shape(i);
      if (!HasPlaces(element, result.sizes)) return dynamic::NoForm(op, "a size where its shape has none");
      elements.push_back(Packed(b, {b.GetTupleElement(result.array, i), result.sizes}, element));
    }
    return Value{b.Tuple(elements), {}};
  }

  // Ops that take and give values of any shape.
  absl::StatusOr<Value> PassingOn(HloBuilder& b, const HloInstruction& op, const Values& values) {
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* operand : op.operands()) {
      operands.push_back(Packed(b, values.at(operand), operand->shape()).instruction());
    }
    XC_RETURN_IF_ERROR(b.status());
    HloInstruction* made = b.computation()->Add(op.CloneWith(WithSizes(op.shape()), operands));
    for (size_t i = 0; i < op.called_computations().size(); ++i) {
      XC_ASSIGN_OR_RETURN(HloComputation * called, Expanded(op.called(i)));
      made->SetCalledComputation(i, called);
    }
    return Unpacked(b, made, op.shape());
  }

  HloModule* module_;
  const PassContext& context_;
  absl::flat_hash_map<const HloComputation*, HloComputation*> done_;
};

// What no rule is for in the module as it is written.
absl::Status CheckForms(const HloModule& module) {
  if (!module.config().input_output_alias.empty() || !module.config().buffer_donors.empty()) {
    return absl::UnimplementedError("parameters whose memory results share, with run-time sizes");
  }
  for (const auto& computation : module.computations()) {
    for (const auto& op : computation->instructions()) {
      for (const auto& [index, leaf] : Leaves(op->shape())) {
        if (!leaf->IsArray()) continue;
        // Its bytes would be those of other dimensions.
        if (!leaf->IsRowMajor() && leaf->is_dynamic() && op.get() == module.entry()->root()) {
          return dynamic::NoForm(*op, "a result of run-time sizes that is not row-major");
        }
        for (int64_t d = 0; d < leaf->rank(); ++d) {
          if (leaf->dim(d) > std::numeric_limits<int32_t>::max() / 2 && leaf->is_dynamic_dim(d)) {
            return dynamic::NoForm(*op, "a bound that is no s32");
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool HasDynamicDimensions(const HloModule& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) {
      if (i->shape().is_dynamic() || i->opcode() == HloOpcode::kSetDimensionSize) return true;
    }
  }
  return false;
}

absl::StatusOr<bool> ExpandDynamicDimensions(HloModule* module, PassContext& context) {
  if (!HasDynamicDimensions(*module)) return false;
  XC_RETURN_IF_ERROR(CheckForms(*module));
  XC_RETURN_IF_ERROR(InlineCalls(module, context).status());
  XC_RETURN_IF_ERROR(AssignLayouts(module, context).status());
  XC_RETURN_IF_ERROR(Expansion(module, context).Run());
  if (HasDynamicDimensions(*module))
    return absl::UnimplementedError("run-time sizes in a computation that is only called");
  return true;
}

}  // namespace xc
