// Reductions whose results lie along the operand's minor dimensions (column sums): whole rows are added, block by
// block, to accumulators that stay in the first-level cache, so that memory is read in its order.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "backends/cpu/loop_nest.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/choices.h"
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
constexpr int64_t kRowsAtOnce = 4;  // where they may be put together first

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

// Whether `value`, of a fusion if `fused`, is computed from elements that lie elsewhere than its own, so that vectors
// of several rows of it are no vectors in memory.
bool ReadsElsewhere(const HloInstruction* value, bool fused) {
  if (!fused) return false;
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> left = {value};
  while (!left.empty()) {
    const HloInstruction* i = left.back();
    left.pop_back();
    if (!seen.insert(i).second || i->opcode() == HloOpcode::kParameter || i->opcode() == HloOpcode::kConstant) continue;
    if (i->opcode() == HloOpcode::kBroadcast && i->operand(0)->shape().rank() == 0) continue;
    if (!IsElementwise(i->opcode())) return true;
    left.insert(left.end(), i->operands().begin(), i->operands().end());
  }
  return false;
}

// Whether a value of a fusion is made by a few simple instructions.
bool IsShortCode(const HloInstruction* value) {
  constexpr size_t kFew = 8;
  std::vector<const HloInstruction*> left = {value};
  absl::flat_hash_set<const HloInstruction*> seen = {value};
  while (!left.empty() && seen.size() <= kFew) {
    const HloInstruction* const i = left.back();
    left.pop_back();
    const HloOpcode opcode = i->opcode();
    const OpCost cost = OpcodeCost(opcode);
    const bool given = opcode == HloOpcode::kParameter || opcode == HloOpcode::kConstant;
    if (!given && opcode != HloOpcode::kBroadcast && (!IsElementwise(opcode) || cost > OpCost::kSimple)) return false;
    for (const HloInstruction* operand : i->operands()) {
      if (seen.insert(operand).second) left.push_back(operand);
    }
  }
  return seen.size() <= kFew;
}

// What the kernel computes, in numbers.
struct Reduction {
  Reduction(const HloInstruction& instruction, const plan::ColumnReduce& the_form, const codegen::CodegenTarget& target)
      : root(instruction.opcode() == HloOpcode::kFusion ? instruction.fused_root() : &instruction),
        form(the_form),
        reduce(the_form.reduce),
        type(the_form.reduce->type()) {
    const HloOpcode op = SimpleReducer(*reduce->to_apply());
    const bool extreme = op == HloOpcode::kMaximum || op == HloOpcode::kMinimum;
    const bool halves = target.halves && type == ElementType::kF16 && extreme;
    narrow = IsNarrowFloat(type) && !halves;
    local_type = narrow ? ElementType::kF32 : type;
    local_shape = WithDefaultLayout(Shape(local_type, {kColumns}));
    any_order = (!IsFloating(type) && !IsComplex(type) && op != HloOpcode::kParameter) || (IsFloating(type) && extreme);
    any_order = any_order && (root == &instruction || IsShortCode(reduce->operand(0)));
    const int lanes = target.vector_bytes / (halves ? 2 : std::max(4, StorageBytes(local_type)));
    batches = Count(form.batch);
    rows = Count(form.rows);
    columns = Count(form.columns);
    linear = form.columns.size() > 1 && form.columns.back() % lanes != 0;
    const int64_t width = form.columns.empty() ? 1 : form.columns.back();
    if (ChooseSafe(linear && width <= kColumns && 4 * width >= lanes &&
                   ReadsElsewhere(reduce->operand(0), root != &instruction))) {
      line = width;
      linear = false;
    }
    block = line == 0 ? kColumns : kColumns / line * line;
    blocks = (columns + block - 1) / block;
    loops.dims = {batches, columns};
    loops.outer = {0};
    loops.inner = 1;
    loops.inner_size = line == 0 ? columns : line;
    loops.lanes = lanes;
  }

