// Integer arithmetic. It wraps; division by zero gives all ones, as devices do.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
// Twice as wide.
template <typename T>
using Wide =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// The handler of a function of integers, by type.
template <auto F>
Handler UnaryOf(Type type) {
  switch (type) {
    case Type::kS16:
      return Unary<int16_t, int16_t, F>;
    case Type::kU16:
    case Type::kB16:
      return Unary<uint16_t, uint16_t, F>;
    case Type::kS32:
      return Unary<int32_t, int32_t, F>;
    case Type::kU32:
    case Type::kB32:
      return Unary<uint32_t, uint32_t, F>;
    case Type::kS64:
      return Unary<int64_t, int64_t, F>;
    case Type::kU64:
    case Type::kB64:
      return Unary<uint64_t, uint64_t, F>;
    default:
      return nullptr;
  }
}
template <auto F>
Handler BinaryOf(Type type) {
  switch (type) {
    case Type::kS16:
      return Binary<int16_t, int16_t, int16_t, F>;
    case Type::kU16:
    case Type::kB16:
      return Binary<uint16_t, uint16_t, uint16_t, F>;
    case Type::kS32:
      return Binary<int32_t, int32_t, int32_t, F>;
    case Type::kU32:
    case Type::kB32:
      return Binary<uint32_t, uint32_t, uint32_t, F>;
    case Type::kS64:
      return Binary<int64_t, int64_t, int64_t, F>;
    case Type::kU64:
    case Type::kB64:
      return Binary<uint64_t, uint64_t, uint64_t, F>;
    default:
      return nullptr;
  }
}
template <auto F>
Handler TernaryOf(Type type) {
  switch (type) {
    case Type::kS16:
      return Ternary<int16_t, int16_t, int16_t, int16_t, F>;
    case Type::kU16:
      return Ternary<uint16_t, uint16_t, uint16_t, uint16_t, F>;
    case Type::kS32:
      return Ternary<int32_t, int32_t, int32_t, int32_t, F>;
    case Type::kU32:
      return Ternary<uint32_t, uint32_t, uint32_t, uint32_t, F>;
    case Type::kS64:
      return Ternary<int64_t, int64_t, int64_t, int64_t, F>;
    case Type::kU64:
      return Ternary<uint64_t, uint64_t, uint64_t, uint64_t, F>;
    default:
      return nullptr;
  }
}

