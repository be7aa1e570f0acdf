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

namespace {

// Threads of one column; 0: the form is that of loops.
int64_t ThreadsOfColumn(const plan::Kernel& kernel, const HloInstruction& instruction) {
  const bool fusion = instruction.opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? instruction.fused_root() : &instruction;
  // The result has a position for each column of each batch, in their order.
  const Shape& shape = kernel.columns.reduce->shape();
  if (root->shape().dims() != shape.dims() || !root->shape().IsRowMajor()) return 0;
  constexpr int64_t kManyBlocks = 256, kMostRows = 32;
  return (shape.ElementCount() + kWarp - 1) / kWarp >= kManyBlocks ? KernelFunction::kThreads / kWarp : kMostRows;
}

// What thread `number` does, where `rows` threads are for each column.
absl::Status EmitColumn(const PlannedKernel& k, int64_t rows, V number) {
  const HloInstruction* reduce = k.kernel.columns.reduce;
  const Shape& shape = reduce->shape();
  const int64_t columns = shape.ElementCount();
  auto& b = k.f.b();
  V block = b.CreateUDiv(number, k.f.Index(kWarp * rows)), thread = b.CreateURem(number, k.f.Index(kWarp * rows));
  V row = b.CreateUDiv(thread, k.f.Index(kWarp));
  V column = b.CreateAdd(b.CreateMul(block, k.f.Index(kWarp)), b.CreateURem(thread, k.f.Index(kWarp)));
  V last = k.f.Index(columns - 1);
  V inside = b.CreateICmpULE(column, last);
  // Threads beyond the last column go along it: all of a block must come to each point where they wait.
  if (columns % kWarp != 0) column = b.CreateSelect(inside, column, last);
  FusedEmitter fused(k.f.element(), 1);
  k.Bind(fused);
  const Index position = PositionOf(shape.dims(), column);
  TeamReducer reducer(k.f, Team{Team::Kind::kColumn, rows}, row);
  XC_ASSIGN_OR_RETURN(const Element sum, reducer.Reduce(fused, reduce, fused.Coordinates(position, shape)));
  return k.f.If(b.CreateAnd(inside, b.CreateICmpEQ(row, k.f.Index(0))), [&]() -> absl::Status {
    FusedEmitter result(k.f.element(), 1);
    k.Bind(result);
    result.BindValue(reduce, sum);
    XC_ASSIGN_OR_RETURN(const Element value, result.Get(k.root(), position));
    result.Store(k.root()->shape(), k.output(0), position, value);
    return absl::OkStatus();
  });
}

}  // namespace

Regions ColumnRegions(const PlannedKernel& k) {
  const int64_t rows = ThreadsOfColumn(k.kernel, *k.instruction);
  if (rows == 0) return LoopRegions(k);
  const int64_t blocks = (k.kernel.columns.reduce->shape().ElementCount() + kWarp - 1) / kWarp;
  return {{blocks * kWarp * rows, [&k, rows](V number) { return EmitColumn(k, rows, number); },
           static_cast<int>(kWarp * rows)}};
}

KernelShape ColumnShape(const plan::Kernel& kernel, const HloInstruction& instruction) {
  const int64_t rows = ThreadsOfColumn(kernel, instruction);
  if (rows == 0) return LoopShape(kernel, instruction);
  return {static_cast<int>(kWarp * rows), kernel.columns.reduce->shape().ElementCount() * rows};
}

}  // namespace xc::gpu
