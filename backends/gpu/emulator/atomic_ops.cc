// Atomic operations: atom (with the old value as its result) and red, lane after lane.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backends/gpu/emulator/access.h"
#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/floats.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

enum AtomicOp { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kIncrement, kDecrement, kCompareExchange };

template <typename T>
T Apply(int op, T old, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case kAdd:
        return old + b;
      case kMin:
        return std::isnan(old) ? b : std::isnan(b) ? old : std::min(old, b);
      case kMax:
        return std::isnan(old) ? b : std::isnan(b) ? old : std::max(old, b);
      case kCompareExchange:
        return old;
      default:
        return b;
    }
  } else {
    using U = std::make_unsigned_t<T>;
    switch (op) {
      case kAdd:
        return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
      case kMin:
        return std::min(old, b);
      case kMax:
        return std::max(old, b);
      case kAnd:
        return old & b;
      case kOr:
        return old | b;
      case kXor:
        return old ^ b;
      case kIncrement:
        return old >= b ? T{0} : static_cast<T>(old + 1);
      case kDecrement:
        return old == 0 || old > b ? b : static_cast<T>(old - 1);
      case kCompareExchange:
        return old == b ? c : old;
      default:
        return b;
    }
  }
}

// Fields: y the operation, d the old value or -1, b and c the operands, imm the address's offset.
template <typename T>
void Atomic(Warp& w, const Instruction& i, uint32_t mask) {
  uint8_t* at[kLanes];
  if (!Resolve(w, i, mask, sizeof(T), sizeof(T), at)) return;
  if (!CheckRaces(w, i, mask, sizeof(T), Access::kAtomic, at, nullptr)) return;
  if (!CheckDefined(w, i, i.b, mask, "atomic operation with a value that was not written")) return;
  if (i.c >= 0 && !CheckDefined(w, i, i.c, mask, "atomic operation with a value that was not written")) return;
  const uint32_t defined = DefinedLanes(w, mask, sizeof(T), at);
  if (defined != mask && i.y != kExchange) {
    return w.Raise(i, Fault::kUninitialised, FirstLane(mask & ~defined),
                   "atomic operation on memory that was not written");
  }
  const T* b = At<T>(w, i.b);
  const T* c = i.c >= 0 ? At<T>(w, i.c) : b;
  T old[kLanes];
  for (int n = 0; n < kLanes; ++n) {
    const int l = w.launch->options.reversed ? kLanes - 1 - n : n;
    if (!(mask >> l & 1)) continue;
    std::memcpy(&old[l], at[l], sizeof(T));
    const T result = Apply<T>(i.y, old[l], b[l], c[l]);
    std::memcpy(at[l], &result, sizeof(T));
  }
  NoteWritten(w, i, mask, sizeof(T), at, kAllLanes);
  if (i.d < 0) return;
  for (int l = 0; l < kLanes; ++l) {
    if (mask >> l & 1) At<T>(w, i.d)[l] = old[l];
  }
  Define(w, i.d, mask, defined);
}

// Sums of numbers of 16 bits; kPair: of two in 32 bits.
template <typename Format, bool kPair>
void AtomicAdd16(Warp& w, const Instruction& i, uint32_t mask) {
  constexpr int kCount = kPair ? 2 : 1;
  uint8_t* at[kLanes];
  if (!Resolve(w, i, mask, 2 * kCount, 2 * kCount, at)) return;
  if (!CheckRaces(w, i, mask, 2 * kCount, Access::kAtomic, at, nullptr)) return;
  if (!CheckDefined(w, i, i.b, mask, "atomic operation with a value that was not written")) return;
  const uint16_t* b = At<uint16_t>(w, i.b);
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    uint16_t old[kCount], result[kCount];
    std::memcpy(old, at[l], sizeof(old));
    for (int n = 0; n < kCount; ++n) {
      const float x = Format::Load(old[n]), y = Format::Load(b[l * kCount + n]);
      result[n] = i.y == kAdd   ? Format::Store(x + y)
                  : i.y == kMin ? Format::Store(std::fmin(x, y))
                                : Format::Store(std::fmax(x, y));
    }
    std::memcpy(at[l], result, sizeof(result));
    if (i.d >= 0) std::memcpy(w.frame + i.d + l * 2 * kCount, old, sizeof(old));
  }
  NoteWritten(w, i, mask, 2 * kCount, at, kAllLanes);
  if (i.d >= 0) Define(w, i.d, mask, kAllLanes);
}

