// Kernels: the form that suits an expression, what it reads and writes, and the key that makes equal ones one.
#include <algorithm>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/plan/column_form.h"
#include "backends/plan/expression.h"
#include "backends/plan/planner_impl.h"
#include "compiler/fuse/emittable.h"
#include "compiler/fuse/fuse.h"
#include "compiler/memory/in_place.h"
#include "hlo/analysis/fingerprint.h"
#include "hlo/base/choices.h"

namespace xc::plan {
namespace {

// Operands of a concatenation in one kernel: each is code of its own, which is worth a start where starts are dear.
int64_t ConcatenatedOperands(const TargetInfo& target) { return target.inlines_kernels ? 32 : 128; }

bool SamePlace(const BufferSlice& a, const BufferSlice& b) {
  return a.kind == b.kind && a.index == b.index && a.offset == b.offset;
}

// Fills a kernel with what the expression `instruction` reads and writes.
class KernelBuilder {
 public:
  KernelBuilder(Planner& planner, const HloInstruction* instruction, Form form)
      : planner_(planner), instruction_(instruction), fusion_(instruction->opcode() == HloOpcode::kFusion) {
    kernel_.form = form;
  }

  // The kernel's number of the memory.
  int AddArgument(const BufferSlice& slice, bool written) {
    for (size_t i = 0; i < kernel_.arguments.size(); ++i) {
      const Argument& argument = kernel_.arguments[i];
      if (argument.written == written && SamePlace(argument.slice, slice)) return static_cast<int>(i);
    }
    kernel_.arguments.push_back({slice, written, false});
    return static_cast<int>(kernel_.arguments.size()) - 1;
  }
  void AddInput(const HloInstruction* leaf, int argument) { kernel_.inputs.push_back({leaf, argument}); }
  void AddOutput(int argument) { kernel_.outputs.push_back(argument); }

  // All operands and results.
  void AddOperandsAndResults() {
    absl::flat_hash_set<const HloInstruction*> seen;
    for (int64_t i = 0; i < instruction_->operand_count(); ++i) {
      const HloInstruction* operand = instruction_->operand(i);
      const HloInstruction* leaf = fusion_ ? instruction_->fused_computation()->parameter(i) : operand;
      if (!seen.insert(leaf).second) continue;
      if (operand->IsBroadcastScalarConstant() && !operand->literal().elided()) {
        if (fusion_) kernel_.scalars.push_back({leaf, operand});
        continue;
      }
      const BufferSlice& slice = planner_.Slice(operand);
      const int argument = AddArgument(slice, false);
      if (IsResult(slice)) kernel_.arguments[argument].shared = true;
      AddInput(leaf, argument);
    }
    if (fusion_) {
      for (const HloInstruction* constant : InnerConstants(*instruction_->fused_computation())) {
        AddInput(constant, AddArgument(planner_.ConstantSlice(constant->shared_literal()), false));
      }
    }
    const int64_t leaves = instruction_->shape().LeafCount();
    for (int64_t i = 0; i < leaves; ++i) {
      const BufferSlice& slice = planner_.Slice(instruction_, i);
      const int argument = AddArgument(slice, true);
      if (IsOperand(slice)) kernel_.arguments[argument].shared = true;
      AddOutput(argument);
    }
  }

  // A nest over `values`; nothing if they have no elements.
  void AddNest(std::vector<const HloInstruction*> values, std::vector<int> outputs, const Access& access,
               std::vector<Size> offsets = {}, int64_t joined = 0) {
    const std::vector<int64_t>& dims = DimsOf(*values[0]);
    if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
    kernel_.nests.push_back({std::move(values), std::move(outputs), std::vector<Size>(dims.begin(), dims.end()), access,
                             std::move(offsets), joined});
  }
  Kernel& kernel() { return kernel_; }

  // Adds the step. `part` tells apart what is made of one expression in several kernels.
  void Finish(int64_t cost, int64_t part = 0) {
    kernel_.cost = cost;
    kernel_.code = planner_.CodeOf(Key(part));
    planner_.Add(instruction_, std::move(kernel_));
  }

 private:
  bool IsResult(const BufferSlice& slice) const {
    const int64_t leaves = instruction_->shape().LeafCount();
    for (int64_t i = 0; i < leaves; ++i) {
      if (planner_.Slice(instruction_, i) == slice) return true;
    }
    return false;
  }
  bool IsOperand(const BufferSlice& slice) const {
    return std::any_of(instruction_->operands().begin(), instruction_->operands().end(),
                       [&](const HloInstruction* o) { return o->shape().IsArray() && planner_.Slice(o) == slice; });
  }

