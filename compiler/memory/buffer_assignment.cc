// Values that share a buffer, and the packing of the rest into the arena.
#include "compiler/memory/buffer_assignment.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/memory/copy_insertion.h"
#include "compiler/memory/in_place.h"
#include "compiler/memory/live_values.h"
#include "compiler/memory/packing.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Values that share one buffer.
struct Group {
  std::vector<int> values;  // by start; no two are live at once
  int64_t size = 0;
  BufferSlice pin;         // kOutput, kParameter or kConstant: lives there
  bool read_only = false;  // constants, parameters that nothing may write
};

}  // namespace

class BufferAssigner {
 public:
  BufferAssigner(HloModule* module, const BufferOptions& options) : module_(module), options_(options) {}

  absl::StatusOr<BufferAssignment> Run() {
    const LoopInvariants invariants(module_);
    XC_ASSIGN_OR_RETURN(const std::vector<ParameterLeafRef> aliased, AliasedOutputs(module_));
    const std::vector<HloInstruction*> copies = InsertCopies(module_, invariants);
    XC_ASSIGN_OR_RETURN(live_, FindLiveValues(module_, options_, invariants, aliased));
    for (const LiveValue& value : live_.values) {
      const int number = static_cast<int>(groups_.size());
      groups_.push_back({{number}, value.size, value.place, value.read_only});
      group_of_.push_back(number);
    }
    for (const auto& [a, b] : live_.must_share) {
      if (!TryShare(a, b)) {
        return absl::InternalError(absl::StrCat("buffer assignment: ", live_.values[a].Name(), " and ",
                                                live_.values[b].Name(),
                                                " must share a buffer but are live at the same time"));
      }
    }
    for (const auto& [output, value] : live_.computed_outputs) {
      if (!Pin(value, output)) {
        return absl::InternalError(absl::StrCat("buffer assignment: output ", output, " cannot have its own buffer"));
      }
    }
    ShareCopies(copies);
    ShareInPlace();
    result_.parameters_ = std::move(live_.parameters);
    result_.outputs_ = std::move(live_.outputs);
    result_.constants_ = std::move(live_.constants);
    Pack();
    Fill();
    return std::move(result_);
  }

