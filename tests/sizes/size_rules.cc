#include "tests/sizes/size_rules.h"

#include <algorithm>

#include "hlo/opcode.h"

namespace xc {
namespace {

bool Contains(const Int64List& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); }

SizeExpression Product(const std::vector<SizeExpression>& sizes) {
  SizeExpression product(1);
  for (const SizeExpression& size : sizes) product = product * size;
  return product;
}

}  // namespace

void SizeRules::Run() {
  std::vector<Leaves> parameters;
  for (const HloInstruction* p : all_.module_->entry()->parameters()) parameters.push_back(Fresh(p->shape()));
  Visit(all_.module_->entry(), parameters);
}

SizeRules::Leaves SizeRules::Fresh(const Shape& shape) {
  Leaves leaves;
  for (const auto& [index, leaf] : xc::Leaves(shape)) {
    Leaf sizes;
    if (leaf->IsArray()) {
      for (int64_t d : leaf->dims()) sizes.push_back(unknown_.Fresh(d));
    }
    leaves.push_back(std::move(sizes));
  }
  return leaves;
}

SizeRules::Leaves SizeRules::Fixed(const I* i) {
  for (const I* operand : i->operands()) Fix(Of(operand));
  Leaves leaves = Fresh(i->shape());
  Fix(leaves);
  return leaves;
}

void SizeRules::Fix(const Leaf& leaf) {
  for (const SizeExpression& size : leaf) unknown_.Fix(size);
}

void SizeRules::Fix(const Leaves& leaves) {
  for (const Leaf& leaf : leaves) Fix(leaf);
}

void SizeRules::Equate(const Leaf& a, const Leaf& b) {
  for (size_t d = 0; d < std::min(a.size(), b.size()); ++d) unknown_.Equate(a[d], b[d]);
}

void SizeRules::Equate(const Leaves& a, const Leaves& b) {
  for (size_t l = 0; l < std::min(a.size(), b.size()); ++l) Equate(a[l], b[l]);
}

SizeRules::Leaves SizeRules::Visit(const HloComputation* computation, const std::vector<Leaves>& arguments) {
  if (const auto it = visited_.find(computation); it != visited_.end()) {
    for (size_t p = 0; p < arguments.size(); ++p) {
      Equate(Of(computation->parameter(static_cast<int64_t>(p))), arguments[p]);
    }
    return it->second;
  }
  for (int64_t p = 0; p < computation->parameter_count(); ++p) {
    const I* parameter = computation->parameter(p);
    all_.leaves_[parameter->id()] =
        p < static_cast<int64_t>(arguments.size()) ? arguments[p] : Fresh(parameter->shape());
  }
  for (const I* i : computation->PostOrder()) {
    if (i->opcode() != HloOpcode::kParameter) all_.leaves_[i->id()] = Infer(i);
  }
  return visited_[computation] = Of(computation->root());
}

SizeRules::Leaves SizeRules::Call(const I* i) {
  switch (i->opcode()) {
    case HloOpcode::kWhile: {
      const Leaves state = Of(i->operand(0));
      Visit(i->while_condition(), {state});
      Equate(Visit(i->while_body(), {state}), state);
      return state;
    }
    case HloOpcode::kConditional: {
      Leaves result;
      for (size_t b = 0; b < i->called_computations().size(); ++b) {
        const Leaves of_branch = Visit(i->called(b), {Of(i->operand(b + 1))});
        if (b == 0) result = of_branch;
        Equate(of_branch, result);
      }
      return result;
    }
    default: {  // call, fusion
      std::vector<Leaves> arguments;
      for (const I* operand : i->operands()) arguments.push_back(Of(operand));
      return Visit(i->called(0), arguments);
    }
  }
}

SizeRules::Leaf SizeRules::Elementwise(const I* i) {
  const Leaf* result = nullptr;
  for (int64_t o = 0; o < i->operand_count(); ++o) {
    if (i->operand(o)->shape().rank() != i->shape().rank()) continue;  // a scalar
    if (result == nullptr) result = &Operand(i, o);
    Equate(*result, Operand(i, o));
  }
  return result == nullptr ? Leaf() : *result;
}

