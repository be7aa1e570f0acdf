#include "compiler/sharding/propagate.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/sharding/agree.h"
#include "compiler/sharding/independent_dims.h"
#include "compiler/sharding/mesh_axes.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using O = HloOpcode;
using Leaves_ = std::vector<DeviceTiling>;

int64_t RankOf(const Shape& shape) { return shape.IsArray() ? shape.rank() : 0; }

bool IsGroup(const HloInstruction& i) {
  return i.opcode() == O::kCustomCall && i.custom_call_target() == "xla.sdy.ShardingGroup";
}

// Whether a call is done by one device for all.
bool IsOnOneDevice(const HloInstruction& i) {
  const auto* sharding = i.opcode() == O::kCustomCall ? i.FindAttr<AttrKind::kSharding>() : nullptr;
  if (sharding == nullptr) return false;
  const bool each = sharding->type == Sharding::Type::kTuple && !sharding->tuple.empty();
  return (each ? sharding->tuple[0] : *sharding).type == Sharding::Type::kMaximal;
}

// Whether an instruction computes with what such a call gives: its results lie whole on every device.
bool UsesOneDevice(const HloInstruction& i) {
  if (i.opcode() == O::kTuple || i.opcode() == O::kWhile || i.opcode() == O::kCustomCall) return false;
  for (const HloInstruction* operand : i.operands()) {
    if (IsOnOneDevice(operand->opcode() == O::kGetTupleElement ? *operand->operand(0) : *operand)) return true;
  }
  return false;
}

Leaves_ Unknown(const Shape& shape) {
  Leaves_ leaves;
  for (const auto& [index, leaf] : Leaves(shape)) leaves.push_back(DeviceTiling::Replicated(RankOf(*leaf)));
  return leaves;
}

class Propagation {
 public:
  // Remembers how the operands of `watched`, if it is not null, lie.
  explicit Propagation(int64_t devices, MeshAxes axes = {}, const HloInstruction* watched = nullptr)
      : devices_(devices), axes_(std::move(axes)), watched_(watched) {}

  absl::StatusOr<Leaves_> Run(const HloComputation& computation, std::vector<Leaves_> arguments) {
    absl::flat_hash_map<const HloInstruction*, Leaves_> values;
    for (const HloInstruction* i : computation.PostOrder()) {
      Leaves_ value = Unknown(i->shape());
      if (i->opcode() == O::kParameter) {
        value = std::move(arguments[i->parameter_number()]);
      } else if (!IsOnOneDevice(*i) && !UsesOneDevice(*i)) {
        std::vector<const Leaves_*> operands;
        for (const HloInstruction* operand : i->operands()) operands.push_back(&values.at(operand));
        if (i->opcode() == O::kReshape) operands = {&values.at(Reshaped(*i))};
        XC_RETURN_IF_ERROR(Visit(*i, operands, &value));
      }
      LieAsGroups(*i, &value);
      values[i] = std::move(value);
    }
    return std::move(values.at(computation.root()));
  }

  // Whether a group of arrays that lie alike has learned something since it was last asked.
  bool groups_grew() { return std::exchange(groups_grew_, false); }

  // Of one instruction that is no parameter.
  absl::StatusOr<Leaves_> Result(const HloInstruction& i, const std::vector<Leaves_>& operands) {
    Leaves_ value = Unknown(i.shape());
    std::vector<const Leaves_*> given;
    alone_ = true;
    for (const Leaves_& operand : operands) given.push_back(&operand);
    XC_RETURN_IF_ERROR(Visit(i, given, &value));
    return value;
  }

  const std::vector<DeviceTiling>& at_watched() const { return at_watched_; }