 private:
  // Whether `dying` may be overwritten by `defined`, computed by the very instruction that reads it last.
  bool InPlace(const LiveValue& dying, int dying_id, const LiveValue& defined) const {
    if (!defined.computed || dying.end != defined.start) return false;
    const HloInstruction* instruction = defined.instruction;
    bool reads = false;
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      const LiveValues::Leafs& operand = live_.leafs.at(instruction->operand(i));
      if (std::find(operand.begin(), operand.end(), dying_id) == operand.end()) continue;
      if (operand.size() != 1 || !MayOverwrite(instruction, i, defined.leaf)) return false;
      reads = true;
    }
    return reads;
  }

  bool Interfere(int a, int b) const {
    const LiveValue &x = live_.values[a], &y = live_.values[b];
    if (x.start > y.end || y.start > x.end) return false;
    if (x.end == y.start && x.start < y.start && InPlace(x, a, y)) return false;
    if (y.end == x.start && y.start < x.start && InPlace(y, b, x)) return false;
    return true;
  }

  bool GroupsInterfere(const Group& a, const Group& b) const {
    const Group& small = a.values.size() <= b.values.size() ? a : b;
    const Group& large = &small == &a ? b : a;
    for (int v : small.values) {
      const LiveValue& value = live_.values[v];
      // Ends ascend with starts within a group, so those that may touch `value` are one run.
      auto it = std::upper_bound(large.values.begin(), large.values.end(), value.end,
                                 [&](int64_t end, int other) { return end < live_.values[other].start; });
      while (it != large.values.begin()) {
        --it;
        if (live_.values[*it].end < value.start) break;
        if (Interfere(*it, v)) return true;
      }
    }
    return false;
  }

  bool TryShare(int a, int b) {
    const int ga = group_of_[a], gb = group_of_[b];
    if (ga == gb) return true;
    const Group &x = groups_[ga], &y = groups_[gb];
    if (x.read_only || y.read_only || x.size != y.size) return false;
    if (x.pin.kind != BufferSlice::Kind::kNone && y.pin.kind != BufferSlice::Kind::kNone) return false;
    if (GroupsInterfere(x, y)) return false;
    const int into = x.values.size() >= y.values.size() ? ga : gb;
    const int from = into == ga ? gb : ga;
    Group &target = groups_[into], &source = groups_[from];
    if (target.pin.kind == BufferSlice::Kind::kNone) target.pin = source.pin;
    for (int v : source.values) group_of_[v] = into;
    const auto by_start = [&](int p, int q) { return live_.values[p].start < live_.values[q].start; };
    if (source.values.size() * 8 < target.values.size()) {
      for (int v : source.values) {
        target.values.insert(std::upper_bound(target.values.begin(), target.values.end(), v, by_start), v);
      }
    } else {
      const size_t middle = target.values.size();
      target.values.insert(target.values.end(), source.values.begin(), source.values.end());
      std::inplace_merge(target.values.begin(), target.values.begin() + middle, target.values.end(), by_start);
    }
    source.values.clear();
    return true;
  }

  bool Pin(int value, int64_t output) {
    Group& group = groups_[group_of_[value]];
    if (group.read_only || group.pin.kind != BufferSlice::Kind::kNone) return false;
    group.pin = {BufferSlice::Kind::kOutput, output, 0, group.size};
    return true;
  }

  // Removes the copies whose source and result can be one buffer.
  void ShareCopies(const std::vector<HloInstruction*>& copies) {
    absl::flat_hash_set<const HloInstruction*> removed;
    for (HloInstruction* copy : copies) {
      HloInstruction* source = copy->operand(0);
      const int from = live_.leafs.at(source)[0], to = live_.leafs.at(copy)[0];
      if (from < 0 || to < 0 || !TryShare(from, to)) continue;
      removed.insert(copy);
    }
    // A removed copy's value stays in its group: the group's life is the same with and without it.
    for (HloInstruction* copy : copies) {
      if (removed.contains(copy)) copy->ReplaceAllUsesWith(copy->operand(0));
    }
    absl::flat_hash_set<const HloComputation*> touched;
    for (const HloInstruction* copy : removed) touched.insert(copy->parent());
    for (const HloComputation* computation : touched) {
      std::erase_if(module_->schedule()[computation], [&](const HloInstruction* i) { return removed.contains(i); });
    }
    std::erase_if(live_.computed, [&](const HloInstruction* i) { return removed.contains(i); });
    for (HloInstruction* copy : copies) {
      if (!removed.contains(copy)) continue;
      // In-place checks look at defining instructions; this one is gone.
      live_.values[live_.leafs.at(copy)[0]].computed = false;
      live_.leafs.erase(copy);
      gone_.insert(copy);
      HloComputation* parent = copy->parent();
      parent->Remove(copy);
    }
  }

  void ShareInPlace() {
    for (const HloInstruction* instruction : live_.computed) {
      const LiveValues::Leafs& defined = live_.leafs.at(instruction);
      for (size_t leaf = 0; leaf < defined.size(); ++leaf) {
        if (defined[leaf] < 0) continue;
        for (int64_t i = 0; i < instruction->operand_count(); ++i) {
          const LiveValues::Leafs& operand = live_.leafs.at(instruction->operand(i));
          if (operand.size() != 1 || operand[0] < 0 ||
              live_.values[operand[0]].end != live_.values[defined[leaf]].start)
            continue;
          if (!MayOverwrite(instruction, i, leaf)) continue;
          if (TryShare(operand[0], defined[leaf])) break;
        }
      }
    }
  }

  std::vector<LiveRange> Ranges(const Group& group) const {
    std::vector<LiveRange> ranges;
    for (int v : group.values) {
      const LiveValue& value = live_.values[v];
      if (!ranges.empty() && value.start <= ranges.back().end + 1) {
        ranges.back().end = std::max(ranges.back().end, value.end);
      } else {
        ranges.push_back({value.start, value.end});
      }
    }
    return ranges;
  }

  void Pack() {
    std::vector<PackRegion> regions(result_.outputs_.size());
    std::vector<PackedBlock> blocks;
    std::vector<int> group_of_block;
    for (size_t o = 0; o < regions.size(); ++o) {
      const int value = live_.root[o];
      if (value < 0) continue;
      result_.outputs_[o].slice = groups_[group_of_[value]].pin;
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      if (group.values.empty()) continue;
      if (group.pin.kind == BufferSlice::Kind::kOutput) {
        // Temporaries may use an output's buffer while the output itself is not there yet.
        regions[group.pin.index] = {group.size, Ranges(group)};
      } else if (group.pin.kind == BufferSlice::Kind::kNone && group.size > 0) {
        PackedBlock block;
        block.size = group.size;
        block.ranges = Ranges(group);
        blocks.push_back(std::move(block));
        group_of_block.push_back(g);
      }
    }
    const size_t scratch_begin = blocks.size();
    for (const LiveValues::Scratch& scratch : live_.scratch) {
      PackedBlock block;
      block.size = scratch.bytes;
      block.ranges = {{scratch.time, scratch.time + 1}};
      blocks.push_back(std::move(block));
    }
    result_.arena_bytes_ = ForAllSizes() ? PackBlocksForAllSizes(regions, &blocks, kSliceAlignment)
                                         : PackBlocks(regions, &blocks, kSliceAlignment);
    result_.lower_bound_ = PackingLowerBound(blocks);
    const auto slice_of = [](const PackedBlock& block, int64_t size) {
      return block.region < 0 ? BufferSlice{BufferSlice::Kind::kArena, 0, block.offset, size}
                              : BufferSlice{BufferSlice::Kind::kOutput, block.region, block.offset, size};
    };
    for (size_t b = 0; b < scratch_begin; ++b) {
      Group& group = groups_[group_of_block[b]];
      group.pin = slice_of(blocks[b], group.size);
    }
    for (size_t s = 0; s < live_.scratch.size(); ++s) {
      result_.scratch_[live_.scratch[s].instruction] = slice_of(blocks[scratch_begin + s], live_.scratch[s].bytes);
    }
  }

  void Fill() {
    for (const auto& [instruction, values] : live_.leafs) {
      std::vector<BufferSlice>& slices = result_.slices_[instruction];
      for (int value : values) {
        slices.push_back(value < 0 ? BufferSlice{} : groups_[group_of_[value]].pin);
      }
    }
    for (const Group& group : groups_) {
      if (group.values.empty() || group.size == 0) continue;
      BufferAssignment::ReportLine line{group.pin, {}};
      for (int v : group.values) {
        if (!gone_.contains(live_.values[v].instruction)) line.values.push_back(live_.values[v].Name());
      }
      result_.report_.push_back(std::move(line));
    }
    for (const auto& [instruction, slice] : result_.scratch_) {
      result_.report_.push_back({slice, {absl::StrCat("scratch of ", instruction->name())}});
    }
    std::sort(result_.report_.begin(), result_.report_.end(), [](const auto& a, const auto& b) {
      if (a.slice.kind != b.slice.kind) return a.slice.kind < b.slice.kind;
      if (a.slice.size != b.slice.size) return a.slice.size > b.slice.size;
      if (a.slice.index != b.slice.index) return a.slice.index < b.slice.index;
      if (a.slice.offset != b.slice.offset) return a.slice.offset < b.slice.offset;
      return a.values < b.values;
    });
  }

  HloModule* module_;
  const BufferOptions& options_;
  LiveValues live_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;  // of each value
  absl::flat_hash_set<const HloInstruction*> gone_;
  BufferAssignment result_;
};

