// Lowerings of the Xla* ops, with which programs write single HLO instructions: operands and attributes are carried
// over, and the result's shape is inferred, which also checks them.
#include <algorithm>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/wire/attribute_proto.h"
#include "jit/lowering/basic/variables.h"
#include "jit/lowering/graph_lowering.h"

namespace xc {
namespace {

// An instruction of the given element type, whose dimensions are still to be inferred.
std::unique_ptr<HloInstruction> Draft(HloOpcode opcode, ElementType type, const std::vector<Val>& operands) {
  return HloInstruction::Create(opcode, Shape(type, {}), operands);
}

absl::StatusOr<Val> Finish(OpContext& c, std::unique_ptr<HloInstruction> draft) {
  auto v = c.b.AddInferred(std::move(draft));
  if (!v.ok()) return c.Error(std::string(v.status().message()));
  return v;
}

// Dimension numbers, which are serialized messages, become attributes of the draft.
template <typename Message>
absl::Status ReadDimensionNumbers(OpContext& c, HloInstruction* draft, Message* (pb::HloInstructionProto::*field)()) {
  XC_ASSIGN_OR_RETURN(std::string text, c.node.String("dimension_numbers"));
  pb::HloInstructionProto proto;
  if (!(proto.*field)()->ParseFromString(text)) return c.Error("dimension_numbers cannot be read");
  int64_t elided = 0;
  return AttributesFromProto(&proto, draft, &elided);
}

// The computation that attribute `name` says, on scalars: `count` times one of each type.
absl::StatusOr<HloComputation*> ScalarFunction(OpContext& c, const std::string& name, int count,
                                               const std::vector<DataType>& types) {
  XC_ASSIGN_OR_RETURN(NameAttrList function, c.node.Func(name));
  std::vector<DataType> parameters;
  for (int i = 0; i < count; ++i) parameters.insert(parameters.end(), types.begin(), types.end());
  return LowerFunction(c, function, parameters);
}

// An operand of `n` whole numbers.
absl::StatusOr<std::vector<int64_t>> IntList(OpContext& c, int operand, int64_t n) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> v, c.Ints(operand));
  if (static_cast<int64_t>(v.size()) != n) {
    return c.Error(absl::StrCat("operand ", operand, " has ", v.size(), " elements, expected ", n));
  }
  return v;
}

absl::Status BroadcastHelper(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> places, c.Ints(2));
  Val v[2] = {c.in(0), c.in(1)};
  if (places.empty()) {
    if (c.rank(0) != c.rank(1) && c.rank(0) != 0 && c.rank(1) != 0) {
      return c.Error("operands of different rank need broadcast_dims");
    }
  } else {
    int low = c.rank(0) < c.rank(1) ? 0 : 1;
    int64_t rank = c.rank(1 - low);
    if (static_cast<int64_t>(places.size()) != c.rank(low)) {
      return c.Error("broadcast_dims must have one entry per dimension of the operand of lower rank");
    }
    Dims dims(rank, 1);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0 || places[i] >= rank || (i > 0 && places[i] <= places[i - 1])) {
        return c.Error("broadcast_dims must increase and be dimensions of the operand of higher rank");
      }
      dims[places[i]] = c.dims(low)[i];
    }
    v[low] = c.b.Broadcast(v[low], dims, places);
  }
  c.set(0, v[0]);
  c.set(1, v[1]);
  return absl::OkStatus();
}

