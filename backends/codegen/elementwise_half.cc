// Elementwise ops on f16 where the machine computes with it (CodegenTarget::halves), without a way through f32.
//
// The results have the bits of the way through f32. A sum or product of numbers of 11 digits that is rounded to f32's
// 24 and then to 11 is what rounding once gives (24 >= 2 * 11 + 2); products are exact in f32, and so are sums as small
// as f16's denormal numbers. No product and sum are taken together. Square roots stay in f32, at which the machines at
// hand are quicker.
#include <numeric>
#include <utility>
#include <vector>

#include "backends/codegen/elementwise_internal.h"
#include "backends/codegen/quotients.h"
#include "compiler/fuse/emittable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// x / d for f16 numbers in vectors of f32, before rounding to f16. A machine's division takes four times as long as an
// approximate reciprocal and a correction: the quotient by the reciprocal (with an error of 2^-14), and what is left of
// x put right once. That is off by less than 2^-23, which is as near as quotients come to what lies half-way between
// two f16 numbers without being it. Where nothing is left the first quotient is exact, and where that cannot be told
// (by zeros, infinities and NaN) it is right. (All pairs were tried.)
V Quotient(ElementEmitter& e, V x, V d) {
  auto& b = e.builder();
  const V both[] = {x, d};
  return EmitInParts(b, 16, both, [&](V const* part) {
    V u = part[0], v = part[1], zero = llvm::Constant::getNullValue(u->getType());
    V inverse = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_rcp14_ps_512, {}, {v, zero, b.getInt16(0xffff)});
    return EmitCorrectedProduct(b, b.CreateFMul(u, inverse), u, v, inverse);
  });
}

bool IsNumericOrder(const HloInstruction& compare) {
  const auto* kind = compare.FindAttr<AttrKind::kCompareType>();
  return kind == nullptr || *kind != CompareType::kTotalOrder;
}

// maximum or minimum. Scalars go as the first lane of a vector: their bits, which decide about zeros and NaN, would
// cross over to the registers of integers and back.
V ExtremeOf(ElementEmitter& e, HloOpcode op, V x, V y) {
  auto& b = e.builder();
  if (ElementEmitter::Lanes(x) > 1) {
    const V both[] = {x, y};
    return EmitFloatOp(e, op, both);
  }
  V none = llvm::PoisonValue::get(llvm::FixedVectorType::get(x->getType(), 8));
  const V both[] = {b.CreateInsertElement(none, x, uint64_t{0}), b.CreateInsertElement(none, y, uint64_t{0})};
  return b.CreateExtractElement(EmitFloatOp(e, op, both), uint64_t{0});
}

V EmitHalf(ElementEmitter& e, const HloInstruction& instruction, absl::Span<const V> x) {
  auto& b = e.builder();
  switch (instruction.opcode()) {
    case HloOpcode::kSelect:
      return b.CreateSelect(x[0], x[1], x[2]);
    case HloOpcode::kCompare:
      return EmitCompare(e, instruction, {Element{x[0]}, Element{x[1]}});
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
      return ExtremeOf(e, instruction.opcode(), x[0], x[1]);
    case HloOpcode::kClamp:
      return ExtremeOf(e, HloOpcode::kMinimum, ExtremeOf(e, HloOpcode::kMaximum, x[1], x[0]), x[2]);
    default:
      return EmitFloatOp(e, instruction.opcode(), x.data());
  }
}

}  // namespace

V EmitInParts(llvm::IRBuilderBase& b, int lanes, absl::Span<V const> vectors,
              absl::FunctionRef<V(V const* parts)> code) {
  std::vector<V> results;
  for (int start = 0; start < ElementEmitter::Lanes(vectors[0]); start += lanes) {
    std::vector<int> pick(lanes);
    std::iota(pick.begin(), pick.end(), start);
    std::vector<V> parts;
    for (V vector : vectors) parts.push_back(b.CreateShuffleVector(vector, pick));
    results.push_back(code(parts.data()));
  }
  while (results.size() > 1) {
    std::vector<V> pairs;
    std::vector<int> both(2 * ElementEmitter::Lanes(results[0]));
    std::iota(both.begin(), both.end(), 0);
    for (size_t i = 0; i < results.size(); i += 2) {
      pairs.push_back(b.CreateShuffleVector(results[i], results[i + 1], both));
    }
    results = std::move(pairs);
  }
  return results[0];
}

Element EmitHalfOp(ElementEmitter& e, const HloInstruction& instruction, absl::Span<const Element> operands) {
  const HloOpcode op = instruction.opcode();
  if (!e.target().halves || !IsHalfOp(op)) return {};
  if (op == HloOpcode::kCompare && !IsNumericOrder(instruction)) return {};
  if (op == HloOpcode::kDivide) {
    V x = operands[0].re, d = operands[1].re;
    if (ElementEmitter::Lanes(x) % 16 != 0) return {};
    return {e.Normalize(ElementType::kF16, Quotient(e, x, d))};
  }
  const size_t first = op == HloOpcode::kSelect ? 1 : 0;  // a select's condition stays
  std::vector<V> x;
  for (size_t i = 0; i < operands.size(); ++i) x.push_back(i < first ? operands[i].re : e.Half(operands[i].re));
  bool any = false, all = true;
  for (size_t i = first; i < x.size(); ++i) {
    any = any || (x[i] != nullptr && !llvm::isa<llvm::Constant>(x[i]));
    all = all && x[i] != nullptr;
  }
  // What f32 has no rounding after is better done there than brought from there.
  const bool rounds = op == HloOpcode::kAdd || op == HloOpcode::kSubtract || op == HloOpcode::kMultiply;
  if (!any || (!all && !rounds)) return {};
  for (size_t i = first; i < x.size(); ++i) {
    if (x[i] == nullptr) x[i] = e.ExactHalf(operands[i].re);
  }
  V y = EmitHalf(e, instruction, x);
  return {instruction.type() == ElementType::kF16 ? e.FromHalf(y) : y};
}

}  // namespace xc::codegen
