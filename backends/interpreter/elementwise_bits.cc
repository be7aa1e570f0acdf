// Elementwise operators on the bits of two integers (or pred), select and clamp.
#include <cmath>
#include <cstring>

#include "backends/interpreter/elementwise.h"
#include "backends/interpreter/elementwise_loops.h"

namespace xc::interp {
namespace {

int Width(const ElementwiseOp& op) { return ElementBits(op.in[0]); }
uint64_t Mask(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

XC_OP2(And, return static_cast<C>(x & y))
XC_OP2(Or, return static_cast<C>(x | y))
XC_OP2(Xor, return static_cast<C>(x ^ y))

struct ShiftLeft {
  template <typename C>
  C operator()(const ElementwiseOp& op, C x, C y) const {
    const int width = Width(op);
    const uint64_t amount = static_cast<uint64_t>(y) & Mask(width);
    return amount >= width ? C(0) : static_cast<C>(static_cast<uint64_t>(x) << amount);
  }
};
struct ShiftRightLogical {
  template <typename C>
  C operator()(const ElementwiseOp& op, C x, C y) const {
    const int width = Width(op);
    const uint64_t amount = static_cast<uint64_t>(y) & Mask(width);
    return amount >= width ? C(0) : static_cast<C>((static_cast<uint64_t>(x) & Mask(width)) >> amount);
  }
};
// Unsigned operands shift as if they were signed.
struct ShiftRightArithmetic {
  template <typename C>
  C operator()(const ElementwiseOp& op, C x, C y) const {
    const int width = Width(op);
    const uint64_t amount = static_cast<uint64_t>(y) & Mask(width);
    const int64_t value = static_cast<int64_t>(static_cast<uint64_t>(x) << (64 - width)) >> (64 - width);
    return static_cast<C>(value >> (amount >= width ? width - 1 : amount));
  }
};
struct Mulhi {
  int64_t operator()(const ElementwiseOp& op, int64_t x, int64_t y) const {
    return static_cast<int64_t>((static_cast<__int128>(x) * y) >> Width(op));
  }
  uint64_t operator()(const ElementwiseOp& op, uint64_t x, uint64_t y) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(x) * y) >> Width(op));
  }
};

template <typename F>
ElementwiseFn Of(const ElementwiseOp& op) {
  return IsSignedInt(op.in[0]) ? &BinaryLoop<int64_t, int64_t, F> : &BinaryLoop<uint64_t, uint64_t, F>;
}

template <typename T>
void Select(const ElementwiseOp&, const uint8_t* const* in, uint8_t* out, int64_t n) {
  const uint8_t* p = in[0];
  const T* a = reinterpret_cast<const T*>(in[1]);
  const T* b = reinterpret_cast<const T*>(in[2]);
  T* r = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = p[i] ? a[i] : b[i];
}
struct Bytes16 {
  uint64_t a, b;
};

// In the order of maximum and minimum, where -0 is below +0.
template <typename C>
bool IsBelow(C x, C y) {
  if constexpr (std::is_floating_point_v<C>) return x < y || (x == y && std::signbit(x) && !std::signbit(y));
  return x < y;
}

// clamp(low, x, high) = minimum(maximum(low, x), high): NaN if any of them is.
template <typename C>
void Clamp(const ElementwiseOp& op, const uint8_t* const* in, uint8_t* out, int64_t n) {
  OperandLanes<C> low(op.in[0], in[0]), value(op.in[1], in[1]), high(op.in[2], in[2]);
  ResultLanes<C> result(op.out, out);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t m = std::min(kLanes, n - i);
    const C *pl = low.At(i, m), *px = value.At(i, m), *ph = high.At(i, m);
    C* pr = result.At(i);
    for (int64_t j = 0; j < m; ++j) {
      C x = px[j];
      if constexpr (std::is_floating_point_v<C>) {
        if (std::isnan(pl[j])) {
          x = pl[j];
        } else if (std::isnan(ph[j])) {
          x = ph[j];
        } else if (!std::isnan(x)) {
          x = IsBelow(x, pl[j]) ? pl[j] : x;
          x = IsBelow(ph[j], x) ? ph[j] : x;
        }
      } else {
        x = IsBelow(x, pl[j]) ? pl[j] : x;
        x = IsBelow(ph[j], x) ? ph[j] : x;
      }
      pr[j] = x;
    }
    result.Done(i, m);
  }
}

}  // namespace

ElementwiseFn FindBits(const ElementwiseOp& op) {
  if (op.operands != 2 || op.in[0] != op.in[1]) return nullptr;
  const bool pred = op.in[0] == ElementType::kPred;
  if (!pred && !IsIntegral(op.in[0])) return nullptr;
  switch (op.opcode) {
    case HloOpcode::kAnd:
      return Of<And>(op);
    case HloOpcode::kOr:
      return Of<Or>(op);
    case HloOpcode::kXor:
      return Of<Xor>(op);
    case HloOpcode::kShiftLeft:
      return pred ? nullptr : Of<ShiftLeft>(op);
    case HloOpcode::kShiftRightLogical:
      return pred ? nullptr : Of<ShiftRightLogical>(op);
    case HloOpcode::kShiftRightArithmetic:
      return pred ? nullptr : Of<ShiftRightArithmetic>(op);
    case HloOpcode::kMulhi:
      return pred ? nullptr : Of<Mulhi>(op);
    default:
      return nullptr;
  }
}

ElementwiseFn FindTernary(const ElementwiseOp& op) {
  if (op.operands != 3) return nullptr;
  if (op.opcode == HloOpcode::kSelect) {
    if (op.in[0] != ElementType::kPred || op.in[1] != op.in[2]) return nullptr;
    switch (StorageBytes(op.in[1])) {
      case 1:
        return &Select<uint8_t>;
      case 2:
        return &Select<uint16_t>;
      case 4:
        return &Select<uint32_t>;
      case 8:
        return &Select<uint64_t>;
      case 16:
        return &Select<Bytes16>;
      default:
        return nullptr;
    }
  }
  if (op.opcode == HloOpcode::kClamp) {
    if (op.in[0] != op.in[1] || op.in[1] != op.in[2]) return nullptr;
    if (op.in[0] == ElementType::kF64) return &Clamp<double>;
    if (IsFloating(op.in[0])) return &Clamp<float>;
    if (IsSignedInt(op.in[0])) return &Clamp<int64_t>;
    return IsComplex(op.in[0]) ? nullptr : &Clamp<uint64_t>;
  }
  return nullptr;
}

}  // namespace xc::interp