absl::Status XlaDot(OpContext& c) {
  auto draft = Draft(HloOpcode::kDot, c.out_etype(0), {c.in(0), c.in(1)});
  XC_RETURN_IF_ERROR(ReadDimensionNumbers(c, draft.get(), &pb::HloInstructionProto::mutable_dot_dimension_numbers));
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status Conv(OpContext& c) {
  auto draft = Draft(HloOpcode::kConvolution, c.out_etype(0), {c.in(0), c.in(1)});
  XC_RETURN_IF_ERROR(
      ReadDimensionNumbers(c, draft.get(), &pb::HloInstructionProto::mutable_convolution_dimension_numbers));
  int64_t n = c.rank(0) - 2;
  XC_ASSIGN_OR_RETURN(auto strides, IntList(c, 2, n));
  XC_ASSIGN_OR_RETURN(auto padding, IntList(c, 3, 2 * n));
  XC_ASSIGN_OR_RETURN(auto lhs_dilation, IntList(c, 4, n));
  XC_ASSIGN_OR_RETURN(auto rhs_dilation, IntList(c, 5, n));
  XC_ASSIGN_OR_RETURN(int64_t groups, c.Int(6));
  const ConvDims* places = draft->FindAttr<AttrKind::kDimLabels>();
  if (places == nullptr || static_cast<int64_t>(places->kernel_spatial.size()) != n) {
    return c.Error("dimension_numbers do not fit the rank");
  }
  WindowAttr window;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = places->kernel_spatial[i];
    if (at < 0 || at >= c.rank(1)) return c.Error("dimension_numbers do not fit the rank");
    WindowDim w;
    w.size = c.dims(1)[at];
    w.stride = strides[i];
    w.padding_low = padding[2 * i];
    w.padding_high = padding[2 * i + 1];
    w.base_dilation = lhs_dilation[i];
    w.window_dilation = rhs_dilation[i];
    window.dims.push_back(w);
  }
  draft->set_attr<AttrKind::kWindow>(window);
  if (groups != 1) draft->set_attr<AttrKind::kFeatureGroupCount>(groups);
  if (c.node.def->FindAttr("batch_group_count") != nullptr) {
    XC_ASSIGN_OR_RETURN(int64_t batch_groups, c.node.Int("batch_group_count"));
    if (batch_groups != 1) draft->set_attr<AttrKind::kBatchGroupCount>(batch_groups);
  }
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

// The scalars of a vector of indices.
absl::StatusOr<std::vector<Val>> Scalars(OpContext& c, int operand, int64_t n) {
  if (c.dims(operand) != Dims{n}) return c.Error(absl::StrCat("operand ", operand, " must have ", n, " elements"));
  std::vector<Val> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(c.b.Reshape(c.b.SliceDim(c.in(operand), 0, i, i + 1), {}));
  return out;
}

absl::Status DynamicSlice(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto operands, Scalars(c, 1, c.rank(0)));
  XC_ASSIGN_OR_RETURN(auto sizes, IntList(c, 2, c.rank(0)));
  operands.insert(operands.begin(), c.in(0));
  auto draft = Draft(HloOpcode::kDynamicSlice, c.etype(0), operands);
  draft->set_attr<AttrKind::kDynamicSliceSizes>(sizes);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status DynamicUpdateSlice(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto operands, Scalars(c, 2, c.rank(0)));
  operands.insert(operands.begin(), {c.in(0), c.in(1)});
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, Draft(HloOpcode::kDynamicUpdateSlice, c.etype(0), operands)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status XlaPad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto low, IntList(c, 2, c.rank(0)));
  XC_ASSIGN_OR_RETURN(auto high, IntList(c, 3, c.rank(0)));
  XC_ASSIGN_OR_RETURN(auto interior, IntList(c, 4, c.rank(0)));
  PaddingAttr padding;
  for (int64_t d = 0; d < c.rank(0); ++d) padding.dims.push_back({low[d], high[d], interior[d]});
  auto draft = Draft(HloOpcode::kPad, c.etype(0), {c.in(0), c.in(1)});
  draft->set_attr<AttrKind::kPadding>(padding);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status XlaGather(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto sizes, c.Ints(2));
  XC_ASSIGN_OR_RETURN(bool sorted, c.node.Bool("indices_are_sorted"));
  auto draft = Draft(HloOpcode::kGather, c.etype(0), {c.in(0), c.in(1)});
  XC_RETURN_IF_ERROR(ReadDimensionNumbers(c, draft.get(), &pb::HloInstructionProto::mutable_gather_dimension_numbers));
  draft->set_attr<AttrKind::kSliceSizes>(sizes);
  if (sorted) draft->set_attr<AttrKind::kIndicesAreSorted>(true);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status Scatter(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool sorted, c.node.Bool("indices_are_sorted"));
  XC_ASSIGN_OR_RETURN(HloComputation * combine, ScalarFunction(c, "update_computation", 2, {c.type(0)}));
  auto draft = Draft(HloOpcode::kScatter, c.etype(0), {c.in(0), c.in(1), c.in(2)});
  XC_RETURN_IF_ERROR(ReadDimensionNumbers(c, draft.get(), &pb::HloInstructionProto::mutable_scatter_dimension_numbers));
  if (sorted) draft->set_attr<AttrKind::kIndicesAreSorted>(true);
  draft->AddCalledComputation(combine);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

