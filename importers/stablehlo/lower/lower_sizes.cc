// Operations that take sizes as operands: with these known they are those of known sizes.
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

namespace {

constexpr absl::string_view kAssertion = "shape_assertion", kWrapper = "stablehlo.shape_refinement_operand_wrapper",
                            kReduceWindow = "stablehlo.dynamic_reduce_window",
                            kRngBitGenerator = "stablehlo.dynamic_rng_bit_generator", kTopK = "stablehlo.dynamic_top_k";

// An assertion's message has its operands behind the first as {0}, {1}, ….
void LowerAssertion(OpLowering& op) {
  const Attr* message = op.attrs.Require("error_message");
  if (message == nullptr) return;
  if (op.op.operands.empty() || !op.op.results.empty()) return op.Fail("expected a truth value, and no results");
  const KnownPtr holds = op.known(0);
  if (holds == nullptr || holds->type != ElementType::kPred || holds->values.size() != 1) {
    return op.Fail("whether this assertion about shapes holds does not follow from the shapes of the arguments");
  }
  if (holds->values[0] != 0 || !op.lowering.checks_shapes()) return;
  std::vector<std::pair<std::string, std::string>> values;
  for (size_t i = 1; i < op.op.operands.size(); ++i) {
    const KnownPtr value = op.known(static_cast<int64_t>(i));
    const bool one = value != nullptr && value->values.size() == 1;
    values.emplace_back(absl::StrCat("{", i - 1, "}"), one ? absl::StrCat(value->values[0]) : "?");
  }
  op.Fail(absl::StrCat("shape assertion: ", absl::StrReplaceAll(message->text, values)));
}

// The sizes of the second operand are those of the first, which it stands for.
void LowerWrapper(OpLowering& op) {
  if (op.op.operands.empty() || op.op.results.size() != 1) return op.Fail("expected an array, and one result");
  op.SetKnown(0, op.known(0));
  op.BindEach({op.in(0)});
}

// Arrays, initial values, then what reduce_window has as attributes.
void LowerDynamicReduceWindow(OpLowering& op) {
  const int64_t count = static_cast<int64_t>(op.op.operands.size()), arrays = (count - 5) / 2;
  const Attr* functions = op.attrs.Require("called_computations");
  if (count < 7 || count % 2 == 0 || functions == nullptr || functions->items.size() != 1) {
    return op.Fail("expected arrays, as many initial values, five lists of integers, and a function");
  }
  const int64_t first = 2 * arrays;
  const Int64List sizes = KnownInts(op, first, "window's sizes"), strides = KnownInts(op, first + 1, "strides"),
                  base = KnownInts(op, first + 2, "base dilations"),
                  dilation = KnownInts(op, first + 3, "window dilations"),
                  padding = KnownInts(op, first + 4, "padding");
  if (!op.ok()) return;
  if (strides.size() != sizes.size() || base.size() != sizes.size() || dilation.size() != sizes.size() ||
      padding.size() != 2 * sizes.size()) {
    return op.Fail("its lists of integers should have one for each dimension, and the padding two");
  }
  Attributes attributes;
  WindowAttr window;
  for (size_t d = 0; d < sizes.size(); ++d) {
    window.dims.push_back({sizes[d], strides[d], padding[2 * d], padding[2 * d + 1], base[d], dilation[d], false});
  }
  attributes.Set<A::kWindow>(std::move(window));
  const Callee* reducer = op.FindCallee(&functions->items[0], {}, {});
  if (reducer != nullptr) {
    op.Emit(O::kReduceWindow, op.Operands(0, first), std::move(attributes), {reducer->computation});
  }
}

void LowerDynamicRngBitGenerator(OpLowering& op) {
  if (op.op.operands.size() != 2) return op.Fail("expected a state and the shape of the bits");
  const Shape bits(op.result(1).type(), ResultSizes(op, 1, 1));
  const RandomAlgorithm algorithm = RngAlgorithm(op);
  if (op.ok()) op.Bind(op.b.RngBitGenerator(algorithm, op.in(0), bits));
}

void LowerDynamicTopK(OpLowering& op) {
  if (op.op.operands.size() != 2) return op.Fail("expected an array and the number of elements");
  const Int64List k = KnownInts(op, 1, "number of elements");
  if (!op.ok()) return;
  if (k.size() != 1) return op.Fail("its second operand should be one integer");
  Attributes attributes;
  attributes.Set<A::kK>(k[0]);
  attributes.Set<A::kLargest>(true);
  op.Emit(O::kTopk, {op.in(0)}, std::move(attributes));
}

// Where only the run knows the start indices, the limits have to be the start indices and something known.
void LowerSliceOfKnownSize(OpLowering& op, const Int64List& strides) {
  const Value *start = op.op.operands[1], *limit = op.op.operands[2];
  const Operation* sum = limit->definition;
  KnownPtr sizes;
  if (sum != nullptr && sum->row->opcode == O::kAdd && sum->operands.size() == 2) {
    for (int i : {0, 1}) {
      if (sum->operands[i] == start) sizes = Lowering::FindKnown(op.frame, sum->operands[1 - i]);
    }
  }
  if (sizes == nullptr)
    return op.Fail("neither its start indices nor its sizes follow from the shapes of the arguments");
  const Op x = op.in(0), starts = op.in(1);
  const int64_t rank = x.rank();
  if (!op.ok()) return;
  if (starts.rank() != 1 || starts.dim(0) != rank || static_cast<int64_t>(sizes->values.size()) != rank ||
      static_cast<int64_t>(strides.size()) != rank) {
    return op.Fail("its start indices, limit indices and strides should have one for each dimension");
  }
  std::vector<Op> indices;
  for (int64_t d = 0; d < rank; ++d) indices.push_back(op.b.Reshape(op.b.SliceInDim(starts, d, d + 1, 1, 0), {}));
  const Op slice = op.b.DynamicSlice(x, indices, sizes->values);
  const bool dense = std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 1; });
  if (op.ok()) op.Bind(dense ? slice : op.b.Slice(slice, Int64List(rank, 0), sizes->values, strides));
}

}  // namespace

