#include "hlo/element_type.h"

#include "absl/container/flat_hash_map.h"

namespace xc {
namespace {

struct Row {
  absl::string_view name;
  int bits;
};

constexpr Row kRows[kElementTypeCount] = {
#define XC_X(e, name, value, bits) {name, bits},
    XC_ELEMENT_TYPES(XC_X)
#undef XC_X
};

using E = ElementType;

}  // namespace

absl::string_view ElementTypeName(ElementType type) { return kRows[static_cast<int>(type)].name; }

std::optional<ElementType> ElementTypeFromName(absl::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, ElementType>();
    for (int i = 1; i < kElementTypeCount; ++i) map->emplace(kRows[i].name, static_cast<ElementType>(i));
    return map;
  }();
  auto it = kByName->find(name);
  if (it == kByName->end()) return std::nullopt;
  return it->second;
}

int ElementBits(ElementType type) { return kRows[static_cast<int>(type)].bits; }
int StorageBytes(ElementType type) { return (ElementBits(type) + 7) / 8; }

bool IsArrayType(ElementType type) { return ElementBits(type) > 0; }
bool IsSignedInt(ElementType type) {
  return type == E::kS1 || type == E::kS2 || type == E::kS4 || type == E::kS8 || type == E::kS16 || type == E::kS32 ||
         type == E::kS64;
}
bool IsUnsignedInt(ElementType type) {
  return type == E::kU1 || type == E::kU2 || type == E::kU4 || type == E::kU8 || type == E::kU16 || type == E::kU32 ||
         type == E::kU64;
}
bool IsIntegral(ElementType type) { return IsSignedInt(type) || IsUnsignedInt(type); }
bool IsKernelFloat(ElementType type) { return IsFloating(type) && ElementBits(type) >= 16; }

bool IsNarrowFloat(ElementType type) { return IsFloating(type) && ElementBits(type) < 32; }

bool IsComplex(ElementType type) { return type == E::kC64 || type == E::kC128; }
int TypeClassOf(ElementType type) {
  using enum TypeClass::Bits;
  if (type == E::kPred) return kPredType;
  if (IsSignedInt(type)) return kSignedTypes;
  if (IsUnsignedInt(type)) return kUnsignedTypes;
  return IsComplex(type) ? kComplexTypes : kFloatTypes;
}
bool IsFloating(ElementType type) {
  return IsArrayType(type) && type != E::kPred && !IsIntegral(type) && !IsComplex(type);
}
bool IsSubByte(ElementType type) { return ElementBits(type) > 0 && ElementBits(type) < 8; }
ElementType ComplexComponent(ElementType type) { return type == E::kC64 ? E::kF32 : type == E::kC128 ? E::kF64 : type; }

}  // namespace xc