  // All that decides the code of a fusion's kernel; "" for other ops, which are not looked for.
  std::string Key(int64_t part) const {
    if (!fusion_) return "";
    std::string key = absl::StrCat(static_cast<int>(kernel_.form), "/", part,
                                   FingerprintOf(*instruction_->fused_computation()).ToHex());
    for (const auto& [leaf, argument] : kernel_.inputs) absl::StrAppend(&key, ",", argument);
    for (const auto& [parameter, constant] : kernel_.scalars) {
      absl::StrAppend(&key, ";", parameter->parameter_number(), "=", constant->shape().ToString(),
                      FingerprintOf(constant->literal()).ToHex());
    }
    absl::StrAppend(&key, "|", kernel_.arguments.size());
    for (const Argument& argument : kernel_.arguments) {
      absl::StrAppend(&key, argument.written ? "w" : "r", argument.shared ? "a" : "");
    }
    return key;
  }

  Planner& planner_;
  const HloInstruction* const instruction_;
  const bool fusion_;
  Kernel kernel_;
};

bool IsFusion(const HloInstruction& i) { return i.opcode() == HloOpcode::kFusion; }

const HloInstruction* RootOf(const HloInstruction* i) { return IsFusion(*i) ? i->fused_root() : i; }

// Whether it is a fusion of several stages that share what a row has in common.
bool IsStitched(const HloInstruction& i) {
  if (!IsFusion(i)) return false;
  const auto* kind = i.FindAttr<AttrKind::kFusionKind>();
  return kind != nullptr && *kind == FusionKind::kCustom && IsFusion(*i.fused_root());
}

void PlanStitched(Planner& planner, const HloInstruction* fusion) {
  KernelBuilder builder(planner, fusion, Form::kStitched);
  builder.AddOperandsAndResults();
  const HloInstruction* root = fusion->fused_root();
  std::vector<const HloInstruction*>& stages = builder.kernel().stages;
  for (const HloInstruction* i : fusion->fused_computation()->PostOrder()) {
    if ((IsFusion(*i) || i->opcode() == HloOpcode::kReduce) && i != root) stages.push_back(i);
  }
  // A stage gives one value for each row. What goes along the rows is a part of what reads it.
  int64_t rows = std::numeric_limits<int64_t>::max();
  for (const HloInstruction* i : stages) rows = std::min(rows, i->shape().ElementCount());
  std::erase_if(stages, [&](const HloInstruction* i) { return i->shape().ElementCount() > rows; });
  builder.AddNest({root}, {0}, AccessOf({root->fused_root()}, true));
  if (builder.kernel().nests.empty()) return planner.Add(fusion, Alias{});
  builder.Finish(ExpressionCost(*fusion));
}

void PlanColumnReduce(Planner& planner, const HloInstruction* instruction, ColumnReduce columns) {
  KernelBuilder builder(planner, instruction, Form::kColumnReduce);
  builder.AddOperandsAndResults();
  const HloInstruction* root = RootOf(instruction);
  builder.kernel().columns = std::move(columns);
  builder.AddNest({root}, {0}, AccessOf({root}, IsFusion(*instruction)));
  builder.Finish(ExpressionCost(*instruction));
}

// A part of a concatenation.
struct Part {
  const HloInstruction* value;
  std::vector<int64_t> offsets;  // where it begins in each dimension
  int64_t joined;                // the last dimension in which it is joined with others
};

// Adds the parts of a concatenation that begins at `offsets`; parts that are concatenations of the same expression are
// taken apart, too.
void AddParts(const HloInstruction* concatenate, std::vector<int64_t> offsets, int64_t joined, bool fusion,
              std::vector<Part>* parts) {
  const int64_t d = concatenate->dimensions()[0];
  joined = std::max(joined, d);
  for (const HloInstruction* value : concatenate->operands()) {
    if (fusion && JoinsRuns(*value)) {
      AddParts(value, offsets, joined, fusion, parts);
    } else {
      parts->push_back({value, offsets, joined});
    }
    offsets[d] += value->shape().dim(d);
  }
}

void PlanConcatenate(Planner& planner, const HloInstruction* instruction) {
  const bool fusion = IsFusion(*instruction);
  const HloInstruction* root = RootOf(instruction);
  const int64_t per_element =
      std::max<int64_t>(2, ExpressionCost(*instruction) / std::max<int64_t>(1, root->shape().ElementCount()));
  std::vector<Part> parts;
  AddParts(root, std::vector<int64_t>(root->shape().rank()), 0, fusion, &parts);
  bool any = false;
  const int64_t most = ConcatenatedOperands(planner.target());
  for (size_t next = 0; next < parts.size();) {
    KernelBuilder builder(planner, instruction, Form::kConcatenate);
    builder.AddOperandsAndResults();
    const std::vector<Nest>& nests = builder.kernel().nests;
    int64_t elements = 0;
    for (; next < parts.size() && static_cast<int64_t>(nests.size()) < most; ++next) {
      const auto& [value, offsets, joined] = parts[next];
      builder.AddNest({value}, {0}, fusion ? AccessOf({value}, true) : AccessOfArray(value->shape()),
                      std::vector<Size>(offsets.begin(), offsets.end()), joined);
      elements += value->shape().ElementCount();
    }
    if (nests.empty()) continue;
    any = true;
    builder.Finish(elements * per_element, next);
  }
  if (!any) planner.Add(instruction, Alias{});
}

void PlanInterleave(Planner& planner, const HloInstruction* instruction) {
  const HloInstruction* root = RootOf(instruction);
  const std::vector<const HloInstruction*> parts(root->operands().begin(), root->operands().end());
  KernelBuilder builder(planner, instruction, Form::kInterleave);
  builder.AddOperandsAndResults();
  builder.AddNest(parts, {0}, IsFusion(*instruction) ? AccessOf(parts, true) : AccessOfArray(parts[0]->shape()));
  builder.Finish(ExpressionCost(*instruction));
}

// One nest for all results of equal dimensions.
void PlanNests(Planner& planner, const HloInstruction* instruction) {
  const bool fusion = IsFusion(*instruction);
  const HloInstruction* root = RootOf(instruction);
  KernelBuilder builder(planner, instruction, Form::kLoop);
  builder.AddOperandsAndResults();
  Kernel& kernel = builder.kernel();
  if (root->opcode() != HloOpcode::kTuple) {
    // One value, with one result or several.
    std::vector<int> outputs;
    for (size_t i = 0; i < kernel.outputs.size(); ++i) outputs.push_back(static_cast<int>(i));
    builder.AddNest({root}, outputs, AccessOf({root}, fusion));
  } else {
    std::vector<std::vector<int>> groups;
    for (int i = 0; i < root->operand_count(); ++i) {
      auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<int>& g) {
        return ChooseSafe(SameDims(root->operand(g[0])->shape(), root->operand(i)->shape()));
      });
      if (group == groups.end()) group = groups.insert(groups.end(), std::vector<int>());
      group->push_back(i);
    }
    for (const std::vector<int>& group : groups) {
      std::vector<const HloInstruction*> values;
      for (int i : group) values.push_back(root->operand(i));
      builder.AddNest(values, group, AccessOf(values, fusion));
    }
  }
  if (kernel.nests.empty()) return planner.Add(instruction, Alias{});
  for (const Nest& nest : kernel.nests) {
    if (nest.access.row_reduce) kernel.form = Form::kRowReduce;
    if (nest.access.contiguous >= 0 && kernel.form == Form::kLoop) kernel.form = Form::kTranspose;
  }
  builder.Finish(ExpressionCost(*instruction));
}

