#include "backends/gpu/warp_reduce.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/status.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace xc::gpu {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using codegen::Loop;
using codegen::Term;
using V = llvm::Value*;

V WarpReducer::Shuffle(V value, int mask) {
  auto& b = f_.b();
  llvm::Type* type = value->getType();
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Type* const i32 = b.getInt32Ty();
  const auto exchange = [&](V word) {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                             {b.getInt32(-1), word, b.getInt32(mask), b.getInt32(31)});
  };
  V raw = b.CreateBitCast(value, b.getIntNTy(bits));
  V result;
  if (bits <= 32) {
    result = b.CreateTrunc(exchange(b.CreateZExt(raw, i32)), b.getIntNTy(bits));
  } else {
    llvm::Type* const pair = llvm::FixedVectorType::get(i32, 2);
    V words = b.CreateBitCast(raw, pair);
    V first = exchange(b.CreateExtractElement(words, uint64_t{0}));
    V second = exchange(b.CreateExtractElement(words, uint64_t{1}));
    words = b.CreateInsertElement(b.CreateInsertElement(llvm::PoisonValue::get(pair), first, uint64_t{0}), second,
                                  uint64_t{1});
    result = b.CreateBitCast(words, raw->getType());
  }
  return b.CreateBitCast(result, type);
}

absl::StatusOr<Element> WarpReducer::Reduce(FusedEmitter& fused, const HloInstruction* reduce,
                                            const std::vector<Term>& at) {
  auto& e = f_.element();
  const HloInstruction* operand = reduce->operand(0);
  const Shape& from = operand->shape();
  const Int64List& dims = reduce->dimensions();
  const HloOpcode op = SimpleReducer(*reduce->to_apply());
  const bool keep = op == HloOpcode::kAdd || op == HloOpcode::kMultiply;  // unrounded until the end
  const auto apply = [&](Element x, Element y) -> absl::StatusOr<Element> {
    const Element arguments[] = {x, y};
    XC_ASSIGN_OR_RETURN(const std::vector<Element> value, codegen::EmitApply(e, reduce->to_apply(), arguments, !keep));
    return value[0];
  };
  XC_ASSIGN_OR_RETURN(const Element init, fused.Get(reduce->operand(1), Index{}));
  std::vector<int64_t> sizes;
  std::vector<int64_t> reduced;
  std::vector<Term> to(from.rank());
  size_t next = 0;
  int64_t count = 1;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
      to[d] = at[next++];
      continue;
    }
    reduced.push_back(d);
    sizes.push_back(from.dim(d));
    count *= from.dim(d);
  }
  Loop loop(f_.b(), lane_, f_.Index(count), kWarp, "row");
  const Element so_far = codegen::CarryInto(loop, codegen::NeutralElement(e, op, from.type(), init));
  const std::vector<Term> place = fused.index().Delinearize(fused.index().Uniform(loop.index()), sizes,
                                                            Layout::Descending(sizes.size()).minor_to_major);
  for (size_t i = 0; i < reduced.size(); ++i) to[reduced[i]] = place[i];
  XC_ASSIGN_OR_RETURN(const Element x, fused.Get(operand, Index{to}));
  XC_ASSIGN_OR_RETURN(const Element sum, apply(so_far, x));
  codegen::EndLoop(loop, {&sum, 1});
  Element total = so_far;
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    Element other{Shuffle(total.re, mask)};
    if (total.im != nullptr) other.im = Shuffle(total.im, mask);
    XC_ASSIGN_OR_RETURN(total, apply(total, other));
  }
  XC_ASSIGN_OR_RETURN(total, apply(init, total));
  if (keep) {
    total.re = e.Normalize(reduce->type(), total.re);
    if (total.im != nullptr) total.im = e.Normalize(reduce->type(), total.im);
  }
  return total;
}

bool HasLongRows(const HloInstruction& value) {
  std::vector<const HloInstruction*> work = {&value};
  absl::flat_hash_set<const HloInstruction*> seen = {&value};
  while (!work.empty()) {
    const HloInstruction* i = work.back();
    work.pop_back();
    if (i->opcode() == HloOpcode::kReduce && IsRowReduce(*i)) {
      return i->operand(0)->shape().ElementCount() >= kWarp * i->shape().ElementCount();
    }
    if (i->opcode() == HloOpcode::kFusion && seen.insert(i->fused_root()).second) work.push_back(i->fused_root());
    for (const HloInstruction* operand : i->operands()) {
      if (seen.insert(operand).second) work.push_back(operand);
    }
  }
  return false;
}

}  // namespace xc::gpu
