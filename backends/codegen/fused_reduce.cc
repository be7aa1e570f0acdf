// Reductions inside expressions: loops over the reduced elements with the accumulators in registers.
#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/codegen/extreme.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/codegen/fused_internal.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/choices.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// Accumulators that a row reduction keeps, each of a vector's lanes.
constexpr int kAccumulators = 4;

// Elements that are put together first, in vectors over rows, where the order of a reduction does not count.
constexpr int64_t kAtOnce = 4;

}  // namespace

Element NeutralElement(ElementEmitter& e, HloOpcode op, ElementType type, Element init) {
  switch (op) {
    case HloOpcode::kAdd:
      return IsFloating(type) || IsComplex(type) ? e.Constant(type, -0.0) : e.ZeroOf(type);
    case HloOpcode::kMultiply:
      return e.Constant(type, 1);
    case HloOpcode::kXor:
      return e.ZeroOf(type);
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
      return init;  // it counts anyway, and counts no more for being taken twice
    default:
      return {};
  }
}

Loop::Loop(llvm::IRBuilderBase& b, V begin, V end, int64_t step, const char* name) : b_(b), end_(end), step_(step) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto block = [&](const char* suffix) {
    return llvm::BasicBlock::Create(b.getContext(), std::string(name) + suffix, function);
  };
  before_ = b.GetInsertBlock();
  head_ = block(".head");
  body_ = block(".body");
  exit_ = block(".exit");
  b.CreateBr(head_);
  b.SetInsertPoint(head_);
  Carry(begin);
  b.CreateCondBr(b.CreateICmpSLT(phis_[0], end), body_, exit_);
  b.SetInsertPoint(body_);
}

V Loop::index() const { return phis_[0]; }

V Loop::Carry(V initial) {
  llvm::PHINode* phi = llvm::PHINode::Create(initial->getType(), 2, "", head_->begin());
  phi->addIncoming(initial, before_);
  phis_.push_back(phi);
  next_.push_back(nullptr);
  return phi;
}

void Loop::SetNext(int k, V next) { next_[k + 1] = next; }

void Loop::End() {
  next_[0] = b_.CreateAdd(phis_[0], llvm::ConstantInt::get(phis_[0]->getType(), step_), "", true, true);
  for (size_t i = 0; i < phis_.size(); ++i) {
    llvm::cast<llvm::PHINode>(phis_[i])->addIncoming(next_[i], b_.GetInsertBlock());
  }
  b_.CreateBr(head_);
  b_.SetInsertPoint(exit_);
}

V Loop::Result(int k) const { return phis_[k + 1]; }

Element CarryInto(Loop& loop, Element initial) {
  Element phi{loop.Carry(initial.re)};
  if (initial.im != nullptr) phi.im = loop.Carry(initial.im);
  return phi;
}

void EndLoop(Loop& loop, absl::Span<const Element> next) {
  int slot = 0;
  for (const Element& value : next) {
    loop.SetNext(slot++, value.re);
    if (value.im != nullptr) loop.SetNext(slot++, value.im);
  }
  loop.End();
}

absl::StatusOr<std::vector<Element>> FusedEmitter::GetReduce(const HloInstruction* reduce, const Index& position) {
  for (auto it = alias_.find(reduce); it != alias_.end(); it = alias_.find(reduce)) reduce = it->second;
  const bool window = reduce->opcode() == HloOpcode::kReduceWindow;
  if (!window && reduce->opcode() != HloOpcode::kReduce) {
    return absl::UnimplementedError(absl::StrCat("no fused code for a tuple from ", OpcodeName(reduce->opcode())));
  }
  Key key = KeyOf(reduce, position);
  key.push_back(reduce);
  if (auto it = cache_.find(key); it != cache_.end()) return it->second;
  const Shape& shape = reduce->shape().IsTuple() ? reduce->shape().tuple_shape(0) : reduce->shape();
  std::vector<Term> at = Coordinates(position, shape);
  // What the loop's body computes is known only inside it.
  auto cache = cache_;
  auto memo = index_.Snapshot();
  const bool row = !window && lanes_ == 1 && lane_condition_ == nullptr && uniform_condition_ == nullptr &&
                   (row_reducer_ != nullptr || e_.target().row_vectors) && IsRowReduce(*reduce);
  absl::StatusOr<std::vector<Element>> values = std::vector<Element>();
  if (window) {
    values = EmitReduceWindow(reduce, at);
  } else if (row && row_reducer_ != nullptr) {
    absl::StatusOr<Element> value = row_reducer_->Reduce(*this, reduce, at);
    if (!value.ok()) return value.status();
    values = std::vector<Element>{*value};
  } else {
    values = row ? EmitRowReduce(reduce, at) : EmitReduceLoop(reduce, at);
  }
  cache_ = std::move(cache);
  index_.Restore(std::move(memo));
  if (values.ok()) cache_[std::move(key)] = *values;
  return values;
}

