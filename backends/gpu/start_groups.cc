#include "backends/gpu/start_groups.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "backends/gpu/step_accesses.h"
#include "backends/plan/overlap.h"

namespace xc::gpu {
namespace {

// Each start of a kernel is worth this many scalar operations and bytes: larger steps fill a device by themselves.
constexpr int64_t kMostCost = 1 << 25;
constexpr int64_t kMostBytes = 1 << 22;
// Scalar operations, threads and bytes of a step that one block does as soon as a start is made.
constexpr int64_t kBlockCost = 1 << 14;
constexpr int64_t kBlockWork = 2048;
constexpr int64_t kBlockBytes = 1 << 15;
constexpr int64_t kSequenceCost = 1 << 17;  // of all steps of a sequence, each counted once
constexpr int kMostOfSequence = 64;         // steps, those of callees as well: the size of its code
constexpr size_t kMostMembers = 24;
constexpr int kMostArguments = 256;  // of PTX's 4,352 bytes of parameters
constexpr int kMostOfBlocks = 4;     // members that share a block's memory
constexpr int kMostRounds = 24;      // of copies at once: each keeps a register or four
constexpr int kReach = 512;          // steps over which one may move
constexpr size_t kMostOpen = 32;     // groups that a step is offered

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
  return plan::Overlap(outer, inner) && outer.offset <= inner.offset &&
         inner.offset + inner.size <= outer.offset + outer.size;
}

// Whether `copy` can be made at once with one that is made before it.
bool CanFollow(const plan::Copy& copy, const plan::Copy& before) {
  const BufferSlice to = Part(copy.to, copy.bytes), from = Part(copy.from, copy.bytes);
  const BufferSlice to_before = Part(before.to, before.bytes);
  return !plan::Overlap(to, to_before) && (!plan::Overlap(from, to_before) || Contains(to_before, from));
}

// What one block can do, one step after the other.
struct BlockWork {
  bool fits = false;  // it can
  int64_t cost = 0;
  int steps = 0, arguments = 0;

  bool Add(const BlockWork& other) {
    cost += other.cost;
    steps += other.steps;
    arguments += other.arguments;
    fits = fits && other.fits && cost <= kSequenceCost && steps <= kMostOfSequence && arguments <= kMostArguments;
    return fits;
  }
};

// A step that has its place, or a group of them that starts in one place.
struct Unit {
  StartGroup group;
  Accesses accesses;
  bool may_join = false;  // others
  BlockWork work;
  // Of a group:
  bool pinned = false;  // a step behind its place depends on it: it cannot move
  int block = 0;
  int arguments = 0, of_blocks = 0, rounds = 0;
};

class Grouping {
 public:
  Grouping(const plan::Computation& computation, const ShapeOfKernel& shape_of, const std::vector<Accesses>& callees,
           const std::vector<BlockWork>& work)
      : computation_(computation), shape_of_(shape_of), callees_(callees), work_(work) {}

  // All steps of the computation, if one block can do them.
  BlockWork WorkOfAll() const {
    BlockWork all;
    all.fits = true;
    for (const plan::Step& step : computation_.steps) {
      if (!std::holds_alternative<plan::Alias>(step.action) && !all.Add(WorkOf(step))) break;
    }
    return all;
  }

  std::vector<StartGroup> Run() {
    for (int i = 0; i < static_cast<int>(computation_.steps.size()); ++i) {
      const plan::Step& step = computation_.steps[i];
      if (std::holds_alternative<plan::Alias>(step.action)) continue;
      Unit unit = UnitOf(i, AccessesOf(step, callees_));
      while (!recent_.empty() && recent_.front()->group.at < i - kReach) recent_.erase(recent_.begin());
      if (!unit.may_join || !Join(unit)) {
        Pin(unit, nullptr);
        units_.push_back(std::make_unique<Unit>(std::move(unit)));
        recent_.push_back(units_.back().get());
      }
    }
    std::vector<StartGroup> groups;
    for (const auto& unit : units_) {
      if (unit->group.members.size() > 1 || unit->group.sequence) groups.push_back(std::move(unit->group));
    }
    return groups;
  }

 private:
  const plan::Copy* CopyOf(int step) const { return std::get_if<plan::Copy>(&computation_.steps[step].action); }

  static bool HasCallees(const plan::Step& step) { return !CalleesOf(step).empty(); }