int OperationOf(const Statement& s) {
  constexpr const char* kNames[] = {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"};
  for (int n = 0; n < 10; ++n) {
    if (s.Has(kNames[n])) return n;
  }
  return -1;
}

Handler HandlerFor(Type type, int op) {
  const bool is_bits = op == kAnd || op == kOr || op == kXor || op == kExchange || op == kCompareExchange;
  switch (type) {
    case Type::kB32:
      return is_bits ? Atomic<uint32_t> : nullptr;
    case Type::kU32:
      return Atomic<uint32_t>;
    case Type::kS32:
      return Atomic<int32_t>;
    case Type::kB64:
      return is_bits ? Atomic<uint64_t> : nullptr;
    case Type::kU64:
      return Atomic<uint64_t>;
    case Type::kS64:
      return Atomic<int64_t>;
    case Type::kB16:
      return op == kCompareExchange || op == kExchange ? Atomic<uint16_t> : nullptr;
    case Type::kF32:
      return op == kAdd ? Atomic<float> : nullptr;
    case Type::kF64:
      return op == kAdd ? Atomic<double> : nullptr;
    case Type::kF16:
      return op <= kMax ? AtomicAdd16<Float16, false> : nullptr;
    case Type::kF16x2:
      return op <= kMax ? AtomicAdd16<Float16, true> : nullptr;
    case Type::kBf16:
      return op <= kMax ? AtomicAdd16<BFloat16, false> : nullptr;
    case Type::kBf16x2:
      return op <= kMax ? AtomicAdd16<BFloat16, true> : nullptr;
    default:
      return nullptr;
  }
}

void DecodeAtomic(Decoder& d, const Statement& s) {
  const bool has_result = s.op == "atom";
  const size_t first = has_result ? 1 : 0;
  if (!d.Operands(s, first + 2, first + 3)) return;
  const Type type = s.TypeAt(0);
  const int op = OperationOf(s);
  if (s.Has("v2") || s.Has("v4") || s.Has("v8") || op < 0 || s.Has("shared::cluster")) return d.Unknown(s);
  Instruction i;
  i.run = HandlerFor(type, op);
  if (i.run == nullptr) return d.Unknown(s);
  i.y = op;
  if (has_result && s.operands[0].kind != Operand::kSink) i.d = d.Result(s.operands[0], type);
  i.b = d.Source(s.operands[first + 1], type);
  const bool is_exchange = op == kCompareExchange;
  if (is_exchange != (s.operands.size() == first + 3))
    return d.Fail("another number of operands than the operation has");
  if (is_exchange) i.c = d.Source(s.operands[first + 2], type);
  d.SetAddress(s.operands[first],
               s.Has("global")                           ? Space::kGlobal
               : s.Has("shared") || s.Has("shared::cta") ? Space::kShared
                                                         : Space::kGeneric,
               &i);
  d.NoteAccess(BytesOf(type));
  if (s.Has("acquire") || s.Has("release") || s.Has("acq_rel")) d.kernel()->has_fence |= !s.Has("cta");
  d.Emit(s, i);
}

constexpr DecodeRow kRows[] = {{"atom", DecodeAtomic}, {"red", DecodeAtomic}};

}  // namespace

absl::Span<const DecodeRow> AtomicOps() { return kRows; }

}  // namespace xc::emulator
