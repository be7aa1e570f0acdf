// Conversions between types: cvt in all its forms, in three steps (read into a wide number, convert, write).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/float_lanes.h"

namespace xc::emulator {
namespace {

enum IntegerRounding { kNone, kNearestEven, kToZero, kToLower, kToUpper };

// Fields: x flags (with rounding in y), z: the integer rounding, e: source type, b: result type, count: bytes of the
// result's register, list: bytes of the source's.
Type SourceType(const Instruction& i) { return static_cast<Type>(i.e); }
Type ResultType(const Instruction& i) { return static_cast<Type>(i.b); }

// Integers of the low bits of registers.
void ReadIntegers(Warp& w, const Instruction& i, int64_t* to) {
  const uint8_t* from = w.frame + i.a;
  const int bytes = BytesOf(SourceType(i)), stride = i.list;
  const bool is_signed = IsSigned(SourceType(i));
  for (int l = 0; l < kLanes; ++l) {
    uint64_t value = 0;
    std::memcpy(&value, from + l * stride, static_cast<size_t>(std::min(bytes, stride)));
    const int unused = 64 - 8 * bytes;
    to[l] =
        is_signed ? static_cast<int64_t>(value << unused) >> unused : static_cast<int64_t>(value << unused >> unused);
  }
}

// In bits of the result's register, which may be wider: then the sign fills the rest.
void WriteIntegers(Warp& w, const Instruction& i, const int64_t* values, uint32_t mask) {
  uint8_t* to = w.frame + i.d;
  const int bytes = BytesOf(ResultType(i)), stride = i.count;
  const int unused = 64 - 8 * bytes;
  const bool is_signed = IsSigned(ResultType(i));
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    const uint64_t bits = static_cast<uint64_t>(values[l]) << unused;
    const uint64_t value = is_signed ? static_cast<uint64_t>(static_cast<int64_t>(bits) >> unused) : bits >> unused;
    std::memcpy(to + l * stride, &value, static_cast<size_t>(stride));
  }
}

double Limit(Type type, bool upper) {
  const int bits = 8 * BytesOf(type);
  if (IsSigned(type)) return upper ? std::ldexp(1.0, bits - 1) : -std::ldexp(1.0, bits - 1);
  return upper ? std::ldexp(1.0, bits) : 0;
}

void IntegerToInteger(Warp& w, const Instruction& i, uint32_t mask) {
  int64_t v[kLanes];
  ReadIntegers(w, i, v);
  if (Flags::From(i).saturate) {
    const Type to = ResultType(i);
    const int bits = 8 * BytesOf(to);
    const bool from_unsigned = !IsSigned(SourceType(i));
    for (int64_t& value : v) {
      const uint64_t most = IsSigned(to) ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits);
      const int64_t least = IsSigned(to) ? -static_cast<int64_t>(most) - 1 : 0;
      const bool is_large = from_unsigned || value >= 0;
      if (is_large && static_cast<uint64_t>(value) > most) value = static_cast<int64_t>(most);
      if (!is_large && value < least) value = least;
    }
  }
  WriteIntegers(w, i, v, mask);
  Define(w, i.d, mask, Defined(w, i.a));
}

// Of 64 bits into 53 with the last one odd if any is lost, so that a further rounding is the only one.
double ToOddDouble(long double a) {
  double near = static_cast<double>(a);
  if (static_cast<long double>(near) == a) return near;
  uint64_t bits = BitsAs<uint64_t>(near);
  if (std::fabs(static_cast<long double>(near)) > std::fabs(a)) --bits;
  return BitsAs<double>(bits | 1);
}