  // What a `sharding` attribute says of the leaves of a value of `shape`.
  absl::StatusOr<Leaves_> Said(const Sharding& sharding, const Shape& shape) const {
    const auto leaves = Leaves(shape);
    Leaves_ said;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const bool each = sharding.type == Sharding::Type::kTuple;
      if (each && sharding.tuple.size() != leaves.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("a sharding of ", sharding.tuple.size(), " parts for ", leaves.size(), " arrays"));
      }
      const Shape& leaf = *leaves[i].second;
      if (!leaf.IsArray()) {
        said.push_back(DeviceTiling::Replicated(0));
        continue;
      }
      XC_ASSIGN_OR_RETURN(said.emplace_back(),
                          DeviceTiling::FromSharding(each ? sharding.tuple[i] : sharding, leaf.rank(), devices_));
      axes_.Recognize(devices_, &said.back());
    }
    return said;
  }

 private:
  using Operands = std::vector<const Leaves_*>;

  absl::Status Visit(const HloInstruction& i, const Operands& x, Leaves_* out) {
    DeviceTiling* to = out->empty() ? nullptr : &(*out)[0];
    switch (i.opcode()) {
      case O::kTuple: {
        out->clear();
        for (const Leaves_* operand : x) out->insert(out->end(), operand->begin(), operand->end());
        return absl::OkStatus();
      }
      case O::kGetTupleElement: {
        size_t first = 0;
        for (int64_t e = 0; e < i.tuple_index(); ++e) first += i.operand(0)->shape().tuple_shape(e).LeafCount();
        for (size_t l = 0; l < out->size(); ++l) (*out)[l] = (*x[0])[first + l];
        return absl::OkStatus();
      }
      case O::kCopy:
      case O::kOptBarrier:
      case O::kDomain:
      case O::kAddDependency:
        if (out->size() == x[0]->size()) *out = *x[0];
        return absl::OkStatus();
      case O::kCall: {
        std::vector<Leaves_> arguments;
        for (const Leaves_* operand : x) arguments.push_back(*operand);
        XC_ASSIGN_OR_RETURN(*out, Run(*i.called(0), std::move(arguments)));
        return absl::OkStatus();
      }
      case O::kWhile: {
        *out = *x[0];
        // What the body gives back adds to what it is given, what it says itself first, until nothing changes.
        for (int round = 0; round < 4; ++round) {
          XC_ASSIGN_OR_RETURN(const Leaves_ next, Run(*i.while_body(), {*out}));
          Leaves_ merged = *out;
          for (size_t l = 0; l < merged.size(); ++l) {
            const bool said = IsAnnotated(*i.while_body()->root(), l);
            if (said) merged[l] = next[l];
            merged[l].MergeFrom(said ? (*out)[l] : next[l]);
          }
          if (merged == *out) break;
          *out = std::move(merged);
        }
        return absl::OkStatus();
      }
      case O::kConditional: {
        std::vector<Leaves_> branches;
        const int64_t chosen = ChosenBranch(i);
        for (int64_t b = 0; b < static_cast<int64_t>(i.called_computations().size()); ++b) {
          if (chosen >= 0 && b != chosen) continue;
          XC_ASSIGN_OR_RETURN(branches.emplace_back(), Run(*i.called(b), {*x[b + 1]}));
        }
        for (size_t l = 0; l < out->size(); ++l) {
          std::vector<const DeviceTiling*> leaf;
          for (const Leaves_& branch : branches) leaf.push_back(&branch[l]);
          (*out)[l] = Agreed(std::move(leaf), (*out)[l].rank());
        }
        return absl::OkStatus();
      }
      case O::kCustomCall:
        return VisitCall(i, x, out);
      case O::kBroadcast:
        for (size_t d = 0; d < i.dimensions().size(); ++d) {
          if (i.operand(0)->shape().dim(d) == i.shape().dim(i.dimensions()[d])) Move(x, 0, d, to, i.dimensions()[d]);
        }
        return absl::OkStatus();
      case O::kTranspose:
        for (size_t d = 0; d < i.dimensions().size(); ++d) Move(x, 0, i.dimensions()[d], to, d);
        return absl::OkStatus();
      case O::kReshape:
        VisitReshape(i, x, to);
        return absl::OkStatus();
      case O::kReduce:
        for (DeviceTiling& leaf : *out) {
          int64_t next = 0;
          for (int64_t d = 0; d < i.operand(0)->shape().rank(); ++d) {
            if (std::count(i.dimensions().begin(), i.dimensions().end(), d) == 0) Move(x, 0, d, &leaf, next++);
          }
        }
        return absl::OkStatus();
      case O::kDot:
        to->MergeFrom(AgreedProduct(i, (*x[0])[0], (*x[1])[0]));
        return absl::OkStatus();
      case O::kConvolution:
        Move(x, 0, i.conv_dims().input_batch, to, i.conv_dims().output_batch);
        Move(x, 1, i.conv_dims().kernel_output_feature, to, i.conv_dims().output_feature);
        for (size_t d = 0; d < i.conv_dims().input_spatial.size(); ++d) {
          const int64_t from = i.conv_dims().input_spatial[d], into = i.conv_dims().output_spatial[d];
          if (i.operand(0)->shape().dim(from) == i.shape().dim(into)) Move(x, 0, from, to, into);
        }
        return absl::OkStatus();
      case O::kGather:
      case O::kCholesky:
      case O::kTriangularSolve:
      case O::kTopk:
      case O::kSelectAndScatter:
        XC_RETURN_IF_ERROR(VisitByRule(i, x, out));
        if (i.opcode() == O::kSelectAndScatter) Keep(i, x, out);
        return absl::OkStatus();
      case O::kBitcastConvert:  // the last dimension may come or go
        for (int64_t d = 0; d < i.shape().rank(); ++d) Move(x, 0, d, to, d);
        return absl::OkStatus();
      // Dimensions stay where they are, though they may become longer or shorter.
      case O::kSlice:
      case O::kDynamicSlice:
      case O::kDynamicUpdateSlice:
      case O::kConcatenate:
      case O::kPad:
      case O::kReverse:
      case O::kScatter:
      case O::kSort:
      case O::kFft:
      case O::kReduceWindow:
        Keep(i, x, out);
        if (i.opcode() == O::kScatter) {
          const DeviceTiling said = TilingByUpdates(i, (*x[x.size() / 2])[0], (*x[x.size() / 2 + 1])[0]);
          for (DeviceTiling& leaf : *out) leaf.MergeFrom(said);
        }
        return absl::OkStatus();
      default:
        break;
    }
    if (to == nullptr || !i.IsElementwise()) return absl::OkStatus();
    std::vector<const DeviceTiling*> operands;
    for (size_t o = 0; o < x.size(); ++o) {
      if (i.operand(o)->shape().IsArray() && SameDims(i.operand(o)->shape(), i.shape()))
        operands.push_back(&(*x[o])[0]);
    }
    to->MergeFrom(Agreed(std::move(operands), to->rank()));
    return absl::OkStatus();
  }

  absl::Status VisitCall(const HloInstruction& i, const Operands& x, Leaves_* out) {
    const std::string& target = i.custom_call_target();
    if (&i == watched_) {
      at_watched_.clear();
      for (const Leaves_* operand : x) at_watched_.push_back(operand->empty() ? DeviceTiling() : (*operand)[0]);
    }
    if (x.size() == 1 && out->size() == x[0]->size()) {
      for (size_t l = 0; l < out->size(); ++l) {
        if ((*out)[l].rank() == (*x[0])[l].rank() && !absl::StartsWith(target, "SPMD")) (*out)[l] = (*x[0])[l];
      }
    }
    if (target == "ApproxTopK" && KeepsOrderedDim(i)) out->assign(out->size(), (*x[0])[0]);
    XC_RETURN_IF_ERROR(VisitByRule(i, x, out));
    const auto* sharding = i.FindAttr<AttrKind::kSharding>();
    if (sharding == nullptr || (target != "Sharding" && target != "SPMDShardToFullShape")) return absl::OkStatus();
    XC_ASSIGN_OR_RETURN(Leaves_ said, Said(*sharding, i.shape()));
    const auto* config = i.FindAttr<AttrKind::kBackendConfig>();
    const std::string open = config == nullptr ? "" : config->text;
    // unspecified_dims=[0,2]: further digits may come from the operand there.
    if (absl::StartsWith(open, "unspecified_dims=[")) {
      for (size_t l = 0; l < said.size() && l < out->size(); ++l) {
        for (int64_t d = 0; d < said[l].rank(); ++d) {
          if (!absl::StrContains(absl::StrCat(",", open.substr(18)), absl::StrCat(",", d, ",")) &&
              !absl::StrContains(absl::StrCat(",", open.substr(18)), absl::StrCat(",", d, "]"))) {
            (*out)[l].Clear(d);
          }
        }
        said[l].MergeFrom((*out)[l]);
      }
    }
    *out = std::move(said);
    return absl::OkStatus();
  }

  // A value says to the groups that it is in how it lies, and lies as they know from others. What comes before it is
  // told in the next round.
  void LieAsGroups(const HloInstruction& i, Leaves_* value) {
    if (value->size() != 1) return;
    DeviceTiling& tiling = (*value)[0];
    std::vector<std::string> groups;
    for (const HloInstruction* user : i.users()) {
      const auto* attributes = IsGroup(*user) ? user->FindAttr<AttrKind::kFrontendAttributes>() : nullptr;
      for (const auto& [name, id] : attributes == nullptr ? FrontendAttributes() : *attributes) {
        if (name == "xla.sdy.sharding_group_id") groups.push_back(id);
      }
    }
    // A value in several groups hands on what one of them says to the others.
    for (const std::string& id : groups) {
      const DeviceTiling& group = groups_.try_emplace(id, DeviceTiling::Replicated(tiling.rank())).first->second;
      if (group.rank() == tiling.rank()) tiling.MergeFrom(group);
    }
    for (const std::string& id : groups) {
      DeviceTiling& group = groups_.at(id);
      if (group.rank() != tiling.rank()) continue;
      DeviceTiling merged = group;
      merged.MergeFrom(tiling);
      groups_grew_ |= !(merged == group);
      group = std::move(merged);
    }
  }

  // Dimension `from` of operand o goes along dimension `d` of the result.
  static void Move(const Operands& x, size_t o, int64_t from, DeviceTiling* to, int64_t d) {
    if (to == nullptr || x[o]->empty() || from >= (*x[o])[0].rank() || d >= to->rank()) return;
    const DeviceTiling& tiling = (*x[o])[0];
    if (tiling.dim(from).empty()) return;
    DeviceTiling one = DeviceTiling::Replicated(to->rank());
    one.set_order(tiling.order());
    for (const DeviceTiling::Digit& digit : tiling.dim(from)) one.Append(d, digit);
    to->MergeFrom(one);
  }

  // Along dimensions that become longer or shorter, parts may be of several sizes until the program's end.
  static void Keep(const HloInstruction& i, const Operands& x, Leaves_* out) {
    const auto leaves = Leaves(i.shape());
    for (size_t l = 0; l < out->size(); ++l) {
      const size_t o = i.opcode() == O::kSort && l < x.size() ? l : 0;
      const Shape& operand = i.operand(o)->shape();
      const Shape& result = *leaves[l].second;
      if (!operand.IsArray() || !result.IsArray() || operand.rank() != result.rank()) continue;
      // Of what is joined, or put into an array: first the dimensions that all have whole.
      if (i.opcode() == O::kConcatenate || i.opcode() == O::kDynamicUpdateSlice) {
        const size_t count = i.opcode() == O::kConcatenate ? x.size() : 2;
        Leaves_ whole;
        std::vector<const DeviceTiling*> along;
        for (size_t piece = 0; piece < count; ++piece) along.push_back(&(*x[piece])[0]);
        for (size_t piece = 0; piece < count; ++piece) {
          whole.push_back(*along[piece]);
          for (int64_t d = 0; d < result.rank(); ++d) {
            const bool all =
                i.opcode() == O::kConcatenate ? i.dimensions()[0] != d : i.operand(1)->shape().dim(d) == result.dim(d);
            if (!all) whole.back().Clear(d);
          }
        }
        std::vector<const DeviceTiling*> first;
        for (const DeviceTiling& piece : whole) first.push_back(&piece);
        (*out)[l].MergeFrom(Agreed(std::move(first), result.rank()));
        if (i.opcode() == O::kDynamicUpdateSlice) along.resize(1);
        (*out)[l].MergeFrom(Agreed(std::move(along), result.rank()));
        continue;
      }
      const int64_t ordered = i.opcode() == O::kSort && !KeepsOrderedDim(i) ? i.dimensions()[0] : -1;
      for (int64_t d = 0; d < result.rank(); ++d) {
        const bool from_start = i.opcode() == O::kDynamicSlice && operand.dim(d) != result.dim(d);
        if (d == ordered || (from_start && !i.operand(i.operand_count() == 2 ? 1 : d + 1)->IsConstant())) continue;
        Move(x, o, d, &(*out)[l], d);
        // Arrays that are sorted together lie alike.
        for (size_t other = 0; i.opcode() == O::kSort && other < x.size(); ++other) Move(x, other, d, &(*out)[l], d);
      }
    }
  }

  // What a reshape is of, and those that it follows on.
  const HloInstruction* Reshaped(const HloInstruction& i) const {
    const HloInstruction* from = i.operand(0);
    while (!alone_ && from->opcode() == O::kReshape) from = from->operand(0);
    return from;
  }

  // Dimensions that stay, and those that are joined or split: what cuts them goes along the first of their parts, as
  // far as it divides that, and along the next where each has one element left.
  void VisitReshape(const HloInstruction& i, const Operands& x, DeviceTiling* to) const {
    const DeviceTiling& tiling = (*x[0])[0];
    const Int64List &from = Reshaped(i)->shape().dims(), &into = i.shape().dims();
    DeviceTiling result = DeviceTiling::Replicated(to->rank());
    result.set_order(tiling.order());
    size_t a = 0, b = 0;
    while (a < from.size() && b < into.size()) {
      size_t d = a, e = b;
      int64_t product_a = from[a++], product_b = into[b++];
      while (product_a != product_b) {
        if (product_a < product_b) {
          if (a == from.size()) return;
          product_a *= from[a++];
        } else {
          if (b == into.size()) return;
          product_b *= into[b++];
        }
      }
      int64_t room = into[e];
      for (bool more = true; more && d < a; more = more && tiling.Tiles(d) == from[d], ++d) {
        while (d + 1 < a && from[d] == 1) ++d;  // may be cut, too, as long as it is not a result's
        const std::vector<DeviceTiling::Digit>& digits = tiling.dim(d);
        for (const auto& [first, end] : axes_.Split(digits)) {
          while (room == 1 && e + 1 < b) room = into[++e];
          int64_t tiles = 1;
          for (size_t n = first; n < end; ++n) tiles *= digits[n].size;
          more = more && room % tiles == 0;
          if (!more) break;
          room /= tiles;
          for (size_t n = first; n < end; ++n) result.Append(e, digits[n]);
        }
      }
    }
    to->MergeFrom(result);
  }

  // The results by what operands and results have in common.
  absl::Status VisitByRule(const HloInstruction& i, const Operands& x, Leaves_* out) const {
    const std::optional<ShardingRule> rule = IndependentDims(i, /*counted=*/alone_);
    if (!rule.has_value()) return absl::OkStatus();
    std::vector<DeviceTiling> operands;
    for (const Leaves_* operand : x) operands.push_back((*operand)[0]);
    XC_ASSIGN_OR_RETURN(RuleTilings tilings, TilingsByRule(*rule, i, operands));
    *out = std::move(tilings.results);
    return absl::OkStatus();
  }

  int64_t devices_;
  MeshAxes axes_;
  bool alone_ = false;  // one instruction is looked at: what it follows on is not known
  const HloInstruction* watched_;
  std::vector<DeviceTiling> at_watched_;
  absl::flat_hash_map<std::string, DeviceTiling> groups_;  // by their numbers, as written
  bool groups_grew_ = false;
};

