// Sorts in their plainest form: a block of threads for each row, which exchanges elements of the results in place until
// they are in order. A network of exchanges (bitonic, all of them ascending, so that any length will do) does not look
// at the elements, so that any comparator gives a permutation; elements that it holds for equal stay in their order by
// their first places.
#include <algorithm>

#include "backends/gpu/emitter_impl.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Loop;
using V = llvm::Value*;

int Log2Ceiling(int64_t n) {
  int log = 0;
  while ((int64_t{1} << log) < n) ++log;
  return log;
}

class SortWriter {
 public:
  SortWriter(KernelFunction& f, const HloInstruction& sort, const SortDesc& desc)
      : f_(f), b_(f.b()), sort_(sort), desc_(desc), pairs_((int64_t{1} << Log2Ceiling(desc.n)) / 2) {
    threads_ = static_cast<int>(std::clamp<int64_t>(pairs_, 32, 256));
  }

  absl::Status Write() {
    return f_.ForEachBlock(desc_.outer * desc_.inner, threads_, [&](V row) -> absl::Status {
      V outer = b_.CreateUDiv(row, I(desc_.inner)), inner = b_.CreateURem(row, I(desc_.inner));
      first_ = b_.CreateAdd(b_.CreateMul(outer, I(desc_.n * desc_.inner)), inner);
      V thread = f_.Thread();
      {
        Loop copy(b_, thread, I(desc_.n), threads_, "copy");
        V place = Place(copy.index());
        for (int i = 0; i < desc_.num_arrays; ++i) {
          llvm::Type* type = Raw(i);
          b_.CreateStore(b_.CreateLoad(type, At(type, f_.argument(i), place)), At(type, Out(i), place));
        }
        b_.CreateStore(b_.CreateTrunc(copy.index(), b_.getInt32Ty()), At(b_.getInt32Ty(), Number(), place));
        copy.End();
      }
      f_.Barrier();
      // Runs of 2^k elements are merged: first each element of the lower half with its mirror image in the upper one,
      // then at shrinking distances.
      Loop runs(b_, I(0), I(Log2Ceiling(desc_.n)), 1, "runs");
      V half = b_.CreateShl(I(1), runs.index());
      Loop steps(b_, I(0), b_.CreateAdd(runs.index(), I(1)), 1, "steps");
      V distance = b_.CreateLShr(half, steps.index());
      V mirrored = b_.CreateICmpEQ(steps.index(), I(0));
      Loop pairs(b_, thread, I(pairs_), threads_, "pairs");
      V offset = b_.CreateAnd(pairs.index(), b_.CreateSub(distance, I(1)));
      V run = b_.CreateShl(b_.CreateSub(pairs.index(), offset), I(1));
      V low = b_.CreateAdd(run, offset);
      V mirror = b_.CreateSub(b_.CreateAdd(run, b_.CreateSub(b_.CreateShl(distance, I(1)), I(1))), offset);
      V high = b_.CreateSelect(mirrored, mirror, b_.CreateAdd(low, distance));
      XC_RETURN_IF_ERROR(f_.If(b_.CreateICmpULT(high, I(desc_.n)), [&] { return Exchange(Place(low), Place(high)); }));
      pairs.End();
      f_.Barrier();
      steps.End();
      runs.End();
      return absl::OkStatus();
    });
  }

 private:
  V I(int64_t value) { return f_.Index(value); }
  V Out(int i) { return f_.argument(desc_.num_arrays + i); }
  V Number() { return f_.argument(2 * desc_.num_arrays); }
  V At(llvm::Type* type, V base, V place) { return b_.CreateGEP(type, base, place); }
  V Place(V along) { return b_.CreateAdd(first_, b_.CreateMul(along, I(desc_.inner))); }
  // Elements are moved as they are in memory.
  llvm::Type* Raw(int i) { return b_.getIntNTy(8 * StorageBytes(sort_.operand(i)->type())); }

  // The elements that the comparator sees of array `i` at `place`.
  Element Load(int i, V place) {
    const ElementType type = sort_.operand(i)->type();
    auto& e = f_.element();
    llvm::Type* scalar = e.MemoryType(type);
    if (!IsComplex(type)) return {e.FromMemory(type, b_.CreateLoad(scalar, At(scalar, Out(i), place)))};
    V twice = b_.CreateMul(place, I(2));
    return {b_.CreateLoad(scalar, At(scalar, Out(i), twice)),
            b_.CreateLoad(scalar, At(scalar, Out(i), b_.CreateAdd(twice, I(1))))};
  }

  absl::StatusOr<V> Less(V x, V y) {
    std::vector<Element> arguments;
    for (int i = 0; i < desc_.num_arrays; ++i) {
      arguments.push_back(Load(i, x));
      arguments.push_back(Load(i, y));
    }
    XC_ASSIGN_OR_RETURN(const std::vector<Element> less, codegen::EmitApply(f_.element(), sort_.to_apply(), arguments));
    return less[0].re;
  }

  absl::Status Exchange(V low, V high) {
    llvm::Type* i32 = b_.getInt32Ty();
    XC_ASSIGN_OR_RETURN(V after, Less(high, low));
    XC_ASSIGN_OR_RETURN(V before, Less(low, high));
    V low_number = b_.CreateLoad(i32, At(i32, Number(), low)),
      high_number = b_.CreateLoad(i32, At(i32, Number(), high));
    V equal = b_.CreateAnd(b_.CreateNot(before), b_.CreateICmpULT(high_number, low_number));
    return f_.If(b_.CreateOr(after, equal), [&] {
      for (int i = 0; i < desc_.num_arrays; ++i) {
        llvm::Type* type = Raw(i);
        V x = b_.CreateLoad(type, At(type, Out(i), low)), y = b_.CreateLoad(type, At(type, Out(i), high));
        b_.CreateStore(y, At(type, Out(i), low));
        b_.CreateStore(x, At(type, Out(i), high));
      }
      b_.CreateStore(high_number, At(i32, Number(), low));
      b_.CreateStore(low_number, At(i32, Number(), high));
      return absl::OkStatus();
    });
  }

  KernelFunction& f_;
  llvm::IRBuilder<>& b_;
  const HloInstruction& sort_;
  const SortDesc& desc_;
  const int64_t pairs_;
  int threads_;
  V first_ = nullptr;  // of the row
};

}  // namespace

int64_t SortScratchBytes(const SortDesc& desc) { return desc.outer * desc.n * desc.inner * 4; }

absl::Status EmitSort(KernelFunction& f, const HloInstruction& sort, const SortDesc& desc) {
  return SortWriter(f, sort, desc).Write();
}

}  // namespace xc::gpu
