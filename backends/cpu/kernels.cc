// Kernels of fusions and of single ops that the fused emitter knows: loop nests over the output, in vectors along its
// minor dimension, cut along the outer dimensions for threads.
#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "backends/cpu/loop_nest.h"
#include "backends/cpu/row_divisors.h"
#include "backends/cpu/row_groups.h"
#include "backends/plan/expression.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::cpu {
namespace {

using codegen::FusedEmitter;
using codegen::Index;
using codegen::Term;
using V = llvm::Value*;

// Whether code for the value is short enough to stand in a kernel several times.
bool IsShort(const HloInstruction& value, bool fused) {
  constexpr int64_t kShort = 64;
  std::vector<const HloInstruction*> all = {&value};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!all.empty()) {
    const HloInstruction* i = all.back();
    all.pop_back();
    if (!seen.insert(i).second) continue;
    if (i->opcode() == HloOpcode::kReduce || i->opcode() == HloOpcode::kReduceWindow || seen.size() > kShort)
      return false;
    if (i->opcode() == HloOpcode::kMap || i->opcode() == HloOpcode::kCall || IsComplex(i->type())) return false;
    if (i->opcode() == HloOpcode::kFusion) all.push_back(i->fused_root());
    if (fused) all.insert(all.end(), i->operands().begin(), i->operands().end());
  }
  return true;
}

// The positions of the elements that a nest's body computes where it stands at `position`.
std::vector<Index> RowPositions(FusedEmitter& fused, const KernelShape& plan, const Index& position) {
  std::vector<Index> positions(plan.row, position);
  for (int64_t i = 0; i < plan.row && plan.row > 1; ++i) positions[i].dims.back() = fused.index().Constant(i);
  return positions;
}

absl::StatusOr<std::vector<codegen::Element>> GetRow(FusedEmitter& fused, const HloInstruction* value,
                                                     const KernelShape& plan, const Index& position) {
  std::vector<codegen::Element> row;
  for (const Index& at : RowPositions(fused, plan, position)) {
    XC_ASSIGN_OR_RETURN(codegen::Element element, fused.Get(value, at));
    row.push_back(element);
  }
  return row;
}

// Makes a plan whose last dimension is all those of a value from dimension `d` on, or from a later one where these are
// many elements. Returns which.
int64_t MergeRuns(KernelShape* plan, int64_t d) {
  constexpr int64_t kLong = 4096;
  int64_t run = 1;
  for (size_t i = d; i < plan->dims.size(); ++i) run *= plan->dims[i];
  int64_t merged = d;
  while (run > kLong && merged + 1 < static_cast<int64_t>(plan->dims.size())) run /= plan->dims[merged++];
  d = ChooseAny(merged);
  run = 1;
  for (size_t i = d; i < plan->dims.size(); ++i) run *= plan->dims[i];
  plan->dims.resize(d);
  plan->dims.push_back(run);
  plan->lanes = plan->most_lanes;
  plan->flat = true;  // turned into loops here
  plan->MakeNested();
  return d;
}

