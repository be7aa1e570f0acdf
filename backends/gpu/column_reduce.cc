// Kernels that reduce columns: a block of threads for 32 neighbouring columns, so that each row of them is read at
// once; the threads of one column share its rows.
#include <algorithm>

#include "backends/gpu/emitter_impl.h"
#include "backends/gpu/team_reduce.h"
#include "hlo/base/status.h"

namespace xc::gpu {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using V = llvm::Value*;

absl::Status EmitColumns(const PlannedKernel& k) {
  const HloInstruction* reduce = k.kernel.columns.reduce;
  const HloInstruction* root = k.root();
  // The result has a position for each column of each batch, in their order.
  const Shape& shape = reduce->shape();
  const int64_t columns = shape.ElementCount(), blocks = (columns + kWarp - 1) / kWarp;
  if (root->shape().dims() != shape.dims() || !root->shape().IsRowMajor()) return EmitLoops(k);
  constexpr int64_t kManyBlocks = 256, kMostRows = 32;
  const int64_t rows = blocks >= kManyBlocks ? KernelFunction::kThreads / kWarp : kMostRows;
  return k.f.ForEachBlock(blocks, static_cast<int>(kWarp * rows), [&](V block) -> absl::Status {
    auto& b = k.f.b();
    V thread = k.f.Thread();
    V row = b.CreateUDiv(thread, k.f.Index(kWarp));
    V column = b.CreateAdd(b.CreateMul(block, k.f.Index(kWarp)), b.CreateURem(thread, k.f.Index(kWarp)));
    V last = k.f.Index(columns - 1);
    V inside = b.CreateICmpULE(column, last);
    // Threads beyond the last column go along it: all of a block must come to each point where they wait.
    V number = columns % kWarp == 0 ? column : b.CreateSelect(inside, column, last);
    FusedEmitter fused(k.f.element(), 1);
    k.Bind(fused);
    const Index position = PositionOf(shape.dims(), number);
    TeamReducer reducer(k.f, Team{Team::Kind::kColumn, rows}, row);
    XC_ASSIGN_OR_RETURN(const Element sum, reducer.Reduce(fused, reduce, fused.Coordinates(position, shape)));
    return k.f.If(b.CreateAnd(inside, b.CreateICmpEQ(row, k.f.Index(0))), [&]() -> absl::Status {
      FusedEmitter result(k.f.element(), 1);
      k.Bind(result);
      result.BindValue(reduce, sum);
      XC_ASSIGN_OR_RETURN(const Element value, result.Get(root, position));
      result.Store(root->shape(), k.output(0), position, value);
      return absl::OkStatus();
    });
  });
}

}  // namespace xc::gpu
