// Square roots of doubles that are sums of squares of floats, as good as results that are floats need them: from the
// machine's estimates, which take less time than its roots and divisions of doubles.
#ifndef XC_BACKENDS_CODEGEN_ROOTS_H_
#define XC_BACKENDS_CODEGEN_ROOTS_H_

#include "backends/codegen/math_builder.h"

namespace xc::codegen {

// The root: the same bits as the machine's root gives, once it is rounded to a float.
llvm::Value* EmitRootForFloats(MathBuilder m, llvm::Value* size);
// 1 / the root, with an error below 2^-50 of it. Anything where the root is zero or not finite.
llvm::Value* EmitInverseRootForFloats(MathBuilder m, llvm::Value* size);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_ROOTS_H_
