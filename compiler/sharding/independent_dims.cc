#include "compiler/sharding/independent_dims.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "compiler/sharding/partition_rules.h"

namespace xc {
namespace {

using O = HloOpcode;

std::vector<Shape> ArraysOf(const Shape& shape) {
  std::vector<Shape> arrays;
  for (const auto& [index, leaf] : Leaves(shape)) arrays.push_back(*leaf);
  return arrays;
}

// Begins with dimensions of which none may be cut.
class RuleBuilder {
 public:
  explicit RuleBuilder(const HloInstruction& i) {
    for (const HloInstruction* operand : i.operands()) operands_.push_back(operand->shape());
    results_ = ArraysOf(i.shape());
    for (const Shape& shape : operands_) rule.operands.emplace_back(shape.rank(), Int64List{0});
    for (const Shape& shape : results_) rule.results.emplace_back(shape.rank(), Int64List{0});
    rule.sizes = {1};
    rule.replicated = {0};
  }

  using Dims = std::vector<std::pair<size_t, int64_t>>;  // number of an array, and one of its dimensions
  // These belong together.
  void Share(const Dims& of_operands, const Dims& of_results) {
    const int64_t factor = static_cast<int64_t>(rule.sizes.size());
    for (const auto& [o, d] : of_operands) rule.operands[o][d] = {factor};
    for (const auto& [r, d] : of_results) rule.results[r][d] = {factor};
    rule.sizes.push_back(operands_[of_operands[0].first].dim(of_operands[0].second));
  }

  // The first `count` dimensions of all arrays that have as many.
  void ShareFirst(int64_t count) {
    for (int64_t d = 0; d < count; ++d) {
      Dims of_operands, of_results;
      for (size_t o = 0; o < operands_.size(); ++o) {
        if (operands_[o].rank() >= count) of_operands.emplace_back(o, d);
      }
      for (size_t r = 0; r < results_.size(); ++r) {
        if (results_[r].rank() >= count) of_results.emplace_back(r, d);
      }
      Share(of_operands, of_results);
    }
  }

  // Whether the first `count` dimensions are of the same sizes in all arrays but scalars.
  bool AgreeOnFirst(int64_t count) const {
    const Shape* first = nullptr;
    for (const auto* shapes : {&operands_, &results_}) {
      for (const Shape& shape : *shapes) {
        if (shape.rank() == 0) continue;
        if (shape.rank() < count) return false;
        if (first == nullptr) first = &shape;
        if (!std::equal(shape.dims().begin(), shape.dims().begin() + count, first->dims().begin())) return false;
      }
    }
    return first != nullptr;
  }

  ShardingRule rule;

 private:
  std::vector<Shape> operands_, results_;
};

// How many dimensions a custom call's batch has, by what JAX says of calls that may be cut along it, or as LAPACK's
// functions have them before their matrices.
int64_t BatchDims(const HloInstruction& call) {
  if (const auto* pairs = call.FindAttr<AttrKind::kFrontendAttributes>()) {
    for (const auto& [name, text] : *pairs) {
      int64_t count = 0;
      if (name == "num_batch_dims") return absl::SimpleAtoi(text, &count) && count > 0 ? count : 0;
    }
  }
  const std::string& target = call.custom_call_target();
  if (!absl::StartsWith(target, "lapack_") || !absl::EndsWith(target, "_ffi")) return 0;
  int64_t rank = 2;
  for (const HloInstruction* operand : call.operands()) rank = std::max(rank, operand->shape().rank());
  return rank - 2;
}

// Finds out along which dimension the numbers of an array count from 0 on, in a bounded number of steps.
class Counting {
 public:
  // The dimension of `x`, or -1.
  int64_t Along(const HloInstruction* x) { return Along(x, nullptr); }

 private:
  // Calls around an instruction, from the inside out.
  struct Frame {
    const HloInstruction* call;
    const Frame* outer;
  };

