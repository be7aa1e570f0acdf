// Kernels of fusions and of single ops that the fused emitter knows: loop nests over the output, in vectors along its
// minor dimension, cut along the outer dimensions for threads.
#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "backends/cpu/loop_nest.h"
#include "compiler/fuse/fuse.h"
#include "hlo/base/status.h"
#include "hlo/fingerprint.h"
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
  while (run > kLong && d + 1 < static_cast<int64_t>(plan->dims.size())) run /= plan->dims[d++];
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

void StoreRow(FusedEmitter& fused, const Shape& shape, V base, const Index& position,
              absl::Span<const codegen::Element> row) {
  if (row.size() == 1) return fused.Store(shape, base, position, row[0]);
  fused.StoreAlternately(shape, base, position, row);
}

}  // namespace

IrEmitter::Leaves IrEmitter::CollectLeaves(const HloInstruction* instruction, KernelWriter& kernel) {
  Leaves leaves;
  auto written_by = [&](const BufferSlice& slice) {
    for (int64_t i = 0; i < instruction->shape().LeafCount(); ++i) {
      if (buffers_.Slice(instruction, i) == slice) return true;
    }
    return false;
  };
  absl::flat_hash_set<const HloInstruction*> seen;
  for (int64_t i = 0; i < instruction->operand_count(); ++i) {
    const HloInstruction* operand = instruction->operand(i);
    const bool fusion = instruction->opcode() == HloOpcode::kFusion;
    const HloInstruction* key = fusion ? instruction->fused_computation()->parameter(i) : operand;
    if (!seen.insert(key).second) continue;
    if (operand->IsSplatConstant() && !operand->literal().elided()) {
      if (fusion) leaves.aliases.push_back({key, operand});
      continue;
    }
    const BufferSlice& slice = buffers_.Slice(operand);
    const int argument = kernel.Argument(Pointer(slice), false);
    if (written_by(slice)) kernel.set_aliased(argument);
    leaves.memory.push_back({key, argument});
  }
  if (instruction->opcode() == HloOpcode::kFusion) {
    for (const HloInstruction* constant : InnerConstants(*instruction->fused_computation())) {
      leaves.memory.push_back({constant, kernel.Argument(ConstantPointer(constant->shared_literal()), false)});
    }
  }
  return leaves;
}

std::string IrEmitter::KernelKey(const char* kind, const HloInstruction* instruction, const Leaves& leaves) const {
  if (instruction->opcode() != HloOpcode::kFusion) return "";
  std::string key = absl::StrCat(kind, FingerprintOf(*instruction->fused_computation()).ToHex());
  for (const auto& [leaf, argument] : leaves.memory) absl::StrAppend(&key, ",", argument);
  for (const auto& [parameter, constant] : leaves.aliases) {
    absl::StrAppend(&key, ";", parameter->parameter_number(), "=", constant->shape().ToString(),
                    FingerprintOf(constant->literal()).ToHex());
  }
  return key;
}

std::vector<int> IrEmitter::OutputArguments(const HloInstruction* instruction, KernelWriter& kernel) {
  std::vector<int> outputs;
  for (int64_t i = 0; i < instruction->shape().LeafCount(); ++i) {
    const BufferSlice& slice = buffers_.Slice(instruction, i);
    outputs.push_back(kernel.Argument(Pointer(slice), true));
    for (const HloInstruction* operand : instruction->operands()) {
      if (operand->shape().IsArray() && buffers_.Slice(operand) == slice) kernel.set_aliased(outputs.back());
    }
  }
  return outputs;
}

