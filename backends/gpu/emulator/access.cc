#include "backends/gpu/emulator/access.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

std::string Where(uint64_t address, int bytes, Space space) {
  constexpr const char* kNames[] = {"memory",       "global memory",   "shared memory",
                                    "local memory", "constant memory", "parameters"};
  return absl::StrCat(bytes, " bytes at 0x", absl::Hex(address), " of ", kNames[static_cast<int>(space)]);
}

std::string Nearest(const Warp& w, uint64_t address) {
  const AddressRange range = w.launch->memory->FindNearest(address);
  if (range.begin == range.end) return "";
  const bool before = address < range.begin;
  return absl::StrCat(" (", before ? range.begin - address : address - range.end, " bytes ",
                      before ? "before" : "behind", " an allocation of ", range.end - range.begin, " bytes)");
}

// One lane's place, the slow way; null with a fault if there is none.
uint8_t* ResolveLane(Warp& w, const Instruction& i, int lane, uint64_t address, int bytes, Space space) {
  if (space == Space::kGeneric) {
    const uint64_t window = address & (uint64_t{15} << 60);
    if (window == kSharedWindow) {
      space = Space::kShared;
    } else if (window == kLocalWindow) {
      space = Space::kLocal;
    } else if (window == kParamWindow) {
      space = Space::kParam;
    }
    if (space != Space::kGeneric) address -= window;
  }
  const uint64_t end = address + static_cast<uint64_t>(bytes);
  switch (space) {
    case Space::kShared:
      if (address >= kSharedBase && end <= kSharedBase + w.block->shared.size() && end > address) {
        return w.block->shared.data() + (address - kSharedBase);
      }
      w.Raise(i, Fault::kAddress, lane,
              absl::StrCat("access to ", Where(address, bytes, space), ", of which the block has ",
                           w.block->shared.size(), " bytes from 0x", absl::Hex(kSharedBase)));
      return nullptr;
    case Space::kLocal:
      if (address >= kLocalBase && end <= kLocalBase + static_cast<uint64_t>(w.local_top) && end > address) {
        return w.local.data() + w.local_size * lane + static_cast<int64_t>(address - kLocalBase);
      }
      break;
    case Space::kParam:
      if (end <= static_cast<uint64_t>(w.launch->kernel->parameter_bytes) && end > address) {
        return const_cast<uint8_t*>(w.launch->parameters) + address;
      }
      break;
    default: {
      const AddressRange range = w.launch->memory->Find(address);
      if (range.Holds(address, end)) {
        if (i.range >= 0) w.launch->last_range[static_cast<size_t>(i.range)] = range;
        return reinterpret_cast<uint8_t*>(address);
      }
      w.Raise(
          i, Fault::kAddress, lane,
          absl::StrCat("access to ", Where(address, bytes, space), ", which is not allocated", Nearest(w, address)));
      return nullptr;
    }
  }
  w.Raise(i, Fault::kAddress, lane,
          absl::StrCat("access to ", Where(address, bytes, space), ", which is outside of it"));
  return nullptr;
}

}  // namespace

bool Resolve(Warp& w, const Instruction& i, uint32_t mask, int bytes, int alignment, uint8_t** at) {
  if (!CheckDefined(w, i, i.a, mask, "access to an address that was not written")) return false;
  const Space space = static_cast<Space>(i.x);
  alignas(64) uint64_t address[kLanes];
  if (i.z) {
    const uint32_t* base = At<uint32_t>(w, i.a);
    for (int l = 0; l < kLanes; ++l) address[l] = base[l] + static_cast<uint64_t>(i.imm);
  } else {
    const uint64_t* base = At<uint64_t>(w, i.a);
    for (int l = 0; l < kLanes; ++l) address[l] = base[l] + static_cast<uint64_t>(i.imm);
  }
  uint64_t low = ~uint64_t{0}, high = 0, bits = 0;
  for (int l = 0; l < kLanes; ++l) {
    const bool is_active = mask >> l & 1;
    low = is_active && address[l] < low ? address[l] : low;
    high = is_active && address[l] > high ? address[l] : high;
    bits |= is_active ? address[l] : 0;
  }
  if (bits & static_cast<uint64_t>(alignment - 1)) {
    for (int l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1) || !(address[l] & static_cast<uint64_t>(alignment - 1))) continue;
      w.Raise(i, Fault::kMisaligned, l,
              absl::StrCat("access to ", Where(address[l], bytes, space), ", which is no multiple of ", alignment));
      return false;
    }
  }
  // The common cases: all lanes within the allocation that the last execution met, or within shared memory.
  const uint64_t end = high + static_cast<uint64_t>(bytes);
  if (space == Space::kGlobal || space == Space::kConst || space == Space::kGeneric) {
    if (i.range >= 0 && w.launch->last_range[static_cast<size_t>(i.range)].Holds(low, end)) {
      for (int l = 0; l < kLanes; ++l) at[l] = reinterpret_cast<uint8_t*>(address[l]);
      return true;
    }
  } else if (space == Space::kShared && low >= kSharedBase && end <= kSharedBase + w.block->shared.size()) {
    uint8_t* shared = w.block->shared.data() - kSharedBase;
    for (int l = 0; l < kLanes; ++l) at[l] = shared + address[l];
    return true;
  }
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    at[l] = ResolveLane(w, i, l, address[l], bytes, space);
    if (at[l] == nullptr) return false;
  }
  return true;
}