  const HloInstruction* root;
  const plan::ColumnReduce& form;
  const HloInstruction* reduce;
  ElementType type, local_type;
  bool narrow;  // accumulators of narrow floats are f32
  Shape local_shape;
  // Rows may be put together before they join what is there, which is then read and written less often. Only rows that
  // little code makes are, which is there several times.
  bool any_order;
  int64_t batches, rows, columns;
  // Columns that are taken together, and how often.
  int64_t block, blocks;
  // Where vectors are not to cross the end of the columns' last dimension: its size. Else 0.
  int64_t line = 0;
  // Columns of several dimensions whose vectors cross the end of the last one: places in memory need no coordinates.
  bool linear;
  KernelShape loops;  // along the columns, in a space of [batch][column]
};

// The code for one block of columns of one batch, where the builder stands.
class BlockEmitter {
 public:
  // `local` and `whole`: accumulators of kColumns elements, of a block of rows and of all. `out`: the result. Columns
  // [first, last) of `batch`.
  BlockEmitter(const Reduction& r, codegen::ElementEmitter& element, std::function<void(FusedEmitter&)> bind, V local,
               V whole, V out, V batch, V first, V last)
      : r_(r),
        element_(element),
        b_(element.builder()),
        scalar_(b_, 1),
        bind_(std::move(bind)),
        local_(local),
        whole_(whole),
        out_(out),
        batch_(batch),
        first_(first),
        last_(last) {}

