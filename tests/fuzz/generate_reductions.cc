// Ops that apply a computation along dimensions, and products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "hlo/shape_inference/shape_inference.h"
#include "tests/fuzz/module_generator.h"

namespace xc {
namespace {

using E = ElementType;
using O = HloOpcode;
using A = AttrKind;

bool IsOrdered(const RandomValue& x) { return x.exact() && !x.facts.nan && !IsComplex(x.type()); }

}  // namespace

// A reducer for at most `count` elements of `x` and an initial value of magnitude `init`, with the error it brings.
std::optional<O> ModuleGenerator::Reducer(const RandomValue& x, double count, double init, ErrorBound* error) {
  const E type = x.type();
  *error = {};
  if (type == E::kPred) return OneOf({O::kAnd, O::kOr, O::kXor, O::kMaximum, O::kMinimum});
  if (IsIntegral(type)) {
    return OneOf({O::kAdd, O::kAdd, O::kMultiply, O::kMaximum, O::kMinimum, O::kAnd, O::kOr, O::kXor});
  }
  if (!IsComplex(type) && Chance(50)) {
    if (!x.exact()) {
      if (!x.facts.finite()) return {};
      *error = {x.Error(), 0};
    }
    return Chance(50) ? O::kMaximum : O::kMinimum;
  }
  if (!x.facts.finite() || type == E::kF8E8M0FNU) return {};
  const double term = std::max(x.facts.max_abs, init) * (IsComplex(type) ? 2 : 1);
  if (SumMayOverflow(type, term, count)) return {};
  if (x.exact() && SumsAreExact(type, *x.facts.grid, term, count)) return O::kAdd;
  *error = Rounded(ComplexComponent(type), 2 * count * count * term, count * x.Error());
  return O::kAdd;
}

void ModuleGenerator::Reducing() {
  const RandomValue x = Pick(nullptr, AnyType(), Chance(50) ? LiteralStyle::kSmallIntegers : LiteralStyle::kAny, 1);
  Dims dims;
  double count = 1;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (Chance(55)) {
      dims.push_back(d);
      count *= static_cast<double>(x.dims()[d]);
    }
  }
  ErrorBound error;
  const auto reducer = Reducer(x, count + 1, 4, &error);
  if (!reducer) return;
  const Op init = Chance(70) ? b_.Identity(*reducer, x.type())
                             : LeafOf(RandomLiteral(Shape::Scalar(x.type()), LiteralStyle::kSmallIntegers, random_)).op;
  if (!init) return;
  Keep(b_.Reduce(x.op, init, b_.ScalarComputation(*reducer, x.type()), dims), error);
}

void ModuleGenerator::VariadicReducing() {
  const RandomValue x = Pick(IsOrdered, ArithmeticType(), LiteralStyle::kFinite, 1);
  if (!IsOrdered(x) || x.type() == E::kPred) return;
  const E type = x.type();
  const Shape scalar = Shape::Scalar(type);
  Dims dims = {Below(x.rank())};
  if (Chance(40)) {
    // The place of the largest value, the first of equals.
    const auto places = Keep(b_.Iota(E::kS32, x.dims(), dims[0]));
    if (!places) return;
    auto sub = b_.SubBuilder(Name("argmax"));
    const Op v1 = sub->Parameter(0, scalar, "v"), i1 = sub->Parameter(1, Shape::Scalar(E::kS32), "i");
    const Op v2 = sub->Parameter(2, scalar, "v"), i2 = sub->Parameter(3, Shape::Scalar(E::kS32), "i");
    const Op first = sub->Or(sub->Gt(v1, v2), sub->And(sub->Eq(v1, v2), sub->Lt(i1, i2)));
    HloComputation* reducer = sub->Finish(sub->Tuple({sub->Select(first, v1, v2), sub->Select(first, i1, i2)}));
    const Op low = b_.MinValue(type), none = b_.R0<int32_t>(1 << 30);
    if (!low || !none) return;
    // Zeros of both signs are equal: which of them is kept depends on the order.
    const Op both = b_.Reduce({x.op, places->op}, {low, none}, reducer, dims);
    if (!Evaluate(both)) return;
    Element(both, 1);
    return;
  }
  // Two reductions in one.
  const E other_type = IntType();
  const RandomValue y = Like(other_type, x.dims());
  auto sub = b_.SubBuilder(Name("reduce_pair"));
  const Op v1 = sub->Parameter(0, scalar, "v"), w1 = sub->Parameter(1, Shape::Scalar(other_type), "w");
  const Op v2 = sub->Parameter(2, scalar, "v"), w2 = sub->Parameter(3, Shape::Scalar(other_type), "w");
  const O first = Chance(50) ? O::kMaximum : O::kMinimum, second = OneOf({O::kAdd, O::kMultiply, O::kXor});
  HloComputation* reducer = sub->Finish(sub->Tuple({sub->Binary(first, v1, v2), sub->Binary(second, w1, w2)}));
  const Op init1 = b_.Identity(first, type), init2 = b_.Identity(second, other_type);
  if (!init1 || !init2) return;
  const Op both = b_.Reduce({x.op, y.op}, {init1, init2}, reducer, dims);
  if (!Evaluate(both)) return;
  Element(both, 0);
  if (Chance(70)) Element(both, 1);
}

