// Values of HLO element types in LLVM code: how they are held in registers, stored in memory, and converted.
//
// In registers: pred is i1; integers of 8 bits and more are themselves; narrower integers are i8 holding the extended
// value; f64 and f32 are themselves; all narrower floats are f32 holding a value of the type; complex numbers are two
// such values. Every function takes scalars or vectors.
#ifndef XC_BACKENDS_CODEGEN_ELEMENT_H_
#define XC_BACKENDS_CODEGEN_ELEMENT_H_

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlo/element_type.h"

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace xc::codegen {

class FunctionModules;

// What the code generator may assume of the machine.
struct CodegenTarget {
  bool fma = false;
  bool f16c = false;           // hardware conversion between f16 and f32
  bool masked_memory = false;  // masked loads and stores of all element widths are cheap
  int vector_bytes = 16;
  bool bf16 = false;    // hardware conversion from f32 to bf16
  bool halves = false;  // hardware arithmetic of f16
  // Elements of less than 32 bits are gathered as parts of 32-bit words: a gather takes less than loads one by one.
  bool gathers = false;
  // Row reductions use vectors and several accumulators; if false, they add element after element, in order.
  bool row_vectors = true;
  // What is computed once and has nothing beside it, the C library may compute: its tables make fewer steps that wait
  // for each other than the polynomials that serve vectors.
  bool calls_for_scalars = false;
  bool extremes = false;  // maximum and minimum, with NaN and signed zeros, are instructions
  // The width of positions in arrays: 32 if no array has more bytes than a 32-bit number counts.
  int index_bits = 64;
  // Where computations that are too long to be inlined become functions. Null: all are inlined.
  FunctionModules* functions = nullptr;
};

struct Element {
  llvm::Value* re = nullptr;
  llvm::Value* im = nullptr;  // complex only
  explicit operator bool() const { return re != nullptr; }
};

class ElementEmitter {
 public:
  ElementEmitter(llvm::IRBuilderBase& builder, const CodegenTarget& target) : b_(builder), target_(target) {}

  llvm::IRBuilderBase& builder() { return b_; }
  const CodegenTarget& target() const { return target_; }

  // The register type of (one component of) `type`; `lanes` 0 or 1 means a scalar.
  llvm::Type* RegisterType(ElementType type, int lanes = 0);
  // The type of (one component of) an element in memory.
  llvm::Type* MemoryType(ElementType type, int lanes = 0);
  // Between the two forms, for one component.
  llvm::Value* FromMemory(ElementType type, llvm::Value* raw);
  llvm::Value* ToMemory(ElementType type, llvm::Value* value);

  // A value of `from` as one of `to`, as HLO's convert defines it.
  Element Convert(ElementType from, ElementType to, Element x);
  // The same bits as another type of equal width.
  Element BitcastConvert(ElementType from, ElementType to, Element x);
  // Rounds an f32 register to a narrower float type (no change for f32 and f64), and wraps a register of a sub-byte
  // integer type into its range: what has to follow arithmetic.
  llvm::Value* Normalize(ElementType type, llvm::Value* value);
  // The same for what one operation of the machine (sum, difference, product, quotient, square root) made of values of
  // the type. Its NaNs are an operand's or the machine's own, with zeros behind the digits of bf16.
  llvm::Value* NormalizeMachineResult(ElementType type, llvm::Value* value);

  // The f16 that an f32 register holds, in LLVM's type for it, if it is at hand; and made from any that holds one.
  llvm::Value* Half(llvm::Value* value);
  llvm::Value* ExactHalf(llvm::Value* value);
  // The f32 register that holds a value of LLVM's type for f16.
  llvm::Value* FromHalf(llvm::Value* half);

  // `value` repeated in all lanes; vectors pass through.
  llvm::Value* Splat(llvm::Value* value, int lanes);
  Element Splat(Element value, int lanes);
  // Makes all operands vectors of the same lanes if one of them is a vector.
  void Broadcast(absl::Span<Element> values);
  // `yes` where the condition holds, `no` elsewhere; in all lanes of whichever of the three has several.
  Element Select(llvm::Value* condition, Element yes, Element no);
  static int Lanes(llvm::Value* value);  // 1 for scalars

  Element Constant(ElementType type, double value);
  Element ZeroOf(ElementType type) { return Constant(type, 0); }

 private:
  // f64 to f32, as far as rounding to a narrow type needs it.
  llvm::Value* RoundToFloat(llvm::Value* wide);
  // An integer without its low bits, a mask of which is `low`; the next one is set if any of them was.
  llvm::Value* OddWhereCut(llvm::Value* x, int64_t low);
  llvm::Value* IntToFloat(ElementType from, ElementType to, llvm::Value* x);
  llvm::Value* FloatToInt(ElementType from, ElementType to, llvm::Value* x);
  llvm::Value* Narrow(ElementType type, llvm::Value* x);  // f32 to the type's bits, in i32
  // An f32's bits plus what makes their upper half the nearest bf16 number, ties to even; not for all NaNs.
  llvm::Value* RoundBF16(llvm::Value* bits);
  llvm::Value* Widen(ElementType type, llvm::Value* bits);  // bits in i32 to f32
  llvm::Type* HalfType(int lanes);
  // A choice of f32 registers as one of f16 where both sides are at hand as such; else null.
  llvm::Value* SelectHalves(llvm::Value* condition, llvm::Value* yes, llvm::Value* no);
  llvm::Value* ExtendHalf(llvm::Value* half);
  llvm::Value* SignExtendFrom(llvm::Value* x, int bits);
  // Remembers that `value` holds, exactly, the narrow float with these bits.
  llvm::Value* Keep(ElementType type, llvm::Value* value, llvm::Value* bits);

  llvm::IRBuilderBase& b_;
  CodegenTarget target_;
  // The bits of values that came from memory or were rounded, so that storing them does not round again, and a copy
  // keeps every bit of a NaN.
  absl::flat_hash_map<std::pair<ElementType, llvm::Value*>, llvm::Value*> narrow_bits_;
};

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_ELEMENT_H_
