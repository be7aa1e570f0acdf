// Floating-point arithmetic with one exact rounding: add, sub, mul, fma, min, max, signs.
#include <cmath>
#include <cstdint>

#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/float_lanes.h"

namespace xc::emulator {
namespace {

constexpr auto kAddF = [](auto a, auto b) { return a + b; };
constexpr auto kSubF = [](auto a, auto b) { return a - b; };
constexpr auto kMulF = [](auto a, auto b) { return a * b; };
constexpr auto kDivF = [](auto a, auto b) { return a / b; };
// +0 is above -0; a number is preferred to none.
template <typename T>
T Lesser(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename T>
T Greater(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}
constexpr auto kMinF = [](auto a, auto b) { return Lesser(a, b); };
constexpr auto kMaxF = [](auto a, auto b) { return Greater(a, b); };
constexpr auto kMinNan = []<typename T>(T a, T b) { return std::isnan(a) || std::isnan(b) ? T(NAN) : Lesser(a, b); };
constexpr auto kMaxNan = []<typename T>(T a, T b) { return std::isnan(a) || std::isnan(b) ? T(NAN) : Greater(a, b); };

template <auto F>
void DecodeBinary(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  if (FlagsOf(s).rounding != Rounding::kNearest && BytesOf(type) < 4) return d.Unknown(s);
  SetFlags(s, &d.Emit(s, FloatBinaryOf<F>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type),
                      d.Source(s.operands[2], type)));
}

template <auto F, auto FNan>
void DecodeMinMax(Decoder& d, const Statement& s) {
  if (s.Has("xorsign")) return d.Unknown(s);
  s.Has("NaN") ? DecodeBinary<FNan>(d, s) : DecodeBinary<F>(d, s);
}

template <typename Format, bool kPair>
void Fma(Warp& w, const Instruction& i, uint32_t mask) {
  using Storage = typename Format::Storage;
  using Value = typename Format::Value;
  constexpr int kCount = kPair ? 2 * kLanes : kLanes;
  const Flags flags = Flags::From(i);
  alignas(64) Value a[kCount], b[kCount], c[kCount];
  alignas(64) Storage r[kCount];
  LoadFloats<Format, kCount>(w, i.a, flags, a);
  LoadFloats<Format, kCount>(w, i.b, flags, b);
  LoadFloats<Format, kCount>(w, i.c, flags, c);
  if constexpr (sizeof(Storage) == 2) {
    for (int l = 0; l < kCount; ++l) r[l] = Format::StoreOdd(OddFma(a[l], b[l], c[l]));
    if (flags.relu || flags.saturate) {
      alignas(64) Value v[kCount];
      for (int l = 0; l < kCount; ++l) v[l] = Format::Load(r[l]);
      StoreFloats<Format, kCount>(w, i.d, flags, v, mask);
      Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b) & Defined(w, i.c));
      return;
    }
    Write<std::conditional_t<kPair, uint32_t, uint16_t>>(
        w, i.d, reinterpret_cast<const std::conditional_t<kPair, uint32_t, uint16_t>*>(r), mask);
  } else {
    alignas(64) Value v[kCount];
    {
      RoundingScope scope(flags.rounding);
      RoundingScope::Sees(a);
      RoundingScope::Sees(b);
      RoundingScope::Sees(c);
      for (int l = 0; l < kCount; ++l) v[l] = std::fma(a[l], b[l], c[l]);
      RoundingScope::Sees(v);
    }
    StoreFloats<Format, kCount>(w, i.d, flags, v, mask);
  }
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b) & Defined(w, i.c));
}

void DecodeFma(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  const Type type = s.TypeAt(0);
  Handler run = nullptr;
  switch (type) {
    case Type::kF32:
      run = Fma<Float32, false>;
      break;
    case Type::kF64:
      run = Fma<Float64, false>;
      break;
    case Type::kF16:
      run = Fma<Float16, false>;
      break;
    case Type::kF16x2:
      run = Fma<Float16, true>;
      break;
    case Type::kBf16:
      run = Fma<BFloat16, false>;
      break;
    case Type::kBf16x2:
      run = Fma<BFloat16, true>;
      break;
    default:
      break;
  }
  if (FlagsOf(s).rounding != Rounding::kNearest && BytesOf(type) < 4) run = nullptr;
  SetFlags(s, &d.Emit(s, run, d.Result(s.operands[0], type), d.Source(s.operands[1], type),
                      d.Source(s.operands[2], type), d.Source(s.operands[3], type)));
}

