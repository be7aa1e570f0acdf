// Ops that compute, on arrays of run-time sizes: what lies beyond the sizes is made to count for nothing.
#include "compiler/expand/dynamic_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/make.h"
#include "hlo/base/status.h"

namespace xc::dynamic {

bool DynamicArray::whole() const {
  return std::none_of(sizes.begin(), sizes.end(), [](Op size) { return static_cast<bool>(size); });
}

Shape Bounds(const Shape& shape) {
  Shape out = WithoutLayout(shape);
  if (out.IsTuple()) {
    for (Shape& element : out.mutable_tuple_shapes()) element = Bounds(element);
  } else {
    for (int64_t d = 0; d < out.rank(); ++d) out.set_dynamic_dim(d, false);
  }
  return out;
}

Op SizeOf(HloBuilder& b, const DynamicArray& x, int64_t d) {
  return x.size(d) ? x.size(d) : b.ScalarInt(ElementType::kS32, x.array.dim(d));
}

Op Tied(HloBuilder& b, Op x, Op y) {
  if (!x || !y || x.instruction() == y.instruction()) return x ? x : y;
  return b.Min(x, y);
}

Op Valid(HloBuilder& b, const DynamicArray& x, absl::Span<const int64_t> dims) {
  Op valid;
  for (int64_t d : dims) {
    if (!x.size(d)) continue;
    Op within = b.Lt(b.Iota(ElementType::kS32, x.array.dims(), d), x.size(d));
    valid = valid ? b.And(valid, within) : within;
  }
  return valid;
}

Op Filled(HloBuilder& b, const DynamicArray& x, Op fill, absl::Span<const int64_t> dims) {
  Op valid = Valid(b, x, dims);
  return valid ? b.Select(valid, x.array, fill) : x.array;
}

Op Filled(HloBuilder& b, const DynamicArray& x, Op fill) { return Filled(b, x, fill, make::Iota(x.array.rank())); }

Op ZeroFilled(HloBuilder& b, const DynamicArray& x) {
  return x.whole() ? x.array : Filled(b, x, b.Zero(x.array.type()));
}

Op Checked(HloBuilder& b, Op size, Op checked, int64_t limit, Op shown, const std::string& message) {
  const HloInstruction* known = checked.instruction();
  if (known != nullptr && known->IsConstant()) {
    const int64_t value = known->literal().GetInt(0);
    if (value >= 0 && value <= limit) return size;
  }
  return b.CustomCall("xc.check_size", {size, checked, b.ScalarInt(ElementType::kS32, limit), shown},
                      Shape::Scalar(ElementType::kS32), absl::StrCat("{message = \"", message, "\"}"),
                      /*side_effect=*/true);
}

Op OnBounds(HloBuilder& b, const HloInstruction& op, absl::Span<const Op> operands) {
  if (!b.ok()) return {};
  std::vector<HloInstruction*> instructions;
  for (Op operand : operands) instructions.push_back(operand.instruction());
  return b.computation()->Add(op.CloneWith(Bounds(op.shape()), instructions));
}

absl::Status NoForm(const HloInstruction& op, absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat(OpcodeName(op.opcode()), " ", op.name(), ": ", what));
}