Decision CanEmitScatter(const HloInstruction& scatter) {
  if (Decision combiner = CanApply(*scatter.to_apply()); !combiner) return combiner;
  absl::flat_hash_set<const HloInstruction*> distinct;
  for (const HloInstruction* operand : scatter.operands()) {
    if (!distinct.insert(operand).second) {
      return Decision::No(absl::StrCat("it writes some of its operands while it reads others, and ", operand->name(),
                                       " is among them twice"));
    }
  }
  const ElementType type = scatter.operand((scatter.operand_count() - 1) / 2)->type();
  return IsIntegral(type) ? Decision::Yes()
                          : Decision::No(absl::StrCat("its indices are of type ", ElementTypeName(type)));
}

// Whether a function of two values of `type` gives a value of `result`.
Decision Combines(const HloComputation& computation, ElementType type, ElementType result) {
  if (computation.parameter_count() != 2 || computation.parameter(0)->type() != type ||
      computation.parameter(1)->type() != type || computation.root()->type() != result) {
    return Decision::No(absl::StrCat(computation.name(), " is no function of two values of the array's type"));
  }
  return CanApply(computation);
}

}  // namespace

void PlanKernel(Planner& planner, const HloInstruction* instruction) {
  if (IsStitched(*instruction)) return PlanStitched(planner, instruction);
  if (std::optional<ColumnReduce> columns = FindColumnReduce(*instruction, planner.target())) {
    return PlanColumnReduce(planner, instruction, *std::move(columns));
  }
  const HloInstruction* root = RootOf(instruction);
  if (JoinsRuns(*root)) return PlanConcatenate(planner, instruction);
  if (Interleaves(*root)) return PlanInterleave(planner, instruction);
  PlanNests(planner, instruction);
}