// Signs of whole registers, by bits: not even a not-a-number changes otherwise.
template <typename T, T kSigns, bool kAbs>
constexpr auto kSignBits = [](T a) { return kAbs ? static_cast<T>(a & ~kSigns) : static_cast<T>(a ^ kSigns); };
template <bool kAbs>
void DecodeSign(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  Handler run = nullptr;
  if (s.Has("ftz")) {
    run = FloatUnaryOf<[](auto a) { return kAbs ? std::fabs(a) : -a; }>(type);
  } else if (type == Type::kF32) {
    run = Unary<uint32_t, uint32_t, kSignBits<uint32_t, 0x80000000u, kAbs>>;
  } else if (type == Type::kF64) {
    run = Unary<uint64_t, uint64_t, kSignBits<uint64_t, uint64_t{1} << 63, kAbs>>;
  } else if (BytesOf(type) == 2) {
    run = Unary<uint16_t, uint16_t, kSignBits<uint16_t, 0x8000, kAbs>>;
  } else if (BytesOf(type) == 4) {
    run = Unary<uint32_t, uint32_t, kSignBits<uint32_t, 0x80008000u, kAbs>>;
  }
  SetFlags(s, &d.Emit(s, run, d.Result(s.operands[0], type), d.Source(s.operands[1], type)));
}

// The sign of the first operand, the rest of the second.
void DecodeCopySign(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  constexpr auto f32 = [](uint32_t a, uint32_t b) { return (a & 0x80000000u) | (b & 0x7FFFFFFFu); };
  constexpr auto f64 = [](uint64_t a, uint64_t b) { return (a >> 63 << 63) | (b << 1 >> 1); };
  d.Emit(s,
         type == Type::kF32   ? Binary<uint32_t, uint32_t, uint32_t, f32>
         : type == Type::kF64 ? Binary<uint64_t, uint64_t, uint64_t, f64>
                              : nullptr,
         d.Result(s.operands[0], type), d.Source(s.operands[1], type), d.Source(s.operands[2], type));
}

template <typename T>
void TestProperty(Warp& w, const Instruction& i, uint32_t mask) {
  const T* a = At<T>(w, i.a);
  uint32_t result = 0;
  for (int l = 0; l < kLanes; ++l) {
    const int kind = std::fpclassify(a[l]);
    const bool is[] = {kind != FP_NAN && kind != FP_INFINITE,
                       kind == FP_INFINITE,
                       kind != FP_NAN,
                       kind == FP_NAN,
                       kind == FP_NORMAL,
                       kind == FP_SUBNORMAL};
    result |= static_cast<uint32_t>(is[i.x]) << l;
  }
  WritePredicate(w, i.d, result, mask);
  Define(w, i.d, mask, Defined(w, i.a));
}
void DecodeTest(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  constexpr const char* kNames[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  Instruction& i = d.Emit(s,
                          type == Type::kF32   ? TestProperty<float>
                          : type == Type::kF64 ? TestProperty<double>
                                               : nullptr,
                          d.Result(s.operands[0], Type::kPred), d.Source(s.operands[1], type));
  for (i.x = 0; i.x < 6 && !s.Has(kNames[i.x]);) ++i.x;
  if (i.x == 6) d.Unknown(s);
}

void DecodeDivision(Decoder& d, const Statement& s) { DecodeBinary<kDivF>(d, s); }

constexpr DecodeRow kRows[] = {
    {"add", DecodeBinary<kAddF>},
    {"sub", DecodeBinary<kSubF>},
    {"mul", DecodeBinary<kMulF>},
    {"div", DecodeDivision},
    {"fma", DecodeFma},
    {"mad", DecodeFma},
    {"min", DecodeMinMax<kMinF, kMinNan>},
    {"max", DecodeMinMax<kMaxF, kMaxNan>},
    {"neg", DecodeSign<false>},
    {"abs", DecodeSign<true>},
    {"copysign", DecodeCopySign},
    {"testp", DecodeTest},
};

}  // namespace

absl::Span<const DecodeRow> FloatOps() { return kRows; }

}  // namespace xc::emulator
