// Branches and where their ways meet again, calls, returns, traps.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

constexpr size_t kMostCalls = 32;

int32_t IndexOf(const Warp& w, const Instruction& i) { return static_cast<int32_t>(&i - w.code->instructions.data()); }

void GoTo(Warp& w, int32_t at) { w.pc = w.code->instructions.data() + at; }

// Goes on with the lanes that the top of the stack holds.
void Resume(Warp& w) {
  const Warp::Waiting next = w.stack.back();
  w.stack.pop_back();
  w.active = next.mask;
  w.reconvergence = next.reconvergence;
  GoTo(w, next.pc);
}

// Lanes of `mask` are done with this function. Goes on with others that are not, in it or in its caller.
void Leave(Warp& w, uint32_t mask) {
  const size_t floor = w.calls.empty() ? 0 : w.calls.back().stack_size;
  for (size_t n = floor; n < w.stack.size(); ++n) w.stack[n].mask &= ~mask;
  w.active &= ~mask;
  if (w.active != 0) return;
  while (w.stack.size() > floor) {
    if (w.stack.back().mask != 0) return Resume(w);
    w.stack.pop_back();
  }
  if (w.calls.empty()) {
    w.state = Warp::kDone;
    return;
  }
  const Warp::Call call = w.calls.back();
  const Code* callee = w.code;
  const uint8_t* callee_frame = w.frame;
  const uint32_t* callee_defined = w.defined;
  w.calls.pop_back();
  Warp::Frame& f = w.frames[w.calls.size()];
  const uintptr_t start = reinterpret_cast<uintptr_t>(f.memory.get());
  w.frame = f.memory.get() + (64 - start % 64) % 64;
  w.code = call.code;
  w.defined = reinterpret_cast<uint32_t*>(w.frame + call.code->frame_bytes);
  w.local_base = call.local_base;
  w.local_top = w.local_base + w.code->local_bytes;
  w.active = call.active & w.live;
  w.reconvergence = call.reconvergence;
  w.pc = call.call + 1;
  if (w.active == 0) {  // all have exited within the callee
    w.active = call.active;
    return Leave(w, call.active);
  }
  // The results come first in the call's list.
  for (size_t n = 0; n < callee->results.size(); ++n) {
    const Code::Parameter& from = callee->results[n];
    const Slot to = w.code->lists[static_cast<size_t>(call.call->list) + n];
    std::memcpy(w.frame + to, callee_frame + from.slot, static_cast<size_t>(from.bytes) * kLanes);
    Defined(w, to) = callee_defined[from.slot >> 6];
  }
}

void DoCall(Warp& w, const Instruction& i, uint32_t mask) {
  if (w.calls.size() >= kMostCalls) return w.Raise(i, Fault::kIllegal, -1, "calls nested too deep");
  const Code& callee = *w.launch->kernel->code[static_cast<size_t>(i.x)];
  const uint8_t* caller_frame = w.frame;
  const uint32_t* caller_defined = w.defined;
  // Under a guard, the other lanes go on behind the call together with those that return.
  w.calls.push_back({&i, w.code, w.stack.size(), w.active, w.reconvergence, w.local_base});
  w.active = mask;
  w.reconvergence = -1;
  w.local_base = w.local_top;
  w.local_top += callee.local_bytes;
  const Slot* arguments = w.code->lists.data() + i.list + i.y;
  w.EnterFrame(callee);
  for (size_t n = 0; n < callee.parameters.size(); ++n) {
    const Code::Parameter& to = callee.parameters[n];
    std::memcpy(w.frame + to.slot, caller_frame + arguments[n], static_cast<size_t>(to.bytes) * kLanes);
    Defined(w, to.slot) = caller_defined[arguments[n] >> 6];
  }
  w.pc = callee.instructions.data();
}

// Sends the lanes of each pair (target, mask) on their ways; they meet at the branch's field z.
void Diverge(Warp& w, const Instruction& i, const std::vector<std::pair<int32_t, uint32_t>>& ways) {
  const int32_t meeting = i.z;
  if (meeting >= 0 && w.reconvergence != meeting) w.stack.push_back({meeting, w.reconvergence, w.active});
  bool first = true;
  for (const auto& [target, mask] : ways) {
    if (target == meeting) continue;  // they wait there already
    if (!first) w.stack.push_back({IndexOf(w, *w.pc), w.reconvergence, w.active});
    first = false;
    w.active = mask;
    w.reconvergence = meeting;
    GoTo(w, target);
  }
}

void DecodeBranch(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 1)) return;
  Instruction& i = d.Emit(s, Branch, -1);
  i.a = i.guard;
  i.y = i.guard_negated;
  i.guard = -1;
  d.BranchTo(s.operands[0].name, d.next() - 1);
}

void DecodeIndirectBranch(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 2)) return;
  const std::vector<std::string>* targets = d.Targets(s.operands[1].name);
  if (targets == nullptr) return d.Fail("unknown list of branch targets");
  Instruction i;
  i.run = IndirectBranch;
  i.a = d.Source(s.operands[0], Type::kU32);
  i.list = d.AddList(std::vector<Slot>(targets->size(), 0));
  i.count = static_cast<int32_t>(targets->size());
  d.Emit(s, i);
  if (s.guard >= 0) d.Fail("an indirect branch under a guard");
  d.TableOf(*targets, i.list);
}

