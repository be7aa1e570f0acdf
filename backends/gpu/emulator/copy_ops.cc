// cp.async: copies from global to shared memory that are done when the warp waits for them, as late as they may be.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backends/gpu/emulator/access.h"
#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

// Of the address that is read: register, offset, allocation.
Instruction SourceOf(const Instruction& i) {
  Instruction from = i;
  from.a = i.b;
  from.imm = i.e;
  from.x = static_cast<int32_t>(Space::kGlobal);
  from.z = 0;
  from.range = i.y;
  return from;
}

// Fields: a, imm, x, z: to where; b, e, y: from where; count: bytes, c: how many of them are read (-1: all; the rest is
// zero).
void CopyLater(Warp& w, const Instruction& i, uint32_t mask) {
  uint8_t* to[kLanes];
  uint8_t* from[kLanes] = {};
  if (!Resolve(w, i, mask, i.count, i.count, to)) return;
  uint32_t reads = mask;
  if (i.c >= 0) {
    if (!CheckDefined(w, i, i.c, mask, "copies a number of bytes that was not written")) return;
    for (int l = 0; l < kLanes; ++l) {
      if (At<uint32_t>(w, i.c)[l] == 0) reads &= ~(uint32_t{1} << l);
    }
  }
  const Instruction source = SourceOf(i);
  if (reads != 0 && !Resolve(w, source, reads, i.count, i.count, from)) return;
  if (reads != 0 && !CheckRaces(w, source, reads, i.count, Access::kRead, from, nullptr)) return;
  // From now on until it is done, what is there is neither the old nor the new.
  if (!NoteWritten(w, i, mask, i.count, to, 0)) return;
  if (!CheckRaces(w, i, mask, i.count, Access::kWrite, to, nullptr)) return;
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    int32_t copied = i.count;
    if (i.c >= 0)
      copied = static_cast<int32_t>(std::min<uint32_t>(At<uint32_t>(w, i.c)[l], static_cast<uint32_t>(i.count)));
    w.copies.back().push_back({to[l], from[l], i.count, copied, l, i.line});
  }
}

void Commit(Warp& w, const Instruction& i, uint32_t mask) { w.copies.emplace_back(); }

// Does all groups but the last `x`; with y also the open one.
void WaitForCopies(Warp& w, const Instruction& i, uint32_t mask) {
  const size_t complete = w.copies.size() - 1;
  const size_t keep = std::min<size_t>(static_cast<size_t>(i.x), complete);
  const size_t done = i.y ? w.copies.size() : complete - keep;
  for (size_t n = 0; n < done; ++n) {
    for (const Warp::Copy& copy : w.copies[n]) {
      std::memset(copy.to, 0, static_cast<size_t>(copy.bytes));
      if (copy.copied > 0) std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.copied));
      uint8_t* at[kLanes] = {};
      at[copy.lane] = copy.to;
      const uint32_t lane = uint32_t{1} << copy.lane;
      Instruction write = i;
      write.line = copy.line;
      write.x = static_cast<int32_t>(Space::kShared);
      if (!NoteWritten(w, write, lane, copy.bytes, at, kAllLanes)) return;
      if (!CheckRaces(w, write, lane, copy.bytes, Access::kWrite, at, nullptr)) return;
    }
  }
  w.copies.erase(w.copies.begin(), w.copies.begin() + static_cast<ptrdiff_t>(done));
  if (w.copies.empty()) w.copies.emplace_back();
}

void DecodeCopy(Decoder& d, const Statement& s) {
  if (!s.Has("async") || s.Has("bulk") || s.Has("mbarrier")) return d.Unknown(s);
  Instruction i;
  if (s.Has("commit_group")) {
    i.run = Commit;
    d.Emit(s, i);
    return;
  }
  if (s.Has("wait_all") || s.Has("wait_group")) {
    i.run = WaitForCopies;
    i.y = s.Has("wait_all");
    if (!i.y) {
      if (!d.Operands(s, 1)) return;
      if (s.operands[0].kind != Operand::kImmediate || s.operands[0].bits > 1000) return d.Unknown(s);
      i.x = static_cast<int32_t>(s.operands[0].bits);
    }
    d.Emit(s, i);
    return;
  }
  if (!d.Operands(s, 3, 5)) return;
  const Operand& size = s.operands[2];
  if (size.kind != Operand::kImmediate || (size.bits != 4 && size.bits != 8 && size.bits != 16)) return d.Unknown(s);
  Instruction from;
  d.SetAddress(s.operands[1], Space::kGlobal, &from);
  if (from.z) return d.Fail("global addresses have 64 bits");
  if (from.imm < -(int64_t{1} << 30) || from.imm > int64_t{1} << 30) return d.Fail("the offset is too large");
  d.SetAddress(s.operands[0], Space::kShared, &i);
  i.run = CopyLater;
  i.b = from.a;
  i.e = static_cast<Slot>(from.imm);
  i.y = from.range;
  i.count = static_cast<int32_t>(size.bits);
  // The fourth is the number of bytes to read, unless only a hint to the cache is there.
  const bool has_hint = s.Has("L2::cache_hint");
  if (s.operands.size() > (has_hint ? 4u : 3u)) i.c = d.Source(s.operands[3], Type::kB32);
  d.Emit(s, i);
}

constexpr DecodeRow kRows[] = {{"cp", DecodeCopy}};

}  // namespace

absl::Span<const DecodeRow> CopyOps() { return kRows; }

}  // namespace xc::emulator
