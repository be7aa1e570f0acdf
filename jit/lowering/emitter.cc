#include "jit/lowering/emitter.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/builder.h"
#include "hlo/shape_inference/shape_inference.h"

namespace xc {
namespace {

struct TypePair {
  DataType host;
  ElementType element;
};
constexpr TypePair kTypes[] = {
    {DT_FLOAT, ElementType::kF32},          {DT_DOUBLE, ElementType::kF64},
    {DT_INT32, ElementType::kS32},          {DT_INT64, ElementType::kS64},
    {DT_BOOL, ElementType::kPred},          {DT_HALF, ElementType::kF16},
    {DT_BFLOAT16, ElementType::kBF16},      {DT_INT8, ElementType::kS8},
    {DT_UINT8, ElementType::kU8},           {DT_INT16, ElementType::kS16},
    {DT_UINT16, ElementType::kU16},         {DT_UINT32, ElementType::kU32},
    {DT_UINT64, ElementType::kU64},         {DT_COMPLEX64, ElementType::kC64},
    {DT_COMPLEX128, ElementType::kC128},    {DT_QINT8, ElementType::kS8},
    {DT_QUINT8, ElementType::kU8},          {DT_QINT32, ElementType::kS32},
    {DT_FLOAT8_E5M2, ElementType::kF8E5M2}, {DT_FLOAT8_E4M3FN, ElementType::kF8E4M3FN},
};

}  // namespace

ElementType ToElementType(DataType type) {
  for (const TypePair& p : kTypes) {
    if (p.host == type) return p.element;
  }
  return ElementType::kInvalid;
}

DataType ToDataType(ElementType type) {
  for (const TypePair& p : kTypes) {
    if (p.element == type) return p.host;
  }
  return DT_INVALID;
}

Shape MakeShape(DataType type, const Dims& dims) { return Shape(ToElementType(type), dims); }

Literal ToLiteral(const Tensor& tensor) {
  Literal literal(MakeShape(tensor.dtype(), tensor.dims()));
  XC_CHECK_EQ(literal.byte_size(), tensor.byte_size());
  if (literal.byte_size() > 0) std::memcpy(literal.mutable_bytes(), tensor.raw(), literal.byte_size());
  return literal;
}

absl::StatusOr<Tensor> ToTensor(const Literal& literal) {
  XC_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(ToDataType(literal.shape().type()), literal.shape().dims()));
  if (t.byte_size() > 0) std::memcpy(t.raw(), literal.bytes(), t.byte_size());
  return t;
}

void Emitter::SetSource(const std::string& op_type, const std::string& op_name) {
  metadata_.op_type = op_type;
  metadata_.op_name = op_name;
}

Val Emitter::Make(HloOpcode opcode, Shape shape, const std::vector<Val>& operands) {
  Val v = computation_->Add(HloInstruction::Create(opcode, std::move(shape), operands));
  if (!metadata_.op_name.empty()) v->set_attr<AttrKind::kMetadata>(metadata_);
  return v;
}

Val Emitter::Parameter(int64_t number, const Shape& shape, const std::string& name) {
  return computation_->Add(HloInstruction::CreateParameter(number, shape, name));
}

Val Emitter::Constant(std::shared_ptr<const Literal> literal) {
  return computation_->Add(HloInstruction::CreateConstant(std::move(literal)));
}

Val Emitter::Scalar(ElementType type, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  Val& slot = scalars_[{type, bits, 0}];
  if (slot == nullptr) {
    Literal l{Shape::Scalar(type)};
    if (IsComplex(type)) {
      l.SetComplex(0, {value, 0});
    } else if (IsIntegral(type) || type == ElementType::kPred) {
      l.SetInt(0, static_cast<int64_t>(value));
    } else {
      l.SetDouble(0, value);
    }
    slot = Constant(std::move(l));
  }
  return slot;
}

Val Emitter::ScalarInt(ElementType type, int64_t value) {
  if (!IsIntegral(type)) return Scalar(type, static_cast<double>(value));
  Val& slot = scalars_[{type, static_cast<uint64_t>(value), 1}];
  if (slot == nullptr) {
    Literal l{Shape::Scalar(type)};
    l.SetInt(0, value);
    slot = Constant(std::move(l));
  }
  return slot;
}

