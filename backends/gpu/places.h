// Arithmetic on places in arrays, in kernels and about their blocks.
#ifndef XC_BACKENDS_GPU_PLACES_H_
#define XC_BACKENDS_GPU_PLACES_H_

#include <cstdint>

#include "backends/gpu/emitter_impl.h"

namespace xc::gpu {

// How many tiles of `tile` elements cover `size`.
inline int64_t Tiles(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

// Arithmetic on places, in the index type.
class Places {
 public:
  using V = llvm::Value*;

  explicit Places(KernelFunction& f) : f_(f) {}
  V Const(int64_t value) { return f_.Index(value); }
  V Add(V x, V y) { return f_.b().CreateAdd(x, y); }
  V Times(V x, int64_t factor) {
    if (factor == 0) return Const(0);
    return factor == 1 ? x : f_.b().CreateMul(x, Const(factor));
  }
  // Takes the last coordinate, of `size`, off *rest.
  V Take(V* rest, int64_t size) {
    if (size == 1) return Const(0);
    V coordinate = f_.b().CreateURem(*rest, Const(size));
    *rest = f_.b().CreateUDiv(*rest, Const(size));
    return coordinate;
  }

 private:
  KernelFunction& f_;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_PLACES_H_
