// Kernels of transposes: a block of threads brings a square of each transposed operand into shared memory, in the order
// in which it lies in memory, and computes and writes the results in theirs.
#include <algorithm>

#include "backends/gpu/emitter_impl.h"
#include "backends/gpu/places.h"
#include "backends/plan/expression.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

using codegen::FusedEmitter;
using codegen::Index;
using codegen::Term;
using V = llvm::Value*;

constexpr int64_t kSquare = 32, kSquareThreads = 256;
// Elements from one row of a square to the next: threads that read a column meet different banks.
constexpr int64_t kSquarePitch = kSquare + 1;

class TransposeWriter {
 public:
  TransposeWriter(const PlannedKernel& k, std::vector<const HloInstruction*> transposes)
      : k_(k),
        nest_(k.kernel.nests[0]),
        transposes_(std::move(transposes)),
        along_(nest_.access.contiguous),
        minor_(static_cast<int64_t>(nest_.dims.size()) - 1) {}

  absl::Status Write() {
    int64_t blocks = Tiles(Dim(along_), kSquare) * Tiles(Dim(minor_), kSquare);
    for (int64_t d = 0; d < minor_; ++d) blocks *= d == along_ ? 1 : Dim(d);
    return k_.f.ForEachBlock(blocks, kSquareThreads, [&](V block) { return WriteBlock(block); });
  }

 private:
  absl::Status WriteBlock(V block) {
    auto& b = k_.f.b();
    first_.assign(nest_.dims.size(), nullptr);
    Places at(k_.f);
    first_[minor_] = at.Times(at.Take(&block, Tiles(Dim(minor_), kSquare)), kSquare);
    first_[along_] = at.Times(at.Take(&block, Tiles(Dim(along_), kSquare)), kSquare);
    for (int64_t d = minor_; d-- > 0;) {
      if (d != along_) first_[d] = at.Take(&block, Dim(d));
    }
    V thread = k_.f.Thread();
    V lane = b.CreateURem(thread, I(kSquare)), row = b.CreateUDiv(thread, I(kSquare));
    std::vector<V> squares;
    for (const HloInstruction* transpose : transposes_) {
      llvm::Type* type = k_.f.element().MemoryType(transpose->type());
      squares.push_back(k_.f.SharedMemory(type, kSquare * kSquarePitch));
      for (int64_t r = 0; r < kSquare; r += kSquareThreads / kSquare) {
        V y = b.CreateAdd(row, I(r));
        FusedEmitter fused(k_.f.element(), 1);
        k_.Bind(fused);
        XC_ASSIGN_OR_RETURN(const codegen::Element value, fused.Get(transpose, Position(fused, lane, y, true)));
        b.CreateStore(k_.f.element().ToMemory(transpose->type(), value.re), At(type, squares.back(), y, lane));
      }
    }
    k_.f.Barrier();
    const HloInstruction* value = nest_.values[0];
    for (int64_t r = 0; r < kSquare; r += kSquareThreads / kSquare) {
      V y = b.CreateAdd(row, I(r));
      V inside = b.CreateAnd(b.CreateICmpULT(b.CreateAdd(first_[along_], y), I(Dim(along_))),
                             b.CreateICmpULT(b.CreateAdd(first_[minor_], lane), I(Dim(minor_))));
      XC_RETURN_IF_ERROR(k_.f.If(inside, [&]() -> absl::Status {
        FusedEmitter fused(k_.f.element(), 1);
        k_.Bind(fused);
        for (size_t t = 0; t < transposes_.size(); ++t) {
          const ElementType type = transposes_[t]->type();
          llvm::Type* memory = k_.f.element().MemoryType(type);
          V raw = b.CreateLoad(memory, At(memory, squares[t], lane, y));
          fused.BindValue(transposes_[t], {k_.f.element().FromMemory(type, raw)});
        }
        const Index position = Position(fused, y, lane, false);
        XC_ASSIGN_OR_RETURN(const codegen::Element result, fused.Get(value, position));
        fused.Store(value->shape(), k_.output(nest_.outputs[0]), position, result);
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  }

  // The result's position `along` and `minor` beyond the block's first one; `clamp`: the last one instead of positions
  // beyond the edge.
  Index Position(FusedEmitter& fused, V along, V minor, bool clamp) {
    auto& b = k_.f.b();
    Index position;
    for (int64_t d = 0; d <= minor_; ++d) {
      V at = first_[d];
      if (d == along_ || d == minor_) {
        at = b.CreateAdd(at, d == along_ ? along : minor, "", true, true);
        V last = I(Dim(d) - 1);
        if (clamp && Dim(d) % kSquare != 0) at = b.CreateSelect(b.CreateICmpULT(at, last), at, last);
      }
      position.dims.push_back(fused.index().Uniform(at));
    }
    return position;
  }

  V At(llvm::Type* type, V square, V row, V column) {
    auto& b = k_.f.b();
    return b.CreateGEP(type, square, b.CreateAdd(b.CreateMul(row, I(kSquarePitch)), column));
  }

  V I(int64_t value) { return k_.f.Index(value); }
  int64_t Dim(int64_t d) const { return nest_.dims[d].constant(); }

  const PlannedKernel& k_;
  const plan::Nest& nest_;
  const std::vector<const HloInstruction*> transposes_;
  const int64_t along_, minor_;
  std::vector<V> first_;  // the block's first position
};

}  // namespace

absl::Status EmitTransposes(const PlannedKernel& k) {
  const plan::Nest& nest = k.kernel.nests[0];
  const int64_t minor = static_cast<int64_t>(nest.dims.size()) - 1, along = nest.access.contiguous;
  if (k.kernel.nests.size() > 1 || nest.values.size() > 1 || along < 0 || along == minor ||
      nest.dims[along].constant() < kSquare / 2 || nest.dims[minor].constant() < kSquare / 2) {
    return k.f.ForEach(LoopRegions(k));
  }
  plan::TransposedReads reads = plan::FindTransposedReads(nest.values[0], k.fusion());
  constexpr size_t kMost = 4;  // squares of 8-byte elements that fit into a block's shared memory
  const bool is_complex = std::any_of(reads.transposes.begin(), reads.transposes.end(),
                                      [](const HloInstruction* i) { return IsComplex(i->type()); });
  if (is_complex || reads.transposes.empty() || reads.transposes.size() > kMost) return k.f.ForEach(LoopRegions(k));
  return TransposeWriter(k, std::move(reads.transposes)).Write();
}

}  // namespace xc::gpu