void ModuleGenerator::WindowReducing() {
  const RandomValue x = Pick(nullptr, ArithmeticType(), LiteralStyle::kSmallIntegers, 1);
  WindowAttr window;
  double count = 1;
  int64_t elements = 1;
  for (int64_t size : x.dims()) {
    WindowDim w;
    w.size = Between(1, 3);
    w.stride = Between(1, 3);
    w.padding_low = Between(-1, 2);
    w.padding_high = Between(-1, 2);
    w.base_dilation = Chance(20) ? 2 : 1;
    w.window_dilation = Chance(25) ? 2 : 1;
    const int64_t base = size == 0 ? 0 : (size - 1) * w.base_dilation + 1;
    if (base + w.padding_low + w.padding_high < 0 || elements > 2 * options_.max_elements) {
      w = WindowDim();
    }
    elements *= base + 4;
    count *= static_cast<double>(w.size);
    window.dims.push_back(w);
  }
  ErrorBound error;
  const auto reducer = Reducer(x, count + 1, 4, &error);
  if (!reducer) return;
  const Op init = Chance(70) ? b_.Identity(*reducer, x.type())
                             : LeafOf(RandomLiteral(Shape::Scalar(x.type()), LiteralStyle::kSmallIntegers, random_)).op;
  if (!init) return;
  Keep(b_.ReduceWindow(x.op, init, b_.ScalarComputation(*reducer, x.type()), window), error);
}

void ModuleGenerator::SelectScattering() {
  const RandomValue x = Pick(IsOrdered, ArithmeticType(), LiteralStyle::kSmallIntegers, 1);
  const E type = x.type();
  if (!IsOrdered(x) || type == E::kPred || Count(x.dims()) == 0) return;
  WindowAttr window;
  for (int64_t size : x.dims()) {
    WindowDim w;
    w.size = Between(1, std::min<int64_t>(3, size));
    w.stride = Between(1, 3);
    // Every window holds an element.
    w.padding_low = Below(w.size);
    w.padding_high = Below(w.size);
    window.dims.push_back(w);
  }
  const auto sizes = WindowedSizes(x.dims(), window);
  if (!sizes.ok()) return;
  const RandomValue source = Like(type, *sizes, IsExactArray, LiteralStyle::kSmallIntegers);
  ErrorBound error;
  const auto reducer = Reducer(source, static_cast<double>(source.literal->size()) + 1, 0, &error);
  if (!reducer) return;
  const Op init = b_.Identity(*reducer, type);
  if (!init) return;
  HloComputation* select = b_.ScalarCompare(Chance(50) ? CompareDirection::kGe : CompareDirection::kLe, type);
  Keep(b_.SelectAndScatter(x.op, select, window, source.op, init, b_.ScalarComputation(*reducer, type)), error);
}

void ModuleGenerator::Sorting() {
  const RandomValue key = Pick(IsOrdered, ArithmeticType(), LiteralStyle::kFinite, 1);
  if (!IsOrdered(key)) return;
  const int64_t dim = Below(key.rank());
  std::vector<RandomValue> values = {key};
  const int64_t more = Below(3);
  for (int64_t i = 0; i < more; ++i) values.push_back(Like(AnyType(), key.dims()));
  std::vector<Op> ops;
  std::vector<E> types;
  for (const RandomValue& value : values) {
    ops.push_back(value.op);
    types.push_back(value.type());
  }
  const CompareDirection direction = Chance(50) ? CompareDirection::kLt : CompareDirection::kGt;
  HloComputation* comparator = nullptr;
  if (Chance(60)) {
    comparator = b_.SortComparator(types, direction);
  } else {
    // By the first key, without regard to the sign of zero, and equals by the second where it has an order.
    auto sub = b_.SubBuilder(Name("order"));
    std::vector<Op> parameters;
    for (size_t i = 0; i < 2 * types.size(); ++i) {
      parameters.push_back(sub->Parameter(i, Shape::Scalar(types[i / 2]), i % 2 == 0 ? "x" : "y"));
    }
    Op less = sub->Compare(direction, parameters[0], parameters[1]);
    if (values.size() > 1 && IsOrdered(values[1])) {
      less = sub->Or(less, sub->And(sub->Eq(parameters[0], parameters[1]), sub->Lt(parameters[2], parameters[3])));
    }
    comparator = sub->Finish(less);
  }
  const Op sorted = b_.Sort(ops, dim, Chance(50), comparator);
  if (values.size() == 1) {
    Keep(sorted);
    return;
  }
  if (!Evaluate(sorted)) return;
  for (size_t i = 0; i < values.size(); ++i) {
    if (Chance(80)) Element(sorted, i, values[i].error);
  }
}

