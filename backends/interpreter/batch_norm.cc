// The three batch-norm ops, computed in f64.
#include <cmath>

#include "backends/interpreter/lanes.h"
#include "backends/interpreter/numeric.h"
#include "backends/interpreter/strided.h"

namespace xc::interp {
namespace {

std::vector<double> Doubles(const Literal& literal) {
  std::vector<double> values(literal.size());
  GetLoad<double>(literal.shape().type())(literal.bytes(), 0, 1, literal.size(), values.data());
  return values;
}

Literal FromDoubles(const Shape& shape, const std::vector<double>& values) {
  Literal literal(shape);
  GetStore<double>(shape.type())(values.data(), literal.size(), literal.mutable_bytes(), 0);
  return literal;
}

// The feature of each element: elements repeat in runs of `inner` over `features` features.
struct Features {
  int64_t features, inner;
  Features(const HloInstruction& instruction, const Shape& shape) {
    const int64_t dim = instruction.attr<AttrKind::kFeatureIndex>();
    features = shape.dim(dim);
    inner = RowMajorStrides(shape.dims())[dim];
  }
  int64_t Of(int64_t element) const { return element / inner % features; }
};

}  // namespace

OpResult BatchNormTraining(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const auto x = Doubles(operands[0]), scale = Doubles(operands[1]), offset = Doubles(operands[2]);
  const double epsilon = instruction.attr<AttrKind::kEpsilon>();
  const Features feature(instruction, operands[0].shape());
  const double count = static_cast<double>(x.size()) / static_cast<double>(feature.features);
  std::vector<double> mean(feature.features), variance(feature.features), out(x.size());
  for (size_t i = 0; i < x.size(); ++i) mean[feature.Of(i)] += x[i];
  for (double& m : mean) m /= count;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - mean[feature.Of(i)];
    variance[feature.Of(i)] += d * d;
  }
  for (double& v : variance) v /= count;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t f = feature.Of(i);
    out[i] = (x[i] - mean[f]) / std::sqrt(variance[f] + epsilon) * scale[f] + offset[f];
  }
  std::vector<Literal> parts;
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(0), out));
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(1), mean));
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(2), variance));
  return Literal::Tuple(std::move(parts));
}

OpResult BatchNormInference(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  auto x = Doubles(operands[0]);
  const auto scale = Doubles(operands[1]), offset = Doubles(operands[2]);
  const auto mean = Doubles(operands[3]), variance = Doubles(operands[4]);
  const double epsilon = instruction.attr<AttrKind::kEpsilon>();
  const Features feature(instruction, operands[0].shape());
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t f = feature.Of(i);
    x[i] = (x[i] - mean[f]) / std::sqrt(variance[f] + epsilon) * scale[f] + offset[f];
  }
  return FromDoubles(instruction.shape(), x);
}

// With x̂ = (x - mean) / sqrt(variance + ε): d_offset = Σ g, d_scale = Σ g x̂,
// d_x = scale / sqrt(variance + ε) (g - (d_offset + x̂ d_scale) / count).
OpResult BatchNormGrad(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const auto x = Doubles(operands[0]), scale = Doubles(operands[1]), mean = Doubles(operands[2]);
  const auto variance = Doubles(operands[3]), gradient = Doubles(operands[4]);
  const double epsilon = instruction.attr<AttrKind::kEpsilon>();
  const Features feature(instruction, operands[0].shape());
  const double count = static_cast<double>(x.size()) / static_cast<double>(feature.features);
  std::vector<double> d_scale(feature.features), d_offset(feature.features), d_x(x.size()), inverse(feature.features);
  for (int64_t f = 0; f < feature.features; ++f) inverse[f] = 1 / std::sqrt(variance[f] + epsilon);
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t f = feature.Of(i);
    d_offset[f] += gradient[i];
    d_scale[f] += gradient[i] * (x[i] - mean[f]) * inverse[f];
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t f = feature.Of(i);
    const double normal = (x[i] - mean[f]) * inverse[f];
    d_x[i] = scale[f] * inverse[f] * (gradient[i] - (d_offset[f] + normal * d_scale[f]) / count);
  }
  std::vector<Literal> parts;
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(0), d_x));
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(1), d_scale));
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(2), d_offset));
  return Literal::Tuple(std::move(parts));
}

}  // namespace xc::interp
