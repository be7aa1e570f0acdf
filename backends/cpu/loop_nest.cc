// Loop nests as LLVM code.
#include "backends/cpu/loop_nest.h"

#include "hlo/base/choices.h"
#include "hlo/base/status.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::cpu {

using codegen::Loop;

namespace {

// Tiles next to each other along the contiguous dimension share cache lines of what is read.
constexpr int64_t kNeighbours = 4;

// Whether a loop from `begin` to `end` is known to take `count` steps of one, whatever the sizes are.
bool Takes(int64_t count, llvm::Value* begin, llvm::Value* end) {
  auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  return first != nullptr && last != nullptr && !ForAllSizes() && last->getSExtValue() - first->getSExtValue() == count;
}

}  // namespace

absl::Status LoopNest::Write(V begin, V end) {
  if (plan_.flat || plan_.outer.empty()) return Row({}, begin, end, plan_.inner_size);
  if (plan_.group > 1) return Groups(begin, end);
  if (rows_ != nullptr) return Rows(begin, end);
  if (Takes(1, begin, end)) return Outer(begin);
  Loop loop(e_.builder(), begin, end, 1, "outer");
  XC_RETURN_IF_ERROR(Outer(loop.index()));
  loop.End();
  return absl::OkStatus();
}

absl::Status LoopNest::Outer(V at) {
  auto& b = e_.builder();
  codegen::IndexArithmetic arithmetic(b, 1);
  std::vector<int64_t> sizes, order;
  for (int64_t d : plan_.outer) {
    if (d != plan_.contiguous) sizes.push_back(plan_.dims[d]);
  }
  if (plan_.contiguous >= 0) sizes.push_back(plan_.Blocks());
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) order.push_back(i);
  std::vector<Term> outer = arithmetic.Delinearize(arithmetic.Uniform(at), sizes, order);
  if (plan_.contiguous < 0) {
    if (before_row_) XC_RETURN_IF_ERROR(before_row_(outer));
    XC_RETURN_IF_ERROR(Row(outer, b.getInt64(0), b.getInt64(plan_.inner_size), plan_.inner_size));
  } else {
    V first = b.CreateMul(outer.back().base, b.getInt64(KernelShape::kBlock));
    V last = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, b.getInt64(KernelShape::kBlock)),
                                     b.getInt64(plan_.inner_size));
    outer.pop_back();
    const bool tiles = plan_.tile > 0 && tile_ != nullptr;
    // Parts of tiles have the sizes that the rests have, which are not known in code for several sizes.
    const bool whole =
        ChooseSafe(tiles && plan_.inner_size % plan_.tile == 0 && plan_.dims[plan_.contiguous] % plan_.tile == 0);
    if (tiles && (whole || !ForAllSizes())) return Tiles(outer, first, last);
    V whole_along = nullptr, whole_inner = nullptr;
    if (tiles) XC_RETURN_IF_ERROR(WholeTiles(outer, first, last, &whole_along, &whole_inner));
    Loop along(b, b.getInt64(0), b.getInt64(plan_.dims[plan_.contiguous]), 1, "along");
    for (size_t i = 0; i < plan_.outer.size(); ++i) {
      if (plan_.outer[i] == plan_.contiguous) outer.insert(outer.begin() + i, arithmetic.Uniform(along.index()));
    }
    // Behind tiles what they leave of each row, and the rows that they leave.
    V begin = tiles ? b.CreateSelect(b.CreateICmpSLT(along.index(), whole_along), whole_inner, first) : first;
    XC_RETURN_IF_ERROR(Row(outer, begin, last, plan_.inner_size));
    along.End();
  }
  return absl::OkStatus();
}

std::vector<LoopNest::Term> LoopNest::OuterCoordinates(codegen::IndexArithmetic& arithmetic, V at, size_t first,
                                                       size_t last) const {
  std::vector<int64_t> sizes, order;
  for (size_t i = first; i < last; ++i) {
    sizes.push_back(plan_.dims[plan_.outer[i]]);
    order.push_back(static_cast<int64_t>(last - 1 - i));
  }
  return arithmetic.Delinearize(arithmetic.Uniform(at), sizes, order);
}

absl::Status LoopNest::Rows(V begin, V end) {
  auto& b = e_.builder();
  codegen::IndexArithmetic arithmetic(b, 1);
  V size = b.getInt64(plan_.dims[plan_.outer.back()]);
  // All rows that share the outer coordinates but the last; the first and the last time maybe a part of them.
  V behind = b.CreateUDiv(b.CreateAdd(end, b.CreateSub(size, b.getInt64(1))), size);
  Loop group(b, b.CreateUDiv(begin, size), behind, 1, "group");
  std::vector<Term> outer = OuterCoordinates(arithmetic, group.index(), 0, plan_.outer.size() - 1);
  outer.emplace_back();
  V first = b.CreateMul(group.index(), size);
  V from = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(begin, first), b.getInt64(0));
  V to = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(end, first), size);
  V whole = b.CreateSub(to, b.CreateURem(b.CreateSub(to, from), b.getInt64(rows_at_once_)));
  const auto write = [&](const Body& body, V row) {
    outer.back() = arithmetic.Uniform(row);
    return RowOf(body, outer, b.getInt64(0), b.getInt64(plan_.inner_size), plan_.inner_size);
  };
  Loop several(b, from, whole, rows_at_once_, "several");
  XC_RETURN_IF_ERROR(write(rows_, several.index()));
  several.End();
  Loop one(b, whole, to, 1, "row");
  XC_RETURN_IF_ERROR(write(body_, one.index()));
  one.End();
  group.End();
  return absl::OkStatus();
}