namespace {

std::vector<Op> Arrays(const std::vector<DynamicArray>& in) {
  std::vector<Op> arrays;
  for (const DynamicArray& x : in) arrays.push_back(x.array);
  return arrays;
}

// Gives the first `count` operands that have the rank of the largest the sizes that any of them has.
Sizes TieAll(HloBuilder& b, std::vector<DynamicArray>& in, int64_t count) {
  int64_t rank = 0;
  for (int64_t i = 0; i < count; ++i) rank = std::max(rank, in[i].array.rank());
  Sizes sizes(rank);
  for (int64_t i = 0; i < count; ++i) {
    if (in[i].array.rank() != rank) continue;
    for (int64_t d = 0; d < rank; ++d) sizes[d] = Tied(b, sizes[d], in[i].size(d));
  }
  for (int64_t i = 0; i < count; ++i) {
    if (in[i].array.rank() == rank) in[i].sizes = sizes;
  }
  return sizes;
}

absl::StatusOr<DynamicArray> Elementwise(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  Sizes sizes = TieAll(b, in, static_cast<int64_t>(in.size()));
  if (op.opcode() == HloOpcode::kBitcastConvert && op.shape().rank() != in[0].array.rank()) {
    if (static_cast<int64_t>(sizes.size()) > op.shape().rank() && sizes.back()) {
      return NoForm(op, "joins elements along a dimension of run-time size");
    }
    sizes.resize(op.shape().rank());
  }
  return DynamicArray{OnBounds(b, op, Arrays(in)), std::move(sizes)};
}

// What changes nothing when the combiner meets it; nothing if that is not known.
Op IdentityOf(HloBuilder& b, const HloComputation* combiner, ElementType type) {
  for (HloOpcode opcode : {HloOpcode::kAdd, HloOpcode::kMultiply, HloOpcode::kMaximum, HloOpcode::kMinimum,
                           HloOpcode::kAnd, HloOpcode::kOr, HloOpcode::kXor}) {
    if (!IsCombiner(combiner, opcode)) continue;
    // x + 0 is not x where x is -0.
    return opcode == HloOpcode::kAdd && IsFloating(type) ? b.Scalar(type, -0.0) : b.Identity(opcode, type);
  }
  return {};
}

// The combiner on elements with a flag that says whether they count.
HloComputation* WithFlags(HloBuilder& b, const HloInstruction& op, int64_t arrays) {
  auto sub = b.SubBuilder("counted");
  std::vector<Op> all;
  Op flags[2];
  for (int64_t side = 0; side < 2; ++side) {
    for (int64_t i = 0; i < arrays; ++i) {
      const HloInstruction* p = op.to_apply()->parameter(side * arrays + i);
      all.push_back(sub->Parameter(side * (arrays + 1) + i, Bounds(p->shape()), absl::StrCat("p", side, "_", i)));
    }
    flags[side] =
        sub->Parameter(side * (arrays + 1) + arrays, Shape::Scalar(ElementType::kPred), absl::StrCat("counts", side));
  }
  Op combined = sub->Call(op.to_apply(), all), both = sub->And(flags[0], flags[1]);
  std::vector<Op> results;
  for (int64_t i = 0; i < arrays; ++i) {
    Op one = combined.shape().IsTuple() ? sub->GetTupleElement(combined, i) : combined;
    results.push_back(sub->Select(both, one, sub->Select(flags[1], all[arrays + i], all[i])));
  }
  results.push_back(sub->Or(flags[0], flags[1]));
  return sub->Finish(sub->Tuple(results));
}

absl::StatusOr<DynamicArray> Reduce(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const int64_t arrays = static_cast<int64_t>(in.size()) / 2, rank = in[0].array.rank();
  const Sizes sizes = TieAll(b, in, arrays);
  const Int64List& dims = op.dimensions();
  Sizes kept;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) kept.push_back(sizes[d]);
  }
  Op valid = Valid(b, in[0], dims);
  if (!valid) return DynamicArray{OnBounds(b, op, Arrays(in)), std::move(kept)};
  Op identity = arrays == 1 ? IdentityOf(b, op.to_apply(), in[0].array.type()) : Op();
  if (identity)
    return DynamicArray{OnBounds(b, op, {b.Select(valid, in[0].array, identity), in[1].array}), std::move(kept)};
  std::vector<Op> operands, inits;
  for (int64_t i = 0; i < arrays; ++i) {
    operands.push_back(in[i].array);
    inits.push_back(in[arrays + i].array);
  }
  operands.push_back(valid);
  inits.push_back(b.R0(true));
  Op all = b.Reduce(operands, inits, WithFlags(b, op, arrays), dims);
  std::vector<Op> results;
  for (int64_t i = 0; i < arrays; ++i) results.push_back(b.GetTupleElement(all, i));
  return DynamicArray{op.shape().IsTuple() ? b.Tuple(results) : results[0], std::move(kept)};
}

