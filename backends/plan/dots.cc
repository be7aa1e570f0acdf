// dot and convolution: descriptors for the runtime's kernels.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/plan/planner_impl.h"
#include "compiler/expand/expand.h"
#include "hlo/base/choices.h"

namespace xc::plan {
namespace {

// Whether the runtime multiplies these types.
Decision TypesKnown(ElementType a, ElementType b, ElementType c) {
  if (IsProductOfKernels(a, b, c)) return Decision::Yes();
  return Decision::No(absl::StrCat("there is no product of ", ElementTypeName(a), " and ", ElementTypeName(b), " in ",
                                   ElementTypeName(c)));
}

// Dimensions walked together with one stride, or several.
struct Axis {
  int64_t size = 1, stride = 0;
};

// Joins neighbouring dimensions (major first) that one stride can walk.
std::vector<Axis> Collapse(const std::vector<int64_t>& dims, const Shape& shape, const std::vector<int64_t>& strides) {
  std::vector<Axis> axes;
  for (int64_t d : dims) {
    const int64_t size = shape.dim(d);
    if (size == 1) continue;
    if (!axes.empty() && axes.back().stride == size * strides[d]) {
      axes.back() = {axes.back().size * size, strides[d]};
    } else {
      axes.push_back({size, strides[d]});
    }
  }
  return axes;
}

// A free dimension: as it lies in the operand, and its stride in the result.
using FreeAxis = std::pair<Axis, int64_t>;

// Puts the one that the kernels are to walk last: that of the most elements where the last one has few, unless the
// operand is contiguous along it.
void PutLongestLast(std::vector<FreeAxis>* axes) {
  constexpr int64_t kFew = 16;
  if (axes->size() < 2 || axes->back().first.size >= kFew || axes->back().first.stride == 1) return;
  const auto longest = std::max_element(
      axes->begin(), axes->end(), [](const FreeAxis& a, const FreeAxis& b) { return a.first.size < b.first.size; });
  std::rotate(longest, longest + 1, axes->end());
}

// Whether a convolution with constant weights has them packed at compile time: not those that are matrices with a few
// rows, which read weights once, and not those with so few features that vectors of them would be almost empty. Short
// sums of f32, or of a few features each, are the library's.
bool PacksWeights(const ConvDesc& desc) {
  constexpr int64_t kFewRows = 8, kFewFeatures = 4, kShortRun = 16, kShortSum = 64;
  if (!TakesPackedWeights(desc) || desc.out_features < kFewFeatures * desc.feature_groups) return false;
  const int64_t run = desc.in_features / desc.feature_groups;
  const int64_t sum = run * desc.kernel[0] * desc.kernel[1] * desc.kernel[2];
  if (desc.lhs_type == static_cast<int32_t>(RtType::kF32) && (run < kShortRun || sum < kShortSum)) return false;
  // Programs for several sizes would have a copy each.
  return !ForAllSizes() && desc.batch * desc.out[0] * desc.out[1] * desc.out[2] >= kFewRows;
}

// The columns of the blocks that a constant right operand is cut into, which the library reads at the speed of memory:
// of the widest that divide it. 0: it stays as it is, since it is small enough for the caches, or read once by a few
// rows, or since programs for several sizes would have a copy each.
int64_t ColumnsOfBlock(const MatmulDesc& desc) {
  constexpr int64_t kFewRows = 8, kMost = 128, kLeast = 64, kMultiple = 16, kSmall = int64_t{1} << 18;
  const auto is_f32 = [](int32_t type) { return type == static_cast<int32_t>(RtType::kF32); };
  if (!is_f32(desc.a_type) || !is_f32(desc.b_type) || !is_f32(desc.c_type) || desc.num_batch_dims > 0) return 0;
  if (ForAllSizes() || desc.m < kFewRows || desc.c_n != 1 || desc.k * desc.n < kSmall) return 0;
  for (int64_t blocks = (desc.n - 1) / kMost + 1; blocks > 1 && desc.n / blocks >= kLeast; ++blocks) {
    if (desc.n % (blocks * kMultiple) == 0) return desc.n / blocks;
  }
  return 0;
}

bool Contains(const Int64List& list, int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

}  // namespace

Decision PlanDot(Planner& planner, const HloInstruction* dot) {
  const HloInstruction *lhs = dot->operand(0), *rhs = dot->operand(1);
  if (Decision types = TypesKnown(lhs->type(), rhs->type(), dot->type()); !types) return types;
  if (dot->FindAttr<AttrKind::kSparsity>() != nullptr) return Decision::No("an operand is sparse");
  const DotDims& dims = dot->dot_dims();
  const std::vector<int64_t> ls = ElementStrides(lhs->shape()), rs = ElementStrides(rhs->shape()),
                             os = ElementStrides(dot->shape());
  MatmulDesc desc;
  desc.a_type = static_cast<int32_t>(lhs->type());
  desc.b_type = static_cast<int32_t>(rhs->type());
  desc.c_type = static_cast<int32_t>(dot->type());
  struct Batch {
    int64_t size, a, b, c;
  };
  std::vector<Batch> batch;
  auto add_batch = [&](Batch next) {
    if (next.size == 1) return;
    if (!batch.empty()) {
      Batch& last = batch.back();
      if (last.a == next.a * next.size && last.b == next.b * next.size && last.c == next.c * next.size) {
        last = {last.size * next.size, next.a, next.b, next.c};
        return;
      }
    }
    batch.push_back(next);
  };
  int64_t out = 0;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i, ++out) {
    add_batch({lhs->shape().dim(dims.lhs_batch[i]), ls[dims.lhs_batch[i]], rs[dims.rhs_batch[i]], os[out]});
  }
  // Free dimensions that one stride cannot walk in both operand and result count as batches of the other operand.
  auto free_axes = [&](const HloInstruction* side, const Int64List& side_batch, const Int64List& contracting,
                       const std::vector<int64_t>& strides) {
    std::vector<FreeAxis> axes;
    for (int64_t d = 0; d < side->shape().rank(); ++d) {
      if (Contains(side_batch, d) || Contains(contracting, d)) continue;
      const int64_t size = side->shape().dim(d), in = strides[d], to = os[out++];
      if (size == 1) continue;
      if (!axes.empty() && axes.back().first.stride == size * in && axes.back().second == size * to) {
        axes.back() = {{axes.back().first.size * size, in}, to};
      } else {
        axes.push_back({{size, in}, to});
      }
    }
    PutLongestLast(&axes);
    return axes;
  };
  auto m = free_axes(lhs, dims.lhs_batch, dims.lhs_contracting, ls);
  auto n = free_axes(rhs, dims.rhs_batch, dims.rhs_contracting, rs);
  for (size_t i = 0; i + 1 < m.size(); ++i) add_batch({m[i].first.size, m[i].first.stride, 0, m[i].second});
  for (size_t i = 0; i + 1 < n.size(); ++i) add_batch({n[i].first.size, 0, n[i].first.stride, n[i].second});
  if (!m.empty()) desc.m = m.back().first.size, desc.a_m = m.back().first.stride, desc.c_m = m.back().second;
  if (!n.empty()) desc.n = n.back().first.size, desc.b_n = n.back().first.stride, desc.c_n = n.back().second;
  std::vector<Axis> ka = Collapse(dims.lhs_contracting, lhs->shape(), ls);
  std::vector<Axis> kb = Collapse(dims.rhs_contracting, rhs->shape(), rs);
  if (ka.size() > 1 || kb.size() > 1) {
    return Decision::No("its contracting dimensions do not follow each other with one stride in both operands");
  }
  if (batch.size() > static_cast<size_t>(kMaxBatchDims)) {
    return Decision::No(absl::StrCat("it has ", batch.size(), " batch dimensions; ", kMaxBatchDims, " are known"));
  }
  for (int64_t d : dims.lhs_contracting) desc.k *= lhs->shape().dim(d);
  if (!ka.empty()) desc.a_k = ka[0].stride, desc.b_k = kb[0].stride;
  // Strides of single rows and columns are free: the natural ones let the library see a dense matrix.
  if (desc.m == 1) desc.a_m = desc.k, desc.c_m = desc.n;
  if (desc.n == 1) desc.b_n = 1, desc.c_n = 1;
  if (desc.k == 1) desc.a_k = 1, desc.b_k = desc.n;
  desc.num_batch_dims = batch.size();
  for (size_t i = 0; i < batch.size(); ++i) {
    desc.batch[i] = batch[i].size;
    desc.a_batch[i] = batch[i].a;
    desc.b_batch[i] = batch[i].b;
    desc.c_batch[i] = batch[i].c;
  }
  if (dot->shape().IsZeroSized()) {
    planner.Add(dot, Alias{});
    return Decision::Yes();
  }
  BufferSlice right = planner.Slice(rhs);
  const bool constant = rhs->opcode() == HloOpcode::kConstant && !rhs->literal().elided();
  if (const int64_t columns = ColumnsOfBlock(desc); columns > 0 && constant && planner.target().direct_convolutions) {
    right = planner.ColumnBlocks(rhs->shared_literal(), desc, columns);
    // A product of the same left operand with each block.
    desc.num_batch_dims = 1;
    desc.batch[0] = desc.n / columns;
    desc.b_batch[0] = desc.k * columns;
    desc.c_batch[0] = columns;
    desc.n = desc.b_k = columns;
    desc.b_n = 1;
  }
  planner.AddCall(dot, "xc_rt_matmul", {desc, planner.Slice(lhs), right, planner.Slice(dot)});
  return Decision::Yes();
}

Decision PlanConvolution(Planner& planner, const HloInstruction* conv) {
  const HloInstruction *lhs = conv->operand(0), *rhs = conv->operand(1);
  if (Decision types = TypesKnown(lhs->type(), rhs->type(), conv->type()); !types) return types;
  const ConvDims& dims = conv->conv_dims();
  const WindowAttr window = conv->attr_or<AttrKind::kWindow>({});
  const size_t rank = dims.input_spatial.size();
  if (rank > 3) return Decision::No(absl::StrCat("it has ", rank, " spatial dimensions; 3 are known"));
  if (rank > 0 && window.dims.size() != rank) return Decision::No("its window has other dimensions than its arrays");
  if (conv->shape().IsZeroSized()) {
    planner.Add(conv, Alias{});
    return Decision::Yes();
  }
  if (lhs->shape().IsZeroSized() || rhs->shape().IsZeroSized()) return Decision::No("an operand has no elements");
  const std::vector<int64_t> ls = ElementStrides(lhs->shape()), rs = ElementStrides(rhs->shape()),
                             os = ElementStrides(conv->shape());
  ConvDesc desc;
  desc.lhs_type = static_cast<int32_t>(lhs->type());
  desc.rhs_type = static_cast<int32_t>(rhs->type());
  desc.out_type = static_cast<int32_t>(conv->type());
  desc.rank = rank;
  desc.batch = lhs->shape().dim(dims.input_batch);
  desc.in_features = lhs->shape().dim(dims.input_feature);
  desc.out_features = conv->shape().dim(dims.output_feature);
  desc.feature_groups = conv->attr_or<AttrKind::kFeatureGroupCount>(1);
  desc.batch_groups = conv->attr_or<AttrKind::kBatchGroupCount>(1);
  desc.lhs_strides[0] = ls[dims.input_batch];
  desc.lhs_strides[1] = ls[dims.input_feature];
  desc.rhs_strides[0] = rs[dims.kernel_input_feature];
  desc.rhs_strides[1] = rs[dims.kernel_output_feature];
  desc.out_strides[0] = os[dims.output_batch];
  desc.out_strides[1] = os[dims.output_feature];
  for (size_t i = 0; i < rank; ++i) {
    const WindowDim& w = window.dims[i];
    desc.in[i] = lhs->shape().dim(dims.input_spatial[i]);
    desc.kernel[i] = rhs->shape().dim(dims.kernel_spatial[i]);
    desc.out[i] = conv->shape().dim(dims.output_spatial[i]);
    desc.stride[i] = w.stride;
    desc.base_dilation[i] = w.base_dilation;
    desc.window_dilation[i] = w.window_dilation;
    desc.pad_low[i] = w.padding_low;
    desc.pad_high[i] = w.padding_high;
    desc.reversed[i] = w.reversal;
    desc.lhs_strides[2 + i] = ls[dims.input_spatial[i]];
    desc.rhs_strides[2 + i] = rs[dims.kernel_spatial[i]];
    desc.out_strides[2 + i] = os[dims.output_spatial[i]];
  }
  BufferSlice weights = planner.Slice(rhs);
  const bool constant = rhs->opcode() == HloOpcode::kConstant && !rhs->literal().elided();
  if (planner.target().direct_convolutions && constant && PacksWeights(desc)) {
    weights = planner.PackedWeights(rhs->shared_literal(), desc);
    desc.packed = 1;
  }
  planner.AddCall(conv, "xc_rt_convolution", {desc, planner.Slice(lhs), weights, planner.Slice(conv)});
  return Decision::Yes();
}

}  // namespace xc::plan