// Several arrays and as many initial values, reduced together.
absl::Status Reduce(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto dims, c.node.Ints("dimensions_to_reduce"));
  int n = c.num_inputs() / 2;
  if (n == 0 || c.num_inputs() % 2 != 0) return c.Error("needs one initial value per array");
  std::vector<DataType> types;
  std::vector<Val> operands;
  for (int i = 0; i < n; ++i) types.push_back(c.type(i));
  for (int i = 0; i < 2 * n; ++i) operands.push_back(c.in(i));
  if (dims.empty()) {  // nothing is reduced, and the initial values do not enter
    for (int i = 0; i < n; ++i) c.set(i, c.in(i));
    return absl::OkStatus();
  }
  XC_ASSIGN_OR_RETURN(HloComputation * reducer, ScalarFunction(c, "reducer", 2, types));
  auto draft = Draft(HloOpcode::kReduce, c.etype(0), operands);
  draft->set_attr<AttrKind::kDimensions>(dims);
  draft->AddCalledComputation(reducer);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  for (int i = 0; i < n; ++i) c.set(i, n == 1 ? v : c.b.Get(v, i));
  return absl::OkStatus();
}

// Window sizes, strides, dilations (operands from `first` on, -1 if there are none) and padding.
absl::StatusOr<WindowAttr> ReadWindowOperands(OpContext& c, int sizes, int strides, int dilations, int padding) {
  int64_t n = c.rank(0);
  XC_ASSIGN_OR_RETURN(auto size, IntList(c, sizes, n));
  XC_ASSIGN_OR_RETURN(auto stride, IntList(c, strides, n));
  std::vector<int64_t> base(n, 1), dilation(n, 1);
  if (dilations >= 0) {
    XC_ASSIGN_OR_RETURN(base, IntList(c, dilations, n));
    XC_ASSIGN_OR_RETURN(dilation, IntList(c, dilations + 1, n));
  }
  XC_ASSIGN_OR_RETURN(auto pads, IntList(c, padding, 2 * n));
  WindowAttr window;
  for (int64_t i = 0; i < n; ++i) {
    window.dims.push_back({size[i], stride[i], pads[2 * i], pads[2 * i + 1], base[i], dilation[i]});
  }
  return window;
}

