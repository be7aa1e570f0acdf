// The element types of arrays (and the kinds of non-array values), their names, widths and groups.
#ifndef XC_HLO_ELEMENT_TYPE_H_
#define XC_HLO_ELEMENT_TYPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace xc {

// X(enumerator, text name, value in PrimitiveType of the wire format, bits per element)
#define XC_ELEMENT_TYPES(X)                 \
  X(kInvalid, "invalid", 0, 0)              \
  X(kPred, "pred", 1, 8)                    \
  X(kS8, "s8", 2, 8)                        \
  X(kS16, "s16", 3, 16)                     \
  X(kS32, "s32", 4, 32)                     \
  X(kS64, "s64", 5, 64)                     \
  X(kU8, "u8", 6, 8)                        \
  X(kU16, "u16", 7, 16)                     \
  X(kU32, "u32", 8, 32)                     \
  X(kU64, "u64", 9, 64)                     \
  X(kF16, "f16", 10, 16)                    \
  X(kF32, "f32", 11, 32)                    \
  X(kF64, "f64", 12, 64)                    \
  X(kTuple, "tuple", 13, 0)                 \
  X(kOpaque, "opaque", 14, 0)               \
  X(kC64, "c64", 15, 64)                    \
  X(kBF16, "bf16", 16, 16)                  \
  X(kToken, "token", 17, 0)                 \
  X(kC128, "c128", 18, 128)                 \
  X(kF8E5M2, "f8e5m2", 19, 8)               \
  X(kF8E4M3FN, "f8e4m3fn", 20, 8)           \
  X(kS4, "s4", 21, 4)                       \
  X(kU4, "u4", 22, 4)                       \
  X(kF8E4M3B11FNUZ, "f8e4m3b11fnuz", 23, 8) \
  X(kF8E5M2FNUZ, "f8e5m2fnuz", 24, 8)       \
  X(kF8E4M3FNUZ, "f8e4m3fnuz", 25, 8)       \
  X(kS2, "s2", 26, 2)                       \
  X(kU2, "u2", 27, 2)                       \
  X(kF8E4M3, "f8e4m3", 28, 8)               \
  X(kF8E3M4, "f8e3m4", 29, 8)               \
  X(kS1, "s1", 30, 1)                       \
  X(kU1, "u1", 31, 1)                       \
  X(kF4E2M1FN, "f4e2m1fn", 32, 4)           \
  X(kF8E8M0FNU, "f8e8m0fnu", 33, 8)         \
  X(kBuffer, "buffer", 34, 0)               \
  X(kF6E3M2FN, "f6e3m2fn", 35, 6)           \
  X(kF6E2M3FN, "f6e2m3fn", 36, 6)

enum class ElementType : uint8_t {
#define XC_X(e, name, value, bits) e = value,
  XC_ELEMENT_TYPES(XC_X)
#undef XC_X
};

inline constexpr int kElementTypeCount = 37;

// Classes of element types, as bits: what an op is defined for (hlo/opcode.def).
struct TypeClass {
  enum Bits : uint8_t {
    kPredType = 1,
    kSignedTypes = 2,
    kUnsignedTypes = 4,
    kFloatTypes = 8,
    kComplexTypes = 16,
    kIntegerTypes = kSignedTypes | kUnsignedTypes,
    kInexactTypes = kFloatTypes | kComplexTypes,
    kNumericTypes = kIntegerTypes | kInexactTypes,
    kAllTypes = kNumericTypes | kPredType,
  };
};

// "f32", "bf16", "tuple", ….
absl::string_view ElementTypeName(ElementType type);
// The type of a name as written in HLO text, or nothing.
std::optional<ElementType> ElementTypeFromName(absl::string_view name);

// Bits of one element: 4 for s4, 8 for pred, 128 for c128, 0 for tuples, tokens and opaque values.
int ElementBits(ElementType type);
// Bytes of one element as a Literal, the interpreter and generated code store it: sub-byte types take a whole byte.
int StorageBytes(ElementType type);

bool IsArrayType(ElementType type);
// Signed or unsigned integers; pred is not among them.
bool IsIntegral(ElementType type);
bool IsSignedInt(ElementType type);
bool IsUnsignedInt(ElementType type);
bool IsFloating(ElementType type);  // real floating point, f4 to f64
// f16, bf16, f32 or f64: the floating-point types that kernels compute with; the narrower ones are for storage.
bool IsKernelFloat(ElementType type);
// Floating point below f32, which is computed in f32 and rounded.
bool IsNarrowFloat(ElementType type);
bool IsComplex(ElementType type);
bool IsSubByte(ElementType type);
// The class of an array type: one of the first five bits of TypeClass.
int TypeClassOf(ElementType type);
// f32 of c64, f64 of c128; `type` itself otherwise.
ElementType ComplexComponent(ElementType type);

}  // namespace xc

#endif  // XC_HLO_ELEMENT_TYPE_H_
