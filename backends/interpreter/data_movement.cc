// Elementwise ops on whole arrays, and the ops that move elements to places known from shapes and attributes.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/op.h"
#include "backends/interpreter/strided.h"
#include "hlo/base/status.h"

namespace xc::interp {
namespace {

int ElementBytes(const Literal& literal) { return StorageBytes(literal.shape().type()); }

}  // namespace

OpResult RunElementwise(const ElementwiseOp& op, const Shape& shape, Operands& operands) {
  const int64_t n = shape.ElementCount();
  const uint8_t* in[3] = {};
  // The result takes the place of an operand of the same type that nothing else uses.
  Literal out;
  int reused = -1;
  for (int i = 0; i < op.operands && reused < 0; ++i) {
    if (op.in[i] == op.out && operands.IsUnshared(i) && operands[i].size() == n) {
      reused = i;
      out = operands.Take(i);
      *out.mutable_shape() = Plain(shape);
    }
  }
  if (reused < 0) out = Literal(Plain(shape));
  std::vector<uint8_t> repeated[3];
  for (int i = 0; i < op.operands; ++i) {
    const Literal& operand = i == reused ? out : operands[i];
    in[i] = operand.bytes();
    if (operand.size() == n) continue;
    // The scalar operands of select and clamp.
    if (operand.size() != 1) return absl::InvalidArgumentError("its operands differ in size");
    repeated[i].resize(n * op.in_bytes[i]);
    const Dims zero = {0}, one = {1};
    StridedCopy(op.in_bytes[i], {n}, zero, one).Run(operand.bytes(), repeated[i].data());
    in[i] = repeated[i].data();
  }
  op.fn(op, in, out.mutable_bytes(), n);
  return out;
}

namespace {

// Bits seen as another type. Sub-byte elements take a byte each here but `bits` bits in the meaning of the op.
OpResult BitcastConvert(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const ElementType from = operands[0].shape().type(), to = instruction.type();
  if (!IsSubByte(from) && !IsSubByte(to)) {
    Literal out(Plain(instruction.shape()));
    if (out.byte_size() != operands[0].byte_size()) return absl::InvalidArgumentError("sizes in bytes differ");
    if (from == ElementType::kPred || to != ElementType::kPred) {
      std::memcpy(out.mutable_bytes(), operands[0].bytes(), out.byte_size());
    } else {
      for (int64_t i = 0; i < out.byte_size(); ++i) out.mutable_bytes()[i] = operands[0].bytes()[i] != 0;
    }
    return out;
  }
  if (ElementBits(from) == ElementBits(to)) {
    Literal out(Plain(instruction.shape()));
    const uint8_t mask = static_cast<uint8_t>((1 << ElementBits(to)) - 1);
    for (int64_t i = 0; i < out.byte_size(); ++i) {
      uint8_t bits = operands[0].bytes()[i] & mask;
      if (IsSignedInt(to)) {
        const int shift = 8 - ElementBits(to);
        bits = static_cast<uint8_t>(static_cast<int8_t>(static_cast<uint8_t>(bits << shift)) >> shift);
      }
      out.mutable_bytes()[i] = bits;
    }
    return out;
  }
  // A stream of bits, lowest first.
  const Literal& in = operands[0];
  Literal out(Plain(instruction.shape()));
  const int in_bits = ElementBits(from), out_bits = ElementBits(to);
  if (in.size() * in_bits != out.size() * out_bits) return absl::InvalidArgumentError("sizes in bits differ");
  const auto get = [](const uint8_t* data, int bits, int storage, int64_t position) {
    const int64_t element = position / bits, bit = position % bits;
    return (data[element * storage + bit / 8] >> (bit % 8)) & 1;
  };
  const int out_storage = StorageBytes(to);
  for (int64_t p = 0; p < out.size() * out_bits; ++p) {
    const int bit = get(in.bytes(), in_bits, StorageBytes(from), p);
    const int64_t element = p / out_bits, place = p % out_bits;
    out.mutable_bytes()[element * out_storage + place / 8] |= static_cast<uint8_t>(bit << (place % 8));
  }
  if (to == ElementType::kPred) {
    for (int64_t i = 0; i < out.byte_size(); ++i) out.mutable_bytes()[i] = out.bytes()[i] != 0;
  }
  if (IsSignedInt(to) && out_bits < 8) {
    const int shift = 8 - out_bits;
    for (int64_t i = 0; i < out.byte_size(); ++i) {
      uint8_t& byte = out.mutable_bytes()[i];
      byte = static_cast<uint8_t>(static_cast<int8_t>(static_cast<uint8_t>(byte << shift)) >> shift);
    }
  }
  return out;
}

OpResult Broadcast(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const Literal& in = operands[0];
  Literal out(Plain(instruction.shape()));
  const Int64List& dims = instruction.dimensions();
  const Dims in_strides = RowMajorStrides(in.shape().dims());
  Dims from(out.shape().rank(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (in.shape().dim(i) != 1) from[dims[i]] = in_strides[i];
  }
  StridedCopy(ElementBytes(in), out.shape().dims(), from, RowMajorStrides(out.shape().dims()))
      .Run(in.bytes(), out.mutable_bytes());
  return out;
}

OpResult Reshape(const HloInstruction& instruction, Operands& operands, OpContext&) {
  if (operands[0].size() != instruction.shape().ElementCount()) {
    return absl::InvalidArgumentError("operand and result differ in size");
  }
  Literal out = operands.Take(0);
  out.set_dynamic_sizes({});
  *out.mutable_shape() = Plain(instruction.shape());
  return out;
}

// The same memory seen as another shape: goes through the physical order of both layouts.
OpResult Bitcast(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  if (from.type() != to.type()) return BitcastConvert(instruction, operands, context);
  if (from.IsRowMajor() && to.IsRowMajor()) return Reshape(instruction, operands, context);
  Literal in = operands.Take(0);
  *in.mutable_shape() = from;
  Literal out(to);
  if (in.byte_size() != out.byte_size()) return absl::InvalidArgumentError("operand and result differ in size");
  std::vector<uint8_t> memory(in.byte_size());
  in.ToLayout(memory.data());
  out.FromLayout(memory.data());
  return out;
}

OpResult Transpose(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const Literal& in = operands[0];
  Literal out(Plain(instruction.shape()));
  const Int64List& permutation = instruction.dimensions();
  const Dims in_strides = RowMajorStrides(in.shape().dims());
  Dims from(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) from[i] = in_strides[permutation[i]];
  StridedCopy(ElementBytes(in), out.shape().dims(), from, RowMajorStrides(out.shape().dims()))
      .Run(in.bytes(), out.mutable_bytes());
  return out;
}

OpResult Reverse(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const Literal& in = operands[0];
  Literal out(Plain(instruction.shape()));
  if (out.size() == 0) return out;
  const Dims strides = RowMajorStrides(in.shape().dims());
  Dims from = strides;
  int64_t start = 0;
  for (int64_t dim : instruction.dimensions()) {
    from[dim] = -strides[dim];
    start += (in.shape().dim(dim) - 1) * strides[dim];
  }
  StridedCopy(ElementBytes(in), in.shape().dims(), from, strides)
      .Run(in.bytes() + start * ElementBytes(in), out.mutable_bytes());
  return out;
}

OpResult Slice(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const Literal& in = operands[0];
  Literal out(Plain(instruction.shape()));
  const SliceAttr& slice = instruction.slice();
  Dims from = RowMajorStrides(in.shape().dims());
  int64_t start = 0;
  for (int64_t i = 0; i < in.shape().rank(); ++i) {
    start += slice.starts[i] * from[i];
    if (!slice.strides.empty()) from[i] *= slice.strides[i];
  }
  if (out.size() == 0) return out;
  StridedCopy(ElementBytes(in), out.shape().dims(), from, RowMajorStrides(out.shape().dims()))
      .Run(in.bytes() + start * ElementBytes(in), out.mutable_bytes());
  return out;
}

// Start indices, operands `first` and on: one scalar each (or a single vector), clamped so that `window` lies inside.
Dims ClampedStarts(const Operands& operands, int64_t first, const Shape& shape, absl::Span<const int64_t> window) {
  Dims starts(shape.rank());
  const bool vector = operands.size() == first + 1 && operands[first].shape().rank() == 1;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const Literal& index = operands[vector ? first : first + i];
    int64_t start = index.GetInt(vector ? i : 0);
    // Unsigned 64-bit indices past the signed range are large, not negative.
    if (index.shape().type() == ElementType::kU64 && start < 0) start = INT64_MAX;
    starts[i] = std::clamp<int64_t>(start, 0, shape.dim(i) - window[i]);
  }
  return starts;
}

OpResult DynamicSlice(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const Literal& in = operands[0];
  Literal out(Plain(instruction.shape()));
  const Dims starts = ClampedStarts(operands, 1, in.shape(), out.shape().dims());
  const Dims strides = RowMajorStrides(in.shape().dims());
  int64_t start = 0;
  for (size_t i = 0; i < starts.size(); ++i) start += starts[i] * strides[i];
  if (out.size() == 0) return out;
  StridedCopy(ElementBytes(in), out.shape().dims(), strides, RowMajorStrides(out.shape().dims()))
      .Run(in.bytes() + start * ElementBytes(in), out.mutable_bytes());
  return out;
}

OpResult DynamicUpdateSlice(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const Literal& update = operands[1];
  const Dims starts = ClampedStarts(operands, 2, operands[0].shape(), update.shape().dims());
  Literal out = operands.Take(0);
  const Dims strides = RowMajorStrides(out.shape().dims());
  int64_t start = 0;
  for (size_t i = 0; i < starts.size(); ++i) start += starts[i] * strides[i];
  if (update.size() == 0) return out;
  StridedCopy(ElementBytes(out), update.shape().dims(), RowMajorStrides(update.shape().dims()), strides)
      .Run(update.bytes(), out.mutable_bytes() + start * ElementBytes(out));
  return out;
}

OpResult Pad(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const Literal& in = operands[0];
  Literal out(Plain(instruction.shape()));
  const int bytes = ElementBytes(in);
  const Dims out_strides = RowMajorStrides(out.shape().dims());
  StridedCopy(bytes, out.shape().dims(), Dims(out.shape().rank(), 0), out_strides)
      .Run(operands[1].bytes(), out.mutable_bytes());
  // Input elements first … last of each dimension lie inside of the result.
  const auto& padding = instruction.padding().dims;
  const Dims in_strides = RowMajorStrides(in.shape().dims());
  Dims count(in.shape().rank()), to(in.shape().rank());
  int64_t from_start = 0, to_start = 0;
  for (int64_t i = 0; i < in.shape().rank(); ++i) {
    const int64_t step = padding[i].interior + 1, low = padding[i].low;
    const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const int64_t room = out.shape().dim(i) - 1 - low;  // last position in the coordinates of the dilated input
    const int64_t last = room < 0 ? -1 : std::min(in.shape().dim(i) - 1, room / step);
    count[i] = std::max<int64_t>(0, last - first + 1);
    to[i] = out_strides[i] * step;
    from_start += first * in_strides[i];
    to_start += (low + first * step) * out_strides[i];
  }
  if (Product(count) == 0) return out;
  StridedCopy(bytes, count, in_strides, to)
      .Run(in.bytes() + from_start * bytes, out.mutable_bytes() + to_start * bytes);
  return out;
}

OpResult Concatenate(const HloInstruction& instruction, Operands& operands, OpContext&) {
  Literal out(Plain(instruction.shape()));
  const int64_t dim = instruction.dimensions()[0];
  const Dims out_strides = RowMajorStrides(out.shape().dims());
  int64_t at = 0;
  for (int64_t i = 0; i < operands.size(); ++i) {
    const Literal& in = operands[i];
    if (in.size() > 0) {
      StridedCopy(ElementBytes(in), in.shape().dims(), RowMajorStrides(in.shape().dims()), out_strides)
          .Run(in.bytes(), out.mutable_bytes() + at * out_strides[dim] * ElementBytes(in));
    }
    at += in.shape().dim(dim);
  }
  return out;
}

OpResult Iota(const HloInstruction& instruction, Operands&, OpContext&) {
  Literal out(Plain(instruction.shape()));
  if (out.size() == 0) return out;
  const int64_t dim = instruction.attr<AttrKind::kIotaDimension>();
  if (dim < 0 || dim >= out.shape().rank()) return absl::InvalidArgumentError("it has no such dimension");
  const int64_t n = out.shape().dim(dim);
  Literal line(Shape(instruction.type(), {n}));
  std::vector<int64_t> numbers(n);
  for (int64_t i = 0; i < n; ++i) numbers[i] = i;
  GetStore<int64_t>(instruction.type())(numbers.data(), n, line.mutable_bytes(), 0);
  Dims from(out.shape().rank(), 0);
  from[dim] = 1;
  StridedCopy(ElementBytes(out), out.shape().dims(), from, RowMajorStrides(out.shape().dims()))
      .Run(line.bytes(), out.mutable_bytes());
  return out;
}

OpResult GetDimensionSize(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const int64_t size = SizesOf(operands[0])[instruction.dimensions()[0]];
  return Literal::Scalar<int32_t>(ElementType::kS32, static_cast<int32_t>(size));
}

OpResult SetDimensionSize(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const int64_t dim = instruction.dimensions()[0];
  const int64_t size = operands[1].GetInt(0);
  Literal out = operands.Take(0);
  const int64_t bound = out.shape().dim(dim);
  if (size < 0 || size > bound) {
    return absl::InvalidArgumentError(
        absl::StrCat("size ", size, " of dimension ", dim, " does not lie between 0 and its bound, ", bound));
  }
  Dims sizes = SizesOf(out);
  sizes[dim] = size;
  out.set_dynamic_sizes(std::move(sizes));
  *out.mutable_shape() = Plain(instruction.shape());
  return out;
}

// Reads the valid elements in row-major order and lays them out in the new sizes.
OpResult DynamicReshape(const HloInstruction& instruction, Operands& operands, OpContext&) {
  const Literal& in = operands[0];
  const Dims in_sizes = SizesOf(in);
  Literal out(Plain(instruction.shape()));
  Dims out_sizes(out.shape().rank());
  for (int64_t i = 0; i < out.shape().rank(); ++i) {
    out_sizes[i] = operands[i + 1].GetInt(0);
    if (out_sizes[i] < 0 || out_sizes[i] > out.shape().dim(i)) {
      return absl::InvalidArgumentError(absl::StrCat("size ", out_sizes[i], " of dimension ", i,
                                                     " does not lie between 0 and its bound, ", out.shape().dim(i)));
    }
  }
  if (Product(in_sizes) != Product(out_sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("operand and result have ", Product(in_sizes), " and ", Product(out_sizes), " elements"));
  }
  if (Product(in_sizes) > 0) {
    const int bytes = ElementBytes(in);
    std::vector<uint8_t> dense(Product(in_sizes) * bytes);
    StridedCopy(bytes, in_sizes, RowMajorStrides(in.shape().dims()), RowMajorStrides(in_sizes))
        .Run(in.bytes(), dense.data());
    StridedCopy(bytes, out_sizes, RowMajorStrides(out_sizes), RowMajorStrides(out.shape().dims()))
        .Run(dense.data(), out.mutable_bytes());
  }
  out.set_dynamic_sizes(std::move(out_sizes));
  return out;
}

OpResult Map(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  XC_ASSIGN_OR_RETURN(ScalarFunction * function, context.Function(*instruction.to_apply(), false));
  Literal out(Plain(instruction.shape()));
  std::vector<const uint8_t*> in(operands.size());
  for (int64_t start = 0; start < out.size(); start += kLanes) {
    for (int64_t i = 0; i < operands.size(); ++i) in[i] = operands[i].bytes() + start * ElementBytes(operands[i]);
    uint8_t* to = out.mutable_bytes() + start * ElementBytes(out);
    XC_RETURN_IF_ERROR(function->Run(std::min(kLanes, out.size() - start), in.data(), &to));
  }
  return out;
}

}  // namespace

OpFn FindDataMovement(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kBitcastConvert:
      return BitcastConvert;
    case HloOpcode::kBroadcast:
      return Broadcast;
    case HloOpcode::kReshape:
      return Reshape;
    case HloOpcode::kBitcast:
      return Bitcast;
    case HloOpcode::kTranspose:
      return Transpose;
    case HloOpcode::kReverse:
      return Reverse;
    case HloOpcode::kSlice:
      return Slice;
    case HloOpcode::kDynamicSlice:
      return DynamicSlice;
    case HloOpcode::kDynamicUpdateSlice:
      return DynamicUpdateSlice;
    case HloOpcode::kPad:
      return Pad;
    case HloOpcode::kConcatenate:
      return Concatenate;
    case HloOpcode::kIota:
      return Iota;
    case HloOpcode::kGetDimensionSize:
      return GetDimensionSize;
    case HloOpcode::kSetDimensionSize:
      return SetDimensionSize;
    case HloOpcode::kDynamicReshape:
      return DynamicReshape;
    case HloOpcode::kMap:
      return Map;
    default:
      return nullptr;
  }
}

}  // namespace xc::interp