absl::Status LoopNest::Groups(V begin, V end) {
  constexpr int64_t kWrittenOut = 8;
  auto& b = e_.builder();
  codegen::IndexArithmetic arithmetic(b, 1);
  const size_t shared = plan_.outer.size() - plan_.grouped;
  V size = b.getInt64(plan_.group);
  Loop group(b, b.CreateUDiv(begin, size), b.CreateUDiv(end, size), 1, "group");
  const std::vector<Term> of_group = OuterCoordinates(arithmetic, group.index(), 0, shared);
  const auto write = [&](V row) -> absl::Status {
    std::vector<Term> outer = OuterCoordinates(arithmetic, row, shared, plan_.outer.size());
    outer.insert(outer.begin(), of_group.begin(), of_group.end());
    if (before_row_) XC_RETURN_IF_ERROR(before_row_(outer));
    return Row(outer, b.getInt64(0), b.getInt64(plan_.inner_size), plan_.inner_size);
  };
  if (plan_.group <= kWrittenOut && plan_.inner_size <= plan_.lanes) {
    for (int64_t row = 0; row < plan_.group; ++row) XC_RETURN_IF_ERROR(write(b.getInt64(row)));
  } else {
    Loop row(b, b.getInt64(0), size, 1, "row");
    XC_RETURN_IF_ERROR(write(row.index()));
    row.End();
  }
  group.End();
  return absl::OkStatus();
}

absl::Status LoopNest::WholeTiles(const std::vector<Term>& outer, V first, V last, V* whole_along, V* whole_inner) {
  auto& b = e_.builder();
  const int side = plan_.tile;
  const int64_t length = plan_.dims[plan_.contiguous];
  *whole_along = b.getInt64(length - length % side);
  *whole_inner = b.CreateAnd(last, b.getInt64(-side));
  Loop group(b, b.getInt64(0), *whole_along, side * kNeighbours, "group");
  V end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, *whole_along,
                                  b.CreateAdd(group.index(), b.getInt64(side * kNeighbours)));
  Loop inner(b, first, *whole_inner, side, "inner");
  Loop along(b, group.index(), end, side, "along");
  XC_RETURN_IF_ERROR(Tile(outer, along.index(), inner.index(), side, side));
  along.End();
  inner.End();
  group.End();
  return absl::OkStatus();
}

absl::Status LoopNest::Tiles(const std::vector<Term>& outer, V first, V last) {
  auto& b = e_.builder();
  const int side = plan_.tile;
  const int64_t length = plan_.dims[plan_.contiguous];
  const int rest_along = static_cast<int>(length % side), rest_inner = static_cast<int>(plan_.inner_size % side);
  V whole_along = b.getInt64(length - rest_along);
  V whole_inner = rest_inner == 0 ? last : b.CreateAnd(last, b.getInt64(-side));
  if (length >= side) {
    Loop group(b, b.getInt64(0), whole_along, side * kNeighbours, "group");
    V end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, whole_along,
                                    b.CreateAdd(group.index(), b.getInt64(side * kNeighbours)));
    {
      Loop inner(b, first, whole_inner, side, "inner");
      Loop along(b, group.index(), end, side, "along");
      XC_RETURN_IF_ERROR(Tile(outer, along.index(), inner.index(), side, side));
      along.End();
      inner.End();
    }
    if (rest_inner > 0) {
      Loop inner(b, whole_inner, last, side, "inner");  // at most once
      Loop along(b, group.index(), end, side, "along");
      XC_RETURN_IF_ERROR(Tile(outer, along.index(), inner.index(), side, rest_inner));
      along.End();
      inner.End();
    }
    group.End();
  }
  if (rest_along > 0) {
    Loop inner(b, first, whole_inner, side, "inner");
    XC_RETURN_IF_ERROR(Tile(outer, whole_along, inner.index(), rest_along, side));
    inner.End();
    if (rest_inner > 0) {
      Loop rest(b, whole_inner, last, side, "rest");  // at most once
      XC_RETURN_IF_ERROR(Tile(outer, whole_along, rest.index(), rest_along, rest_inner));
      rest.End();
    }
  }
  return absl::OkStatus();
}

