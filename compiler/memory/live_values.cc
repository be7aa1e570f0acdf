#include "compiler/memory/live_values.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "compiler/memory/in_place.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Walks the program in the order of its schedule.
class ProgramWalk {
 public:
  ProgramWalk(const HloModule* module, const BufferOptions& options, const LoopInvariants& invariants,
              const std::vector<ParameterLeafRef>& aliased)
      : module_(module), options_(options), invariants_(invariants), aliased_(aliased) {}

  absl::StatusOr<LiveValues> Run() {
    XC_RETURN_IF_ERROR(WalkEntry());
    JoinViews();
    return std::move(result_);
  }

 private:
  using Leafs = LiveValues::Leafs;

  int NewValue(const HloInstruction* instruction, int64_t leaf, const Shape& shape, bool computed) {
    result_.values.push_back({instruction, leaf, shape.ByteSize(), time_ + 1, time_ + 1, computed, {}, false});
    return static_cast<int>(result_.values.size()) - 1;
  }

  Leafs NewValues(const HloInstruction* instruction, bool computed) {
    Leafs out;
    for (const auto& [index, shape] : Leaves(instruction->shape())) {
      out.push_back(shape->IsArray() ? NewValue(instruction, out.size(), *shape, computed) : -1);
    }
    return out;
  }

  // A loop's state as seen by `instruction`: the init where it never changes, else values that share the init's buffer.
  Leafs NewState(const HloInstruction* instruction, const Leafs& init, const std::vector<bool>& invariant) {
    Leafs out;
    for (const auto& [index, shape] : Leaves(instruction->shape())) {
      const int64_t k = out.size();
      if (init[k] < 0 || invariant[k]) {
        out.push_back(init[k]);
        continue;
      }
      out.push_back(NewValue(instruction, k, *shape, false));
      result_.must_share.push_back({init[k], out.back()});
    }
    return out;
  }

  void Use(int value, int64_t time) {
    if (value >= 0) result_.values[value].end = std::max(result_.values[value].end, time);
  }

  absl::Status WalkEntry() {
    const HloComputation* entry = module_->entry();
    std::vector<Leafs> parameters;
    absl::flat_hash_map<std::pair<int64_t, int64_t>, int64_t> donated;  // parameter leaf -> output
    for (size_t o = 0; o < aliased_.size(); ++o) {
      if (aliased_[o].number >= 0) donated[{aliased_[o].number, aliased_[o].leaf}] = o;
    }
    std::vector<int> own(aliased_.size(), -1);
    for (const HloInstruction* parameter : entry->parameters()) {
      Leafs values;
      for (const auto& [index, shape] : Leaves(parameter->shape())) {
        const int64_t leaf = values.size();
        auto it = donated.find({parameter->parameter_number(), leaf});
        const int64_t size = shape->IsArray() ? shape->ByteSize() : 0;
        const int64_t number = result_.parameters.size();
        result_.parameters.push_back({parameter->parameter_number(), index, size, it != donated.end()});
        if (!shape->IsArray()) {
          values.push_back(-1);
          continue;
        }
        const int value = NewValue(parameter, leaf, *shape, false);
        result_.values[value].place = {BufferSlice::Kind::kParameter, number, 0, size};
        result_.values[value].read_only = it == donated.end();
        if (it != donated.end()) own[it->second] = value;
        values.push_back(value);
      }
      parameters.push_back(std::move(values));
    }
    XC_ASSIGN_OR_RETURN(const Leafs root, Walk(entry, parameters));
    time_ += 2;
    int64_t output = 0;
    for (const auto& [index, shape] : Leaves(entry->root()->shape())) {
      result_.outputs.push_back({index, shape->IsArray() ? shape->ByteSize() : 0, {}});
      Use(root[output], time_);
      if (root[output] >= 0) {
        if (own[output] < 0) {
          result_.computed_outputs.push_back({output, root[output]});
        } else if (own[output] != root[output]) {
          result_.must_share.push_back({own[output], root[output]});
        }
      }
      ++output;
    }
    result_.root = root;
    return absl::OkStatus();
  }

