// Moves: registers, vectors in registers, addresses between spaces, selections.
#include <chrono>
#include <cstring>

#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

constexpr auto kSame = [](auto a) { return a; };

Handler MoveHandler(int bytes) {
  switch (bytes) {
    case 2:
      return Unary<uint16_t, uint16_t, kSame>;
    case 4:
      return Unary<uint32_t, uint32_t, kSame>;
    case 8:
      return Unary<uint64_t, uint64_t, kSame>;
  }
  return nullptr;
}

void MovePredicate(Warp& w, const Instruction& i, uint32_t mask) {
  WritePredicate(w, i.d, *At<uint32_t>(w, i.a) ^ (i.y ? kAllLanes : 0), mask);
  Define(w, i.d, mask, Defined(w, i.a));
}

void SetPredicate(Warp& w, const Instruction& i, uint32_t mask) {
  WritePredicate(w, i.d, i.imm ? kAllLanes : 0, mask);
  Define(w, i.d, mask, kAllLanes);
}

// `count` registers of x bytes from one of x * count bytes, and back.
void Unpack(Warp& w, const Instruction& i, uint32_t mask) {
  const int whole = i.x * i.count;
  alignas(64) uint8_t from[kLanes * 16];
  std::memcpy(from, w.frame + i.a, static_cast<size_t>(whole) * kLanes);
  for (int n = 0; n < i.count; ++n) {
    const Slot d = w.code->lists[static_cast<size_t>(i.list + n)];
    for (int l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1)) continue;
      std::memcpy(w.frame + d + l * i.x, from + l * whole + n * i.x, static_cast<size_t>(i.x));
    }
    Define(w, d, mask, Defined(w, i.a));
  }
}
void Pack(Warp& w, const Instruction& i, uint32_t mask) {
  const int whole = i.x * i.count;
  alignas(64) uint8_t to[kLanes * 16];
  uint32_t defined = kAllLanes;
  for (int n = 0; n < i.count; ++n) {
    const Slot a = w.code->lists[static_cast<size_t>(i.list + n)];
    defined &= Defined(w, a);
    for (int l = 0; l < kLanes; ++l) {
      std::memcpy(to + l * whole + n * i.x, w.frame + a + l * i.x, static_cast<size_t>(i.x));
    }
  }
  for (int l = 0; l < kLanes; ++l) {
    if (mask >> l & 1) std::memcpy(w.frame + i.d + l * whole, to + l * whole, static_cast<size_t>(whole));
  }
  Define(w, i.d, mask, defined);
}

// x: 0 instructions that the launch has executed, in 32 bits; 1 in 64 bits; 2 nanoseconds.
void ReadClock(Warp& w, const Instruction& i, uint32_t mask) {
  uint64_t now = static_cast<uint64_t>(w.launch->executed);
  if (i.x == 2) {
    now = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  }
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    if (i.x == 0) {
      At<uint32_t>(w, i.d)[l] = static_cast<uint32_t>(now);
    } else {
      At<uint64_t>(w, i.d)[l] = now;
    }
  }
  Define(w, i.d, mask, kAllLanes);
}

void DecodeMove(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Operand& to = s.operands[0];
  const Operand& from = s.operands[1];
  const Type type = s.TypeAt(0);
  const bool unpacks = to.kind == Operand::kVector, packs = from.kind == Operand::kVector;
  if (unpacks || packs) {
    const std::vector<const Operand*> elements = Decoder::Elements(unpacks ? to : from);
    const int count = static_cast<int>(elements.size());
    if (unpacks == packs || count < 2 || BytesOf(type) % count != 0 || BytesOf(type) > 8) return d.Unknown(s);
    const int part = BytesOf(type) / count;
    const Type part_type = part == 2 ? Type::kB16 : part == 4 ? Type::kB32 : Type::kNone;
    if (part_type == Type::kNone) return d.Fail("registers of a byte");
    std::vector<Slot> slots;
    for (const Operand* element : elements) {
      if (element->kind == Operand::kSink) {
        slots.push_back(d.Scratch(part));
      } else {
        slots.push_back(unpacks ? d.Result(*element, part_type) : d.Source(*element, part_type));
      }
    }
    Instruction i;
    i.run = unpacks ? Unpack : Pack;
    i.x = part;
    i.count = count;
    i.list = d.AddList(slots);
    if (unpacks) {
      i.a = d.Source(from, type);
    } else {
      i.d = d.Result(to, type);
    }
    d.Emit(s, i);
    return;
  }
  if (type == Type::kPred) {
    Instruction i;
    i.d = d.Result(to, type);
    if (from.kind == Operand::kImmediate) {
      i.run = SetPredicate;
      i.imm = from.bits != 0;
    } else {
      bool negated;
      i.run = MovePredicate;
      i.a = d.PredicateSource(from, &negated);
      i.y = negated;
    }
    d.Emit(s, i);
    return;
  }
  if (from.kind == Operand::kSpecial) {
    const int clock = from.name == "%clock" || from.name == "%clock_hi" ? 0
                      : from.name == "%clock64"                         ? 1
                      : from.name == "%globaltimer"                     ? 2
                                                                        : -1;
    if (clock >= 0) {
      d.Emit(s, ReadClock, d.Result(to, clock == 0 ? Type::kU32 : Type::kU64)).x = clock;
      return;
    }
  }
  if (d.EntryOffset(from) >= 0) {  // as an address of the param space
    d.Emit(s, MoveHandler(BytesOf(type)), d.Result(to, type),
           d.Constant(static_cast<uint64_t>(d.EntryOffset(from)), BytesOf(type)));
    return;
  }
  d.Emit(s, MoveHandler(BytesOf(type)), d.Result(to, type), d.Source(from, type));
}

