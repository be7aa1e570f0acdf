// Pads between elements, as interleaved halves and gradients of strided windows have them: of a vector's lanes each
// second, third, … one holds an element, so that a shorter vector of neighbours is computed and spread.
#include <algorithm>
#include <bit>

#include "absl/types/span.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/codegen/fused_internal.h"
#include "hlo/base/choices.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::codegen {
namespace {
using V = llvm::Value*;

constexpr int64_t kMostSpread = 8;  // there are as many places for a vector's first element
}  // namespace

std::optional<int64_t> FusedEmitter::SpreadDimension(const HloInstruction* pad, const std::vector<Term>& at) const {
  if (lanes_ == 1 || !values_.empty()) return std::nullopt;
  std::optional<int64_t> found;
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i].uniform()) continue;
    const int64_t step = pad->padding().dims[i].interior + 1;
    if (found.has_value() || at[i].vec != nullptr || at[i].stride != 1) return std::nullopt;
    if (step < 2 || step > kMostSpread || lanes_ < 2 * step) return std::nullopt;
    found = i;
  }
  return found;
}

absl::StatusOr<Element> FusedEmitter::EmitSpread(const HloInstruction* pad, const std::vector<Term>& at, int64_t d,
                                                 const Element& outside) {
  auto& b = e_.builder();
  const HloInstruction* operand = pad->operand(0);
  const Shape& from = operand->shape();
  V uniform = nullptr;
  std::vector<Term> to(at.size());
  for (int64_t i = 0; i < static_cast<int64_t>(at.size()); ++i) {
    const PaddingDim& p = pad->padding().dims[i];
    if (i == d) continue;
    to[i] = index_.AddConst(at[i], -p.low);
    if (p.interior > 0) {
      V width = b.getInt64(p.interior + 1), x = to[i].base;
      uniform = And(uniform, b.CreateICmpULT(x, b.getInt64((from.dim(i) - 1) * (p.interior + 1) + 1)));
      uniform = And(uniform, b.CreateICmpEQ(b.CreateURem(x, width), b.getInt64(0)));
      to[i] = index_.Uniform(b.CreateUDiv(x, width));
    } else if (!ChooseSafe(p.low == 0 && p.high == 0)) {
      uniform = And(uniform, InRange(to[i], from.dim(i)));
    }
  }
  const int64_t step = pad->padding().dims[d].interior + 1, low = pad->padding().dims[d].low;
  // Elements in a vector; where the step is no power of two, some behind them are computed in vain.
  const int64_t count = std::bit_ceil(static_cast<uint64_t>((lanes_ - 1) / step + 1));
  V place = b.CreateAdd(at[d].base, b.getInt64(-low));
  // Rounded up, of a number that may be negative: a vector may begin in front of the pad, in another part of a
  // concatenation.
  const int64_t before = (std::max<int64_t>(low, 0) + lanes_) / step + 1;
  V first = b.CreateSub(b.CreateUDiv(b.CreateAdd(place, b.getInt64(before * step + step - 1)), b.getInt64(step)),
                        b.getInt64(before));
  V phase = b.CreateSub(b.CreateMul(first, b.getInt64(step)), place);  // the lane of the first element
  to[d] = {first, 1, nullptr, false};
  // What `make` gives for the phase that it is.
  auto choose = [&](auto make) {
    V chosen = make(0);
    for (int64_t p = 1; p < step; ++p) chosen = b.CreateSelect(b.CreateICmpEQ(phase, b.getInt64(p)), make(p), chosen);
    return chosen;
  };
  FusedEmitter inner(e_, static_cast<int>(count));
  inner.memory_ = memory_;
  inner.alias_ = alias_;
  inner.kept_row_ = kept_row_;
  inner.uniform_condition_ = And(uniform_condition_, uniform);
  V inside = inner.InRange(to[d], from.dim(d));
  inner.lane_condition_ = inside;
  inner.lanes_far_ = lanes_far_ || ReachesFar(from, pad->shape());
  if (V wanted = And(tail_, lane_condition_); wanted != nullptr) {
    wanted = e_.Splat(wanted, lanes_);
    V none_wanted = llvm::Constant::getNullValue(wanted->getType());
    inner.lane_condition_ = b.CreateAnd(inside, choose([&](int64_t p) {
                                          std::vector<int> pick;
                                          for (int64_t j = 0; j < count; ++j) {
                                            pick.push_back(static_cast<int>(std::min<int64_t>(p + j * step, lanes_)));
                                          }
                                          return b.CreateShuffleVector(wanted, none_wanted, pick);
                                        }));
  }
  XC_ASSIGN_OR_RETURN(Element value, inner.Get(operand, Index{to}));
  value = e_.Splat(value, count);
  // Lanes between the elements take `none`, of the same type.
  auto spread = [&](V x, V none) {
    return choose([&](int64_t p) {
      std::vector<int> pick;
      for (int64_t l = 0; l < lanes_; ++l) {
        pick.push_back(static_cast<int>(l >= p && (l - p) % step == 0 ? (l - p) / step : count));
      }
      return b.CreateShuffleVector(x, none, pick);
    });
  };
  auto zeros = [](V x) { return llvm::Constant::getNullValue(x->getType()); };
  V wanted = And(uniform, spread(inside, zeros(inside)));
  Element spread_value{spread(value.re, zeros(value.re))};
  if (value.im != nullptr) spread_value.im = spread(value.im, zeros(value.im));
  return e_.Select(wanted, spread_value, outside);
}

}  // namespace xc::codegen
