// Bits: logic, shifts, fields, counts, permutations of bytes.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

template <auto F>
Handler BitsBinaryOf(Type type) {
  switch (BytesOf(type)) {
    case 2:
      return Binary<uint16_t, uint16_t, uint16_t, F>;
    case 4:
      return Binary<uint32_t, uint32_t, uint32_t, F>;
    case 8:
      return Binary<uint64_t, uint64_t, uint64_t, F>;
  }
  return nullptr;
}
template <auto F>
Handler BitsUnaryOf(Type type) {
  switch (BytesOf(type)) {
    case 2:
      return Unary<uint16_t, uint16_t, F>;
    case 4:
      return Unary<uint32_t, uint32_t, F>;
    case 8:
      return Unary<uint64_t, uint64_t, F>;
  }
  return nullptr;
}

constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
constexpr auto kNot = [](auto a) { return ~a; };
constexpr auto kCNot = [](auto a) { return a == 0; };

template <auto F>
void PredicateBinary(Warp& w, const Instruction& i, uint32_t mask) {
  const uint32_t a = *At<uint32_t>(w, i.a) ^ (i.x ? kAllLanes : 0), b = *At<uint32_t>(w, i.b) ^ (i.y ? kAllLanes : 0);
  WritePredicate(w, i.d, F(a, b), mask);
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b));
}
void PredicateNot(Warp& w, const Instruction& i, uint32_t mask) {
  WritePredicate(w, i.d, ~(*At<uint32_t>(w, i.a) ^ (i.x ? kAllLanes : 0)), mask);
  Define(w, i.d, mask, Defined(w, i.a));
}

template <auto F>
void DecodeLogic(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  if (type == Type::kPred) {
    bool a_negated, b_negated;
    const Slot a = d.PredicateSource(s.operands[1], &a_negated), b = d.PredicateSource(s.operands[2], &b_negated);
    Instruction& i = d.Emit(s, PredicateBinary<F>, d.Result(s.operands[0], type), a, b);
    i.x = a_negated;
    i.y = b_negated;
    return;
  }
  d.Emit(s, BitsBinaryOf<F>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type),
         d.Source(s.operands[2], type));
}
void DecodeNot(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  if (type == Type::kPred) {
    bool negated;
    const Slot a = d.PredicateSource(s.operands[1], &negated);
    d.Emit(s, PredicateNot, d.Result(s.operands[0], type), a).x = negated;
    return;
  }
  d.Emit(s, BitsUnaryOf<kNot>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type));
}
void DecodeCNot(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  d.Emit(s, BitsUnaryOf<kCNot>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type));
}

// Amounts beyond the width shift everything out.
constexpr auto kShl = []<typename T>(T a, uint32_t b) {
  return b < 8 * sizeof(T) ? static_cast<T>(uint64_t(a) << b) : T{0};
};
constexpr auto kShr = []<typename T>(T a, uint32_t b) {
  if (b >= 8 * sizeof(T)) return static_cast<T>(a < 0 ? -1 : 0);
  return static_cast<T>(a >> b);
};
template <auto F>
void DecodeShift(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  const bool is_signed = IsSigned(type);
  Handler run = nullptr;
  switch (BytesOf(type)) {
    case 2:
      run = is_signed ? Binary<int16_t, int16_t, uint32_t, F> : Binary<uint16_t, uint16_t, uint32_t, F>;
      break;
    case 4:
      run = is_signed ? Binary<int32_t, int32_t, uint32_t, F> : Binary<uint32_t, uint32_t, uint32_t, F>;
      break;
    case 8:
      run = is_signed ? Binary<int64_t, int64_t, uint32_t, F> : Binary<uint64_t, uint64_t, uint32_t, F>;
      break;
  }
  d.Emit(s, run, d.Result(s.operands[0], type), d.Source(s.operands[1], type), d.Source(s.operands[2], Type::kB32));
}

constexpr auto kFunnelLeft = [](uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>((uint64_t{b} << 32 | a) << c >> 32);
};
constexpr auto kFunnelRight = [](uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> c);
};
void DecodeFunnel(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  using U = uint32_t;
  const bool left = s.Has("l"), wrap = s.Has("wrap");
  const Handler run =
      left ? (wrap ? Ternary<U, U, U, U, [](U a, U b, U c) { return kFunnelLeft(a, b, c & 31); }>
                   : Ternary<U, U, U, U, [](U a, U b, U c) { return kFunnelLeft(a, b, std::min(c, U{32})); }>)
           : (wrap ? Ternary<U, U, U, U, [](U a, U b, U c) { return kFunnelRight(a, b, c & 31); }>
                   : Ternary<U, U, U, U, [](U a, U b, U c) { return kFunnelRight(a, b, std::min(c, U{32})); }>);
  d.Emit(s, run, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], Type::kB32),
         d.Source(s.operands[2], Type::kB32), d.Source(s.operands[3], Type::kB32));
}