// At the vector `position` of what follows reductions of rows: reduces the row of each lane, one by one, and makes the
// results known to `fused`. `function` has room for them on its stack.
template <typename Bind>
absl::Status ReduceRows(FusedEmitter& fused, const std::vector<const HloInstruction*>& rows, const KernelShape& plan,
                        const Index& position, llvm::Instruction* function_begin, const Bind& bind) {
  codegen::ElementEmitter& element = fused.element();
  llvm::IRBuilderBase& b = element.builder();
  llvm::IRBuilder<> head(function_begin);
  const int lanes = fused.lanes();
  std::vector<std::pair<llvm::AllocaInst*, llvm::AllocaInst*>> places;  // real and imaginary parts
  for (const HloInstruction* row : rows) {
    auto place = [&] {
      llvm::AllocaInst* p = head.CreateAlloca(llvm::ArrayType::get(element.RegisterType(row->type()), lanes));
      p->setAlignment(llvm::Align(64));
      return p;
    };
    places.push_back({place(), IsComplex(row->type()) ? place() : nullptr});
  }
  V first = position.dims[plan.inner].base;
  V left = b.CreateSub(b.getInt64(plan.inner_size), first);
  codegen::Loop loop(b, b.getInt64(0), b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b.getInt64(lanes)), 1,
                     "lane");
  FusedEmitter scalar(element, 1);
  bind(scalar);
  Index at = position;
  at.dims[plan.inner] = scalar.index().Uniform(b.CreateAdd(first, loop.index()));
  for (size_t r = 0; r < rows.size(); ++r) {
    XC_ASSIGN_OR_RETURN(codegen::Element value, scalar.Get(rows[r], at));
    auto put = [&](V part, V place) { b.CreateStore(part, b.CreateGEP(part->getType(), place, loop.index())); };
    put(value.re, places[r].first);
    if (value.im != nullptr) put(value.im, places[r].second);
  }
  loop.End();
  for (size_t r = 0; r < rows.size(); ++r) {
    llvm::Type* type = element.RegisterType(rows[r]->type(), lanes);
    auto get = [&](V place) -> V {
      return place == nullptr ? nullptr : b.CreateAlignedLoad(type, place, llvm::Align(64));
    };
    fused.BindValue(rows[r], {get(places[r].first), get(places[r].second)});
  }
  return absl::OkStatus();
}

// `value` in vectors along the tile's contiguous dimension, one for each of its columns.
absl::StatusOr<std::vector<codegen::Element>> ReadTile(FusedEmitter& fused, const HloInstruction* value,
                                                       const KernelShape& plan, const Index& position, int columns) {
  std::vector<codegen::Element> tile;
  Index at = position;
  for (int c = 0; c < columns; ++c) {
    at.dims[plan.inner] = fused.index().AddConst(position.dims[plan.inner], c);
    XC_ASSIGN_OR_RETURN(codegen::Element column, fused.Get(value, at));
    tile.push_back(column);
  }
  return tile;
}

// Computes and stores `rows` rows of a tile, along the inner dimension: of what `transposes` give, the tile is read
// whole and transposed in registers, the rest is read row by row. `bind` tells an emitter the kernel's arrays.
absl::Status WriteTile(FusedEmitter& fused, const HloInstruction* value,
                       absl::Span<const HloInstruction* const> transposes, const KernelShape& plan,
                       const Index& position, int rows, int columns, V output,
                       const std::function<void(FusedEmitter&)>& bind) {
  std::vector<std::vector<codegen::Element>> tiles;
  for (const HloInstruction* transpose : transposes) {
    XC_ASSIGN_OR_RETURN(const std::vector<codegen::Element> tile, ReadTile(fused, transpose, plan, position, columns));
    tiles.push_back(fused.TransposeTile(tile));
  }
  for (int r = 0; r < rows; ++r) {
    FusedEmitter row(fused.element(), fused.lanes());
    if (columns < fused.lanes()) {
      row.SetTail(codegen::FirstLanes(fused.element().builder(), fused.lanes(), columns));
    }
    bind(row);
    for (size_t t = 0; t < transposes.size(); ++t) row.BindValue(transposes[t], tiles[t][r]);
    Index at = position;
    at.dims[plan.contiguous] = row.index().AddConst(row.index().Uniform(position.dims[plan.contiguous].base), r);
    at.dims[plan.inner] = Term{position.dims[plan.inner].base, 1, nullptr, true};
    XC_ASSIGN_OR_RETURN(const codegen::Element result, row.Get(value, at));
    row.Store(value->shape(), output, at, result);
  }
  return absl::OkStatus();
}

void StoreRow(FusedEmitter& fused, const Shape& shape, V base, const Index& position,
              absl::Span<const codegen::Element> row) {
  if (row.size() == 1) return fused.Store(shape, base, position, row[0]);
  fused.StoreAlternately(shape, base, position, shape.rank() - 1, row);
}

