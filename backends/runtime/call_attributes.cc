// Attributes of custom calls as plain numbers and strings, whatever their types.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/runtime/attribute_text.h"
#include "backends/runtime/custom_call.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

template <typename T>
T At(const std::string& bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

int64_t IntAt(RtType type, const std::string& bytes, int64_t i) {
  switch (type) {
    case RtType::kPred:
    case RtType::kU8:
      return At<uint8_t>(bytes, i);
    case RtType::kS8:
      return At<int8_t>(bytes, i);
    case RtType::kS16:
      return At<int16_t>(bytes, i);
    case RtType::kU16:
      return At<uint16_t>(bytes, i);
    case RtType::kS32:
      return At<int32_t>(bytes, i);
    case RtType::kU32:
      return At<uint32_t>(bytes, i);
    default:
      return At<int64_t>(bytes, i);
  }
}

// Nothing for integers, and for types that are no plain numbers.
bool FloatAt(RtType type, const std::string& bytes, int64_t i, double* value) {
  if (type == RtType::kF32) *value = At<float>(bytes, i);
  if (type == RtType::kF64) *value = At<double>(bytes, i);
  if (type == RtType::kF16) *value = static_cast<double>(At<_Float16>(bytes, i));
  if (type == RtType::kBF16) {
    const uint32_t bits = uint32_t{At<uint16_t>(bytes, i)} << 16;
    float wide;
    std::memcpy(&wide, &bits, sizeof(wide));
    *value = wide;
  }
  return IsFloat(type);
}

CallAttributes::Value ValueOf(TypedAttribute attribute) {
  using Kind = TypedAttribute::Kind;
  if (attribute.kind == Kind::kString || attribute.kind == Kind::kOther) return std::move(attribute.bytes);
  double number = 0;
  if (attribute.kind == Kind::kScalar) {
    if (attribute.type == RtType::kPred) return attribute.bytes[0] != 0;
    if (FloatAt(attribute.type, attribute.bytes, 0, &number)) return number;
    return IntAt(attribute.type, attribute.bytes, 0);
  }
  std::vector<int64_t> ints;
  std::vector<double> floats;
  for (int64_t i = 0; i < attribute.count; ++i) {
    if (FloatAt(attribute.type, attribute.bytes, i, &number)) {
      floats.push_back(number);
    } else {
      ints.push_back(IntAt(attribute.type, attribute.bytes, i));
    }
  }
  if (FloatAt(attribute.type, std::string(8, '\0'), 0, &number)) return floats;
  return ints;
}

}  // namespace

absl::StatusOr<CallAttributes> CallAttributes::Parse(absl::string_view text) {
  XC_ASSIGN_OR_RETURN(TypedAttribute dictionary, ReadAttributeDictionary(text));
  CallAttributes attributes;
  for (auto& [name, value] : dictionary.entries) {
    if (value.kind == TypedAttribute::Kind::kDictionary || value.type == RtType::kC64 || value.type == RtType::kC128) {
      continue;
    }
    attributes.values_[name] = ValueOf(std::move(value));
  }
  return attributes;
}

const CallAttributes::Value* CallAttributes::Find(absl::string_view name) const {
  auto it = values_.find(std::string(name));
  return it == values_.end() ? nullptr : &it->second;
}

absl::StatusOr<int64_t> CallAttributes::Int(absl::string_view name) const {
  const Value* value = Find(name);
  if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is missing"));
  if (const int64_t* i = std::get_if<int64_t>(value)) return *i;
  if (const bool* b = std::get_if<bool>(value)) return *b;
  return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is not an integer"));
}

}  // namespace xc
