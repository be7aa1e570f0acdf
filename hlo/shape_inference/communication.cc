// Shape rules of ops that talk to the host or other devices, and of those split into start and done.
#include <algorithm>

#include "hlo/ops/permute_slices.h"
#include "hlo/shape_inference/internal.h"

namespace xc::shape_inference {
namespace {

using E = ElementType;

absl::Status NeedToken(const Context& c, int64_t i) {
  if (c.operand(i).IsToken()) return absl::OkStatus();
  return c.Error(c.Describe(i), ", should be a token");
}

Shape OneOrTuple(const Context& c) {
  if (c.operand_count() == 1) return Plain(c.operand(0));
  std::vector<Shape> out;
  for (const Shape* operand : c.operands()) out.push_back(Plain(*operand));
  return Shape::Tuple(std::move(out));
}

bool IsStart(HloOpcode opcode) {
  return opcode == HloOpcode::kAllGatherStart || opcode == HloOpcode::kCollectivePermuteStart;
}

// The result of a collective is given; each element has the operand's type and rank.
absl::Status CheckCollectiveResult(const Context& c, const Shape& operand, const Shape& result, int64_t along) {
  if (!result.IsArray() || result.type() != operand.type() || result.rank() != operand.rank()) {
    return c.Error("operand ", operand.ToString(false), " and result ", result.ToString(false),
                   "; both should have the same element type and rank");
  }
  for (int64_t d = 0; d < result.rank(); ++d) {
    if (d != along && !SizesAgree(result.dim(d), operand.dim(d))) {
      return c.Error("operand ", operand.ToString(false), " and result ", result.ToString(false),
                     "; both should have the same sizes",
                     along >= 0 ? absl::StrCat(" but for dimension ", along) : std::string());
    }
  }
  if (along < 0 || IsUnknown(result.dim(along)) || IsUnknown(operand.dim(along))) return absl::OkStatus();
  int64_t small = operand.dim(along), large = result.dim(along);
  if (c.opcode() == HloOpcode::kReduceScatter) std::swap(small, large);
  if (small == 0 ? large != 0 : large % small != 0) {
    return c.Error("operand ", operand.ToString(false), " and result ", result.ToString(false), "; in dimension ",
                   along, " one size should be a multiple of the other");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> InferInfeed(const Context& c) {
  XC_RETURN_IF_ERROR(NeedToken(c, 0));
  if (c.given() == nullptr || !c.given()->IsTuple() || c.given()->tuple_size() != 2 ||
      !c.given()->tuple_shape(1).IsToken()) {
    return c.Error("the result should be a tuple of the data and a token");
  }
  return Plain(*c.given());
}

absl::StatusOr<Shape> InferOutfeed(const Context& c) {
  XC_RETURN_IF_ERROR(NeedToken(c, 1));
  if (const Shape* shape = c.find<AttrKind::kOutfeedShape>(); shape != nullptr && !Agree(c.operand(0), *shape)) {
    return c.Error(c.Describe(0), ", outfeed_shape ", shape->ToString(false), "; both should be equal");
  }
  return Shape::Token();
}

absl::StatusOr<Shape> InferSend(const Context& c) {
  XC_RETURN_IF_ERROR(NeedToken(c, 1));
  return Shape::Tuple({Plain(c.operand(0)), Shape::Scalar(E::kU32), Shape::Token()});
}

absl::StatusOr<Shape> InferSendDone(const Context& c) {
  if (!c.operand(0).IsTuple() || c.operand(0).tuple_size() != 3) {
    return c.Error(c.Describe(0), ", should be the tuple that send returns");
  }
  return Shape::Token();
}

absl::StatusOr<Shape> InferRecv(const Context& c) {
  XC_RETURN_IF_ERROR(NeedToken(c, 0));
  const Shape* given = c.given();
  if (given == nullptr || !given->IsTuple() || given->tuple_size() != 3 ||
      !Agree(given->tuple_shape(1), Shape::Scalar(E::kU32)) || !given->tuple_shape(2).IsToken()) {
    return c.Error("the result should be a tuple of the data, u32[] and a token");
  }
  return Plain(*given);
}

absl::StatusOr<Shape> InferRecvDone(const Context& c) {
  if (!c.operand(0).IsTuple() || c.operand(0).tuple_size() != 3) {
    return c.Error(c.Describe(0), ", should be the tuple that recv returns");
  }
  // XLA lets the array that arrives have another shape than the recv says.
  if (const Shape* given = c.given(); given != nullptr && given->IsTuple() && given->tuple_size() == 2 &&
                                      given->tuple_shape(0).IsArray() && given->tuple_shape(1).IsToken()) {
    return Plain(*given);
  }
  return Shape::Tuple({Plain(c.operand(0).tuple_shape(0)), Shape::Token()});
}

absl::StatusOr<Shape> InferCopyStart(const Context& c) {
  Shape x = Plain(c.operand(0));
  // The third element is whatever the device hands on between start and done.
  Shape context = Shape::Scalar(E::kU32);
  if (const Shape* given = c.given(); given != nullptr && given->IsTuple() && given->tuple_size() == 3) {
    context = Plain(given->tuple_shape(2));
  }
  return Shape::Tuple({x, x, context});
}

absl::StatusOr<Shape> InferStartDone(const Context& c) {
  const Shape& start = c.operand(0);
  if (c.opcode() == HloOpcode::kAllReduceDone) return Plain(start);
  if (!start.IsTuple() || start.tuple_size() < 2) {
    return c.Error(c.Describe(0), ", should be the tuple that the start op returns");
  }
  return Plain(start.tuple_shape(c.opcode() == HloOpcode::kCopyDone ? 0 : 1));
}

absl::StatusOr<Shape> InferAsync(const Context& c) {
  if (c.opcode() != HloOpcode::kAsyncStart) {
    if (c.operand_count() != 1) return c.Error("has ", c.operand_count(), " operands, should have 1");
    const Shape& start = c.operand(0);
    if (!start.IsTuple() || start.tuple_size() < 2) {
      return c.Error(c.Describe(0), ", should be the tuple that async-start returns");
    }
    return Plain(c.opcode() == HloOpcode::kAsyncDone ? start.tuple_shape(1) : start);
  }
  if (c.called_count() != 1) return c.Error("calls ", c.called_count(), " computations, should call 1");
  XC_RETURN_IF_ERROR(CheckSignature(c, "calls", c.called(0), c.operands()));
  XC_ASSIGN_OR_RETURN(Shape root, RootShape(c, "calls", c.called(0)));
  XC_ASSIGN_OR_RETURN(Shape arguments, InferTuple(c));
  std::vector<Shape> out = {std::move(arguments), std::move(root)};
  // Further elements are contexts of the device.
  if (const Shape* given = c.given(); given != nullptr && given->IsTuple()) {
    for (int64_t i = 2; i < given->tuple_size(); ++i) out.push_back(Plain(given->tuple_shape(i)));
  }
  return Shape::Tuple(std::move(out));
}

absl::StatusOr<Shape> InferAllReduce(const Context& c) {
  if (c.operand_count() == 0) return c.Error("has no operands, should have at least one");
  XC_RETURN_IF_ERROR(c.NeedArrays());
  if (c.called(0).parameter_count() != 2) {
    return c.Error("to_apply=", c.called(0).name(), " has ", c.called(0).parameter_count(),
                   " parameters, should have 2");
  }
  return OneOrTuple(c);
}

absl::StatusOr<Shape> InferCollective(const Context& c) {
  if (c.operand_count() == 0) return c.Error("has no operands, should have at least one");
  if (c.given() == nullptr) return c.Error("needs its result shape");
  const Shape* result = c.given();
  if (c.opcode() == HloOpcode::kRaggedAllToAll) {
    XC_RETURN_IF_ERROR(c.NeedArrays());
    return Plain(c.operand(1));
  }
  if (const auto* sizes = c.find<AttrKind::kSliceSizesList>(); sizes != nullptr && !sizes->empty()) {
    absl::StatusOr<std::vector<PermuteSlice>> slices = PermuteSlices(c.operands(), *sizes);
    if (!slices.ok()) return c.Error(slices.status().message());
    if (!IsStart(c.opcode())) return Plain(c.operand(1));
    std::vector<Shape> parts = {Plain(c.operand(0)), Plain(c.operand(1))};
    for (int64_t i = 2; result->IsTuple() && i < result->tuple_size(); ++i) {
      parts.push_back(Plain(result->tuple_shape(i)));
    }
    return Shape::Tuple(std::move(parts));
  }
  if (IsStart(c.opcode())) {
    if (!result->IsTuple() || result->tuple_size() < 2) {
      return c.Error("the result is ", result->ToString(false), ", should be a tuple of operand and result");
    }
    return Plain(*result);
  }
  XC_RETURN_IF_ERROR(c.NeedArrays());
  int64_t along = -1;
  bool resizes = c.opcode() == HloOpcode::kAllGather || c.opcode() == HloOpcode::kReduceScatter;
  if (const Int64List* dims = c.find<AttrKind::kDimensions>()) {
    if (dims->size() != 1) return c.Error("dimensions=", DimsText(*dims), ", should name one dimension");
    for (int64_t i = 0; i < c.operand_count(); ++i) {
      XC_RETURN_IF_ERROR(c.CheckDim("dimensions", (*dims)[0], c.operand(i).rank()));
    }
    if (resizes) along = (*dims)[0];
  }
  bool one = c.operand_count() == 1 && result->IsArray();
  if (!one && (!result->IsTuple() || result->tuple_size() != c.operand_count())) {
    return c.Error("the result is ", result->ToString(false), ", should have one element per operand, ",
                   c.operand_count());
  }
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    XC_RETURN_IF_ERROR(CheckCollectiveResult(c, c.operand(i), one ? *result : result->tuple_shape(i), along));
  }
  return Plain(*result);
}

}  // namespace xc::shape_inference