// How many windows fit: nothing if that is fixed.
Op Windows(HloBuilder& b, Op size, const WindowDim& w) {
  if (!size || (w.size == 1 && w.stride == 1 && w.padding_low == 0 && w.padding_high == 0 && w.base_dilation == 1)) {
    return size;
  }
  const auto number = [&](int64_t n) { return b.ScalarInt(ElementType::kS32, n); };
  // A size of 0 stays 0: max(-dilation + 1, 0).
  Op spread = b.Max(b.Add(b.Mul(b.Sub(size, number(1)), number(w.base_dilation)), number(1)), number(0));
  const int64_t reach = (w.size - 1) * w.window_dilation + 1;
  Op room = b.Add(spread, number(w.padding_low + w.padding_high - reach));
  return b.Select(b.Lt(room, number(0)), number(0), b.Add(b.Div(room, number(w.stride)), number(1)));
}

absl::StatusOr<DynamicArray> ReduceWindow(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  if (in.size() != 2) return NoForm(op, "several arrays of run-time sizes");
  Op identity = IdentityOf(b, op.to_apply(), in[0].array.type());
  if (!identity) return NoForm(op, "a combiner whose identity is not known");
  Sizes sizes;
  for (int64_t d = 0; d < in[0].array.rank(); ++d) sizes.push_back(Windows(b, in[0].size(d), op.window().dims[d]));
  return DynamicArray{OnBounds(b, op, {Filled(b, in[0], identity), in[1].array}), std::move(sizes)};
}

absl::StatusOr<DynamicArray> Dot(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  if (in.size() != 2) return NoForm(op, "sparse operands of run-time sizes");
  const DotDims& dims = op.dot_dims();
  for (DynamicArray& x : in) x.sizes.resize(x.array.rank());
  const auto tie = [&](const Int64List& lhs, const Int64List& rhs) {
    for (size_t i = 0; i < lhs.size(); ++i) {
      in[0].sizes[lhs[i]] = in[1].sizes[rhs[i]] = Tied(b, in[0].sizes[lhs[i]], in[1].sizes[rhs[i]]);
    }
  };
  tie(dims.lhs_batch, dims.rhs_batch);
  tie(dims.lhs_contracting, dims.rhs_contracting);
  Sizes sizes;
  for (int64_t d : dims.lhs_batch) sizes.push_back(in[0].sizes[d]);
  const auto free = [&](const DynamicArray& x, const Int64List& batch, const Int64List& contracting) {
    for (int64_t d = 0; d < x.array.rank(); ++d) {
      if (std::count(batch.begin(), batch.end(), d) + std::count(contracting.begin(), contracting.end(), d) == 0) {
        sizes.push_back(x.sizes[d]);
      }
    }
  };
  free(in[0], dims.lhs_batch, dims.lhs_contracting);
  free(in[1], dims.rhs_batch, dims.rhs_contracting);
  // Both sides: what lies beyond may be no number, and zero times that is none either.
  Op lhs = Filled(b, in[0], b.Zero(in[0].array.type()), dims.lhs_contracting);
  Op rhs = Filled(b, in[1], b.Zero(in[1].array.type()), dims.rhs_contracting);
  return DynamicArray{OnBounds(b, op, {lhs, rhs}), std::move(sizes)};
}

