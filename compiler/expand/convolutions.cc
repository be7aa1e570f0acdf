// Convolutions of more than three spatial dimensions as ones of three: the windows of the others are laid out in the
// input, their positions as batches and their elements as features.
#include "compiler/expand/expand.h"
#include "compiler/make.h"

namespace xc {
namespace {

using I = HloInstruction;

constexpr int64_t kKeptDims = 3;

// `x` with zeros before, between and behind its elements along dimension `d`, as the window asks.
I* Padded(I* x, int64_t d, const WindowDim& w) {
  if (w.padding_low == 0 && w.padding_high == 0 && w.base_dilation == 1) return x;
  PaddingAttr padding;
  padding.dims.resize(x->shape().rank());
  padding.dims[d] = {w.padding_low, w.padding_high, w.base_dilation - 1};
  Shape shape(x->type(), x->shape().dims());
  const int64_t size = x->shape().dim(d);
  shape.set_dim(d, size + std::max<int64_t>(0, size - 1) * (w.base_dilation - 1) + w.padding_low + w.padding_high);
  I* pad = x->parent()->Add(HloOpcode::kPad, shape, {x, make::Scalar(x->parent(), x->type(), 0)});
  pad->set_attr<AttrKind::kPadding>(std::move(padding));
  return pad;
}

// Dimension `d` of `x`, padded, becomes two: the `count` places of the window and the elements in it.
I* Windows(I* x, int64_t d, const WindowDim& w, int64_t count) {
  x = Padded(x, d, w);
  Literal places(Shape(ElementType::kS64, {count, w.size}));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < w.size; ++k) {
      places.SetInt(i * w.size + k, i * w.stride + (w.reversal ? w.size - 1 - k : k) * w.window_dilation);
    }
  }
  GatherDims dims;
  Int64List sizes = x->shape().dims(), result = sizes;
  sizes[d] = 1;
  result[d] = count;
  result.insert(result.begin() + d + 1, w.size);
  for (int64_t i = 0; i < static_cast<int64_t>(result.size()); ++i) {
    if (i != d && i != d + 1) dims.offset_dims.push_back(i);
  }
  dims.collapsed_slice_dims = dims.start_index_map = {d};
  dims.index_vector_dim = 2;
  I* indices = x->parent()->Add(HloInstruction::CreateConstant(std::move(places)));
  I* gather = x->parent()->Add(HloOpcode::kGather, Shape(x->type(), result), {x, indices});
  gather->set_attr<AttrKind::kGatherDims>(std::move(dims));
  gather->set_attr<AttrKind::kSliceSizes>(std::move(sizes));
  return gather;
}

// `x` with its dimensions in the order of the groups, each group as one dimension.
I* Grouped(I* x, const std::vector<Int64List>& groups) {
  Int64List order, sizes;
  for (const Int64List& group : groups) {
    sizes.push_back(1);
    for (int64_t d : group) {
      order.push_back(d);
      sizes.back() *= x->shape().dim(d);
    }
  }
  return make::Reshape(make::Transpose(x, order), sizes);
}

I* Expanded(I* conv) {
  const ConvDims dims = conv->conv_dims();
  const int64_t rank = static_cast<int64_t>(dims.input_spatial.size()), extra = rank - kKeptDims;
  const WindowAttr window = conv->attr_or<AttrKind::kWindow>({});
  if (extra <= 0 || static_cast<int64_t>(window.dims.size()) != rank || conv->shape().is_dynamic()) return nullptr;
  I *lhs = conv->operand(0), *rhs = conv->operand(1);
  if (lhs->shape().is_dynamic() || rhs->shape().is_dynamic()) return nullptr;
  if (conv->shape().IsZeroSized() || lhs->shape().IsZeroSized() || rhs->shape().IsZeroSized()) return nullptr;

  // Where the input's dimensions are now; each of those laid out is followed by its windows' elements.
  Int64List spatial = dims.input_spatial;
  int64_t batch = dims.input_batch, feature = dims.input_feature;
  Int64List batches, features, kernel_features;
  for (int64_t e = 0; e < extra; ++e) {
    const int64_t d = spatial[e], count = conv->shape().dim(dims.output_spatial[e]);
    lhs = Windows(lhs, d, window.dims[e], count);
    const auto shift = [d](int64_t& place) { place += place > d; };
    shift(batch);
    shift(feature);
    for (int64_t& place : spatial) shift(place);
    for (int64_t& place : features) shift(place);
    features.push_back(d + 1);
    kernel_features.push_back(dims.kernel_spatial[e]);
  }
  batches.assign(spatial.begin(), spatial.begin() + extra);
  batches.insert(batches.begin(), batch);
  features.insert(features.begin(), feature);
  kernel_features.insert(kernel_features.begin(), dims.kernel_input_feature);

  std::vector<Int64List> lhs_groups = {batches, features}, rhs_groups = {kernel_features, {dims.kernel_output_feature}};
  ConvDims flat;
  flat.input_feature = flat.kernel_output_feature = flat.output_feature = 1;
  // batch, features, kept dimensions of the flat result; then as the convolution has them.
  Int64List flat_sizes = {conv->shape().dim(dims.output_batch), conv->shape().dim(dims.output_feature)};
  Int64List full_sizes = {flat_sizes[0]}, place(conv->shape().rank());
  place[dims.output_batch] = 0;
  for (int64_t e = 0; e < extra; ++e) {
    place[dims.output_spatial[e]] = static_cast<int64_t>(full_sizes.size());
    full_sizes.push_back(conv->shape().dim(dims.output_spatial[e]));
    flat_sizes[0] *= full_sizes.back();
  }
  place[dims.output_feature] = static_cast<int64_t>(full_sizes.size());
  full_sizes.push_back(flat_sizes[1]);
  for (int64_t s = extra; s < rank; ++s) {
    lhs_groups.push_back({spatial[s]});
    rhs_groups.push_back({dims.kernel_spatial[s]});
    for (Int64List* list : {&flat.input_spatial, &flat.kernel_spatial, &flat.output_spatial}) {
      list->push_back(2 + s - extra);
    }
    place[dims.output_spatial[s]] = static_cast<int64_t>(full_sizes.size());
    flat_sizes.push_back(conv->shape().dim(dims.output_spatial[s]));
    full_sizes.push_back(flat_sizes.back());
  }
  I* product = conv->parent()->Add(
      conv->CloneWith(Shape(conv->type(), flat_sizes), {Grouped(lhs, lhs_groups), Grouped(rhs, rhs_groups)}));
  product->set_attr<AttrKind::kDimLabels>(std::move(flat));
  product->set_attr<AttrKind::kWindow>({{window.dims.begin() + extra, window.dims.end()}});
  return make::Transpose(make::Reshape(product, full_sizes), place);
}

}  // namespace

absl::StatusOr<bool> ExpandConvolutions(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* op : computation->PostOrder()) {
      if (op->opcode() != HloOpcode::kConvolution) continue;
      I* value = Expanded(op);
      if (value == nullptr) continue;
      context.Count("convolutions.expanded");
      computation->Replace(op, value);
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
