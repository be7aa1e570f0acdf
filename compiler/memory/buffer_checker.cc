// CheckBufferAssignment: plays the program's reads and writes on symbolic values in symbolic memory.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/memory/buffer_assignment.h"
#include "compiler/memory/copy_insertion.h"
#include "compiler/memory/in_place.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// One buffer's contents: which value's bytes lie from where to where. Writing cuts what was there.
class Memory {
 public:
  void Write(int64_t offset, int64_t size, int64_t value) {
    if (size == 0) return;
    Cut(offset);
    Cut(offset + size);
    spans_.erase(spans_.lower_bound(offset), spans_.lower_bound(offset + size));
    spans_[offset] = {offset + size, value, offset};
  }
  bool Holds(int64_t offset, int64_t size, int64_t value) const {
    if (size == 0) return true;
    auto it = spans_.find(offset);
    return it != spans_.end() && it->second.value == value && it->second.origin == offset &&
           it->second.end == offset + size;
  }

 private:
  struct Span {
    int64_t end, value, origin;  // `origin`: where the value's first byte was written
  };
  void Cut(int64_t at) {
    auto it = spans_.lower_bound(at);
    if (it == spans_.begin()) return;
    --it;
    if (it->second.end <= at) return;
    const Span rest = it->second;
    it->second.end = at;
    spans_[at] = rest;
  }
  std::map<int64_t, Span> spans_;
};

class Checker {
 public:
  Checker(const HloModule* module, const BufferAssignment& assignment) : module_(module), assignment_(assignment) {}

  absl::Status Run() {
    const HloComputation* entry = module_->entry();
    std::vector<Values> parameters;
    size_t ordinal = 0;
    for (const HloInstruction* parameter : entry->parameters()) {
      Values values;
      for (const auto& [index, shape] : Leaves(parameter->shape())) {
        const BufferSlice& slice = assignment_.Slice(parameter, values.size());
        if (shape->IsArray()) {
          if (slice.kind != BufferSlice::Kind::kParameter || slice.index != static_cast<int64_t>(ordinal)) {
            return absl::InternalError(absl::StrCat(parameter->name(), " is not in its own buffer"));
          }
          Write(slice, ++next_value_);
        }
        values.push_back(next_value_);
        ++ordinal;
      }
      parameters.push_back(std::move(values));
    }
    XC_ASSIGN_OR_RETURN(const Values root, Walk(entry, parameters));
    XC_RETURN_IF_ERROR(Read(entry->root(), entry->root(), root));
    const auto leaves = Leaves(entry->root()->shape());
    for (size_t k = 0; k < leaves.size(); ++k) {
      if (!leaves[k].second->IsArray()) continue;
      const BufferSlice& slice = assignment_.OutputSlice(k);
      const bool own = slice.kind == BufferSlice::Kind::kOutput && slice.index == static_cast<int64_t>(k);
      const bool donated = slice.kind == BufferSlice::Kind::kParameter && assignment_.parameters()[slice.index].donated;
      if ((!own && !donated) || slice != assignment_.Slice(entry->root(), k)) {
        return absl::InternalError(absl::StrCat("output ", k, " is in ", slice.ToString()));
      }
    }
    return absl::OkStatus();
  }

 private:
  using Values = std::vector<int64_t>;

  Memory& Of(const BufferSlice& slice) { return memory_[{slice.kind, slice.index}]; }
  void Write(const BufferSlice& slice, int64_t value) { Of(slice).Write(slice.offset, slice.size, value); }

  // Every leaf of `source` must hold its value when `reader` runs.
  absl::Status Read(const HloInstruction* reader, const HloInstruction* source, const Values& values) {
    const auto leaves = Leaves(source->shape());
    for (size_t k = 0; k < leaves.size(); ++k) {
      if (!leaves[k].second->IsArray()) continue;
      const BufferSlice& slice = assignment_.Slice(source, k);
      if (slice.size != leaves[k].second->ByteSize()) {
        return absl::InternalError(
            absl::StrCat(source->name(), " leaf ", k, " has a slice of the wrong size: ", slice.ToString()));
      }
      if (!Of(slice).Holds(slice.offset, slice.size, values[k])) {
        return absl::InternalError(absl::StrCat(reader->name(), " would read ", source->name(), " leaf ", k, " at ",
                                                slice.ToString(), " after it was overwritten"));
      }
    }
    return absl::OkStatus();
  }

  static bool Overlap(const BufferSlice& a, const BufferSlice& b) {
    return a.kind == b.kind && a.index == b.index && a.size > 0 && b.size > 0 && a.offset < b.offset + b.size &&
           b.offset < a.offset + a.size;
  }

