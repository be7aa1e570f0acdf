// reduce-window with long windows that overlap, as windows of windows: about twice the root of their length in place of
// the length.
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/analysis/pattern.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

using I = HloInstruction;

// Shorter windows, and few of them, are quicker as they are.
constexpr int64_t kShortestLong = 32, kFewestLong = 1024;

struct LongWindow {
  int64_t dim;
  HloOpcode opcode;
  bool idempotent;  // what is taken twice counts once
};

// What stands where there is no element must not count, as it does so in each of the windows that are put together.
bool CountsForNothing(const I* init, HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
      return true;
    case HloOpcode::kMultiply:
      return IsAll(init, 1);
    default:
      return IsAll(init, 0) || IsAll(init, -0.0);
  }
}

std::optional<LongWindow> AsLongWindow(const I* window) {
  if (window->opcode() != HloOpcode::kReduceWindow || window->operand_count() != 2 || window->shape().IsTuple() ||
      window->shape().is_dynamic() || window->operand(0)->shape().is_dynamic() || IsComplex(window->type())) {
    return std::nullopt;
  }
  const WindowAttr attr = window->attr_or<AttrKind::kWindow>({});
  if (static_cast<int64_t>(attr.dims.size()) != window->shape().rank()) return std::nullopt;
  int64_t dim = -1;
  for (int64_t d = 0; d < window->shape().rank(); ++d) {
    const WindowDim& w = attr.dims[d];
    if (w == WindowDim{}) continue;
    if (dim >= 0 || w.stride != 1 || w.base_dilation != 1 || w.window_dilation != 1 || w.reversal) return std::nullopt;
    dim = d;
  }
  if (dim < 0 || ChooseAny(attr.dims[dim].size < kShortestLong || window->shape().ElementCount() < kFewestLong)) {
    return std::nullopt;
  }
  const std::optional<HloOpcode> opcode = CombinerOpcode(window->to_apply());
  if (!opcode || !CountsForNothing(window->operand(1), *opcode)) return std::nullopt;
  return LongWindow{dim, *opcode,
                    *opcode != HloOpcode::kAdd && *opcode != HloOpcode::kMultiply && *opcode != HloOpcode::kXor};
}

// Windows of `size` elements, `dilation` apart, along dimension `dim`, padded as `padded` says.
I* WindowsOf(I* x, I* init, int64_t dim, int64_t size, int64_t dilation, const WindowDim& padded,
             HloComputation* combiner) {
  WindowAttr attr;
  attr.dims.resize(x->shape().rank());
  WindowDim& w = attr.dims[dim];
  w.size = size;
  w.window_dilation = dilation;
  w.padding_low = padded.padding_low;
  w.padding_high = padded.padding_high;
  return make::ReduceWindow(x, init, std::move(attr), combiner);
}

I* Shifted(I* x, int64_t dim, int64_t start, int64_t count) {
  Int64List starts(x->shape().rank(), 0), limits = x->shape().dims();
  starts[dim] = start;
  limits[dim] = start + count;
  return make::Slice(x, starts, limits, Int64List(x->shape().rank(), 1));
}

I* AsWindowsOfWindows(I* window, const LongWindow& found) {
  const WindowDim w = window->attr_or<AttrKind::kWindow>({}).dims[found.dim];
  I *x = window->operand(0), *init = window->operand(1);
  HloComputation* combiner = window->to_apply();
  // Sums and products of narrow floats are rounded when they are stored only, as those of any reduction are.
  const ElementType type = window->type();
  const bool carry = (found.opcode == HloOpcode::kAdd || found.opcode == HloOpcode::kMultiply) && IsNarrowFloat(type);
  if (carry) {
    x = make::Convert(x, ElementType::kF32);
    init = make::Convert(init, ElementType::kF32);
    combiner = make::Combiner(window->parent()->module(), found.opcode, ElementType::kF32);
  }
  const int64_t part = std::max<int64_t>(2, std::lround(std::sqrt(static_cast<double>(w.size))));
  int64_t parts = w.size / part;
  const bool whole = ChooseSafe(parts * part == w.size);
  // With a rest, of at least one element, whatever the sizes are.
  if (!whole) parts = (w.size - 1) / part;
  const int64_t made = parts * part, rest = w.size - made, count = window->shape().dim(found.dim);
  const WindowDim none;
  I* all = WindowsOf(WindowsOf(x, init, found.dim, part, 1, w, combiner), init, found.dim, parts, part, none, combiner);
  if (!whole) {
    // What is left of each window; or the same windows again, so far behind that they end where the whole one does.
    I* other = found.idempotent ? Shifted(all, found.dim, rest, count)
                                : Shifted(WindowsOf(x, init, found.dim, rest, 1, w, combiner), found.dim, made, count);
    all = make::Binary(found.opcode, Shifted(all, found.dim, 0, count), other);
  }
  return carry ? make::Convert(all, type) : all;
}

}  // namespace

absl::StatusOr<bool> ExpandLongWindows(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* window : computation->PostOrder()) {
      const std::optional<LongWindow> found = AsLongWindow(window);
      if (!found) continue;
      computation->Replace(window, AsWindowsOfWindows(window, *found));
      context.Count("reduce-window.long");
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
