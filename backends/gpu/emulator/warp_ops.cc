// What lanes and warps do together: shuffles, votes, reductions, barriers, fences.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

// The mask of a `.sync` instruction: the same in all lanes, holds all that execute it, and all that it names execute
// it.
bool CheckMembers(Warp& w, const Instruction& i, Slot members, uint32_t mask) {
  if (!CheckDefined(w, i, members, mask, "has a mask of lanes that was not written")) return false;
  const uint32_t* m = At<uint32_t>(w, members);
  const int first = FirstLane(mask);
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    if (m[l] != m[first]) {
      w.Raise(i, Fault::kDivergence, l, "lanes name different masks of lanes");
      return false;
    }
  }
  if ((m[first] >> first & 1) == 0 || (mask & ~m[first]) != 0) {
    w.Raise(i, Fault::kDivergence, FirstLane(mask & ~m[first]), "is executed by a lane that its mask does not name");
    return false;
  }
  const uint32_t missing = m[first] & w.live & ~mask;
  if (missing == 0) return true;
  w.Raise(i, Fault::kDivergence, FirstLane(missing),
          absl::StrCat("names lane ", FirstLane(missing), ", which does not execute it: the warp has diverged"));
  return false;
}

enum ShuffleMode { kUp, kDown, kButterfly, kIndex };

// Fields: x the mode, a value, b lane, c clamp and segment mask, list: the slot of the members (-1: none), e:
// predicate.
void Shuffle(Warp& w, const Instruction& i, uint32_t mask) {
  if (i.list >= 0 && !CheckMembers(w, i, i.list, mask)) return;
  const uint32_t* a = At<uint32_t>(w, i.a);
  const uint32_t* b = At<uint32_t>(w, i.b);
  const uint32_t* c = At<uint32_t>(w, i.c);
  alignas(64) uint32_t r[kLanes];
  uint32_t within = 0, defined = 0;
  const uint32_t value_defined = Defined(w, i.a), others = Defined(w, i.b) & Defined(w, i.c);
  for (int l = 0; l < kLanes; ++l) {
    const int clamp = static_cast<int>(c[l] & 31), segment = static_cast<int>(c[l] >> 8 & 31);
    const int by = static_cast<int>(b[l] & 31);
    const int last = (l & segment) | (clamp & ~segment), first = l & segment;
    int from = l;
    bool is_within = false;
    switch (i.x) {
      case kUp:
        from = l - by;
        is_within = from >= last;
        break;
      case kDown:
        from = l + by;
        is_within = from <= last;
        break;
      case kButterfly:
        from = l ^ by;
        is_within = from <= last;
        break;
      default:
        from = first | (by & ~segment);
        is_within = from <= last;
    }
    if (!is_within) from = l;
    r[l] = a[from & 31];
    within |= static_cast<uint32_t>(is_within) << l;
    // What a lane that does not take part would give is not defined.
    defined |= ((value_defined & mask) >> (from & 31) & 1) << l;
  }
  Write<uint32_t>(w, i.d, r, mask);
  Define(w, i.d, mask, defined & others);
  if (i.e >= 0) {
    WritePredicate(w, i.e, within, mask);
    Define(w, i.e, mask, others);
  }
}

void DecodeShuffle(Decoder& d, const Statement& s) {
  const bool sync = s.Has("sync");
  if (!d.Operands(s, sync ? 5 : 4)) return;
  const std::vector<const Operand*> results = Decoder::Elements(s.operands[0]);
  Instruction i;
  i.run = Shuffle;
  i.d = d.Result(*results[0], Type::kB32);
  if (results.size() > 1 && results[1]->kind != Operand::kSink) i.e = d.Result(*results[1], Type::kPred);
  i.a = d.Source(s.operands[1], Type::kB32);
  i.b = d.Source(s.operands[2], Type::kB32);
  i.c = d.Source(s.operands[3], Type::kB32);
  i.list = sync ? d.Source(s.operands[4], Type::kB32) : -1;
  i.x = s.Has("up") ? kUp : s.Has("down") ? kDown : s.Has("bfly") ? kButterfly : s.Has("idx") ? kIndex : -1;
  if (i.x < 0) d.Unknown(s);
  d.Emit(s, i);
}

enum VoteMode { kAll, kAny, kUni, kBallot };

// Fields: x the mode, a the predicate (y: negated), b the members (-1: none).
void Vote(Warp& w, const Instruction& i, uint32_t mask) {
  if (i.b >= 0 && !CheckMembers(w, i, i.b, mask)) return;
  if (!CheckDefined(w, i, i.a, mask, "votes with a predicate that was not written")) return;
  const uint32_t yes = (*At<uint32_t>(w, i.a) ^ (i.y ? kAllLanes : 0)) & mask;
  if (i.x == kBallot) {
    alignas(64) uint32_t r[kLanes];
    std::fill_n(r, kLanes, yes);
    Write<uint32_t>(w, i.d, r, mask);
  } else {
    const bool holds = i.x == kAll ? yes == mask : i.x == kAny ? yes != 0 : yes == mask || yes == 0;
    WritePredicate(w, i.d, holds ? kAllLanes : 0, mask);
  }
  Define(w, i.d, mask, kAllLanes);
}