Val Emitter::Vector(ElementType type, const std::vector<int64_t>& values) {
  Literal l{Shape(type, {static_cast<int64_t>(values.size())})};
  for (size_t i = 0; i < values.size(); ++i) l.SetInt(i, values[i]);
  return Constant(std::move(l));
}

Val Emitter::Lowest(ElementType type) {
  if (IsFloating(type)) return Scalar(type, -std::numeric_limits<double>::infinity());
  if (type == ElementType::kPred || IsUnsignedInt(type)) return ScalarInt(type, 0);
  return ScalarInt(type, -(int64_t{1} << (ElementBits(type) - 1)));
}

Val Emitter::Highest(ElementType type) {
  if (IsFloating(type)) return Scalar(type, std::numeric_limits<double>::infinity());
  if (type == ElementType::kPred) return ScalarInt(type, 1);
  if (IsUnsignedInt(type)) return ScalarInt(type, -1);
  return ScalarInt(type, static_cast<int64_t>((uint64_t{1} << (ElementBits(type) - 1)) - 1));
}

Val Emitter::Iota(ElementType type, const Dims& dims, int64_t dimension) {
  Val v = Make(HloOpcode::kIota, Shape(type, dims), {});
  v->set_attr<AttrKind::kIotaDimension>(dimension);
  return v;
}

Val Emitter::Unary(HloOpcode opcode, Val a) {
  Shape shape(a->type(), a->shape().dims());
  if (opcode == HloOpcode::kIsFinite) shape.set_type(ElementType::kPred);
  if (opcode == HloOpcode::kAbs) shape.set_type(ComplexComponent(a->type()));
  return Make(opcode, shape, {a});
}

Val Emitter::Binary(HloOpcode opcode, Val a, Val b) {
  if (a->shape().dims() != b->shape().dims()) {
    if (a->shape().rank() == 0) {
      a = Splat(a, b->shape().dims());
    } else {
      b = BroadcastTo(b, a->shape().dims());
    }
  }
  Shape shape(a->type(), a->shape().dims());
  return Make(opcode, shape, {a, b});
}

Val Emitter::Compare(CompareDirection direction, Val a, Val b) {
  if (a->shape().dims() != b->shape().dims()) {
    if (a->shape().rank() == 0) {
      a = Splat(a, b->shape().dims());
    } else {
      b = BroadcastTo(b, a->shape().dims());
    }
  }
  Val v = Make(HloOpcode::kCompare, Shape(ElementType::kPred, a->shape().dims()), {a, b});
  v->set_attr<AttrKind::kDirection>(direction);
  return v;
}

Val Emitter::Select(Val pred, Val on_true, Val on_false) {
  Dims dims = pred->shape().dims();
  if (dims.empty()) dims = on_true->shape().dims();
  if (dims.empty()) dims = on_false->shape().dims();
  auto fit = [&](Val v) { return v->shape().dims() == dims ? v : BroadcastTo(v, dims); };
  on_true = fit(on_true);
  on_false = fit(on_false);
  pred = fit(pred);
  return Make(HloOpcode::kSelect, Shape(on_true->type(), dims), {pred, on_true, on_false});
}

Val Emitter::Clamp(Val low, Val a, Val high) {
  const Dims& dims = a->shape().dims();
  auto fit = [&](Val v) { return v->shape().dims() == dims ? v : BroadcastTo(v, dims); };
  return Make(HloOpcode::kClamp, Shape(a->type(), dims), {fit(low), a, fit(high)});
}

Val Emitter::Convert(Val a, ElementType type) {
  if (a->type() == type) return a;
  if (type == ElementType::kPred) return Ne(a, Like(a, 0));
  // Complex to real keeps the real part.
  if (IsComplex(a->type()) && !IsComplex(type)) return Convert(Real(a), type);
  return Make(HloOpcode::kConvert, Shape(type, a->shape().dims()), {a});
}

Val Emitter::BitcastConvert(Val a, ElementType type) {
  if (a->type() == type) return a;
  return Make(HloOpcode::kBitcastConvert, Shape(type, a->shape().dims()), {a});
}