absl::StatusOr<DynamicArray> Convolution(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const ConvDims& labels = op.conv_dims();
  if (!in[1].whole()) return NoForm(op, "a kernel of run-time sizes");
  if (in[0].size(labels.input_feature)) return NoForm(op, "a run-time number of features");
  if (op.attr_or<AttrKind::kBatchGroupCount>(1) != 1 && in[0].size(labels.input_batch)) {
    return NoForm(op, "batch groups of run-time size");
  }
  Sizes sizes(op.shape().rank());
  sizes[labels.output_batch] = in[0].size(labels.input_batch);
  for (size_t k = 0; k < labels.input_spatial.size(); ++k) {
    sizes[labels.output_spatial[k]] = Windows(b, in[0].size(labels.input_spatial[k]), op.window().dims[k]);
  }
  Op input = Filled(b, in[0], b.Zero(in[0].array.type()), labels.input_spatial);
  return DynamicArray{OnBounds(b, op, {input, in[1].array}), std::move(sizes)};
}

// What lies beyond the size goes behind all else, in whichever order.
absl::StatusOr<DynamicArray> Sort(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const int64_t arrays = static_cast<int64_t>(in.size()), dim = op.dimensions()[0];
  Sizes sizes = TieAll(b, in, arrays);
  if (!sizes[dim]) return DynamicArray{OnBounds(b, op, Arrays(in)), std::move(sizes)};
  auto sub = b.SubBuilder("sizes_first");
  std::vector<Op> elements;
  for (int64_t i = 0; i < 2 * arrays; ++i) {
    const Shape scalar = Shape::Scalar(in[i / 2].array.type());
    elements.push_back(sub->Parameter(i, scalar, absl::StrCat("p", i)));
  }
  const Shape flag = Shape::Scalar(ElementType::kPred);
  Op x = sub->Parameter(2 * arrays, flag, "x_beyond"), y = sub->Parameter(2 * arrays + 1, flag, "y_beyond");
  HloComputation* order = sub->Finish(sub->Select(sub->Xor(x, y), y, sub->Call(op.to_apply(), elements)));
  std::vector<Op> operands = Arrays(in);
  operands.push_back(b.Not(Valid(b, in[0], {dim})));
  Op sorted = b.Sort(operands, dim, op.attr_or<AttrKind::kIsStable>(false), order);
  std::vector<Op> results;
  for (int64_t i = 0; i < arrays; ++i) results.push_back(b.GetTupleElement(sorted, i));
  return DynamicArray{op.shape().IsTuple() ? b.Tuple(results) : results[0], std::move(sizes)};
}

// Ops on the last dimensions, for each place in those before.
absl::StatusOr<DynamicArray> OnLastDims(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const int64_t rank = in[0].array.rank();
  int64_t last = 2;
  if (op.opcode() == HloOpcode::kFft) last = static_cast<int64_t>(op.attr<AttrKind::kFftLength>().size());
  Sizes sizes(rank);
  for (const DynamicArray& x : in) {
    for (int64_t d = 0; d < rank; ++d) {
      if (x.size(d) && d >= rank - last) return NoForm(op, "a run-time size of what is transformed or solved");
      sizes[d] = Tied(b, sizes[d], x.size(d));
    }
  }
  // Matrices that are not there may be anything, of which no error may come.
  std::vector<Op> arrays;
  for (DynamicArray& x : in) arrays.push_back(ZeroFilled(b, x));
  return DynamicArray{OnBounds(b, op, arrays), std::move(sizes)};
}

}  // namespace

Rule ComputeRule(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kReduce:
      return Reduce;
    case HloOpcode::kReduceWindow:
      return ReduceWindow;
    case HloOpcode::kDot:
      return Dot;
    case HloOpcode::kConvolution:
      return Convolution;
    case HloOpcode::kSort:
      return Sort;
    case HloOpcode::kCholesky:
    case HloOpcode::kFft:
    case HloOpcode::kTriangularSolve:
      return OnLastDims;
    case HloOpcode::kCopy:
    case HloOpcode::kMap:
      return Elementwise;
    default:
      return IsElementwise(opcode) ? Elementwise : nullptr;
  }
}

}  // namespace xc::dynamic