SizeRules::Leaf SizeRules::Split(const Leaf& ins, const std::vector<int64_t>& outs) {
  if (outs.size() == 1) return {Product(ins)};
  const SizeExpression whole = unknown_.Normal(Product(ins));
  Leaf sizes;
  // One product: its factors are handed out.
  if (whole.terms().size() == 1) {
    auto [factors, number] = *whole.terms().begin();
    std::vector<int> left = factors;
    for (int64_t out : outs) {
      SizeExpression size(1);
      for (size_t f = 0; f < left.size();) {
        const int64_t original = unknown_.Original(left[f]);
        if (original > 1 && out % original == 0) {
          size = size * SizeExpression::Unknown(left[f]);
          out /= original;
          left.erase(left.begin() + static_cast<int64_t>(f));
        } else {
          ++f;
        }
      }
      sizes.push_back(size * SizeExpression(out));
    }
    if (left.empty()) return sizes;
    sizes.clear();
    if (factors.size() == 1 && number == 1) {
      for (int64_t out : outs) sizes.push_back(unknown_.Fresh(out));
      unknown_.Equate(whole, Product(sizes));
      return sizes;
    }
  }
  unknown_.Fix(whole);
  for (int64_t out : outs) sizes.push_back(SizeExpression(out));
  return sizes;
}

SizeRules::Leaf SizeRules::Reshape(const Leaf& from, const Shape& in, const Shape& out) {
  Leaf sizes;
  if (in.IsZeroSized()) {
    Fix(from);
    for (int64_t d : out.dims()) sizes.push_back(SizeExpression(d));
    return sizes;
  }
  int64_t i = 0, j = 0;
  while (i < in.rank() || j < out.rank()) {
    int64_t p = 1, q = 1;
    Leaf ins;
    std::vector<int64_t> outs;
    const auto take_in = [&] {
      p *= in.dim(i);
      ins.push_back(from[i++]);
    };
    const auto take_out = [&] {
      q *= out.dim(j);
      outs.push_back(out.dim(j++));
    };
    if (i < in.rank()) take_in();
    if (j < out.rank()) take_out();
    while (p != q) p < q ? take_in() : take_out();
    while (i < in.rank() && in.dim(i) == 1) take_in();
    while (j < out.rank() && out.dim(j) == 1) take_out();
    // Dimensions of size 1 are no factors.
    std::vector<int64_t> real;
    for (int64_t d : outs) {
      if (d != 1) real.push_back(d);
    }
    const Leaf parts = real.empty() ? Leaf() : Split(ins, real);
    size_t next = 0;
    for (int64_t d : outs) sizes.push_back(d == 1 ? SizeExpression(1) : parts[next++]);
  }
  return sizes;
}

SizeRules::Leaf SizeRules::Slice(const I* i) {
  const Shape& from = i->operand(0)->shape();
  const SliceAttr slice = i->slice();
  Resizable::Numbers& numbers = all_.numbers_[i->id()];
  Leaf sizes;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int64_t size = from.dim(d), start = slice.starts[d], limit = slice.limits[d];
    const int64_t stride = slice.strides.empty() ? 1 : slice.strides[d];
    const SizeExpression& whole = Operand(i, 0)[d];
    // What ends in the second half is seen from the end.
    const SizeExpression end = 2 * limit > size ? whole - SizeExpression(size - limit) : SizeExpression(limit);
    numbers.slice_starts.push_back(SizeExpression(start));
    numbers.slice_limits.push_back(end);
    sizes.push_back(unknown_.Quotient(end + SizeExpression(stride - 1 - start), stride));
  }
  return sizes;
}

SizeRules::Leaf SizeRules::Dot(const I* i) {
  const DotDims& dims = i->dot_dims();
  const Leaf lhs = Operand(i, 0), rhs = Operand(i, 1);
  Leaf sizes;
  for (size_t b = 0; b < dims.lhs_batch.size(); ++b) {
    unknown_.Equate(lhs[dims.lhs_batch[b]], rhs[dims.rhs_batch[b]]);
    sizes.push_back(lhs[dims.lhs_batch[b]]);
  }
  for (size_t c = 0; c < dims.lhs_contracting.size(); ++c) {
    unknown_.Equate(lhs[dims.lhs_contracting[c]], rhs[dims.rhs_contracting[c]]);
  }
  const auto add_free = [&](const Leaf& side, const Int64List& batch, const Int64List& contracting) {
    for (int64_t d = 0; d < static_cast<int64_t>(side.size()); ++d) {
      if (!Contains(batch, d) && !Contains(contracting, d)) sizes.push_back(side[d]);
    }
  };
  add_free(lhs, dims.lhs_batch, dims.lhs_contracting);
  add_free(rhs, dims.rhs_batch, dims.rhs_contracting);
  return sizes;
}