  BlockWork WorkOf(const plan::Step& step) const {
    BlockWork work;
    work.steps = 1;
    if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) {
      const KernelShape shape = shape_of_(step, *kernel);
      work.cost = kernel->cost.constant();
      work.arguments = static_cast<int>(kernel->arguments.size());
      work.fits = shape.block == 0 && work.cost <= kBlockCost && shape.threads <= kBlockWork;
    } else if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
      work.arguments = 2;
      work.fits = copy->bytes.constant() <= kBlockBytes;
    } else if (const auto* clear = std::get_if<plan::Clear>(&step.action)) {
      work.arguments = 1;
      work.fits = clear->bytes.constant() <= kBlockBytes;
    } else if (HasCallees(step)) {
      work.arguments = 1;
      work.fits = true;
      for (int callee : CalleesOf(step)) work.Add(work_[callee]);
    }
    return work;
  }

  Unit UnitOf(int i, Accesses accesses) const {
    const plan::Step& step = computation_.steps[i];
    Unit unit;
    unit.group = {i, {i}};
    unit.accesses = std::move(accesses);
    unit.work = WorkOf(step);
    unit.arguments = unit.work.arguments;
    if (HasCallees(step)) {
      unit.group.sequence = unit.may_join = unit.work.fits;
      return unit;
    }
    int64_t bytes = 0;
    for (const BufferSlice& slice : unit.accesses.written) bytes += slice.size;
    if (bytes == 0 || bytes > kMostBytes) return unit;
    if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) {
      unit.block = shape_of_(step, *kernel).block;
      unit.of_blocks = unit.block > 0 ? 1 : 0;
      unit.may_join = unit.block >= 0 && kernel->cost.constant() <= kMostCost;
    } else if (const plan::Copy* copy = CopyOf(i)) {
      if (IsAtOnce(*copy)) unit.rounds = Rounds(*copy), unit.block = kBlockThreads;
      unit.may_join = true;
    } else if (std::holds_alternative<plan::Clear>(step.action)) {
      unit.may_join = true;
    }
    return unit;
  }

  // Whether one block can do the steps of `group` and then `unit`.
  static bool FitInSequence(const Unit& group, const Unit& unit) { return BlockWork(group.work).Add(unit.work); }

  // Whether there is room in `group`, for the step that `unit` is.
  static bool HasRoom(const Unit& group, const Unit& unit) {
    if (!group.may_join) return false;
    if (group.group.sequence || unit.group.sequence) return FitInSequence(group, unit);
    if (group.group.members.size() >= kMostMembers) return false;
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
      bool sequence = group.group.sequence || unit.group.sequence;
      if (!HasRoom(group, unit)) {
        if (sequence || !group.may_join || !FitInSequence(group, unit)) continue;
        sequence = true;
      }
      ++offered;
      if (conflicts[g] && !sequence) {
        std::vector<Accesses> members;
        for (int m : group.group.members) members.push_back(AccessesOf(computation_.steps[m], callees_));
        sequence = !OnlyCopies(group, unit, members);
        if (sequence && !FitInSequence(group, unit)) continue;
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
      group.group.sequence = sequence;
      group.accesses.Add(unit.accesses);
      group.work.Add(unit.work);
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
  const ShapeOfKernel& shape_of_;
  const std::vector<Accesses>& callees_;
  const std::vector<BlockWork>& work_;
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

std::vector<int> CalleesOf(const plan::Step& step) {
  if (const auto* loop = std::get_if<plan::Loop>(&step.action)) return {loop->condition, loop->body};
  if (const auto* branch = std::get_if<plan::Branch>(&step.action)) return branch->branches;
  if (const auto* call = std::get_if<plan::Call>(&step.action)) return {call->callee};
  return {};
}

std::vector<std::vector<StartGroup>> GroupStarts(const plan::Plan& plan, const ShapeOfKernel& shape_of) {
  const std::vector<Accesses> accesses = AccessesOf(plan);
  std::vector<BlockWork> work;
  for (const plan::Computation& computation : plan.computations) {
    work.push_back(Grouping(computation, shape_of, accesses, work).WorkOfAll());
  }
  // Callers first: what is part of a caller's sequence has no groups of its own.
  std::vector<std::vector<StartGroup>> groups(plan.computations.size());
  std::vector<bool> inside(plan.computations.size(), false);
  for (size_t c = plan.computations.size(); c-- > 0;) {
    const plan::Computation& computation = plan.computations[c];
    if (!inside[c]) groups[c] = Grouping(computation, shape_of, accesses, work).Run();
    for (const plan::Step& step : computation.steps) {
      bool fits = inside[c];
      for (const StartGroup& group : groups[c]) {
        for (int member : group.members) fits |= group.sequence && &computation.steps[member] == &step;
      }
      for (int callee : CalleesOf(step)) inside[callee] = fits;
    }
  }
  return groups;
}

}  // namespace xc::gpu
