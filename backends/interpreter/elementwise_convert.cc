// convert, stochastic-convert and reduce-precision, and the binding of elementwise operators to instructions.
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/elementwise.h"
#include "backends/interpreter/elementwise_loops.h"

namespace xc::interp {
namespace {

XC_OP(Identity, return x)

// Rounds the bits of an IEEE-like type with E exponent and M mantissa bits to fewer of each: mantissa to nearest even,
// exponents too large to infinity, too small to zero.
template <typename Bits, int E, int M>
Bits ReduceBits(Bits value, int exponent_bits, int mantissa_bits) {
  constexpr Bits kSign = Bits{1} << (E + M);
  constexpr Bits kExponentMask = ((Bits{1} << E) - 1) << M;
  const Bits magnitude = value & (kSign - 1);
  if (magnitude > kExponentMask) return mantissa_bits > 0 ? value : Bits(value | (Bits{1} << (M - 1)));  // NaN
  Bits rounded = value;
  if (mantissa_bits < M) {
    const int drop = M - mantissa_bits;
    const Bits last = (value >> drop) & 1;
    const Bits bias = (Bits{1} << (drop - 1)) - 1;
    rounded = static_cast<Bits>((value + last + bias) & ~static_cast<Bits>((Bits{1} << drop) - 1));
  }
  if (exponent_bits < E) {
    const Bits bias = (Bits{1} << (E - 1)) - 1;
    const Bits reduced_bias = (Bits{1} << (exponent_bits - 1)) - 1;
    const Bits largest = static_cast<Bits>(bias + reduced_bias);
    const Bits smallest = static_cast<Bits>(bias - reduced_bias);
    const Bits exponent = static_cast<Bits>((rounded & kExponentMask) >> M);
    if (exponent > largest) {
      rounded = static_cast<Bits>((rounded & kSign) | kExponentMask);
    } else if (exponent <= smallest) {
      rounded = rounded & kSign;
    }
  }
  return rounded;
}

template <typename Bits, int E, int M>
void ReducePrecision(const ElementwiseOp& op, const uint8_t* const* in, uint8_t* out, int64_t n) {
  const Bits* a = reinterpret_cast<const Bits*>(in[0]);
  Bits* r = reinterpret_cast<Bits*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = ReduceBits<Bits, E, M>(a[i], op.exponent_bits, op.mantissa_bits);
}

// Encodings unlike IEEE 754's go through f32.
void ReducePrecisionOfFloat(const ElementwiseOp& op, const uint8_t* const* in, uint8_t* out, int64_t n) {
  OperandLanes<double> a(op.in[0], in[0]);
  const StoreFn<double> store = GetStore<double>(op.out);
  double result[kLanes];
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t m = std::min(kLanes, n - i);
    const double* pa = a.At(i, m);
    for (int64_t j = 0; j < m; ++j) {
      const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(pa[j]));
      result[j] = std::bit_cast<float>(ReduceBits<uint32_t, 8, 23>(bits, op.exponent_bits, op.mantissa_bits));
    }
    store(result, m, out, i);
  }
}

ElementwiseFn FindReducePrecision(const ElementwiseOp& op) {
  switch (op.in[0]) {
    case ElementType::kF64:
      return &ReducePrecision<uint64_t, 11, 52>;
    case ElementType::kF32:
      return &ReducePrecision<uint32_t, 8, 23>;
    case ElementType::kBF16:
      return &ReducePrecision<uint16_t, 8, 7>;
    case ElementType::kF16:
      return &ReducePrecision<uint16_t, 5, 10>;
    case ElementType::kF8E5M2:
      return &ReducePrecision<uint8_t, 5, 2>;
    case ElementType::kF8E4M3:
      return &ReducePrecision<uint8_t, 4, 3>;
    case ElementType::kF8E3M4:
      return &ReducePrecision<uint8_t, 3, 4>;
    default:
      return IsFloating(op.in[0]) ? &ReducePrecisionOfFloat : nullptr;
  }
}

// x rounded towards zero or away from it; away with the probability that makes the mean x. The random integer, seen as
// a fraction of its range, decides. Integers saturate, infinities and NaN stay.
double StochasticRound(const ElementwiseOp& op, double x, double fraction, LoadFn<double> load, StoreFn<double> store) {
  if (!std::isfinite(x)) return x;
  if (!IsFloating(op.out)) {
    const double down = std::trunc(x);
    return fraction < std::fabs(x - down) ? down + std::copysign(1.0, x) : down;
  }
  // The neighbour of x towards zero, then the one beyond it, as bits of the result type.
  uint64_t bits = 0;
  uint8_t* bytes = reinterpret_cast<uint8_t*>(&bits);
  double down;
  store(&x, 1, bytes, 0);
  load(bytes, 0, 1, 1, &down);
  if (std::fabs(down) > std::fabs(x)) {
    --bits;
    load(bytes, 0, 1, 1, &down);
  }
  if (down == x) return x;
  double up;
  ++bits;
  load(bytes, 0, 1, 1, &up);
  if (!std::isfinite(up)) {  // beyond the largest number: the step is as wide as the one below it
    --bits;
    --bits;
    double below;
    load(bytes, 0, 1, 1, &below);
    const double step = down - below;
    return fraction < (x - down) / step ? std::copysign(std::numeric_limits<double>::infinity(), x) : down;
  }
  return fraction < (x - down) / (up - down) ? up : down;
}

