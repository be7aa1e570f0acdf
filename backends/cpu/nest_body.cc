// The bodies of loop nests as LLVM code: in vectors, in tiles, from windows that rows share, behind reduced rows.
#include "backends/cpu/nest_body.h"

#include "backends/cpu/loop_nest.h"
#include "backends/cpu/row_groups.h"
#include "hlo/base/status.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::cpu {
namespace {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using codegen::Term;
using V = llvm::Value*;

// How many rows SharedWindows computes.
constexpr int64_t kWindowsAtOnce = 4;

// The positions of the elements that a nest's body computes where it stands at `position`.
std::vector<Index> RowPositions(FusedEmitter& fused, const KernelShape& shape, const Index& position) {
  std::vector<Index> positions(shape.row, position);
  for (int64_t i = 0; i < shape.row && shape.row > 1; ++i) positions[i].dims.back() = fused.index().Constant(i);
  return positions;
}

}  // namespace

absl::StatusOr<std::vector<Element>> GetRow(FusedEmitter& fused, const HloInstruction* value, const KernelShape& shape,
                                            const Index& position) {
  std::vector<Element> row;
  for (const Index& at : RowPositions(fused, shape, position)) {
    XC_ASSIGN_OR_RETURN(Element element, fused.Get(value, at));
    row.push_back(element);
  }
  return row;
}

void StoreRow(FusedEmitter& fused, const Shape& shape, V base, const Index& position, absl::Span<const Element> row) {
  if (row.size() == 1) return fused.Store(shape, base, position, row[0]);
  fused.StoreAlternately(shape, base, position, shape.rank() - 1, row);
}

absl::StatusOr<std::vector<Element>> ReadTile(FusedEmitter& fused, const HloInstruction* value,
                                              const KernelShape& shape, const Index& position, int columns) {
  std::vector<Element> tile;
  Index at = position;
  for (int c = 0; c < columns; ++c) {
    at.dims[shape.inner] = fused.index().AddConst(position.dims[shape.inner], c);
    XC_ASSIGN_OR_RETURN(Element column, fused.Get(value, at));
    tile.push_back(column);
  }
  return tile;
}

void NestBody::BindInputs(FusedEmitter& fused) const {
  bind_arrays_(fused);
  divisors_.Bind(fused);
}

absl::Status NestBody::Write(V first, V last) {
  XC_RETURN_IF_ERROR(divisors_.Write(element_, form_.shape, begin_, bind_arrays_));
  const bool several_results = nest_.values[0]->shape().IsTuple();
  LoopNest loops(
      element_, form_.shape, [this](FusedEmitter& fused) { BindInputs(fused); },
      [&](FusedEmitter& fused, const Index& position) {
        return several_results ? Results(fused, position) : Vector(fused, position);
      });
  if (form_.shape.tile > 0) {
    loops.set_tile([&](FusedEmitter& fused, const Index& position, int rows, int columns) {
      return form_.transposed.others ? TileByRows(fused, position, rows, columns)
                                     : Tile(fused, position, rows, columns);
    });
  }
  if (form_.window != nullptr) {
    loops.set_rows(kWindowsAtOnce,
                   [&](FusedEmitter& fused, const Index& position) { return SharedWindows(fused, position); });
  }
  return loops.Write(first, last);
}

absl::Status NestBody::Vector(FusedEmitter& fused, const Index& position) {
  if (!form_.rows.empty() && fused.lanes() > 1) {
    const auto bind = [this](FusedEmitter& other) { BindInputs(other); };
    XC_RETURN_IF_ERROR(form_.together > 0 ? ReduceRowsTogether(fused, form_.rows, form_.shape, position, bind)
                                          : ReduceRows(fused, position));
  }
  // All values are read before any is written: an output may lie over an operand.
  std::vector<std::vector<Element>> results;
  for (const HloInstruction* value : nest_.values) {
    XC_ASSIGN_OR_RETURN(std::vector<Element> row, GetRow(fused, value, form_.shape, position));
    results.push_back(std::move(row));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    StoreRow(fused, nest_.values[i]->shape(), outputs_[i], position, results[i]);
  }
  return absl::OkStatus();
}

absl::Status NestBody::Results(FusedEmitter& fused, const Index& position) {
  const HloInstruction* reduce = nest_.values[0];
  XC_ASSIGN_OR_RETURN(const std::vector<Element> results, fused.GetReduce(reduce, position));
  for (size_t i = 0; i < results.size(); ++i) {
    fused.Store(reduce->shape().tuple_shape(i), outputs_[i], position, results[i]);
  }
  return absl::OkStatus();
}