absl::Status LoopNest::Tile(std::vector<Term> outer, V along, V inner, int rows, int columns) {
  auto& b = e_.builder();
  FusedEmitter fused(e_, plan_.tile);
  if (rows < plan_.tile) {
    fused.SetTail(codegen::FirstLanes(b, plan_.tile, rows));
  }
  bind_(fused);
  Index position;
  position.dims.assign(plan_.dims.size(), fused.index().Constant(0));
  size_t next = 0;
  for (int64_t d : plan_.outer) {
    position.dims[d] = d == plan_.contiguous ? Term{along, 1, nullptr, true} : outer[next++];
  }
  position.dims[plan_.inner] = fused.index().Uniform(inner);
  return tile_(fused, position, rows, columns);
}

absl::Status LoopNest::RowOf(const Body& body, const std::vector<Term>& outer, V begin, V end, int64_t size) {
  auto& b = e_.builder();
  const int lanes = plan_.lanes;
  if (lanes == 1) return Steps(body, outer, begin, end, 1);
  auto* fixed_begin = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* fixed_end = llvm::dyn_cast<llvm::ConstantInt>(end);
  const bool whole = ChooseSafe(size % lanes == 0);
  if (!whole && ForAllSizes()) return RowOfAnySize(body, outer, begin, end);
  const int64_t rest = size % lanes;
  if (fixed_begin != nullptr && fixed_end != nullptr) {
    const int64_t middle = size - rest;
    if (middle > 0) XC_RETURN_IF_ERROR(Steps(body, outer, begin, b.getInt64(middle), lanes));
    if (rest == 0) return absl::OkStatus();
    if (!e_.target().masked_memory) return Steps(body, outer, b.getInt64(middle), end, 1);
    return One(body, outer, b.getInt64(middle), lanes, codegen::FirstLanes(b, lanes, rest));
  }
  if (rest == 0) return Steps(body, outer, begin, end, lanes);
  V middle = b.CreateAdd(begin, b.CreateAnd(b.CreateSub(end, begin), b.getInt64(-lanes)));
  XC_RETURN_IF_ERROR(Steps(body, outer, begin, middle, lanes));
  if (!e_.target().masked_memory) return Steps(body, outer, middle, end, 1);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* tail = llvm::BasicBlock::Create(b.getContext(), "tail", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateCondBr(b.CreateICmpSLT(middle, end), tail, done);
  b.SetInsertPoint(tail);
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(b.getInt64(i));
  V left = b.CreateVectorSplat(lanes, b.CreateSub(end, middle));
  XC_RETURN_IF_ERROR(One(body, outer, middle, lanes, b.CreateICmpULT(llvm::ConstantVector::get(numbers), left)));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  return absl::OkStatus();
}

absl::Status LoopNest::RowOfAnySize(const Body& body, const std::vector<Term>& outer, V begin, V end) {
  auto& b = e_.builder();
  const int lanes = plan_.lanes;
  V middle = b.CreateAdd(begin, b.CreateAnd(b.CreateSub(end, begin), b.getInt64(-lanes)));
  XC_RETURN_IF_ERROR(Steps(body, outer, begin, middle, lanes));
  if (!e_.target().masked_memory) return Steps(body, outer, middle, end, 1);
  // The rest, if there is one, as one masked vector.
  Loop tail(b, middle, end, lanes, "tail");
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(b.getInt64(i));
  V left = b.CreateVectorSplat(lanes, b.CreateSub(end, tail.index()));
  XC_RETURN_IF_ERROR(One(body, outer, tail.index(), lanes, b.CreateICmpULT(llvm::ConstantVector::get(numbers), left)));
  tail.End();
  return absl::OkStatus();
}

absl::Status LoopNest::Steps(const Body& body, const std::vector<Term>& outer, V begin, V end, int lanes) {
  auto& b = e_.builder();
  if (Takes(lanes, begin, end)) return One(body, outer, begin, lanes, nullptr);
  if (plan_.apart && Takes(plan_.inner_size, begin, end)) {
    for (int64_t i = 0; i < plan_.inner_size; ++i) {
      XC_RETURN_IF_ERROR(One(body, outer, b.CreateAdd(begin, b.getInt64(i)), 1, nullptr));
    }
    return absl::OkStatus();
  }
  Loop loop(b, begin, end, lanes, "inner");
  XC_RETURN_IF_ERROR(One(body, outer, loop.index(), lanes, nullptr));
  loop.End();
  return absl::OkStatus();
}

absl::Status LoopNest::One(const Body& body, const std::vector<Term>& outer, V at, int lanes, V mask) {
  FusedEmitter fused(e_, lanes);
  fused.SetTail(mask);
  bind_(fused);
  Term inner{at, lanes > 1 ? 1 : 0, nullptr, lanes > 1};
  Index position;
  if (plan_.flat) {
    position.linear = inner;
    position.sizes = plan_.dims;
    position.order = Layout::Descending(plan_.dims.size()).minor_to_major;
  } else {
    position.dims.assign(plan_.dims.size(), fused.index().Constant(0));
    for (size_t i = 0; i < plan_.outer.size(); ++i) position.dims[plan_.outer[i]] = outer[i];
    if (plan_.inner >= 0) position.dims[plan_.inner] = inner;
  }
  return body(fused, position);
}

}  // namespace xc::cpu
