// How the threads of a team bring their values together.
#include "backends/gpu/team_reduce.h"

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

Team Team::ForRows(int64_t length, int64_t positions) {
  // Warps that keep a device busy; beyond, a block for each row has nothing to gain but waits.
  constexpr int64_t kManyWarps = 4096, kMostWarps = 1 << 24;
  if (length < kWarp || positions > kMostWarps) return {};
  if (length >= 8 * KernelFunction::kThreads && positions < kManyWarps) return {Kind::kBlock, KernelFunction::kThreads};
  return {Kind::kWarp, kWarp};
}

void TeamReducer::Wait() {
  if (team_.kind == Team::Kind::kThread) return;
  if (team_.kind == Team::Kind::kWarp) return f_.WarpBarrier();
  f_.Barrier();
}

V TeamReducer::Shuffle(V value, int mask) {
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

absl::StatusOr<Element> TeamReducer::Exchange(Element value, int count, const Apply& apply) {
  for (int mask = count / 2; mask > 0; mask /= 2) {
    Element other{Shuffle(value.re, mask)};
    if (value.im != nullptr) other.im = Shuffle(value.im, mask);
    XC_ASSIGN_OR_RETURN(value, apply(value, other));
  }
  return value;
}

absl::StatusOr<Element> TeamReducer::Combine(Element value, const Apply& apply) {
  if (team_.kind == Team::Kind::kThread) return value;
  const bool column = team_.kind == Team::Kind::kColumn;
  if (!column) {
    XC_ASSIGN_OR_RETURN(value, Exchange(value, kWarp, apply));
    if (team_.kind == Team::Kind::kWarp) return value;
  }
  // Of a block, each warp leaves its value in shared memory; of a column, each thread, beside its neighbours'.
  auto& b = f_.b();
  const int64_t width = column ? kWarp : 1, count = column ? team_.size : team_.size / kWarp;
  V lane = b.CreateURem(f_.Thread(), f_.Index(kWarp)), warp = b.CreateUDiv(f_.Thread(), f_.Index(kWarp));
  V memory[2] = {};
  const auto place = [&](int part, V row) {
    llvm::Type* type = (part == 0 ? value.re : value.im)->getType();
    // i1 and the like have no bits of their own in memory.
    llvm::Type* kept = type->getScalarSizeInBits() < 8 ? b.getInt8Ty() : type;
    if (memory[part] == nullptr) memory[part] = f_.SharedMemory(kept, count * width);
    V at = column ? b.CreateAdd(b.CreateMul(row, f_.Index(width)), lane) : row;
    return std::make_pair(kept, b.CreateGEP(kept, memory[part], at));
  };
  const auto store = [&](int part) {
    V own = part == 0 ? value.re : value.im;
    const auto [kept, to] = place(part, warp);
    b.CreateStore(kept == own->getType() ? own : b.CreateZExt(own, kept), to);
  };
  const auto load = [&](int part, V row) -> V {
    llvm::Type* type = (part == 0 ? value.re : value.im)->getType();
    const auto [kept, from] = place(part, row);
    V loaded = b.CreateLoad(kept, from);
    return kept == type ? loaded : b.CreateTrunc(loaded, type);
  };
  const auto all = [&](V row) { return Element{load(0, row), value.im == nullptr ? nullptr : load(1, row)}; };
  const auto leave = [&] {
    store(0);
    if (value.im != nullptr) store(1);
    return absl::OkStatus();
  };
  if (column) {
    XC_RETURN_IF_ERROR(leave());
  } else {
    XC_RETURN_IF_ERROR(f_.If(b.CreateICmpEQ(lane, f_.Index(0)), leave));
  }
  f_.Barrier();
  if (!column) return Exchange(all(b.CreateURem(lane, f_.Index(count))), static_cast<int>(count), apply);
  Element total = all(f_.Index(0));
  for (int64_t row = 1; row < count; ++row) {
    XC_ASSIGN_OR_RETURN(total, apply(total, all(f_.Index(row))));
  }
  return total;
}

absl::StatusOr<Element> TeamReducer::Reduce(FusedEmitter& fused, const HloInstruction* reduce,
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
  Loop loop(f_.b(), member_, f_.Index(count), team_.size, "row");
  const Element so_far = codegen::CarryInto(loop, codegen::NeutralElement(e, op, from.type(), init));
  const std::vector<Term> place = fused.index().Delinearize(fused.index().Uniform(loop.index()), sizes,
                                                            Layout::Descending(sizes.size()).minor_to_major);
  for (size_t i = 0; i < reduced.size(); ++i) to[reduced[i]] = place[i];
  XC_ASSIGN_OR_RETURN(const Element x, fused.Get(operand, Index{to}));
  XC_ASSIGN_OR_RETURN(const Element sum, apply(so_far, x));
  codegen::EndLoop(loop, {&sum, 1});
  XC_ASSIGN_OR_RETURN(Element total, Combine(so_far, apply));
  XC_ASSIGN_OR_RETURN(total, apply(init, total));
  if (keep) {
    total.re = e.Normalize(reduce->type(), total.re);
    if (total.im != nullptr) total.im = e.Normalize(reduce->type(), total.im);
  }
  return total;
}

int64_t RowLength(const HloInstruction& value) {
  std::vector<const HloInstruction*> work = {&value};
  absl::flat_hash_set<const HloInstruction*> seen = {&value};
  while (!work.empty()) {
    const HloInstruction* i = work.back();
    work.pop_back();
    if (i->opcode() == HloOpcode::kReduce && IsRowReduce(*i)) {
      return i->operand(0)->shape().ElementCount() / std::max<int64_t>(1, i->shape().ElementCount());
    }
    if (i->opcode() == HloOpcode::kFusion && seen.insert(i->fused_root()).second) work.push_back(i->fused_root());
    for (const HloInstruction* operand : i->operands()) {
      if (seen.insert(operand).second) work.push_back(operand);
    }
  }
  return 0;
}

}  // namespace xc::gpu
