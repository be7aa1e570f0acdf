// rng, rng-bit-generator, rng-get-and-update-state and fft, through the runtime that generated code calls too.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/numeric.h"
#include "backends/interpreter/strided.h"
#include "backends/runtime/fft.h"
#include "backends/runtime/rng.h"
#include "hlo/base/status.h"
#include "hlo/shape_inference/shape_inference.h"

namespace xc::interp {

namespace {

// The type in which the runtime makes random numbers of `type`.
ElementType RandomType(ElementType type) {
  if (IsFloating(type) && ElementBits(type) < 16) return ElementType::kF32;
  if (IsIntegral(type) && ElementBits(type) < 8) return IsSignedInt(type) ? ElementType::kS8 : ElementType::kU8;
  return type;
}

Literal Converted(const Literal& from, ElementType type) {
  Literal to(Shape(type, from.shape().dims()));
  for (int64_t i = 0; i < from.size(); ++i) {
    IsFloating(type) ? to.SetDouble(i, from.GetDouble(i)) : to.SetInt(i, from.GetInt(i));
  }
  return to;
}

}  // namespace

OpResult RngNumbers(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const ElementType type = instruction.type(), wide = RandomType(type);
  const bool normal = instruction.attr<AttrKind::kDistribution>() == RandomDistribution::kNormal;
  const Literal first = Converted(operands[0], wide), second = Converted(operands[1], wide);
  Literal out(WithType(Plain(instruction.shape()), wide));
  XC_RETURN_IF_ERROR((normal ? xc::RngNormal : xc::RngUniform)(context.run_context(), static_cast<RtType>(wide),
                                                               out.size(), first.bytes(), second.bytes(),
                                                               out.mutable_bytes()));
  if (wide == type) return out;
  Literal narrow = Converted(out, type);
  // Rounding may reach the upper end, which is not in the range.
  for (int64_t i = 0; !normal && IsFloating(type) && i < narrow.size(); ++i) {
    if (narrow.GetDouble(i) >= second.GetDouble(0)) narrow.SetDouble(i, first.GetDouble(0));
  }
  return narrow;
}

OpResult RngBits(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Literal& state = operands[0];
  const bool both = instruction.shape().IsTuple();
  Literal out(both ? instruction.shape().tuple_shape(1) : instruction.shape());
  XC_RETURN_IF_ERROR(CheckRandomState(state.shape()));
  if (out.shape().rank() > kMaxRngRank) {
    return absl::UnimplementedError("a result of this shape is not supported");
  }
  RngDesc desc;
  desc.algorithm = static_cast<int32_t>(instruction.attr<AttrKind::kRngAlgorithm>());
  desc.element_bytes = StorageBytes(out.shape().type());
  desc.state_words = static_cast<int32_t>(state.byte_size() / 8);
  desc.rank = static_cast<int32_t>(out.shape().rank());
  for (int64_t i = 0; i < out.shape().rank(); ++i) desc.dims[i] = out.shape().dim(i);
  uint64_t before[3] = {}, after[3] = {};
  std::memcpy(before, state.bytes(), state.byte_size());
  XC_RETURN_IF_ERROR(RngBitGenerator(context.run_context(), desc, before, after, out.mutable_bytes()));
  if (IsSubByte(out.shape().type())) {
    // Of each byte the low bits.
    const int drop = 8 - ElementBits(out.shape().type());
    const bool is_signed = IsSignedInt(out.shape().type());
    for (int64_t i = 0; i < out.size(); ++i) {
      const uint8_t high = static_cast<uint8_t>(out.bytes()[i] << drop);
      out.mutable_bytes()[i] = static_cast<uint8_t>(is_signed ? static_cast<int8_t>(high) >> drop : high >> drop);
    }
  }
  if (!both) return out;
  Literal next(Plain(instruction.shape().tuple_shape(0)));
  std::memcpy(next.mutable_bytes(), after, next.byte_size());
  std::vector<Literal> parts;
  parts.push_back(std::move(next));
  parts.push_back(std::move(out));
  return Literal::Tuple(std::move(parts));
}

OpResult RngState(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  Literal out(Plain(instruction.shape()));
  if (out.byte_size() != 16) return absl::InvalidArgumentError("the state is u64[2]");
  const unsigned __int128 state =
      context.run_context()->AdvanceRngState(static_cast<uint64_t>(instruction.attr<AttrKind::kDelta>()));
  const uint64_t words[] = {static_cast<uint64_t>(state), static_cast<uint64_t>(state >> 64)};
  std::memcpy(out.mutable_bytes(), words, sizeof(words));
  return out;
}

OpResult FourierTransform(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Literal& in = operands[0];
  const Int64List& length = instruction.attr<AttrKind::kFftLength>();
  const ElementType part = ComplexComponent(in.shape().type());
  if ((part != ElementType::kF32 && part != ElementType::kF64) || length.size() > 3) {
    return absl::UnimplementedError("a transform of this type or rank is not supported");
  }
  Literal out(Plain(instruction.shape()));
  if (in.size() == 0 || out.size() == 0) return out;
  FftDesc desc;
  desc.type = static_cast<int32_t>(instruction.attr<AttrKind::kFftType>());
  desc.is_double = part == ElementType::kF64;
  desc.rank = static_cast<int32_t>(length.size());
  for (size_t i = 0; i < length.size(); ++i) desc.length[i] = length[i];
  for (int64_t d = 0; d < in.shape().rank() - static_cast<int64_t>(length.size()); ++d) {
    desc.batch *= in.shape().dim(d);
  }
  XC_RETURN_IF_ERROR(Fft(context.run_context(), desc, in.bytes(), out.mutable_bytes()));
  return out;
}

}  // namespace xc::interp