absl::Status ReduceWindow(OpContext& c) {
  XC_ASSIGN_OR_RETURN(WindowAttr window, ReadWindowOperands(c, 2, 3, 4, 6));
  XC_ASSIGN_OR_RETURN(HloComputation * reducer, ScalarFunction(c, "computation", 2, {c.type(0)}));
  auto draft = Draft(HloOpcode::kReduceWindow, c.etype(0), {c.in(0), c.in(1)});
  draft->set_attr<AttrKind::kWindow>(window);
  draft->AddCalledComputation(reducer);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status SelectAndScatter(OpContext& c) {
  XC_ASSIGN_OR_RETURN(WindowAttr window, ReadWindowOperands(c, 1, 2, -1, 3));
  XC_ASSIGN_OR_RETURN(HloComputation * select, ScalarFunction(c, "select", 2, {c.type(0)}));
  XC_ASSIGN_OR_RETURN(HloComputation * scatter, ScalarFunction(c, "scatter", 2, {c.type(0)}));
  auto draft = Draft(HloOpcode::kSelectAndScatter, c.etype(0), {c.in(0), c.in(4), c.in(5)});
  draft->set_attr<AttrKind::kWindow>(window);
  draft->AddCalledComputation(select);
  draft->AddCalledComputation(scatter);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

// Rows of the last dimension in rising order of the first operand.
absl::Status Sort(OpContext& c) {
  if (c.rank(0) < 1) return c.Error("a scalar cannot be sorted");
  std::vector<Val> operands;
  std::vector<ElementType> types;
  for (int i = 0; i < c.num_inputs(); ++i) {
    XC_RETURN_IF_ERROR(c.RequireSameDims(0, i));
    operands.push_back(c.in(i));
    types.push_back(c.etype(i));
  }
  HloComputation* order = c.b.LessThan(types, CompareDirection::kLt, true);
  Val v = c.b.Sort(operands, c.rank(0) - 1, order, /*stable=*/true);
  for (int i = 0; i < c.num_outputs(); ++i) c.set(i, operands.size() == 1 ? v : c.b.Get(v, i));
  return absl::OkStatus();
}

absl::Status VariadicSort(OpContext& c) {
  int n = c.num_inputs() - 1;
  XC_ASSIGN_OR_RETURN(int64_t dimension, c.Int(n));
  XC_ASSIGN_OR_RETURN(bool stable, c.node.Bool("is_stable"));
  XC_ASSIGN_OR_RETURN(dimension, c.Axis(dimension, c.rank(0)));
  std::vector<Val> operands;
  std::vector<DataType> types;
  for (int i = 0; i < n; ++i) {
    XC_RETURN_IF_ERROR(c.RequireSameDims(0, i));
    operands.push_back(c.in(i));
    types.insert(types.end(), {c.type(i), c.type(i)});
  }
  XC_ASSIGN_OR_RETURN(HloComputation * order, ScalarFunction(c, "comparator", 1, types));
  Val v = c.b.Sort(operands, dimension, order, stable);
  for (int i = 0; i < n; ++i) c.set(i, n == 1 ? v : c.b.Get(v, i));
  return absl::OkStatus();
}

absl::Status PassOn(OpContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set(i, c.in(i));
  return absl::OkStatus();
}

absl::Status OptimizationBarrier(OpContext& c) {
  std::vector<Val> operands;
  for (int i = 0; i < c.num_inputs(); ++i) operands.push_back(c.in(i));
  Val tuple = c.b.Tuple(operands);
  auto draft = HloInstruction::Create(HloOpcode::kOptBarrier, tuple->shape(), std::vector<Val>{tuple});
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  for (int i = 0; i < c.num_outputs(); ++i) c.set(i, c.b.Get(v, i));
  return absl::OkStatus();
}

absl::Status ReducePrecision(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t exponent, c.node.Int("exponent_bits"));
  XC_ASSIGN_OR_RETURN(int64_t mantissa, c.node.Int("mantissa_bits"));
  auto draft = Draft(HloOpcode::kReducePrecision, c.etype(0), {c.in(0)});
  draft->set_attr<AttrKind::kExponentBits>(exponent);
  draft->set_attr<AttrKind::kMantissaBits>(mantissa);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status ReplicaId(OpContext& c) {
  c.set_constant(0, Tensor::Scalar<int32_t>(DT_INT32, 0));
  return absl::OkStatus();
}

absl::Status RngBitGenerator(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t algorithm, c.Int(0));
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(2));
  XC_RETURN_IF_ERROR(CheckedNumElements(dims).status());
  if (algorithm < 1 || algorithm > 3) return c.Error(absl::StrCat("unknown random algorithm ", algorithm));
  if (absl::Status status = CheckRandomState(c.in(1)->shape()); !status.ok())
    return c.Error(std::string(status.message()));
  constexpr RandomAlgorithm kAlgorithms[] = {RandomAlgorithm::kPhilox, RandomAlgorithm::kThreeFry,
                                             RandomAlgorithm::kDefault};
  Shape shape = Shape::Tuple({c.in(1)->shape(), Shape(c.out_etype(1), dims)});
  auto draft = HloInstruction::Create(HloOpcode::kRngBitGenerator, shape, std::vector<Val>{c.in(1)});
  draft->set_attr<AttrKind::kRngAlgorithm>(kAlgorithms[algorithm - 1]);
  XC_ASSIGN_OR_RETURN(Val v, Finish(c, std::move(draft)));
  c.set(0, c.b.Get(v, 0));
  c.set(1, c.b.Get(v, 1));
  return absl::OkStatus();
}

