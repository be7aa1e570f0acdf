// The emitter's instructions whose attributes say what the dimensions of their operands mean: reductions, windows,
// products, gathers, scatters, sorts, transforms and factorizations.
#include <algorithm>

#include "jit/lowering/emitter.h"

namespace xc {
namespace {

bool Contains(const std::vector<int64_t>& list, int64_t v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

// An array's shape without the dimensions `dims`.
Shape Reduced(const Shape& shape, const std::vector<int64_t>& dims) {
  Dims out;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (!Contains(dims, i)) out.push_back(shape.dim(i));
  }
  return Shape(shape.type(), out);
}

}  // namespace

Val Emitter::Reduce(Val a, Val init, const std::vector<int64_t>& dims, HloOpcode opcode) {
  if (dims.empty()) return a;
  return Reduce(a, init, dims, Scalar2(opcode, a->type()));
}

Val Emitter::Reduce(Val a, Val init, const std::vector<int64_t>& dims, HloComputation* computation) {
  Val v = Make(HloOpcode::kReduce, Reduced(a->shape(), dims), {a, init});
  v->set_attr<AttrKind::kDimensions>(dims);
  v->AddCalledComputation(computation);
  return v;
}

Val Emitter::ReduceMany(const std::vector<Val>& arrays, const std::vector<Val>& inits, const std::vector<int64_t>& dims,
                        HloComputation* computation) {
  std::vector<Shape> shapes;
  for (Val a : arrays) shapes.push_back(Reduced(a->shape(), dims));
  std::vector<Val> operands = arrays;
  operands.insert(operands.end(), inits.begin(), inits.end());
  Val v = Make(HloOpcode::kReduce, Shape::Tuple(shapes), operands);
  v->set_attr<AttrKind::kDimensions>(dims);
  v->AddCalledComputation(computation);
  return v;
}

int64_t WindowOutputSize(int64_t input, const WindowDim& w) {
  int64_t dilated = input == 0 ? 0 : (input - 1) * w.base_dilation + 1;
  int64_t padded = dilated + w.padding_low + w.padding_high;
  int64_t window = (w.size - 1) * w.window_dilation + 1;
  return padded < window ? 0 : (padded - window) / w.stride + 1;
}

Val Emitter::ReduceWindow(Val a, Val init, const WindowAttr& window, HloOpcode opcode) {
  Dims dims;
  for (size_t i = 0; i < window.dims.size(); ++i) dims.push_back(WindowOutputSize(a->shape().dim(i), window.dims[i]));
  HloComputation* computation = Scalar2(opcode, a->type());
  Val v = Make(HloOpcode::kReduceWindow, Shape(a->type(), dims), {a, init});
  v->set_attr<AttrKind::kWindow>(window);
  v->AddCalledComputation(computation);
  return v;
}

Val Emitter::SelectAndScatter(Val a, Val source, Val init, const WindowAttr& window, CompareDirection select) {
  Shape s = Shape::Scalar(a->type());
  HloComputation* choose = Computation(
      "select", {s, s}, [&](Emitter& e, const std::vector<Val>& p) { return e.Compare(select, p[0], p[1]); });
  HloComputation* add = Scalar2(HloOpcode::kAdd, a->type());
  Val v = Make(HloOpcode::kSelectAndScatter, Shape(a->type(), a->shape().dims()), {a, source, init});
  v->set_attr<AttrKind::kWindow>(window);
  v->AddCalledComputation(choose);
  v->AddCalledComputation(add);
  return v;
}

Val Emitter::Dot(Val a, Val b, const DotDims& dims, ElementType type) {
  Dims out;
  for (int64_t d : dims.lhs_batch) out.push_back(a->shape().dim(d));
  auto rest = [&](Val v, const Int64List& batch, const Int64List& contracting) {
    for (int64_t i = 0; i < v->shape().rank(); ++i) {
      if (!Contains(batch, i) && !Contains(contracting, i)) out.push_back(v->shape().dim(i));
    }
  };
  rest(a, dims.lhs_batch, dims.lhs_contracting);
  rest(b, dims.rhs_batch, dims.rhs_contracting);
  Val v = Make(HloOpcode::kDot, Shape(type == ElementType::kInvalid ? a->type() : type, out), {a, b});
  v->set_attr<AttrKind::kDotDims>(dims);
  return v;
}

Val Emitter::Conv(Val input, Val kernel, const WindowAttr& window, const ConvDims& dims, int64_t feature_groups,
                  int64_t batch_groups) {
  Dims out(input->shape().rank());
  out[dims.output_batch] = input->shape().dim(dims.input_batch) / batch_groups;
  out[dims.output_feature] = kernel->shape().dim(dims.kernel_output_feature);
  for (size_t i = 0; i < window.dims.size(); ++i) {
    out[dims.output_spatial[i]] = WindowOutputSize(input->shape().dim(dims.input_spatial[i]), window.dims[i]);
  }
  Val v = Make(HloOpcode::kConvolution, Shape(input->type(), out), {input, kernel});
  v->set_attr<AttrKind::kWindow>(window);
  v->set_attr<AttrKind::kDimLabels>(dims);
  if (feature_groups != 1) v->set_attr<AttrKind::kFeatureGroupCount>(feature_groups);
  if (batch_groups != 1) v->set_attr<AttrKind::kBatchGroupCount>(batch_groups);
  return v;
}

Val Emitter::Gather(Val a, Val indices, const GatherDims& dims, const std::vector<int64_t>& slice_sizes, bool sorted) {
  // Output: offset_dims hold the slice's kept dimensions, the others the batch dimensions of the indices.
  Dims batch;
  for (int64_t i = 0; i < indices->shape().rank(); ++i) {
    if (i != dims.index_vector_dim) batch.push_back(indices->shape().dim(i));
  }
  Dims kept;
  for (size_t i = 0; i < slice_sizes.size(); ++i) {
    if (!Contains(dims.collapsed_slice_dims, i) && !Contains(dims.operand_batching_dims, i)) {
      kept.push_back(slice_sizes[i]);
    }
  }
  Dims out;
  size_t b = 0, k = 0;
  for (size_t i = 0; i < batch.size() + kept.size(); ++i) {
    out.push_back(Contains(dims.offset_dims, i) ? kept[k++] : batch[b++]);
  }
  Val v = Make(HloOpcode::kGather, Shape(a->type(), out), {a, indices});
  v->set_attr<AttrKind::kGatherDims>(dims);
  v->set_attr<AttrKind::kSliceSizes>(slice_sizes);
  if (sorted) v->set_attr<AttrKind::kIndicesAreSorted>(true);
  return v;
}

Val Emitter::Scatter(Val a, Val indices, Val updates, const ScatterDims& dims, HloComputation* combine, bool sorted,
                     bool unique) {
  Val v = Make(HloOpcode::kScatter, Shape(a->type(), a->shape().dims()), {a, indices, updates});
  v->set_attr<AttrKind::kScatterDims>(dims);
  if (sorted) v->set_attr<AttrKind::kIndicesAreSorted>(true);
  if (unique) v->set_attr<AttrKind::kUniqueIndices>(true);
  v->AddCalledComputation(combine);
  return v;
}

HloComputation* Emitter::LessThan(const std::vector<ElementType>& types, CompareDirection direction, bool total_order) {
  std::vector<Shape> parameters;
  for (ElementType t : types) {
    parameters.push_back(Shape::Scalar(t));
    parameters.push_back(Shape::Scalar(t));
  }
  return Computation("order", parameters, [&](Emitter& e, const std::vector<Val>& p) {
    Val v = e.Compare(direction, p[0], p[1]);
    if (total_order && IsFloating(types[0])) v->set_attr<AttrKind::kCompareType>(CompareType::kTotalOrder);
    return v;
  });
}

Val Emitter::Sort(const std::vector<Val>& operands, int64_t axis, HloComputation* less, bool stable) {
  std::vector<Shape> shapes;
  for (Val v : operands) shapes.emplace_back(v->type(), v->shape().dims());
  Val v = Make(HloOpcode::kSort, shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes), operands);
  v->set_attr<AttrKind::kDimensions>({axis});
  if (stable) v->set_attr<AttrKind::kIsStable>(true);
  v->AddCalledComputation(less);
  return v;
}