bool IsShared(const Warp& w, const uint8_t* at, int64_t* offset) {
  *offset = at - w.block->shared.data();
  return *offset >= 0 && *offset < static_cast<int64_t>(w.block->shared.size());
}

bool CheckRaces(Warp& w, const Instruction& i, uint32_t mask, int bytes, Access access, uint8_t* const* at,
                const uint8_t* values) {
  if (!w.launch->options.check_races) return true;
  const Space space = static_cast<Space>(i.x);
  if (space == Space::kLocal || space == Space::kParam || space == Space::kConst) return true;
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    const bool same = values != nullptr && std::memcmp(values + l * bytes, at[l], static_cast<size_t>(bytes)) == 0;
    int64_t offset;
    int thread = -1;
    uint64_t block = w.block->linear;
    if (IsShared(w, at[l], &offset)) {
      thread = w.block->races.Note(offset, bytes, access, w.index, l, same);
    } else if (w.launch->races != nullptr && !w.launch->kernel->has_fence &&
               !(at[l] >= w.local.data() && at[l] < w.local.data() + w.local.size())) {
      w.launch->races->Note(reinterpret_cast<uint64_t>(at[l]), bytes, access, w.block->linear, w.block->races.clocks(),
                            w.index, l, same, &block, &thread);
    }
    if (thread < 0) continue;
    w.Raise(i, Fault::kRace, l,
            absl::StrCat("race: ", access == Access::kRead ? "reads" : "writes", " ", bytes, " bytes at 0x",
                         absl::Hex(reinterpret_cast<uint64_t>(at[l])), " that thread ", thread, " of block ", block,
                         " accesses with nothing that orders them"));
    return false;
  }
  return true;
}

uint32_t DefinedLanes(Warp& w, uint32_t mask, int bytes, uint8_t* const* at) {
  if (w.block->shared.empty()) return mask;
  uint32_t defined = mask;
  for (int l = 0; l < kLanes; ++l) {
    int64_t offset;
    if (!(mask >> l & 1) || !IsShared(w, at[l], &offset)) continue;
    const uint8_t* written = w.block->shared_defined.data() + offset;
    for (int n = 0; n < bytes; ++n) {
      if (!written[n]) defined &= ~(uint32_t{1} << l);
    }
  }
  return defined;
}

bool NoteWritten(Warp& w, const Instruction& i, uint32_t mask, int bytes, uint8_t* const* at, uint32_t defined) {
  const Space space = static_cast<Space>(i.x);
  if (space == Space::kLocal) return true;
  if (w.block->shared.empty() || space == Space::kGlobal) {
    if ((mask & ~defined) == 0) return true;
    w.Raise(i, Fault::kUninitialised, FirstLane(mask & ~defined), "stores a value that was not written");
    return false;
  }
  for (int l = 0; l < kLanes; ++l) {
    int64_t offset;
    if (!(mask >> l & 1)) continue;
    const bool is_defined = defined >> l & 1;
    if (IsShared(w, at[l], &offset)) {
      std::memset(w.block->shared_defined.data() + offset, is_defined, static_cast<size_t>(bytes));
    } else if (!is_defined && !(at[l] >= w.local.data() && at[l] < w.local.data() + w.local.size())) {
      w.Raise(i, Fault::kUninitialised, l, "stores a value that was not written");
      return false;
    }
  }
  return true;
}

}  // namespace xc::emulator