void IntegerToFloat(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) int64_t v[kLanes];
  ReadIntegers(w, i, v);
  const bool is_unsigned = SourceType(i) == Type::kU64;
  const Flags flags = Flags::From(i);
  const auto whole = [&](int l) {
    return is_unsigned ? static_cast<long double>(static_cast<uint64_t>(v[l])) : static_cast<long double>(v[l]);
  };
  switch (ResultType(i)) {
    case Type::kF64: {
      alignas(64) double r[kLanes];
      {
        RoundingScope scope(flags.rounding);
        RoundingScope::Sees(v);
        for (int l = 0; l < kLanes; ++l) {
          r[l] = is_unsigned ? static_cast<double>(static_cast<uint64_t>(v[l])) : static_cast<double>(v[l]);
        }
        RoundingScope::Sees(r);
      }
      Write<double>(w, i.d, r, mask);
      break;
    }
    case Type::kF32: {
      alignas(64) float r[kLanes];
      {
        RoundingScope scope(flags.rounding);
        RoundingScope::Sees(v);
        for (int l = 0; l < kLanes; ++l) {
          // Values that fit go straight; others would be rounded twice if halved on the way.
          r[l] = is_unsigned && v[l] < 0 ? static_cast<float>(whole(l)) : static_cast<float>(v[l]);
        }
        RoundingScope::Sees(r);
      }
      Write<float>(w, i.d, r, mask);
      break;
    }
    default: {
      const bool is_half = ResultType(i) == Type::kF16;
      alignas(64) uint16_t r[kLanes];
      for (int l = 0; l < kLanes; ++l) {
        const float odd = ToOddFloat(ToOddDouble(whole(l)));
        r[l] = is_half ? FloatToHalf(odd, flags.rounding) : FloatToBf16(odd, flags.rounding);
      }
      Write<uint16_t>(w, i.d, r, mask);
    }
  }
  Define(w, i.d, mask, Defined(w, i.a));
}

void ReadFloats(Warp& w, const Instruction& i, Slot slot, double* to) {
  const bool flush = Flags::From(i).flush;
  switch (SourceType(i)) {
    case Type::kF64:
      std::memcpy(to, At<double>(w, slot), kLanes * sizeof(double));
      break;
    case Type::kF32:
      for (int l = 0; l < kLanes; ++l) {
        const float a = At<float>(w, slot)[l];
        to[l] = flush ? Flushed(a) : a;
      }
      break;
    case Type::kF16:
      for (int l = 0; l < kLanes; ++l) to[l] = HalfToFloat(At<uint16_t>(w, slot)[l]);
      break;
    default:
      for (int l = 0; l < kLanes; ++l) to[l] = Bf16ToFloat(At<uint16_t>(w, slot)[l]);
  }
}

double Rounded(double a, int how) {
  switch (how) {
    case kNearestEven:
      return std::nearbyint(a);
    case kToZero:
      return std::trunc(a);
    case kToLower:
      return std::floor(a);
    case kToUpper:
      return std::ceil(a);
    default:
      return a;
  }
}

void FloatToInteger(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) double v[kLanes];
  int64_t r[kLanes];
  ReadFloats(w, i, i.a, v);
  const Type to = ResultType(i);
  const double low = Limit(to, false), high = Limit(to, true);
  const int bits = 8 * BytesOf(to);
  const uint64_t most = IsSigned(to) ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits);
  const uint64_t of_nan = SourceType(i) == Type::kF64 || bits == 64 ? uint64_t{1} << (bits - 1) : 0;
  for (int l = 0; l < kLanes; ++l) {
    const double a = Rounded(v[l], i.z);
    if (std::isnan(a)) {
      r[l] = static_cast<int64_t>(of_nan);
    } else if (a >= high) {
      r[l] = static_cast<int64_t>(most);
    } else if (a <= low) {
      r[l] = IsSigned(to) ? static_cast<int64_t>(~most) : 0;
    } else if (a >= 9223372036854775808.0) {
      r[l] = static_cast<int64_t>(static_cast<uint64_t>(a - 9223372036854775808.0) + (uint64_t{1} << 63));
    } else {
      r[l] = static_cast<int64_t>(a);
    }
  }
  WriteIntegers(w, i, r, mask);
  Define(w, i.d, mask, Defined(w, i.a));
}

// f32 to the 19 bits of tf32, kept in 32.
float ToTf32(float a, bool nearest_away) {
  if (std::isnan(a)) return BitsAs<float>(0x7FFFFFFFu);
  if (std::isinf(a)) return a;
  uint32_t bits = BitsAs<uint32_t>(a);
  bits += nearest_away ? 0x1000 : 0xFFF + (bits >> 13 & 1);
  return BitsAs<float>(bits & ~0x1FFFu);
}

uint16_t To16(double a, bool is_half, Rounding rounding) {
  const float odd = ToOddFloat(a);
  return is_half ? FloatToHalf(odd, rounding) : FloatToBf16(odd, rounding);
}

