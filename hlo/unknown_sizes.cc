#include "hlo/unknown_sizes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

constexpr int64_t kUnknown = Shape::kUnknownSize;

absl::Status Error(const HloInstruction& i, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(DescribeInstruction(i), ": ", what));
}

// `shape` with the layouts that `declared`, which is like it, has.
Shape WithLayoutsOf(Shape shape, const Shape& declared) {
  if (declared.has_layout()) shape.set_layout(declared.layout());
  for (size_t i = 0; i < shape.mutable_tuple_shapes().size(); ++i) {
    shape.mutable_tuple_shapes()[i] =
        WithLayoutsOf(std::move(shape.mutable_tuple_shapes()[i]), declared.tuple_shape(i));
  }
  return shape;
}

bool HasUnknownSizes(const HloComputation& computation) {
  const auto& all = computation.instructions();
  return std::any_of(all.begin(), all.end(), [](const auto& i) { return i->shape().has_unknown_size(); });
}

class Binder {
 public:
  // The computation, called with arguments of these shapes.
  absl::Status Bind(HloComputation* computation, const std::vector<Shape>& arguments) {
    const auto [it, fresh] = bound_.try_emplace(computation, arguments);
    if (!fresh) {
      if (it->second == arguments) return absl::OkStatus();
      return absl::UnimplementedError(
          absl::StrCat("computation ", computation->name(), ", which has unknown sizes (?), is called for several"));
    }
    if (static_cast<int64_t>(arguments.size()) != computation->parameter_count()) {
      return absl::InvalidArgumentError(absl::StrCat("computation ", computation->name(), " takes ",
                                                     computation->parameter_count(), " arguments, and is given ",
                                                     arguments.size()));
    }
    for (HloInstruction* parameter : computation->parameters()) {
      const Shape& have = arguments[parameter->parameter_number()];
      if (!Agree(have, parameter->shape())) {
        return Error(*parameter, absl::StrCat("its argument is ", have.ToString(false)));
      }
      *parameter->mutable_shape() = WithLayoutsOf(WithoutLayout(have), parameter->shape());
    }
    for (HloInstruction* i : computation->PostOrder()) {
      if (i->opcode() == HloOpcode::kParameter) continue;
      XC_RETURN_IF_ERROR(BindCalled(i));
      XC_RETURN_IF_ERROR(BindInstruction(i));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status BindCalled(HloInstruction* i) {
    const auto& called = i->called_computations();
    std::vector<Shape> operands;
    for (const HloInstruction* operand : i->operands()) operands.push_back(operand->shape());
    for (size_t c = 0; c < called.size(); ++c) {
      if (!bound_.contains(called[c]) && !HasUnknownSizes(*called[c])) continue;
      switch (i->opcode()) {
        case HloOpcode::kWhile:
        case HloOpcode::kCall:
        case HloOpcode::kFusion:
          XC_RETURN_IF_ERROR(Bind(called[c], operands));
          break;
        case HloOpcode::kConditional:
          if (c + 1 >= operands.size()) return Error(*i, "a branch has no argument");
          XC_RETURN_IF_ERROR(Bind(called[c], {operands[c + 1]}));
          break;
        default:
          return Error(*i, absl::StrCat("computation ", called[c]->name(), " has unknown sizes (?)"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status BindInstruction(HloInstruction* i) {
    const Shape declared = i->shape();
    if (i->opcode() == HloOpcode::kSlice) BindLimits(i);
    if (declared.IsArray() && declared.has_unknown_size()) {
      if (i->opcode() == HloOpcode::kBroadcast) BindBroadcast(i);
      if (i->opcode() == HloOpcode::kReshape || i->opcode() == HloOpcode::kDynamicReshape) BindReshape(i);
    }
    absl::StatusOr<Shape> shape = InferShape(*i);
    if (!shape.ok()) return Error(*i, shape.status().message());
    if (shape->has_unknown_size()) {
      return Error(*i, absl::StrCat(shape->ToString(false), " has an unknown size (?) that no operand determines"));
    }
    if (!Agree(*shape, declared)) {
      return Error(*i, absl::StrCat("for the sizes of its operands it is ", shape->ToString(false), ", but ",
                                    declared.ToString(false), " is written"));
    }
    // What has no unknown sizes keeps its bounded ones.
    if (declared.has_unknown_size()) *i->mutable_shape() = WithLayoutsOf(*std::move(shape), declared);
    return absl::OkStatus();
  }

  static void Set(int64_t d, int64_t size, Shape* shape) {
    shape->set_dim(d, size);
    shape->set_dynamic_dim(d, false);
  }

  // A slice of all of a dimension.
  static void BindLimits(HloInstruction* i) {
    const SliceAttr* slice = i->FindAttr<AttrKind::kSlice>();
    const Shape& x = i->operand(0)->shape();
    if (slice == nullptr || slice->limits.size() != x.dims().size()) return;
    SliceAttr known = *slice;
    for (size_t d = 0; d < known.limits.size(); ++d) {
      if (known.limits[d] == kUnknown) known.limits[d] = x.dim(d);
    }
    i->set_attr<AttrKind::kSlice>(std::move(known));
  }

  static void BindBroadcast(HloInstruction* i) {
    const Shape& x = i->operand(0)->shape();
    const Int64List* dims = i->FindAttr<AttrKind::kDimensions>();
    if (dims == nullptr) return;  // shape inference says what is wrong
    for (size_t d = 0; d < dims->size() && d < x.dims().size(); ++d) {
      const int64_t to = (*dims)[d];
      if (to < 0 || to >= i->shape().rank()) return;
      if (i->shape().dim(to) == kUnknown) Set(to, x.dim(d), i->mutable_shape());
    }
  }

  // The one size that is unknown follows from the number of elements.
  static void BindReshape(HloInstruction* i) {
    if (i->operand_count() == 0) return;
    const Shape& x = i->operand(0)->shape();
    if (!x.IsArray()) return;
    __int128 others = 1;
    int64_t unknown = -1;
    for (int64_t d = 0; d < i->shape().rank(); ++d) {
      if (i->shape().dim(d) == kUnknown && unknown >= 0) return;
      if (i->shape().dim(d) == kUnknown) {
        unknown = d;
      } else {
        others = std::min<__int128>(others * i->shape().dim(d), INT64_MAX);
      }
    }
    if (unknown < 0 || others == 0 || x.ElementCount() % others != 0) return;
    Set(unknown, static_cast<int64_t>(x.ElementCount() / others), i->mutable_shape());
  }

  absl::flat_hash_map<const HloComputation*, std::vector<Shape>> bound_;
};

// Gives the arrays of a parameter's shape the sizes that they do not have; *leaf is the number of the next one.
absl::Status BindLeaves(const HloInstruction& parameter,
                        const std::function<absl::StatusOr<Shape>(int64_t argument, const Shape& type)>& argument_shape,
                        int64_t* leaf, Shape* shape) {
  if (shape->IsTuple()) {
    for (Shape& element : shape->mutable_tuple_shapes()) {
      XC_RETURN_IF_ERROR(BindLeaves(parameter, argument_shape, leaf, &element));
    }
    return absl::OkStatus();
  }
  const int64_t number = (*leaf)++;
  if (!shape->has_unknown_size()) return absl::OkStatus();
  const absl::StatusOr<Shape> given = argument_shape(number, *shape);
  if (!given.ok()) return Error(parameter, given.status().message());
  XC_RETURN_IF_ERROR(ValidateShape(*given));
  if (given->has_unknown_size()) return Error(parameter, "the argument's shape has an unknown size, too");
  *shape = WithLayoutsOf(*given, *shape);
  return absl::OkStatus();
}

}  // namespace

absl::Status BindUnknownSizes(
    const std::function<absl::StatusOr<Shape>(int64_t argument, const Shape& type)>& argument_shape,
    HloModule* module) {
  const auto& all = module->computations();
  if (std::none_of(all.begin(), all.end(), [](const auto& c) { return HasUnknownSizes(*c); })) return absl::OkStatus();
  std::vector<Shape> arguments;
  int64_t leaf = 0;
  for (const HloInstruction* parameter : module->entry()->parameters()) {
    Shape shape = parameter->shape();
    XC_RETURN_IF_ERROR(BindLeaves(*parameter, argument_shape, &leaf, &shape));
    arguments.push_back(std::move(shape));
  }
  XC_RETURN_IF_ERROR(Binder().Bind(module->entry(), arguments));
  // Nobody calls what is left with unknown sizes.
  module->RemoveUnusedComputations();
  ModuleConfig& config = module->config();
  if (!config.has_entry_layout) return absl::OkStatus();
  for (size_t i = 0; i < config.entry_parameter_layouts.size() && i < arguments.size(); ++i) {
    Shape& layout = config.entry_parameter_layouts[i];
    if (layout.has_unknown_size() && Agree(arguments[i], layout)) {
      layout = WithLayoutsOf(WithoutLayout(arguments[i]), layout);
    }
  }
  const Shape& result = module->entry()->root()->shape();
  if (config.entry_result_layout.has_unknown_size() && Agree(result, config.entry_result_layout)) {
    config.entry_result_layout = WithLayoutsOf(WithoutLayout(result), config.entry_result_layout);
  }
  return absl::OkStatus();
}

}  // namespace xc