constexpr int64_t kWindowsAtOnce = 4;

// Computes and stores `value` at `position` and the next ones along dimension `d`, from `window` (FindSharedWindow).
absl::Status WriteWindows(FusedEmitter& fused, const HloInstruction& window, const HloInstruction& value,
                          const Index& position, int64_t d, V output) {
  XC_ASSIGN_OR_RETURN(const std::vector<codegen::Element> sums, fused.GetWindows(&window, position, d, kWindowsAtOnce));
  std::vector<std::pair<Index, codegen::Element>> results;
  for (int64_t i = 0; i < kWindowsAtOnce; ++i) {
    Index at = position;
    at.dims[d] = fused.index().AddConst(position.dims[d], i);
    fused.BindValue(&window, sums[i]);
    XC_ASSIGN_OR_RETURN(const codegen::Element result, fused.Get(&value, at));
    results.push_back({std::move(at), result});
  }
  for (const auto& [at, result] : results) fused.Store(value.shape(), output, at, result);
  return absl::OkStatus();
}

// Whether rows of gathered windows of several rows, which all start at the same indices, are short.
bool GathersWindows(const HloInstruction& instruction) {
  constexpr int64_t kShort = 64;
  const auto gathers = [](const HloInstruction& i) {
    if (i.opcode() != HloOpcode::kGather || i.gather_dims().offset_dims.empty()) return false;
    const Int64List& offsets = i.gather_dims().offset_dims;
    int64_t rows = 1, last = i.shape().rank() - 1;
    for (int64_t d : offsets) rows *= d == last ? 1 : i.shape().dim(d);
    return offsets.back() == last && rows > 1 && i.shape().dim(last) <= kShort;
  };
  if (instruction.opcode() != HloOpcode::kFusion) return gathers(instruction);
  const auto& all = instruction.fused_computation()->instructions();
  return std::any_of(all.begin(), all.end(), [&](const auto& i) { return gathers(*i); });
}

}  // namespace