Int64List KnownInts(OpLowering& op, int64_t i, absl::string_view what) {
  if (!op.ok()) return {};
  const KnownPtr known = op.known(i);
  if (known == nullptr) {
    op.Fail(absl::StrCat("operand ", i, ", its ", what, ", does not follow from the shapes of the arguments"));
    return {};
  }
  if (!IsIntegral(known->type)) {
    op.Fail(absl::StrCat("operand ", i, ", its ", what, ", should be integers"));
    return {};
  }
  return known->values;
}

Int64List ResultSizes(OpLowering& op, int64_t i, int64_t result) {
  const Shape& shape = op.result(result);
  if (!op.ok()) return {};
  if (op.known(i) == nullptr && !shape.has_unknown_size()) return shape.dims();
  Int64List sizes = KnownInts(op, i, "result's shape");
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0) op.Fail(absl::StrCat("size ", d, " of its result is ", sizes[d], ", should be at least 0"));
  }
  return sizes;
}

bool IsCallOfSizes(absl::string_view target) {
  return target == kAssertion || target == kWrapper || absl::StartsWith(target, "stablehlo.dynamic_");
}

bool LowerCallOfSizes(OpLowering& op, absl::string_view target) {
  static constexpr std::pair<absl::string_view, LowerFn> kCalls[] = {{kAssertion, LowerAssertion},
                                                                     {kWrapper, LowerWrapper},
                                                                     {kReduceWindow, LowerDynamicReduceWindow},
                                                                     {kRngBitGenerator, LowerDynamicRngBitGenerator},
                                                                     {kTopK, LowerDynamicTopK}};
  for (const auto& [name, lower] : kCalls) {
    if (name != target) continue;
    for (const auto& [key, attr] : op.op.attributes) op.attrs.Find(key);  // most say nothing of an operation of HLO
    lower(op);
    return true;
  }
  return false;
}

void LowerDynamicIota(OpLowering& op) {
  const Int64List sizes = ResultSizes(op, 0);
  const int64_t dimension = op.attrs.Int("iota_dimension");
  if (op.ok()) op.Bind(op.b.Iota(op.result().type(), sizes, dimension));
}

void LowerDynamicPad(OpLowering& op) {
  const Int64List low = KnownInts(op, 2, "low padding"), high = KnownInts(op, 3, "high padding"),
                  interior = KnownInts(op, 4, "interior padding");
  if (!op.ok()) return;
  if (low.size() != high.size() || low.size() != interior.size()) {
    return op.Fail("its paddings should be equally long");
  }
  PaddingAttr padding;
  for (size_t d = 0; d < low.size(); ++d) padding.dims.push_back({low[d], high[d], interior[d]});
  Attributes attributes;
  attributes.Set<A::kPadding>(std::move(padding));
  op.Emit(O::kPad, op.Operands(0, 2), std::move(attributes));
}

void LowerDynamicReshape(OpLowering& op) {
  const bool by_type = op.known(1) == nullptr && !op.result().has_unknown_size();
  if (by_type) return op.Emit(O::kReshape, {op.in(0)});
  const Int64List sizes = ResultSizes(op, 1);
  if (op.ok()) op.Bind(op.b.Reshape(op.in(0), sizes));
}

void LowerRealDynamicSlice(OpLowering& op) {
  const Int64List strides = KnownInts(op, 3, "strides");
  if (!op.ok()) return;
  if (op.known(1) == nullptr) return LowerSliceOfKnownSize(op, strides);
  SliceAttr slice{KnownInts(op, 1, "start indices"), KnownInts(op, 2, "limit indices"), strides};
  Attributes attributes;
  attributes.Set<A::kSlice>(std::move(slice));
  op.Emit(O::kSlice, {op.in(0)}, std::move(attributes));
}

}  // namespace xc::stablehlo
