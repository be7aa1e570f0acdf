// Reductions whose results lie along the operand's minor dimensions (column sums): whole rows are added, block by
// block, to accumulators that stay in the first-level cache, so that memory is read in its order.
#include <algorithm>

#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "backends/cpu/loop_nest.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using codegen::Loop;
using codegen::Term;
using V = llvm::Value*;

// Columns of one piece of work, and rows whose sum is taken before it joins the total: sums of many rows lose less.
constexpr int64_t kColumns = 512;
constexpr int64_t kRows = 128;

int64_t Count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  return count;
}

std::vector<int64_t> Descending(size_t rank) { return Layout::Descending(rank).minor_to_major; }

// The place `column` behind place `start` of a row-major array of `shape`.
Index Linear(FusedEmitter& fused, V start, const Term& column, const Shape& shape) {
  Index at;
  at.linear = fused.index().Add(fused.index().Uniform(start), column);
  at.sizes = shape.dims();
  at.order = Descending(shape.rank());
  return at;
}

}  // namespace

absl::Status IrEmitter::EmitColumnReduce(const HloInstruction* instruction, const plan::Kernel& kernel) {
  const HloInstruction* root = instruction->opcode() == HloOpcode::kFusion ? instruction->fused_root() : instruction;
  const plan::ColumnReduce& form = kernel.columns;
  const HloInstruction* reduce = form.reduce;
  const ElementType type = reduce->type();
  // Accumulators of narrow floats are f32.
  const bool narrow = IsFloating(type) && type != ElementType::kF64 && type != ElementType::kF32;
  const ElementType local_type = narrow ? ElementType::kF32 : type;
  const int lanes = codegen_target_.vector_bytes / std::max(4, StorageBytes(local_type));
  const int64_t batches = Count(form.batch), rows = Count(form.rows), columns = Count(form.columns);
  const std::vector<int64_t>* const sizes[] = {&form.batch, &form.rows, &form.columns};
  KernelWriter writer(this, impl_.get(), target_, kernel);
  const int64_t blocks = (columns + kColumns - 1) / kColumns;
  // Columns of several dimensions whose vectors cross the end of the last one: places in memory need no coordinates.
  const bool linear = form.columns.size() > 1 && form.columns.back() % lanes != 0;
  // Loops along the columns, in a space of [batch][column].
  KernelShape plan;
  plan.dims = {batches, columns};
  plan.outer = {0};
  plan.inner = 1;
  plan.inner_size = columns;
  plan.lanes = lanes;
  const Shape local_shape = WithDefaultLayout(Shape(local_type, {kColumns}));
  return writer.Write(batches * blocks, 1, [&](V begin, V end) -> absl::Status {
    llvm::IRBuilderBase& builder = b();
    codegen::ElementEmitter element(builder, codegen_target_);
    auto bind = [&](FusedEmitter& fused) { writer.Bind(fused); };
    llvm::IRBuilder<> head(impl_->scope->jump);
    auto accumulators = [&](const char* name) {
      llvm::AllocaInst* place =
          head.CreateAlloca(llvm::ArrayType::get(element.MemoryType(local_type), kColumns), nullptr, name);
      place->setAlignment(llvm::Align(64));
      return place;
    };
    V local = accumulators("local"), whole = accumulators("whole");
    V out = writer.output(0);
    codegen::IndexArithmetic scalar(builder, 1);
    Loop work(builder, begin, end, 1, "block");
    // Not folded where there is one block: code for several sizes may have more.
    V batch = builder.CreateUDiv(work.index(), builder.getInt64(blocks));
    V first = builder.CreateMul(builder.CreateURem(work.index(), builder.getInt64(blocks)), builder.getInt64(kColumns));
    V last = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder.CreateAdd(first, builder.getInt64(kColumns)),
                                           builder.getInt64(columns));
    const std::vector<Term> outer = {scalar.Uniform(batch)};
    // Runs `body` for every vector of the block; it gets the place in `local` and in the result.
    auto along = [&](const std::function<absl::Status(FusedEmitter&, const Index&, const Index&)>& body) {
      LoopNest nest(element, plan, bind, [&](FusedEmitter& fused, const Index& position) -> absl::Status {
        Term here = fused.index().Add(position.dims[1], fused.index().Negate(scalar.Uniform(first)));
        return body(fused, Index{{here}}, position);
      });
      return nest.Row(outer, first, last, columns);
    };
    // Memory that stands for an array is read through placeholders of its shape.
    auto old = HloInstruction::CreateParameter(0, local_shape, "total");
    auto sum = HloInstruction::CreateParameter(0, local_shape, "sum");
    auto apply = [&](const Element& x, const Element& y) -> absl::StatusOr<Element> {
      Element arguments[] = {x, y};
      XC_ASSIGN_OR_RETURN(std::vector<Element> value,
                          codegen::EmitApply(element, reduce->to_apply(), arguments, !narrow));
      return value[0];
    };
    const int64_t row_blocks = (rows + kRows - 1) / kRows;
    Loop row_block(builder, builder.getInt64(0), builder.getInt64(row_blocks), 1, "rows");
    V row_first = builder.CreateMul(row_block.index(), builder.getInt64(kRows));
    V row_last = builder.CreateBinaryIntrinsic(
        llvm::Intrinsic::smin, builder.CreateAdd(row_first, builder.getInt64(kRows)), builder.getInt64(rows));
    // The value of the operand at a row, for the vector at `position`.
    auto row_value = [&](FusedEmitter& fused, V row, const Index& position) {
      if (linear) {
        V row_of_all = fused.index().Add(fused.index().Mul(batch, builder.getInt64(rows)), row);
        V start = fused.index().Mul(row_of_all, builder.getInt64(columns));
        return fused.Get(reduce->operand(0), Linear(fused, start, position.dims[1], reduce->operand(0)->shape()));
      }
      std::vector<Term> at, part;
      const Term coordinates[] = {fused.index().Uniform(batch), fused.index().Uniform(row), position.dims[1]};
      for (int k = 0; k < 3; ++k) {
        if (sizes[k]->empty()) continue;
        part = fused.index().Delinearize(coordinates[k], *sizes[k], Descending(sizes[k]->size()));
        at.insert(at.end(), part.begin(), part.end());
      }
      return fused.Get(reduce->operand(0), Index{at});
    };
    // The first row of the block starts the sum.
    XC_RETURN_IF_ERROR(along([&](FusedEmitter& fused, const Index& here, const Index& position) -> absl::Status {
      XC_ASSIGN_OR_RETURN(Element x, row_value(fused, row_first, position));
      fused.Store(local_shape, local, here, x);
      return absl::OkStatus();
    }));
    Loop row(builder, builder.CreateAdd(row_first, builder.getInt64(1)), row_last, 1, "row");
    XC_RETURN_IF_ERROR(along([&](FusedEmitter& fused, const Index& here, const Index& position) -> absl::Status {
      fused.BindMemory(sum.get(), local);
      XC_ASSIGN_OR_RETURN(Element x, row_value(fused, row.index(), position));
      XC_ASSIGN_OR_RETURN(Element before, fused.Get(sum.get(), here));
      XC_ASSIGN_OR_RETURN(Element value, apply(before, x));
      fused.Store(local_shape, local, here, value);
      return absl::OkStatus();
    }));
    row.End();
    // The block's sum joins the initial value or the total so far.
    V is_first = builder.CreateICmpEQ(row_block.index(), builder.getInt64(0));
    XC_RETURN_IF_ERROR(along([&](FusedEmitter& fused, const Index& here, const Index& position) -> absl::Status {
      fused.BindMemory(sum.get(), local);
      fused.BindMemory(old.get(), whole);
      XC_ASSIGN_OR_RETURN(Element init, fused.Get(reduce->operand(1), Index{}));
      XC_ASSIGN_OR_RETURN(Element total, fused.Get(old.get(), here));
      XC_ASSIGN_OR_RETURN(Element part, fused.Get(sum.get(), here));
      total = element.Splat(total, fused.lanes());
      init = element.Splat(init, fused.lanes());
      Element before{builder.CreateSelect(is_first, init.re, total.re)};
      XC_ASSIGN_OR_RETURN(Element value, apply(before, part));
      fused.Store(local_shape, whole, here, value);
      return absl::OkStatus();
    }));
    row_block.End();
    // What is made of the totals.
    XC_RETURN_IF_ERROR(along([&](FusedEmitter& fused, const Index& here, const Index& position) -> absl::Status {
      fused.BindMemory(old.get(), whole);
      XC_ASSIGN_OR_RETURN(Element total, fused.Get(old.get(), here));
      fused.BindValue(reduce, {element.Normalize(type, total.re)});
      if (linear) {
        V start = fused.index().Mul(batch, builder.getInt64(columns));
        const Index at = Linear(fused, start, position.dims[1], root->shape());
        XC_ASSIGN_OR_RETURN(Element value, fused.Get(root, at));
        fused.Store(root->shape(), out, at, value);
        return absl::OkStatus();
      }
      std::vector<Term> at =
          fused.index().Delinearize(fused.index().Uniform(batch), form.batch, Descending(form.batch.size()));
      std::vector<Term> column =
          fused.index().Delinearize(position.dims[1], form.columns, Descending(form.columns.size()));
      at.insert(at.end(), column.begin(), column.end());
      XC_ASSIGN_OR_RETURN(Element value, fused.Get(root, Index{at}));
      fused.Store(root->shape(), out, Index{at}, value);
      return absl::OkStatus();
    }));
    work.End();
    return absl::OkStatus();
  });
}

}  // namespace xc::cpu