void AssertFail(Warp& w, const Instruction& i, uint32_t mask) {
  w.Raise(i, Fault::kAssert, FirstLane(mask), "an assertion failed");
}

void DecodeCall(Decoder& d, const Statement& s) {
  // call (results), target, (arguments); results and arguments may be missing.
  std::vector<const Operand*> results, arguments;
  size_t at = 0;
  if (at < s.operands.size() && s.operands[at].kind == Operand::kVector) results = Decoder::Elements(s.operands[at++]);
  if (at >= s.operands.size() || s.operands[at].kind != Operand::kSymbol) return d.Fail("calls through a register");
  const std::string& target = s.operands[at++].name;
  if (at < s.operands.size() && s.operands[at].kind == Operand::kVector)
    arguments = Decoder::Elements(s.operands[at++]);
  if (target == "__assertfail") {
    d.Emit(s, AssertFail, -1);
    return;
  }
  const int callee = d.Callee(target);
  if (callee < 0) return;
  std::vector<Slot> slots;
  for (const auto& operands : {results, arguments}) {
    for (const Operand* operand : operands) {
      const Code::Parameter* parameter = d.ParamSlot(*operand);
      if (parameter == nullptr) return d.Fail("the operands of a call must be .param variables");
      slots.push_back(parameter->slot);
    }
  }
  Instruction i;
  i.run = DoCall;
  i.x = callee;
  i.y = static_cast<int32_t>(results.size());
  i.count = static_cast<int32_t>(arguments.size());
  i.list = d.AddList(slots);
  d.Emit(s, i);
}

void DecodeReturn(Decoder& d, const Statement& s) { d.Emit(s, d.is_entry() ? Exit : Return, -1); }
void DecodeExit(Decoder& d, const Statement& s) { d.Emit(s, Exit, -1); }
void DecodeTrap(Decoder& d, const Statement& s) { d.Emit(s, Trap, -1); }
void DecodeNothing(Decoder& d, const Statement& s) {}

constexpr DecodeRow kRows[] = {
    {"bra", DecodeBranch}, {"brx", DecodeIndirectBranch}, {"call", DecodeCall},
    {"ret", DecodeReturn}, {"exit", DecodeExit},          {"trap", DecodeTrap},
    {"brkpt", DecodeTrap}, {"nanosleep", DecodeNothing},  {"pmevent", DecodeNothing},
};

}  // namespace

void Branch(Warp& w, const Instruction& i, uint32_t mask) {
  if (i.a < 0) return GoTo(w, i.x);
  if (!CheckDefined(w, i, i.a, mask, "branches on a predicate that was not written")) return;
  const uint32_t predicate = *At<uint32_t>(w, i.a);
  const uint32_t taken = mask & (i.y ? ~predicate : predicate);
  if (taken == mask) return GoTo(w, i.x);
  if (taken == 0) return;
  const int32_t next = IndexOf(w, i) + 1;
  if (w.launch->options.reversed) {
    Diverge(w, i, {{i.x, taken}, {next, mask & ~taken}});
  } else {
    Diverge(w, i, {{next, mask & ~taken}, {i.x, taken}});
  }
}

void IndirectBranch(Warp& w, const Instruction& i, uint32_t mask) {
  if (!CheckDefined(w, i, i.a, mask, "branches on an index that was not written")) return;
  const uint32_t* index = At<uint32_t>(w, i.a);
  std::vector<std::pair<int32_t, uint32_t>> ways;
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    if (index[l] >= static_cast<uint32_t>(i.count)) {
      return w.Raise(i, Fault::kIllegal, l, absl::StrCat("branches to target ", index[l], " of ", i.count));
    }
    const int32_t target = w.code->lists[static_cast<size_t>(i.list) + index[l]];
    auto way = std::find_if(ways.begin(), ways.end(), [target](const auto& known) { return known.first == target; });
    if (way == ways.end()) way = ways.insert(ways.end(), {target, 0});
    way->second |= uint32_t{1} << l;
  }
  if (ways.size() == 1) return GoTo(w, ways[0].first);
  Diverge(w, i, ways);
}

void Return(Warp& w, const Instruction& i, uint32_t mask) { Leave(w, mask); }

void Exit(Warp& w, const Instruction& i, uint32_t mask) {
  w.live &= ~mask;
  if (!w.calls.empty()) {
    // Lanes that wait in callers must not come back.
    for (Warp::Waiting& waiting : w.stack) waiting.mask &= ~mask;
  }
  Leave(w, mask);
}

void Trap(Warp& w, const Instruction& i, uint32_t mask) {
  w.Raise(i, Fault::kTrap, FirstLane(mask), "the kernel trapped");
}

void Reconverge(Warp& w, const Instruction& i, uint32_t mask) {
  if (w.reconvergence == i.x) Resume(w);
}

absl::Span<const DecodeRow> ControlOps() { return kRows; }

}  // namespace xc::emulator
