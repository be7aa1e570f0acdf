// Shape rules of dot, convolution, decompositions, fft and batch normalization.
#include <algorithm>

#include "hlo/ops/dot_sparsity.h"
#include "hlo/shape_inference/internal.h"

namespace xc::shape_inference {
namespace {

using E = ElementType;

// The element type asked for, or that of the operands, which then should agree.
absl::StatusOr<E> ProductType(const Context& c) {
  if (c.given() != nullptr) {
    XC_RETURN_IF_ERROR(c.NeedGivenArray());
    E want = c.given()->type(), have = c.operand(0).type();
    if (IsComplex(want) != (IsComplex(have) || IsComplex(c.operand(1).type()))) {
      return c.Error(c.Describe(0), " and the result ", ElementTypeName(want), "; both should be complex or neither");
    }
    return want;
  }
  if (c.operand(0).type() != c.operand(1).type()) {
    return c.Error(c.Describe(0), " and ", c.Describe(1),
                   "; both should have the same element type unless a result type is given");
  }
  return c.operand(0).type();
}

absl::Status CheckPairs(const Context& c, absl::string_view what, const Int64List& lhs, const Int64List& rhs,
                        bool same_size) {
  XC_RETURN_IF_ERROR(c.CheckDims(absl::StrCat("lhs_", what, "_dims"), lhs, c.operand(0).rank()));
  XC_RETURN_IF_ERROR(c.CheckDims(absl::StrCat("rhs_", what, "_dims"), rhs, c.operand(1).rank()));
  if (lhs.size() != rhs.size()) {
    return c.Error("lhs_", what, "_dims=", DimsText(lhs), " and rhs_", what, "_dims=", DimsText(rhs),
                   "; both should have as many dimensions");
  }
  for (size_t i = 0; same_size && i < lhs.size(); ++i) {
    if (!SizesAgree(c.operand(0).dim(lhs[i]), c.operand(1).dim(rhs[i]))) {
      return c.Error(c.Describe(0), " and ", c.Describe(1), "; ", what, " dimensions ", lhs[i], " and ", rhs[i],
                     " should have equal sizes");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckApart(const Context& c, absl::string_view side, const Int64List& batch,
                        const Int64List& contracting) {
  for (int64_t d : batch) {
    if (Contains(contracting, d)) {
      return c.Error("dimension ", d, " of ", side,
                     " is a batch and a contracting dimension; it should be one of the two");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> DotShape(const Context& c, const DotDims& dims, E type, bool same_contracting_size) {
  XC_RETURN_IF_ERROR(CheckPairs(c, "batch", dims.lhs_batch, dims.rhs_batch, true));
  XC_RETURN_IF_ERROR(CheckPairs(c, "contracting", dims.lhs_contracting, dims.rhs_contracting, same_contracting_size));
  XC_RETURN_IF_ERROR(CheckApart(c, "lhs", dims.lhs_batch, dims.lhs_contracting));
  XC_RETURN_IF_ERROR(CheckApart(c, "rhs", dims.rhs_batch, dims.rhs_contracting));
  const Shape &l = c.operand(0), &r = c.operand(1);
  std::vector<Dim> out;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    out.push_back(MergeDims(DimOf(l, dims.lhs_batch[i]), DimOf(r, dims.rhs_batch[i])));
  }
  for (int64_t d = 0; d < l.rank(); ++d) {
    if (!Contains(dims.lhs_batch, d) && !Contains(dims.lhs_contracting, d)) out.push_back(DimOf(l, d));
  }
  for (int64_t d = 0; d < r.rank(); ++d) {
    if (!Contains(dims.rhs_batch, d) && !Contains(dims.rhs_contracting, d)) out.push_back(DimOf(r, d));
  }
  return MakeShape(type, out);
}

// `batch`, `feature` and `spatial` are a permutation of the dimensions of a shape of this rank.
absl::Status CheckLabels(const Context& c, absl::string_view what, int64_t batch, int64_t feature,
                         const Int64List& spatial, int64_t rank) {
  Int64List all = spatial;
  all.push_back(batch);
  all.push_back(feature);
  if (static_cast<int64_t>(all.size()) != rank) {
    return c.Error("dim_labels names ", all.size(), " dimensions of the ", what, ", which has rank ", rank);
  }
  return c.CheckDims(absl::StrCat("dim_labels of the ", what), all, rank);
}

absl::Status NeedInexact(const Context& c, int64_t i) {
  if (IsFloating(c.operand(i).type()) || IsComplex(c.operand(i).type())) return absl::OkStatus();
  return c.Error(c.Describe(i), "; its element type should be floating-point or complex");
}

// An operand that holds only elements other than zero comes with u16 metadata that says where they stand: after the two
// operands, first that of lhs.
absl::Status CheckSparsity(const Context& c, const DotDims& dims, const DotSparsity& sparsity) {
  const std::optional<OperandSparsity>* const sides[] = {&sparsity.lhs, &sparsity.rhs};
  const Int64List* const contracting[] = {&dims.lhs_contracting, &dims.rhs_contracting};
  const int64_t sparse = sparsity.lhs.has_value() + sparsity.rhs.has_value();
  if (c.operand_count() != 2 + sparse) {
    return c.Error("has ", c.operand_count(), " operands, should have 2 and metadata for ", sparse);
  }
  std::vector<int64_t> sizes[2];
  int64_t next = 2;
  for (int i = 0; i < 2; ++i) {
    const Shape& x = c.operand(i);
    for (int64_t d : *contracting[i]) sizes[i].push_back(x.dim(d));
    if (!*sides[i]) continue;
    const OperandSparsity& s = **sides[i];
    const auto at = std::find(contracting[i]->begin(), contracting[i]->end(), s.dimension);
    if (at == contracting[i]->end()) {
      return c.Error("sparsity: dimension ", s.dimension, " of operand ", i, " should be a contracting dimension");
    }
    if (s.num_non_zero < 1 || s.num_non_zero > s.block_size || s.block_size > 65536 || s.stride < 0) {
      return c.Error("sparsity: ", s.num_non_zero, " of ", s.block_size, " elements; it should be 1 to ",
                     std::min<int64_t>(std::max<int64_t>(s.block_size, 1), 65536), " of at most 65536");
    }
    int64_t& held = sizes[i][at - contracting[i]->begin()];
    if (IsUnknown(held)) continue;
    if (held % s.num_non_zero != 0) {
      return c.Error(c.Describe(i), "; dimension ", s.dimension, " should be a multiple of ", s.num_non_zero);
    }
    Shape want(E::kU16, x.dims());
    want.set_dim(s.dimension, s.MetadataSize(held));
    const Shape& have = c.operand(next);
    if (have.type() != E::kU16 || !DimsAgree(have.dims(), want.dims())) {
      return c.Error(c.Describe(next), ", should be ", want.ToString(false), " as operand ", i, " is ",
                     x.ToString(false));
    }
    const std::optional<int64_t> whole = Narrow(static_cast<__int128>(held / s.num_non_zero) * s.block_size);
    if (!whole) return c.Error(c.Describe(i), "; it is too large");
    held = *whole;
    ++next;
  }
  for (size_t k = 0; k < sizes[0].size(); ++k) {
    if (!SizesAgree(sizes[0][k], sizes[1][k])) {
      return c.Error("contracting dimensions ", (*contracting[0])[k], " and ", (*contracting[1])[k], " have ",
                     sizes[0][k], " and ", sizes[1][k], " elements with their zeros; both should have equal sizes");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> InferDot(const Context& c) {
  const std::string* text = c.find<AttrKind::kSparsity>();
  const int64_t count = c.operand_count();
  if (text == nullptr ? count != 2 : count < 2) return c.Error("has ", count, " operands, should have 2");
  XC_RETURN_IF_ERROR(c.NeedArrays());
  XC_ASSIGN_OR_RETURN(E type, ProductType(c));
  const DotDims& dims = c.attr<AttrKind::kDotDims>();
  if (text == nullptr) return DotShape(c, dims, type, true);
  absl::StatusOr<DotSparsity> sparsity = ParseDotSparsity(*text);
  if (!sparsity.ok()) return c.Error(sparsity.status().message());
  XC_ASSIGN_OR_RETURN(Shape shape, DotShape(c, dims, type, false));
  XC_RETURN_IF_ERROR(CheckSparsity(c, dims, *sparsity));
  return shape;
}

absl::StatusOr<Shape> InferScaledDot(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  XC_ASSIGN_OR_RETURN(E type, ProductType(c));
  for (int64_t i = 0; i < 2; ++i) {
    const Shape &x = c.operand(i), &scale = c.operand(i + 2);
    if (scale.rank() == 0) continue;
    if (scale.rank() != x.rank()) {
      return c.Error(c.Describe(i), " and its scale, ", c.Describe(i + 2), "; both should have the same rank");
    }
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (IsUnknown(x.dim(d)) || IsUnknown(scale.dim(d))) continue;
      if (scale.dim(d) == 0 ? x.dim(d) != 0 : x.dim(d) % scale.dim(d) != 0) {
        return c.Error(c.Describe(i), " and its scale, ", c.Describe(i + 2), "; dimension ", d,
                       " of the scale should divide that of the operand");
      }
    }
  }
  return DotShape(c, c.attr<AttrKind::kDotDims>(), type, true);
}

absl::StatusOr<Shape> InferRaggedDot(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  XC_ASSIGN_OR_RETURN(E type, ProductType(c));
  const DotDims& dims = c.attr<AttrKind::kDotDims>();
  const RaggedDims& ragged = c.attr<AttrKind::kRaggedDims>();
  const Shape &lhs = c.operand(0), &groups = c.operand(2);
  if (ragged.lhs_ragged.size() != 1) {
    return c.Error("lhs_ragged_dims=", DimsText(ragged.lhs_ragged), ", should name one dimension");
  }
  XC_RETURN_IF_ERROR(c.CheckDims("lhs_ragged_dims", ragged.lhs_ragged, lhs.rank()));
  XC_RETURN_IF_ERROR(c.CheckDims("rhs_group_dims", ragged.rhs_group, c.operand(1).rank()));
  if (!IsIntegral(groups.type()) || groups.rank() < 1) {
    return c.Error(c.Describe(2), ", should be an array of integer group sizes");
  }
  int64_t dim = ragged.lhs_ragged[0];
  bool contracting = Contains(dims.lhs_contracting, dim), batch = Contains(dims.lhs_batch, dim);
  if (!contracting && !batch) {
    if (ragged.rhs_group.size() != 1) {
      return c.Error("rhs_group_dims=", DimsText(ragged.rhs_group),
                     ", should name one dimension as the ragged one is neither batch nor contracting");
    }
    int64_t group = ragged.rhs_group[0];
    if (Contains(dims.rhs_batch, group) || Contains(dims.rhs_contracting, group)) {
      return c.Error("rhs_group_dims=", DimsText(ragged.rhs_group), " should be neither batch nor contracting");
    }
    XC_ASSIGN_OR_RETURN(Shape whole, DotShape(c, dims, type, true));
    // The group dimension of rhs is not part of the result.
    int64_t at = static_cast<int64_t>(lhs.rank() - dims.lhs_contracting.size());
    for (int64_t d = 0; d < group; ++d) at += !Contains(dims.rhs_batch, d) && !Contains(dims.rhs_contracting, d);
    std::vector<Dim> out;
    for (int64_t d = 0; d < whole.rank(); ++d) {
      if (d != at) out.push_back(DimOf(whole, d));
    }
    return MakeShape(type, out);
  }
  if (!ragged.rhs_group.empty()) {
    return c.Error("rhs_group_dims=", DimsText(ragged.rhs_group),
                   ", should be empty as the ragged dimension is a batch or contracting one");
  }
  XC_ASSIGN_OR_RETURN(Shape out, DotShape(c, dims, type, true));
  if (batch) return out;
  std::vector<Dim> grouped = {DimOf(groups, groups.rank() - 1)};
  for (int64_t d = 0; d < out.rank(); ++d) grouped.push_back(DimOf(out, d));
  return MakeShape(type, grouped);
}

absl::StatusOr<Shape> InferConvolution(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  XC_ASSIGN_OR_RETURN(E type, ProductType(c));
  const Shape &x = c.operand(0), &k = c.operand(1);
  const ConvDims& labels = c.attr<AttrKind::kDimLabels>();
  const WindowAttr& window = c.attr<AttrKind::kWindow>();
  XC_RETURN_IF_ERROR(CheckLabels(c, "input", labels.input_batch, labels.input_feature, labels.input_spatial, x.rank()));
  XC_RETURN_IF_ERROR(CheckLabels(c, "kernel", labels.kernel_input_feature, labels.kernel_output_feature,
                                 labels.kernel_spatial, k.rank()));
  int64_t spatial = static_cast<int64_t>(labels.input_spatial.size());
  if (x.rank() != k.rank()) return c.Error(c.Describe(0), " and ", c.Describe(1), "; both should have the same rank");
  XC_RETURN_IF_ERROR(
      CheckLabels(c, "output", labels.output_batch, labels.output_feature, labels.output_spatial, x.rank()));
  Int64List sizes(spatial);
  for (int64_t d = 0; d < spatial; ++d) sizes[d] = x.dim(labels.input_spatial[d]);
  auto out_sizes = WindowedSizes(sizes, window);
  if (!out_sizes.ok()) return c.Error(out_sizes.status().message());
  for (int64_t d = 0; d < spatial; ++d) {
    if (!SizesAgree(window.dims[d].size, k.dim(labels.kernel_spatial[d]))) {
      return c.Error("size of window dimension ", d, " is ", window.dims[d].size, ", should be ",
                     k.dim(labels.kernel_spatial[d]), " as ", c.Describe(1));
    }
  }
  int64_t groups = c.attr_or<AttrKind::kFeatureGroupCount>(1), batches = c.attr_or<AttrKind::kBatchGroupCount>(1);
  if (groups < 1) return c.Error("feature_group_count is ", groups, ", should be at least 1");
  if (batches < 1) return c.Error("batch_group_count is ", batches, ", should be at least 1");
  if (groups > 1 && batches > 1) {
    return c.Error("feature_group_count is ", groups, " and batch_group_count is ", batches,
                   "; one of them should be 1");
  }
  int64_t features = x.dim(labels.input_feature), batch = x.dim(labels.input_batch);
  int64_t kernel_features = k.dim(labels.kernel_input_feature), out_features = k.dim(labels.kernel_output_feature);
  if (!IsUnknown(features) && !IsUnknown(kernel_features) &&
      (features % groups != 0 || features / groups != kernel_features)) {
    return c.Error("the input has ", features, " features in ", groups, " groups and the kernel takes ",
                   kernel_features, "; features per group should be equal");
  }
  if (!IsUnknown(out_features) && (out_features % groups != 0 || out_features % batches != 0)) {
    return c.Error("the kernel makes ", out_features, " features; a multiple of feature_group_count ", groups,
                   " and batch_group_count ", batches, " is needed");
  }
  if (!IsUnknown(batch) && batch % batches != 0) {
    return c.Error("the batch is ", batch, ", should be a multiple of batch_group_count, ", batches);
  }
  std::vector<Dim> out(x.rank());
  out[labels.output_batch] = {IsUnknown(batch) ? batch : batch / batches, x.is_dynamic_dim(labels.input_batch)};
  out[labels.output_feature] = DimOf(k, labels.kernel_output_feature);
  for (int64_t d = 0; d < spatial; ++d) {
    out[labels.output_spatial[d]] = {(*out_sizes)[d], x.is_dynamic_dim(labels.input_spatial[d])};
  }
  return MakeShape(type, out);
}

absl::StatusOr<Shape> InferCholesky(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0, 2));
  XC_RETURN_IF_ERROR(NeedInexact(c, 0));
  const Shape& a = c.operand(0);
  if (!SizesAgree(a.dim(a.rank() - 1), a.dim(a.rank() - 2))) {
    return c.Error(c.Describe(0), "; its last two dimensions should be equal");
  }
  return Plain(a);
}

absl::StatusOr<Shape> InferTriangularSolve(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0, 2));
  XC_RETURN_IF_ERROR(c.NeedArray(1, 2));
  XC_RETURN_IF_ERROR(NeedInexact(c, 0));
  const Shape &a = c.operand(0), &b = c.operand(1);
  if (a.type() != b.type() || a.rank() != b.rank()) {
    return c.Error(c.Describe(0), " and ", c.Describe(1), "; both should have the same element type and rank");
  }
  int64_t rank = a.rank();
  if (!SizesAgree(a.dim(rank - 1), a.dim(rank - 2))) {
    return c.Error(c.Describe(0), "; its last two dimensions should be equal");
  }
  int64_t side = c.attr_or<AttrKind::kLeftSide>(false) ? rank - 2 : rank - 1;
  if (!SizesAgree(b.dim(side), a.dim(rank - 1))) {
    return c.Error(c.Describe(0), " and ", c.Describe(1), "; dimension ", side,
                   " of the right-hand side should have size ", a.dim(rank - 1));
  }
  for (int64_t d = 0; d < rank - 2; ++d) {
    if (!SizesAgree(a.dim(d), b.dim(d))) {
      return c.Error(c.Describe(0), " and ", c.Describe(1), "; batch dimensions should be equal");
    }
  }
  if (c.attr_or<AttrKind::kTransposeA>(TriangularTranspose::kNo) == TriangularTranspose::kInvalid) {
    return c.Error("transpose_a is invalid, should be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  }
  return Plain(b);
}

absl::StatusOr<Shape> InferFft(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  const Shape& x = c.operand(0);
  const Int64List& lengths = c.attr<AttrKind::kFftLength>();
  FftType kind = c.attr<AttrKind::kFftType>();
  int64_t count = static_cast<int64_t>(lengths.size());
  if (count < 1 || count > 3) return c.Error("fft_length=", DimsText(lengths), ", should have 1 to 3 numbers");
  if (x.rank() < count) {
    return c.Error(c.Describe(0), " and fft_length=", DimsText(lengths), "; it should have at least ", count,
                   " dimensions");
  }
  for (int64_t length : lengths) {
    if (length < 0) return c.Error("fft_length=", DimsText(lengths), ", should not be negative");
  }
  bool real_in = kind == FftType::kRfft;
  if (real_in ? x.type() != E::kF32 && x.type() != E::kF64 : !IsComplex(x.type())) {
    return c.Error(c.Describe(0), "; its element type should be ", real_in ? "f32 or f64" : "c64 or c128");
  }
  Shape out = Plain(x);
  if (kind == FftType::kRfft) out.set_type(x.type() == E::kF32 ? E::kC64 : E::kC128);
  if (kind == FftType::kIrfft) out.set_type(ComplexComponent(x.type()));
  for (int64_t i = 0; i < count; ++i) {
    int64_t dim = x.rank() - count + i;
    int64_t half = lengths[i] / 2 + (lengths[i] > 0);
    bool last = i == count - 1;
    // No numbers come of none, or of the one that half of them are.
    if (lengths[i] == 0 && last && kind == FftType::kIrfft && x.dim(dim) == 1) half = 1;
    int64_t want = kind == FftType::kIrfft && last ? half : lengths[i];
    if (!SizesAgree(x.dim(dim), want)) {
      return c.Error(c.Describe(0), " and fft_length=", DimsText(lengths), "; dimension ", dim, " should have size ",
                     want);
    }
    if (last && kind == FftType::kRfft) out.set_dim(dim, half);
    if (last && kind == FftType::kIrfft) out.set_dim(dim, lengths[i]);
  }
  return out;
}

absl::StatusOr<Shape> InferBatchNorm(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  const Shape& x = c.operand(0);
  if (!IsFloating(x.type())) return c.Error(c.Describe(0), "; its element type should be floating-point");
  int64_t feature = c.attr<AttrKind::kFeatureIndex>();
  XC_RETURN_IF_ERROR(c.CheckDim("feature_index", feature, x.rank()));
  Shape per_feature = MakeShape(x.type(), {DimOf(x, feature)});
  bool grad = c.opcode() == HloOpcode::kBatchNormGrad;
  for (int64_t i = 1; i < c.operand_count(); ++i) {
    const Shape& want = grad && i == 4 ? x : per_feature;
    if (!Agree(c.operand(i), want)) return c.Error(c.Describe(i), ", should be ", want.ToString(false));
  }
  if (c.opcode() == HloOpcode::kBatchNormInference) return Plain(x);
  return Shape::Tuple({Plain(x), per_feature, per_feature});
}

}  // namespace xc::shape_inference