  int64_t Along(const HloInstruction* x, const Frame* frame) {
    if (--steps_ < 0) return -1;
    switch (x->opcode()) {
      case O::kIota:
        return x->attr<AttrKind::kIotaDimension>();
      case O::kBroadcast: {
        const int64_t d = Along(x->operand(0), frame);
        return d >= 0 ? x->dimensions()[d] : -1;
      }
      case O::kReshape:
        return AfterReshape(x->operand(0)->shape().dims(), x->shape().dims(), Along(x->operand(0), frame));
      case O::kConvert: {
        const int64_t d = Along(x->operand(0), frame);
        const ElementType type = x->type();
        const bool wide = type == ElementType::kS32 || type == ElementType::kS64 || type == ElementType::kU32 ||
                          type == ElementType::kU64;
        return d >= 0 && (wide || x->shape().dim(d) <= 127) ? d : -1;
      }
      // Negative indices would count from the end: there are none.
      case O::kSelect:
        return IsNegative(x->operand(0), frame) ? Along(x->operand(2), frame) : -1;
      case O::kCopy:
        return Along(x->operand(0), frame);
      case O::kCall: {
        const Frame inner{x, frame};
        return Along(x->called(0)->root(), &inner);
      }
      case O::kParameter:
        return frame == nullptr ? -1 : Along(frame->call->operand(x->parameter_number()), frame->outer);
      default:
        return -1;
    }
  }

  // Whether `x` asks of numbers that count from 0 on whether they are less.
  bool IsNegative(const HloInstruction* x, const Frame* frame) {
    while (x->opcode() == O::kParameter && frame != nullptr) {
      x = frame->call->operand(x->parameter_number());
      frame = frame->outer;
    }
    return x->opcode() == O::kCompare && x->attr<AttrKind::kDirection>() == CompareDirection::kLt &&
           IsZero(x->operand(1)) && Along(x->operand(0), frame) >= 0;
  }

  static bool IsZero(const HloInstruction* x) {
    if (x->opcode() == O::kBroadcast) x = x->operand(0);
    return x->IsConstant() && x->shape().rank() == 0 && x->literal().GetDouble(0) == 0;
  }

  // Where a reshape that adds and removes dimensions of one element only leaves dimension d; -1 for others.
  static int64_t AfterReshape(const Int64List& from, const Int64List& into, int64_t d) {
    if (d < 0 || from[d] == 1) return -1;
    int64_t found = -1;
    size_t b = 0;
    for (size_t a = 0; a < from.size(); ++a) {
      if (from[a] == 1) continue;
      while (b < into.size() && into[b] == 1) ++b;
      if (b == into.size() || into[b] != from[a]) return -1;
      if (static_cast<int64_t>(a) == d) found = static_cast<int64_t>(b);
      ++b;
    }
    return found;
  }

