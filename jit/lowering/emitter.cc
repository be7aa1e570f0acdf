#include "jit/lowering/emitter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "hlo/base/choices.h"
#include "hlo/base/status.h"

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

// In code for several sizes a number that is equal to another one by chance, such as no padding to 0, has a constant of
// its own: the program is the same for all sizes.
Val Emitter::Scalar(ElementType type, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  Val& slot = scalars_[{type, bits, 0}];
  if (slot == nullptr || ForAllSizes()) {
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
  if (slot == nullptr || ForAllSizes()) {
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
      a = BroadcastScalar(a, b->shape().dims());
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
      a = BroadcastScalar(a, b->shape().dims());
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

Val Emitter::TransposeMinor(Val a) {
  std::vector<int64_t> permutation(a->shape().rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return Transpose(a, permutation);
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

}  // namespace xc