// How an array is cut into a grid of parts, the last of which may reach into padding.
struct Grid {
  std::vector<int64_t> counts, paddings;
};

absl::StatusOr<Grid> ReadGrid(OpContext& c, const std::string& counts, int64_t rank, int64_t parts) {
  Grid g;
  XC_ASSIGN_OR_RETURN(g.counts, c.node.Ints(counts));
  XC_ASSIGN_OR_RETURN(g.paddings, c.node.Ints("paddings"));
  if (g.paddings.empty()) g.paddings.assign(rank, 0);
  bool fits = static_cast<int64_t>(g.counts.size()) == rank && g.paddings.size() == g.counts.size();
  int64_t product = 1;
  for (size_t d = 0; fits && d < g.counts.size(); ++d) {
    fits = g.counts[d] > 0 && g.counts[d] <= parts && g.paddings[d] >= 0;
    product *= g.counts[d];
    fits = fits && product <= parts;
  }
  if (!fits || product != parts) return c.Error(absl::StrCat(counts, " do not fit the rank and the number of parts"));
  return g;
}

absl::Status SplitInto(OpContext& c, Val x) {
  const Dims dims = x->shape().dims();
  int64_t rank = x->shape().rank();
  XC_ASSIGN_OR_RETURN(Grid g, ReadGrid(c, "num_splits", rank, c.num_outputs()));
  std::vector<PaddingDim> padding(rank);
  Dims part(rank);
  for (int64_t d = 0; d < rank; ++d) {
    padding[d].high = g.paddings[d];
    if ((dims[d] + g.paddings[d]) % g.counts[d] != 0) return c.Error("a dimension is not divisible into the parts");
    part[d] = (dims[d] + g.paddings[d]) / g.counts[d];
  }
  x = c.b.Pad(x, c.b.Scalar(x->type(), 0), padding);
  std::vector<int64_t> at(rank, 0);
  for (int i = 0; i < c.num_outputs(); ++i) {
    std::vector<int64_t> starts(rank), limits(rank);
    for (int64_t d = 0; d < rank; ++d) {
      starts[d] = at[d] * part[d];
      limits[d] = starts[d] + part[d];
    }
    c.set(i, c.b.Slice(x, starts, limits));
    for (int64_t d = rank - 1; d >= 0 && ++at[d] == g.counts[d]; --d) at[d] = 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<Val> ConcatFrom(OpContext& c, int first) {
  int parts = c.num_inputs() - first;
  if (parts < 1) return c.Error("has no parts");
  int64_t rank = c.rank(first);
  for (int i = first; i < c.num_inputs(); ++i) XC_RETURN_IF_ERROR(c.RequireSameDims(first, i));
  XC_ASSIGN_OR_RETURN(Grid g, ReadGrid(c, "num_concats", rank, parts));
  std::vector<Val> row;
  for (int i = first; i < c.num_inputs(); ++i) row.push_back(c.in(i));
  for (int64_t d = rank - 1; d >= 0; --d) {
    std::vector<Val> joined;
    for (size_t i = 0; i < row.size(); i += g.counts[d]) {
      joined.push_back(c.b.Concat({row.begin() + i, row.begin() + i + g.counts[d]}, d));
    }
    row = std::move(joined);
  }
  Val v = row[0];
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = v->shape().dim(d) - g.paddings[d];
    if (size < 0) return c.Error("the padding is larger than the array");
    v = c.b.SliceDim(v, d, 0, size);
  }
  return v;
}

absl::Status SplitNd(OpContext& c) { return SplitInto(c, c.in(0)); }

absl::Status ConcatNd(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, ConcatFrom(c, 0));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status ReadSplit(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, 0));
  return SplitInto(c, v);
}

