// How launches run: blocks one after the other, their warps in turns from barrier to barrier.
#include "backends/gpu/emulator/machine.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

// A warp's turn, in instructions, so that those that wait for another by reading memory do not wait forever; and a
// block's, after which the next one begins as well.
constexpr int64_t kWarpTurn = 1 << 14;
constexpr int64_t kBlockTurn = 1 << 22;
constexpr size_t kMostResident = 64;
constexpr size_t kMostDepth = 64;  // of calls

template <typename T>
void Spread(uint8_t* to, uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  for (int l = 0; l < kLanes; ++l) std::memcpy(to + static_cast<size_t>(l) * sizeof(T), &value, sizeof(T));
}

void SpreadConstants(const Code& code, uint8_t* frame) {
  for (const Code::Constant& c : code.constants) {
    switch (c.bytes) {
      case 1:
        Spread<uint8_t>(frame + c.slot, c.bits);
        break;
      case 2:
        Spread<uint16_t>(frame + c.slot, c.bits);
        break;
      case 4:
        Spread<uint32_t>(frame + c.slot, c.bits);
        break;
      default:
        Spread<uint64_t>(frame + c.slot, c.bits);
    }
  }
}

void FillSpecial(const Warp& w, SpecialRegister special, uint32_t* to) {
  const Block& block = *w.block;
  const Launch& launch = *w.launch;
  const uint32_t first = static_cast<uint32_t>(w.index) * kLanes;
  const int which = static_cast<int>(special);
  const auto in = [which](SpecialRegister from) { return static_cast<size_t>(which - static_cast<int>(from)) % 3; };
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t thread = first + l;
    const uint32_t bit = uint32_t{1} << l;
    uint32_t value = 0;
    switch (special) {
      case SpecialRegister::kTidX:
        value = thread % launch.block[0];
        break;
      case SpecialRegister::kTidY:
        value = thread / launch.block[0] % launch.block[1];
        break;
      case SpecialRegister::kTidZ:
        value = thread / launch.block[0] / launch.block[1];
        break;
      case SpecialRegister::kNtidX:
      case SpecialRegister::kNtidY:
      case SpecialRegister::kNtidZ:
        value = launch.block[in(SpecialRegister::kNtidX)];
        break;
      case SpecialRegister::kCtaidX:
      case SpecialRegister::kCtaidY:
      case SpecialRegister::kCtaidZ:
        value = block.index[in(SpecialRegister::kCtaidX)];
        break;
      case SpecialRegister::kNctaidX:
      case SpecialRegister::kNctaidY:
      case SpecialRegister::kNctaidZ:
        value = launch.grid[in(SpecialRegister::kNctaidX)];
        break;
      case SpecialRegister::kLaneId:
        value = l;
        break;
      case SpecialRegister::kWarpId:
        value = static_cast<uint32_t>(w.index);
        break;
      case SpecialRegister::kNwarpId:
        value = static_cast<uint32_t>(block.warps.size());
        break;
      case SpecialRegister::kSmId:
        value = static_cast<uint32_t>(block.linear % 132);
        break;
      case SpecialRegister::kNsmId:
        value = 132;
        break;
      case SpecialRegister::kGridId:
        value = static_cast<uint32_t>(launch.id);
        break;
      case SpecialRegister::kLaneMaskEq:
        value = bit;
        break;
      case SpecialRegister::kLaneMaskLe:
        value = bit | (bit - 1);
        break;
      case SpecialRegister::kLaneMaskLt:
        value = bit - 1;
        break;
      case SpecialRegister::kLaneMaskGe:
        value = ~(bit - 1);
        break;
      case SpecialRegister::kLaneMaskGt:
        value = ~(bit | (bit - 1));
        break;
      case SpecialRegister::kDynamicSharedBytes:
        value = static_cast<uint32_t>(launch.dynamic_shared_bytes);
        break;
      case SpecialRegister::kTotalSharedBytes:
        value = static_cast<uint32_t>(launch.dynamic_shared_bytes + launch.kernel->shared_bytes);
        break;
      case SpecialRegister::kZero:
        value = 0;
        break;
      case SpecialRegister::kOne:
        value = 1;
        break;
    }
    to[l] = value;
  }
}

// Runs until the warp waits, is done, or has executed `budget` instructions; returns how many it has.
int64_t RunWarp(Warp& w, int64_t budget) {
  int64_t executed = 0;
  while (w.state == Warp::kRunning && executed < budget) {
    const Instruction& i = *w.pc++;
    uint32_t mask = w.active;
    ++executed;
    if (i.guard >= 0) {
      if (!CheckDefined(w, i, i.guard, mask, "depends on a predicate that was not written")) break;
      const uint32_t guard = *At<uint32_t>(w, i.guard);
      mask &= i.guard_negated ? ~guard : guard;
      if (mask == 0) continue;
    }
    i.run(w, i, mask);
  }
  return executed;
}

