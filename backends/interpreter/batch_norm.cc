// The three batch-norm ops, computed in f64.
#include <algorithm>
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

// Walks over the elements of arrays of one shape with the feature that each belongs to.
class FeatureWalk {
 public:
  FeatureWalk(const HloInstruction& instruction, const Shape& shape) : size_(shape.ElementCount()) {
    const int64_t dim = instruction.attr<AttrKind::kFeatureIndex>();
    features_ = shape.dim(dim);
    inner_ = RowMajorStrides(shape.dims())[dim];
  }
  int64_t features() const { return features_; }
  // Elements per feature.
  double count() const { return static_cast<double>(size_) / static_cast<double>(features_); }

  // Calls f(feature, x, y) for each element of `x` (and of `y`, else 0); what it returns is stored in `out` if given.
  template <typename F>
  void Run(const Literal& x, const Literal* y, Literal* out, F f) const {
    const auto load_x = GetLoad<double>(x.shape().type());
    const auto load_y = y == nullptr ? nullptr : GetLoad<double>(y->shape().type());
    double xs[kLanes], ys[kLanes] = {}, results[kLanes];
    int64_t feature = 0, left = inner_;
    for (int64_t start = 0; start < size_; start += kLanes) {
      const int64_t n = std::min(kLanes, size_ - start);
      load_x(x.bytes(), start, 1, n, xs);
      if (y != nullptr) load_y(y->bytes(), start, 1, n, ys);
      for (int64_t i = 0; i < n; ++i) {
        results[i] = f(feature, xs[i], ys[i]);
        if (--left > 0) continue;
        left = inner_;
        if (++feature == features_) feature = 0;
      }
      if (out != nullptr) GetStore<double>(out->shape().type())(results, n, out->mutable_bytes(), start);
    }
  }

 private:
  int64_t size_, features_, inner_;
};

}  // namespace

OpResult BatchNormTraining(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Literal& x = operands[0];
  const auto scale = Doubles(operands[1]), offset = Doubles(operands[2]);
  const double epsilon = instruction.attr<AttrKind::kEpsilon>();
  const FeatureWalk walk(instruction, x.shape());
  std::vector<double> mean(walk.features()), variance(walk.features()), factor(walk.features());
  walk.Run(x, nullptr, nullptr, [&](int64_t f, double v, double) { return mean[f] += v; });
  for (double& m : mean) m /= walk.count();
  walk.Run(x, nullptr, nullptr,
           [&](int64_t f, double v, double) { return variance[f] += (v - mean[f]) * (v - mean[f]); });
  for (int64_t f = 0; f < walk.features(); ++f) {
    variance[f] /= walk.count();
    factor[f] = scale[f] / std::sqrt(variance[f] + epsilon);
  }
  Literal out(Plain(instruction.shape().tuple_shape(0)));
  walk.Run(x, nullptr, &out, [&](int64_t f, double v, double) { return (v - mean[f]) * factor[f] + offset[f]; });
  std::vector<Literal> parts;
  parts.push_back(std::move(out));
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(1), mean));
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(2), variance));
  return Literal::Tuple(std::move(parts));
}

OpResult BatchNormInference(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const auto scale = Doubles(operands[1]), offset = Doubles(operands[2]);
  const auto mean = Doubles(operands[3]), variance = Doubles(operands[4]);
  const double epsilon = instruction.attr<AttrKind::kEpsilon>();
  const FeatureWalk walk(instruction, operands[0].shape());
  std::vector<double> factor(walk.features());
  for (int64_t f = 0; f < walk.features(); ++f) factor[f] = scale[f] / std::sqrt(variance[f] + epsilon);
  Literal out(Plain(instruction.shape()));
  walk.Run(operands[0], nullptr, &out,
           [&](int64_t f, double v, double) { return (v - mean[f]) * factor[f] + offset[f]; });
  return out;
}

// With x̂ = (x - mean) / sqrt(variance + ε): d_offset = Σ g, d_scale = Σ g x̂,
// d_x = scale / sqrt(variance + ε) (g - (d_offset + x̂ d_scale) / count).
OpResult BatchNormGrad(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Literal &x = operands[0], &gradient = operands[4];
  const auto scale = Doubles(operands[1]), mean = Doubles(operands[2]), variance = Doubles(operands[3]);
  const double epsilon = instruction.attr<AttrKind::kEpsilon>();
  const FeatureWalk walk(instruction, x.shape());
  std::vector<double> d_scale(walk.features()), d_offset(walk.features()), inverse(walk.features());
  for (int64_t f = 0; f < walk.features(); ++f) inverse[f] = 1 / std::sqrt(variance[f] + epsilon);
  walk.Run(x, &gradient, nullptr, [&](int64_t f, double v, double g) {
    d_offset[f] += g;
    return d_scale[f] += g * (v - mean[f]) * inverse[f];
  });
  Literal d_x(Plain(instruction.shape().tuple_shape(0)));
  walk.Run(x, &gradient, &d_x, [&](int64_t f, double v, double g) {
    const double normal = (v - mean[f]) * inverse[f];
    return scale[f] * inverse[f] * (g - (d_offset[f] + normal * d_scale[f]) / walk.count());
  });
  std::vector<Literal> parts;
  parts.push_back(std::move(d_x));
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(1), d_scale));
  parts.push_back(FromDoubles(instruction.shape().tuple_shape(2), d_offset));
  return Literal::Tuple(std::move(parts));
}

}  // namespace xc::interp