void DecodeVote(Decoder& d, const Statement& s) {
  const bool sync = s.Has("sync");
  if (!d.Operands(s, sync ? 3 : 2)) return;
  Instruction i;
  i.run = Vote;
  i.x = s.Has("all") ? kAll : s.Has("any") ? kAny : s.Has("uni") ? kUni : s.Has("ballot") ? kBallot : -1;
  if (i.x < 0) return d.Unknown(s);
  i.d = d.Result(s.operands[0], i.x == kBallot ? Type::kB32 : Type::kPred);
  bool negated;
  i.a = d.PredicateSource(s.operands[1], &negated);
  i.y = negated;
  i.b = sync ? d.Source(s.operands[2], Type::kB32) : -1;
  d.Emit(s, i);
}

void ActiveMask(Warp& w, const Instruction& i, uint32_t mask) {
  alignas(64) uint32_t r[kLanes];
  std::fill_n(r, kLanes, mask);
  Write<uint32_t>(w, i.d, r, mask);
  Define(w, i.d, mask, kAllLanes);
}
void DecodeActiveMask(Decoder& d, const Statement& s) {
  if (d.Operands(s, 1)) d.Emit(s, ActiveMask, d.Result(s.operands[0], Type::kB32));
}

// One lane of the members: the lowest. d: which (may be missing), e: whether it is this one.
void Elect(Warp& w, const Instruction& i, uint32_t mask) {
  if (!CheckMembers(w, i, i.a, mask)) return;
  alignas(64) uint32_t r[kLanes];
  std::fill_n(r, kLanes, static_cast<uint32_t>(FirstLane(mask)));
  Write<uint32_t>(w, i.d, r, mask);
  Define(w, i.d, mask, kAllLanes);
  WritePredicate(w, i.e, uint32_t{1} << FirstLane(mask), mask);
  Define(w, i.e, mask, kAllLanes);
}
void DecodeElect(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const std::vector<const Operand*> results = Decoder::Elements(s.operands[0]);
  if (results.size() != 2) return d.Unknown(s);
  d.Emit(s, Elect, d.Result(*results[0], Type::kB32), d.Source(s.operands[1], Type::kB32)).e =
      d.Result(*results[1], Type::kPred);
}

template <typename T, auto F>
void Reduce(Warp& w, const Instruction& i, uint32_t mask) {
  if (!CheckMembers(w, i, i.b, mask)) return;
  const T* a = At<T>(w, i.a);
  T result = a[FirstLane(mask)];
  for (int l = FirstLane(mask) + 1; l < kLanes; ++l) {
    if (mask >> l & 1) result = static_cast<T>(F(result, a[l]));
  }
  alignas(64) T r[kLanes];
  std::fill_n(r, kLanes, result);
  Write<T>(w, i.d, r, mask);
  Define(w, i.d, mask, (mask & ~Defined(w, i.a)) == 0 ? kAllLanes : 0);
}
void DecodeReduce(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  constexpr auto least = [](auto a, auto b) { return std::min(a, b); };
  constexpr auto most = [](auto a, auto b) { return std::max(a, b); };
  const bool is_signed = type == Type::kS32;
  Handler run = nullptr;
  if (BytesOf(type) == 4 && !IsFloat(type)) {
    if (s.Has("add")) run = Reduce<uint32_t, [](uint32_t a, uint32_t b) { return a + b; }>;
    if (s.Has("and")) run = Reduce<uint32_t, [](uint32_t a, uint32_t b) { return a & b; }>;
    if (s.Has("or")) run = Reduce<uint32_t, [](uint32_t a, uint32_t b) { return a | b; }>;
    if (s.Has("xor")) run = Reduce<uint32_t, [](uint32_t a, uint32_t b) { return a ^ b; }>;
    if (s.Has("min")) run = is_signed ? Reduce<int32_t, least> : Reduce<uint32_t, least>;
    if (s.Has("max")) run = is_signed ? Reduce<int32_t, most> : Reduce<uint32_t, most>;
  }
  d.Emit(s, run, d.Result(s.operands[0], Type::kB32), d.Source(s.operands[1], Type::kB32),
         d.Source(s.operands[2], Type::kB32));
}

// match: lanes with the same value (x: of all, with predicate e).
template <typename T>
void Match(Warp& w, const Instruction& i, uint32_t mask) {
  if (!CheckMembers(w, i, i.b, mask)) return;
  if (!CheckDefined(w, i, i.a, mask, "compares a value that was not written")) return;
  const T* a = At<T>(w, i.a);
  alignas(64) uint32_t r[kLanes] = {};
  bool all_same = true;
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    for (int k = 0; k < kLanes; ++k) {
      if ((mask >> k & 1) && a[k] == a[l]) r[l] |= uint32_t{1} << k;
    }
    all_same &= r[l] == mask;
  }
  if (i.x) std::fill_n(r, kLanes, all_same ? mask : 0);
  Write<uint32_t>(w, i.d, r, mask);
  Define(w, i.d, mask, kAllLanes);
  if (i.e < 0) return;
  WritePredicate(w, i.e, all_same ? kAllLanes : 0, mask);
  Define(w, i.e, mask, kAllLanes);
}
void DecodeMatch(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 3)) return;
  const Type type = s.TypeAt(0);
  const std::vector<const Operand*> results = Decoder::Elements(s.operands[0]);
  Instruction& i =
      d.Emit(s,
             BytesOf(type) == 4   ? Match<uint32_t>
             : BytesOf(type) == 8 ? Match<uint64_t>
                                  : nullptr,
             d.Result(*results[0], Type::kB32), d.Source(s.operands[1], type), d.Source(s.operands[2], Type::kB32));
  i.x = s.Has("all");
  if (results.size() > 1 && results[1]->kind != Operand::kSink) i.e = d.Result(*results[1], Type::kPred);
}

