// Shape rules of tuples, calls, control flow, random numbers and ops whose shape is given.
#include "hlo/shape_inference/internal.h"

namespace xc::shape_inference {
namespace {

using E = ElementType;

absl::Status CheckResult(const Context& c, absl::string_view role, const HloComputation& computation, const Shape& want,
                         absl::string_view as) {
  XC_ASSIGN_OR_RETURN(Shape root, RootShape(c, role, computation));
  if (Agree(root, want)) return absl::OkStatus();
  return c.Error(role, "=", computation.name(), " returns ", root.ToString(false), ", should return ",
                 want.ToString(false), as);
}

}  // namespace

absl::Status CheckSignature(const Context& c, absl::string_view role, const HloComputation& computation,
                            absl::Span<const Shape* const> arguments) {
  if (computation.parameter_count() != static_cast<int64_t>(arguments.size())) {
    return c.Error(role, "=", computation.name(), " has ", computation.parameter_count(), " parameters, should have ",
                   arguments.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const HloInstruction* parameter = computation.parameter(i);
    if (parameter == nullptr) return c.Error(role, "=", computation.name(), " has no parameter ", i);
    if (!Agree(parameter->shape(), *arguments[i])) {
      return c.Error("parameter ", i, " of ", role, "=", computation.name(), " is ", parameter->shape().ToString(false),
                     ", should be ", arguments[i]->ToString(false));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> RootShape(const Context& c, absl::string_view role, const HloComputation& computation) {
  if (computation.root() == nullptr) return c.Error(role, "=", computation.name(), " has no root");
  return Plain(computation.root()->shape());
}

absl::StatusOr<Shape> InferSame(const Context& c) { return Plain(c.operand(0)); }

absl::StatusOr<Shape> InferGiven(const Context& c) {
  if (c.given() == nullptr) return c.Error("needs its result shape");
  return Plain(*c.given());
}

absl::StatusOr<Shape> InferTuple(const Context& c) {
  std::vector<Shape> elements;
  for (const Shape* operand : c.operands()) elements.push_back(Plain(*operand));
  return Shape::Tuple(std::move(elements));
}

absl::StatusOr<Shape> InferGetTupleElement(const Context& c) {
  const Shape& x = c.operand(0);
  if (!x.IsTuple()) return c.Error(c.Describe(0), ", should be a tuple");
  int64_t index = c.attr<AttrKind::kIndex>();
  if (index < 0 || index >= x.tuple_size()) {
    return c.Error("index is ", index, ", should be between 0 and ", x.tuple_size() - 1, " as ", c.Describe(0));
  }
  return Plain(x.tuple_shape(index));
}

absl::StatusOr<Shape> InferCall(const Context& c) {
  absl::string_view role = c.opcode() == HloOpcode::kFusion ? "calls" : "to_apply";
  XC_RETURN_IF_ERROR(CheckSignature(c, role, c.called(0), c.operands()));
  return RootShape(c, role, c.called(0));
}

absl::StatusOr<Shape> InferCustomCall(const Context& c) {
  if (const auto* constraints = c.find<AttrKind::kOperandLayoutConstraints>()) {
    if (static_cast<int64_t>(constraints->size()) != c.operand_count()) {
      return c.Error("operand_layout_constraints has ", constraints->size(), " shapes, should have one per operand, ",
                     c.operand_count());
    }
    for (int64_t i = 0; i < c.operand_count(); ++i) {
      if (!Agree((*constraints)[i], c.operand(i))) {
        return c.Error(c.Describe(i), ", its layout constraint ", (*constraints)[i].ToString(false),
                       "; both should be equal but for the layout");
      }
    }
  }
  return InferGiven(c);
}

absl::StatusOr<Shape> InferWhile(const Context& c) {
  const Shape& state = c.operand(0);
  const Shape* one[] = {&state};
  XC_RETURN_IF_ERROR(CheckSignature(c, "condition", c.called(0), one));
  XC_RETURN_IF_ERROR(CheckResult(c, "condition", c.called(0), Shape::Scalar(E::kPred), ""));
  XC_RETURN_IF_ERROR(CheckSignature(c, "body", c.called(1), one));
  XC_RETURN_IF_ERROR(CheckResult(c, "body", c.called(1), state, " as its operand"));
  return Plain(state);
}

absl::StatusOr<Shape> InferConditional(const Context& c) {
  if (c.operand_count() == 0) return c.Error("has no operands, should have a selector and one operand per branch");
  const Shape& selector = c.operand(0);
  bool two = selector.type() == E::kPred;
  if (!selector.IsScalar() || (!two && selector.type() != E::kS32))
    return c.Error(c.Describe(0), ", should be pred[] or s32[]");
  int64_t branches = c.called_count();
  if (branches == 0) return c.Error("has no branches, should have at least one");
  if (two && branches != 2) return c.Error("has ", branches, " branches, should have 2 as its selector is pred[]");
  if (c.operand_count() != branches + 1) {
    return c.Error("has ", branches, " branches and ", c.operand_count(),
                   " operands; there should be a selector and one operand per branch");
  }
  XC_ASSIGN_OR_RETURN(Shape result, RootShape(c, "branch 0", c.called(0)));
  for (int64_t i = 0; i < branches; ++i) {
    std::string role = absl::StrCat("branch ", i);
    const Shape* one[] = {&c.operand(i + 1)};
    XC_RETURN_IF_ERROR(CheckSignature(c, role, c.called(i), one));
    XC_RETURN_IF_ERROR(CheckResult(c, role, c.called(i), result, " as branch 0"));
  }
  return result;
}

absl::StatusOr<Shape> InferAfterAll(const Context& c) {
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    if (!c.operand(i).IsToken()) return c.Error(c.Describe(i), ", should be a token");
  }
  return Shape::Token();
}

absl::StatusOr<Shape> InferAddDependency(const Context& c) {
  if (!c.operand(1).IsToken()) return c.Error(c.Describe(1), ", should be a token");
  return Plain(c.operand(0));
}

absl::StatusOr<Shape> InferRng(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  RandomDistribution distribution = c.attr<AttrKind::kDistribution>();
  if (distribution == RandomDistribution::kInvalid) {
    return c.Error("distribution is rng_invalid, should be rng_uniform or rng_normal");
  }
  if (c.operand_count() != 2) return c.Error("has ", c.operand_count(), " operands, should have 2");
  E type = c.given()->type();
  if (IsComplex(type) || (distribution == RandomDistribution::kNormal && !IsFloating(type))) {
    return c.Error("the result is ", ElementTypeName(type), ", should be ",
                   distribution == RandomDistribution::kNormal ? "floating-point" : "a real type");
  }
  for (int64_t i = 0; i < 2; ++i) {
    if (!c.operand(i).IsScalar() || c.operand(i).type() != type) {
      return c.Error(c.Describe(i), ", should be ", ElementTypeName(type), "[]");
    }
  }
  return Plain(*c.given());
}

absl::StatusOr<Shape> InferRngBitGenerator(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  const Shape& state = c.operand(0);
  const Shape* given = c.given();
  if (given == nullptr) return c.Error("needs its result shape");
  const Shape* bits = given->IsTuple() && given->tuple_size() == 2 ? &given->tuple_shape(1) : given;
  if (!bits->IsArray() || (!IsIntegral(bits->type()) && !IsFloating(bits->type()))) {
    return c.Error("the result is ", given->ToString(false), ", should be (", state.ToString(false),
                   ", an array of integers or floating-point numbers)");
  }
  if (bits == given) return Plain(*given);
  return Shape::Tuple({Plain(state), Plain(*bits)});
}

absl::StatusOr<Shape> InferRngState(const Context& c) { return Shape(E::kU64, {2}); }

absl::StatusOr<Shape> InferPartitionId(const Context& c) { return Shape::Scalar(E::kU32); }

}  // namespace xc::shape_inference

namespace xc {

absl::Status CheckRandomState(const Shape& state) {
  if (state.IsArray() && state.rank() == 1) {
    const int64_t size = state.dim(0);
    if (state.type() == ElementType::kU64 && (size == 2 || size == 3)) return absl::OkStatus();
    if (state.type() == ElementType::kU32 && (size == 4 || size == 6)) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the state is ", state.ToString(false), ", should be u64[2] or u64[3] (or u32[4], u32[6])"));
}

}  // namespace xc