absl::Status IrEmitter::EmitLoops(const HloInstruction* instruction, const plan::Kernel& kernel) {
  const bool fusion = instruction->opcode() == HloOpcode::kFusion;
  std::vector<KernelShape> shapes;
  std::vector<plan::TransposedReads> transposed;  // of each nest
  // Of each nest: the rows that are reduced before what is in vectors, and how many of each together (0: one by one).
  std::vector<std::vector<const HloInstruction*>> rows;
  std::vector<int> together;
  std::vector<const HloInstruction*> windows;  // of each nest: those that neighbouring rows share most of, or null
  for (const plan::Nest& nest : kernel.nests) {
    shapes.push_back(ShapeOf(nest, codegen_target_));
    KernelShape& shape = shapes.back();
    const bool is_short = std::all_of(nest.values.begin(), nest.values.end(),
                                      [&](const HloInstruction* value) { return IsShort(*value, fusion); });
    if (is_short) shape.TakeShortRows(MostOfShortRow(nest, shape, codegen_target_));
    rows.push_back({});
    const bool several = nest.values[0]->shape().IsTuple();
    together.push_back(0);
    if (!several && !shape.flat && shape.inner >= 0 && (fusion || instruction->opcode() == HloOpcode::kReduce)) {
      bool functions = false;
      rows.back() = RowsBelow(nest.values, &functions);
      together.back() = RowsTogether(rows.back(), fusion, codegen_target_);
      // One by one, short rows take longer than one in each lane.
      const bool alone = functions && std::none_of(rows.back().begin(), rows.back().end(),
                                                   [](const HloInstruction* reduce) { return IsShortSum(*reduce); });
      if (together.back() == 0 && !alone) rows.back().clear();
    }
    if (!rows.back().empty()) shape.TakeVectors();
    if (together.back() > 0) shape.lanes = std::min(shape.lanes, together.back());
    transposed.push_back({});
    if (nest.access.contiguous >= 0 && nest.values.size() == 1) {
      transposed.back() = plan::FindTransposedReads(nest.values[0], fusion);
      if (!transposed.back().transposes.empty()) shape.TakeTiles(nest.access.contiguous, codegen_target_);
    }
    windows.push_back(nullptr);
    const bool plain = !shape.flat && shape.row == 1 && shape.contiguous < 0 && !shape.outer.empty();
    if (plain && nest.values.size() == 1 && (fusion || instruction->opcode() == HloOpcode::kReduceWindow)) {
      windows.back() = FindSharedWindow(nest.values[0], shape.outer.back());
    }
    if (GathersWindows(*instruction)) {
      shape.TakeGroups();
    } else if (is_short || (!fusion && OpcodeAccess(instruction->opcode()) == OpAccess::kMoves)) {
      shape.TakeTinyRows();
    }
  }
  KernelWriter writer(this, impl_.get(), target_, kernel);
  const bool single = shapes.size() == 1;
  const int64_t work = single ? shapes[0].Work() : 1;
  const int64_t grain = single ? shapes[0].Grain() : 1;
  return writer.Write(work, grain, [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    for (size_t n = 0; n < kernel.nests.size(); ++n) {
      const plan::Nest& nest = kernel.nests[n];
      auto bind_arrays = [&](FusedEmitter& fused) { writer.Bind(fused); };
      RowDivisors divisors(fusion && rows[n].empty() ? nest.values : std::vector<const HloInstruction*>(), shapes[n],
                           codegen_target_);
      XC_RETURN_IF_ERROR(divisors.Write(element, shapes[n], impl_->scope->jump, bind_arrays));
      auto bind = [&](FusedEmitter& fused) {
        bind_arrays(fused);
        divisors.Bind(fused);
      };
      auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
        if (const HloInstruction* reduce = nest.values[0]; reduce->shape().IsTuple()) {
          XC_ASSIGN_OR_RETURN(std::vector<codegen::Element> results, fused.GetReduce(reduce, position));
          for (size_t i = 0; i < results.size(); ++i) {
            fused.Store(reduce->shape().tuple_shape(i), writer.output(nest.outputs[i]), position, results[i]);
          }
          return absl::OkStatus();
        }
        if (!rows[n].empty() && fused.lanes() > 1) {
          XC_RETURN_IF_ERROR(together[n] > 0
                                 ? ReduceRowsTogether(fused, rows[n], shapes[n], position, bind)
                                 : ReduceRows(fused, rows[n], shapes[n], position, impl_->scope->jump, bind));
        }
        // All values are read before any is written: an output may lie over an operand.
        std::vector<std::vector<codegen::Element>> results;
        for (const HloInstruction* value : nest.values) {
          XC_ASSIGN_OR_RETURN(std::vector<codegen::Element> row, GetRow(fused, value, shapes[n], position));
          results.push_back(std::move(row));
        }
        for (size_t i = 0; i < results.size(); ++i) {
          StoreRow(fused, nest.values[i]->shape(), writer.output(nest.outputs[i]), position, results[i]);
        }
        return absl::OkStatus();
      };
      LoopNest loops(element, shapes[n], bind, body);
      if (shapes[n].tile > 0) {
        loops.set_tile([&](FusedEmitter& fused, const Index& position, int lanes, int columns) -> absl::Status {
          const HloInstruction* value = nest.values[0];
          if (transposed[n].others) {
            return WriteTile(fused, value, transposed[n].transposes, shapes[n], position, lanes, columns,
                             writer.output(nest.outputs[0]), bind);
          }
          XC_ASSIGN_OR_RETURN(const std::vector<codegen::Element> tile,
                              ReadTile(fused, value, shapes[n], position, columns));
          fused.StoreTile(value->shape(), writer.output(nest.outputs[0]), position, shapes[n].contiguous,
                          shapes[n].inner, tile, lanes);
          return absl::OkStatus();
        });
      }
      if (windows[n] != nullptr) {
        loops.set_rows(kWindowsAtOnce, [&, n](FusedEmitter& fused, const Index& position) {
          return WriteWindows(fused, *windows[n], *nest.values[0], position, shapes[n].outer.back(),
                              writer.output(nest.outputs[0]));
        });
      }
      V first = single ? begin : b().getInt64(0);
      V last = single ? end : b().getInt64(shapes[n].Work());
      XC_RETURN_IF_ERROR(loops.Write(first, last));
    }
    return absl::OkStatus();
  });
}