void ModuleGenerator::TakingTop() {
  const RandomValue x = Pick(IsOrdered, ArithmeticType(), LiteralStyle::kFinite, 1);
  if (!IsOrdered(x)) return;
  const Op top = b_.TopK(x.op, Below(x.dims().back() + 1), Chance(50));
  if (!Evaluate(top)) return;
  if (Chance(70)) Element(top, 0);
  Element(top, 1);
}

void ModuleGenerator::Scanning() {
  const RandomValue x = Pick([](const RandomValue& v) { return v.exact() && !IsComplex(v.type()); }, ArithmeticType(),
                             LiteralStyle::kSmallIntegers, 1);
  if (!x.exact() || IsComplex(x.type())) return;
  const int64_t dim = Below(x.rank());
  Dims slice = x.dims();
  slice.erase(slice.begin() + dim);
  const E carry_type = ArithmeticType(), out_type = ArithmeticType();
  const RandomValue carry = Like(carry_type, slice, IsExactArray);
  auto sub = b_.SubBuilder(Name("step"));
  const std::vector<Op> inputs = {sub->Parameter(0, Shape(x.type(), slice), "x"),
                                  sub->Parameter(1, Shape(carry_type, slice), "c")};
  const Op out = Expression(*sub, inputs, out_type, slice, 2), next = Expression(*sub, inputs, carry_type, slice, 2);
  HloComputation* step = sub->Finish(sub->Tuple({out, next}));
  Attributes attributes;
  attributes.Set<A::kDimensions>({dim});
  attributes.Set<A::kNumCarries>(1);
  if (Chance(40)) attributes.Set<A::kIsReverse>(true);
  const Shape given = Shape::Tuple({Shape(out_type, x.dims()), Shape(carry_type, slice)});
  const Op scan = b_.Make(O::kScan, {x.op, carry.op}, std::move(attributes), {step}, &given);
  if (!Evaluate(scan)) return;
  Element(scan, 0);
  if (Chance(60)) Element(scan, 1);
}

// The error of sums of `count` products of elements of x and y in `type`; nothing if they may overflow.
std::optional<ErrorBound> ModuleGenerator::ProductError(const RandomValue& x, const RandomValue& y, E type,
                                                        double count) {
  if (IsIntegral(type) || type == E::kPred) return ErrorBound{};
  if (!x.facts.finite() || !y.facts.finite()) return {};
  const double a = x.facts.max_abs, c = y.facts.max_abs, ea = x.Error(), ec = y.Error();
  const double term = a * c * (IsComplex(type) ? 4 : 1);
  if (SumMayOverflow(type, term, count + 1)) return {};
  if (x.exact() && y.exact() && SumsAreExact(type, *x.facts.grid + *y.facts.grid, term, count + 1)) return ErrorBound{};
  return Rounded(ComplexComponent(type), 2 * (count + 1) * (count + 1) * term, 2 * count * (a * ec + c * ea + ea * ec));
}