void StochasticConvert(const ElementwiseOp& op, const uint8_t* const* in, uint8_t* out, int64_t n) {
  OperandLanes<double> a(op.in[0], in[0]);
  OperandLanes<uint64_t> random(op.in[1], in[1]);
  const double scale = std::ldexp(1.0, -ElementBits(op.in[1]));
  const LoadFn<double> load = GetLoad<double>(op.out);
  const StoreFn<double> store = GetStore<double>(op.out);
  double result[kLanes];
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t m = std::min(kLanes, n - i);
    const double* pa = a.At(i, m);
    const uint64_t* pr = random.At(i, m);
    for (int64_t j = 0; j < m; ++j) {
      result[j] = StochasticRound(op, pa[j], static_cast<double>(pr[j]) * scale, load, store);
    }
    store(result, m, out, i);
  }
}

void CopyBytes(const ElementwiseOp& op, const uint8_t* const* in, uint8_t* out, int64_t n) {
  std::memmove(out, in[0], n * op.out_bytes);
}

}  // namespace

ElementwiseFn FindConvert(const ElementwiseOp& op) {
  if (op.opcode == HloOpcode::kReducePrecision) {
    return op.operands == 1 && op.in[0] == op.out && op.exponent_bits >= 1 && op.mantissa_bits >= 0
               ? FindReducePrecision(op)
               : nullptr;
  }
  if (op.opcode == HloOpcode::kStochasticConvert) {
    return op.operands == 2 && IsFloating(op.in[0]) && IsUnsignedInt(op.in[1]) && IsArrayType(op.out) &&
                   !IsComplex(op.out)
               ? &StochasticConvert
               : nullptr;
  }
  if (op.operands != 1) return nullptr;
  if (op.opcode == HloOpcode::kCopy) return &CopyBytes;
  if (op.opcode == HloOpcode::kBitcastConvert) {
    return ElementBits(op.in[0]) == ElementBits(op.out) ? &CopyBytes : nullptr;
  }
  if (op.opcode != HloOpcode::kConvert || !IsArrayType(op.in[0]) || !IsArrayType(op.out)) return nullptr;
  if (op.in[0] == op.out) return &CopyBytes;
  if (IsComplex(op.in[0])) return &UnaryLoop<Complex, Complex, Identity>;
  if (IsFloating(op.in[0])) {
    const bool narrow = op.in[0] != ElementType::kF64 && op.out != ElementType::kF64 && IsFloating(op.out);
    return narrow ? &UnaryLoop<float, float, Identity> : &UnaryLoop<double, double, Identity>;
  }
  return IsSignedInt(op.in[0]) ? &UnaryLoop<int64_t, int64_t, Identity> : &UnaryLoop<uint64_t, uint64_t, Identity>;
}

absl::Status BindElementwise(ElementwiseOp* op) {
  for (int i = 0; i < op->operands; ++i) op->in_bytes[i] = StorageBytes(op->in[i]);
  op->out_bytes = StorageBytes(op->out);
  op->fn = nullptr;
  using Find = ElementwiseFn (*)(const ElementwiseOp&);
  constexpr Find kFamilies[] = {FindUnary, FindComplexUnary, FindBinary, FindBits, FindConvert, FindTernary};
  for (Find find : kFamilies) {
    if (op->fn == nullptr) op->fn = find(*op);
  }
  if (op->fn == nullptr) {
    std::string types;
    for (int i = 0; i < op->operands; ++i) absl::StrAppend(&types, i ? ", " : "", ElementTypeName(op->in[i]));
    return absl::UnimplementedError(
        absl::StrCat(OpcodeName(op->opcode), " of (", types, ") to ", ElementTypeName(op->out), " is not supported"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ElementwiseOp> BindElementwise(const HloInstruction& instruction) {
  ElementwiseOp op;
  op.opcode = instruction.opcode();
  if (instruction.operand_count() < 1 || instruction.operand_count() > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(instruction.name(), ": ", instruction.operand_count(), " operands for an elementwise op"));
  }
  op.operands = static_cast<int>(instruction.operand_count());
  for (int i = 0; i < op.operands; ++i) op.in[i] = instruction.operand(i)->type();
  op.out = instruction.type();
  if (const auto* direction = instruction.FindAttr<AttrKind::kDirection>()) op.direction = *direction;
  if (const auto* type = instruction.FindAttr<AttrKind::kCompareType>()) {
    op.total_order = *type == CompareType::kTotalOrder;
  }
  op.exponent_bits = static_cast<int>(instruction.attr_or<AttrKind::kExponentBits>(0));
  op.mantissa_bits = static_cast<int>(instruction.attr_or<AttrKind::kMantissaBits>(0));
  if (absl::Status status = BindElementwise(&op); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(instruction.name(), ": ", status.message()));
  }
  return op;
}

}  // namespace xc::interp