Val Emitter::Real(Val a) { return Make(HloOpcode::kReal, Shape(ComplexComponent(a->type()), a->shape().dims()), {a}); }
Val Emitter::Imag(Val a) { return Make(HloOpcode::kImag, Shape(ComplexComponent(a->type()), a->shape().dims()), {a}); }
Val Emitter::Complex(Val re, Val im) {
  ElementType type = re->type() == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64;
  return Make(HloOpcode::kComplex, Shape(type, re->shape().dims()), {re, im});
}

Val Emitter::Broadcast(Val a, const Dims& dims, const std::vector<int64_t>& mapping) {
  if (a->shape().dims() == dims) {
    bool identity = true;
    for (size_t i = 0; i < mapping.size(); ++i) identity &= mapping[i] == static_cast<int64_t>(i);
    if (identity) return a;
  }
  Val v = Make(HloOpcode::kBroadcast, Shape(a->type(), dims), {a});
  v->set_attr<AttrKind::kDimensions>(mapping);
  return v;
}

Val Emitter::BroadcastTo(Val a, const Dims& dims) {
  const Dims& from = a->shape().dims();
  if (from == dims) return a;
  int64_t offset = static_cast<int64_t>(dims.size()) - static_cast<int64_t>(from.size());
  XC_CHECK(offset >= 0);
  Dims kept;
  std::vector<int64_t> mapping;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1 && dims[i + offset] != 1) continue;
    kept.push_back(from[i]);
    mapping.push_back(static_cast<int64_t>(i) + offset);
  }
  return Broadcast(Reshape(a, kept), dims, mapping);
}

Val Emitter::Reshape(Val a, const Dims& dims) {
  if (a->shape().dims() == dims) return a;
  return Make(HloOpcode::kReshape, Shape(a->type(), dims), {a});
}

Val Emitter::Transpose(Val a, const std::vector<int64_t>& permutation) {
  bool identity = true;
  Dims dims;
  for (size_t i = 0; i < permutation.size(); ++i) {
    identity &= permutation[i] == static_cast<int64_t>(i);
    dims.push_back(a->shape().dim(permutation[i]));
  }
  if (identity) return a;
  Val v = Make(HloOpcode::kTranspose, Shape(a->type(), dims), {a});
  v->set_attr<AttrKind::kDimensions>(permutation);
  return v;
}

Val Emitter::Slice(Val a, const std::vector<int64_t>& starts, const std::vector<int64_t>& limits,
                   const std::vector<int64_t>& strides) {
  SliceAttr slice{starts, limits, strides};
  if (slice.strides.empty()) slice.strides.assign(starts.size(), 1);
  Dims dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    dims.push_back((limits[i] - starts[i] + slice.strides[i] - 1) / slice.strides[i]);
  }
  if (dims == a->shape().dims()) return a;
  Val v = Make(HloOpcode::kSlice, Shape(a->type(), dims), {a});
  v->set_attr<AttrKind::kSlice>(slice);
  return v;
}

