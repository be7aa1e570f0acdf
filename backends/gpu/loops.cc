// Kernels in which a thread, or a team of threads where rows are reduced, computes what stands at one position.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "backends/codegen/scatter.h"
#include "backends/gpu/emitter_impl.h"
#include "backends/gpu/team_reduce.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using codegen::Term;
using V = llvm::Value*;

std::vector<int64_t> Dims(const plan::Nest& nest) {
  std::vector<int64_t> dims;
  for (const plan::Size& d : nest.dims) dims.push_back(d.constant());
  return dims;
}

int64_t Count(const plan::Nest& nest) {
  int64_t count = 1;
  for (const plan::Size& d : nest.dims) count *= d.constant();
  return count;
}

// A region for each nest, in which `body` is called with an emitter and the position.
Regions ForEachPosition(const PlannedKernel& k,
                        const std::function<absl::Status(FusedEmitter&, const plan::Nest&, const Index&)>& body) {
  Regions regions;
  for (const plan::Nest& nest : k.kernel.nests) {
    regions.push_back({Count(nest), [&k, &nest, body](V number) {
                         FusedEmitter fused(k.f.element(), 1);
                         k.Bind(fused);
                         return body(fused, nest, PositionOf(Dims(nest), number));
                       }});
  }
  return regions;
}

// Whether code for the values is short enough to stand in a kernel several times.
bool IsShort(const std::vector<const HloInstruction*>& values, bool fused) {
  constexpr size_t kShort = 32;
  std::vector<const HloInstruction*> work = values;
  absl::flat_hash_set<const HloInstruction*> seen(values.begin(), values.end());
  while (!work.empty()) {
    const HloInstruction* i = work.back();
    work.pop_back();
    if (i->opcode() == HloOpcode::kReduce || i->opcode() == HloOpcode::kReduceWindow || seen.size() > kShort) {
      return false;
    }
    if (i->opcode() == HloOpcode::kMap || i->opcode() == HloOpcode::kCall || !i->shape().IsArray() ||
        IsComplex(i->type())) {
      return false;
    }
    if (i->opcode() == HloOpcode::kFusion && seen.insert(i->fused_root()).second) work.push_back(i->fused_root());
    for (const HloInstruction* operand : i->operands()) {
      if (fused && seen.insert(operand).second) work.push_back(operand);
    }
  }
  return true;
}

// Neighbouring elements that a thread computes, so that it reads and writes vectors: as many as fit into one of the
// widest array's, where there are more than enough for all threads of a device.
int64_t ElementsPerThread(const PlannedKernel& k, const plan::Nest& nest) {
  constexpr int64_t kMany = 1 << 18;
  const int64_t count = Count(nest);
  if (!nest.access.in_order || count < kMany || !IsAligned(k.kernel) || !IsShort(nest.values, k.fusion())) return 1;
  int64_t widest = 1;
  for (const HloInstruction* value : nest.values) widest = std::max<int64_t>(widest, StorageBytes(value->type()));
  for (const auto& [leaf, argument] : k.kernel.inputs) {
    if (!leaf->shape().IsScalar()) widest = std::max<int64_t>(widest, StorageBytes(leaf->type()));
  }
  int64_t elements = std::max<int64_t>(1, kVectorBytes / widest);
  while (count % elements != 0) elements /= 2;
  return elements;
}

// The threads that share a position of the nest: a warp or a block where rows are long.
Team TeamOf(const plan::Kernel& kernel, const HloInstruction& instruction, const plan::Nest& nest) {
  int64_t length = 0;
  if (kernel.form == plan::Form::kRowReduce && !nest.values[0]->shape().IsTuple()) {
    for (const HloInstruction* value : nest.values) {
      // The operands of an op that stands alone are in memory.
      if (instruction.opcode() == HloOpcode::kFusion || IsRowReduce(*value)) {
        length = std::max(length, RowLength(*value));
      }
    }
  }
  return Team::ForRows(length, Count(nest));
}

// What one thread of the team writes to compute `each` positions, from number `number` of the team on.
absl::Status EmitPositions(const PlannedKernel& k, const plan::Nest& nest, const Team& team, int64_t each, V number) {
  auto& b = k.f.b();
  FusedEmitter fused(k.f.element(), 1);
  k.Bind(fused);
  V member = team.size > 1 ? b.CreateURem(number, k.f.Index(team.size)) : nullptr;
  TeamReducer reducer(k.f, team, member);
  if (team.size > 1) {
    fused.SetRowReducer(&reducer);
    number = b.CreateUDiv(number, k.f.Index(team.size));
  }
  std::vector<Index> positions;
  for (int64_t i = 0; i < each; ++i) {
    V at = each == 1 ? number : b.CreateAdd(b.CreateMul(number, k.f.Index(each)), k.f.Index(i), "", true, true);
    positions.push_back(PositionOf(Dims(nest), at));
  }
  if (const HloInstruction* reduce = nest.values[0]; reduce->shape().IsTuple()) {
    XC_ASSIGN_OR_RETURN(const std::vector<Element> results, fused.GetReduce(reduce, positions[0]));
    for (size_t i = 0; i < results.size(); ++i) {
      fused.Store(reduce->shape().tuple_shape(i), k.output(nest.outputs[i]), positions[0], results[i]);
    }
    return absl::OkStatus();
  }
  // All values are read before any is written: an output may lie over an operand.
  std::vector<std::vector<Element>> results;
  for (const HloInstruction* value : nest.values) {
    results.emplace_back();
    for (const Index& position : positions) {
      XC_ASSIGN_OR_RETURN(const Element element, fused.Get(value, position));
      results.back().push_back(element);
    }
  }
  // What the other threads have read may lie where this one writes.
  reducer.Wait();
  const auto store = [&] {
    for (size_t v = 0; v < results.size(); ++v) {
      for (size_t i = 0; i < positions.size(); ++i) {
        fused.Store(nest.values[v]->shape(), k.output(nest.outputs[v]), positions[i], results[v][i]);
      }
    }
    return absl::OkStatus();
  };
  return team.size > 1 ? k.f.If(b.CreateICmpEQ(member, k.f.Index(0)), store) : store();
}

}  // namespace

