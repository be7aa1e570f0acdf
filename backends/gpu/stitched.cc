// Kernels of stitched fusions: a thread for each row, or a team of them where rows are long, which first computes what
// the row has in common.
#include "backends/gpu/emitter_impl.h"
#include "backends/gpu/team_reduce.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using codegen::RowPosition;
using codegen::Term;
using V = llvm::Value*;

}  // namespace

absl::Status EmitStitched(const PlannedKernel& k) {
  const HloInstruction* root = k.root();
  const Shape& shape = root->shape();
  const std::vector<const HloInstruction*>& stages = k.kernel.stages;
  // The root has an element for each row, like the other stages, or goes along the rows.
  const bool along = stages.empty() || shape.ElementCount() != stages[0]->shape().ElementCount();
  std::vector<int64_t> outer, sizes;  // dimensions of more than one element, without that along the rows
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) > 1) outer.push_back(d);
  }
  int64_t inner = -1, length = 1;
  if (along && !outer.empty()) {
    inner = outer.back();
    length = shape.dim(inner);
    outer.pop_back();
  }
  int64_t rows = 1;
  for (int64_t d : outer) {
    sizes.push_back(shape.dim(d));
    rows *= shape.dim(d);
  }
  const Team team = stages.empty() ? Team{} : Team::ForRows(RowLength(*stages[0]), rows);
  const bool shared = team.size > 1;
  return k.f.ForEach(rows * team.size, [&](V number) -> absl::Status {
    V member = shared ? k.f.b().CreateURem(number, k.f.Index(team.size)) : nullptr;
    if (shared) number = k.f.b().CreateUDiv(number, k.f.Index(team.size));
    TeamReducer reducer(k.f, team, member);
    std::vector<std::pair<const HloInstruction*, Element>> known;  // the row's values so far
    const auto bind = [&](FusedEmitter& fused) {
      k.Bind(fused);
      for (const auto& [stage, value] : known) fused.BindValue(stage, value);
    };
    std::vector<Term> row;
    for (const HloInstruction* stage : stages) {
      FusedEmitter fused(k.f.element(), 1);
      bind(fused);
      if (shared) fused.SetRowReducer(&reducer);
      if (row.empty()) {
        row = fused.index().Delinearize(fused.index().Uniform(number), sizes,
                                        Layout::Descending(sizes.size()).minor_to_major);
      }
      XC_ASSIGN_OR_RETURN(const Element value, fused.Get(stage, RowPosition(stage->shape(), row, fused.index())));
      known.push_back({stage, value});
    }
    // What is read before may lie where the row is written.
    reducer.Wait();
    if (!along) {
      FusedEmitter fused(k.f.element(), 1);
      bind(fused);
      if (shared) fused.SetRowReducer(&reducer);
      const Index position = RowPosition(shape, row, fused.index());
      XC_ASSIGN_OR_RETURN(const Element value, fused.Get(root, position));
      const auto store = [&] {
        fused.Store(shape, k.output(0), position, value);
        return absl::OkStatus();
      };
      return shared ? k.f.If(k.f.b().CreateICmpEQ(member, k.f.Index(0)), store) : store();
    }
    codegen::Loop loop(k.f.b(), shared ? member : k.f.Index(0), k.f.Index(length), team.size, "along");
    FusedEmitter fused(k.f.element(), 1);
    bind(fused);
    Index position;
    position.dims.assign(shape.rank(), fused.index().Constant(0));
    for (size_t i = 0; i < outer.size(); ++i) position.dims[outer[i]] = row[i];
    if (inner >= 0) position.dims[inner] = fused.index().Uniform(loop.index());
    XC_ASSIGN_OR_RETURN(const Element value, fused.Get(root, position));
    fused.Store(shape, k.output(0), position, value);
    loop.End();
    return absl::OkStatus();
  });
}

}  // namespace xc::gpu