Val Emitter::Fft(Val a, FftType type, const std::vector<int64_t>& lengths) {
  Shape shape(a->type(), a->shape().dims());
  int64_t last = shape.rank() - 1;
  if (type == FftType::kRfft) {
    shape.set_type(a->type() == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64);
    shape.set_dim(last, lengths.back() == 0 ? 0 : lengths.back() / 2 + 1);
  } else if (type == FftType::kIrfft) {
    shape.set_type(ComplexComponent(a->type()));
    shape.set_dim(last, lengths.back());
  }
  Val v = Make(HloOpcode::kFft, shape, {a});
  v->set_attr<AttrKind::kFftType>(type);
  v->set_attr<AttrKind::kFftLength>(lengths);
  return v;
}

Val Emitter::Cholesky(Val a) {
  Val v = Make(HloOpcode::kCholesky, Shape(a->type(), a->shape().dims()), {a});
  v->set_attr<AttrKind::kLower>(true);
  return v;
}

Val Emitter::TriangularSolve(Val a, Val b, bool left, bool lower, bool unit, TriangularTranspose transpose) {
  Val v = Make(HloOpcode::kTriangularSolve, Shape(b->type(), b->shape().dims()), {a, b});
  v->set_attr<AttrKind::kLeftSide>(left);
  v->set_attr<AttrKind::kLower>(lower);
  v->set_attr<AttrKind::kUnitDiagonal>(unit);
  v->set_attr<AttrKind::kTransposeA>(transpose);
  return v;
}

}  // namespace xc
