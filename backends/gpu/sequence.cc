#include "backends/gpu/sequence.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc::gpu {

using V = llvm::Value*;

void Sequence::Add(const plan::Step& step) {
  added_.push_back(&step);
  Collect(step);
}

void Sequence::Collect(const plan::Step& step) {
  if (std::holds_alternative<plan::Alias>(step.action)) return;
  steps_.push_back(&step);
  parts_[&step].first = code_.Add(step);
  if (const auto* loop = std::get_if<plan::Loop>(&step.action)) {
    code_.AddArgument(loop->more, {});
    code_.AddToKey(" loop");
  } else if (const auto* branch = std::get_if<plan::Branch>(&step.action)) {
    code_.AddArgument(branch->selector, {});
    code_.AddToKey(branch->by_pred ? " if" : " branch");
  }
  for (int callee : CalleesOf(step)) {
    code_.AddToKey(" (");
    for (const plan::Step& inner : plan_.computations[callee].steps) Collect(inner);
    code_.AddToKey(" )");
  }
  // Where one step waits for another depends on places as well.
  const Accesses accesses = AccessesOf(step, accesses_);
  for (const auto* slices : {&accesses.read, &accesses.written}) {
    for (const BufferSlice& slice : *slices) code_.AddToKey(absl::StrCat(",", slice.ToString()));
  }
}

absl::Status Sequence::Write(KernelFunction& f) {
  f_ = &f;
  int64_t most = 1;
  for (const plan::Step* step : steps_) {
    Part& part = parts_[step];
    part.regions = code_.Write(f, *step, part.first);
    for (const KernelFunction::Region& region : part.regions) most = std::max(most, region.count);
  }
  threads_ = static_cast<int>(std::min<int64_t>(KernelFunction::kThreads, (most + 31) / 32 * 32));
  since_barrier_ = {};
  return f.ForEachBlock(1, threads_, [&](V) -> absl::Status {
    for (const plan::Step* step : added_) XC_RETURN_IF_ERROR(WriteStep(*step));
    return absl::OkStatus();
  });
}

void Sequence::Barrier() {
  f_->Barrier();
  since_barrier_ = {};
}

absl::Status Sequence::WriteComputation(int number) {
  for (const plan::Step& step : plan_.computations[number].steps) XC_RETURN_IF_ERROR(WriteStep(step));
  return absl::OkStatus();
}

absl::Status Sequence::WriteStep(const plan::Step& step) {
  if (std::holds_alternative<plan::Alias>(step.action)) return absl::OkStatus();
  const Part& part = parts_[&step];
  if (const auto* loop = std::get_if<plan::Loop>(&step.action)) return WriteLoop(*loop, part.first);
  if (const auto* branch = std::get_if<plan::Branch>(&step.action)) return WriteBranch(*branch, part.first);
  if (const auto* call = std::get_if<plan::Call>(&step.action)) return WriteComputation(call->callee);
  const Accesses own = AccessesOf(step, accesses_);
  if (Conflict(since_barrier_, own)) Barrier();
  since_barrier_.Add(own);
  for (const KernelFunction::Region& region : part.regions) XC_RETURN_IF_ERROR(WriteRegion(region));
  return absl::OkStatus();
}

absl::Status Sequence::WriteRegion(const KernelFunction::Region& region) {
  V thread = f_->Thread();
  const auto run = [&](V number) { return region.body(number); };
  if (region.count == threads_) return run(thread);
  if (region.count < threads_) {
    return f_->If(f_->b().CreateICmpULT(thread, f_->Index(region.count)), [&] { return run(thread); });
  }
  codegen::Loop loop(f_->b(), thread, f_->Index(region.count), threads_, "part");
  XC_RETURN_IF_ERROR(run(loop.index()));
  loop.End();
  return absl::OkStatus();
}

V Sequence::ReadNumber(int argument, int bytes) {
  auto& b = f_->b();
  V number = b.CreateLoad(b.getIntNTy(8 * bytes), f_->argument(argument));
  return b.CreateZExtOrTrunc(number, b.getInt32Ty());
}

absl::Status Sequence::WriteLoop(const plan::Loop& loop, int argument) {
  auto& b = f_->b();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, f_->function()); };
  auto *head = block("head"), *body = block("body"), *exit = block("exit");
  Barrier();
  b.CreateBr(head);
  b.SetInsertPoint(head);
  XC_RETURN_IF_ERROR(WriteComputation(loop.condition));
  Barrier();
  b.CreateCondBr(b.CreateICmpNE(ReadNumber(argument, 1), b.getInt32(0)), body, exit);
  b.SetInsertPoint(body);
  since_barrier_.read.push_back(loop.more);
  XC_RETURN_IF_ERROR(WriteComputation(loop.body));
  Barrier();
  b.CreateBr(head);
  b.SetInsertPoint(exit);
  since_barrier_.read.push_back(loop.more);
  return absl::OkStatus();
}

absl::Status Sequence::WriteBranch(const plan::Branch& branch, int argument) {
  auto& b = f_->b();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, f_->function()); };
  Barrier();
  V chosen = ReadNumber(argument, branch.by_pred ? 1 : 4);
  // What stands for no branch leads to the last one; of two by a pred, the first one is for true.
  if (branch.by_pred) chosen = b.CreateZExt(b.CreateICmpEQ(chosen, b.getInt32(0)), b.getInt32Ty());
  const size_t count = branch.branches.size();
  std::vector<llvm::BasicBlock*> starts;
  for (size_t i = 0; i < count; ++i) starts.push_back(block("branch"));
  auto* exit = block("exit");
  auto* choice = b.CreateSwitch(chosen, starts.back(), static_cast<unsigned>(count));
  for (size_t i = 0; i + 1 < count; ++i) choice->addCase(b.getInt32(static_cast<uint32_t>(i)), starts[i]);
  for (size_t i = 0; i < count; ++i) {
    b.SetInsertPoint(starts[i]);
    since_barrier_ = {};
    since_barrier_.read.push_back(branch.selector);
    XC_RETURN_IF_ERROR(WriteComputation(branch.branches[i]));
    Barrier();
    b.CreateBr(exit);
  }
  b.SetInsertPoint(exit);
  return absl::OkStatus();
}

}  // namespace xc::gpu