absl::Status IrEmitter::EmitConcatenate(const HloInstruction* instruction, const plan::Kernel& kernel) {
  const bool fusion = instruction->opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? instruction->fused_root() : instruction;
  struct Part {
    const HloInstruction* value;
    KernelShape plan;
    std::vector<int64_t> offsets;  // in each dimension
    int64_t first, iterations;     // its share of the kernel's iterations
    // The value is read as it lies: dimensions from this one on are one in the plan. -1: the plan has those of the
    // value.
    int64_t merged = -1;
  };
  const std::vector<int64_t> strides = ElementStrides(root->shape());
  std::vector<Part> parts;
  int64_t work = 0;
  for (const plan::Nest& nest : kernel.nests) {
    Part part{nest.values[0], ShapeOf(nest, codegen_target_), {}, work, 1};
    for (const plan::Size& offset : nest.offsets) part.offsets.push_back(offset.constant());
    if (part.plan.flat || !fusion) {
      part.merged = MergeRuns(&part.plan, nest.joined);
    } else if (nest.joined + 1 < root->shape().rank() && IsShort(*part.value, true)) {
      part.plan.TakeShortRows();
    }
    if (fusion && nest.access.contiguous >= 0) {
      const plan::TransposedReads reads = plan::FindTransposedReads(part.value, fusion);
      if (!reads.transposes.empty() && !reads.others) part.plan.TakeTiles(nest.access.contiguous, codegen_target_);
    }
    if (!part.plan.outer.empty()) part.iterations = part.plan.Work();
    work += part.iterations;
    parts.push_back(std::move(part));
  }
  KernelWriter writer(this, impl_.get(), target_, kernel);
  return writer.Write(work, 1, [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    auto bind = [&](FusedEmitter& fused) { writer.Bind(fused); };
    for (const Part& part : parts) {
      const auto in_result = [&](FusedEmitter& fused, Index position) {
        for (size_t d = 0; d < position.dims.size(); ++d) {
          position.dims[d] = fused.index().AddConst(position.dims[d], part.offsets[d]);
        }
        return position;
      };
      auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
        Index from = position, to = position;
        if (part.merged < 0) {
          to = in_result(fused, position);
        } else {
          // Places in memory: the same but for the rows' pitch and the parts before.
          const auto place = [&](const Shape& shape, std::vector<int64_t> pitch, int64_t start) {
            pitch.resize(part.merged);
            pitch.push_back(1);
            const Term linear = fused.index().Linearize(position.dims, pitch);
            return Index{{},
                         fused.index().AddConst(linear, start),
                         Layout::Descending(shape.rank()).minor_to_major,
                         shape.dims()};
          };
          from = place(part.value->shape(), ElementStrides(part.value->shape()), 0);
          int64_t start = 0;
          for (size_t d = 0; d < strides.size(); ++d) start += part.offsets[d] * strides[d];
          to = place(root->shape(), strides, start);
        }
        XC_ASSIGN_OR_RETURN(std::vector<codegen::Element> row, GetRow(fused, part.value, part.plan, from));
        StoreRow(fused, root->shape(), writer.output(0), to, row);
        return absl::OkStatus();
      };
      LoopNest nest(element, part.plan, bind, body);
      if (part.plan.tile > 0) {
        nest.set_tile([&](FusedEmitter& fused, const Index& position, int lanes, int columns) -> absl::Status {
          XC_ASSIGN_OR_RETURN(const std::vector<codegen::Element> tile,
                              ReadTile(fused, part.value, part.plan, position, columns));
          fused.StoreTile(root->shape(), writer.output(0), in_result(fused, position), part.plan.contiguous,
                          part.plan.inner, tile, lanes);
          return absl::OkStatus();
        });
      }
      auto within = [&](V at) {
        V shifted = b().CreateSub(at, b().getInt64(part.first));
        V low = b().CreateBinaryIntrinsic(llvm::Intrinsic::smax, shifted, b().getInt64(0));
        return b().CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, b().getInt64(part.iterations));
      };
      V first = within(begin), last = within(end);
      if (!part.plan.outer.empty()) {
        XC_RETURN_IF_ERROR(nest.Write(first, last));
        continue;
      }
      codegen::Loop once(b(), first, last, 1, "part");
      XC_RETURN_IF_ERROR(nest.Write(b().getInt64(0), b().getInt64(part.plan.inner_size)));
      once.End();
    }
    return absl::OkStatus();
  });
}