SizeExpression SizeRules::WindowCount(const SizeExpression& size, const WindowDim& w, const SizeExpression& window) {
  const SizeExpression padded =
      size * SizeExpression(w.base_dilation) + SizeExpression(1 - w.base_dilation + w.padding_low + w.padding_high);
  const SizeExpression extent = window * SizeExpression(w.window_dilation) + SizeExpression(1 - w.window_dilation);
  return unknown_.Quotient(padded - extent + SizeExpression(w.stride), w.stride);
}

SizeRules::Leaf SizeRules::Windows(const I* i, const Leaf& from) {
  const Shape& shape = i->operand(0)->shape();
  Leaf sizes;
  Resizable::Numbers numbers;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const WindowDim& w = i->window().dims[d];
    const bool before = w.padding_low == w.size - 1 && w.padding_high == 0;
    const bool behind = w.padding_high == w.size - 1 && w.padding_low == 0;
    const bool running = i->opcode() == HloOpcode::kReduceWindow && before != behind && w.size == shape.dim(d) &&
                         w.stride == 1 && w.window_dilation == 1 && w.base_dilation == 1;
    numbers.windows.push_back(running ? from[d] : SizeExpression(w.size));
    sizes.push_back(running ? from[d] : WindowCount(from[d], w, SizeExpression(w.size)));
  }
  if (i->opcode() == HloOpcode::kReduceWindow) all_.numbers_[i->id()] = std::move(numbers);
  return sizes;
}

SizeRules::Leaf SizeRules::Convolution(const I* i) {
  const ConvDims& dims = i->conv_dims();
  const Leaf lhs = Operand(i, 0), rhs = Operand(i, 1);
  const bool grouped =
      i->attr_or<AttrKind::kFeatureGroupCount>(1) != 1 || i->attr_or<AttrKind::kBatchGroupCount>(1) != 1;
  if (grouped) {
    unknown_.Fix(lhs[dims.input_feature]);
    unknown_.Fix(rhs[dims.kernel_input_feature]);
    unknown_.Fix(rhs[dims.kernel_output_feature]);
    if (i->attr_or<AttrKind::kBatchGroupCount>(1) != 1) unknown_.Fix(lhs[dims.input_batch]);
  } else {
    unknown_.Equate(lhs[dims.input_feature], rhs[dims.kernel_input_feature]);
  }
  Leaf sizes(i->shape().rank(), SizeExpression(0));
  sizes[dims.output_batch] = lhs[dims.input_batch];
  if (i->attr_or<AttrKind::kBatchGroupCount>(1) != 1) {
    sizes[dims.output_batch] = SizeExpression(i->shape().dim(dims.output_batch));
  }
  sizes[dims.output_feature] = rhs[dims.kernel_output_feature];
  const WindowAttr window = i->attr_or<AttrKind::kWindow>({});
  for (size_t s = 0; s < dims.input_spatial.size(); ++s) {
    unknown_.Fix(rhs[dims.kernel_spatial[s]]);
    const WindowDim& w = window.dims[s];
    sizes[dims.output_spatial[s]] = WindowCount(lhs[dims.input_spatial[s]], w, SizeExpression(w.size));
  }
  return sizes;
}

SizeRules::Leaf SizeRules::Gather(const I* i) {
  const GatherDims& dims = i->gather_dims();
  const Int64List slice_sizes = i->attr<AttrKind::kSliceSizes>();
  const Leaf from = Operand(i, 0), indices = Operand(i, 1);
  if (dims.index_vector_dim < static_cast<int64_t>(indices.size())) unknown_.Fix(indices[dims.index_vector_dim]);
  for (size_t b = 0; b < dims.operand_batching_dims.size(); ++b) {
    unknown_.Equate(from[dims.operand_batching_dims[b]], indices[dims.start_indices_batching_dims[b]]);
  }
  Leaf window, parts;
  for (int64_t d = 0; d < static_cast<int64_t>(from.size()); ++d) {
    const bool whole = slice_sizes[d] == i->operand(0)->shape().dim(d) && slice_sizes[d] > 1;
    parts.push_back(whole ? from[d] : SizeExpression(slice_sizes[d]));
    if (!Contains(dims.collapsed_slice_dims, d) && !Contains(dims.operand_batching_dims, d)) {
      window.push_back(parts.back());
    }
  }
  all_.numbers_[i->id()].sizes = parts;
  Leaf sizes;
  size_t next_window = 0, next_index = 0;
  for (int64_t d = 0; d < i->shape().rank(); ++d) {
    if (Contains(dims.offset_dims, d)) {
      sizes.push_back(window[next_window++]);
      continue;
    }
    if (static_cast<int64_t>(next_index) == dims.index_vector_dim) ++next_index;
    sizes.push_back(indices[next_index++]);
  }
  return sizes;
}