template <typename T>
uint32_t CountLeadingZeros(T a) {
  if (a == 0) return 8 * sizeof(T);
  return sizeof(T) == 4 ? __builtin_clz(static_cast<uint32_t>(a)) : __builtin_clzll(a);
}
constexpr auto kPopc = []<typename T>(T a) { return __builtin_popcountll(a); };
constexpr auto kClz = []<typename T>(T a) { return CountLeadingZeros(a); };
template <auto F>
void DecodeCount(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  const Handler run = BytesOf(type) == 4   ? Unary<uint32_t, uint32_t, F>
                      : BytesOf(type) == 8 ? Unary<uint32_t, uint64_t, F>
                                           : nullptr;
  d.Emit(s, run, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], type));
}

template <typename T>
T ReverseBits(T a) {
  T r = 0;
  for (size_t n = 0; n < 8 * sizeof(T); ++n) r |= (a >> n & 1) << (8 * sizeof(T) - 1 - n);
  return r;
}
constexpr auto kReverse = []<typename T>(T a) { return ReverseBits(a); };
void DecodeReverse(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  d.Emit(s, BitsUnaryOf<kReverse>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type));
}

// The highest bit that differs from the sign; with `shiftamt` how far it is from the top.
template <bool kShiftAmount>
constexpr auto kFindBit = []<typename T>(T a) {
  using U = std::make_unsigned_t<T>;
  const U bits = static_cast<U>(a < 0 ? ~a : a);
  if (bits == 0) return ~uint32_t{0};
  const uint32_t zeros = CountLeadingZeros(bits);
  return kShiftAmount ? zeros : static_cast<uint32_t>(8 * sizeof(T)) - 1 - zeros;
};
template <bool kShiftAmount>
Handler FindBitOf(Type type) {
  switch (type) {
    case Type::kU32:
      return Unary<uint32_t, uint32_t, kFindBit<kShiftAmount>>;
    case Type::kS32:
      return Unary<uint32_t, int32_t, kFindBit<kShiftAmount>>;
    case Type::kU64:
      return Unary<uint32_t, uint64_t, kFindBit<kShiftAmount>>;
    case Type::kS64:
      return Unary<uint32_t, int64_t, kFindBit<kShiftAmount>>;
    default:
      return nullptr;
  }
}
void DecodeFindBit(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  d.Emit(s, s.Has("shiftamt") ? FindBitOf<true>(type) : FindBitOf<false>(type), d.Result(s.operands[0], Type::kB32),
         d.Source(s.operands[1], type));
}

// `length` bits of a from `start`, extended by zero or by the field's highest bit (or a's, where it ends beyond it).
constexpr auto kExtract = []<typename T>(T a, uint32_t start, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  const uint32_t width = 8 * sizeof(T);
  start &= 0xFF;
  length &= 0xFF;
  if (length == 0) return T{0};
  const U bits = static_cast<U>(a);
  const U sign = std::is_signed_v<T> ? bits >> std::min(start + length - 1, width - 1) & 1 : 0;
  U r = start < width ? bits >> start : 0;
  const uint32_t have = std::min(length, start < width ? width - start : 0);
  const U mask = have >= width ? ~U{0} : (U{1} << have) - 1;
  r &= mask;
  if (sign) r |= ~mask;
  return static_cast<T>(r);
};
void DecodeExtract(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  const Type type = s.TypeAt(0);
  Handler run = nullptr;
  switch (type) {
    case Type::kU32:
      run = Ternary<uint32_t, uint32_t, uint32_t, uint32_t, kExtract>;
      break;
    case Type::kS32:
      run = Ternary<int32_t, int32_t, uint32_t, uint32_t, kExtract>;
      break;
    case Type::kU64:
      run = Ternary<uint64_t, uint64_t, uint32_t, uint32_t, kExtract>;
      break;
    case Type::kS64:
      run = Ternary<int64_t, int64_t, uint32_t, uint32_t, kExtract>;
      break;
    default:
      break;
  }
  d.Emit(s, run, d.Result(s.operands[0], type), d.Source(s.operands[1], type), d.Source(s.operands[2], Type::kB32),
         d.Source(s.operands[3], Type::kB32));
}

// bfi: the low bits of a into b. The fourth source is in Instruction::e.
template <typename T>
void Insert(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) T r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const T a = At<T>(w, i.a)[l], b = At<T>(w, i.b)[l];
    const uint32_t start = At<uint32_t>(w, i.c)[l] & 0xFF, length = At<uint32_t>(w, i.e)[l] & 0xFF;
    const uint32_t width = 8 * sizeof(T);
    const T field = length >= width ? ~T{0} : (T{1} << length) - 1;
    const T at = start < width ? field << start : 0;
    r[l] = start < width ? ((b & ~at) | ((a << start) & at)) : b;
  }
  Write<T>(w, i.d, r, mask);
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b) & Defined(w, i.c) & Defined(w, i.e));
}
void DecodeInsert(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 5)) return;
  const Type type = s.TypeAt(0);
  d.Emit(s, BytesOf(type) == 4 ? Insert<uint32_t> : Insert<uint64_t>, d.Result(s.operands[0], type),
         d.Source(s.operands[1], type), d.Source(s.operands[2], type), d.Source(s.operands[3], Type::kB32))
      .e = d.Source(s.operands[4], Type::kB32);
}