absl::Status IrEmitter::EmitFused(const HloInstruction* instruction) {
  if (IsStitched(*instruction)) return EmitStitched(instruction);
  XC_ASSIGN_OR_RETURN(bool columns, EmitColumnReduce(instruction));
  if (columns) return absl::OkStatus();
  const bool fusion = instruction->opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? instruction->fused_root() : instruction;
  if (JoinsRuns(*root)) return EmitConcatenate(instruction);
  if (Interleaves(*root)) return EmitInterleave(instruction);
  // What each output leaf holds: an array of the expression, or one result of a reduce with several.
  std::vector<const HloInstruction*> values;
  const bool several =
      (root->opcode() == HloOpcode::kReduce || root->opcode() == HloOpcode::kReduceWindow) && root->shape().IsTuple();
  if (root->opcode() == HloOpcode::kTuple) {
    values.assign(root->operands().begin(), root->operands().end());
  } else {
    values.assign(1, root);
  }
  KernelWriter kernel(this, impl_.get(), target_);
  Leaves leaves = CollectLeaves(instruction, kernel);
  const std::vector<int> outputs = OutputArguments(instruction, kernel);
  kernel.set_key(KernelKey("fused", instruction, leaves));
  // Outputs of equal dimensions share a nest.
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < values.size(); ++i) {
    bool placed = false;
    for (auto& group : groups) {
      if (!several && SameDims(values[group[0]]->shape(), values[i]->shape())) {
        group.push_back(i);
        placed = true;
        break;
      }
    }
    if (!placed) groups.push_back({i});
  }
  std::vector<KernelShape> plans;
  std::vector<std::vector<const HloInstruction*>> rows;  // of each plan: those reduced before what is in vectors
  for (auto& group : groups) {
    std::vector<const HloInstruction*> members;
    for (size_t i : group) members.push_back(values[i]);
    plans.push_back(PlanKernel(members, fusion, codegen_target_));
    const auto is_short = [&](const HloInstruction* value) { return IsShort(*value, fusion); };
    if (std::all_of(members.begin(), members.end(), is_short)) plans.back().TakeShortRows();
    rows.push_back({});
    if (fusion && !several && !plans.back().flat && plans.back().inner >= 0) rows.back() = RowsBelowFunctions(members);
    if (!rows.back().empty()) plans.back().TakeVectors();
  }
  const int64_t cost = ExpressionCost(*instruction);
  const bool single = groups.size() == 1;
  const int64_t work = single ? plans[0].Work() : 1;
  const int64_t grain = single ? plans[0].Grain() : 1;
  if (single && plans[0].elements == 0) return absl::OkStatus();
  return kernel.Write(work, grain, cost, [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    auto bind = [&](FusedEmitter& fused) {
      for (auto& [leaf, argument] : leaves.memory) fused.BindMemory(leaf, kernel.argument(argument));
      for (auto& [leaf, constant] : leaves.aliases) fused.BindAlias(leaf, constant);
    };
    for (size_t g = 0; g < groups.size(); ++g) {
      if (plans[g].elements == 0) continue;
      auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
        if (several) {
          XC_ASSIGN_OR_RETURN(std::vector<codegen::Element> results, fused.GetReduce(root, position));
          for (size_t i = 0; i < results.size(); ++i) {
            fused.Store(root->shape().tuple_shape(i), kernel.argument(outputs[i]), position, results[i]);
          }
          return absl::OkStatus();
        }
        if (!rows[g].empty() && fused.lanes() > 1) {
          XC_RETURN_IF_ERROR(ReduceRows(fused, rows[g], plans[g], position, impl_->scope->jump, bind));
        }
        // All values are read before any is written: an output may lie over an operand.
        std::vector<std::vector<codegen::Element>> results;
        for (size_t i : groups[g]) {
          XC_ASSIGN_OR_RETURN(std::vector<codegen::Element> row, GetRow(fused, values[i], plans[g], position));
          results.push_back(std::move(row));
        }
        for (size_t k = 0; k < results.size(); ++k) {
          const size_t i = groups[g][k];
          StoreRow(fused, values[i]->shape(), kernel.argument(outputs[i]), position, results[k]);
        }
        return absl::OkStatus();
      };
      LoopNest nest(element, plans[g], bind, body);
      V first = single ? begin : b().getInt64(0);
      V last = single ? end : b().getInt64(plans[g].Work());
      XC_RETURN_IF_ERROR(nest.Write(first, last));
    }
    return absl::OkStatus();
  });
}