void Adjust(const Flags& flags, double* v) {
  for (int l = 0; l < kLanes; ++l) {
    if (flags.saturate) v[l] = v[l] > 0 ? std::min(v[l], 1.0) : 0.0;
    if (flags.relu) v[l] = v[l] > 0 || std::isnan(v[l]) ? v[l] : 0.0;
  }
}

void FloatToFloat(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) double v[kLanes];
  ReadFloats(w, i, i.a, v);
  const Flags flags = Flags::From(i);
  if (i.z != kNone) {
    for (double& a : v) a = std::isnan(a) ? a : Rounded(a, i.z);
  }
  Adjust(flags, v);
  switch (ResultType(i)) {
    case Type::kF64:
      Write<double>(w, i.d, v, mask);
      break;
    case Type::kF32:
    case Type::kTf32: {
      alignas(64) float r[kLanes];
      {
        RoundingScope scope(flags.rounding);
        RoundingScope::Sees(v);
        for (int l = 0; l < kLanes; ++l) r[l] = static_cast<float>(v[l]);
        RoundingScope::Sees(r);
      }
      for (int l = 0; l < kLanes; ++l) {
        if (flags.flush) r[l] = Flushed(r[l]);
        r[l] = Float32::Store(r[l]);
        if (ResultType(i) == Type::kTf32) r[l] = ToTf32(r[l], (i.x & 8) != 0);
      }
      Write<float>(w, i.d, r, mask);
      break;
    }
    default: {
      const bool is_half = ResultType(i) == Type::kF16;
      alignas(64) uint16_t r[kLanes];
      for (int l = 0; l < kLanes; ++l) r[l] = To16(v[l], is_half, flags.rounding);
      Write<uint16_t>(w, i.d, r, mask);
    }
  }
  Define(w, i.d, mask, Defined(w, i.a));
}

// Two numbers into one register; a is the upper one, c the lower.
void FloatsToPair(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) double high[kLanes], low[kLanes];
  ReadFloats(w, i, i.a, high);
  ReadFloats(w, i, i.c, low);
  const Flags flags = Flags::From(i);
  Adjust(flags, high);
  Adjust(flags, low);
  const Type to = ResultType(i);
  if (to == Type::kE4m3x2 || to == Type::kE5m2x2) {
    const bool is_e5m2 = to == Type::kE5m2x2;
    alignas(64) uint16_t r[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      r[l] = static_cast<uint16_t>(FloatToF8(static_cast<float>(high[l]), is_e5m2) << 8 |
                                   FloatToF8(static_cast<float>(low[l]), is_e5m2));
    }
    Write<uint16_t>(w, i.d, r, mask);
  } else {
    const bool is_half = to == Type::kF16x2;
    alignas(64) uint32_t r[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      r[l] = uint32_t{To16(high[l], is_half, flags.rounding)} << 16 | To16(low[l], is_half, flags.rounding);
    }
    Write<uint32_t>(w, i.d, r, mask);
  }
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.c));
}

// Between two numbers of f8 and two of f16 in a register.
void PairToPair(Warp& w, const Instruction& i, uint32_t mask) {
  const Type from = SourceType(i), to = ResultType(i);
  if (to == Type::kF16x2) {
    alignas(64) uint32_t r[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      const uint16_t a = At<uint16_t>(w, i.a)[l];
      const bool is_e5m2 = from == Type::kE5m2x2;
      r[l] = uint32_t{FloatToHalf(F8ToFloat(static_cast<uint8_t>(a >> 8), is_e5m2))} << 16 |
             FloatToHalf(F8ToFloat(static_cast<uint8_t>(a), is_e5m2));
      if (i.x & 4) {
        if (r[l] & 0x8000) r[l] &= 0xFFFF0000u;
        if (r[l] >> 31) r[l] &= 0xFFFFu;
      }
    }
    Write<uint32_t>(w, i.d, r, mask);
  } else {
    alignas(64) uint16_t r[kLanes];
    const bool is_e5m2 = to == Type::kE5m2x2;
    for (int l = 0; l < kLanes; ++l) {
      const uint32_t a = At<uint32_t>(w, i.a)[l];
      float high = HalfToFloat(static_cast<uint16_t>(a >> 16)), low = HalfToFloat(static_cast<uint16_t>(a));
      if (i.x & 4) {
        high = high < 0 ? 0 : high;
        low = low < 0 ? 0 : low;
      }
      r[l] = static_cast<uint16_t>(FloatToF8(high, is_e5m2) << 8 | FloatToF8(low, is_e5m2));
    }
    Write<uint16_t>(w, i.d, r, mask);
  }
  Define(w, i.d, mask, Defined(w, i.a));
}