// bar and barrier. a: the barrier's number, b: the number of threads (-1: all), c: a predicate to reduce (y: negated).
// x: what is reduced (Warp::reduction); z: 1 arrives only.
void Barrier(Warp& w, const Instruction& i, uint32_t mask) {
  if (!CheckDefined(w, i, i.a, mask, "has a barrier's number that was not written")) return;
  const int first = FirstLane(mask);
  if (mask != w.all) {
    const uint32_t missing = w.all & ~mask;
    return w.Raise(i, Fault::kDivergence, FirstLane(missing),
                   absl::StrCat("thread does not reach the barrier that others of its warp wait at",
                                (w.live & missing) != missing ? ": it has exited" : ": the warp has diverged"));
  }
  const uint32_t number = At<uint32_t>(w, i.a)[first];
  if (number > 15) return w.Raise(i, Fault::kIllegal, first, absl::StrCat("there is no barrier ", number));
  int64_t threads = 0;
  if (i.b >= 0) {
    threads = At<uint32_t>(w, i.b)[first];
    if (threads % kLanes != 0 || threads == 0) {
      return w.Raise(i, Fault::kIllegal, first, "the number of threads at a barrier is no multiple of 32");
    }
  }
  w.barrier = static_cast<int>(number);
  w.barrier_threads = threads;
  w.waiting_at = &i;
  w.reduction = i.x;
  if (i.x != 0) {
    if (!CheckDefined(w, i, i.c, mask, "reduces a predicate that was not written")) return;
    w.reduction_input = *At<uint32_t>(w, i.c) ^ (i.y ? kAllLanes : 0);
  }
  if (i.z) {
    w.block->arrived[number] |= uint32_t{1} << w.index;
    return;
  }
  w.state = Warp::kAtBarrier;
}

void WarpBarrier(Warp& w, const Instruction& i, uint32_t mask) {
  if (CheckMembers(w, i, i.a, mask)) w.block->races.clocks().Advance(w.index);
}

void DecodeBarrier(Decoder& d, const Statement& s) {
  if (s.Has("cluster")) return d.Fail("clusters of blocks are not known");
  Instruction i;
  if (s.Has("warp")) {
    if (!d.Operands(s, 1)) return;
    i.run = WarpBarrier;
    i.a = d.Source(s.operands[0], Type::kB32);
    d.Emit(s, i);
    return;
  }
  i.run = Barrier;
  size_t at = 0;
  if (s.Has("red")) {
    i.x = s.Has("and") ? 1 : s.Has("or") ? 2 : s.Has("popc") ? 3 : 0;
    if (i.x == 0 || !d.Operands(s, 3, 4)) return d.Unknown(s);
    i.d = d.Result(s.operands[at++], i.x == 3 ? Type::kB32 : Type::kPred);
    bool negated;
    i.c = d.PredicateSource(s.operands.back(), &negated);
    i.y = negated;
  } else if (!d.Operands(s, 1, 2)) {
    return;
  }
  i.z = s.Has("arrive");
  const size_t numbers = s.operands.size() - at - (s.Has("red") ? 1 : 0);
  i.a = d.Source(s.operands[at], Type::kB32);
  if (numbers == 2) i.b = d.Source(s.operands[at + 1], Type::kB32);
  if (i.z && numbers != 2) d.Fail("needs a number of threads");
  d.Emit(s, i);
}

void Fence(Warp& w, const Instruction& i, uint32_t mask) {}
void DecodeFence(Decoder& d, const Statement& s) {
  // Within the block a fence orders nothing that a barrier does not; beyond it, blocks may wait for each other.
  if (!s.Has("cta") && !s.Has("proxy") && s.op != "griddepcontrol") d.kernel()->has_fence = true;
  d.Emit(s, Fence, -1);
}

constexpr DecodeRow kRows[] = {
    {"shfl", DecodeShuffle}, {"vote", DecodeVote},   {"activemask", DecodeActiveMask}, {"elect", DecodeElect},
    {"redux", DecodeReduce}, {"match", DecodeMatch}, {"bar", DecodeBarrier},           {"barrier", DecodeBarrier},
    {"membar", DecodeFence}, {"fence", DecodeFence}, {"griddepcontrol", DecodeFence},
};

}  // namespace

absl::Span<const DecodeRow> WarpOps() { return kRows; }

}  // namespace xc::emulator