absl::Status IrEmitter::EmitConcatenate(const HloInstruction* instruction) {
  constexpr int64_t kParts = 32;  // in one kernel
  const bool fusion = instruction->opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? instruction->fused_root() : instruction;
  const int64_t d = root->dimensions()[0];
  const int64_t per_element =
      std::max<int64_t>(2, ExpressionCost(*instruction) / std::max<int64_t>(1, root->shape().ElementCount()));
  struct Part {
    const HloInstruction* value;
    KernelShape plan;
    int64_t offset;         // in dimension d
    int64_t first, rounds;  // its share of the kernel's iterations
    // The value is read as it lies: dimensions from this one on are one in the plan. -1: the plan has those of the
    // value.
    int64_t merged = -1;
  };
  const std::vector<int64_t> strides = ElementStrides(root->shape());
  int64_t offset = 0;
  for (int64_t next = 0; next < root->operand_count();) {
    XC_RETURN_IF_ERROR(CheckDeadline());
    std::vector<Part> parts;
    int64_t work = 0, elements = 0;
    for (; next < root->operand_count() && parts.size() < kParts; ++next) {
      const HloInstruction* value = root->operand(next);
      Part part{value, fusion ? PlanKernel({value}, true, codegen_target_) : PlanArray(value->shape(), codegen_target_),
                offset, work, 1};
      offset += value->shape().dim(d);
      if (part.plan.elements == 0) continue;
      if (part.plan.flat || !fusion) {
        part.merged = MergeRuns(&part.plan, d);
      } else if (d + 1 < root->shape().rank() && IsShort(*value, true)) {
        part.plan.TakeShortRows();
      }
      if (!part.plan.outer.empty()) part.rounds = part.plan.Work();
      work += part.rounds;
      elements += part.plan.elements;
      parts.push_back(std::move(part));
    }
    if (parts.empty()) continue;
    KernelWriter kernel(this, impl_.get(), target_);
    Leaves leaves = CollectLeaves(instruction, kernel);
    const std::vector<int> outputs = OutputArguments(instruction, kernel);
    kernel.set_key(KernelKey(absl::StrCat("concatenate", next).c_str(), instruction, leaves));
    XC_RETURN_IF_ERROR(kernel.Write(work, 1, elements * per_element, [&](V begin, V end) -> absl::Status {
      codegen::ElementEmitter element(b(), codegen_target_);
      auto bind = [&](FusedEmitter& fused) {
        for (auto& [leaf, argument] : leaves.memory) fused.BindMemory(leaf, kernel.argument(argument));
        for (auto& [leaf, constant] : leaves.aliases) fused.BindAlias(leaf, constant);
      };
      for (const Part& part : parts) {
        auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
          Index from = position, to = position;
          if (part.merged < 0) {
            to.dims[d] = fused.index().AddConst(position.dims[d], part.offset);
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
            to = place(root->shape(), strides, part.offset * strides[d]);
          }
          XC_ASSIGN_OR_RETURN(std::vector<codegen::Element> row, GetRow(fused, part.value, part.plan, from));
          StoreRow(fused, root->shape(), kernel.argument(outputs[0]), to, row);
          return absl::OkStatus();
        };
        LoopNest nest(element, part.plan, bind, body);
        auto within = [&](V at) {
          V shifted = b().CreateSub(at, b().getInt64(part.first));
          V low = b().CreateBinaryIntrinsic(llvm::Intrinsic::smax, shifted, b().getInt64(0));
          return b().CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, b().getInt64(part.rounds));
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
    }));
  }
  return absl::OkStatus();
}