absl::StatusOr<EntryTilings> Follow(const HloModule& module, Propagation& propagation) {
  EntryTilings tilings;
  std::vector<Leaves_> arguments;
  for (const HloInstruction* parameter : module.entry()->parameters()) {
    Leaves_ leaves = Unknown(parameter->shape());
    if (const auto* sharding = parameter->FindAttr<AttrKind::kSharding>()) {
      absl::StatusOr<Leaves_> said = propagation.Said(*sharding, parameter->shape());
      if (!said.ok()) {
        return absl::Status(said.status().code(), absl::StrCat(parameter->name(), ": ", said.status().message()));
      }
      leaves = *std::move(said);
    }
    const auto shapes = Leaves(parameter->shape());
    for (size_t l = 0; l < leaves.size(); ++l) {
      if (shapes[l].second->IsArray()) XC_RETURN_IF_ERROR(leaves[l].ShardShape(*shapes[l].second).status());
    }
    tilings.parameters.insert(tilings.parameters.end(), leaves.begin(), leaves.end());
    arguments.push_back(std::move(leaves));
  }
  // Groups only grow; what their last arrays say reaches the others in few rounds.
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    XC_ASSIGN_OR_RETURN(tilings.results, propagation.Run(*module.entry(), arguments));
    if (!propagation.groups_grew()) break;
  }
  const HloInstruction* root = module.entry()->root();
  // Calls, annotations among them, are followed like others.
  if (const auto* sharding = root->FindAttr<AttrKind::kSharding>();
      sharding != nullptr && root->opcode() != O::kParameter && root->opcode() != O::kCustomCall) {
    XC_ASSIGN_OR_RETURN(tilings.results, propagation.Said(*sharding, root->shape()));
  }
  MeshAxes::Of(module).DropUneven(root->shape(), &tilings.results);
  return tilings;
}

}  // namespace