absl::Status NestBody::Tile(FusedEmitter& fused, const Index& position, int rows, int columns) {
  const HloInstruction* value = nest_.values[0];
  const KernelShape& shape = form_.shape;
  XC_ASSIGN_OR_RETURN(const std::vector<Element> tile, ReadTile(fused, value, shape, position, columns));
  fused.StoreTile(value->shape(), outputs_[0], position, shape.contiguous, shape.inner, tile, rows);
  return absl::OkStatus();
}

absl::Status NestBody::TileByRows(FusedEmitter& fused, const Index& position, int rows, int columns) {
  const HloInstruction* value = nest_.values[0];
  const KernelShape& shape = form_.shape;
  const std::vector<const HloInstruction*>& transposes = form_.transposed.transposes;
  // What is transposed is read whole and transposed in registers, the rest row by row.
  std::vector<std::vector<Element>> tiles;
  for (const HloInstruction* transpose : transposes) {
    XC_ASSIGN_OR_RETURN(const std::vector<Element> tile, ReadTile(fused, transpose, shape, position, columns));
    tiles.push_back(fused.TransposeTile(tile));
  }
  for (int r = 0; r < rows; ++r) {
    FusedEmitter row(fused.element(), fused.lanes());
    if (columns < fused.lanes()) {
      row.SetTail(codegen::FirstLanes(fused.element().builder(), fused.lanes(), columns));
    }
    BindInputs(row);
    for (size_t t = 0; t < transposes.size(); ++t) row.BindValue(transposes[t], tiles[t][r]);
    Index at = position;
    at.dims[shape.contiguous] = row.index().AddConst(row.index().Uniform(position.dims[shape.contiguous].base), r);
    at.dims[shape.inner] = Term{position.dims[shape.inner].base, 1, nullptr, true};
    XC_ASSIGN_OR_RETURN(const Element result, row.Get(value, at));
    row.Store(value->shape(), outputs_[0], at, result);
  }
  return absl::OkStatus();
}

absl::Status NestBody::SharedWindows(FusedEmitter& fused, const Index& position) {
  const HloInstruction* value = nest_.values[0];
  const int64_t d = form_.shape.outer.back();
  XC_ASSIGN_OR_RETURN(const std::vector<Element> sums, fused.GetWindows(form_.window, position, d, kWindowsAtOnce));
  std::vector<std::pair<Index, Element>> results;
  for (int64_t i = 0; i < kWindowsAtOnce; ++i) {
    Index at = position;
    at.dims[d] = fused.index().AddConst(position.dims[d], i);
    fused.BindValue(form_.window, sums[i]);
    XC_ASSIGN_OR_RETURN(const Element result, fused.Get(value, at));
    results.push_back({std::move(at), result});
  }
  for (const auto& [at, result] : results) fused.Store(value->shape(), outputs_[0], at, result);
  return absl::OkStatus();
}

absl::Status NestBody::ReduceRows(FusedEmitter& fused, const Index& position) {
  const KernelShape& shape = form_.shape;
  codegen::ElementEmitter& element = fused.element();
  llvm::IRBuilderBase& b = element.builder();
  llvm::IRBuilder<> head(begin_);
  const int lanes = fused.lanes();
  std::vector<std::pair<llvm::AllocaInst*, llvm::AllocaInst*>> places;  // real and imaginary parts
  for (const HloInstruction* row : form_.rows) {
    auto place = [&] {
      llvm::AllocaInst* p = head.CreateAlloca(llvm::ArrayType::get(element.RegisterType(row->type()), lanes));
      p->setAlignment(llvm::Align(64));
      return p;
    };
    places.push_back({place(), IsComplex(row->type()) ? place() : nullptr});
  }
  V first = position.dims[shape.inner].base;
  V left = b.CreateSub(b.getInt64(shape.inner_size), first);
  codegen::Loop loop(b, b.getInt64(0), b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b.getInt64(lanes)), 1,
                     "lane");
  FusedEmitter scalar(element, 1);
  BindInputs(scalar);
  Index at = position;
  at.dims[shape.inner] = scalar.index().Uniform(b.CreateAdd(first, loop.index()));
  for (size_t r = 0; r < form_.rows.size(); ++r) {
    XC_ASSIGN_OR_RETURN(Element value, scalar.Get(form_.rows[r], at));
    auto put = [&](V part, V place) { b.CreateStore(part, b.CreateGEP(part->getType(), place, loop.index())); };
    put(value.re, places[r].first);
    if (value.im != nullptr) put(value.im, places[r].second);
  }
  loop.End();
  for (size_t r = 0; r < form_.rows.size(); ++r) {
    llvm::Type* type = element.RegisterType(form_.rows[r]->type(), lanes);
    auto get = [&](V place) -> V {
      return place == nullptr ? nullptr : b.CreateAlignedLoad(type, place, llvm::Align(64));
    };
    fused.BindValue(form_.rows[r], {get(places[r].first), get(places[r].second)});
  }
  return absl::OkStatus();
}

}  // namespace xc::cpu