// lop3: x is the table of the function.
void Logic3(Warp& w, const Instruction& i, uint32_t mask) {
  const uint32_t* a = At<uint32_t>(w, i.a);
  const uint32_t* b = At<uint32_t>(w, i.b);
  const uint32_t* c = At<uint32_t>(w, i.c);
  alignas(64) uint32_t r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    uint32_t value = 0;
    for (int n = 0; n < 8; ++n) {
      if (!(i.x >> n & 1)) continue;
      value |= (n & 4 ? a[l] : ~a[l]) & (n & 2 ? b[l] : ~b[l]) & (n & 1 ? c[l] : ~c[l]);
    }
    r[l] = value;
  }
  Write<uint32_t>(w, i.d, r, mask);
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b) & Defined(w, i.c));
}
void DecodeLogic3(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 5)) return;
  if (s.operands[4].kind != Operand::kImmediate || s.operands[4].bits > 255) return d.Unknown(s);
  d.Emit(s, Logic3, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], Type::kB32),
         d.Source(s.operands[2], Type::kB32), d.Source(s.operands[3], Type::kB32))
      .x = static_cast<int32_t>(s.operands[4].bits);
}

// Which byte of b:a each byte of the result is, by mode; bit 3 of a selector spreads the byte's sign.
enum PermuteMode { kPlain, kForward4, kBackward4, kReplicate8, kEdgeLeft, kEdgeRight, kReplicate16 };
template <PermuteMode kMode>
constexpr auto kPermute = [](uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  const uint32_t s = c & 3;
  uint32_t r = 0;
  for (uint32_t n = 0; n < 4; ++n) {
    uint32_t pick = 0;
    switch (kMode) {
      case kPlain:
        pick = c >> (4 * n) & 15;
        break;
      case kForward4:
        pick = s + n;
        break;
      case kBackward4:
        pick = (s - n) & 7;
        break;
      case kReplicate8:
        pick = s;
        break;
      case kEdgeLeft:
        pick = std::max(s, n);
        break;
      case kEdgeRight:
        pick = std::min(s, n);
        break;
      case kReplicate16:
        pick = (s & 1) * 2 + (n & 1);
        break;
    }
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (pick & 7))) & 0xFF;
    if (kMode == kPlain && pick & 8) byte = byte & 0x80 ? 0xFF : 0;
    r |= byte << (8 * n);
  }
  return r;
};
template <PermuteMode kMode>
constexpr Handler kPermuteHandler = Ternary<uint32_t, uint32_t, uint32_t, uint32_t, kPermute<kMode>>;
void DecodePermute(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  const Handler run = s.Has("f4e")    ? kPermuteHandler<kForward4>
                      : s.Has("b4e")  ? kPermuteHandler<kBackward4>
                      : s.Has("rc8")  ? kPermuteHandler<kReplicate8>
                      : s.Has("ecl")  ? kPermuteHandler<kEdgeLeft>
                      : s.Has("ecr")  ? kPermuteHandler<kEdgeRight>
                      : s.Has("rc16") ? kPermuteHandler<kReplicate16>
                                      : kPermuteHandler<kPlain>;
  d.Emit(s, run, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], Type::kB32),
         d.Source(s.operands[2], Type::kB32), d.Source(s.operands[3], Type::kB32));
}

// bmsk: `b` ones from bit a on; clamped, or modulo 32.
constexpr auto kOnes = [](uint32_t a, uint32_t b) {
  const uint64_t ones = (uint64_t{1} << std::min(b, 32u)) - 1;
  return a >= 32 ? 0u : static_cast<uint32_t>(ones << a);
};
void DecodeMask(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Handler run =
      s.Has("clamp")
          ? Binary<uint32_t, uint32_t, uint32_t, kOnes>
          : Binary<uint32_t, uint32_t, uint32_t, [](uint32_t a, uint32_t b) { return kOnes(a & 31, b & 31); }>;
  d.Emit(s, run, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], Type::kB32),
         d.Source(s.operands[2], Type::kB32));
}

constexpr DecodeRow kRows[] = {
    {"and", DecodeLogic<kAnd>},   {"or", DecodeLogic<kOr>},   {"xor", DecodeLogic<kXor>}, {"not", DecodeNot},
    {"cnot", DecodeCNot},         {"shl", DecodeShift<kShl>}, {"shr", DecodeShift<kShr>}, {"shf", DecodeFunnel},
    {"popc", DecodeCount<kPopc>}, {"clz", DecodeCount<kClz>}, {"brev", DecodeReverse},    {"bfind", DecodeFindBit},
    {"bfe", DecodeExtract},       {"bfi", DecodeInsert},      {"lop3", DecodeLogic3},     {"prmt", DecodePermute},
    {"bmsk", DecodeMask},
};

}  // namespace

absl::Span<const DecodeRow> BitOps() { return kRows; }

}  // namespace xc::emulator