Val Emitter::SliceDim(Val a, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  std::vector<int64_t> starts(a->shape().rank(), 0), limits = a->shape().dims(), strides(a->shape().rank(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return Slice(a, starts, limits, strides);
}

Val Emitter::Pad(Val a, Val value, const std::vector<PaddingDim>& padding) {
  Dims dims;
  bool none = true;
  for (size_t i = 0; i < padding.size(); ++i) {
    const PaddingDim& p = padding[i];
    int64_t size = a->shape().dim(i);
    dims.push_back(size + p.low + p.high + std::max<int64_t>(size - 1, 0) * p.interior);
    none &= p.low == 0 && p.high == 0 && p.interior == 0;
  }
  if (none) return a;
  Val v = Make(HloOpcode::kPad, Shape(a->type(), dims), {a, value});
  v->set_attr<AttrKind::kPadding>(PaddingAttr{padding});
  return v;
}

Val Emitter::Concat(const std::vector<Val>& parts, int64_t dimension) {
  if (parts.size() == 1) return parts[0];
  Dims dims = parts[0]->shape().dims();
  dims[dimension] = 0;
  for (Val p : parts) dims[dimension] += p->shape().dim(dimension);
  Val v = Make(HloOpcode::kConcatenate, Shape(parts[0]->type(), dims), parts);
  v->set_attr<AttrKind::kDimensions>({dimension});
  return v;
}

Val Emitter::Reverse(Val a, const std::vector<int64_t>& dimensions) {
  if (dimensions.empty()) return a;
  Val v = Make(HloOpcode::kReverse, Shape(a->type(), a->shape().dims()), {a});
  v->set_attr<AttrKind::kDimensions>(dimensions);
  return v;
}

Val Emitter::DynamicSlice(Val a, const std::vector<Val>& starts, const Dims& sizes) {
  std::vector<Val> operands = {a};
  operands.insert(operands.end(), starts.begin(), starts.end());
  Val v = Make(HloOpcode::kDynamicSlice, Shape(a->type(), sizes), operands);
  v->set_attr<AttrKind::kDynamicSliceSizes>(sizes);
  return v;
}

Val Emitter::DynamicUpdateSlice(Val a, Val update, const std::vector<Val>& starts) {
  std::vector<Val> operands = {a, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return Make(HloOpcode::kDynamicUpdateSlice, Shape(a->type(), a->shape().dims()), operands);
}

HloComputation* Emitter::Computation(const std::string& name, const std::vector<Shape>& parameters,
                                     const std::function<Val(Emitter&, const std::vector<Val>&)>& fill) {
  HloComputation* computation = module_->AddComputation(name);
  Emitter inner(module_, computation);
  inner.metadata_ = metadata_;
  std::vector<Val> values;
  for (size_t i = 0; i < parameters.size(); ++i) {
    values.push_back(inner.Parameter(i, parameters[i], absl::StrCat("p", i)));
  }
  computation->set_root(fill(inner, values));
  return computation;
}

HloComputation* Emitter::Scalar2(HloOpcode opcode, ElementType type) {
  Shape s = Shape::Scalar(type);
  return Computation(std::string(OpcodeName(opcode)), {s, s}, [&](Emitter& e, const std::vector<Val>& p) {
    return e.Make(opcode, s, {p[0], p[1]});
  });
}

Val Emitter::Reduce(Val a, Val init, const std::vector<int64_t>& dims, HloOpcode opcode) {
  if (dims.empty()) return a;
  return Reduce(a, init, dims, Scalar2(opcode, a->type()));
}

Val Emitter::Reduce(Val a, Val init, const std::vector<int64_t>& dims, HloComputation* computation) {
  Dims out;
  for (int64_t i = 0; i < a->shape().rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) out.push_back(a->shape().dim(i));
  }
  Val v = Make(HloOpcode::kReduce, Shape(a->type(), out), {a, init});
  v->set_attr<AttrKind::kDimensions>(dims);
  v->AddCalledComputation(computation);
  return v;
}

Val Emitter::ReduceMany(const std::vector<Val>& arrays, const std::vector<Val>& inits, const std::vector<int64_t>& dims,
                        HloComputation* computation) {
  std::vector<Shape> shapes;
  for (Val a : arrays) {
    Dims out;
    for (int64_t i = 0; i < a->shape().rank(); ++i) {
      if (std::find(dims.begin(), dims.end(), i) == dims.end()) out.push_back(a->shape().dim(i));
    }
    shapes.emplace_back(a->type(), out);
  }
  std::vector<Val> operands = arrays;
  operands.insert(operands.end(), inits.begin(), inits.end());
  Val v = Make(HloOpcode::kReduce, Shape::Tuple(shapes), operands);
  v->set_attr<AttrKind::kDimensions>(dims);
  v->AddCalledComputation(computation);
  return v;
}

int64_t WindowOutputSize(int64_t input, const WindowDim& w) {
  int64_t dilated = input == 0 ? 0 : (input - 1) * w.base_dilation + 1;
  int64_t padded = dilated + w.padding_low + w.padding_high;
  int64_t window = (w.size - 1) * w.window_dilation + 1;
  return padded < window ? 0 : (padded - window) / w.stride + 1;
}

Val Emitter::ReduceWindow(Val a, Val init, const WindowAttr& window, HloOpcode opcode) {
  Dims dims;
  for (size_t i = 0; i < window.dims.size(); ++i) dims.push_back(WindowOutputSize(a->shape().dim(i), window.dims[i]));
  HloComputation* computation = Scalar2(opcode, a->type());
  Val v = Make(HloOpcode::kReduceWindow, Shape(a->type(), dims), {a, init});
  v->set_attr<AttrKind::kWindow>(window);
  v->AddCalledComputation(computation);
  return v;
}

Val Emitter::SelectAndScatter(Val a, Val source, Val init, const WindowAttr& window, CompareDirection select) {
  Shape s = Shape::Scalar(a->type());
  HloComputation* choose = Computation(
      "select", {s, s}, [&](Emitter& e, const std::vector<Val>& p) { return e.Compare(select, p[0], p[1]); });
  HloComputation* add = Scalar2(HloOpcode::kAdd, a->type());
  Val v = Make(HloOpcode::kSelectAndScatter, Shape(a->type(), a->shape().dims()), {a, source, init});
  v->set_attr<AttrKind::kWindow>(window);
  v->AddCalledComputation(choose);
  v->AddCalledComputation(add);
  return v;
}

Val Emitter::Dot(Val a, Val b, const DotDims& dims, ElementType type) {
  Dims out;
  for (int64_t d : dims.lhs_batch) out.push_back(a->shape().dim(d));
  auto rest = [&](Val v, const Int64List& batch, const Int64List& contracting) {
    for (int64_t i = 0; i < v->shape().rank(); ++i) {
      bool used = std::find(batch.begin(), batch.end(), i) != batch.end() ||
                  std::find(contracting.begin(), contracting.end(), i) != contracting.end();
      if (!used) out.push_back(v->shape().dim(i));
    }
  };
  rest(a, dims.lhs_batch, dims.lhs_contracting);
  rest(b, dims.rhs_batch, dims.rhs_contracting);
  Val v = Make(HloOpcode::kDot, Shape(type == ElementType::kInvalid ? a->type() : type, out), {a, b});
  v->set_attr<AttrKind::kDotDims>(dims);
  return v;
}

Val Emitter::Conv(Val input, Val kernel, const WindowAttr& window, const ConvDims& dims, int64_t feature_groups,
                  int64_t batch_groups) {
  Dims out(input->shape().rank());
  out[dims.output_batch] = input->shape().dim(dims.input_batch) / batch_groups;
  out[dims.output_feature] = kernel->shape().dim(dims.kernel_output_feature);
  for (size_t i = 0; i < window.dims.size(); ++i) {
    out[dims.output_spatial[i]] = WindowOutputSize(input->shape().dim(dims.input_spatial[i]), window.dims[i]);
  }
  Val v = Make(HloOpcode::kConvolution, Shape(input->type(), out), {input, kernel});
  v->set_attr<AttrKind::kWindow>(window);
  v->set_attr<AttrKind::kDimLabels>(dims);
  if (feature_groups != 1) v->set_attr<AttrKind::kFeatureGroupCount>(feature_groups);
  if (batch_groups != 1) v->set_attr<AttrKind::kBatchGroupCount>(batch_groups);
  return v;
}

Val Emitter::Gather(Val a, Val indices, const GatherDims& dims, const std::vector<int64_t>& slice_sizes, bool sorted) {
  // Output: offset_dims hold the slice's kept dimensions, the others the batch dimensions of the indices.
  Dims batch;
  for (int64_t i = 0; i < indices->shape().rank(); ++i) {
    if (i != dims.index_vector_dim) batch.push_back(indices->shape().dim(i));
  }
  Dims kept;
  auto contains = [](const Int64List& list, int64_t v) { return std::find(list.begin(), list.end(), v) != list.end(); };
  for (size_t i = 0; i < slice_sizes.size(); ++i) {
    if (!contains(dims.collapsed_slice_dims, i) && !contains(dims.operand_batching_dims, i)) {
      kept.push_back(slice_sizes[i]);
    }
  }
  Dims out;
  size_t b = 0, k = 0;
  for (size_t i = 0; i < batch.size() + kept.size(); ++i) {
    out.push_back(contains(dims.offset_dims, i) ? kept[k++] : batch[b++]);
  }
  Val v = Make(HloOpcode::kGather, Shape(a->type(), out), {a, indices});
  v->set_attr<AttrKind::kGatherDims>(dims);
  v->set_attr<AttrKind::kSliceSizes>(slice_sizes);
  if (sorted) v->set_attr<AttrKind::kIndicesAreSorted>(true);
  return v;
}

Val Emitter::Scatter(Val a, Val indices, Val updates, const ScatterDims& dims, HloComputation* combine, bool sorted,
                     bool unique) {
  Val v = Make(HloOpcode::kScatter, Shape(a->type(), a->shape().dims()), {a, indices, updates});
  v->set_attr<AttrKind::kScatterDims>(dims);
  if (sorted) v->set_attr<AttrKind::kIndicesAreSorted>(true);
  if (unique) v->set_attr<AttrKind::kUniqueIndices>(true);
  v->AddCalledComputation(combine);
  return v;
}

HloComputation* Emitter::LessThan(const std::vector<ElementType>& types, CompareDirection direction, bool total_order) {
  std::vector<Shape> parameters;
  for (ElementType t : types) {
    parameters.push_back(Shape::Scalar(t));
    parameters.push_back(Shape::Scalar(t));
  }
  return Computation("order", parameters, [&](Emitter& e, const std::vector<Val>& p) {
    Val v = e.Compare(direction, p[0], p[1]);
    if (total_order && IsFloating(types[0])) v->set_attr<AttrKind::kCompareType>(CompareType::kTotalOrder);
    return v;
  });
}

Val Emitter::Sort(const std::vector<Val>& operands, int64_t axis, HloComputation* less, bool stable) {
  std::vector<Shape> shapes;
  for (Val v : operands) shapes.emplace_back(v->type(), v->shape().dims());
  Val v = Make(HloOpcode::kSort, shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes), operands);
  v->set_attr<AttrKind::kDimensions>({axis});
  if (stable) v->set_attr<AttrKind::kIsStable>(true);
  v->AddCalledComputation(less);
  return v;
}

Val Emitter::Fft(Val a, FftType type, const std::vector<int64_t>& lengths) {
  Shape shape(a->type(), a->shape().dims());
  int64_t last = shape.rank() - 1;
  if (type == FftType::kRfft) {
    shape.set_type(a->type() == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64);
    shape.set_dim(last, lengths.back() == 0 ? 0 : lengths.back() / 2 + 1);
  } else if (type == FftType::kIrfft) {
    shape.set_type(ComplexComponent(a->type()));
    shape.set_dim(last, lengths.back());
  }
  Val v = Make(HloOpcode::kFft, shape, {a});
  v->set_attr<AttrKind::kFftType>(type);
  v->set_attr<AttrKind::kFftLength>(lengths);
  return v;
}

Val Emitter::Cholesky(Val a) {
  Val v = Make(HloOpcode::kCholesky, Shape(a->type(), a->shape().dims()), {a});
  v->set_attr<AttrKind::kLower>(true);
  return v;
}

Val Emitter::TriangularSolve(Val a, Val b, bool left, bool lower, bool unit, TriangularTranspose transpose) {
  Val v = Make(HloOpcode::kTriangularSolve, Shape(b->type(), b->shape().dims()), {a, b});
  v->set_attr<AttrKind::kLeftSide>(left);
  v->set_attr<AttrKind::kLower>(lower);
  v->set_attr<AttrKind::kUnitDiagonal>(unit);
  v->set_attr<AttrKind::kTransposeA>(transpose);
  return v;
}

Val Emitter::Tuple(const std::vector<Val>& elements) {
  std::vector<Shape> shapes;
  for (Val v : elements) shapes.push_back(v->shape());
  return Make(HloOpcode::kTuple, Shape::Tuple(shapes), elements);
}

Val Emitter::Get(Val tuple, int64_t index) {
  if (tuple->opcode() == HloOpcode::kTuple) return tuple->operand(index);
  Val v = Make(HloOpcode::kGetTupleElement, tuple->shape().tuple_shape(index), {tuple});
  v->set_attr<AttrKind::kIndex>(index);
  return v;
}

absl::StatusOr<Val> Emitter::AddInferred(std::unique_ptr<HloInstruction> instruction) {
  XC_ASSIGN_OR_RETURN(*instruction->mutable_shape(), InferShape(*instruction));
  if (!metadata_.op_name.empty()) instruction->set_attr<AttrKind::kMetadata>(metadata_);
  return computation_->Add(std::move(instruction));
}

Val Emitter::Built(absl::FunctionRef<Op(HloBuilder&)> make) {
  HloBuilder builder(computation_);
  if (!metadata_.op_name.empty()) builder.SetMetadata(metadata_);
  const Op made = make(builder);
  XC_CHECK(builder.ok());
  return made.instruction();
}

Val Emitter::While(HloComputation* condition, HloComputation* body, Val init) {
  Val v = Make(HloOpcode::kWhile, init->shape(), {init});
  v->AddCalledComputation(condition);
  v->AddCalledComputation(body);
  return v;
}

Val Emitter::Conditional(Val selector, const std::vector<HloComputation*>& branches,
                         const std::vector<Val>& arguments) {
  std::vector<Val> operands = {selector};
  operands.insert(operands.end(), arguments.begin(), arguments.end());
  Val v = Make(HloOpcode::kConditional, branches[0]->root()->shape(), operands);
  for (HloComputation* b : branches) v->AddCalledComputation(b);
  return v;
}

Val Emitter::Call(HloComputation* computation, const std::vector<Val>& arguments) {
  Val v = Make(HloOpcode::kCall, computation->root()->shape(), arguments);
  v->AddCalledComputation(computation);
  return v;
}

std::vector<Val> Emitter::Loop(const std::vector<Val>& state, const std::function<Val(Emitter&, Val, Val)>& go_on,
                               const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body) {
  std::vector<Val> init = {S32(0)};
  init.insert(init.end(), state.begin(), state.end());
  Val packed = Tuple(init);
  Shape shape = packed->shape();
  HloComputation* condition = Computation(
      "loop_condition", {shape}, [&](Emitter& e, const std::vector<Val>& p) { return go_on(e, e.Get(p[0], 0), p[0]); });
  HloComputation* step = Computation("loop_body", {shape}, [&](Emitter& e, const std::vector<Val>& p) {
    Val i = e.Get(p[0], 0);
    std::vector<Val> current;
    for (size_t k = 0; k < state.size(); ++k) current.push_back(e.Get(p[0], k + 1));
    std::vector<Val> next = body(e, i, current);
    next.insert(next.begin(), e.Add(i, e.S32(1)));
    return e.Tuple(next);
  });
  Val loop = While(condition, step, packed);
  std::vector<Val> out;
  for (size_t k = 0; k < state.size(); ++k) out.push_back(Get(loop, k + 1));
  return out;
}

std::vector<Val> Emitter::ForLoop(int64_t trip_count, const std::vector<Val>& state,
                                  const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body) {
  return Loop(
      state, [&](Emitter& e, Val i, Val) { return e.Lt(i, e.S32(trip_count)); }, body);
}

std::vector<Val> Emitter::LoopWhileAny(
    int64_t max_trips, const std::vector<Val>& state,
    const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body) {
  auto go_on = [&](Emitter& e, Val i, Val packed) {
    Val active = e.Get(packed, 1);
    std::vector<int64_t> all(active->shape().rank());
    std::iota(all.begin(), all.end(), 0);
    Val any = e.Reduce(active, e.Scalar(ElementType::kPred, 0), all, HloOpcode::kOr);
    return e.And(any, e.Lt(i, e.S32(max_trips)));
  };
  return Loop(state, go_on, body);
}

std::vector<Val> Emitter::CustomCall(const std::string& target, const std::vector<Shape>& results,
                                     const std::vector<Val>& operands, const std::string& attributes) {
  Val v = Make(HloOpcode::kCustomCall, Shape::Tuple(results), operands);
  v->set_attr<AttrKind::kCustomCallTarget>(target);
  v->set_attr<AttrKind::kApiVersion>("API_VERSION_TYPED_FFI");
  v->set_attr<AttrKind::kBackendConfig>(BackendConfig{attributes, true});
  std::vector<Val> out;
  for (size_t k = 0; k < results.size(); ++k) out.push_back(Get(v, k));
  return out;
}

}  // namespace xc
