#include "backends/gpu/start_groups.h"

#include <algorithm>
#include <memory>
#include <variant>

namespace xc::gpu {
namespace {

using Slices = std::vector<BufferSlice>;

// Each start of a kernel is worth this many scalar operations and bytes: larger steps fill a device by themselves.
constexpr int64_t kMostCost = 1 << 22;
constexpr int64_t kMostBytes = 1 << 22;
constexpr size_t kMostMembers = 24;
constexpr int kMostArguments = 96;  // of PTX's 4,352 bytes of parameters
constexpr int kMostOfBlocks = 4;    // members that share a block's memory
constexpr int kMostRounds = 24;     // of copies at once: each keeps a register or four
constexpr int kReach = 512;         // steps over which one may move
constexpr size_t kMostOpen = 32;    // groups that a step is offered

// Where a step's memory is.
struct Accesses {
  Slices read, written;
  bool everywhere = false;
};

bool Overlap(const BufferSlice& x, const BufferSlice& y) {
  if (x.kind == BufferSlice::Kind::kNone || x.kind != y.kind) return false;
  if (x.kind != BufferSlice::Kind::kArena && x.index != y.index) return false;
  return x.offset < y.offset + y.size && y.offset < x.offset + x.size;
}

bool AnyOverlap(const Slices& x, const Slices& y) {
  for (const BufferSlice& a : x) {
    for (const BufferSlice& b : y) {
      if (Overlap(a, b)) return true;
    }
  }
  return false;
}

bool Conflict(const Accesses& x, const Accesses& y) {
  if (x.everywhere || y.everywhere) return true;
  return AnyOverlap(x.written, y.written) || AnyOverlap(x.written, y.read) || AnyOverlap(x.read, y.written);
}

void Add(Slices& to, const Slices& slices) { to.insert(to.end(), slices.begin(), slices.end()); }

BufferSlice Part(BufferSlice slice, const plan::Size& bytes) {
  slice.size = bytes.constant();
  return slice;
}

// `callees` has those of the computations before.
Accesses AccessesOf(const plan::Step& step, const std::vector<Accesses>& callees) {
  Accesses accesses;
  const auto also = [&](int callee) {
    Add(accesses.read, callees[callee].read);
    Add(accesses.written, callees[callee].written);
    accesses.everywhere |= callees[callee].everywhere;
  };
  if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
    accesses = {{Part(copy->from, copy->bytes)}, {Part(copy->to, copy->bytes)}};
  } else if (const auto* clear = std::get_if<plan::Clear>(&step.action)) {
    accesses.written = {Part(clear->to, clear->bytes)};
  } else if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) {
    for (const plan::Argument& a : kernel->arguments) (a.written ? accesses.written : accesses.read).push_back(a.slice);
  } else if (const auto* call = std::get_if<plan::LibraryCall>(&step.action)) {
    // Which of them are results, functions know.
    for (const plan::CallArgument& a : call->arguments) {
      if (const auto* slice = std::get_if<BufferSlice>(&a)) accesses.written.push_back(*slice);
      if (const auto* slices = std::get_if<Slices>(&a)) Add(accesses.written, *slices);
    }
    accesses.written.push_back(call->result);
    accesses.everywhere = call->then != nullptr;
  } else if (const auto* call = std::get_if<plan::CustomCall>(&step.action)) {
    accesses = {call->inputs, call->outputs};
  } else if (const auto* evaluate = std::get_if<plan::Evaluate>(&step.action)) {
    accesses = {evaluate->inputs, evaluate->outputs};
  } else if (const auto* loop = std::get_if<plan::Loop>(&step.action)) {
    also(loop->condition);
    also(loop->body);
    accesses.read.push_back(loop->more);
  } else if (const auto* branch = std::get_if<plan::Branch>(&step.action)) {
    for (int callee : branch->branches) also(callee);
    accesses.read.push_back(branch->selector);
  } else if (const auto* call = std::get_if<plan::Call>(&step.action)) {
    also(call->callee);
  }
  return accesses;
}

// Of all its steps; `callees` has those of the computations before.
Accesses AccessesOf(const plan::Computation& computation, const std::vector<Accesses>& callees) {
  constexpr size_t kMany = 256;
  Accesses all;
  for (const plan::Step& step : computation.steps) {
    const Accesses own = AccessesOf(step, callees);
    Add(all.read, own.read);
    Add(all.written, own.written);
    all.everywhere |= own.everywhere || all.read.size() + all.written.size() > kMany;
    if (all.everywhere) break;
  }
  return all;
}