absl::Status IrEmitter::EmitInterleave(const HloInstruction* instruction) {
  const bool fusion = instruction->opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? instruction->fused_root() : instruction;
  const std::vector<const HloInstruction*> parts(root->operands().begin(), root->operands().end());
  KernelWriter kernel(this, impl_.get(), target_);
  Leaves leaves = CollectLeaves(instruction, kernel);
  const std::vector<int> outputs = OutputArguments(instruction, kernel);
  kernel.set_key(KernelKey("interleave", instruction, leaves));
  KernelShape plan = fusion ? PlanKernel(parts, true, codegen_target_) : PlanArray(parts[0]->shape(), codegen_target_);
  plan.MakeNested();
  return kernel.Write(plan.Work(), plan.Grain(), ExpressionCost(*instruction), [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    auto bind = [&](FusedEmitter& fused) {
      for (auto& [leaf, argument] : leaves.memory) fused.BindMemory(leaf, kernel.argument(argument));
      for (auto& [leaf, constant] : leaves.aliases) fused.BindAlias(leaf, constant);
    };
    auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
      std::vector<codegen::Element> values;
      for (const HloInstruction* part : parts) {
        XC_ASSIGN_OR_RETURN(codegen::Element value, fused.Get(part, position));
        values.push_back(value);
      }
      fused.StoreAlternately(root->shape(), kernel.argument(outputs[0]), position, values);
      return absl::OkStatus();
    };
    LoopNest nest(element, plan, bind, body);
    return nest.Write(begin, end);
  });
}

absl::Status IrEmitter::EmitDynamicUpdateSlice(const HloInstruction* instruction, const HloInstruction* dus) {
  // The operand is in place already, or is copied first; then only the window is written.
  const HloInstruction* updated =
      dus == instruction ? dus->operand(0) : instruction->operand(dus->operand(0)->parameter_number());
  if (!(buffers_.Slice(instruction) == buffers_.Slice(updated))) {
    Copy(Pointer(instruction), Pointer(updated), instruction->shape().ByteSize());
  }
  const HloInstruction* update = dus->operand(1);
  KernelWriter kernel(this, impl_.get(), target_);
  Leaves leaves = CollectLeaves(instruction, kernel);
  const std::vector<int> outputs = OutputArguments(instruction, kernel);
  kernel.set_key(KernelKey("update", instruction, leaves));
  KernelShape plan =
      dus == instruction ? PlanArray(update->shape(), codegen_target_) : PlanKernel({update}, true, codegen_target_);
  if (plan.elements == 0) return absl::OkStatus();
  plan.MakeNested();
  const int64_t cost =
      plan.elements *
      std::max<int64_t>(2, ExpressionCost(*instruction) / std::max<int64_t>(1, instruction->shape().ElementCount()));
  return kernel.Write(plan.Work(), plan.Grain(), cost, [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    auto bind = [&](FusedEmitter& fused) {
      for (auto& [leaf, argument] : leaves.memory) fused.BindMemory(leaf, kernel.argument(argument));
      for (auto& [leaf, constant] : leaves.aliases) fused.BindAlias(leaf, constant);
    };
    // The window's place, once.
    FusedEmitter scalar(element, 1);
    bind(scalar);
    XC_ASSIGN_OR_RETURN(std::vector<Term> starts, scalar.Starts(dus, 2, update->shape().dims()));
    auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
      XC_ASSIGN_OR_RETURN(codegen::Element value, fused.Get(update, position));
      Index target;
      std::vector<Term> at = fused.Coordinates(position, update->shape());
      for (size_t d = 0; d < at.size(); ++d) target.dims.push_back(fused.index().Add(starts[d], at[d]));
      fused.Store(dus->shape(), kernel.argument(outputs[0]), target, value);
      return absl::OkStatus();
    };
    LoopNest nest(element, plan, bind, body);
    return nest.Write(begin, end);
  });
}

}  // namespace xc::cpu
