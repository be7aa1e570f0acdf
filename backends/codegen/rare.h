// Values that have to be computed in another way in rare cases.
#ifndef XC_BACKENDS_CODEGEN_RARE_H_
#define XC_BACKENDS_CODEGEN_RARE_H_

#include "absl/functional/function_ref.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace xc::codegen {

// `common`, or what `other` emits, in a branch that is taken where the flag `rare` holds. The branch's weights keep
// LLVM from computing both in all cases and selecting afterwards.
llvm::Value* EmitUnlessRare(llvm::IRBuilderBase& b, llvm::Value* rare, llvm::Value* common,
                            absl::FunctionRef<llvm::Value*()> other);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_RARE_H_
