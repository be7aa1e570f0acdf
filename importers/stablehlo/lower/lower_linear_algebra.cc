// Products, convolutions, decompositions, transforms and batch normalization.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

namespace {

void SetPrecision(OpLowering& op, Attributes* attributes) {
  StringList precision;
  bool special = false;
  for (const std::string& word : op.attrs.Words("precision_config")) {
    if (word != "DEFAULT" && word != "HIGH" && word != "HIGHEST") {
      op.Fail(absl::StrCat("precision ", word, " should be DEFAULT, HIGH or HIGHEST"));
    }
    special |= word != "DEFAULT";
    precision.push_back(absl::AsciiStrToLower(word));
  }
  if (special) attributes->Set<A::kOperandPrecision>(std::move(precision));
}

// HLO has a name for each algorithm where StableHLO lists its types and counts.
void SetAlgorithm(OpLowering& op, Attributes* attributes) {
  const Attr* algorithm = op.attrs.Find("algorithm");
  if (algorithm == nullptr) return;
  AttrReader fields(algorithm->fields);
  const auto type = [&](absl::string_view name) {
    const Attr* attr = fields.Require(name);
    return attr != nullptr ? absl::AsciiStrToLower(attr->source) : std::string();
  };
  const std::string lhs = type("lhs_precision_type"), rhs = type("rhs_precision_type"), sum = type("accumulation_type");
  fields.Int("lhs_component_count", 1);
  fields.Int("rhs_component_count", 1);
  const int64_t operations = fields.Int("num_primitive_operations", 1);
  const bool fast = fields.Bool("allow_imprecise_accumulation", false);
  if (!fields.ok()) return op.Fail(fields.error());
  std::string name = absl::StrCat("dot_", lhs, "_", rhs, "_", sum);
  if (absl::StartsWith(lhs, "f8") && absl::StartsWith(rhs, "f8")) {
    name = absl::StrCat("dot_any_f8_any_f8_", sum, fast ? "_fast_accum" : "");
  } else if (operations > 1) {
    absl::StrAppend(&name, "_x", operations);
  }
  attributes->Set<A::kAlgorithm>(std::move(name));
}

DotDims ReadDotDims(AttrReader& fields) {
  DotDims dims;
  dims.lhs_batch = fields.Ints("lhs_batching_dimensions", Int64List());
  dims.rhs_batch = fields.Ints("rhs_batching_dimensions", Int64List());
  dims.lhs_contracting = fields.Ints("lhs_contracting_dimensions", Int64List());
  dims.rhs_contracting = fields.Ints("rhs_contracting_dimensions", Int64List());
  return dims;
}

// A product whose operands or whose result alone are complex: HLO's are both or neither. Of a complex product the real
// part is the result.
void EmitMixedProduct(OpLowering& op, Attributes attributes) {
  const Shape result = op.result();
  std::vector<Op> operands = op.Operands();
  if (IsComplex(result.type())) {
    for (Op& operand : operands) operand = op.b.Convert(operand, result.type());
    return op.Emit(O::kDot, operands, std::move(attributes));
  }
  const bool wide = result.type() == ElementType::kF64 || operands[0].type() == ElementType::kC128;
  const Shape whole = WithType(result, wide ? ElementType::kC128 : ElementType::kC64);
  const Op product = op.b.Make(O::kDot, operands, std::move(attributes), {}, &whole);
  if (op.ok()) op.Bind(op.b.Convert(op.b.Real(product), result.type()));
}

}  // namespace

void LowerDotGeneral(OpLowering& op) {
  AttrReader fields = op.Fields("dot_dimension_numbers");
  DotDims dims = ReadDotDims(fields);
  op.Finish(fields, "dot_dimension_numbers");
  Attributes attributes;
  attributes.Set<A::kDotDims>(std::move(dims));
  SetPrecision(op, &attributes);
  SetAlgorithm(op, &attributes);
  if (IsComplex(op.result().type()) != (IsComplex(op.in(0).type()) || IsComplex(op.in(1).type()))) {
    return EmitMixedProduct(op, std::move(attributes));
  }
  op.Emit(O::kDot, op.Operands(), std::move(attributes));
}

// Products of groups of one operand, whose sizes are the third one, with a matrix each.
void LowerRaggedDot(OpLowering& op) {
  AttrReader fields = op.Fields("ragged_dot_dimension_numbers");
  DotDims dims = ReadDotDims(fields);
  RaggedDims ragged;
  ragged.lhs_ragged = fields.Ints("lhs_ragged_dimensions", Int64List());
  ragged.rhs_group = fields.Ints("rhs_group_dimensions", Int64List());
  op.Finish(fields, "ragged_dot_dimension_numbers");
  Attributes attributes;
  attributes.Set<A::kDotDims>(std::move(dims));
  attributes.Set<A::kRaggedDims>(std::move(ragged));
  SetPrecision(op, &attributes);
  op.Emit(O::kRaggedDot, op.Operands(), std::move(attributes));
}