bool IsF8Pair(Type type) { return type == Type::kE4m3x2 || type == Type::kE5m2x2; }

void DecodeConvert(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2, 3)) return;
  const Type to = s.TypeAt(0), from = s.TypeAt(1);
  const bool two = s.operands.size() == 3;
  if (BytesOf(to) == 0 || BytesOf(from) == 0 || s.Has("rs")) return d.Unknown(s);
  int to_bytes = BytesOf(to), from_bytes = BytesOf(from);
  Instruction i;
  i.d = d.ResultOfAnySize(s.operands[0], &to_bytes);
  // Registers have at least 16 bits.
  i.a = d.SourceOfAnySize(s.operands[1], BytesOf(from) == 1 ? Type::kB16 : from, &from_bytes);
  i.count = to_bytes;
  i.list = from_bytes;
  i.e = static_cast<Slot>(from);
  i.b = static_cast<Slot>(to);
  SetFlags(s, &i);
  if (s.Has("rna")) i.x |= 8;
  i.z = s.Has("rni")   ? kNearestEven
        : s.Has("rzi") ? kToZero
        : s.Has("rmi") ? kToLower
        : s.Has("rpi") ? kToUpper
                       : kNone;
  if (two) {
    i.c = d.Source(s.operands[2], from);
    i.run = from == Type::kF32 && (to == Type::kF16x2 || to == Type::kBf16x2 || IsF8Pair(to)) ? FloatsToPair : nullptr;
  } else if (IsF8Pair(from) || IsF8Pair(to)) {
    i.run = from == Type::kF16x2 || to == Type::kF16x2 ? PairToPair : nullptr;
  } else if (IsFloat(from)) {
    i.run = IsFloat(to) ? FloatToFloat : FloatToInteger;
    if (!IsFloat(to) && i.z == kNone) d.Fail("needs a rounding to integer");
  } else {
    i.run = IsFloat(to) ? IntegerToFloat : IntegerToInteger;
  }
  const auto fits = [](Type type, int register_bytes, bool is_float) {
    return is_float ? register_bytes == BytesOf(type) : register_bytes >= BytesOf(type);
  };
  if (!fits(to, to_bytes, IsFloat(to)) || !fits(from, from_bytes, IsFloat(from))) d.Fail("register of another size");
  d.Emit(s, i);
}

constexpr DecodeRow kRows[] = {{"cvt", DecodeConvert}};

}  // namespace

uint8_t FloatToF8(float a, bool is_e5m2) {
  if (std::isnan(a)) return 0x7F;
  const uint8_t sign = std::signbit(a) ? 0x80 : 0;
  const float magnitude = std::fabs(a);
  const int fraction_bits = is_e5m2 ? 2 : 3, least_exponent = is_e5m2 ? -14 : -6, bias = is_e5m2 ? 15 : 7;
  const float most = is_e5m2 ? 57344.0f : 448.0f;
  const uint8_t most_bits = is_e5m2 ? 0x7B : 0x7E;
  if (magnitude >= most) return sign | most_bits;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, least_exponent);
  // In units of the last bit at this exponent.
  int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
  if (units == 2 << fraction_bits) {
    units >>= 1;
    ++exponent;
  }
  const bool is_normal = units >= 1 << fraction_bits;
  const int bits = is_normal ? (exponent + bias) << fraction_bits | (units - (1 << fraction_bits)) : units;
  return static_cast<uint8_t>(sign | std::min<int>(bits, most_bits));
}

float F8ToFloat(uint8_t a, bool is_e5m2) {
  const int fraction_bits = is_e5m2 ? 2 : 3, bias = is_e5m2 ? 15 : 7;
  const int exponent = (a & 0x7F) >> fraction_bits, fraction = a & ((1 << fraction_bits) - 1);
  float value;
  if (is_e5m2 && exponent == 31) {
    value = fraction ? NAN : INFINITY;
  } else if (!is_e5m2 && (a & 0x7F) == 0x7F) {
    value = NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), 1 - bias - fraction_bits);
  } else {
    value = std::ldexp(static_cast<float>(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
  }
  return a & 0x80 ? -value : value;
}

absl::Span<const DecodeRow> ConvertOps() { return kRows; }

}  // namespace xc::emulator
