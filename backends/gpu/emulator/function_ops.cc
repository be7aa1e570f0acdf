// Reciprocals, roots, exponentials, logarithms and angles. The approximate ones are computed to the nearest number,
// which is within what the instruction set allows; those of f64 keep only the 20 bits that it promises.
#include <cmath>
#include <cstdint>

#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/float_lanes.h"

namespace xc::emulator {
namespace {

constexpr auto kReciprocal = []<typename T>(T a) { return T(1) / a; };
constexpr auto kRoot = [](auto a) { return std::sqrt(a); };
constexpr auto kReciprocalRoot = [](auto a) { return 1 / std::sqrt(static_cast<double>(a)); };
constexpr auto kExp2 = [](auto a) { return std::exp2(a); };
constexpr auto kLog2 = [](auto a) { return std::log2(a); };
constexpr auto kSin = [](auto a) { return std::sin(a); };
constexpr auto kCos = [](auto a) { return std::cos(a); };
constexpr auto kTanh = [](auto a) { return std::tanh(a); };

// The high half of the argument, and of the result.
double HighHalf(double a) { return BitsAs<double>(BitsAs<uint64_t>(a) >> 32 << 32); }
constexpr auto kRoughReciprocal = [](double a) {
  const double flushed = std::fabs(a) < 2.2250738585072014e-308 ? std::copysign(0.0, a) : HighHalf(a);
  const double r = HighHalf(1 / flushed);
  return std::fabs(r) < 2.2250738585072014e-308 ? std::copysign(0.0, r) : r;
};
constexpr auto kRoughReciprocalRoot = [](double a) {
  const double flushed = std::fabs(a) < 2.2250738585072014e-308 ? std::copysign(0.0, a) : HighHalf(a);
  return HighHalf(1 / std::sqrt(flushed));
};

template <auto F>
void DecodeFunction(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  SetFlags(s, &d.Emit(s, FloatUnaryOf<F>(type), d.Result(s.operands[0], type), d.Source(s.operands[1], type)));
}

void DecodeReciprocal(Decoder& d, const Statement& s) {
  if (s.Has("approx") && s.TypeAt(0) == Type::kF64) return DecodeFunction<kRoughReciprocal>(d, s);
  DecodeFunction<kReciprocal>(d, s);
}
void DecodeReciprocalRoot(Decoder& d, const Statement& s) {
  if (s.TypeAt(0) == Type::kF64) return DecodeFunction<kRoughReciprocalRoot>(d, s);
  DecodeFunction<kReciprocalRoot>(d, s);
}

constexpr DecodeRow kRows[] = {
    {"rcp", DecodeReciprocal},      {"sqrt", DecodeFunction<kRoot>}, {"rsqrt", DecodeReciprocalRoot},
    {"ex2", DecodeFunction<kExp2>}, {"lg2", DecodeFunction<kLog2>},  {"sin", DecodeFunction<kSin>},
    {"cos", DecodeFunction<kCos>},  {"tanh", DecodeFunction<kTanh>},
};

}  // namespace

absl::Span<const DecodeRow> FunctionOps() { return kRows; }

}  // namespace xc::emulator