absl::StatusOr<BufferAssignment> AssignBuffers(HloModule* module, const BufferOptions& options) {
  return BufferAssigner(module, options).Run();
}

std::string BufferSlice::ToString() const {
  switch (kind) {
    case Kind::kNone:
      return "none";
    case Kind::kArena:
      return absl::StrCat("arena+", offset, "[", size, "]");
    case Kind::kParameter:
      return absl::StrCat("parameter ", index, "[", size, "]");
    case Kind::kOutput:
      return offset == 0 ? absl::StrCat("output ", index, "[", size, "]")
                         : absl::StrCat("output ", index, "+", offset, "[", size, "]");
    case Kind::kConstant:
      return absl::StrCat("constant ", index, "[", size, "]");
  }
  return "none";
}

const BufferSlice& BufferAssignment::Slice(const HloInstruction* instruction, int64_t leaf) const {
  auto it = slices_.find(instruction);
  XC_CHECK(it != slices_.end()) << instruction->name() << " has no buffers";
  XC_CHECK(leaf < static_cast<int64_t>(it->second.size())) << instruction->name() << " has no leaf " << leaf;
  return it->second[leaf];
}

const BufferSlice& BufferAssignment::SliceAt(const HloInstruction* instruction, const ShapeIndex& index) const {
  int64_t leaf = 0;
  const Shape* shape = &instruction->shape();
  for (int64_t i : index) {
    leaf += FirstLeafOf(*shape, i);
    shape = &shape->tuple_shape(i);
  }
  return Slice(instruction, leaf);
}

const BufferSlice& BufferAssignment::Scratch(const HloInstruction* instruction) const {
  static const BufferSlice* const kNothing = new BufferSlice();
  auto it = scratch_.find(instruction);
  return it == scratch_.end() ? *kNothing : it->second;
}

std::string BufferAssignment::Report() const {
  int64_t constant_bytes = 0;
  for (const auto& literal : constants_) constant_bytes += literal->byte_size();
  std::string text = absl::StrCat("arena ", arena_bytes_, " bytes, lower bound ", lower_bound_, ", constants ",
                                  constant_bytes, " bytes in ", constants_.size(), "\n");
  for (const ReportLine& line : report_) {
    absl::StrAppend(&text, line.slice.ToString(), ": ", absl::StrJoin(line.values, ", "), "\n");
  }
  return text;
}

}  // namespace xc