absl::StatusOr<std::vector<Element>> FusedEmitter::EmitReduceLoop(const HloInstruction* reduce,
                                                                  const std::vector<Term>& at) {
  auto& b = e_.builder();
  const int64_t n = reduce->operand_count() / 2;
  const Shape& from = reduce->operand(0)->shape();
  const Int64List& dims = reduce->dimensions();
  const HloOpcode simple = n == 1 ? SimpleReducer(*reduce->to_apply()) : HloOpcode::kParameter;
  std::vector<Element> values;
  for (int64_t i = 0; i < n; ++i) {
    XC_ASSIGN_OR_RETURN(Element init, Get(reduce->operand(n + i), Index{}));
    values.push_back(e_.Splat(init, lanes_));
  }
  // One loop for each reduced dimension, in memory order, the outermost first.
  std::vector<int64_t> order;
  std::vector<int64_t> minor = from.layout_or_default().minor_to_major;
  for (auto it = minor.rbegin(); it != minor.rend(); ++it) {
    if (std::find(dims.begin(), dims.end(), *it) != dims.end()) order.push_back(*it);
  }
  std::vector<Term> to(from.rank());
  size_t next = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) to[d] = at[next++];
  }
  // Of whole numbers and flags any order has the same result; where it is little code, it may be there several times.
  const bool any_order = lanes_ > 1 && simple != HloOpcode::kParameter && !IsFloating(from.type()) &&
                         !IsComplex(from.type()) && IsShort(reduce->operand(0));
  // A short innermost loop is written out: in vectors over rows, those of all lengths that are no rows of IsRowReduce,
  // since the places in them are then read together.
  const int64_t unrolled = any_order ? 32 : lanes_ > 1 ? 11 : 8;
  std::erase_if(order, [&](int64_t d) {
    if (!ChooseSafe(from.dim(d) == 1)) return false;
    to[d] = index_.Constant(0);
    return true;
  });
  int64_t along = -1, steps = 1;
  const int64_t last = order.empty() ? 0 : from.dim(order.back());
  if (const int64_t count = ChooseSafe(last <= unrolled ? last : 0); count > 0) {
    along = order.back();
    steps = count;
    order.pop_back();
  }
  const bool several = any_order && along < 0 && !order.empty() && !ForAllSizes();
  if (several) {
    along = order.back();
    order.pop_back();
  }
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::vector<Element>> carried;
  for (int64_t d : order) {
    loops.push_back(std::make_unique<Loop>(b, index_.Const(0), index_.Const(from.dim(d)), 1, "reduce"));
    to[d] = index_.Uniform(loops.back()->index());
    for (Element& value : values) value = CarryInto(*loops.back(), value);
    carried.push_back(values);
  }
  const bool keep = simple == HloOpcode::kAdd || simple == HloOpcode::kMultiply;
  const auto apply = [&](std::vector<Element> x, const std::vector<Element>& y) {
    x.insert(x.end(), y.begin(), y.end());
    return EmitApply(e_, reduce->to_apply(), x, !keep, Active());
  };
  const auto read = [&]() -> absl::StatusOr<std::vector<Element>> {
    std::vector<Element> elements;
    for (int64_t i = 0; i < n; ++i) {
      XC_ASSIGN_OR_RETURN(Element x, Get(reduce->operand(i), Index{to}));
      elements.push_back(e_.Splat(x, lanes_));
    }
    return elements;
  };
  int64_t first = 0;
  if (several) {
    first = last / kAtOnce * kAtOnce;
    steps = last;
    auto cache = cache_;
    auto memo = index_.Snapshot();
    Loop loop(b, index_.Const(0), index_.Const(first), kAtOnce, "several");
    const Element in = CarryInto(loop, values[0]);
    std::vector<std::vector<Element>> x;
    for (int64_t i = 0; i < kAtOnce; ++i) {
      to[along] = index_.Uniform(b.CreateAdd(loop.index(), index_.Const(i)));
      XC_ASSIGN_OR_RETURN(std::vector<Element> element, read());
      x.push_back(std::move(element));
    }
    for (int64_t half = kAtOnce / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) {
        XC_ASSIGN_OR_RETURN(x[i], apply(x[i], x[i + half]));
      }
    }
    XC_ASSIGN_OR_RETURN(std::vector<Element> next, apply({in}, x[0]));
    EndLoop(loop, {e_.Splat(next[0], lanes_)});
    values = {in};
    cache_ = std::move(cache);
    index_.Restore(std::move(memo));
  }
  for (int64_t step = first; step < steps; ++step) {
    if (along >= 0) to[along] = index_.Constant(step);
    XC_ASSIGN_OR_RETURN(std::vector<Element> element, read());
    XC_ASSIGN_OR_RETURN(values, apply(values, element));
    for (Element& value : values) value = e_.Splat(value, lanes_);
  }
  for (size_t l = loops.size(); l-- > 0;) {
    EndLoop(*loops[l], values);
    values = carried[l];
  }
  if (keep) {
    values[0].re = e_.Normalize(reduce->type(), values[0].re);
    if (values[0].im != nullptr) values[0].im = e_.Normalize(reduce->type(), values[0].im);
  }
  return values;
}

