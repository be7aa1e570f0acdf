// The loops of a kernel: over the outer dimensions, then along the inner one in vectors with a masked or scalar rest.
#ifndef XC_BACKENDS_CPU_LOOP_NEST_H_
#define XC_BACKENDS_CPU_LOOP_NEST_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/kernel_analysis.h"

namespace xc::cpu {

// Writes loops over a shape. `body` gets an emitter for some lanes, prepared by `bind`, and the position.
class LoopNest {
 public:
  using FusedEmitter = codegen::FusedEmitter;
  using Index = codegen::Index;
  using Term = codegen::Term;
  using V = llvm::Value*;
  using Body = std::function<absl::Status(FusedEmitter&, const Index&)>;
  LoopNest(codegen::ElementEmitter& e, const KernelShape& plan, std::function<void(FusedEmitter&)> bind, Body body)
      : e_(e), plan_(plan), bind_(std::move(bind)), body_(std::move(body)) {}

  // Called with the outer coordinates before each row, in a nest without a contiguous dimension.
  void set_before_row(std::function<absl::Status(const std::vector<Term>&)> before) { before_row_ = std::move(before); }
  // In a nest with tiles (KernelShape::tile), called for each tile in place of `body`. The index is the tile's first
  // position; lanes are positions along the contiguous dimension. To be written are `rows` of them times `columns`
  // positions of the inner dimension.
  using TileBody = std::function<absl::Status(FusedEmitter&, const Index&, int rows, int columns)>;
  void set_tile(TileBody tile) { tile_ = std::move(tile); }
  // Called in place of `body` for `count` rows, neighbours along the last of the outer dimensions, of which the index
  // is the first one's; `body` for what is left of them. For nests without a contiguous dimension.
  void set_rows(int64_t count, Body rows) {
    rows_at_once_ = count;
    rows_ = std::move(rows);
  }
  // The whole nest, for outer iterations [begin, end) of plan.Work(), which are multiples of plan.Grain().
  absl::Status Write(V begin, V end);
  // Elements [begin, end) along the inner dimension of `size` elements, at the outer coordinates `outer`; begin is a
  // multiple of the lanes, and so is end unless it is size.
  absl::Status Row(const std::vector<Term>& outer, V begin, V end, int64_t size) {
    return RowOf(body_, outer, begin, end, size);
  }

 private:
  absl::Status Outer(V at);  // one outer iteration
  absl::Status Groups(V begin, V end);
  absl::Status Rows(V begin, V end);  // with set_rows
  // All tiles between `first` and `last` of the inner dimension; smaller ones at the ends where the tile's side does
  // not divide a dimension.
  absl::Status Tiles(const std::vector<Term>& outer, V first, V last);
  // In code for several sizes: the tiles of full size, and where they end.
  absl::Status WholeTiles(const std::vector<Term>& outer, V first, V last, V* whole_along, V* whole_inner);
  absl::Status Tile(std::vector<Term> outer, V along, V inner, int rows, int columns);
  // Row with `body` in the place of the nest's.
  absl::Status RowOf(const Body& body, const std::vector<Term>& outer, V begin, V end, int64_t size);
  // A row whose size is known at run time only.
  absl::Status RowOfAnySize(const Body& body, const std::vector<Term>& outer, V begin, V end);
  // The coordinates at place `at` of outer dimensions `first` to `last`.
  std::vector<Term> OuterCoordinates(codegen::IndexArithmetic& arithmetic, V at, size_t first, size_t last) const;
  absl::Status Steps(const Body& body, const std::vector<Term>& outer, V begin, V end, int lanes);
  absl::Status One(const Body& body, const std::vector<Term>& outer, V at, int lanes, V mask);

  codegen::ElementEmitter& e_;
  const KernelShape& plan_;
  std::function<void(FusedEmitter&)> bind_;
  Body body_;
  std::function<absl::Status(const std::vector<Term>&)> before_row_;
  TileBody tile_;
  int64_t rows_at_once_ = 1;
  Body rows_;
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_LOOP_NEST_H_