void SizeRules::Scatter(const I* i) {
  const ScatterDims& dims = i->scatter_dims();
  const int64_t n = i->operand_count() / 2;
  const Leaf into = Operand(i, 0), indices = Operand(i, n);
  if (dims.index_vector_dim < static_cast<int64_t>(indices.size())) unknown_.Fix(indices[dims.index_vector_dim]);
  for (size_t b = 0; b < dims.input_batching_dims.size(); ++b) {
    unknown_.Equate(into[dims.input_batching_dims[b]], indices[dims.scatter_indices_batching_dims[b]]);
  }
  Int64List window;  // dimensions of the operand
  for (int64_t d = 0; d < static_cast<int64_t>(into.size()); ++d) {
    if (!Contains(dims.inserted_window_dims, d) && !Contains(dims.input_batching_dims, d)) window.push_back(d);
  }
  for (int64_t k = 0; k < n; ++k) {
    Equate(into, Operand(i, k));
    const I* operand = i->operand(n + 1 + k);
    const Leaf updates = Of(operand)[0];
    size_t next_window = 0, next_index = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(updates.size()); ++d) {
      if (Contains(dims.update_window_dims, d)) {
        const int64_t of = window[next_window++];
        const bool whole = operand->shape().dim(d) == i->operand(0)->shape().dim(of);
        whole ? unknown_.Equate(updates[d], into[of]) : unknown_.Fix(updates[d]);
        continue;
      }
      if (static_cast<int64_t>(next_index) == dims.index_vector_dim) ++next_index;
      unknown_.Equate(updates[d], indices[next_index++]);
    }
  }
}