absl::StatusOr<std::vector<Element>> FusedEmitter::EmitRowReduce(const HloInstruction* reduce,
                                                                 const std::vector<Term>& at) {
  auto& b = e_.builder();
  const HloInstruction* operand = reduce->operand(0);
  const Shape& from = operand->shape();
  const ElementType type = from.type();
  const Int64List& dims = reduce->dimensions();
  const HloOpcode op = SimpleReducer(*reduce->to_apply());
  const bool keep = op == HloOpcode::kAdd || op == HloOpcode::kMultiply;
  XC_ASSIGN_OR_RETURN(Element init, Get(reduce->operand(1), Index{}));
  std::vector<int64_t> order;
  std::vector<int64_t> minor = from.layout_or_default().minor_to_major;
  for (auto it = minor.rbegin(); it != minor.rend(); ++it) {
    if (std::find(dims.begin(), dims.end(), *it) != dims.end()) order.push_back(*it);
  }
  while (order.size() > 1 && from.dim(order.back()) == 1) {
    // IsRowReduce has seen to it that a reduced dimension with more elements is next.
    std::rotate(order.begin(), order.end() - 1, order.end());
    if (std::all_of(order.begin(), order.end(), [&](int64_t d) { return from.dim(d) == 1; })) break;
  }
  std::vector<Term> to(from.rank());
  size_t next = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) to[d] = at[next++];
  }
  const int64_t size = from.dim(order.back());
  const bool extreme = IsFloating(type) && (op == HloOpcode::kMaximum || op == HloOpcode::kMinimum);
  Extreme extremes(e_, op, type);
  // Rows that are kept lie in memory in vectors of f32.
  const int bits = kept_row_ == nullptr && extreme ? extremes.width()
                   : kept_row_ == nullptr && (IsIntegral(type) || type == ElementType::kPred)
                       ? 8 * RegisterBytes(operand)
                       : 8 * std::max(4, StorageBytes(ComplexComponent(type)));
  int lanes = 8 * e_.target().vector_bytes / bits;
  while (bits < 32 && lanes / 2 >= size) lanes /= 2;
  lanes = ChooseAny(lanes);
  const int accumulators = ChooseAny(size >= lanes * kAccumulators ? kAccumulators : 1);
  auto exactly = [&](const Element& x, const Element& y) -> absl::StatusOr<Element> {
    Element arguments[] = {x, y};
    XC_ASSIGN_OR_RETURN(std::vector<Element> value, EmitApply(e_, reduce->to_apply(), arguments, !keep));
    return value[0];
  };
  auto apply = [&](const Element& x, const Element& y) -> absl::StatusOr<Element> {
    return extreme ? Element{extremes.Step(x.re, y.re)} : exactly(x, y);
  };
  // The operand in vectors: another emitter over the same bindings.
  auto vector_emitter = [&](int width) {
    auto inner = std::make_unique<FusedEmitter>(e_, width);
    inner->memory_ = memory_;
    inner->values_ = values_;
    inner->alias_ = alias_;
    inner->kept_row_ = kept_row_;
    return inner;
  };
  Element neutral = NeutralElement(e_, op, type, init);
  if (extreme) neutral.re = extremes.Take(neutral.re);
  std::vector<Element> values(accumulators, e_.Splat(neutral, lanes));
  // Behind the accumulators, of extremes: all elements' bits, and whether one is NaN.
  if (extreme) {
    V none = values[0].re;
    values.push_back({extremes.Bits(none)});
    values.push_back({extremes.NoNan(none)});
  }
  Element scalar = init;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::vector<Element>> carried;
  for (size_t k = 0; k + 1 < order.size(); ++k) {
    if (from.dim(order[k]) == 1) {
      to[order[k]] = index_.Constant(0);
      continue;
    }
    loops.push_back(std::make_unique<Loop>(b, index_.Const(0), index_.Const(from.dim(order[k])), 1, "reduce"));
    to[order[k]] = index_.Uniform(loops.back()->index());
    for (Element& value : values) value = CarryInto(*loops.back(), value);
    scalar = CarryInto(*loops.back(), scalar);
    carried.push_back(values);
    carried.back().push_back(scalar);
  }
  // Along the row: whole steps, then single vectors, then single elements.
  const int64_t d = order.back();
  // A rest that may be there or not, as one masked vector.
  auto rest_in_loop = [&](int64_t begin) -> absl::Status {
    Loop loop(b, index_.Const(begin), index_.Const(size), lanes, "rest");
    std::vector<Element> in = {values[0]};
    if (extreme) in.insert(in.end(), values.end() - 2, values.end());
    for (Element& value : in) value = CarryInto(loop, value);
    std::vector<llvm::Constant*> numbers;
    for (int i = 0; i < lanes; ++i) numbers.push_back(b.getIntN(index_.bits(), i));
    V left = b.CreateVectorSplat(lanes, b.CreateSub(index_.Const(size), loop.index()));
    V mask = b.CreateICmpULT(llvm::ConstantVector::get(numbers), left);
    auto inner = vector_emitter(lanes);
    inner->SetTail(mask);
    to[d] = {loop.index(), 1, nullptr, true};
    XC_ASSIGN_OR_RETURN(Element x, inner->Get(operand, Index{to}));
    x = e_.Splat(x, lanes);
    if (extreme) x.re = extremes.Take(x.re);
    Element none = e_.Splat(neutral, lanes);
    x.re = b.CreateSelect(mask, x.re, none.re);
    if (x.im != nullptr) x.im = b.CreateSelect(mask, x.im, none.im);
    XC_ASSIGN_OR_RETURN(Element y, apply(in[0], x));
    std::vector<Element> out = {y};
    if (extreme) {
      out.push_back({extremes.JoinBits(in[1].re, x.re)});
      out.push_back({extremes.JoinNan(in[2].re, x.re, x.re)});
    }
    EndLoop(loop, out);
    values[0] = in[0];
    if (extreme) std::copy(in.end() - 2, in.end(), values.end() - 2);
    return absl::OkStatus();
  };
  // Halves of 32-bit words are widened by one operation, where neighbours take two and half a vector's load.
  const bool paired = lanes > 1 && type != ElementType::kF64 && accumulators == kAccumulators && d == from.rank() - 1 &&
                      IsPairedRow(operand);
  int64_t done = 0;
  for (int wide = accumulators; wide >= 1; wide = wide > 1 ? 1 : 0) {
    const int64_t step = static_cast<int64_t>(lanes) * wide;
    const int64_t end = done + (size - done) / step * step;
    if (end == done && !ForAllSizes()) continue;
    Loop loop(b, index_.Const(done), index_.Const(end), step, "row");
    std::vector<Element> in(values.begin(), values.begin() + wide);
    if (extreme) in.insert(in.end(), values.end() - 2, values.end());
    for (Element& value : in) value = CarryInto(loop, value);
    std::vector<Element> out, read;
    for (int a = 0; a < wide; ++a) {
      auto inner = vector_emitter(lanes);
      if (paired && wide > 1) {
        inner->SetPair(a % 2 == 1);
        to[d] = {b.CreateAdd(loop.index(), index_.Const(a / 2 * 2 * lanes + a % 2)), 2};
      } else {
        to[d] = {b.CreateAdd(loop.index(), index_.Const(a * lanes)), 1, nullptr, true};
      }
      XC_ASSIGN_OR_RETURN(Element x, inner->Get(operand, Index{to}));
      x = inner->element().Splat(x, lanes);
      if (extreme) x.re = extremes.Take(x.re);
      XC_ASSIGN_OR_RETURN(Element y, apply(in[a], x));
      out.push_back(y);
      read.push_back(x);
    }
    if (extreme) {
      V bits = in[wide].re, nan = in[wide + 1].re;
      for (const Element& x : read) bits = extremes.JoinBits(bits, x.re);
      for (int a = 0; a < wide; a += 2) nan = extremes.JoinNan(nan, read[a].re, read[std::min(a + 1, wide - 1)].re);
      out.push_back({bits});
      out.push_back({nan});
    }
    EndLoop(loop, out);
    std::copy(in.begin(), in.begin() + wide, values.begin());
    if (extreme) std::copy(in.end() - 2, in.end(), values.end() - 2);
    done = end;
  }
  const bool no_rest = ChooseSafe(done == size);
  if (!no_rest && e_.target().masked_memory && ForAllSizes()) {
    XC_RETURN_IF_ERROR(rest_in_loop(done));
  } else if (!no_rest && e_.target().masked_memory) {
    // The rest as one masked vector; lanes outside change nothing.
    auto inner = vector_emitter(lanes);
    V mask = FirstLanes(b, lanes, size - done);
    inner->SetTail(mask);
    to[d] = {index_.Const(done), 1, nullptr, done % lanes == 0};
    XC_ASSIGN_OR_RETURN(Element x, inner->Get(operand, Index{to}));
    x = e_.Splat(x, lanes);
    if (extreme) x.re = extremes.Take(x.re);
    Element none = e_.Splat(neutral, lanes);
    x.re = b.CreateSelect(mask, x.re, none.re);
    if (x.im != nullptr) x.im = b.CreateSelect(mask, x.im, none.im);
    XC_ASSIGN_OR_RETURN(values[0], apply(values[0], x));
    if (extreme) {
      values[accumulators].re = extremes.JoinBits(values[accumulators].re, x.re);
      values[accumulators + 1].re = extremes.JoinNan(values[accumulators + 1].re, x.re, x.re);
    }
  } else if (!no_rest) {
    Loop loop(b, index_.Const(done), index_.Const(size), 1, "rest");
    Element in = CarryInto(loop, scalar);
    auto inner = vector_emitter(1);
    to[d] = index_.Uniform(loop.index());
    XC_ASSIGN_OR_RETURN(Element x, inner->Get(operand, Index{to}));
    XC_ASSIGN_OR_RETURN(Element y, exactly(in, x));
    EndLoop(loop, {y});
    scalar = in;
  }
  for (size_t l = loops.size(); l-- > 0;) {
    std::vector<Element> list = values;
    list.push_back(scalar);
    EndLoop(*loops[l], list);
    values.assign(carried[l].begin(), carried[l].end() - 1);
    scalar = carried[l].back();
  }
  // Together: accumulators pairwise, then halves of the vector, then the scalar part.
  for (int width = accumulators; width > 1; width /= 2) {
    for (int a = 0; a < width / 2; ++a) {
      XC_ASSIGN_OR_RETURN(values[a], apply(values[a], values[a + width / 2]));
    }
  }
  Element total = values[0];
  auto part = [&](Element v, int from, int count) {
    std::vector<int> pick(count);
    std::iota(pick.begin(), pick.end(), from);
    // A part of one lane is a scalar: emitters know no vectors of one lane.
    auto take = [&](V x) { return count == 1 ? b.CreateExtractElement(x, from) : b.CreateShuffleVector(x, pick); };
    return Element{take(v.re), v.im == nullptr ? nullptr : take(v.im)};
  };
  for (int width = lanes; width > 1; width /= 2) {
    XC_ASSIGN_OR_RETURN(total, apply(part(total, 0, width / 2), part(total, width / 2, width / 2)));
  }
  if (extreme) {
    total.re = extremes.Give(extremes.FinishRow(total.re, values[accumulators].re, values[accumulators + 1].re));
  }
  const bool alone = extreme && (no_rest || e_.target().masked_memory);  // `init` is among the vectors' elements
  if (!alone) {
    XC_ASSIGN_OR_RETURN(total, exactly(scalar, total));
  }
  if (keep) {
    total.re = e_.Normalize(type, total.re);
    if (total.im != nullptr) total.im = e_.Normalize(type, total.im);
  }
  return std::vector<Element>{total};
}

}  // namespace xc::codegen