  absl::Status Write() {
    const int64_t row_blocks = (r_.rows + kRows - 1) / kRows;
    Loop row_block(b_, b_.getInt64(0), b_.getInt64(row_blocks), 1, "rows");
    V row_first = b_.CreateMul(row_block.index(), b_.getInt64(kRows));
    V row_last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(row_first, b_.getInt64(kRows)),
                                          b_.getInt64(r_.rows));
    XC_RETURN_IF_ERROR(StartSum(row_first));
    V rest = b_.CreateAdd(row_first, b_.getInt64(1));
    if (r_.any_order) {
      V several = b_.CreateSub(row_last, b_.CreateURem(b_.CreateSub(row_last, rest), b_.getInt64(kRowsAtOnce)));
      Loop rows(b_, rest, several, kRowsAtOnce, "several");
      XC_RETURN_IF_ERROR(AddRows(rows.index(), kRowsAtOnce));
      rows.End();
      rest = several;
    }
    Loop row(b_, rest, row_last, 1, "row");
    XC_RETURN_IF_ERROR(AddRows(row.index(), 1));
    row.End();
    XC_RETURN_IF_ERROR(AddSum(b_.CreateICmpEQ(row_block.index(), b_.getInt64(0))));
    row_block.End();
    return StoreTotals();
  }

 private:
  // Runs `body` for every vector of the block; it gets the place in the accumulators and in the result.
  using Body = std::function<absl::Status(FusedEmitter&, const Index& here, const Index& position)>;
  absl::Status Along(const Body& body) {
    LoopNest nest(element_, r_.loops, bind_, [&](FusedEmitter& fused, const Index& position) -> absl::Status {
      V before = line_ == nullptr ? scalar_.Const(0) : b_.CreateMul(line_, b_.getInt64(r_.line));
      Term here = fused.index().Add(position.dims[1], fused.index().Uniform(b_.CreateSub(before, first_)));
      return body(fused, Index{{here}}, position);
    });
    if (r_.line == 0) return nest.Row({scalar_.Uniform(batch_)}, first_, last_, r_.columns);
    V size = b_.getInt64(r_.line);
    Loop lines(b_, b_.CreateUDiv(first_, size), b_.CreateUDiv(last_, size), 1, "line");
    line_ = lines.index();
    XC_RETURN_IF_ERROR(nest.Row({scalar_.Uniform(batch_)}, b_.getInt64(0), size, r_.line));
    line_ = nullptr;
    lines.End();
    return absl::OkStatus();
  }

  // The coordinates of the columns at a vector's position.
  std::vector<Term> ColumnsAt(FusedEmitter& fused, const Index& position) {
    std::vector<int64_t> sizes = r_.form.columns;
    if (line_ == nullptr) return fused.index().Delinearize(position.dims[1], sizes, Descending(sizes.size()));
    sizes.pop_back();
    std::vector<Term> at = fused.index().Delinearize(fused.index().Uniform(line_), sizes, Descending(sizes.size()));
    at.push_back(position.dims[1]);
    return at;
  }

  absl::StatusOr<Element> Apply(const Element& x, const Element& y) {
    Element arguments[] = {x, y};
    XC_ASSIGN_OR_RETURN(std::vector<Element> value,
                        codegen::EmitApply(element_, r_.reduce->to_apply(), arguments, !r_.narrow));
    return value[0];
  }

  // The value of the operand at a row, for the vector at `position`.
  absl::StatusOr<Element> RowValue(FusedEmitter& fused, V row, const Index& position) {
    const HloInstruction* operand = r_.reduce->operand(0);
    if (r_.linear) {
      V row_of_all = fused.index().Add(fused.index().Mul(batch_, b_.getInt64(r_.rows)), row);
      V start = fused.index().Mul(row_of_all, b_.getInt64(r_.columns));
      return fused.Get(operand, Linear(fused, start, position.dims[1], operand->shape()));
    }
    std::vector<Term> at, part;
    const std::vector<int64_t>* const sizes[] = {&r_.form.batch, &r_.form.rows};
    V const places[] = {batch_, row};
    for (int k = 0; k < 2; ++k) {
      if (sizes[k]->empty()) continue;
      part = fused.index().Delinearize(fused.index().Uniform(places[k]), *sizes[k], Descending(sizes[k]->size()));
      at.insert(at.end(), part.begin(), part.end());
    }
    if (!r_.form.columns.empty()) {
      part = ColumnsAt(fused, position);
      at.insert(at.end(), part.begin(), part.end());
    }
    return fused.Get(operand, Index{at});
  }

  // The first row of a block of rows starts its sum.
  absl::Status StartSum(V row) {
    return Along([&](FusedEmitter& fused, const Index& here, const Index& position) -> absl::Status {
      XC_ASSIGN_OR_RETURN(Element x, RowValue(fused, row, position));
      fused.Store(r_.local_shape, local_, here, x);
      return absl::OkStatus();
    });
  }

  // Adds `count` rows, which are first added up themselves: a power of two.
  absl::Status AddRows(V row, int64_t count) {
    return Along([&](FusedEmitter& fused, const Index& here, const Index& position) -> absl::Status {
      fused.BindMemory(sum_.get(), local_);
      std::vector<Element> x(count);
      for (int64_t i = 0; i < count; ++i) {
        XC_ASSIGN_OR_RETURN(x[i], RowValue(fused, b_.CreateAdd(row, b_.getInt64(i)), position));
        x[i] = element_.Splat(x[i], fused.lanes());
      }
      for (int64_t half = count / 2; half > 0; half /= 2) {
        for (int64_t i = 0; i < half; ++i) {
          XC_ASSIGN_OR_RETURN(x[i], Apply(x[i], x[i + half]));
        }
      }
      XC_ASSIGN_OR_RETURN(Element before, fused.Get(sum_.get(), here));
      XC_ASSIGN_OR_RETURN(Element value, Apply(before, x[0]));
      fused.Store(r_.local_shape, local_, here, value);
      return absl::OkStatus();
    });
  }

  // The sum of a block of rows joins the initial value or the total so far.
  absl::Status AddSum(V is_first) {
    return Along([&](FusedEmitter& fused, const Index& here, const Index& position) -> absl::Status {
      fused.BindMemory(sum_.get(), local_);
      fused.BindMemory(old_.get(), whole_);
      XC_ASSIGN_OR_RETURN(Element init, fused.Get(r_.reduce->operand(1), Index{}));
      XC_ASSIGN_OR_RETURN(Element total, fused.Get(old_.get(), here));
      XC_ASSIGN_OR_RETURN(Element part, fused.Get(sum_.get(), here));
      total = element_.Splat(total, fused.lanes());
      init = element_.Splat(init, fused.lanes());
      Element before{b_.CreateSelect(is_first, init.re, total.re)};
      XC_ASSIGN_OR_RETURN(Element value, Apply(before, part));
      fused.Store(r_.local_shape, whole_, here, value);
      return absl::OkStatus();
    });
  }

  // What is made of the totals.
  absl::Status StoreTotals() {
    return Along([&](FusedEmitter& fused, const Index& here, const Index& position) -> absl::Status {
      fused.BindMemory(old_.get(), whole_);
      XC_ASSIGN_OR_RETURN(Element total, fused.Get(old_.get(), here));
      fused.BindValue(r_.reduce, {element_.Normalize(r_.type, total.re)});
      if (r_.linear) {
        V start = fused.index().Mul(batch_, b_.getInt64(r_.columns));
        const Index at = Linear(fused, start, position.dims[1], r_.root->shape());
        XC_ASSIGN_OR_RETURN(Element value, fused.Get(r_.root, at));
        fused.Store(r_.root->shape(), out_, at, value);
        return absl::OkStatus();
      }
      std::vector<Term> at =
          fused.index().Delinearize(fused.index().Uniform(batch_), r_.form.batch, Descending(r_.form.batch.size()));
      const std::vector<Term> column = ColumnsAt(fused, position);
      at.insert(at.end(), column.begin(), column.end());
      XC_ASSIGN_OR_RETURN(Element value, fused.Get(r_.root, Index{at}));
      fused.Store(r_.root->shape(), out_, Index{at}, value);
      return absl::OkStatus();
    });
  }

  const Reduction& r_;
  codegen::ElementEmitter& element_;
  llvm::IRBuilderBase& b_;
  codegen::IndexArithmetic scalar_;
  const std::function<void(FusedEmitter&)> bind_;
  V local_, whole_, out_, batch_, first_, last_;
  V line_ = nullptr;  // the number of the line that is being written
  // Memory that stands for an array is read through placeholders of its shape.
  const std::unique_ptr<HloInstruction> old_ = HloInstruction::CreateParameter(0, r_.local_shape, "total");
  const std::unique_ptr<HloInstruction> sum_ = HloInstruction::CreateParameter(0, r_.local_shape, "sum");
};

}  // namespace

