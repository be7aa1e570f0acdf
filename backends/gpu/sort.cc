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

int ThreadsFor(int64_t n) { return static_cast<int>(std::clamp<int64_t>((int64_t{1} << Log2Ceiling(n)) / 2, 32, 256)); }

// Calls `exchange` for pairs of places below `n`, the lower first: they are in order afterwards if each call puts its
// two elements into order. Runs of 2^k elements are merged: first each element of the lower half with its mirror image
// in the upper one, then at shrinking distances.
absl::Status WriteNetwork(KernelFunction& f, int64_t n, int threads,
                          const std::function<absl::Status(V, V)>& exchange) {
  auto& b = f.b();
  const auto I = [&](int64_t value) { return f.Index(value); };
  Loop runs(b, I(0), I(Log2Ceiling(n)), 1, "runs");
  V half = b.CreateShl(I(1), runs.index());
  Loop steps(b, I(0), b.CreateAdd(runs.index(), I(1)), 1, "steps");
  V distance = b.CreateLShr(half, steps.index());
  V mirrored = b.CreateICmpEQ(steps.index(), I(0));
  Loop pairs(b, f.Thread(), I((int64_t{1} << Log2Ceiling(n)) / 2), threads, "pairs");
  V offset = b.CreateAnd(pairs.index(), b.CreateSub(distance, I(1)));
  V run = b.CreateShl(b.CreateSub(pairs.index(), offset), I(1));
  V low = b.CreateAdd(run, offset);
  V mirror = b.CreateSub(b.CreateAdd(run, b.CreateSub(b.CreateShl(distance, I(1)), I(1))), offset);
  V high = b.CreateSelect(mirrored, mirror, b.CreateAdd(low, distance));
  XC_RETURN_IF_ERROR(f.If(b.CreateICmpULT(high, I(n)), [&] { return exchange(low, high); }));
  pairs.End();
  f.Barrier();
  steps.End();
  runs.End();
  return absl::OkStatus();
}

class SortWriter {
 public:
  SortWriter(KernelFunction& f, const HloInstruction& sort, const SortDesc& desc)
      : f_(f), b_(f.b()), sort_(sort), desc_(desc), threads_(ThreadsFor(desc.n)) {}

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
      return WriteNetwork(f_, desc_.n, threads_, [&](V low, V high) { return Exchange(Place(low), Place(high)); });
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
  const int threads_;
  V first_ = nullptr;  // of the row
};

}  // namespace

absl::Status EmitTopK(KernelFunction& f, const TopKDesc& desc) {
  const auto type = static_cast<ElementType>(desc.type);
  const int threads = ThreadsFor(desc.n);
  return f.ForEachBlock(desc.rows, threads, [&](V row) -> absl::Status {
    auto& b = f.b();
    llvm::Type *const i32 = b.getInt32Ty(), *const raw = b.getIntNTy(8 * StorageBytes(type));
    V first = b.CreateMul(row, f.Index(desc.n)), out = b.CreateMul(row, f.Index(desc.k));
    const auto number_at = [&](V along) { return b.CreateGEP(i32, f.argument(3), b.CreateAdd(first, along)); };
    const auto element = [&](V number) {
      V place = b.CreateAdd(first, b.CreateZExtOrTrunc(number, first->getType()));
      return b.CreateLoad(raw, b.CreateGEP(raw, f.argument(0), place));
    };
    // In the order of integers with sign, or without: negative floats mirrored.
    const auto key = [&](V bits) -> V {
      if (!IsFloating(type)) return bits;
      const unsigned width = raw->getIntegerBitWidth();
      V sign = b.CreateAShr(bits, llvm::ConstantInt::get(raw, width - 1));
      return b.CreateXor(bits, b.CreateLShr(sign, llvm::ConstantInt::get(raw, 1)));
    };
    const bool is_signed = IsFloating(type) || IsSignedInt(type);
    V thread = f.Thread();
    Loop numbers(b, thread, f.Index(desc.n), threads, "numbers");
    b.CreateStore(b.CreateZExtOrTrunc(numbers.index(), i32), number_at(numbers.index()));
    numbers.End();
    f.Barrier();
    XC_RETURN_IF_ERROR(WriteNetwork(f, desc.n, threads, [&](V low, V high) {
      V x = b.CreateLoad(i32, number_at(low)), y = b.CreateLoad(i32, number_at(high));
      V kx = key(element(x)), ky = key(element(y));
      V first_key = desc.largest ? kx : ky, second_key = desc.largest ? ky : kx;
      V after = is_signed ? b.CreateICmpSGT(second_key, first_key) : b.CreateICmpUGT(second_key, first_key);
      V wrong = b.CreateOr(after, b.CreateAnd(b.CreateICmpEQ(kx, ky), b.CreateICmpULT(y, x)));
      return f.If(wrong, [&] {
        b.CreateStore(y, number_at(low));
        b.CreateStore(x, number_at(high));
        return absl::OkStatus();
      });
    }));
    Loop best(b, thread, f.Index(desc.k), threads, "best");
    V number = b.CreateLoad(i32, number_at(best.index()));
    V place = b.CreateAdd(out, best.index());
    b.CreateStore(element(number), b.CreateGEP(raw, f.argument(1), place));
    b.CreateStore(number, b.CreateGEP(i32, f.argument(2), place));
    best.End();
    return absl::OkStatus();
  });
}

int64_t SortScratchBytes(const SortDesc& desc) { return desc.outer * desc.n * desc.inner * 4; }

absl::Status EmitSort(KernelFunction& f, const HloInstruction& sort, const SortDesc& desc) {
  return SortWriter(f, sort, desc).Write();
}

}  // namespace xc::gpu
