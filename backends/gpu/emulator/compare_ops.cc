// Comparisons: into predicates (setp) and into registers (set).
#include <cmath>
#include <cstdint>
#include <string>

#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/float_lanes.h"

namespace xc::emulator {
namespace {

enum Comparison { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan, kNoComparison };

Comparison ComparisonOf(const std::string& name) {
  constexpr const char* kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                    "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  for (int n = 0; n < kNoComparison; ++n) {
    if (name == kNames[n]) return static_cast<Comparison>(n);
  }
  // Of unsigned numbers.
  if (name == "lo") return kLt;
  if (name == "ls") return kLe;
  if (name == "hi") return kGt;
  if (name == "hs") return kGe;
  return kNoComparison;
}

template <typename T, Comparison kWhich>
bool Compares(T a, T b) {
  switch (kWhich) {
    case kEq:
      return a == b;
    case kNe:
      return a < b || a > b;  // ordered
    case kLt:
      return a < b;
    case kLe:
      return a <= b;
    case kGt:
      return a > b;
    case kGe:
      return a >= b;
    case kEqu:
      return !(a < b || a > b);
    case kNeu:
      return a != b;
    case kLtu:
      return !(a >= b);
    case kLeu:
      return !(a > b);
    case kGtu:
      return !(a <= b);
    case kGeu:
      return !(a < b);
    case kNum:
      return a == a && b == b;
    default:
      return a != a || b != b;
  }
}

// Field z: subnormal numbers are zero.
template <typename Format, Comparison kWhich>
void CompareFloats(Warp& w, const Instruction& i, uint32_t mask) {
  using Value = typename Format::Value;
  alignas(64) Value a[kLanes], b[kLanes];
  Flags flags;
  flags.flush = i.z;
  LoadFloats<Format, kLanes>(w, i.a, flags, a);
  LoadFloats<Format, kLanes>(w, i.b, flags, b);
  uint32_t result = 0;
  for (int l = 0; l < kLanes; ++l) result |= static_cast<uint32_t>(Compares<Value, kWhich>(a[l], b[l])) << l;
  SetPredicates(w, i, mask, result, Defined(w, i.a) & Defined(w, i.b));
}

template <Comparison kWhich>
Handler HandlerOf(Type type) {
  constexpr auto f = []<typename T>(T a, T b) { return Compares<T, kWhich>(a, b); };
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return Compare<uint16_t, f>;
    case Type::kS16:
      return Compare<int16_t, f>;
    case Type::kB32:
    case Type::kU32:
      return Compare<uint32_t, f>;
    case Type::kS32:
      return Compare<int32_t, f>;
    case Type::kB64:
    case Type::kU64:
      return Compare<uint64_t, f>;
    case Type::kS64:
      return Compare<int64_t, f>;
    case Type::kF16:
      return CompareFloats<Float16, kWhich>;
    case Type::kBf16:
      return CompareFloats<BFloat16, kWhich>;
    case Type::kF32:
      return CompareFloats<Float32, kWhich>;
    case Type::kF64:
      return CompareFloats<Float64, kWhich>;
    default:
      return nullptr;
  }
}

Handler HandlerOf(Comparison which, Type type) {
  switch (which) {
    case kEq:
      return HandlerOf<kEq>(type);
    case kNe:
      return HandlerOf<kNe>(type);
    case kLt:
      return HandlerOf<kLt>(type);
    case kLe:
      return HandlerOf<kLe>(type);
    case kGt:
      return HandlerOf<kGt>(type);
    case kGe:
      return HandlerOf<kGe>(type);
    default:
      break;
  }
  if (!IsFloat(type)) return nullptr;
  switch (which) {
    case kEqu:
      return HandlerOf<kEqu>(type);
    case kNeu:
      return HandlerOf<kNeu>(type);
    case kLtu:
      return HandlerOf<kLtu>(type);
    case kLeu:
      return HandlerOf<kLeu>(type);
    case kGtu:
      return HandlerOf<kGtu>(type);
    case kGeu:
      return HandlerOf<kGeu>(type);
    case kNum:
      return HandlerOf<kNum>(type);
    case kNan:
      return HandlerOf<kNan>(type);
    default:
      return nullptr;
  }
}

// What `setp` and `set` share: operands a and b, and c with the operation that combines it.
Instruction Comparing(Decoder& d, const Statement& s, Type type, size_t c) {
  Instruction i;
  i.run = s.modifiers.empty() ? nullptr : HandlerOf(ComparisonOf(s.modifiers[0]), type);
  i.a = d.Source(s.operands[1], type);
  i.b = d.Source(s.operands[2], type);
  i.z = s.Has("ftz");
  if (s.operands.size() > c) {
    bool negated;
    i.c = d.PredicateSource(s.operands[c], &negated);
    i.x = s.Has("and") ? 1 : s.Has("or") ? 2 : s.Has("xor") ? 3 : 0;
    i.y = negated;
    if (i.x == 0) d.Unknown(s);
  }
  return i;
}

void DecodeSetPredicate(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3, 4)) return;
  Instruction i = Comparing(d, s, s.TypeAt(0), 3);
  const std::vector<const Operand*> results = Decoder::Elements(s.operands[0]);
  i.d = d.Result(*results[0], Type::kPred);
  if (results.size() > 1 && results[1]->kind != Operand::kSink) i.e = d.Result(*results[1], Type::kPred);
  d.Emit(s, i);
}

// From predicate a: all ones, or 1.0 (x).
void Spread(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) uint32_t r[kLanes];
  const uint32_t p = *At<uint32_t>(w, i.a);
  for (int l = 0; l < kLanes; ++l) r[l] = (p >> l & 1) ? (i.x ? 0x3F800000u : kAllLanes) : 0;
  Write<uint32_t>(w, i.d, r, mask);
  Define(w, i.d, mask, Defined(w, i.a));
}
void DecodeSet(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3, 4)) return;
  const Type to = s.TypeAt(0);
  if (BytesOf(to) != 4 || to == Type::kF16x2 || to == Type::kBf16x2) return d.Unknown(s);
  Instruction i = Comparing(d, s, s.TypeAt(1), 3);
  i.d = d.Scratch(4);
  d.Emit(s, i);
  d.Emit(s, Spread, d.Result(s.operands[0], Type::kB32), i.d).x = to == Type::kF32;
}

constexpr DecodeRow kRows[] = {{"setp", DecodeSetPredicate}, {"set", DecodeSet}};

}  // namespace

absl::Span<const DecodeRow> CompareOps() { return kRows; }

}  // namespace xc::emulator