void ModuleGenerator::Products() {
  E type = Chance(45) ? IntType() : FloatType();
  if (Chance(8)) type = Chance(50) ? E::kC64 : E::kC128;
  const RandomValue x =
      Pick([&](const RandomValue& v) { return v.type() == type; }, type, LiteralStyle::kSmallIntegers);
  // Each dimension of the left side is a batch, a contracting or a free one; the right side has the first two kinds in
  // an order of its own.
  DotDims dims;
  Dims right;
  double count = 1;
  int64_t elements = 1;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t kind = Below(10);
    const int64_t size = x.dims()[d];
    if (kind < 2) {
      dims.lhs_batch.push_back(d);
      right.push_back(size);
    } else if (kind < 6) {
      dims.lhs_contracting.push_back(d);
      right.push_back(size);
      count *= static_cast<double>(size);
    }
    elements *= std::max<int64_t>(size, 1);
  }
  const int64_t free = Below(3);
  for (int64_t i = 0; i < free && elements <= 4 * options_.max_elements; ++i) {
    right.push_back(OneOf<int64_t>({1, 2, 3, 5, 8, 17}));
    elements *= right.back();
  }
  const Dims order = Permutation(right.size());
  Dims shuffled(right.size()), where(right.size());
  for (size_t i = 0; i < order.size(); ++i) {
    shuffled[i] = right[order[i]];
    where[order[i]] = static_cast<int64_t>(i);
  }
  size_t next = 0;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const auto has = [d](const Dims& list) { return std::find(list.begin(), list.end(), d) != list.end(); };
    if (has(dims.lhs_batch)) dims.rhs_batch.push_back(where[next++]);
    if (has(dims.lhs_contracting)) dims.rhs_contracting.push_back(where[next++]);
  }
  const RandomValue y = Like(type, shuffled, nullptr, LiteralStyle::kSmallIntegers);
  E out = type;
  if (IsIntegral(type) && Chance(30)) out = E::kS32;
  if (IsFloating(type) && ElementBits(type) < 32 && Chance(50)) out = E::kF32;
  const auto error = ProductError(x, y, out, count);
  if (!error) return;
  StringList precision;
  if (IsFloating(type) && Chance(15)) precision = {"highest", "highest"};
  Keep(b_.Dot(x.op, y.op, dims, out, precision), *error);
}

void ModuleGenerator::Convolving() {
  const E type = Chance(40) ? IntType() : Chance(10) ? E::kC64 : FloatType();
  const int64_t spatial = OneOf<int64_t>({0, 1, 1, 2, 2, 2, 3});
  const int64_t groups = Chance(30) ? Between(2, 3) : 1, batch_groups = groups == 1 && Chance(25) ? 2 : 1;
  const int64_t batch = batch_groups * Between(1, 2), in_features = Between(1, 3);
  const int64_t out_features = groups * batch_groups * Between(1, 3);
  const Dims in_order = Permutation(spatial + 2), kernel_order = Permutation(spatial + 2),
             out_order = Permutation(spatial + 2);
  Dims in_dims(spatial + 2), kernel_dims(spatial + 2);
  ConvDims labels;
  labels.input_batch = in_order[0];
  labels.input_feature = in_order[1];
  labels.kernel_input_feature = kernel_order[0];
  labels.kernel_output_feature = kernel_order[1];
  labels.output_batch = out_order[0];
  labels.output_feature = out_order[1];
  in_dims[in_order[0]] = batch;
  in_dims[in_order[1]] = in_features * groups;
  kernel_dims[kernel_order[0]] = in_features;
  kernel_dims[kernel_order[1]] = out_features;
  WindowAttr window;
  double count = static_cast<double>(in_features);
  for (int64_t d = 0; d < spatial; ++d) {
    WindowDim w;
    w.size = Between(1, 3);
    w.stride = Chance(60) ? 1 : 2;
    w.padding_low = Between(-1, 2);
    w.padding_high = Between(-1, 2);
    w.base_dilation = Chance(25) ? 2 : 1;
    w.window_dilation = Chance(25) ? 2 : 1;
    w.reversal = Chance(20);
    const int64_t size = Between(2, spatial == 3 ? 3 : 6);
    window.dims.push_back(w);
    labels.input_spatial.push_back(in_order[d + 2]);
    labels.kernel_spatial.push_back(kernel_order[d + 2]);
    labels.output_spatial.push_back(out_order[d + 2]);
    in_dims[in_order[d + 2]] = size;
    kernel_dims[kernel_order[d + 2]] = w.size;
    count *= static_cast<double>(w.size);
  }
  const RandomValue x = Like(type, in_dims, nullptr, LiteralStyle::kSmallIntegers);
  const RandomValue kernel = Like(type, kernel_dims, nullptr, LiteralStyle::kSmallIntegers);
  E out = type;
  if (IsIntegral(type) && Chance(30)) out = E::kS32;
  if (IsFloating(type) && ElementBits(type) < 32 && Chance(50)) out = E::kF32;
  const auto error = ProductError(x, kernel, out, count);
  if (!error) return;
  Keep(b_.Conv(x.op, kernel.op, window, labels, groups, batch_groups, out), *error);
}

}  // namespace xc
