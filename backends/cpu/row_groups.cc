#include "backends/cpu/row_groups.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::cpu {
namespace {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using codegen::Term;
using V = llvm::Value*;

// Lanes of a vector of partial results.
int LanesOf(const HloInstruction& reduce, const codegen::CodegenTarget& target) {
  return target.vector_bytes / std::max(4, StorageBytes(reduce.operand(0)->type()));
}

// The one dimension that is reduced and has more than one element; -1 if there is no such one.
int64_t RowDimension(const HloInstruction& reduce) {
  int64_t row = -1;
  for (int64_t d : reduce.dimensions()) {
    if (ChooseSafe(reduce.operand(0)->shape().dim(d) == 1)) continue;
    if (row >= 0) return -1;
    row = d;
  }
  return row;
}

// Whether what `reduce` adds up is a few instructions, none of them a reduction itself or a long function.
bool IsLittleCode(const HloInstruction& reduce) {
  constexpr size_t kMost = 16;
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> left = {reduce.operand(0)};
  while (!left.empty()) {
    const HloInstruction* i = left.back();
    left.pop_back();
    if (i->opcode() == HloOpcode::kParameter || i->opcode() == HloOpcode::kConstant || !seen.insert(i).second) continue;
    if (seen.size() > kMost || !i->shape().IsArray() || IsComplex(i->type())) return false;
    if (IsTranscendental(i->opcode())) return false;
    switch (i->opcode()) {
      case HloOpcode::kReduce:
      case HloOpcode::kReduceWindow:
      case HloOpcode::kFusion:
      case HloOpcode::kCall:
      case HloOpcode::kMap:
      case HloOpcode::kGather:
      case HloOpcode::kRemainder:
        return false;
      default:
        break;
    }
    left.insert(left.end(), i->operands().begin(), i->operands().end());
  }
  return true;
}

class Group {
 public:
  Group(FusedEmitter& fused, const HloInstruction* reduce, const KernelShape& plan, const Index& position,
        const std::function<void(FusedEmitter&)>& bind)
      : fused_(fused),
        e_(fused.element()),
        b_(e_.builder()),
        reduce_(*reduce),
        operand_(reduce->operand(0)),
        plan_(plan),
        position_(position),
        bind_(bind),
        rows_(fused.lanes()),
        row_(RowDimension(*reduce)),
        size_(operand_->shape().dim(row_)),
        vector_(LanesOf(*reduce, e_.target())),
        lanes_(LanesOfRow()),
        op_(SimpleReducer(*reduce->to_apply())),
        keep_(op_ == HloOpcode::kAdd || op_ == HloOpcode::kMultiply) {}

  absl::StatusOr<Element> Reduce() {
    XC_ASSIGN_OR_RETURN(Element init, fused_.Get(reduce_.operand(1), Index{}));
    neutral_ = e_.Splat(codegen::NeutralElement(e_, op_, reduce_.type(), init), vector_);
    // The places of the rows; behind the last one there are only lanes that nobody wants.
    V first = position_.dims[plan_.inner].base;
    for (int r = 0; r < rows_; ++r) {
      V at = b_.CreateAdd(first, b_.getInt64(r));
      if (fused_.has_tail()) {
        at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, b_.getInt64(plan_.inner_size - 1));
      }
      places_.push_back(at);
    }
    std::vector<Element> parts(rows_ * lanes_ / vector_, neutral_);
    const int64_t whole = size_ / lanes_, rest = size_ % lanes_;
    constexpr int64_t kWrittenOut = 2;
    if (whole <= kWrittenOut) {
      for (int64_t i = 0; i < whole; ++i) XC_RETURN_IF_ERROR(Step(b_.getInt64(i * lanes_), lanes_, &parts));
    } else {
      codegen::Loop loop(b_, b_.getInt64(0), b_.getInt64(whole * lanes_), lanes_, "rows");
      std::vector<Element> in;
      for (const Element& part : parts) in.push_back(codegen::CarryInto(loop, part));
      std::vector<Element> out = in;
      XC_RETURN_IF_ERROR(Step(loop.index(), lanes_, &out));
      codegen::EndLoop(loop, out);
      parts = in;
    }
    if (rest > 0) XC_RETURN_IF_ERROR(Step(b_.getInt64(whole * lanes_), rest, &parts));
    XC_ASSIGN_OR_RETURN(Element total, Join(std::move(parts)));
    XC_ASSIGN_OR_RETURN(total, Apply(e_.Splat(init, rows_), total));
    if (keep_) total.re = e_.Normalize(reduce_.type(), total.re);
    return total;
  }

 private:
  absl::StatusOr<Element> Apply(const Element& x, const Element& y) {
    Element arguments[] = {x, y};
    XC_ASSIGN_OR_RETURN(std::vector<Element> value, codegen::EmitApply(e_, reduce_.to_apply(), arguments, !keep_));
    return value[0];
  }

  // Of a vector, those that a row has by itself: half of it, a quarter, … if these hold the row.
  int LanesOfRow() const {
    int lanes = vector_;
    while (lanes / 2 >= size_ && vector_ / (lanes / 2) <= rows_) lanes /= 2;
    return lanes;
  }

  // Both, one behind the other; f16 is converted afterwards, in half as many steps.
  V Joined(V x, V y) {
    std::vector<int> all(2 * e_.Lanes(x));
    std::iota(all.begin(), all.end(), 0);
    const bool known = e_.target().halves && !llvm::isa<llvm::Constant>(x) && !llvm::isa<llvm::Constant>(y);
    V half = known ? e_.Half(x) : nullptr, other = half == nullptr ? nullptr : e_.Half(y);
    return other == nullptr ? b_.CreateShuffleVector(x, y, all) : e_.FromHalf(b_.CreateShuffleVector(half, other, all));
  }