SizeRules::Leaves SizeRules::Infer(const I* i) {
  switch (i->opcode()) {
    case HloOpcode::kConstant:
      return i->IsBroadcastScalarConstant() && !i->literal().elided() ? Fresh(i->shape()) : Fixed(i);
    case HloOpcode::kIota:
    case HloOpcode::kRng:
      return Fresh(i->shape());
    case HloOpcode::kBroadcast: {
      Leaves made = Fresh(i->shape());
      for (size_t d = 0; d < i->dimensions().size(); ++d) made[0][i->dimensions()[d]] = Operand(i, 0)[d];
      return made;
    }
    case HloOpcode::kReshape:
      return {Reshape(Operand(i, 0), i->operand(0)->shape(), i->shape())};
    case HloOpcode::kTranspose: {
      Leaf sizes;
      for (int64_t d : i->dimensions()) sizes.push_back(Operand(i, 0)[d]);
      return {sizes};
    }
    case HloOpcode::kReverse:
    case HloOpcode::kCopy:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kCholesky:
      return Of(i->operand(0));
    case HloOpcode::kBitcastConvert:
      if (ElementBits(i->type()) != ElementBits(i->operand(0)->type())) return Fixed(i);
      return Of(i->operand(0));
    case HloOpcode::kTriangularSolve: {
      const Leaf a = Operand(i, 0), b = Operand(i, 1);
      const size_t rank = a.size();
      for (size_t d = 0; d + 2 < rank; ++d) unknown_.Equate(a[d], b[d]);
      unknown_.Equate(a[rank - 1], a[rank - 2]);
      unknown_.Equate(a[rank - 1], b[i->attr_or<AttrKind::kLeftSide>(false) ? rank - 2 : rank - 1]);
      return {b};
    }
    case HloOpcode::kReduce: {
      const Leaf from = Operand(i, 0);
      Leaf sizes;
      for (int64_t d = 0; d < static_cast<int64_t>(from.size()); ++d) {
        if (!Contains(i->dimensions(), d)) sizes.push_back(from[d]);
      }
      for (int64_t o = 0; o < i->operand_count() / 2; ++o) Equate(from, Operand(i, o));
      Visit(i->to_apply(), {});
      return Leaves(i->shape().LeafCount(), sizes);
    }
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter: {
      const Leaf from = Operand(i, 0);
      for (const HloComputation* called : i->called_computations()) Visit(called, {});
      if (i->opcode() == HloOpcode::kSelectAndScatter) {
        Equate(Windows(i, from), Operand(i, 1));
        return {from};
      }
      for (int64_t o = 0; o < i->operand_count() / 2; ++o) Equate(from, Operand(i, o));
      return Leaves(i->shape().LeafCount(), Windows(i, from));
    }
    case HloOpcode::kSort:
      for (int64_t o = 1; o < i->operand_count(); ++o) Equate(Operand(i, 0), Operand(i, o));
      Visit(i->to_apply(), {});
      return Leaves(i->shape().LeafCount(), Operand(i, 0));
    case HloOpcode::kMap:
      for (int64_t o = 1; o < i->operand_count(); ++o) Equate(Operand(i, 0), Operand(i, o));
      Visit(i->to_apply(), {});
      return {Operand(i, 0)};
    case HloOpcode::kTopk: {
      Leaf sizes = Operand(i, 0);
      sizes.back() = SizeExpression(i->attr<AttrKind::kK>());
      return {sizes, sizes};
    }
    case HloOpcode::kDot:
      return i->operand_count() == 2 && i->FindAttr<AttrKind::kSparsity>() == nullptr ? Leaves{Dot(i)} : Fixed(i);
    case HloOpcode::kConvolution:
      return {Convolution(i)};
    case HloOpcode::kGather:
      return {Gather(i)};
    case HloOpcode::kScatter:
      Scatter(i);
      Visit(i->to_apply(), {});
      return Leaves(i->shape().LeafCount(), Operand(i, 0));
    case HloOpcode::kSlice:
      return {Slice(i)};
    case HloOpcode::kPad: {
      Leaf sizes;
      for (size_t d = 0; d < Operand(i, 0).size(); ++d) {
        const PaddingDim& p = i->padding().dims[d];
        sizes.push_back(Operand(i, 0)[d] * SizeExpression(p.interior + 1) +
                        SizeExpression(p.low + p.high - (i->operand(0)->shape().dim(d) == 0 ? 0 : p.interior)));
      }
      return {sizes};
    }
    case HloOpcode::kConcatenate: {
      const int64_t along = i->dimensions()[0];
      Leaf sizes = Operand(i, 0);
      for (int64_t o = 1; o < i->operand_count(); ++o) {
        for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
          if (d != along) unknown_.Equate(sizes[d], Operand(i, o)[d]);
        }
        sizes[along] = sizes[along] + Operand(i, o)[along];
      }
      return {sizes};
    }
    case HloOpcode::kDynamicSlice: {
      const Int64List& parts = i->attr<AttrKind::kDynamicSliceSizes>();
      Leaf sizes;
      for (size_t d = 0; d < parts.size(); ++d) {
        const bool whole = parts[d] == i->operand(0)->shape().dim(d) && parts[d] > 1;
        sizes.push_back(whole ? Operand(i, 0)[d] : SizeExpression(parts[d]));
      }
      all_.numbers_[i->id()].sizes = sizes;
      return {sizes};
    }
    case HloOpcode::kDynamicUpdateSlice:
      for (size_t d = 0; d < Operand(i, 0).size(); ++d) {
        const int64_t size = i->operand(1)->shape().dim(d);
        if (size == i->operand(0)->shape().dim(d)) unknown_.Equate(Operand(i, 0)[d], Operand(i, 1)[d]);
      }
      return Of(i->operand(0));
    case HloOpcode::kBatchNormTraining:
    case HloOpcode::kBatchNormInference:
    case HloOpcode::kBatchNormGrad: {
      const SizeExpression feature = Operand(i, 0)[i->attr<AttrKind::kFeatureIndex>()];
      for (int64_t o = 1; o < i->operand_count(); ++o) {
        if (i->operand(o)->shape().rank() == 1) unknown_.Equate(feature, Operand(i, o)[0]);
        if (i->operand(o)->shape().rank() > 1) Equate(Operand(i, 0), Operand(i, o));
      }
      Leaves leaves(i->shape().LeafCount(), Leaf{feature});
      leaves[0] = Operand(i, 0);
      return leaves;
    }
    case HloOpcode::kTuple: {
      Leaves leaves;
      for (const I* operand : i->operands()) leaves.insert(leaves.end(), Of(operand).begin(), Of(operand).end());
      return leaves;
    }
    case HloOpcode::kGetTupleElement: {
      int64_t first = 0;
      const Shape& tuple = i->operand(0)->shape();
      for (int64_t k = 0; k < i->tuple_index(); ++k) first += tuple.tuple_shape(k).LeafCount();
      const Leaves& all = Of(i->operand(0));
      return Leaves(all.begin() + first, all.begin() + first + i->shape().LeafCount());
    }
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
    case HloOpcode::kFusion:
      return Call(i);
    default:
      if (i->IsElementwise() && i->shape().IsArray()) return {Elementwise(i)};
      for (const HloComputation* called : i->called_computations()) {
        Fix(Visit(called, {}));
        for (const I* parameter : called->parameters()) Fix(Of(parameter));
      }
      return Fixed(i);
  }
}

}  // namespace xc
