// The largest or smallest of several floats with few operations each: maximum and minimum by themselves look for NaN
// and for the sign of zeros at every step.
#ifndef XC_BACKENDS_CODEGEN_EXTREME_H_
#define XC_BACKENDS_CODEGEN_EXTREME_H_

#include "backends/codegen/element.h"
#include "hlo/opcode.h"

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace xc::codegen {

// A step passes over NaN, and of zeros of either sign keeps any. Whether there was a NaN, and the bits of all elements,
// put together, are kept beside; both are looked at once, at the end.
class Extreme {
 public:
  // `op`: maximum or minimum, of elements of `type`.
  Extreme(ElementEmitter& e, HloOpcode op, ElementType type);

  // Registers of the type as what is compared (f16 itself where the machine has it), and back.
  llvm::Value* Take(llvm::Value* x);
  llvm::Value* Give(llvm::Value* extreme);
  // Bits of what is compared.
  int width() const;

  llvm::Value* Step(llvm::Value* total, llvm::Value* x);
  llvm::Value* Bits(llvm::Value* x);
  llvm::Value* JoinBits(llvm::Value* bits, llvm::Value* x);
  // No NaN so far; and with two more values, which may be one.
  llvm::Value* NoNan(llvm::Value* like);
  llvm::Value* JoinNan(llvm::Value* nan, llvm::Value* x, llvm::Value* y);
  // The extreme of a row, whose elements all lanes of `bits` and `nan` have seen: `total`, a scalar, but for NaN and
  // zeros.
  llvm::Value* FinishRow(llvm::Value* total, llvm::Value* bits, llvm::Value* nan);
  // The extreme of each lane by itself.
  llvm::Value* FinishLanes(llvm::Value* total, llvm::Value* bits, llvm::Value* nan);

 private:
  llvm::Type* BitsType(llvm::Value* x);
  llvm::Type* FlagType(llvm::Value* x);

  ElementEmitter& e_;
  llvm::IRBuilderBase& b_;
  const ElementType type_;
  const bool largest_, mask_registers_, halves_;
};

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_EXTREME_H_