Regions LoopRegions(const PlannedKernel& k) {
  Regions regions;
  for (const plan::Nest& nest : k.kernel.nests) {
    const Team team = TeamOf(k.kernel, *k.instruction, nest);
    const int64_t each = team.size > 1 ? 1 : ElementsPerThread(k, nest);
    regions.push_back({Count(nest) / each * team.size,
                       [&k, &nest, team, each](V number) { return EmitPositions(k, nest, team, each, number); },
                       team.block()});
  }
  return regions;
}

KernelShape LoopShape(const plan::Kernel& kernel, const HloInstruction& instruction) {
  KernelShape shape{0, 0};
  for (const plan::Nest& nest : kernel.nests) {
    const Team team = TeamOf(kernel, instruction, nest);
    shape.block = std::max(shape.block, team.block());
    shape.threads += Count(nest) * team.size;
  }
  return shape;
}

absl::Status EmitElement(const PlannedKernel& k, V number) {
  return EmitPositions(k, k.kernel.nests[0], Team{}, 1, number);
}

Regions ConcatenateRegions(const PlannedKernel& k) {
  return ForEachPosition(k, [&k](FusedEmitter& fused, const plan::Nest& nest, const Index& position) -> absl::Status {
    const HloInstruction* value = nest.values[0];
    XC_ASSIGN_OR_RETURN(const Element element, fused.Get(value, position));
    Index to{fused.Coordinates(position, value->shape())};
    for (size_t d = 0; d < to.dims.size(); ++d) {
      to.dims[d] = fused.index().AddConst(to.dims[d], nest.offsets[d].constant());
    }
    fused.Store(k.root()->shape(), k.output(0), to, element);
    return absl::OkStatus();
  });
}

Regions InterleaveRegions(const PlannedKernel& k) {
  return ForEachPosition(k, [&k](FusedEmitter& fused, const plan::Nest& nest, const Index& position) -> absl::Status {
    std::vector<Element> values;
    for (const HloInstruction* part : nest.values) {
      XC_ASSIGN_OR_RETURN(const Element value, fused.Get(part, position));
      values.push_back(value);
    }
    const Index at{fused.Coordinates(position, nest.values[0]->shape())};
    fused.StoreAlternately(k.root()->shape(), k.output(0), at, k.root()->dimensions()[0], values);
    return absl::OkStatus();
  });
}

Regions UpdateRegions(const PlannedKernel& k) {
  return ForEachPosition(k, [&k](FusedEmitter& fused, const plan::Nest& nest, const Index& position) -> absl::Status {
    const HloInstruction* dus = k.root();
    const HloInstruction* update = nest.values[0];
    XC_ASSIGN_OR_RETURN(const std::vector<Term> starts, fused.Starts(dus, 2, update->shape().dims()));
    XC_ASSIGN_OR_RETURN(const Element value, fused.Get(update, position));
    const std::vector<Term> at = fused.Coordinates(position, update->shape());
    Index to;
    for (size_t d = 0; d < at.size(); ++d) to.dims.push_back(fused.index().Add(starts[d], at[d]));
    fused.Store(dus->shape(), k.output(0), to, value);
    return absl::OkStatus();
  });
}

Regions ScatterRegions(const PlannedKernel& k) {
  return {{codegen::ScatterParts(*k.instruction), [&k](V part) {
             std::vector<V> outputs;
             for (size_t i = 0; i < k.kernel.outputs.size(); ++i) outputs.push_back(k.output(static_cast<int>(i)));
             const auto bind = [&](FusedEmitter& fused) { k.Bind(fused); };
             return codegen::EmitScatter(k.f.element(), k.instruction, bind, outputs, /*lanes=*/1, part);
           }}};
}

Regions SelectAndScatterRegions(const PlannedKernel& k) {
  return {{codegen::SelectAndScatterParts(*k.instruction), [&k](V part) {
             const auto bind = [&](FusedEmitter& fused) { k.Bind(fused); };
             V end = k.f.b().CreateAdd(part, k.f.Index(1));
             return codegen::EmitSelectAndScatter(k.f.element(), k.instruction, bind, k.output(0), /*lanes=*/1, part,
                                                  end);
           }}};
}

}  // namespace xc::gpu