constexpr auto kAdd = []<typename T>(T a, T b) { return static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b)); };
constexpr auto kSub = []<typename T>(T a, T b) { return static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b)); };
template <typename T>
T MulLow(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <typename T>
T MulHigh(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b) >> (8 * sizeof(T)));
}
constexpr auto kMulLow = []<typename T>(T a, T b) { return MulLow(a, b); };
constexpr auto kMulHigh = []<typename T>(T a, T b) { return MulHigh(a, b); };
constexpr auto kMadLow = []<typename T>(T a, T b, T c) { return kAdd(MulLow(a, b), c); };
constexpr auto kMadHigh = []<typename T>(T a, T b, T c) { return kAdd(MulHigh(a, b), c); };
constexpr auto kSaturatingAdd = [](int32_t a, int32_t b) {
  return std::clamp<int64_t>(int64_t{a} + b, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
};
constexpr auto kSaturatingSub = [](int32_t a, int32_t b) {
  return std::clamp<int64_t>(int64_t{a} - b, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
};
constexpr auto kDiv = []<typename T>(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(Unsigned<T>(0) - Unsigned<T>(a));
  return static_cast<T>(a / b);
};
constexpr auto kRem = []<typename T>(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T{0};
  return static_cast<T>(a % b);
};
constexpr auto kMin = []<typename T>(T a, T b) { return a < b ? a : b; };
constexpr auto kMax = []<typename T>(T a, T b) { return a < b ? b : a; };
constexpr auto kMinRelu = []<typename T>(T a, T b) { return std::max(T{0}, a < b ? a : b); };
constexpr auto kMaxRelu = []<typename T>(T a, T b) { return std::max(T{0}, a < b ? b : a); };
constexpr auto kNeg = []<typename T>(T a) { return static_cast<T>(Unsigned<T>(0) - Unsigned<T>(a)); };
constexpr auto kAbs = []<typename T>(T a) { return a < 0 ? kNeg(a) : a; };
constexpr auto kSad = []<typename T>(T a, T b, T c) {
  return static_cast<T>(Unsigned<T>(c) + (a < b ? Unsigned<T>(b) - Unsigned<T>(a) : Unsigned<T>(a) - Unsigned<T>(b)));
};

// Two numbers of 16 bits in one register.
template <typename T, auto F>
void PairBinary(Warp& w, const Instruction& i, uint32_t mask) {
  Binary<uint32_t, uint32_t, uint32_t, [](uint32_t a, uint32_t b) {
    const uint16_t low = static_cast<uint16_t>(F(static_cast<T>(a), static_cast<T>(b)));
    const uint16_t high = static_cast<uint16_t>(F(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return uint32_t{low} | uint32_t{high} << 16;
  }>(w, i, mask);
}

// Sum or difference with the carry flag: y & 1 reads it, y & 2 writes it.
template <typename T, bool is_sub>
void WithCarry(Warp& w, const Instruction& i, uint32_t mask) {
  const T* a = At<T>(w, i.a);
  const T* b = At<T>(w, i.b);
  uint16_t* carry = At<uint16_t>(w, i.e);
  alignas(64) T r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const unsigned __int128 in = i.y & 1 ? carry[l] & 1 : 0;
    const unsigned __int128 whole =
        is_sub ? static_cast<unsigned __int128>(a[l]) - b[l] - in : static_cast<unsigned __int128>(a[l]) + b[l] + in;
    r[l] = static_cast<T>(whole);
    if ((i.y & 2) && (mask >> l & 1)) carry[l] = static_cast<uint16_t>(whole >> (8 * sizeof(T)) & 1);
  }
  uint32_t defined = Defined(w, i.a) & Defined(w, i.b);
  if (i.y & 1) defined &= Defined(w, i.e);
  Write<T>(w, i.d, r, mask);
  Define(w, i.d, mask, defined);
  if (i.y & 2) Define(w, i.e, mask, defined);
}

// mad with carry; x: the high half.
template <typename T>
void MadWithCarry(Warp& w, const Instruction& i, uint32_t mask) {
  Instruction product = i;
  product.run = nullptr;
  const T* a = At<T>(w, i.a);
  const T* b = At<T>(w, i.b);
  alignas(64) T r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = i.x ? MulHigh(a[l], b[l]) : MulLow(a[l], b[l]);
  const Slot scratch = static_cast<Slot>(i.imm);
  Write<T>(w, scratch, r, kAllLanes);
  Defined(w, scratch) = Defined(w, i.a) & Defined(w, i.b);
  product.a = scratch;
  product.b = i.c;
  WithCarry<T, false>(w, product, mask);
}

template <bool is_sub>
void DecodeSum(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  const Slot r = d.Result(s.operands[0], type);
  const Slot a = d.Source(s.operands[1], type), b = d.Source(s.operands[2], type);
  const bool reads = s.op == "addc" || s.op == "subc", writes = s.Has("cc");
  if (reads || writes) {
    Instruction& i = d.Emit(s,
                            BytesOf(type) == 4   ? WithCarry<uint32_t, is_sub>
                            : BytesOf(type) == 8 ? WithCarry<uint64_t, is_sub>
                                                 : nullptr,
                            r, a, b);
    i.y = reads + 2 * writes;
    i.e = d.Carry();
    return;
  }
  constexpr auto kSaturating = [](int32_t a, int32_t b) {
    return is_sub ? kSaturatingSub(a, b) : kSaturatingAdd(a, b);
  };
  constexpr auto kPlain = []<typename T>(T a, T b) { return is_sub ? kSub(a, b) : kAdd(a, b); };
  Handler run = s.Has("sat") ? (type == Type::kS32 ? Binary<int32_t, int32_t, int32_t, kSaturating> : nullptr)
                             : BinaryOf<kPlain>(type);
  d.Emit(s, run, r, a, b);
}

void DecodePairSum(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  d.Emit(s, PairBinary<uint16_t, kAdd>, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], Type::kB32),
         d.Source(s.operands[2], Type::kB32));
}

Handler MulWide(Type type) {
  constexpr auto f = []<typename T>(T a, T b) { return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b); };
  switch (type) {
    case Type::kS16:
      return Binary<int32_t, int16_t, int16_t, f>;
    case Type::kU16:
      return Binary<uint32_t, uint16_t, uint16_t, f>;
    case Type::kS32:
      return Binary<int64_t, int32_t, int32_t, f>;
    case Type::kU32:
      return Binary<uint64_t, uint32_t, uint32_t, f>;
    default:
      return nullptr;
  }
}
Handler MadWide(Type type) {
  constexpr auto f = []<typename T, typename W>(T a, T b, W c) {
    return static_cast<uint64_t>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) + static_cast<uint64_t>(c);
  };
  switch (type) {
    case Type::kS16:
      return Ternary<int32_t, int16_t, int16_t, int32_t, f>;
    case Type::kU16:
      return Ternary<uint32_t, uint16_t, uint16_t, uint32_t, f>;
    case Type::kS32:
      return Ternary<int64_t, int32_t, int32_t, int64_t, f>;
    case Type::kU32:
      return Ternary<uint64_t, uint32_t, uint32_t, uint64_t, f>;
    default:
      return nullptr;
  }
}
Type Widened(Type type) {
  switch (type) {
    case Type::kS16:
    case Type::kU16:
      return Type::kB32;
    case Type::kS32:
    case Type::kU32:
      return Type::kB64;
    default:
      return Type::kNone;
  }
}

