// Loads, stores, and parameters.
#include <algorithm>
#include <cstring>

#include "backends/gpu/emulator/access.h"
#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

constexpr int kMostElements = 8;

// Loads `count` elements of type M into registers of type R. y: 1 for accesses that other threads may see at once.
template <typename M, typename R>
void Load(Warp& w, const Instruction& i, uint32_t mask) {
  uint8_t* at[kLanes];
  const int bytes = static_cast<int>(sizeof(M)) * i.count;
  if (!Resolve(w, i, mask, bytes, bytes, at)) return;
  if (!CheckRaces(w, i, mask, bytes, i.y ? Access::kAtomic : Access::kRead, at, nullptr)) return;
  const uint32_t defined = DefinedLanes(w, mask, bytes, at);
  for (int n = 0; n < i.count; ++n) {
    const Slot d = w.code->lists[static_cast<size_t>(i.list + n)];
    R* out = At<R>(w, d);
    for (int l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1)) continue;
      M value;
      std::memcpy(&value, at[l] + static_cast<size_t>(n) * sizeof(M), sizeof(M));
      out[l] = static_cast<R>(value);
    }
    Define(w, d, mask, defined);
  }
}

template <typename M, typename R>
void Store(Warp& w, const Instruction& i, uint32_t mask) {
  uint8_t* at[kLanes];
  const int bytes = static_cast<int>(sizeof(M)) * i.count;
  if (!Resolve(w, i, mask, bytes, bytes, at)) return;
  uint8_t values[kLanes * kMostElements * 8];
  uint32_t defined = kAllLanes;
  for (int n = 0; n < i.count; ++n) {
    const Slot a = w.code->lists[static_cast<size_t>(i.list + n)];
    const R* in = At<R>(w, a);
    defined &= Defined(w, a);
    for (int l = 0; l < kLanes; ++l) {
      const M value = static_cast<M>(in[l]);
      std::memcpy(values + l * bytes + n * static_cast<int>(sizeof(M)), &value, sizeof(M));
    }
  }
  if (!NoteWritten(w, i, mask, bytes, at, defined)) return;
  // A lane that writes what another of the same instruction has just written races with it only if the values differ.
  if (w.launch->options.check_races && i.x != static_cast<int32_t>(Space::kLocal)) {
    for (int l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1)) continue;
      if (!CheckRaces(w, i, uint32_t{1} << l, bytes, i.y ? Access::kAtomic : Access::kWrite, at, values)) return;
      std::memcpy(at[l], values + l * bytes, static_cast<size_t>(bytes));
    }
    return;
  }
  for (int l = 0; l < kLanes; ++l) {
    if (mask >> l & 1) std::memcpy(at[l], values + l * bytes, static_cast<size_t>(bytes));
  }
}

template <typename M>
Handler LoadTo(int bytes) {
  switch (bytes) {
    case 2:
      return sizeof(M) <= 2 ? Load<M, uint16_t> : nullptr;
    case 4:
      return sizeof(M) <= 4 ? Load<M, uint32_t> : nullptr;
    case 8:
      return Load<M, uint64_t>;
  }
  return nullptr;
}

Handler LoadHandler(Type type, int bytes) {
  switch (type) {
    case Type::kS8:
      return LoadTo<int8_t>(bytes);
    case Type::kS16:
      return LoadTo<int16_t>(bytes);
    case Type::kS32:
      return LoadTo<int32_t>(bytes);
    default:
      break;
  }
  switch (BytesOf(type)) {
    case 1:
      return LoadTo<uint8_t>(bytes);
    case 2:
      return LoadTo<uint16_t>(bytes);
    case 4:
      return LoadTo<uint32_t>(bytes);
    case 8:
      return LoadTo<uint64_t>(bytes);
  }
  return nullptr;
}

template <typename M>
Handler StoreFrom(int bytes) {
  switch (bytes) {
    case 2:
      return sizeof(M) <= 2 ? Store<M, uint16_t> : nullptr;
    case 4:
      return sizeof(M) <= 4 ? Store<M, uint32_t> : nullptr;
    case 8:
      return Store<M, uint64_t>;
  }
  return nullptr;
}

Handler StoreHandler(Type type, int bytes) {
  switch (BytesOf(type)) {
    case 1:
      return StoreFrom<uint8_t>(bytes);
    case 2:
      return StoreFrom<uint16_t>(bytes);
    case 4:
      return StoreFrom<uint32_t>(bytes);
    case 8:
      return StoreFrom<uint64_t>(bytes);
  }
  return nullptr;
}

// Reads element n of .param variables, which are lane after lane in the frame: at byte imm of each lane, of size x,
// into registers of size z; y: extend the sign.
void LoadParameter(Warp& w, const Instruction& i, uint32_t mask) {
  const uint8_t* from = w.frame + i.a;
  const bool is_entry = i.a < 0;
  for (int n = 0; n < i.count; ++n) {
    const Slot d = w.code->lists[static_cast<size_t>(i.list + n)];
    for (int l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1)) continue;
      uint64_t value = 0;
      const uint8_t* at = is_entry ? w.launch->parameters : from + static_cast<int64_t>(i.b) * l;
      std::memcpy(&value, at + i.imm + static_cast<int64_t>(n) * i.x, static_cast<size_t>(i.x));
      if (i.y && i.x < 8)
        value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - 8 * i.x)) >> (64 - 8 * i.x));
      std::memcpy(w.frame + d + static_cast<int64_t>(l) * i.z, &value, static_cast<size_t>(i.z));
    }
    Define(w, d, mask, is_entry ? kAllLanes : Defined(w, i.a));
  }
}