absl::Status AssignConcat(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, ConcatFrom(c, 1));
  return SetVariable(c, 0, v);
}

}  // namespace

void RegisterXlaOps(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  const std::vector<std::string> window = {
      "window_dimensions", "window_strides", "base_dilations", "window_dilations",
      "padding",           "lhs_dilation",   "rhs_dilation",   "feature_group_count"};
  r.Add({"XlaBroadcastHelper"}, kArrayTypes, BroadcastHelper, {"broadcast_dims"});
  r.Add({"XlaDot", "XlaDotV2"}, kArrayTypes, XlaDot);
  r.Add({"XlaConv", "XlaConvV2"}, kArrayTypes, Conv, window);
  r.Add({"XlaDynamicSlice"}, kArrayTypes, DynamicSlice, {"size_indices"});
  r.Add({"XlaDynamicUpdateSlice"}, kArrayTypes, DynamicUpdateSlice);
  r.Add({"XlaPad"}, kArrayTypes, XlaPad, {"padding_low", "padding_high", "padding_interior"});
  r.Add({"XlaGather"}, kArrayTypes, XlaGather, {"slice_sizes"});
  r.Add({"XlaScatter"}, kArrayTypes, Scatter);
  r.Add({"XlaReduce", "XlaVariadicReduce", "XlaVariadicReduceV2"}, kArrayTypes, Reduce);
  r.Add({"XlaReduceWindow"}, kArrayTypes, ReduceWindow, window);
  r.Add({"XlaSelectAndScatter"}, kNumericTypes, SelectAndScatter, window);
  r.Add({"XlaSort"}, kArrayTypes, Sort);
  r.Add({"XlaKeyValueSort"}, kArrayTypes, Sort);
  r.Add({"XlaVariadicSort"}, kArrayTypes, VariadicSort, {"dimension"});
  r.Add({"XlaSharding", "XlaSpmdFullToShardShape", "XlaSpmdShardToFullShape", "XlaRemoveDynamicDimensionSize",
         "XlaSetBound"},
        kArrayTypes, PassOn);
  r.Add({"XlaOptimizationBarrier"}, kArrayTypes, OptimizationBarrier);
  r.Add({"XlaReducePrecision"}, kFloatTypes, ReducePrecision);
  r.Add({"XlaReplicaId"}, TypeBit(DT_INT32), ReplicaId, {}, kShapeOnly);
  r.Add({"XlaRngBitGenerator"}, kArrayTypes, RngBitGenerator, {"algorithm", "shape"});
  r.Add({"XlaSplitND"}, kArrayTypes, SplitNd);
  r.Add({"XlaConcatND"}, kArrayTypes, ConcatNd);
  r.Add({"ReadVariableXlaSplitND"}, kAny, ReadSplit, {}, kUsesVariables);
  r.Add({"AssignVariableXlaConcatND"}, kAny, AssignConcat, {}, kUsesVariables);
}

}  // namespace xc