template <typename T>
T Low24(T a) {
  return std::is_signed_v<T> ? static_cast<T>(static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8)
                             : static_cast<T>(a & 0xFFFFFF);
}
constexpr auto kMul24 = []<typename T>(T a, T b) { return MulLow(Low24(a), Low24(b)); };
constexpr auto kMad24 = []<typename T>(T a, T b, T c) { return kAdd(MulLow(Low24(a), Low24(b)), c); };

void DecodeIntegerMul(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  const bool wide = s.Has("wide");
  const Type result = wide ? Widened(type) : type;
  if (result == Type::kNone) return d.Unknown(s);
  Handler run = wide          ? MulWide(type)
                : s.Has("lo") ? BinaryOf<kMulLow>(type)
                : s.Has("hi") ? BinaryOf<kMulHigh>(type)
                              : nullptr;
  if (s.op == "mul24") {
    run = !s.Has("lo")         ? nullptr
          : type == Type::kS32 ? Binary<int32_t, int32_t, int32_t, kMul24>
                               : Binary<uint32_t, uint32_t, uint32_t, kMul24>;
  }
  d.Emit(s, run, d.Result(s.operands[0], result), d.Source(s.operands[1], type), d.Source(s.operands[2], type));
}

void DecodeIntegerMad(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  const Type type = s.TypeAt(0);
  const bool wide = s.Has("wide");
  const Type result = wide ? Widened(type) : type;
  if (result == Type::kNone) return d.Unknown(s);
  const Slot r = d.Result(s.operands[0], result);
  const Slot a = d.Source(s.operands[1], type), b = d.Source(s.operands[2], type), c = d.Source(s.operands[3], result);
  const bool reads = s.op == "madc", writes = s.Has("cc");
  if (reads || writes) {
    Handler run = nullptr;
    if (type == Type::kU32 || (type == Type::kS32 && s.Has("lo"))) run = MadWithCarry<uint32_t>;
    if (type == Type::kS32 && s.Has("hi")) run = nullptr;
    if (type == Type::kU64 || (type == Type::kS64 && s.Has("lo"))) run = MadWithCarry<uint64_t>;
    if (wide) run = nullptr;
    Instruction& i = d.Emit(s, run, r, a, b, c);
    i.x = s.Has("hi");
    i.y = reads + 2 * writes;
    i.e = d.Carry();
    i.imm = d.Scratch(BytesOf(type));
    return;
  }
  Handler run = wide          ? MadWide(type)
                : s.Has("lo") ? TernaryOf<kMadLow>(type)
                : s.Has("hi") ? TernaryOf<kMadHigh>(type)
                              : nullptr;
  if (s.op == "mad24") {
    run = !s.Has("lo")         ? nullptr
          : type == Type::kS32 ? Ternary<int32_t, int32_t, int32_t, int32_t, kMad24>
                               : Ternary<uint32_t, uint32_t, uint32_t, uint32_t, kMad24>;
  }
  d.Emit(s, run, r, a, b, c);
}