void StartBlock(Launch* launch, uint64_t linear, Block* block) {
  const int64_t threads = static_cast<int64_t>(launch->block[0]) * launch->block[1] * launch->block[2];
  const size_t warps = static_cast<size_t>((threads + kLanes - 1) / kLanes);
  const size_t shared = static_cast<size_t>(launch->kernel->shared_bytes + launch->dynamic_shared_bytes);
  block->launch = launch;
  block->linear = linear;
  block->threads = threads;
  block->index[0] = static_cast<uint32_t>(linear % launch->grid[0]);
  block->index[1] = static_cast<uint32_t>(linear / launch->grid[0] % launch->grid[1]);
  block->index[2] = static_cast<uint32_t>(linear / launch->grid[0] / launch->grid[1]);
  block->shared.assign(shared, 0xD5);
  block->shared_defined.assign(shared, 0);
  block->arrived.fill(0);
  block->races.Reset(static_cast<int>(warps), launch->options.check_races ? static_cast<int64_t>(shared) : 0,
                     launch->kernel->granule);
  block->warps.resize(warps);
  const Code& entry = *launch->kernel->code[0];
  for (size_t n = 0; n < warps; ++n) {
    Warp& w = block->warps[n];
    const int64_t lanes = std::min<int64_t>(kLanes, threads - static_cast<int64_t>(n) * kLanes);
    w.block = block;
    w.launch = launch;
    w.index = static_cast<int>(n);
    w.all = w.live = w.active = lanes == kLanes ? kAllLanes : (uint32_t{1} << lanes) - 1;
    w.reconvergence = -1;
    w.stack.clear();
    w.calls.clear();
    w.copies.assign(1, {});
    w.local_base = 0;
    w.local_top = entry.local_bytes;
    w.state = Warp::kRunning;
    w.EnterFrame(entry);
    w.pc = entry.instructions.data();
  }
}

// Lets the warps at a barrier go on if all that it waits for are there.
bool ReleaseBarriers(Block* block) {
  bool released = false;
  for (Warp& first : block->warps) {
    if (first.state != Warp::kAtBarrier) continue;
    uint32_t participants = block->arrived[static_cast<size_t>(first.barrier)];
    int64_t threads = 0;
    for (Warp& w : block->warps) {
      if (w.state == Warp::kAtBarrier && w.barrier == first.barrier) participants |= uint32_t{1} << w.index;
    }
    for (Warp& w : block->warps) {
      if (participants >> w.index & 1) threads += first.barrier_threads ? kLanes : __builtin_popcount(w.all);
    }
    if (threads < (first.barrier_threads ? first.barrier_threads : block->threads)) continue;
    uint32_t all = kAllLanes, any = 0, count = 0;
    for (Warp& w : block->warps) {
      if (w.state != Warp::kAtBarrier || w.barrier != first.barrier) continue;
      const uint32_t input = w.reduction_input & w.all;
      all = input == w.all ? all : 0;
      any |= input;
      count += static_cast<uint32_t>(__builtin_popcount(input));
    }
    block->races.clocks().Join(participants);
    block->arrived[static_cast<size_t>(first.barrier)] = 0;
    const int barrier = first.barrier;
    for (Warp& w : block->warps) {
      if (w.state != Warp::kAtBarrier || w.barrier != barrier) continue;
      w.state = Warp::kRunning;
      if (w.reduction == 3) {
        uint32_t values[kLanes];
        std::fill_n(values, kLanes, count);
        Write<uint32_t>(w, w.waiting_at->d, values, w.active);
      } else if (w.reduction != 0) {
        WritePredicate(w, w.waiting_at->d, w.reduction == 1 ? all : any ? kAllLanes : 0, w.active);
      }
      if (w.reduction != 0) Define(w, w.waiting_at->d, w.active, kAllLanes);
    }
    released = true;
  }
  return released;
}

// Runs the block for a turn. Returns whether it is done; the launch's fault says if it is over.
bool RunBlock(Block* block) {
  Launch* launch = block->launch;
  int64_t turn = 0;
  while (turn < kBlockTurn) {
    bool running = false, waiting = false;
    for (size_t n = 0; n < block->warps.size(); ++n) {
      Warp& w = block->warps[launch->options.reversed ? block->warps.size() - 1 - n : n];
      if (w.state == Warp::kRunning) {
        const int64_t executed = RunWarp(w, kWarpTurn);
        turn += executed;
        launch->executed += executed;
      }
      if (launch->fault.kind != Fault::kNone) return true;
      running |= w.state == Warp::kRunning;
      waiting |= w.state == Warp::kAtBarrier;
    }
    if (launch->executed > launch->options.max_instructions) {
      launch->fault = {Fault::kTimeout,
                       absl::StrCat("kernel ", launch->kernel->name, ", block ", block->linear,
                                    ": does not end within ", launch->options.max_instructions, " instructions")};
      return true;
    }
    if (waiting && ReleaseBarriers(block)) continue;
    if (running) continue;
    if (!waiting) return true;
    for (Warp& w : block->warps) {
      if (w.state != Warp::kAtBarrier) continue;
      w.Raise(*w.waiting_at, Fault::kDeadlock, -1,
              absl::StrCat("waits at barrier ", w.barrier,
                           " for threads that do not come: other warps have exited or "
                           "wait elsewhere"));
      return true;
    }
  }
  return false;
}

}  // namespace

