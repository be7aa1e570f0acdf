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

ShardingRule OfGather(const HloInstruction& i) {
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
    builder.Share(operands, {{0, d}});
    ++from;
  }
  return std::move(builder.rule);
}

}  // namespace

std::optional<ShardingRule> IndependentDims(const HloInstruction& i) {
  for (const HloInstruction* operand : i.operands()) {
    if (!operand->shape().IsArray()) return std::nullopt;
  }
  for (const Shape& shape : ArraysOf(i.shape())) {
    if (!shape.IsArray()) return std::nullopt;
  }
  switch (i.opcode()) {
    case O::kGather:
      return OfGather(i);
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
  size_t window = 0;
  for (int64_t d = 0; d < input.rank(); ++d) {
    const auto batch = std::find(dims.input_batching_dims.begin(), dims.input_batching_dims.end(), d);
    const bool inserted = HasDim(dims.inserted_window_dims, d);
    if (batch != dims.input_batching_dims.end()) {
      const int64_t of_indices = dims.scatter_indices_batching_dims[batch - dims.input_batching_dims.begin()];
      // The dimension of the updates at this one of the indices.
      int64_t position = of_indices - (dims.index_vector_dim < of_indices ? 1 : 0), of_updates = 0;
      for (; HasDim(dims.update_window_dims, of_updates) || position-- > 0; ++of_updates) {
      }
      TakeCut(result, d, &tilings.indices, of_indices);
      TakeCut(result, d, &tilings.updates, of_updates);
    } else if (inserted) {
      const auto& into = dims.scatter_dims_to_operand_dims;
      const auto number = std::find(into.begin(), into.end(), d);
      if (number == into.end()) continue;
      if (!result.dim(d).empty()) tilings.offsets.emplace_back(number - into.begin(), d);
    } else {
      const int64_t of_updates = dims.update_window_dims[window++];
      if (updates.dim(of_updates) != input.dim(d)) continue;
      TakeCut(result, d, &tilings.updates, of_updates);
    }
    TakeCut(result, d, &tilings.result, d);
  }
  return tilings;
}

}  // namespace xc
