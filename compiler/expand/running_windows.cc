// reduce-window whose windows all begin (or end) where the array does, as a scan: n steps instead of n²/2.
#include <optional>

#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

using I = HloInstruction;

// Windows of fewer elements are quicker as they are: they fuse.
constexpr int64_t kShortest = 32;
// Slices of at least so many elements lie together in memory, for which the array is transposed if need be.
constexpr int64_t kRun = 16;

struct Running {
  int64_t dim;
  bool reverse;                     // windows reach to the end of the array
  std::optional<HloOpcode> opcode;  // nothing: the combiner is called
};

std::optional<Running> AsRunning(const I* window) {
  if (window->opcode() != HloOpcode::kReduceWindow || window->operand_count() != 2 || window->shape().IsTuple() ||
      window->shape().is_dynamic() || window->operand(0)->shape().is_dynamic()) {
    return std::nullopt;
  }
  const WindowAttr attr = window->attr_or<AttrKind::kWindow>({});
  const Shape& in = window->operand(0)->shape();
  if (static_cast<int64_t>(attr.dims.size()) != in.rank()) return std::nullopt;
  Running running{-1, false, CombinerOpcode(window->to_apply())};
  for (int64_t d = 0; d < in.rank(); ++d) {
    const WindowDim& w = attr.dims[d];
    if (w == WindowDim{}) continue;
    const int64_t n = in.dim(d);
    const bool forward = w.padding_low == n - 1 && w.padding_high == 0;
    const bool reverse = w.padding_low == 0 && w.padding_high == n - 1;
    if (running.dim >= 0 || w.size != n || w.stride != 1 || w.base_dilation != 1 || w.window_dilation != 1 ||
        w.reversal || forward == reverse || ChooseAny(n < kShortest)) {
      return std::nullopt;
    }
    running.dim = d;
    running.reverse = reverse;
  }
  if (running.dim < 0) return std::nullopt;
  // From the end the elements of a window come in the other order: right where the combiner is known to be commutative
  // and associative (sums and products but for their rounding, for which HLO sets no order).
  if (running.reverse && !running.opcode) return std::nullopt;
  return running;
}

// The type that is carried from step to step: sums and products of narrow floats are rounded when they are stored only,
// as those of any reduction are.
ElementType CarriedType(const Running& running, ElementType type) {
  const bool rounds = running.opcode == HloOpcode::kAdd || running.opcode == HloOpcode::kMultiply;
  return rounds && IsNarrowFloat(type) ? ElementType::kF32 : type;
}

// The scan of `array`, the window's operand or its transpose.
I* AsScan(I* window, I* array, const Running& running) {
  HloComputation* computation = window->parent();
  const Shape whole = WithoutLayout(array->shape());
  const ElementType carried = CarriedType(running, whole.type());
  const auto as = [](I* x, ElementType type) { return x->type() == type ? x : make::Convert(x, type); };
  Int64List dims = whole.dims();
  dims.erase(dims.begin() + running.dim);
  const Shape slice(whole.type(), dims), state(carried, dims);
  HloComputation* body = computation->module()->AddComputation("running_window");
  I* element = body->Add(I::CreateParameter(0, slice, "element"));
  I* before = body->Add(I::CreateParameter(1, state, "before"));
  I* next;
  if (running.opcode) {
    next = make::Binary(*running.opcode, before, as(element, carried));
  } else {
    next = body->Add(HloOpcode::kMap, slice, {before, element});
    next->set_attr<AttrKind::kDimensions>(make::Iota(slice.rank()));
    next->AddCalledComputation(window->to_apply());
  }
  body->set_root(make::Tuple(body, {as(next, whole.type()), next}));
  I* init = make::Broadcast(as(window->operand(1), carried), dims, {});
  I* scan = computation->Add(HloOpcode::kScan, Shape::Tuple({whole, state}), {array, init});
  scan->set_attr<AttrKind::kDimensions>({running.dim});
  scan->set_attr<AttrKind::kNumCarries>(1);
  if (running.reverse) scan->set_attr<AttrKind::kIsReverse>(true);
  scan->AddCalledComputation(body);
  return make::GetTupleElement(scan, 0);
}

// With the dimension of the sums first, where steps along it would read and write columns of memory.
I* AsScanOfSlices(I* window, Running running) {
  I* array = window->operand(0);
  int64_t before = 1, behind = 1;
  Int64List order = {running.dim};
  for (int64_t d = 0; d < array->shape().rank(); ++d) {
    if (d == running.dim) continue;
    (d < running.dim ? before : behind) *= array->shape().dim(d);
    order.push_back(d);
  }
  if (ChooseAny(behind >= kRun || before < kRun)) return AsScan(window, array, running);
  running.dim = 0;
  return make::Transpose(AsScan(window, make::Transpose(array, order), running), make::InversePermutation(order));
}

}  // namespace

absl::StatusOr<bool> ExpandRunningWindows(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* window : computation->PostOrder()) {
      const std::optional<Running> running = AsRunning(window);
      if (!running) continue;
      computation->Replace(window, AsScanOfSlices(window, *running));
      context.Count("reduce-window.running");
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