bool UpdatesWindow(const Planner& planner, const HloInstruction* fusion) {
  const HloInstruction* root = fusion->fused_root();
  const HloInstruction* updated = root->operand(0);
  if (updated->opcode() != HloOpcode::kParameter) return false;
  const BufferSlice& result = planner.Slice(fusion);
  if (planner.Slice(fusion->operand(updated->parameter_number())) == result) {
    return InPlaceUpdateParameter(fusion->fused_computation()) == updated;
  }
  // Copied first: worth it where most of the array stays as it is. Nothing that is read may lie where the copy goes.
  if (ChooseAny(2 * root->operand(1)->shape().ElementCount() > root->shape().ElementCount())) return false;
  return std::none_of(fusion->operands().begin(), fusion->operands().end(), [&](const HloInstruction* operand) {
    return operand->shape().IsArray() && planner.Slice(operand) == result;
  });
}

void PlanUpdate(Planner& planner, const HloInstruction* instruction, const HloInstruction* dus) {
  const bool fusion = dus != instruction;
  const HloInstruction* updated = fusion ? instruction->operand(dus->operand(0)->parameter_number()) : dus->operand(0);
  const bool in_place = planner.Slice(instruction) == planner.Slice(updated);
  planner.AddCopy(instruction, planner.Slice(instruction), planner.Slice(updated));
  const HloInstruction* update = dus->operand(1);
  KernelBuilder builder(planner, instruction, Form::kUpdate);
  builder.AddOperandsAndResults();
  builder.AddNest({update}, {0}, fusion ? AccessOf({update}, true) : AccessOfArray(update->shape()));
  if (builder.kernel().nests.empty()) {
    if (in_place) planner.Add(instruction, Alias{});
    return;
  }
  builder.Finish(
      update->shape().ElementCount() *
      std::max<int64_t>(2, ExpressionCost(*instruction) / std::max<int64_t>(1, instruction->shape().ElementCount())));
}

Decision PlanScatter(Planner& planner, const HloInstruction* scatter) {
  if (Decision can = CanEmitScatter(*scatter); !can) return can;
  const int64_t n = (scatter->operand_count() - 1) / 2;
  // The operands are in place already, or are copied first.
  bool any = false;
  KernelBuilder builder(planner, scatter, Form::kScatter);
  for (int64_t i = 0; i < n; ++i) {
    any |= !(planner.Slice(scatter, i) == planner.Slice(scatter->operand(i)));
    planner.AddCopy(scatter, planner.Slice(scatter, i), planner.Slice(scatter->operand(i)));
    builder.AddOutput(builder.AddArgument(planner.Slice(scatter, i), true));
  }
  for (int64_t i = n; i <= 2 * n; ++i) {
    builder.AddInput(scatter->operand(i), builder.AddArgument(planner.Slice(scatter->operand(i)), false));
  }
  // What was there before is read where it is written.
  for (int64_t i = 0; i < n; ++i) builder.AddInput(scatter->operand(i), builder.kernel().outputs[i]);
  const int64_t cost = scatter->operand(n + 1)->shape().ElementCount() * 4;
  if (cost == 0 || scatter->operand(0)->shape().IsZeroSized()) {
    if (!any) planner.Add(scatter, Alias{});
  } else {
    builder.Finish(cost);
  }
  return Decision::Yes();
}

Decision PlanSelectAndScatter(Planner& planner, const HloInstruction* i) {
  const HloInstruction *in = i->operand(0), *source = i->operand(1), *init = i->operand(2);
  const Shape& shape = in->shape();
  const ElementType type = shape.type();
  if (source->type() != type || i->type() != type || init->type() != type) {
    return Decision::No("its arrays are of several types");
  }
  const int64_t rank = shape.rank();
  if (static_cast<int64_t>(i->window().dims.size()) != rank || source->shape().rank() != rank) {
    return Decision::No("its window has other dimensions than its arrays");
  }
  if (Decision select = Combines(*i->called(0), type, ElementType::kPred); !select) return select;
  if (Decision scatter = Combines(*i->called(1), type, type); !scatter) return scatter;
  if (shape.IsZeroSized()) {
    planner.Add(i, Alias{});
    return Decision::Yes();
  }
  KernelBuilder builder(planner, i, Form::kSelectAndScatter);
  for (const HloInstruction* operand : {in, source, init}) {
    builder.AddInput(operand, builder.AddArgument(planner.Slice(operand), false));
  }
  builder.AddOutput(builder.AddArgument(planner.Slice(i), true));
  builder.AddInput(i, builder.kernel().outputs[0]);
  int64_t window_size = 1;
  for (const WindowDim& w : i->window().dims) window_size *= w.size;
  builder.Finish(shape.ElementCount() + source->shape().ElementCount() * (window_size * 6 + 6));
  return Decision::Yes();
}

}  // namespace xc::plan