// The most bytes of one access that divide all numbers whose bits are in `numbers`.
int64_t LargestUnit(int64_t numbers) {
  int64_t unit = kVectorBytes;
  while (numbers % unit != 0) unit /= 2;
  return unit;
}

int Rounds(const plan::Copy& copy) {
  const int64_t units = copy.bytes.constant() / CopyUnit(copy);
  return static_cast<int>((units + kBlockThreads - 1) / kBlockThreads);
}

bool Contains(const BufferSlice& outer, const BufferSlice& inner) {
  return Overlap(outer, inner) && outer.offset <= inner.offset &&
         inner.offset + inner.size <= outer.offset + outer.size;
}

// Whether `copy` can be made at once with one that is made before it.
bool CanFollow(const plan::Copy& copy, const plan::Copy& before) {
  const BufferSlice to = Part(copy.to, copy.bytes), from = Part(copy.from, copy.bytes);
  const BufferSlice to_before = Part(before.to, before.bytes);
  return !Overlap(to, to_before) && (!Overlap(from, to_before) || Contains(to_before, from));
}

// A step that has its place, or a group of them that starts in one place.
struct Unit {
  StartGroup group;
  Accesses accesses;
  bool may_join = false;  // others
  // Of a group:
  bool pinned = false;  // a step behind its place depends on it: it cannot move
  int block = 0;
  int arguments = 0, of_blocks = 0, rounds = 0;
};

class Grouping {
 public:
  Grouping(const plan::Computation& computation, const BlockSize& block_size)
      : computation_(computation), block_size_(block_size) {}

  std::vector<StartGroup> Run(const std::vector<Accesses>& callees) {
    for (int i = 0; i < static_cast<int>(computation_.steps.size()); ++i) {
      const plan::Step& step = computation_.steps[i];
      if (std::holds_alternative<plan::Alias>(step.action)) continue;
      Unit unit = UnitOf(i, AccessesOf(step, callees));
      while (!recent_.empty() && recent_.front()->group.at < i - kReach) recent_.erase(recent_.begin());
      if (!unit.may_join || !Join(unit)) {
        Pin(unit, nullptr);
        units_.push_back(std::make_unique<Unit>(std::move(unit)));
        recent_.push_back(units_.back().get());
      }
    }
    std::vector<StartGroup> groups;
    for (const auto& unit : units_) {
      if (unit->group.members.size() > 1) groups.push_back(std::move(unit->group));
    }
    return groups;
  }

 private:
  const plan::Copy* CopyOf(int step) const { return std::get_if<plan::Copy>(&computation_.steps[step].action); }

