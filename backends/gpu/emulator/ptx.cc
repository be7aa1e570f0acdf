#include "backends/gpu/emulator/ptx.h"

#include <utility>

namespace xc::emulator {
namespace {

struct TypeRow {
  const char* name;
  Type type;
  int bytes;
};
constexpr TypeRow kTypes[] = {
    {"pred", Type::kPred, 4},     {"b8", Type::kB8, 1},         {"b16", Type::kB16, 2},   {"b32", Type::kB32, 4},
    {"b64", Type::kB64, 8},       {"b128", Type::kB128, 16},    {"u8", Type::kU8, 1},     {"u16", Type::kU16, 2},
    {"u32", Type::kU32, 4},       {"u64", Type::kU64, 8},       {"s8", Type::kS8, 1},     {"s16", Type::kS16, 2},
    {"s32", Type::kS32, 4},       {"s64", Type::kS64, 8},       {"f16", Type::kF16, 2},   {"f16x2", Type::kF16x2, 4},
    {"bf16", Type::kBf16, 2},     {"bf16x2", Type::kBf16x2, 4}, {"tf32", Type::kTf32, 4}, {"f32", Type::kF32, 4},
    {"f64", Type::kF64, 8},       {"e4m3", Type::kE4m3, 1},     {"e5m2", Type::kE5m2, 1}, {"e4m3x2", Type::kE4m3x2, 2},
    {"e5m2x2", Type::kE5m2x2, 2}, {"u4", Type::kU4, 0},         {"s4", Type::kS4, 0},
};

}  // namespace

Type TypeOf(absl::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name) return row.type;
  }
  return Type::kNone;
}

int BytesOf(Type type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.bytes;
  }
  return 0;
}

bool IsFloat(Type type) { return type >= Type::kF16 && type <= Type::kE5m2x2; }
bool IsSigned(Type type) { return type >= Type::kS8 && type <= Type::kS64; }

bool Statement::Has(absl::string_view modifier) const {
  for (const std::string& m : modifiers) {
    if (m == modifier) return true;
  }
  return false;
}

Type Statement::TypeAt(int n) const {
  for (const std::string& m : modifiers) {
    const Type type = TypeOf(m);
    if (type != Type::kNone && n-- == 0) return type;
  }
  return Type::kNone;
}

std::string Statement::Text() const {
  std::string text = op;
  for (const std::string& m : modifiers) text += "." + m;
  return text;
}

}  // namespace xc::emulator
