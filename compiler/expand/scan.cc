// scan as a loop over the slices.
#include "compiler/expand/expand.h"
#include "compiler/make.h"

namespace xc {
namespace {

using I = HloInstruction;

// The slice of `whole` at `t` along `dim`, without that dimension.
I* SliceAt(I* whole, int64_t dim, I* t, I* zero) {
  Int64List sizes = whole->shape().dims();
  sizes[dim] = 1;
  std::vector<I*> operands = {whole};
  for (int64_t d = 0; d < whole->shape().rank(); ++d) operands.push_back(d == dim ? t : zero);
  I* slice = whole->parent()->Add(HloOpcode::kDynamicSlice, Shape(whole->type(), sizes), operands);
  slice->set_attr<AttrKind::kDynamicSliceSizes>(sizes);
  sizes.erase(sizes.begin() + dim);
  return make::Reshape(slice, sizes);
}

I* UpdateAt(I* whole, I* slice, int64_t dim, I* t, I* zero) {
  Int64List sizes = whole->shape().dims();
  sizes[dim] = 1;
  std::vector<I*> operands = {whole, make::Reshape(slice, sizes)};
  for (int64_t d = 0; d < whole->shape().rank(); ++d) operands.push_back(d == dim ? t : zero);
  return whole->parent()->Add(HloOpcode::kDynamicUpdateSlice, WithoutLayout(whole->shape()), operands);
}

Shape Part(const I* scan, int64_t i) {
  return WithoutLayout(scan->shape().IsTuple() ? scan->shape().tuple_shape(i) : scan->shape());
}

// Whether operands, result and computation fit together as inputs, carries and stacked outputs.
bool Fits(const I* scan, int64_t inputs, int64_t outputs, int64_t carries) {
  if (inputs < 1 || outputs < 0 || scan->shape().is_dynamic()) return false;
  const int64_t dim = scan->dimensions()[0], length = scan->operand(0)->shape().dim(dim);
  const HloComputation* body = scan->to_apply();
  const Shape& root = body->root()->shape();
  if (root.IsTuple() != scan->shape().IsTuple() || (root.IsTuple() && root.tuple_size() != outputs + carries)) {
    return false;
  }
  const auto slices = [&](const Shape& whole, const Shape& slice) {
    if (!whole.IsArray() || !slice.IsArray() || whole.is_dynamic() || whole.rank() <= dim) return false;
    Int64List dims = whole.dims();
    dims.erase(dims.begin() + dim);
    return whole.dim(dim) == length && dims == slice.dims() && whole.type() == slice.type();
  };
  for (int64_t i = 0; i < inputs; ++i) {
    if (!slices(scan->operand(i)->shape(), body->parameter(i)->shape())) return false;
  }
  for (int64_t i = 0; i < outputs; ++i) {
    if (!slices(Part(scan, i), root.IsTuple() ? root.tuple_shape(i) : root)) return false;
  }
  for (int64_t i = 0; i < carries; ++i) {
    const Shape& carry = scan->operand(inputs + i)->shape();
    if (!carry.IsArray() || carry.is_dynamic() || !SameShape(carry, body->parameter(inputs + i)->shape()) ||
        !SameShape(carry, Part(scan, outputs + i)) ||
        !SameShape(carry, root.IsTuple() ? root.tuple_shape(outputs + i) : root)) {
      return false;
    }
  }
  return true;
}

// The loop's state: step, inputs, outputs, carries.
I* AsLoop(I* scan, int64_t inputs, int64_t outputs, int64_t carries) {
  HloComputation* computation = scan->parent();
  HloModule* module = computation->module();
  const int64_t dim = scan->dimensions()[0], length = scan->operand(0)->shape().dim(dim);
  std::vector<I*> state = {make::ScalarInt(computation, ElementType::kS64, 0)};
  for (int64_t i = 0; i < inputs; ++i) state.push_back(scan->operand(i));
  for (int64_t i = 0; i < outputs; ++i) {
    const Shape part = Part(scan, i);
    state.push_back(make::Full(computation, part.type(), part.dims(), 0));
  }
  for (int64_t i = 0; i < carries; ++i) state.push_back(scan->operand(inputs + i));
  std::vector<Shape> shapes;
  for (const I* element : state) shapes.push_back(WithoutLayout(element->shape()));
  const Shape shape = Shape::Tuple(std::move(shapes));

  HloComputation* condition = module->AddComputation("scan_condition");
  I* seen = condition->Add(I::CreateParameter(0, shape, "state"));
  condition->set_root(make::Compare(CompareDirection::kLt, make::GetTupleElement(seen, 0),
                                    make::ScalarInt(condition, ElementType::kS64, length)));

  HloComputation* body = module->AddComputation("scan_body");
  I* old = body->Add(I::CreateParameter(0, shape, "state"));
  I *step = make::GetTupleElement(old, 0), *zero = make::ScalarInt(body, ElementType::kS64, 0);
  I* t = scan->attr_or<AttrKind::kIsReverse>(false)
             ? make::Binary(HloOpcode::kSubtract, make::ScalarInt(body, ElementType::kS64, length - 1), step)
             : step;
  std::vector<I*> arguments;
  for (int64_t i = 0; i < inputs; ++i) arguments.push_back(SliceAt(make::GetTupleElement(old, 1 + i), dim, t, zero));
  for (int64_t i = 0; i < carries; ++i) arguments.push_back(make::GetTupleElement(old, 1 + inputs + outputs + i));
  I* call = body->Add(HloOpcode::kCall, scan->to_apply()->root()->shape(), arguments);
  call->AddCalledComputation(scan->to_apply());
  const auto result = [&](int64_t i) { return call->shape().IsTuple() ? make::GetTupleElement(call, i) : call; };
  std::vector<I*> next = {make::Binary(HloOpcode::kAdd, step, make::ScalarInt(body, ElementType::kS64, 1))};
  for (int64_t i = 0; i < inputs; ++i) next.push_back(make::GetTupleElement(old, 1 + i));
  for (int64_t i = 0; i < outputs; ++i) {
    next.push_back(UpdateAt(make::GetTupleElement(old, 1 + inputs + i), result(i), dim, t, zero));
  }
  for (int64_t i = 0; i < carries; ++i) next.push_back(result(outputs + i));
  body->set_root(make::Tuple(body, next));

  I* loop = computation->Add(HloOpcode::kWhile, shape, {make::Tuple(computation, state)});
  loop->AddCalledComputation(condition);
  loop->AddCalledComputation(body);
  std::vector<I*> results;
  for (int64_t i = 0; i < outputs + carries; ++i) results.push_back(make::GetTupleElement(loop, 1 + inputs + i));
  return scan->shape().IsTuple() ? make::Tuple(computation, results) : results[0];
}

}  // namespace

absl::StatusOr<bool> ExpandScan(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* scan : computation->PostOrder()) {
      if (scan->opcode() != HloOpcode::kScan) continue;
      const int64_t carries = scan->attr_or<AttrKind::kNumCarries>(0), inputs = scan->operand_count() - carries;
      const int64_t outputs = (scan->shape().IsTuple() ? scan->shape().tuple_size() : 1) - carries;
      if (!Fits(scan, inputs, outputs, carries)) continue;
      I* value;
      if (scan->operand(0)->shape().dim(scan->dimensions()[0]) == 0) {
        std::vector<I*> parts;
        for (int64_t i = 0; i < outputs; ++i) {
          const Shape part = Part(scan, i);
          parts.push_back(make::Full(computation, part.type(), part.dims(), 0));
        }
        for (int64_t i = 0; i < carries; ++i) parts.push_back(scan->operand(inputs + i));
        value = scan->shape().IsTuple() ? make::Tuple(computation, parts) : parts[0];
      } else {
        value = AsLoop(scan, inputs, outputs, carries);
      }
      computation->Replace(scan, value);
      context.Count("scan.expanded");
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