  Unit UnitOf(int i, Accesses accesses) const {
    const plan::Step& step = computation_.steps[i];
    Unit unit;
    unit.group = {i, {i}};
    unit.accesses = std::move(accesses);
    int64_t bytes = 0;
    for (const BufferSlice& slice : unit.accesses.written) bytes += slice.size;
    if (bytes == 0 || bytes > kMostBytes) return unit;
    if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) {
      unit.block = block_size_(step, *kernel);
      unit.arguments = static_cast<int>(kernel->arguments.size());
      unit.of_blocks = unit.block > 0 ? 1 : 0;
      unit.may_join = unit.block >= 0 && kernel->cost.constant() <= kMostCost;
    } else if (const plan::Copy* copy = CopyOf(i)) {
      unit.arguments = 2;
      if (IsAtOnce(*copy)) unit.rounds = Rounds(*copy), unit.block = kBlockThreads;
      unit.may_join = true;
    } else if (std::holds_alternative<plan::Clear>(step.action)) {
      unit.arguments = 1;
      unit.may_join = true;
    }
    return unit;
  }

  // Whether there is room in `group`, for the step that `unit` is.
  static bool HasRoom(const Unit& group, const Unit& unit) {
    if (!group.may_join || group.group.members.size() >= kMostMembers) return false;
    if (group.arguments + unit.arguments > kMostArguments || group.rounds + unit.rounds > kMostRounds) return false;
    if (group.of_blocks + unit.of_blocks > kMostOfBlocks) return false;
    return group.block == 0 || unit.block == 0 || group.block == unit.block;
  }

  // Whether the step that `unit` is can be a copy at once with those members of `group` that it depends on.
  bool OnlyCopies(const Unit& group, const Unit& unit, const std::vector<Accesses>& members) const {
    const int step = unit.group.at;
    const plan::Copy* copy = CopyOf(step);
    if (copy == nullptr || !IsAtOnce(*copy)) return false;
    for (size_t m = 0; m < members.size(); ++m) {
      if (!Conflict(members[m], unit.accesses)) continue;
      const plan::Copy* before = CopyOf(group.group.members[m]);
      if (before == nullptr || !IsAtOnce(*before) || !CanFollow(*copy, *before)) return false;
    }
    return true;
  }

  // Adds the step that `unit` is to a group: it moves up to the group, or the group moves down to it.
  bool Join(const Unit& unit) {
    const int i = unit.group.at;
    std::vector<bool> conflicts;
    for (const Unit* other : recent_) conflicts.push_back(Conflict(other->accesses, unit.accesses));
    size_t offered = 0;
    for (size_t g = recent_.size(); g-- > 0 && offered < kMostOpen;) {
      Unit& group = *recent_[g];
      if (!HasRoom(group, unit)) continue;
      ++offered;
      if (conflicts[g]) {
        std::vector<Accesses> members;
        for (int m : group.group.members) members.push_back(AccessesOf(computation_.steps[m], {}));
        if (!OnlyCopies(group, unit, members)) continue;
      }
      bool up = true;
      for (size_t o = 0; o < recent_.size() && up; ++o) {
        up = o == g || !conflicts[o] || recent_[o]->group.at < group.group.at;
      }
      if (!up && group.pinned) continue;
      if (!up) {
        group.group.at = i;
        // Units are in the order of their places.
        Unit* const moved = &group;
        recent_.erase(recent_.begin() + g);
        recent_.push_back(moved);
      }
      group.group.members.push_back(i);
      Add(group.accesses.read, unit.accesses.read);
      Add(group.accesses.written, unit.accesses.written);
      group.block = std::max(group.block, unit.block);
      group.arguments += unit.arguments;
      group.of_blocks += unit.of_blocks;
      group.rounds += unit.rounds;
      Pin(group, &group);
      return true;
    }
    return false;
  }

  // Groups before the unit's place that it depends on stay where they are.
  void Pin(const Unit& unit, const Unit* itself) {
    for (Unit* other : recent_) {
      if (other != itself && other->may_join && !other->pinned && other->group.at < unit.group.at) {
        other->pinned = Conflict(other->accesses, unit.accesses);
      }
    }
  }

  const plan::Computation& computation_;
  const BlockSize& block_size_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<Unit*> recent_;  // in the order of their places
};

}  // namespace

int64_t CopyUnit(const plan::Copy& copy) {
  return LargestUnit(copy.bytes.constant() | copy.to.offset | copy.from.offset);
}
int64_t FillUnit(const plan::Clear& clear) { return LargestUnit(clear.bytes.constant() | clear.to.offset); }

bool IsAtOnce(const plan::Copy& copy) {
  constexpr int kMostOfOne = 4;
  return Rounds(copy) <= kMostOfOne;
}

std::vector<plan::Copy> AtOnce(std::vector<plan::Copy> copies) {
  for (size_t i = 0; i < copies.size(); ++i) {
    // The last one before that wrote it says where it came from.
    for (size_t before = i; before-- > 0;) {
      const BufferSlice from = Part(copies[i].from, copies[i].bytes),
                        to = Part(copies[before].to, copies[before].bytes);
      if (!Contains(to, from)) continue;
      const int64_t within = from.offset - to.offset;
      copies[i].from = copies[before].from;
      copies[i].from.offset += within;
      copies[i].from.size = from.size;
      break;
    }
  }
  return copies;
}

std::vector<std::vector<StartGroup>> GroupStarts(const plan::Plan& plan, const BlockSize& block_size) {
  std::vector<std::vector<StartGroup>> groups;
  std::vector<Accesses> callees;
  for (const plan::Computation& computation : plan.computations) {
    groups.push_back(Grouping(computation, block_size).Run(callees));
    callees.push_back(AccessesOf(computation, callees));
  }
  return groups;
}

}  // namespace xc::gpu