// The other way; what is not defined makes the whole variable so.
void StoreParameter(Warp& w, const Instruction& i, uint32_t mask) {
  uint32_t defined = i.imm == 0 ? kAllLanes : Defined(w, i.d);
  for (int n = 0; n < i.count; ++n) {
    const Slot a = w.code->lists[static_cast<size_t>(i.list + n)];
    for (int l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1)) continue;
      std::memcpy(w.frame + i.d + static_cast<int64_t>(i.b) * l + i.imm + static_cast<int64_t>(n) * i.x,
                  w.frame + a + static_cast<int64_t>(l) * i.z, static_cast<size_t>(i.x));
    }
    defined &= Defined(w, a);
  }
  Define(w, i.d, mask, defined);
}

bool IsStrong(const Statement& s) {
  for (const char* word : {"volatile", "relaxed", "acquire", "release", "mmio"}) {
    if (s.Has(word)) return true;
  }
  return false;
}

Space SpaceOf(const Statement& s) {
  if (s.Has("global")) return Space::kGlobal;
  if (s.Has("shared") || s.Has("shared::cta")) return Space::kShared;
  if (s.Has("local")) return Space::kLocal;
  if (s.Has("const")) return Space::kConst;
  if (s.Has("param") || s.Has("param::entry") || s.Has("param::func")) return Space::kParam;
  return Space::kGeneric;
}

// ld and st: `address` and the registers.
void DecodeAccess(Decoder& d, const Statement& s, bool is_load) {
  if (!d.Operands(s, 2)) return;
  const Operand& address = s.operands[is_load ? 1 : 0];
  const std::vector<const Operand*> elements = Decoder::Elements(s.operands[is_load ? 0 : 1]);
  const Type type = s.TypeAt(0);
  const size_t width = s.Has("v2") ? 2 : s.Has("v4") ? 4 : s.Has("v8") ? 8 : 1;
  if (elements.size() != width) return d.Fail("has another number of registers than elements");
  if (s.Has("shared::cluster")) return d.Fail("clusters of blocks are not known");
  if (BytesOf(type) == 0 || type == Type::kPred) return d.Unknown(s);
  if (width * static_cast<size_t>(BytesOf(type)) > 32) return d.Fail("accesses more than 32 bytes");
  const Space space = SpaceOf(s);
  std::vector<Slot> slots;
  int bytes = 0;
  for (const Operand* element : elements) {
    int size = BytesOf(type);
    slots.push_back(is_load ? d.ResultOfAnySize(*element, &size)
                            : d.SourceOfAnySize(*element, BytesOf(type) == 1 ? Type::kB16 : type, &size));
    // A register that is not wanted has the size of the others.
    if (element->kind != Operand::kSink) {
      if (bytes != 0 && size != bytes) return d.Fail("registers of different sizes");
      bytes = size;
    }
  }
  if (bytes == 0) bytes = std::max(2, BytesOf(type));
  Instruction i;
  i.list = d.AddList(slots);
  i.count = static_cast<int32_t>(width);
  const Code::Parameter* parameter = d.ParamSlot(address);
  const int64_t entry = d.EntryOffset(address);
  if (space == Space::kParam && (parameter != nullptr || entry >= 0)) {
    const int64_t offset = parameter != nullptr ? address.offset : entry;
    const int64_t end = offset + static_cast<int64_t>(width) * BytesOf(type);
    if (offset < 0 || end > (parameter != nullptr ? parameter->bytes : d.kernel()->parameter_bytes)) {
      return d.Fail("is outside of the parameter");
    }
    if (!is_load && parameter == nullptr) return d.Fail("stores to a kernel's parameter");
    if (bytes < BytesOf(type)) return d.Unknown(s);
    i.run = is_load ? LoadParameter : StoreParameter;
    i.a = is_load && parameter != nullptr ? parameter->slot : -1;
    i.d = !is_load ? parameter->slot : -1;
    i.b = parameter != nullptr ? parameter->bytes : 0;
    i.x = BytesOf(type);
    i.y = IsSigned(type);
    i.z = bytes;
    i.imm = offset;
    d.Emit(s, i);
    return;
  }
  i.run = is_load ? LoadHandler(type, bytes) : StoreHandler(type, bytes);
  i.y = IsStrong(s);
  d.SetAddress(address, space, &i);
  if (space == Space::kGeneric || space == Space::kShared || space == Space::kGlobal) d.NoteAccess(BytesOf(type));
  d.Emit(s, i);
}
void DecodeLoad(Decoder& d, const Statement& s) { DecodeAccess(d, s, true); }
void DecodeStore(Decoder& d, const Statement& s) { DecodeAccess(d, s, false); }

// Hints to the cache, which there is not.
void Touch(Warp& w, const Instruction& i, uint32_t mask) {}
void DecodePrefetch(Decoder& d, const Statement& s) { d.Emit(s, Touch, -1); }

constexpr DecodeRow kRows[] = {
    {"ld", DecodeLoad},           {"ldu", DecodeLoad},           {"st", DecodeStore},
    {"prefetch", DecodePrefetch}, {"prefetchu", DecodePrefetch}, {"applypriority", DecodePrefetch},
    {"discard", DecodePrefetch},
};

}  // namespace

absl::Span<const DecodeRow> MemoryOps() { return kRows; }

}  // namespace xc::emulator
