// Handlers of floating-point functions: templates over the format, with what modifiers ask for before and after.
#ifndef XC_BACKENDS_GPU_EMULATOR_FLOAT_LANES_H_
#define XC_BACKENDS_GPU_EMULATOR_FLOAT_LANES_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "backends/gpu/emulator/floats.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {

// Modifiers of a floating-point instruction, kept in its fields x and y.
struct Flags {
  bool flush = false;     // .ftz: subnormal numbers are zero
  bool saturate = false;  // .sat: to [0, 1]
  bool relu = false;      // negative numbers are zero
  Rounding rounding = Rounding::kNearest;
  static Flags From(const Instruction& i) {
    return {(i.x & 1) != 0, (i.x & 2) != 0, (i.x & 4) != 0, static_cast<Rounding>(i.y)};
  }
};
inline Flags FlagsOf(const Statement& s) {
  Flags flags;
  flags.flush = s.Has("ftz");
  flags.saturate = s.Has("sat");
  flags.relu = s.Has("relu");
  flags.rounding = s.Has("rz")   ? Rounding::kZero
                   : s.Has("rm") ? Rounding::kDown
                   : s.Has("rp") ? Rounding::kUp
                                 : Rounding::kNearest;
  return flags;
}
inline void SetFlags(const Statement& s, Instruction* i) {
  const Flags flags = FlagsOf(s);
  i->x = flags.flush + 2 * flags.saturate + 4 * flags.relu;
  i->y = static_cast<int32_t>(flags.rounding);
}

template <typename Format, int kCount>
void LoadFloats(Warp& w, Slot slot, Flags flags, typename Format::Value* to) {
  const auto* from = At<typename Format::Storage>(w, slot);
  for (int l = 0; l < kCount; ++l) to[l] = Format::Load(from[l]);
  if (flags.flush) {
    for (int l = 0; l < kCount; ++l) to[l] = Flushed(to[l]);
  }
}

// kCount: 32, or 64 for two in one register.
template <typename Format, int kCount>
void StoreFloats(Warp& w, Slot slot, Flags flags, typename Format::Value* v, uint32_t mask) {
  using Storage = typename Format::Storage;
  using Value = typename Format::Value;
  if (flags.flush) {
    for (int l = 0; l < kCount; ++l) v[l] = Flushed(v[l]);
  }
  if (flags.saturate) {
    for (int l = 0; l < kCount; ++l) v[l] = v[l] > 0 ? (v[l] < 1 ? v[l] : Value(1)) : Value(0);
  }
  if (flags.relu) {
    for (int l = 0; l < kCount; ++l) v[l] = v[l] > 0 || std::isnan(v[l]) ? v[l] : Value(0);
  }
  alignas(64) Storage r[kCount];
  for (int l = 0; l < kCount; ++l) r[l] = Format::Store(v[l]);
  using Whole = std::conditional_t<kCount == kLanes, Storage, uint32_t>;
  Write<Whole>(w, slot, reinterpret_cast<const Whole*>(r), mask);
}

template <typename Format, auto F, bool kPair>
void FloatUnary(Warp& w, const Instruction& i, uint32_t mask) {
  using Value = typename Format::Value;
  constexpr int kCount = kPair ? 2 * kLanes : kLanes;
  const Flags flags = Flags::From(i);
  alignas(64) Value a[kCount], v[kCount];
  LoadFloats<Format, kCount>(w, i.a, flags, a);
  {
    RoundingScope scope(flags.rounding);
    RoundingScope::Sees(a);
    for (int l = 0; l < kCount; ++l) v[l] = static_cast<Value>(F(a[l]));
    RoundingScope::Sees(v);
  }
  StoreFloats<Format, kCount>(w, i.d, flags, v, mask);
  Define(w, i.d, mask, Defined(w, i.a));
}

template <typename Format, auto F, bool kPair>
void FloatBinary(Warp& w, const Instruction& i, uint32_t mask) {
  using Value = typename Format::Value;
  constexpr int kCount = kPair ? 2 * kLanes : kLanes;
  const Flags flags = Flags::From(i);
  alignas(64) Value a[kCount], b[kCount], v[kCount];
  LoadFloats<Format, kCount>(w, i.a, flags, a);
  LoadFloats<Format, kCount>(w, i.b, flags, b);
  {
    RoundingScope scope(flags.rounding);
    RoundingScope::Sees(a);
    RoundingScope::Sees(b);
    for (int l = 0; l < kCount; ++l) v[l] = static_cast<Value>(F(a[l], b[l]));
    RoundingScope::Sees(v);
  }
  StoreFloats<Format, kCount>(w, i.d, flags, v, mask);
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b));
}

template <auto F>
Handler FloatUnaryOf(Type type) {
  switch (type) {
    case Type::kF32:
      return FloatUnary<Float32, F, false>;
    case Type::kF64:
      return FloatUnary<Float64, F, false>;
    case Type::kF16:
      return FloatUnary<Float16, F, false>;
    case Type::kF16x2:
      return FloatUnary<Float16, F, true>;
    case Type::kBf16:
      return FloatUnary<BFloat16, F, false>;
    case Type::kBf16x2:
      return FloatUnary<BFloat16, F, true>;
    default:
      return nullptr;
  }
}

template <auto F>
Handler FloatBinaryOf(Type type) {
  switch (type) {
    case Type::kF32:
      return FloatBinary<Float32, F, false>;
    case Type::kF64:
      return FloatBinary<Float64, F, false>;
    case Type::kF16:
      return FloatBinary<Float16, F, false>;
    case Type::kF16x2:
      return FloatBinary<Float16, F, true>;
    case Type::kBf16:
      return FloatBinary<BFloat16, F, false>;
    case Type::kBf16x2:
      return FloatBinary<BFloat16, F, true>;
    default:
      return nullptr;
  }
}

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_FLOAT_LANES_H_