  // Adds to each row's part its elements from `at` on, `count` of them, which fill its lanes or do not.
  absl::Status Step(V at, int64_t count, std::vector<Element>* parts) {
    FusedEmitter inner(e_, lanes_);
    if (count < lanes_) inner.SetTail(codegen::FirstLanes(b_, lanes_, count));
    bind_(inner);
    std::vector<V> values;
    for (int r = 0; r < rows_; ++r) {
      XC_ASSIGN_OR_RETURN(Element x, inner.Get(operand_, PlaceInRow(inner, r, at)));
      values.push_back(e_.Splat(x, lanes_).re);
    }
    for (int lanes = lanes_; lanes < vector_; lanes *= 2) {
      for (size_t i = 0; i < values.size() / 2; ++i) values[i] = Joined(values[2 * i], values[2 * i + 1]);
      values.resize(values.size() / 2);
    }
    std::vector<llvm::Constant*> wanted;
    for (int i = 0; i < vector_; ++i) wanted.push_back(b_.getInt1(i % lanes_ < count));
    for (size_t i = 0; i < values.size(); ++i) {
      V x = count == lanes_ ? values[i] : b_.CreateSelect(llvm::ConstantVector::get(wanted), values[i], neutral_.re);
      XC_ASSIGN_OR_RETURN((*parts)[i], Apply((*parts)[i], {x}));
    }
    return absl::OkStatus();
  }

  // The elements of the row in lane `r` from `at` on.
  Index PlaceInRow(FusedEmitter& inner, int r, V at) {
    const Shape& shape = operand_->shape();
    const Int64List& reduced = reduce_.dimensions();
    Index place;
    int64_t next = 0;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (std::find(reduced.begin(), reduced.end(), d) != reduced.end()) {
        place.dims.push_back(d == row_ ? Term{at, 1, nullptr, true} : inner.index().Constant(0));
      } else {
        place.dims.push_back(next == plan_.inner ? inner.index().Uniform(places_[r]) : position_.dims[next]);
        ++next;
      }
    }
    return place;
  }

  // One vector with a result a row. Halves of what is left of each row are put together, two vectors' in one.
  absl::StatusOr<Element> Join(std::vector<Element> parts) {
    int left = lanes_;  // lanes of each row
    while (left > 1) {
      const bool pairs = parts.size() > 1;
      std::vector<int> low, high;
      const int all = pairs ? 2 * vector_ : e_.Lanes(parts[0].re);
      for (int begin = 0; begin < all; begin += left) {
        for (int i = 0; i < left / 2; ++i) {
          low.push_back(begin + i);
          high.push_back(begin + left / 2 + i);
        }
      }
      std::vector<Element> joined;
      for (size_t i = 0; i < parts.size(); i += 2) {
        V x = parts[i].re, y = pairs ? parts[i + 1].re : x;
        Element halves[] = {{b_.CreateShuffleVector(x, y, low)}, {b_.CreateShuffleVector(x, y, high)}};
        XC_ASSIGN_OR_RETURN(Element sum, Apply(halves[0], halves[1]));
        joined.push_back(sum);
      }
      parts = std::move(joined);
      left /= 2;
    }
    return parts[0];
  }

  FusedEmitter& fused_;
  codegen::ElementEmitter& e_;
  llvm::IRBuilderBase& b_;
  const HloInstruction& reduce_;
  const HloInstruction* operand_;
  const KernelShape& plan_;
  const Index& position_;
  const std::function<void(FusedEmitter&)>& bind_;
  const int rows_;
  const int64_t row_, size_;  // the dimension
  const int vector_, lanes_;
  const HloOpcode op_;
  const bool keep_;  // sums of narrow floats are rounded once
  Element neutral_;
  std::vector<V> places_;
};

}  // namespace

int RowsTogether(const std::vector<const HloInstruction*>& rows, bool fused, const codegen::CodegenTarget& target) {
  // A row of more vectors takes longer than putting together what is in one.
  constexpr int64_t kMostVectors = 8;
  if (rows.empty() || !target.masked_memory || ForAllSizes()) return 0;
  int lanes = target.vector_bytes;
  for (const HloInstruction* reduce : rows) {
    const Shape& from = reduce->operand(0)->shape();
    if (!from.IsRowMajor() || IsComplex(from.type()) || from.type() == ElementType::kPred) return 0;
    const int64_t row = RowDimension(*reduce);
    if (row < 0 || from.dim(row) > kMostVectors * LanesOf(*reduce, target) || (fused && !IsLittleCode(*reduce))) {
      return 0;
    }
    for (int64_t d = row + 1; d < from.rank(); ++d) {
      if (from.dim(d) != 1) return 0;
    }
    lanes = std::min(lanes, LanesOf(*reduce, target));
  }
  return lanes;
}

absl::Status ReduceRowsTogether(FusedEmitter& fused, const std::vector<const HloInstruction*>& rows,
                                const KernelShape& plan, const Index& position,
                                const std::function<void(FusedEmitter&)>& bind) {
  for (const HloInstruction* reduce : rows) {
    XC_ASSIGN_OR_RETURN(Element value, Group(fused, reduce, plan, position, bind).Reduce());
    fused.BindValue(reduce, value);
  }
  return absl::OkStatus();
}

}  // namespace xc::cpu