void Warp::Raise(const Instruction& i, Fault::Kind kind, int lane, const std::string& what) {
  state = kFaulted;
  if (launch->fault.kind != Fault::kNone) return;
  launch->fault.kind = kind;
  std::string& text = launch->fault.text;
  text = absl::StrCat("kernel ", launch->kernel->name, ", PTX line ", i.line);
  const ptrdiff_t at = &i - code->instructions.data();
  if (at >= 0 && at < static_cast<ptrdiff_t>(code->texts.size())) {
    absl::StrAppend(&text, " (", code->texts[static_cast<size_t>(at)], ")");
  }
  absl::StrAppend(&text, ", block ", block->index[0], ",", block->index[1], ",", block->index[2]);
  if (lane >= 0) {
    const uint32_t thread = static_cast<uint32_t>(index * kLanes + lane);
    absl::StrAppend(&text, ", thread ", thread % launch->block[0], ",", thread / launch->block[0] % launch->block[1],
                    ",", thread / launch->block[0] / launch->block[1]);
  } else {
    absl::StrAppend(&text, ", warp ", index);
  }
  absl::StrAppend(&text, ": ", what);
}

void Warp::EnterFrame(const Code& entered) {
  const size_t depth = calls.size();
  if (frames.size() <= depth) frames.resize(depth + 1);
  Frame& f = frames[depth];
  const size_t slots = static_cast<size_t>(entered.frame_bytes) / 64;
  const size_t bytes = static_cast<size_t>(entered.frame_bytes) + slots * sizeof(uint32_t) + 64;
  if (f.bytes < bytes) {
    f.memory = std::make_unique<uint8_t[]>(bytes);
    f.bytes = bytes;
    f.prepared = nullptr;
  }
  const uintptr_t start = reinterpret_cast<uintptr_t>(f.memory.get());
  frame = f.memory.get() + (64 - start % 64) % 64;
  defined = reinterpret_cast<uint32_t*>(frame + entered.frame_bytes);
  code = &entered;
  std::memset(defined, 0, slots * sizeof(uint32_t));
  if (f.prepared != &entered) {
    SpreadConstants(entered, frame);
    f.prepared = &entered;
  }
  for (const Code::Constant& c : entered.constants) Defined(*this, c.slot) = kAllLanes;
  for (const Code::LocalAddress& local : entered.local_addresses) {
    const uint64_t address = static_cast<uint64_t>(kLocalBase + local_base + local.offset);
    if (local.bytes == 4) {
      Spread<uint32_t>(frame + local.slot, address);
    } else {
      Spread<uint64_t>(frame + local.slot, address);
    }
    Defined(*this, local.slot) = kAllLanes;
  }
  for (const auto& [special, slot] : entered.specials) {
    FillSpecial(*this, special, At<uint32_t>(*this, slot));
    Defined(*this, slot) = kAllLanes;
  }
  if (local_top > local_size) {
    // Lanes stand one after the other, so that a larger size moves them.
    const int64_t size = std::max<int64_t>(local_top, 2 * local_size);
    std::vector<uint8_t> moved(static_cast<size_t>(size) * kLanes, 0xD5);
    for (int l = 0; l < kLanes && local_size > 0; ++l) {
      std::memcpy(moved.data() + l * size, local.data() + l * local_size, static_cast<size_t>(local_size));
    }
    local.swap(moved);
    local_size = size;
  }
}

void Run(Launch* launch) {
  const Kernel& kernel = *launch->kernel;
  launch->last_range.assign(static_cast<size_t>(kernel.num_ranges), AddressRange());
  GlobalRaces races;
  if (launch->options.check_races) {
    races.Reset(kernel.granule);
    launch->races = &races;
  }
  const uint64_t total = uint64_t{launch->grid[0]} * launch->grid[1] * launch->grid[2];
  std::vector<std::unique_ptr<Block>> resident, idle;
  uint64_t next = 0;
  while (launch->fault.kind == Fault::kNone && (next < total || !resident.empty())) {
    if (next < total && resident.size() < kMostResident) {
      if (idle.empty()) idle.push_back(std::make_unique<Block>());
      resident.push_back(std::move(idle.back()));
      idle.pop_back();
      StartBlock(launch, launch->options.reversed ? total - 1 - next : next, resident.back().get());
      ++next;
    }
    for (size_t n = 0; n < resident.size() && launch->fault.kind == Fault::kNone;) {
      if (RunBlock(resident[n].get())) {
        idle.push_back(std::move(resident[n]));
        resident.erase(resident.begin() + static_cast<ptrdiff_t>(n));
      } else {
        ++n;
      }
    }
  }
  launch->races = nullptr;
}

}  // namespace xc::emulator