absl::StatusOr<EntryTilings> PropagateShardings(const HloModule& module, int64_t devices) {
  Propagation propagation(devices, MeshAxes::Of(module));
  return Follow(module, propagation);
}

void DropShardingGroups(HloModule* module) {
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* i : computation->PostOrder()) {
      if (IsGroup(*i) && i->user_count() == 0 && i != computation->root()) computation->Remove(i);
    }
  }
}

absl::StatusOr<std::vector<DeviceTiling>> OperandTilings(const HloModule& module, int64_t devices,
                                                         const HloInstruction* call) {
  const MeshAxes axes = MeshAxes::Of(module);
  Propagation propagation(devices, axes, call);
  XC_RETURN_IF_ERROR(Follow(module, propagation).status());
  std::vector<DeviceTiling> tilings = propagation.at_watched();
  // The entry does not reach it.
  if (static_cast<int64_t>(tilings.size()) != call->operand_count()) {
    tilings.clear();
    for (const HloInstruction* operand : call->operands()) {
      tilings.push_back(DeviceTiling::Replicated(RankOf(operand->shape())));
    }
  }
  for (size_t o = 0; o < tilings.size(); ++o) {
    if (!call->operand(o)->shape().IsArray()) {
      return absl::UnimplementedError(absl::StrCat(call->name(), ": has an operand that is no array"));
    }
    Leaves_ leaves = {std::move(tilings[o])};
    axes.DropUneven(call->operand(o)->shape(), &leaves);
    tilings[o] = std::move(leaves[0]);
  }
  return tilings;
}

absl::StatusOr<std::vector<DeviceTiling>> ResultTilings(const HloInstruction& instruction, int64_t devices,
                                                        const std::vector<std::vector<DeviceTiling>>& operands) {
  XC_ASSIGN_OR_RETURN(Leaves_ result, Propagation(devices).Result(instruction, operands));
  MeshAxes().DropUneven(instruction.shape(), &result);
  return result;
}

}  // namespace xc