// x: what is added to the address, in units of 1 << 60 (to generic addresses), or taken away.
void ConvertAddress(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) uint64_t r[kLanes];
  const uint64_t add = static_cast<uint64_t>(static_cast<int64_t>(i.x)) << 60;
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t a = i.z ? At<uint32_t>(w, i.a)[l] : At<uint64_t>(w, i.a)[l];
    r[l] = a + add;
  }
  if (i.y) {
    alignas(64) uint32_t narrow[kLanes];
    for (int l = 0; l < kLanes; ++l) narrow[l] = static_cast<uint32_t>(r[l]);
    Write<uint32_t>(w, i.d, narrow, mask);
  } else {
    Write<uint64_t>(w, i.d, r, mask);
  }
  Define(w, i.d, mask, Defined(w, i.a));
}

int WindowOf(const Statement& s) {
  if (s.Has("shared") || s.Has("shared::cta")) return 1;
  if (s.Has("local")) return 2;
  if (s.Has("param")) return 3;
  return 0;
}

void DecodeConvertAddress(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const Type type = s.TypeAt(0);
  if (s.Has("shared::cluster") || (type != Type::kU64 && type != Type::kU32)) return d.Unknown(s);
  int from = 8, to = 8;
  Instruction i;
  i.run = ConvertAddress;
  i.d = d.ResultOfAnySize(s.operands[0], &to);
  if (d.EntryOffset(s.operands[1]) >= 0) {
    i.a = d.Constant(static_cast<uint64_t>(d.EntryOffset(s.operands[1])), 8);
  } else {
    i.a = d.SourceOfAnySize(s.operands[1], Type::kU64, &from);
  }
  i.x = s.Has("to") ? -WindowOf(s) : WindowOf(s);
  i.y = to == 4;
  i.z = from == 4;
  if (type == Type::kU32 && !s.Has("to")) return d.Fail("generic addresses have 64 bits");
  d.Emit(s, i);
}

void IsSpace(Warp& w, const Instruction& i, uint32_t mask) {
  uint32_t result = 0;
  for (int l = 0; l < kLanes; ++l) {
    const bool is = At<uint64_t>(w, i.a)[l] >> 60 == static_cast<uint64_t>(i.x);
    result |= static_cast<uint32_t>(is) << l;
  }
  WritePredicate(w, i.d, result, mask);
  Define(w, i.d, mask, Defined(w, i.a));
}
void DecodeIsSpace(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  d.Emit(s, IsSpace, d.Result(s.operands[0], Type::kPred), d.Source(s.operands[1], Type::kU64)).x = WindowOf(s);
}

template <typename T>
void Select(Warp& w, const Instruction& i, uint32_t mask) {
  const T* a = At<T>(w, i.a);
  const T* b = At<T>(w, i.b);
  const uint32_t c = *At<uint32_t>(w, i.c) ^ (i.y ? kAllLanes : 0);
  alignas(64) T r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = (c >> l & 1) ? a[l] : b[l];
  const uint32_t defined = ((c & Defined(w, i.a)) | (~c & Defined(w, i.b))) & Defined(w, i.c);
  Write<T>(w, i.d, r, mask);
  Define(w, i.d, mask, defined);
}

Handler SelectHandler(int bytes) {
  switch (bytes) {
    case 2:
      return Select<uint16_t>;
    case 4:
      return Select<uint32_t>;
    case 8:
      return Select<uint64_t>;
  }
  return nullptr;
}

void DecodeSelect(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  const Type type = s.TypeAt(0);
  bool negated;
  const Slot c = d.PredicateSource(s.operands[3], &negated);
  d.Emit(s, SelectHandler(BytesOf(type)), d.Result(s.operands[0], type), d.Source(s.operands[1], type),
         d.Source(s.operands[2], type), c)
      .y = negated;
}

// slct: by the sign of c. y: c is a float.
template <typename T>
void SelectBySign(Warp& w, const Instruction& i, uint32_t mask) {
  const T* a = At<T>(w, i.a);
  const T* b = At<T>(w, i.b);
  alignas(64) T r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const bool first = i.y ? At<float>(w, i.c)[l] >= 0 : At<int32_t>(w, i.c)[l] >= 0;
    r[l] = first ? a[l] : b[l];
  }
  Write<T>(w, i.d, r, mask);
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b) & Defined(w, i.c));
}
void DecodeSelectBySign(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  const Type type = s.TypeAt(0), by = s.TypeAt(1);
  const Handler run = BytesOf(type) == 2   ? SelectBySign<uint16_t>
                      : BytesOf(type) == 4 ? SelectBySign<uint32_t>
                                           : SelectBySign<uint64_t>;
  d.Emit(s, run, d.Result(s.operands[0], type), d.Source(s.operands[1], type), d.Source(s.operands[2], type),
         d.Source(s.operands[3], by))
      .y = by == Type::kF32;
}

constexpr DecodeRow kRows[] = {
    {"mov", DecodeMove},    {"cvta", DecodeConvertAddress}, {"isspacep", DecodeIsSpace},
    {"selp", DecodeSelect}, {"slct", DecodeSelectBySign},
};

}  // namespace

absl::Span<const DecodeRow> MoveOps() { return kRows; }

}  // namespace xc::emulator
