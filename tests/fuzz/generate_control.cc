// Loops, branches, calls, tuples and what passes values on.
#include <algorithm>

#include "tests/fuzz/module_generator.h"

namespace xc {
namespace {

using E = ElementType;
using O = HloOpcode;
using A = AttrKind;

bool IsExactReal(const RandomValue& x) { return x.exact() && !IsComplex(x.type()); }

}  // namespace

void ModuleGenerator::Looping() {
  if (Chance(40)) return LoopedProducts();
  // State: a counter, a bound that the module may or may not know, and arrays of one shape.
  const Dims dims = SomeDims();
  std::vector<RandomValue> state;
  const int64_t arrays = Between(1, 3);
  for (int64_t i = 0; i < arrays; ++i)
    state.push_back(Like(Chance(50) ? E::kS32 : ArithmeticType(), dims, IsExactReal));
  Literal zero{Shape::Scalar(E::kS32)}, bound{Shape::Scalar(E::kS32)};
  bound.SetInt(0, Below(5));
  const bool by_parameter = Chance(40);
  const int64_t trips = bound.GetInt(0);
  const Op start = b_.Constant(std::move(zero));
  if (!start) return;
  std::vector<Op> init = {start, LeafOf(std::move(bound)).op};
  std::vector<Shape> shapes = {Shape::Scalar(E::kS32), Shape::Scalar(E::kS32)};
  for (const RandomValue& value : state) {
    init.push_back(value.op);
    shapes.push_back(Shape(value.type(), dims));
  }
  const Shape tuple = Shape::Tuple(shapes);
  auto condition = b_.SubBuilder(Name("condition"));
  const Op seen = condition->Parameter(0, tuple, "s");
  const Op limit =
      by_parameter ? condition->GetTupleElement(seen, 1) : condition->R0<int32_t>(static_cast<int32_t>(trips));
  HloComputation* test = condition->Finish(condition->Lt(condition->GetTupleElement(seen, 0), limit));
  auto body = b_.SubBuilder(Name("body"));
  const Op carried = body->Parameter(0, tuple, "s");
  const Op counter = body->GetTupleElement(carried, 0);
  std::vector<Op> next = {body->Add(counter, body->R0<int32_t>(1)), body->GetTupleElement(carried, 1)}, arrays_in;
  for (int64_t i = 0; i < arrays; ++i) arrays_in.push_back(body->GetTupleElement(carried, i + 2));
  for (int64_t i = 0; i < arrays; ++i) {
    if (Chance(15)) {
      next.push_back(arrays_in[Chance(50) ? i : 0].type() == arrays_in[i].type() ? arrays_in[0] : arrays_in[i]);
      if (next.back().type() != arrays_in[i].type()) next.back() = arrays_in[i];
      continue;
    }
    if (!dims.empty() && dims[0] > 0 && Chance(30)) {
      // One row at a time, in place.
      Dims sizes = dims;
      sizes[0] = 1;
      std::vector<Op> at(dims.size(), body->R0<int32_t>(0));
      at[0] = counter;
      std::vector<Op> rows;
      for (Op array : arrays_in) rows.push_back(body->DynamicSlice(array, at, sizes));
      std::swap(rows[i], rows.back());
      next.push_back(
          body->DynamicUpdateSlice(arrays_in[i], Expression(*body, rows, arrays_in[i].type(), sizes, 2), at));
      continue;
    }
    std::vector<Op> inputs = arrays_in;
    if (Chance(30)) inputs.push_back(dims.empty() ? counter : body->Broadcast(counter, dims, {}));
    next.push_back(Expression(*body, inputs, arrays_in[i].type(), dims, static_cast<int>(Between(1, 3))));
  }
  HloComputation* step = body->Finish(body->Tuple(next));
  const Op first = b_.Tuple(init);
  if (!Evaluate(first)) return;
  const Op loop = b_.While(test, step, first);
  if (!Evaluate(loop)) return;
  for (int64_t i = 0; i < arrays + 2; ++i) {
    if (Chance(i < 2 ? 15 : 75)) Element(loop, i);
  }
}

// Products of another slice in each round with weights that stay, summed up in the state: small integers, so that every
// order of sums gives the same.
void ModuleGenerator::LoopedProducts() {
  const E type = OneOf({E::kF32, E::kF32, E::kS32, E::kF64});
  const E slices_type = Chance(75) ? type : (type == E::kS32 ? E::kS8 : E::kBF16);
  const int64_t slices = Between(1, 6), rounds = Chance(70) ? slices : Below(9);
  const int64_t rows = OneOf<int64_t>({1, 1, 2, 5, 17}), columns = OneOf<int64_t>({1, 3, 16, 40});
  const int64_t sum = OneOf<int64_t>({4, 16, 17, 33});
  const bool sum_first = Chance(30), on_the_right = Chance(30);
  const Dims part = sum_first ? Dims{sum, rows} : Dims{rows, sum};
  const Dims out = on_the_right ? Dims{columns, rows} : Dims{rows, columns};
  const auto small = [&](E t, const Dims& dims) {
    return LeafOf(RandomLiteral(Shape(t, dims), LiteralStyle::kSmallIntegers, random_)).op;
  };
  const Op start = small(E::kS32, {}), whole = small(slices_type, {slices, part[0], part[1]});
  const Op weights = small(type, {sum, columns}), sums = small(type, out);
  Literal zero{Shape::Scalar(E::kS32)};
  const Op first = b_.Tuple({b_.Constant(std::move(zero)), start, whole, weights, sums});
  const Shape state = first.instruction()->shape();
  auto condition = b_.SubBuilder(Name("condition"));
  const Op seen = condition->Parameter(0, state, "s");
  const Op more = condition->Lt(condition->GetTupleElement(seen, 0), condition->R0<int32_t>(rounds));
  // Another term may be there, which always holds.
  const bool two_terms = Chance(30);
  const Op never = condition->R0<int32_t>(1000);
  HloComputation* test = condition->Finish(
      two_terms ? condition->And(more, condition->Lt(condition->GetTupleElement(seen, 1), never)) : more);
  auto body = b_.SubBuilder(Name("body"));
  const Op carried = body->Parameter(0, state, "s");
  std::vector<Op> next;
  for (int64_t i = 0; i < 5; ++i) next.push_back(body->GetTupleElement(carried, i));
  const int64_t uses = Between(1, 2);
  for (int64_t use = 0; use < uses; ++use) {
    Op index = next[0];
    if (Chance(30)) index = body->Sub(body->R0<int32_t>(static_cast<int32_t>(slices - 1)), next[0]);
    if (Chance(20)) index = body->Add(index, next[1]);  // clamped
    const Op none = body->R0<int32_t>(0);
    const Op slice = body->DynamicSlice(next[2], {index, none, none}, {1, part[0], part[1]});
    const Op x = body->Convert(body->Reshape(slice, part), type);
    DotDims dims;
    dims.lhs_contracting = {on_the_right ? 0 : sum_first ? 0 : 1};
    dims.rhs_contracting = {on_the_right && !sum_first ? 1 : 0};
    next[4] = body->Add(next[4], on_the_right ? body->Dot(next[3], x, dims) : body->Dot(x, next[3], dims));
  }
  next[0] = body->Add(next[0], body->R0<int32_t>(1));
  HloComputation* step = body->Finish(body->Tuple(next));
  if (!Evaluate(first)) return;
  const Op loop = b_.While(test, step, first);
  if (Evaluate(loop)) Element(loop, 4);
}

void ModuleGenerator::Branching() {
  const E type = ArithmeticType();
  const Dims dims = SomeDims();
  const bool two = Chance(50);
  const RandomValue selector = two ? Like(E::kPred, {}) : Leaf(E::kS32, {}, LiteralStyle::kSmallIntegers);
  if (!selector.exact()) return;
  const int64_t branches = two ? 2 : Between(1, 3);
  std::vector<HloComputation*> computations;
  std::vector<Op> operands;
  for (int64_t i = 0; i < branches; ++i) {
    const RandomValue operand = Like(ArithmeticType(), dims, IsExactReal);
    computations.push_back(ExpressionComputation(Name("branch"), {operand.type()}, dims, type, Between(0, 3)));
    operands.push_back(operand.op);
  }
  Keep(b_.Conditional(selector.op, computations, operands));
}

void ModuleGenerator::Calling() {
  const RandomValue x = Pick(IsExactReal, ArithmeticType());
  if (!IsExactReal(x)) return;
  const RandomValue y = Like(ArithmeticType(), x.dims(), IsExactReal);
  HloComputation* called =
      ExpressionComputation(Name("called"), {x.type(), y.type()}, x.dims(), ArithmeticType(), Between(1, 4));
  Keep(b_.Call(called, {x.op, y.op}));
  if (Chance(30)) Keep(b_.Call(called, {x.op, y.op}));
}

void ModuleGenerator::Mapping() {
  const RandomValue x = Pick(IsExactReal, ArithmeticType());
  if (!IsExactReal(x)) return;
  std::vector<RandomValue> values = {x};
  if (Chance(60)) values.push_back(Like(ArithmeticType(), x.dims(), IsExactReal));
  std::vector<E> types;
  std::vector<Op> ops;
  for (const RandomValue& value : values) {
    types.push_back(value.type());
    ops.push_back(value.op);
  }
  Keep(b_.Map(ops, ExpressionComputation(Name("mapped"), types, {}, ArithmeticType(), Between(1, 4))));
}

void ModuleGenerator::Fusing() {
  const RandomValue x = Pick(IsExactReal, ArithmeticType());
  if (!IsExactReal(x)) return;
  const RandomValue y = Like(ArithmeticType(), x.dims(), IsExactReal);
  auto sub = b_.SubBuilder(Name("fused"));
  const std::vector<Op> inputs = {sub->Parameter(0, Shape(x.type(), x.dims()), "x"),
                                  sub->Parameter(1, Shape(y.type(), y.dims()), "y")};
  Op out = Expression(*sub, inputs, ArithmeticType(), x.dims(), Between(1, 4));
  if (x.rank() > 1 && Chance(40)) out = sub->Transpose(out, Permutation(x.rank()));
  const bool both = Chance(25);
  if (both) out = sub->Tuple({out, Expression(*sub, inputs, ArithmeticType(), x.dims(), 2)});
  HloComputation* fused = sub->Finish(out);
  Attributes attributes;
  attributes.Set<A::kFusionKind>(FusionKind::kLoop);
  const Op fusion = b_.Make(O::kFusion, {x.op, y.op}, std::move(attributes), {fused});
  if (!fusion) return;
  fused->set_is_fusion();
  if (!both) {
    Keep(fusion);
    return;
  }
  if (!Evaluate(fusion)) return;
  Element(fusion, 0);
  Element(fusion, 1);
}

void ModuleGenerator::Pairing() {
  const RandomValue x = Pick(nullptr, AnyType()), y = Pick(nullptr, AnyType());
  Op tuple = b_.Tuple({x.op, y.op});
  if (!Evaluate(tuple)) return;
  if (Chance(40)) {
    tuple = b_.OptBarrier(tuple);
    if (!Evaluate(tuple)) return;
  }
  Element(tuple, 0, x.error);
  Element(tuple, 1, y.error);
}

void ModuleGenerator::Passing() {
  const RandomValue x = Pick(nullptr, AnyType());
  switch (Below(4)) {
    case 0:
      Keep(b_.OptBarrier(x.op), x.error);
      return;
    case 1: {
      const Op token = b_.AfterAll({});
      if (Evaluate(token)) Keep(b_.Make(O::kAddDependency, {x.op, token}), x.error);
      return;
    }
    case 2: {
      const Op start = b_.Make(O::kCopyStart, {x.op});
      if (Evaluate(start)) Keep(b_.Make(O::kCopyDone, {start}), x.error);
      return;
    }
    default: {
      if (!IsExactReal(x)) return;
      HloComputation* called =
          ExpressionComputation(Name("async"), {x.type()}, x.dims(), ArithmeticType(), Between(1, 3));
      Op start = b_.Make(O::kAsyncStart, {x.op}, {}, {called});
      if (!Evaluate(start)) return;
      if (Chance(30)) {
        start = b_.Make(O::kAsyncUpdate, {start}, {}, {called});
        if (!Evaluate(start)) return;
      }
      Keep(b_.Make(O::kAsyncDone, {start}, {}, {called}));
    }
  }
}

void ModuleGenerator::Communicating() {
  const RandomValue x = Pick(IsExactReal, ArithmeticType(), LiteralStyle::kAny, 1);
  if (!IsExactReal(x)) return;
  Attributes attributes;
  attributes.Set<A::kReplicaGroups>(ReplicaGroups{{{0}}, {}, {}, {}});
  const Shape given(x.type(), x.dims());
  const O opcode = OneOf({O::kAllReduce, O::kAllGather, O::kReduceScatter, O::kAllToAll, O::kCollectivePermute,
                          O::kCollectiveBroadcast, O::kPartitionId});
  switch (opcode) {
    case O::kPartitionId:
      Keep(b_.Make(Chance(50) ? O::kPartitionId : O::kReplicaId, {}));
      return;
    case O::kAllReduce:
      Keep(b_.Make(opcode, {x.op}, attributes, {b_.ScalarComputation(O::kMaximum, x.type())}));
      return;
    case O::kCollectivePermute: {
      Attributes pairs;
      pairs.Set<A::kSourceTargetPairs>({{0, 0}});
      Keep(b_.Make(opcode, {x.op}, pairs, {}, &given));
      return;
    }
    case O::kCollectiveBroadcast:
      Keep(b_.Make(opcode, {x.op}, attributes, {}, &given));
      return;
    case O::kReduceScatter:
      attributes.Set<A::kDimensions>({Below(x.rank())});
      Keep(b_.Make(opcode, {x.op}, attributes, {b_.ScalarComputation(O::kMaximum, x.type())}, &given));
      return;
    default:
      attributes.Set<A::kDimensions>({Below(x.rank())});
      Keep(b_.Make(opcode, {x.op}, attributes, {}, &given));
  }
}

// A dimension whose size is known only when the module runs, until a reduction along it.
void ModuleGenerator::BoundedSizes() {
  const RandomValue x =
      Pick([](const RandomValue& v) { return IsIntegral(v.type()); }, IntType(), LiteralStyle::kAny, 1);
  if (!IsIntegral(x.type())) return;
  const int64_t dim = Below(x.rank());
  Literal size{Shape::Scalar(E::kS32)};
  size.SetInt(0, Below(x.dims()[dim] + 1));
  const Op bounded = b_.SetDimensionSize(x.op, LeafOf(std::move(size)).op, dim);
  if (!Evaluate(bounded)) return;
  if (Chance(30)) Keep(b_.GetDimensionSize(bounded, dim));
  Op changed = bounded;
  for (int64_t steps = Below(4); steps > 0 && b_.ok(); --steps) changed = BoundedStep(changed);
  const O reducer = OneOf({O::kAdd, O::kMaximum, O::kXor});
  const Op init = b_.Identity(reducer, x.type());
  Dims dims;
  for (int64_t d = 0; d < changed.rank(); ++d) {
    if (changed.shape().is_dynamic_dim(d)) dims.push_back(d);
  }
  if (init) Keep(b_.Reduce(changed, init, b_.ScalarComputation(reducer, x.type()), dims));
}

// An op on integers of run-time sizes, with the same sizes or others.
Op ModuleGenerator::BoundedStep(Op x) {
  const int64_t dim = Below(x.rank());
  switch (Below(9)) {
    case 0:
      return b_.Not(x);
    case 1:
      return b_.Add(x, x);
    case 2:
      return b_.Reverse(x, {dim});
    case 3:
      return b_.Transpose(x, Permutation(x.rank()));
    case 4:
      return x.shape().ElementCount() > 2000 ? x : b_.Concat({x, b_.Not(x)}, dim);
    case 5: {
      if (x.shape().ElementCount() > 2000) return x;
      std::vector<PaddingDim> padding(x.rank());
      padding[dim] = {Below(3), Below(3), Below(2)};
      return b_.Pad(x, b_.One(x.type()), padding);
    }
    case 6:
      return b_.Sort({x}, dim, Chance(50),
                     b_.SortComparator({x.type()}, Chance(50) ? CompareDirection::kLt : CompareDirection::kGt));
    case 7: {
      // All in one row.
      Shape row(x.type(), {x.shape().ElementCount()});
      row.set_dynamic_dim(0, true);
      return b_.Make(O::kReshape, {x}, {}, {}, &row);
    }
    default: {
      Dims wide = x.dims();
      wide.insert(wide.begin(), 2);
      Shape shape(x.type(), wide);
      Attributes attributes;
      Dims dims;
      for (int64_t d = 0; d < x.rank(); ++d) {
        dims.push_back(d + 1);
        shape.set_dynamic_dim(d + 1, x.shape().is_dynamic_dim(d));
      }
      attributes.Set<A::kDimensions>(dims);
      return x.shape().ElementCount() > 2000 ? x : b_.Make(O::kBroadcast, {x}, attributes, {}, &shape);
    }
  }
}

}  // namespace xc
