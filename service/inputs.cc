#include "service/inputs.h"

namespace xc {
namespace {

uint64_t Bits(int64_t p, int64_t i) {
  uint64_t z = (static_cast<uint64_t>(p) << 40) + static_cast<uint64_t>(i) + 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

float Float(int64_t p, int64_t i, bool matrix) {
  const float u = static_cast<float>(Bits(p, i) >> 40) / static_cast<float>(1 << 24);
  return matrix ? (u - 0.5f) * 0.2f : u * 0.5f + 0.5f;
}

}  // namespace

Literal MakeInput(int64_t p, const Shape& shape) {
  Literal literal(shape);
  const int64_t n = literal.size();
  const bool matrix = shape.rank() >= 2;
  const ElementType type = shape.type();
  if (!shape.IsArray()) return literal;
  if (type == ElementType::kF32) {
    float* out = literal.mutable_data<float>().data();
    for (int64_t i = 0; i < n; ++i) out[i] = Float(p, i, matrix);
  } else if (type == ElementType::kBF16) {
    BF16* out = literal.mutable_data<BF16>().data();
    for (int64_t i = 0; i < n; ++i) out[i] = BF16(Float(p, i, matrix));
  } else if (type == ElementType::kS32 || type == ElementType::kU32) {
    uint32_t* out = literal.mutable_data<uint32_t>().data();
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint32_t>(Bits(p, i) >> 62);
  } else if (type == ElementType::kPred) {
    for (int64_t i = 0; i < n; ++i) literal.SetInt(i, Bits(p, i) >> 63);
  } else if (IsIntegral(type)) {
    for (int64_t i = 0; i < n; ++i) literal.SetInt(i, Bits(p, i) >> 62);
  } else if (IsComplex(type)) {
    for (int64_t i = 0; i < n; ++i) literal.SetComplex(i, {Float(p, 2 * i, matrix), Float(p, 2 * i + 1, matrix)});
  } else {
    for (int64_t i = 0; i < n; ++i) literal.SetDouble(i, Float(p, i, matrix));
  }
  return literal;
}

}  // namespace xc