template <auto F>
void DecodeBinary(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  d.Emit(s, BinaryOf<F>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type),
         d.Source(s.operands[2], type));
}
template <auto F>
void DecodeUnary(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  d.Emit(s, UnaryOf<F>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type));
}

template <auto F, auto FRelu>
void DecodeMinMax(Decoder& d, const Statement& s) {
  const bool is_signed_pair = s.Has("s16x2"), is_pair = is_signed_pair || s.Has("u16x2");
  if (!is_pair) return s.Has("relu") ? DecodeBinary<FRelu>(d, s) : DecodeBinary<F>(d, s);
  if (!d.Operands(s, 3)) return;
  const Handler run =
      is_signed_pair ? (s.Has("relu") ? PairBinary<int16_t, FRelu> : PairBinary<int16_t, F>) : PairBinary<uint16_t, F>;
  d.Emit(s, run, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], Type::kB32),
         d.Source(s.operands[2], Type::kB32));
}

void DecodeSad(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  const Type type = s.TypeAt(0);
  d.Emit(s, TernaryOf<kSad>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type),
         d.Source(s.operands[2], type), d.Source(s.operands[3], type));
}

// Products of the bytes (dp4a), or of halves and bytes (dp2a; z: the high bytes), summed. x, y: a, b are signed.
template <int kTerms>
void DotProduct(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) uint32_t r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t a = At<uint32_t>(w, i.a)[l], b = At<uint32_t>(w, i.b)[l];
    uint32_t sum = At<uint32_t>(w, i.c)[l];
    for (int n = 0; n < kTerms; ++n) {
      const uint32_t wide = kTerms == 4 ? a >> (8 * n) & 0xFF : a >> (16 * n) & 0xFFFF;
      const uint32_t byte = b >> (8 * (n + (kTerms == 2 && i.z ? 2 : 0))) & 0xFF;
      const int32_t left = !i.x          ? static_cast<int32_t>(wide)
                           : kTerms == 4 ? static_cast<int8_t>(wide)
                                         : static_cast<int16_t>(wide);
      const int32_t right = i.y ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte);
      sum += static_cast<uint32_t>(left) * static_cast<uint32_t>(right);
    }
    r[l] = sum;
  }
  Write<uint32_t>(w, i.d, r, mask);
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b) & Defined(w, i.c));
}
template <int kTerms>
void DecodeDotProduct(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  Instruction& i =
      d.Emit(s, DotProduct<kTerms>, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], Type::kB32),
             d.Source(s.operands[2], Type::kB32), d.Source(s.operands[3], Type::kB32));
  i.x = s.TypeAt(0) == Type::kS32;
  i.y = s.TypeAt(1) == Type::kS32;
  i.z = s.Has("hi");
}

// "int add" is add of integers, where floats have an add as well; "pair" of two in one register.
constexpr DecodeRow kRows[] = {
    {"int add", DecodeSum<false>},
    {"int sub", DecodeSum<true>},
    {"addc", DecodeSum<false>},
    {"subc", DecodeSum<true>},
    {"int add pair", DecodePairSum},
    {"int mul", DecodeIntegerMul},
    {"mul24", DecodeIntegerMul},
    {"int mad", DecodeIntegerMad},
    {"madc", DecodeIntegerMad},
    {"mad24", DecodeIntegerMad},
    {"int div", DecodeBinary<kDiv>},
    {"rem", DecodeBinary<kRem>},
    {"int min", DecodeMinMax<kMin, kMinRelu>},
    {"int max", DecodeMinMax<kMax, kMaxRelu>},
    {"int neg", DecodeUnary<kNeg>},
    {"int abs", DecodeUnary<kAbs>},
    {"sad", DecodeSad},
    {"dp4a", DecodeDotProduct<4>},
    {"dp2a", DecodeDotProduct<2>},
};

}  // namespace

absl::Span<const DecodeRow> IntegerOps() { return kRows; }

}  // namespace xc::emulator
