// Kernels of fusions and of single ops that the fused emitter knows: loop nests over the output, in vectors along its
// minor dimension, cut along the outer dimensions for threads.
#include <algorithm>
#include <functional>

#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "backends/cpu/loop_nest.h"
#include "backends/cpu/nest_body.h"
#include "backends/cpu/nest_form.h"
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

}  // namespace

absl::Status IrEmitter::EmitLoops(const HloInstruction* instruction, const plan::Kernel& kernel) {
  std::vector<NestForm> forms;
  for (const plan::Nest& nest : kernel.nests) forms.push_back(FormOf(*instruction, nest, codegen_target_));
  KernelWriter writer(this, impl_.get(), target_, kernel);
  // Several nests are not divided among threads.
  const bool single = forms.size() == 1;
  const int64_t work = single ? forms[0].shape.Work() : 1;
  const int64_t grain = single ? forms[0].shape.Grain() : 1;
  return writer.Write(work, grain, [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    for (size_t n = 0; n < forms.size(); ++n) {
      std::vector<V> outputs;
      for (int output : kernel.nests[n].outputs) outputs.push_back(writer.output(output));
      NestBody body(
          element, kernel.nests[n], forms[n], std::move(outputs), [&](FusedEmitter& fused) { writer.Bind(fused); },
          impl_->scope->jump);
      V first = single ? begin : b().getInt64(0);
      V last = single ? end : b().getInt64(forms[n].shape.Work());
      XC_RETURN_IF_ERROR(body.Write(first, last));
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
