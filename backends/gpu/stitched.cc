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

// The rows of the result.
struct Rows {
  bool along = false;              // the root goes along them; else it has an element for each, like the other stages
  int64_t inner = -1, length = 1;  // the dimension along them, if there is one, and its size
  std::vector<int64_t> outer, sizes;  // the other dimensions of more than one element
  int64_t count = 1;
};

Rows RowsOf(const plan::Kernel& kernel, const Shape& shape) {
  Rows rows;
  rows.along = kernel.stages.empty() || shape.ElementCount() != kernel.stages[0]->shape().ElementCount();
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) > 1) rows.outer.push_back(d);
  }
  if (rows.along && !rows.outer.empty()) {
    rows.inner = rows.outer.back();
    rows.length = shape.dim(rows.inner);
    rows.outer.pop_back();
  }
  for (int64_t d : rows.outer) {
    rows.sizes.push_back(shape.dim(d));
    rows.count *= shape.dim(d);
  }
  return rows;
}

Team TeamOf(const plan::Kernel& kernel, const Rows& rows) {
  return kernel.stages.empty() ? Team{} : Team::ForRows(RowLength(*kernel.stages[0]), rows.count);
}

absl::Status EmitRow(const PlannedKernel& k, const Rows& rows, const Team& team, V number) {
  const HloInstruction* root = k.root();
  const Shape& shape = root->shape();
  const bool shared = team.size > 1;
  V member = shared ? k.f.b().CreateURem(number, k.f.Index(team.size)) : nullptr;
  if (shared) number = k.f.b().CreateUDiv(number, k.f.Index(team.size));
  TeamReducer reducer(k.f, team, member);
  std::vector<std::pair<const HloInstruction*, Element>> known;  // the row's values so far
  const auto bind = [&](FusedEmitter& fused) {
    k.Bind(fused);
    for (const auto& [stage, value] : known) fused.BindValue(stage, value);
  };
  std::vector<Term> row;
  for (const HloInstruction* stage : k.kernel.stages) {
    FusedEmitter fused(k.f.element(), 1);
    bind(fused);
    if (shared) fused.SetRowReducer(&reducer);
    if (row.empty()) {
      row = fused.index().Delinearize(fused.index().Uniform(number), rows.sizes,
                                      Layout::Descending(rows.sizes.size()).minor_to_major);
    }
    XC_ASSIGN_OR_RETURN(const Element value, fused.Get(stage, RowPosition(stage->shape(), row, fused.index())));
    known.push_back({stage, value});
  }
  // What is read before may lie where the row is written.
  reducer.Wait();
  if (!rows.along) {
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
  codegen::Loop loop(k.f.b(), shared ? member : k.f.Index(0), k.f.Index(rows.length), team.size, "along");
  FusedEmitter fused(k.f.element(), 1);
  bind(fused);
  Index position;
  position.dims.assign(shape.rank(), fused.index().Constant(0));
  for (size_t i = 0; i < rows.outer.size(); ++i) position.dims[rows.outer[i]] = row[i];
  if (rows.inner >= 0) position.dims[rows.inner] = fused.index().Uniform(loop.index());
  XC_ASSIGN_OR_RETURN(const Element value, fused.Get(root, position));
  fused.Store(shape, k.output(0), position, value);
  loop.End();
  return absl::OkStatus();
}

}  // namespace

Regions StitchedRegions(const PlannedKernel& k) {
  const Rows rows = RowsOf(k.kernel, k.root()->shape());
  const Team team = TeamOf(k.kernel, rows);
  return {
      {rows.count * team.size, [&k, rows, team](V number) { return EmitRow(k, rows, team, number); }, team.block()}};
}

KernelShape StitchedShape(const plan::Kernel& kernel, const HloInstruction& instruction) {
  const bool fusion = instruction.opcode() == HloOpcode::kFusion;
  const Rows rows = RowsOf(kernel, (fusion ? instruction.fused_root() : &instruction)->shape());
  const Team team = TeamOf(kernel, rows);
  return {team.block(), rows.count * team.size};
}

}  // namespace xc::gpu