  absl::Status Define(const HloInstruction* instruction, Values* out) {
    const auto leaves = Leaves(instruction->shape());
    std::vector<BufferSlice> written;
    for (size_t k = 0; k < leaves.size(); ++k) {
      if (!leaves[k].second->IsArray()) {
        out->push_back(0);
        continue;
      }
      const BufferSlice& slice = assignment_.Slice(instruction, k);
      const std::string what = absl::StrCat(instruction->name(), " leaf ", k, " at ", slice.ToString());
      if (slice.kind == BufferSlice::Kind::kNone || slice.kind == BufferSlice::Kind::kConstant ||
          (slice.kind == BufferSlice::Kind::kParameter && !assignment_.parameters()[slice.index].donated)) {
        return absl::InternalError(absl::StrCat(what, " cannot be written there"));
      }
      if (slice.size != leaves[k].second->ByteSize()) return absl::InternalError(absl::StrCat(what, ": wrong size"));
      if (slice.kind == BufferSlice::Kind::kArena && slice.offset + slice.size > assignment_.arena_bytes()) {
        return absl::InternalError(absl::StrCat(what, " is outside the arena"));
      }
      if (slice.kind == BufferSlice::Kind::kOutput &&
          slice.offset + slice.size > assignment_.outputs()[slice.index].size) {
        return absl::InternalError(absl::StrCat(what, " is outside the output"));
      }
      if (slice.kind != BufferSlice::Kind::kParameter && slice.size > 0 &&
          slice.offset % std::min<int64_t>(kSliceAlignment, std::bit_ceil(uint64_t(slice.size))) != 0) {
        return absl::InternalError(absl::StrCat(what, " is not aligned"));
      }
      for (int64_t i = 0; i < instruction->operand_count(); ++i) {
        const HloInstruction* operand = instruction->operand(i);
        for (int64_t l = 0; l < operand->shape().LeafCount(); ++l) {
          const BufferSlice& read = assignment_.Slice(operand, l);
          if (!Overlap(slice, read)) continue;
          if (slice == read && operand->shape().IsArray() && MayOverwrite(instruction, i, k)) continue;
          return absl::InternalError(absl::StrCat(what, " overlaps its operand ", operand->name()));
        }
      }
      for (const BufferSlice& other : written) {
        if (Overlap(slice, other)) return absl::InternalError(absl::StrCat(what, " overlaps another result"));
      }
      const BufferSlice& scratch = assignment_.Scratch(instruction);
      if (Overlap(slice, scratch)) return absl::InternalError(absl::StrCat(what, " overlaps its scratch"));
      written.push_back(slice);
    }
    if (const BufferSlice& scratch = assignment_.Scratch(instruction); scratch.size > 0) {
      for (const HloInstruction* operand : instruction->operands()) {
        for (int64_t l = 0; l < operand->shape().LeafCount(); ++l) {
          if (Overlap(scratch, assignment_.Slice(operand, l))) {
            return absl::InternalError(absl::StrCat("scratch of ", instruction->name(), " overlaps an operand"));
          }
        }
      }
      Write(scratch, ++next_value_);
    }
    for (const BufferSlice& slice : written) Write(slice, ++next_value_);
    int64_t value = next_value_ - static_cast<int64_t>(written.size());
    out->clear();
    for (const auto& [index, shape] : leaves) out->push_back(shape->IsArray() ? ++value : 0);
    return absl::OkStatus();
  }