absl::Status IrEmitter::EmitInterleave(const HloInstruction* instruction, const plan::Kernel& kernel) {
  const bool fusion = instruction->opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? instruction->fused_root() : instruction;
  KernelWriter writer(this, impl_.get(), target_, kernel);
  const plan::Nest& nest = kernel.nests[0];
  KernelShape shape = ShapeOf(nest, codegen_target_);
  shape.MakeNested();
  const int64_t d = root->dimensions()[0];
  if (d + 1 < root->shape().rank() && ChooseSafe(root->shape().dim(root->shape().rank() - 1) > 1))
    shape.TakeShortRows();
  return writer.Write(shape.Work(), shape.Grain(), [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    auto bind = [&](FusedEmitter& fused) { writer.Bind(fused); };
    auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
      std::vector<codegen::Element> values;
      for (const HloInstruction* part : nest.values) {
        XC_ASSIGN_OR_RETURN(const std::vector<codegen::Element> row, GetRow(fused, part, shape, position));
        values.insert(values.end(), row.begin(), row.end());
      }
      fused.StoreAlternately(root->shape(), writer.output(0), position, d, values);
      return absl::OkStatus();
    };
    LoopNest loops(element, shape, bind, body);
    return loops.Write(begin, end);
  });
}

absl::Status IrEmitter::EmitUpdate(const HloInstruction* instruction, const plan::Kernel& kernel) {
  const bool fusion = instruction->opcode() == HloOpcode::kFusion;
  const HloInstruction* dus = fusion ? instruction->fused_root() : instruction;
  const HloInstruction* update = kernel.nests[0].values[0];
  KernelWriter writer(this, impl_.get(), target_, kernel);
  KernelShape shape = ShapeOf(kernel.nests[0], codegen_target_);
  shape.MakeNested();
  return writer.Write(shape.Work(), shape.Grain(), [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    auto bind = [&](FusedEmitter& fused) { writer.Bind(fused); };
    // The window's place, once.
    FusedEmitter scalar(element, 1);
    bind(scalar);
    XC_ASSIGN_OR_RETURN(std::vector<Term> starts, scalar.Starts(dus, 2, update->shape().dims()));
    auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
      XC_ASSIGN_OR_RETURN(codegen::Element value, fused.Get(update, position));
      Index target;
      std::vector<Term> at = fused.Coordinates(position, update->shape());
      for (size_t d = 0; d < at.size(); ++d) target.dims.push_back(fused.index().Add(starts[d], at[d]));
      fused.Store(dus->shape(), writer.output(0), target, value);
      return absl::OkStatus();
    };
    LoopNest loops(element, shape, bind, body);
    return loops.Write(begin, end);
  });
}

}  // namespace xc::cpu