absl::Status IrEmitter::EmitColumnReduce(const HloInstruction* instruction, const plan::Kernel& kernel) {
  const Reduction r(*instruction, kernel.columns, codegen_target_);
  KernelWriter writer(this, impl_.get(), target_, kernel);
  return writer.Write(r.batches * r.blocks, 1, [&](V begin, V end) -> absl::Status {
    llvm::IRBuilderBase& builder = b();
    codegen::ElementEmitter element(builder, codegen_target_);
    llvm::IRBuilder<> head(impl_->scope->jump);
    auto accumulators = [&](const char* name) {
      llvm::AllocaInst* place =
          head.CreateAlloca(llvm::ArrayType::get(element.MemoryType(r.local_type), kColumns), nullptr, name);
      place->setAlignment(llvm::Align(64));
      return place;
    };
    V local = accumulators("local"), whole = accumulators("whole");
    Loop work(builder, begin, end, 1, "block");
    // Not folded where there is one block: code for several sizes may have more.
    V batch = builder.CreateUDiv(work.index(), builder.getInt64(r.blocks));
    V first =
        builder.CreateMul(builder.CreateURem(work.index(), builder.getInt64(r.blocks)), builder.getInt64(r.block));
    V last = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder.CreateAdd(first, builder.getInt64(r.block)),
                                           builder.getInt64(r.columns));
    BlockEmitter block(
        r, element, [&](FusedEmitter& fused) { writer.Bind(fused); }, local, whole, writer.output(0), batch, first,
        last);
    XC_RETURN_IF_ERROR(block.Write());
    work.End();
    return absl::OkStatus();
  });
}

}  // namespace xc::cpu