  absl::Status SameSlices(const HloInstruction* a, const HloInstruction* b) {
    for (int64_t k = 0; k < a->shape().LeafCount(); ++k) {
      if (assignment_.Slice(a, k) != assignment_.Slice(b, k)) {
        return absl::InternalError(absl::StrCat(a->name(), " leaf ", k, " is at ", assignment_.Slice(a, k).ToString(),
                                                " but ", b->name(), " at ", assignment_.Slice(b, k).ToString()));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Values> Walk(const HloComputation* computation, const std::vector<Values>& parameters) {
    absl::flat_hash_map<const HloInstruction*, Values> values;
    for (const HloInstruction* instruction : module_->schedule().at(computation)) {
      Values& out = values[instruction];
      switch (instruction->opcode()) {
        case HloOpcode::kParameter:
          out = parameters[instruction->parameter_number()];
          break;
        case HloOpcode::kConstant:
          for (int64_t k = 0; k < instruction->shape().LeafCount(); ++k) {
            const BufferSlice& slice = assignment_.Slice(instruction, k);
            // Equal constants share a place, and so a value.
            out.push_back(-1 - slice.index);
            if (slice.kind == BufferSlice::Kind::kConstant) Write(slice, out.back());
          }
          break;
        case HloOpcode::kTuple:
          for (const HloInstruction* operand : instruction->operands()) {
            const Values& part = values.at(operand);
            out.insert(out.end(), part.begin(), part.end());
          }
          break;
        case HloOpcode::kGetTupleElement: {
          const Values& all = values.at(instruction->operand(0));
          const int64_t first = FirstLeafOf(instruction->operand(0)->shape(), instruction->tuple_index());
          out.assign(all.begin() + first, all.begin() + first + instruction->shape().LeafCount());
          break;
        }
        case HloOpcode::kWhile: {
          Values state = values.at(instruction->operand(0));
          XC_RETURN_IF_ERROR(SameSlices(instruction, instruction->operand(0)));
          XC_RETURN_IF_ERROR(SameSlices(instruction, instruction->while_body()->root()));
          XC_RETURN_IF_ERROR(SameSlices(instruction, instruction->while_body()->parameter(0)));
          XC_RETURN_IF_ERROR(SameSlices(instruction, instruction->while_condition()->parameter(0)));
          for (int round = 0; round <= 2; ++round) {
            XC_RETURN_IF_ERROR(Read(instruction, instruction, state));
            XC_ASSIGN_OR_RETURN(const Values again, Walk(instruction->while_condition(), {state}));
            XC_RETURN_IF_ERROR(Read(instruction, instruction->while_condition()->root(), again));
            if (round == 2) break;
            XC_ASSIGN_OR_RETURN(state, Walk(instruction->while_body(), {state}));
          }
          XC_RETURN_IF_ERROR(Read(instruction, instruction, state));
          values[instruction] = std::move(state);
          break;
        }
        case HloOpcode::kConditional: {
          XC_RETURN_IF_ERROR(Read(instruction, instruction->operand(0), values.at(instruction->operand(0))));
          // Each branch starts from the same memory. What follows is checked after the last one; after the others, that
          // what was live before and is read later survived shows in runs that take them last.
          const auto before = memory_;
          const size_t count = instruction->called_computations().size();
          const size_t last = chosen_branch_ % count;
          for (size_t step = 0; step < count; ++step) {
            const size_t b = (last + 1 + step) % count;
            memory_ = before;
            const HloComputation* branch = instruction->called(b);
            XC_ASSIGN_OR_RETURN(Values result, Walk(branch, {values.at(instruction->operand(b + 1))}));
            XC_RETURN_IF_ERROR(SameSlices(instruction, branch->root()));
            XC_RETURN_IF_ERROR(Read(instruction, branch->root(), result));
            values[instruction] = std::move(result);
          }
          break;
        }
        case HloOpcode::kCall: {
          std::vector<Values> arguments;
          for (const HloInstruction* operand : instruction->operands()) arguments.push_back(values.at(operand));
          XC_ASSIGN_OR_RETURN(Values result, Walk(instruction->to_apply(), arguments));
          XC_RETURN_IF_ERROR(SameSlices(instruction, instruction->to_apply()->root()));
          values[instruction] = std::move(result);
          break;
        }
        default:
          if (IsForwarding(instruction)) {
            out = instruction->operand_count() > 0 && instruction->opcode() != HloOpcode::kAfterAll
                      ? values.at(instruction->operand(0))
                      : Values{0};
            break;
          }
          for (const HloInstruction* operand : instruction->operands()) {
            XC_RETURN_IF_ERROR(Read(instruction, operand, values.at(operand)));
          }
          XC_RETURN_IF_ERROR(Define(instruction, &out));
      }
    }
    return values.at(computation->root());
  }

 public:
  void set_chosen_branch(size_t branch) { chosen_branch_ = branch; }

 private:
  const HloModule* module_;
  const BufferAssignment& assignment_;
  std::map<std::pair<BufferSlice::Kind, int64_t>, Memory> memory_;
  int64_t next_value_ = 0;
  size_t chosen_branch_ = 0;
};

}  // namespace

absl::Status CheckBufferAssignment(const HloModule* module, const BufferAssignment& assignment) {
  size_t branches = 1;
  for (const HloComputation* computation : EmittedComputations(module)) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kConditional) {
        branches = std::max(branches, instruction->called_computations().size());
      }
    }
  }
  for (size_t b = 0; b < branches; ++b) {
    Checker checker(module, assignment);
    checker.set_chosen_branch(b);
    XC_RETURN_IF_ERROR(checker.Run());
  }
  return absl::OkStatus();
}

}  // namespace xc
