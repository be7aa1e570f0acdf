// Quotients made of products with the divisors' reciprocals, with the bits of divisions.
#ifndef XC_BACKENDS_CODEGEN_QUOTIENTS_H_
#define XC_BACKENDS_CODEGEN_QUOTIENTS_H_

#include "backends/codegen/element.h"

namespace xc::codegen {

// What x / d is by the product of x and d's reciprocal: put right once by what that leaves of x. What is exact, or
// leaves a NaN, stays the product. Whether this has the bits of a division says who uses it. With fused multiply-add.
llvm::Value* EmitCorrectedProduct(llvm::IRBuilderBase& b, llvm::Value* product, llvm::Value* x, llvm::Value* d,
                                  llvm::Value* reciprocal);

// The reciprocals of divisors with which quotients can be made of products. All with fused multiply-add.
struct Reciprocals {
  // Doubles': rounded. f16's: floats that are cut.
  llvm::Value* values;
  llvm::Value* rests = nullptr;  // f16's: what is cut, as floats
  llvm::Value* safe = nullptr;   // doubles': whether none of them is too small or large
};
inline bool HasReciprocals(ElementType type) { return type == ElementType::kF64 || type == ElementType::kF16; }
Reciprocals EmitReciprocals(ElementEmitter& e, ElementType type, llvm::Value* divisors);
// x / d by d's reciprocals, as a division gives it; vectors.
llvm::Value* EmitQuotient(ElementEmitter& e, ElementType type, llvm::Value* x, llvm::Value* d,
                          const Reciprocals& reciprocals);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_QUOTIENTS_H_