// The last dimension of the left by the first of the right operand.
void LowerDot(OpLowering& op) {
  DotDims dims;
  if (op.in(0).rank() == 0 || op.in(1).rank() == 0) return op.Fail("expected operands with a dimension at least");
  dims.lhs_contracting = {op.in(0).rank() - 1};
  dims.rhs_contracting = {0};
  Attributes attributes;
  attributes.Set<A::kDotDims>(std::move(dims));
  SetPrecision(op, &attributes);
  op.Emit(O::kDot, op.Operands(), std::move(attributes));
}

// Also dynamic_conv, whose third operand is the padding.
void LowerConvolution(OpLowering& op) {
  const Attr* numbers = op.attrs.Require("dimension_numbers");
  if (numbers == nullptr) return;
  if (numbers->conv_dims == nullptr) return op.Fail("dimension_numbers should be [b, 0, f]x[0, i, o]->[b, 0, f]");
  const ConvDims& dims = *numbers->conv_dims;
  const size_t rank = dims.kernel_spatial.size();
  // The short form has its own names, in `window = {…}`.
  AttrReader fields = op.Fields("window");
  const bool short_form = op.attrs.Has("window");
  const auto each = [&](absl::string_view name, absl::string_view short_name, int64_t missing) {
    Int64List values = fields.Ints(short_form ? short_name : name, Int64List(rank, missing));
    if (values.size() != rank) op.Fail(absl::StrCat("attribute `", name, "` should have ", rank, " elements"));
    values.resize(rank, missing);
    return values;
  };
  const Int64List strides = each("window_strides", "stride", 1), base = each("lhs_dilation", "lhs_dilate", 1),
                  dilation = each("rhs_dilation", "rhs_dilate", 1), reversal = each("window_reversal", "reverse", 0);
  const absl::string_view padding_name = short_form ? "pad" : "padding";
  std::vector<Int64List> padding(rank, {0, 0});
  if (op.op.operands.size() == 3) {
    const Int64List pairs = KnownInts(op, 2, "padding");
    fields.Find("padding");  // which the first version had as well, and which said nothing
    if (op.ok() && pairs.size() != 2 * rank) op.Fail(absl::StrCat("the padding should have ", rank, " pairs"));
    for (size_t d = 0; op.ok() && d < rank; ++d) padding[d] = {pairs[2 * d], pairs[2 * d + 1]};
  } else if (fields.Has(padding_name)) {
    padding = fields.IntLists(padding_name);
  }
  op.Finish(fields, "window");
  WindowAttr window;
  if (padding.size() != rank) op.Fail(absl::StrCat("the padding should have ", rank, " pairs"));
  for (size_t d = 0; op.ok() && d < rank; ++d) {
    if (padding[d].size() != 2) return op.Fail("the padding should have two integers for each dimension");
    const int64_t kernel_dim = dims.kernel_spatial[d];
    if (kernel_dim >= op.in(1).rank()) return op.Fail("dim_numbers has more dimensions than the kernel");
    window.dims.push_back(
        {op.in(1).dim(kernel_dim), strides[d], padding[d][0], padding[d][1], base[d], dilation[d], reversal[d] != 0});
  }
  Attributes attributes;
  attributes.Set<A::kWindow>(std::move(window));
  attributes.Set<A::kDimLabels>(dims);
  const int64_t features = op.attrs.Int("feature_group_count", 1), batches = op.attrs.Int("batch_group_count", 1);
  if (features != 1) attributes.Set<A::kFeatureGroupCount>(features);
  if (batches != 1) attributes.Set<A::kBatchGroupCount>(batches);
  SetPrecision(op, &attributes);
  op.Emit(O::kConvolution, op.Operands(0, 2), std::move(attributes));
}

void LowerCholesky(OpLowering& op) {
  const bool lower = op.attrs.Bool("lower", false);
  if (op.ok()) op.Bind(op.b.Cholesky(op.in(0), lower));
}

void LowerTriangularSolve(OpLowering& op) {
  const bool left = op.attrs.Bool("left_side"), lower = op.attrs.Bool("lower"), unit = op.attrs.Bool("unit_diagonal");
  const auto transpose =
      op.attrs.Choice<TriangularTranspose>("transpose_a", {{"NO_TRANSPOSE", TriangularTranspose::kNo},
                                                           {"TRANSPOSE", TriangularTranspose::kTranspose},
                                                           {"ADJOINT", TriangularTranspose::kAdjoint}});
  if (op.ok()) op.Bind(op.b.TriangularSolve(op.in(0), op.in(1), left, lower, unit, transpose));
}

void LowerFft(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kFftType>(op.attrs.Choice<FftType>(
      "fft_type",
      {{"FFT", FftType::kFft}, {"IFFT", FftType::kIfft}, {"RFFT", FftType::kRfft}, {"IRFFT", FftType::kIrfft}}));
  attributes.Set<A::kFftLength>(op.attrs.Ints("fft_length"));
  op.Emit(O::kFft, op.Operands(), std::move(attributes));
}

void LowerBatchNorm(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kEpsilon>(static_cast<float>(op.attrs.Float("epsilon")));
  attributes.Set<A::kFeatureIndex>(op.attrs.Int("feature_index"));
  op.Emit(op.op.row->opcode, op.Operands(), std::move(attributes));
}

}  // namespace xc::stablehlo