  int steps_ = 40;
};

// The dimension of `indices` along which the number at `position` of each index counts from 0 on, or -1: slices then
// come from places of their own each, as those of a batch.
int64_t IndexCountsAlong(const HloInstruction* indices, int64_t index_vector_dim, int64_t position) {
  if (indices->opcode() == O::kConcatenate && indices->dimensions()[0] == index_vector_dim) {
    for (const HloInstruction* piece : indices->operands()) {
      const int64_t size = piece->shape().dim(index_vector_dim);
      if (position < size) return size == 1 ? Counting().Along(piece) : -1;
      position -= size;
    }
  }
  const bool one = index_vector_dim >= indices->shape().rank() || indices->shape().dim(index_vector_dim) == 1;
  return one ? Counting().Along(indices) : -1;
}

// Of a gather or scatter: positions in an index whose numbers count along a dimension of the indices, with the array's
// dimension that they count in, of the same size, and that dimension.
std::vector<std::pair<int64_t, std::pair<int64_t, int64_t>>> CountedDims(const HloInstruction& i) {
  const bool gathers = i.opcode() == O::kGather;
  const HloInstruction* const indices = i.operand(i.operand_count() / 2);
  const Int64List& into = gathers ? i.gather_dims().start_index_map : i.scatter_dims().scatter_dims_to_operand_dims;
  const Int64List& single = gathers ? i.gather_dims().collapsed_slice_dims : i.scatter_dims().inserted_window_dims;
  const int64_t vector = gathers ? i.gather_dims().index_vector_dim : i.scatter_dims().index_vector_dim;
  std::vector<std::pair<int64_t, std::pair<int64_t, int64_t>>> counted;
  for (size_t n = 0; n < into.size(); ++n) {
    const int64_t d = into[n];
    if (!HasDim(single, d)) continue;
    const int64_t along = IndexCountsAlong(indices, vector, static_cast<int64_t>(n));
    if (along < 0 || along == vector || indices->shape().dim(along) != i.operand(0)->shape().dim(d)) continue;
    const bool again =
        std::any_of(counted.begin(), counted.end(), [&](const auto& c) { return c.second.second == along; });
    if (!again) counted.push_back({static_cast<int64_t>(n), {d, along}});
  }
  return counted;
}

ShardingRule OfGather(const HloInstruction& i, bool counts) {
  RuleBuilder builder(i);
  const GatherDims& dims = i.gather_dims();
  const Int64List& sizes = i.attr<AttrKind::kSliceSizes>();
  size_t offset = 0;
  for (int64_t d = 0; d < i.operand(0)->shape().rank(); ++d) {
    if (HasDim(dims.collapsed_slice_dims, d) || HasDim(dims.operand_batching_dims, d)) continue;
    if (sizes[d] == i.operand(0)->shape().dim(d)) builder.Share({{0, d}}, {{0, dims.offset_dims[offset]}});
    ++offset;
  }
  int64_t from = 0;
  for (int64_t d = 0; d < i.shape().rank(); ++d) {
    if (HasDim(dims.offset_dims, d)) continue;
    if (from == dims.index_vector_dim) ++from;
    RuleBuilder::Dims operands = {{1, from}};
    for (size_t b = 0; b < dims.start_indices_batching_dims.size(); ++b) {
      if (dims.start_indices_batching_dims[b] == from) operands.emplace_back(0, dims.operand_batching_dims[b]);
    }
    for (const auto& [position, counted] : CountedDims(i)) {
      if (counts && counted.second == from) operands.emplace_back(0, counted.first);
    }
    builder.Share(operands, {{0, d}});
    ++from;
  }
  return std::move(builder.rule);
}

}  // namespace

int64_t UpdatesDim(const ScatterDims& dims, int64_t of_indices) {
  int64_t position = of_indices - (dims.index_vector_dim < of_indices ? 1 : 0), d = 0;
  for (; HasDim(dims.update_window_dims, d) || position-- > 0; ++d) {
  }
  return d;
}

std::vector<std::pair<int64_t, int64_t>> CountedOffsets(const HloInstruction& gather, const DeviceTiling& operand) {
  std::vector<std::pair<int64_t, int64_t>> offsets;
  if (gather.opcode() != O::kGather) return offsets;
  for (const auto& [position, pair] : CountedDims(gather)) {
    if (!operand.dim(pair.first).empty()) offsets.emplace_back(position, pair.first);
  }
  return offsets;
}

DeviceTiling TilingByUpdates(const HloInstruction& scatter, const DeviceTiling& indices, const DeviceTiling& updates) {
  const ScatterDims& dims = scatter.scatter_dims();
  const Shape& input = scatter.operand(0)->shape();
  DeviceTiling result = DeviceTiling::Replicated(input.rank());
  const auto take = [&](const DeviceTiling& from, int64_t d, int64_t to) {
    DeviceTiling one = DeviceTiling::Replicated(input.rank());
    TakeCut(from, d, &one, to);
    result.MergeFrom(one);
  };
  size_t window = 0;
  for (int64_t d = 0; d < input.rank(); ++d) {
    const auto batch = std::find(dims.input_batching_dims.begin(), dims.input_batching_dims.end(), d);
    int64_t of_indices = -1;
    if (batch != dims.input_batching_dims.end()) {
      of_indices = dims.scatter_indices_batching_dims[batch - dims.input_batching_dims.begin()];
    } else if (HasDim(dims.inserted_window_dims, d)) {
      for (const auto& [position, pair] : CountedDims(scatter)) {
        if (pair.first == d) of_indices = pair.second;
      }
    } else {
      const int64_t of_updates = dims.update_window_dims[window++];
      const bool whole = scatter.operand(scatter.operand_count() / 2 + 1)->shape().dim(of_updates) == input.dim(d);
      if (whole) take(updates, of_updates, d);
    }
    if (of_indices < 0) continue;
    take(updates, UpdatesDim(dims, of_indices), d);
    take(indices, of_indices, d);
  }
  return result;
}

std::optional<ShardingRule> IndependentDims(const HloInstruction& i, bool counted) {
  for (const HloInstruction* operand : i.operands()) {
    if (!operand->shape().IsArray()) return std::nullopt;
  }
  for (const Shape& shape : ArraysOf(i.shape())) {
    if (!shape.IsArray()) return std::nullopt;
  }
  switch (i.opcode()) {
    case O::kGather:
      return OfGather(i, counted);
    case O::kCholesky:
    case O::kTriangularSolve:
    case O::kFft:
    case O::kTopk: {
      RuleBuilder builder(i);
      int64_t last = 2;
      if (i.opcode() == O::kFft) last = static_cast<int64_t>(i.attr<AttrKind::kFftLength>().size());
      if (i.opcode() == O::kTopk) last = 1;
      builder.ShareFirst(i.operand(0)->shape().rank() - last);
      return std::move(builder.rule);
    }
    case O::kSelectAndScatter: {
      RuleBuilder builder(i);
      for (int64_t d = 0; d < i.shape().rank(); ++d) {
        if (i.window().dims[d] == WindowDim()) builder.Share({{0, d}, {1, d}}, {{0, d}});
      }
      return std::move(builder.rule);
    }
    case O::kCustomCall: {
      RuleBuilder builder(i);
      const int64_t batch = BatchDims(i);
      if (batch == 0 || !builder.AgreeOnFirst(batch)) return std::nullopt;
      builder.ShareFirst(batch);
      return std::move(builder.rule);
    }
    default:
      return std::nullopt;
  }
}

absl::StatusOr<RuleTilings> TilingsByRule(const ShardingRule& rule, const HloInstruction& i,
                                          const std::vector<DeviceTiling>& operands) {
  std::vector<Shape> shapes;
  for (const HloInstruction* operand : i.operands()) shapes.push_back(operand->shape());
  return TilingsByRule(rule, operands, shapes, ArraysOf(i.shape()));
}

ScatterTilings TilingsOfScatter(const HloInstruction& scatter, const DeviceTiling& result) {
  const ScatterDims& dims = scatter.scatter_dims();
  const int64_t count = scatter.operand_count() / 2;  // of inputs, and of updates
  const Shape &input = scatter.operand(0)->shape(), &indices = scatter.operand(count)->shape(),
              &updates = scatter.operand(count + 1)->shape();
  ScatterTilings tilings{DeviceTiling::Replicated(input.rank()),
                         DeviceTiling::Replicated(indices.rank()),
                         DeviceTiling::Replicated(updates.rank()),
                         {}};
  const auto counted = CountedDims(scatter);
  size_t window = 0;
  for (int64_t d = 0; d < input.rank(); ++d) {
    const auto batch = std::find(dims.input_batching_dims.begin(), dims.input_batching_dims.end(), d);
    const bool inserted = HasDim(dims.inserted_window_dims, d);
    if (batch != dims.input_batching_dims.end()) {
      const int64_t of_indices = dims.scatter_indices_batching_dims[batch - dims.input_batching_dims.begin()];
      TakeCut(result, d, &tilings.indices, of_indices);
      TakeCut(result, d, &tilings.updates, UpdatesDim(dims, of_indices));
    } else if (inserted) {
      const auto& into = dims.scatter_dims_to_operand_dims;
      const auto number = std::find(into.begin(), into.end(), d);
      if (number == into.end()) continue;
      if (!result.dim(d).empty()) tilings.offsets.emplace_back(number - into.begin(), d);
      for (const auto& [position, pair] : counted) {
        if (pair.first != d) continue;
        TakeCut(result, d, &tilings.indices, pair.second);
        TakeCut(result, d, &tilings.updates, UpdatesDim(dims, pair.second));
      }
    } else {
      const int64_t of_updates = dims.update_window_dims[window++];
      if (updates.dim(of_updates) != input.dim(d)) continue;
      TakeCut(result, d, &tilings.updates, of_updates);
    }
    TakeCut(result, d, &tilings.result, d);
  }
  return tilings;
}

bool KeepsOrderedDim(const HloInstruction& i) {
  const Int64List& dims = i.operand(0)->shape().dims();
  const int64_t elements = i.operand(0)->shape().ElementCount();
  if (i.opcode() != O::kSort) return !HasDim(dims, elements);
  if (dims[i.dimensions()[0]] == elements) return false;
  if (i.operand_count() != 2) return true;
  const HloInstruction* positions = i.operand(1);
  while (positions->opcode() == O::kBroadcast) positions = positions->operand(0);
  const HloComputation* comparator = i.to_apply();
  const HloInstruction* root = comparator->root();
  return positions->opcode() != O::kIota || root->opcode() != O::kCompare ||
         root->operand(0) != comparator->parameter(0) || root->operand(1) != comparator->parameter(1) ||
         root->direction() != CompareDirection::kGt;
}

}  // namespace xc