  absl::StatusOr<Leafs> Walk(const HloComputation* computation, const std::vector<Leafs>& parameters) {
    auto scheduled = module_->schedule().find(computation);
    if (scheduled == module_->schedule().end()) {
      return absl::InternalError(absl::StrCat("buffer assignment: ", computation->name(), " has no schedule"));
    }
    for (const HloInstruction* instruction : scheduled->second) {
      time_ += 2;
      switch (instruction->opcode()) {
        case HloOpcode::kParameter:
          result_.leafs[instruction] = parameters[instruction->parameter_number()];
          break;
        case HloOpcode::kConstant:
          result_.leafs[instruction] = Constant(instruction);
          break;
        case HloOpcode::kTuple: {
          Leafs all;
          for (const HloInstruction* operand : instruction->operands()) {
            const Leafs& part = result_.leafs.at(operand);
            all.insert(all.end(), part.begin(), part.end());
          }
          result_.leafs[instruction] = std::move(all);
          break;
        }
        case HloOpcode::kGetTupleElement: {
          const Leafs& all = result_.leafs.at(instruction->operand(0));
          const int64_t first = FirstLeafOf(instruction->operand(0)->shape(), instruction->tuple_index());
          result_.leafs[instruction] =
              Leafs(all.begin() + first, all.begin() + first + instruction->shape().LeafCount());
          break;
        }
        case HloOpcode::kAfterAll:
          result_.leafs[instruction] = {-1};
          break;
        case HloOpcode::kWhile: {
          XC_RETURN_IF_ERROR(WalkLoop(instruction));
          break;
        }
        case HloOpcode::kConditional: {
          XC_RETURN_IF_ERROR(WalkConditional(instruction));
          break;
        }
        case HloOpcode::kCall: {
          std::vector<Leafs> arguments;
          for (const HloInstruction* operand : instruction->operands()) arguments.push_back(result_.leafs.at(operand));
          XC_ASSIGN_OR_RETURN(result_.leafs[instruction], Walk(instruction->to_apply(), arguments));
          break;
        }
        default: {
          if (IsForwarding(instruction)) {
            Leafs forwarded = result_.leafs.at(instruction->operand(0));  // a copy: the map may grow
            result_.leafs[instruction] = std::move(forwarded);
            break;
          }
          for (const HloInstruction* operand : instruction->operands()) {
            for (int value : result_.leafs.at(operand)) Use(value, time_ + 1);
          }
          Leafs defined = NewValues(instruction, true);
          result_.computed.push_back(instruction);
          if (options_.scratch_bytes) {
            const int64_t bytes = options_.scratch_bytes(instruction);
            if (bytes > 0) result_.scratch.push_back({instruction, bytes, time_});
          }
          result_.leafs[instruction] = std::move(defined);
        }
      }
    }
    return result_.leafs.at(computation->root());
  }

  absl::Status WalkLoop(const HloInstruction* loop) {
    const Leafs init = result_.leafs.at(loop->operand(0));
    const int64_t count = init.size();
    std::vector<bool> invariant(count);
    for (int64_t k = 0; k < count; ++k) invariant[k] = invariants_.IsInvariant(loop, k);
    for (int value : init) Use(value, time_);
    // The state as one computation sees it: its own value where it changes.
    const auto state_of = [&](const HloComputation* computation) {
      time_ += 2;
      return NewState(computation->parameter(0), init, invariant);
    };
    const Leafs condition_state = state_of(loop->while_condition());
    XC_ASSIGN_OR_RETURN(const Leafs again, Walk(loop->while_condition(), {condition_state}));
    time_ += 2;
    for (int value : again) Use(value, time_);
    for (int value : condition_state) Use(value, time_);
    const Leafs body_state = state_of(loop->while_body());
    XC_ASSIGN_OR_RETURN(const Leafs next, Walk(loop->while_body(), {body_state}));
    time_ += 2;
    for (int value : next) Use(value, time_);
    for (int64_t k = 0; k < count; ++k) {
      if (invariant[k] || next[k] < 0) continue;
      result_.must_share.push_back({init[k], next[k]});
    }
    time_ += 2;
    for (int64_t k = 0; k < count; ++k) {
      if (invariant[k]) Use(init[k], time_);  // read in every iteration
    }
    result_.leafs[loop] = NewState(loop, init, invariant);
    return absl::OkStatus();
  }

  // The arguments as one branch sees them. Branches are placed one after another in time, though only one runs: each
  // has a view of its own, so that what one branch reads does not keep another one from writing over it.
  Leafs BranchViews(const HloComputation* branch, const Leafs& argument, int64_t entered) {
    absl::flat_hash_map<int, int> view_of;  // an array may be passed more than once
    Leafs views;
    for (const auto& [index, shape] : Leaves(branch->parameter(0)->shape())) {
      const int value = argument[views.size()];
      if (value < 0 || result_.values[value].read_only) {
        Use(value, time_ + 2);
        views.push_back(value);
        continue;
      }
      auto [it, fresh] = view_of.try_emplace(value, -1);
      if (fresh) {
        it->second = NewValue(branch->parameter(0), views.size(), *shape, false);
        views_.push_back({value, it->second, entered});
      }
      views.push_back(it->second);
    }
    return views;
  }

