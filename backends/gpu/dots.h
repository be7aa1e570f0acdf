// What kernels of matrix products and convolutions share: sums of products.
#ifndef XC_BACKENDS_GPU_DOTS_H_
#define XC_BACKENDS_GPU_DOTS_H_

#include <cstdint>

#include "backends/gpu/emitter_impl.h"
#include "backends/gpu/places.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::gpu {

// Sums products of elements of two types: f32 for narrow floats, whose results are rounded once.
class Accumulator {
 public:
  using V = llvm::Value*;

  Accumulator(KernelFunction& f, int32_t a, int32_t b, int32_t c)
      : f_(f),
        a_(static_cast<ElementType>(a)),
        b_(static_cast<ElementType>(b)),
        c_(static_cast<ElementType>(c)),
        sum_(c_) {
    if (IsFloating(sum_) && sum_ != ElementType::kF64) sum_ = ElementType::kF32;
  }
  // The type of the sum.
  ElementType type() const { return sum_; }
  codegen::Element Zero() { return f_.element().ZeroOf(sum_); }

  // The element at `offset` of an array of `type`, as a term.
  codegen::Element Load(ElementType type, V base, V offset) {
    auto& b = f_.b();
    auto& e = f_.element();
    llvm::Type* scalar = e.MemoryType(type);
    const llvm::Align align(scalar->getScalarSizeInBits() / 8);
    const auto part = [&](V at) {
      return e.FromMemory(type, b.CreateAlignedLoad(scalar, b.CreateGEP(scalar, base, at), align));
    };
    if (!IsComplex(type)) return e.Convert(type, sum_, {part(offset)});
    V twice = b.CreateMul(offset, f_.Index(2));
    return {part(twice), part(b.CreateAdd(twice, f_.Index(1)))};
  }
  codegen::Element LoadA(V base, V offset) { return Load(a_, base, offset); }
  codegen::Element LoadB(V base, V offset) { return Load(b_, base, offset); }

  codegen::Element Add(codegen::Element sum, codegen::Element x, codegen::Element y) {
    auto& b = f_.b();
    const auto fma = [&](V u, V v, V w) { return b.CreateIntrinsic(llvm::Intrinsic::fma, {u->getType()}, {u, v, w}); };
    if (IsComplex(sum_)) {
      V re = fma(x.re, y.re, sum.re), im = fma(x.re, y.im, sum.im);
      return {fma(b.CreateFNeg(x.im), y.im, re), fma(x.im, y.re, im)};
    }
    if (IsFloating(sum_)) return {fma(x.re, y.re, sum.re)};
    return {b.CreateAdd(sum.re, b.CreateMul(x.re, y.re))};
  }

  // Hands the element of the result at `offset`, of which the sum is `sum`, to `result`.
  absl::Status Store(const ProductResult& result, V base, V offset, codegen::Element sum) {
    const codegen::Element value = f_.element().Convert(sum_, c_, sum);
    if (result.store) Write(base, offset, value);
    return result.then == nullptr ? absl::OkStatus() : result.then(value, offset);
  }

 private:
  void Write(V base, V offset, codegen::Element value) {
    auto& b = f_.b();
    auto& e = f_.element();
    llvm::Type* scalar = e.MemoryType(c_);
    const llvm::Align align(scalar->getScalarSizeInBits() / 8);
    const auto part = [&](V at, V v) { b.CreateAlignedStore(e.ToMemory(c_, v), b.CreateGEP(scalar, base, at), align); };
    if (!IsComplex(c_)) return part(offset, value.re);
    V twice = b.CreateMul(offset, f_.Index(2));
    part(twice, value.re);
    part(b.CreateAdd(twice, f_.Index(1)), value.im);
  }

  KernelFunction& f_;
  const ElementType a_, b_, c_;
  ElementType sum_;
};

// Blocks of a product, of which each computes a tile of tile x tile elements.
int64_t BlocksOf(const MatmulDesc& desc, int64_t tile);

// Whether a product is large enough for EmitTiledMatmul, and of types that it takes.
bool IsForTiles(const MatmulDesc& desc);
// A product by blocks of threads (tiled_dot.cc), each of which computes a tile of the result from tiles of the operands
// in shared memory. Each sum is taken in the order of k, as EmitMatmul's plain form does: the same bits.
absl::Status EmitTiledMatmul(KernelFunction& f, const MatmulDesc& desc, const ProductResult& result);

// Whether a product is of types and sizes for tensor cores.
bool IsForTensorCores(const MatmulDesc& desc);
// A product on tensor cores (tensor_dot.cc): sums of f32, in an order that is the same in each run, though not that of
// k. `aligned`: both operands lie at multiples of kVectorBytes.
absl::Status EmitTensorMatmul(KernelFunction& f, const MatmulDesc& desc, const ProductResult& result, bool aligned);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_DOTS_H_
