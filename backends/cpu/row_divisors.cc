#include "backends/cpu/row_divisors.h"

#include "absl/container/flat_hash_set.h"
#include "backends/codegen/elementwise.h"
#include "backends/cpu/loop_nest.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace xc::cpu {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;

RowDivisors::RowDivisors(const std::vector<const HloInstruction*>& values, const KernelShape& shape,
                         const codegen::CodegenTarget& target) {
  constexpr int64_t kLongest = 2048, kFewestRows = 8;
  constexpr size_t kMost = 2;
  const int64_t last = static_cast<int64_t>(shape.dims.size()) - 1;
  if (!target.fma || ForAllSizes() || shape.flat || shape.row != 1 || shape.contiguous >= 0 || shape.lanes == 1 ||
      shape.inner != last || shape.inner_size > kLongest || shape.Work() < kFewestRows) {
    return;
  }
  std::vector<const HloInstruction*> work = values;
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!work.empty()) {
    const HloInstruction* i = work.back();
    work.pop_back();
    if (!i->shape().IsArray() || i->shape().dims() != shape.dims || !i->IsElementwise() || !seen.insert(i).second) {
      continue;
    }
    work.insert(work.end(), i->operands().begin(), i->operands().end());
    if (i->opcode() != HloOpcode::kDivide || !codegen::HasReciprocals(i->type())) continue;
    const HloInstruction* divisor = i->operand(1);
    if (divisor->opcode() != HloOpcode::kBroadcast || divisor->dimensions() != Int64List{last}) continue;
    if (divisors_.size() < kMost) divisors_.push_back({i});
  }
}

absl::Status RowDivisors::Write(codegen::ElementEmitter& element, const KernelShape& shape,
                                llvm::Instruction* function_begin, const std::function<void(FusedEmitter&)>& bind) {
  if (divisors_.empty()) return absl::OkStatus();
  auto& b = element.builder();
  llvm::IRBuilder<> head(function_begin);
  for (codegen::KeptReciprocals& divisor : divisors_) {
    const ElementType type = divisor.divide->type();
    llvm::Type* number = element.RegisterType(type);
    const auto room = [&] {
      llvm::AllocaInst* place = head.CreateAlloca(llvm::ArrayType::get(number, shape.inner_size + shape.lanes));
      place->setAlignment(llvm::Align(64));
      return place;
    };
    divisor.values = room();
    llvm::AllocaInst* unsafe = head.CreateAlloca(b.getInt8Ty());
    b.CreateStore(b.getInt8(0), unsafe);
    bool always_safe = true;
    LoopNest nest(element, shape, bind, [&](FusedEmitter& fused, const Index& position) -> absl::Status {
      XC_ASSIGN_OR_RETURN(const Element d, fused.Get(divisor.divide->operand(1), position));
      const codegen::Reciprocals found = codegen::EmitReciprocals(element, type, element.Splat(d, fused.lanes()).re);
      const auto keep = [&](llvm::Value* numbers, llvm::Value* memory) {
        llvm::Value* place = b.CreateGEP(number, memory, position.dims[shape.inner].base);
        b.CreateAlignedStore(numbers, place, llvm::Align(4));
      };
      keep(found.values, divisor.values);
      if (found.rests != nullptr) {
        if (divisor.rests == nullptr) divisor.rests = room();
        keep(found.rests, divisor.rests);
      }
      if (found.safe == nullptr) return absl::OkStatus();
      always_safe = false;
      llvm::Value* rare = b.CreateZExt(fused.Any(b.CreateNot(found.safe)), b.getInt8Ty());
      b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt8Ty(), unsafe), rare), unsafe);
      return absl::OkStatus();
    });
    codegen::IndexArithmetic arithmetic(b, 1);
    const std::vector<codegen::Term> first_row(shape.outer.size(), arithmetic.Constant(0));
    XC_RETURN_IF_ERROR(nest.Row(first_row, b.getInt64(0), b.getInt64(shape.inner_size), shape.inner_size));
    if (!always_safe) divisor.safe = b.CreateICmpEQ(b.CreateLoad(b.getInt8Ty(), unsafe), b.getInt8(0));
  }
  return absl::OkStatus();
}

void RowDivisors::Bind(FusedEmitter& fused) const {
  for (const codegen::KeptReciprocals& divisor : divisors_) fused.BindReciprocals(&divisor);
}

}  // namespace xc::cpu