  // A value that is needed after the conditional lives through all branches: its views are the value itself. The others
  // share its buffer.
  void JoinViews() {
    absl::flat_hash_map<int, int> joined;
    const auto resolve = [&](int value) {
      auto it = joined.find(value);
      return it == joined.end() ? value : it->second;
    };
    for (const View& view : views_) {  // outer conditionals first
      const int of = resolve(view.of);
      if (result_.values[of].end > view.entered) {
        joined[view.value] = of;
        Use(of, result_.values[view.value].end);
        result_.values[view.value].size = 0;
      } else {
        result_.must_share.push_back({of, view.value});
      }
    }
    if (joined.empty()) return;
    for (auto& [instruction, leafs] : result_.leafs) {
      for (int& value : leafs) value = resolve(value);
    }
    for (auto& [a, b] : result_.must_share) a = resolve(a), b = resolve(b);
    for (auto& [output, value] : result_.computed_outputs) value = resolve(value);
    for (int& value : result_.root) value = resolve(value);
  }

  absl::Status WalkConditional(const HloInstruction* conditional) {
    const int64_t entered = time_;
    for (const HloInstruction* operand : conditional->operands()) {
      for (int value : result_.leafs.at(operand)) Use(value, entered);
    }
    std::vector<Leafs> roots;
    for (size_t b = 0; b < conditional->called_computations().size(); ++b) {
      const Leafs argument =
          BranchViews(conditional->called(b), result_.leafs.at(conditional->operand(b + 1)), entered);
      XC_ASSIGN_OR_RETURN(Leafs root, Walk(conditional->called(b), {argument}));
      time_ += 2;
      for (int value : root) Use(value, time_);
      roots.push_back(std::move(root));
    }
    time_ += 2;
    Leafs result = NewValues(conditional, false);
    for (const Leafs& root : roots) {
      for (size_t k = 0; k < result.size(); ++k) {
        if (result[k] >= 0) result_.must_share.push_back({result[k], root[k]});
      }
    }
    result_.leafs[conditional] = std::move(result);
    return absl::OkStatus();
  }

  Leafs Constant(const HloInstruction* constant) {
    Leafs out;
    for (const auto& [index, shape] : Leaves(constant->shape())) {
      if (!shape->IsArray()) {
        out.push_back(-1);
        continue;
      }
      const Literal* literal = &constant->literal();
      for (int64_t i : index) literal = &literal->tuple()[i];
      const int value = NewValue(constant, out.size(), *shape, false);
      LiveValue& made = result_.values[value];
      made.place = {BufferSlice::Kind::kConstant,
                    ConstantNumber(std::shared_ptr<const Literal>(constant->shared_literal(), literal)), 0, made.size};
      made.read_only = true;
      out.push_back(value);
    }
    return out;
  }

  int64_t ConstantNumber(std::shared_ptr<const Literal> literal) {
    // Weights that begin alike are compared; to hash all of them would take milliseconds of each compilation.
    constexpr size_t kBegin = 1024;
    const auto bytes = [](const Literal& l) { return absl::MakeConstSpan(l.bytes(), l.byte_size()); };
    auto& alike = constants_by_hash_[absl::HashOf(literal->shape().type(), literal->byte_size(),
                                                  bytes(*literal).subspan(0, kBegin))];
    const auto same = std::find_if(alike.begin(), alike.end(), [&](int64_t id) {
      const Literal& other = *result_.constants[id];
      if (&other == literal.get()) return true;
      return other.shape().type() == literal->shape().type() && other.elided() == literal->elided() &&
             bytes(other) == bytes(*literal);
    });
    // Those that sizes make may be equal by chance.
    if (const int64_t shared = ChooseSafe(same == alike.end() ? 0 : 1 + *same); shared > 0) return shared - 1;
    alike.push_back(result_.constants.size());
    result_.constants.push_back(std::move(literal));
    return alike.back();
  }

  const HloModule* module_;
  const BufferOptions& options_;
  const LoopInvariants& invariants_;
  const std::vector<ParameterLeafRef>& aliased_;
  int64_t time_ = 0;
  // `value` is what a branch of a conditional, entered at `entered`, sees of the value `of`.
  struct View {
    int of, value;
    int64_t entered;
  };
  std::vector<View> views_;
  absl::flat_hash_map<size_t, std::vector<int64_t>> constants_by_hash_;
  LiveValues result_;
};

}  // namespace

std::string LiveValue::Name() const {
  return instruction->shape().IsTuple() ? absl::StrCat(instruction->name(), "{", leaf, "}") : instruction->name();
}

absl::StatusOr<LiveValues> FindLiveValues(const HloModule* module, const BufferOptions& options,
                                          const LoopInvariants& invariants,
                                          const std::vector<ParameterLeafRef>& aliased) {
  return ProgramWalk(module, options, invariants, aliased).Run();
}

}  // namespace xc
