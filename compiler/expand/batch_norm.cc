// Batch normalization as elementwise ops and reductions.
#include "compiler/expand/expand.h"
#include "compiler/make.h"

namespace xc {
namespace {

using I = HloInstruction;

// What the three ops share: their operand, and per-feature values spread over it.
struct Norm {
  I* op;
  I* x;
  int64_t feature;
  Int64List others;  // all dimensions but the feature's
  double count;      // elements per feature
  HloComputation* add;

  Norm(I* instruction, HloModule* module) : op(instruction), x(instruction->operand(0)) {
    feature = op->attr<AttrKind::kFeatureIndex>();
    count = 1;
    for (int64_t d = 0; d < x->shape().rank(); ++d) {
      if (d == feature) continue;
      others.push_back(d);
      count *= static_cast<double>(x->shape().dim(d));
    }
    add = nullptr;
    if (op->opcode() != HloOpcode::kBatchNormInference) add = make::Combiner(module, HloOpcode::kAdd, x->type());
  }
  I* Spread(I* per_feature) const { return make::Broadcast(per_feature, x->shape().dims(), {feature}); }
  I* Sum(I* value) const { return make::Reduce(value, make::Scalar(op->parent(), x->type(), 0), others, add); }
  I* Number(const I* like, double value) const {
    return make::Full(op->parent(), like->type(), like->shape().dims(), value);
  }
  I* Mean(I* value) const {
    I* sum = Sum(value);
    return make::Binary(HloOpcode::kDivide, sum, Number(sum, count));
  }
  I* InverseDeviation(I* variance) const {
    return make::Unary(HloOpcode::kRsqrt,
                       make::Binary(HloOpcode::kAdd, variance, Number(variance, op->attr<AttrKind::kEpsilon>())));
  }
};

I* Mul(I* a, I* b) { return make::Binary(HloOpcode::kMultiply, a, b); }
I* Sub(I* a, I* b) { return make::Binary(HloOpcode::kSubtract, a, b); }

// (x - mean) * (rsqrt(variance + epsilon) * scale) + offset
I* Normalize(const Norm& n, I* centered, I* variance, I* scale, I* offset) {
  I* factor = Mul(n.InverseDeviation(variance), scale);
  return make::Binary(HloOpcode::kAdd, Mul(centered, n.Spread(factor)), n.Spread(offset));
}

I* Training(const Norm& n) {
  I* mean = n.Mean(n.x);
  // Two passes: the difference of two large sums would lose the variance of data far from zero.
  I* centered = Sub(n.x, n.Spread(mean));
  I* variance = n.Mean(Mul(centered, centered));
  I* y = Normalize(n, centered, variance, n.op->operand(1), n.op->operand(2));
  return make::Tuple(n.op->parent(), {y, mean, variance});
}

I* Inference(const Norm& n) {
  return Normalize(n, Sub(n.x, n.Spread(n.op->operand(3))), n.op->operand(4), n.op->operand(1), n.op->operand(2));
}

// Derivatives by operand, scale and offset, from operands (x, scale, mean, variance, dy).
I* Gradient(const Norm& n) {
  I *scale = n.op->operand(1), *mean = n.op->operand(2), *variance = n.op->operand(3), *dy = n.op->operand(4);
  I* inverse = n.InverseDeviation(variance);
  I* normal = Mul(Sub(n.x, n.Spread(mean)), n.Spread(inverse));
  I* d_scale = n.Sum(Mul(dy, normal));
  I* d_offset = n.Sum(dy);
  // dx = scale * inverse * (dy - mean(dy) - normal * mean(dy * normal))
  I* mean_dy = make::Binary(HloOpcode::kDivide, d_offset, n.Number(d_offset, n.count));
  I* mean_dy_normal = make::Binary(HloOpcode::kDivide, d_scale, n.Number(d_scale, n.count));
  I* inner = Sub(Sub(dy, n.Spread(mean_dy)), Mul(normal, n.Spread(mean_dy_normal)));
  I* dx = Mul(n.Spread(Mul(scale, inverse)), inner);
  return make::Tuple(n.op->parent(), {dx, d_scale, d_offset});
}

// Numbers of fewer digits than f32 are worked on in f32 and rounded once.
I* Widened(I* op) {
  if (!IsFloating(op->operand(0)->type()) || ElementBits(op->operand(0)->type()) >= 32) return op;
  std::vector<I*> operands;
  for (I* operand : op->operands()) operands.push_back(make::Convert(operand, ElementType::kF32));
  Shape shape = WithoutLayout(op->shape());
  if (shape.IsTuple()) {
    std::vector<Shape> parts;
    for (const Shape& part : shape.tuple_shapes()) parts.push_back(WithType(part, ElementType::kF32));
    shape = Shape::Tuple(std::move(parts));
  } else {
    shape = WithType(shape, ElementType::kF32);
  }
  I* wide = op->parent()->Add(op->CloneWith(shape, operands));
  I* result;
  if (shape.IsTuple()) {
    std::vector<I*> parts;
    for (int64_t i = 0; i < shape.tuple_size(); ++i) {
      parts.push_back(make::Convert(make::GetTupleElement(wide, i), op->shape().tuple_shape(i).type()));
    }
    result = make::Tuple(op->parent(), parts);
  } else {
    result = make::Convert(wide, op->type());
  }
  op->parent()->Replace(op, result);
  return wide;
}

}  // namespace

absl::StatusOr<bool> ExpandBatchNorm(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* instruction : computation->PostOrder()) {
      I* expanded = nullptr;
      switch (instruction->opcode()) {
        case HloOpcode::kBatchNormTraining:
          instruction = Widened(instruction);
          expanded = Training(Norm(instruction, module));
          break;
        case HloOpcode::kBatchNormInference:
          instruction = Widened(instruction);
          expanded = Inference(Norm(instruction, module));
          break;
        case HloOpcode::kBatchNormGrad:
          instruction = Widened(instruction);
          expanded = Gradient(Norm(instruction, module));
          break;
        default:
          continue;
      }
      context.Count("batch_norm.expanded");
      computation->Replace(instruction, expanded);
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
