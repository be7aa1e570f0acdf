// What the loops of a nest do at each of their positions: the code that computes and stores its values.
#ifndef XC_BACKENDS_CPU_NEST_BODY_H_
#define XC_BACKENDS_CPU_NEST_BODY_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/nest_form.h"
#include "backends/cpu/row_divisors.h"
#include "backends/plan/plan.h"

namespace llvm {
class Instruction;
class Value;
}  // namespace llvm

namespace xc::cpu {

// Writes the loops and bodies of one nest in a form that was chosen for it.
class NestBody {
 public:
  using Bind = std::function<void(codegen::FusedEmitter&)>;
  // `outputs`: where each result of the nest lies. `bind` tells emitters where the inputs are. What is needed on the
  // stack is at `function_begin`.
  NestBody(codegen::ElementEmitter& element, const plan::Nest& nest, const NestForm& form,
           std::vector<llvm::Value*> outputs, Bind bind, llvm::Instruction* function_begin)
      : element_(element),
        nest_(nest),
        form_(form),
        outputs_(std::move(outputs)),
        bind_arrays_(std::move(bind)),
        begin_(function_begin),
        divisors_(form.keeps_reciprocals ? nest.values : std::vector<const HloInstruction*>(), form.shape,
                  element.target()) {}

  // The outer iterations [first, last) of the form's shape.
  absl::Status Write(llvm::Value* first, llvm::Value* last);

 private:
  // Tells `fused` where the inputs and the reciprocals are.
  void BindInputs(codegen::FusedEmitter& fused) const;
  // All values at a vector of positions.
  absl::Status Vector(codegen::FusedEmitter& fused, const codegen::Index& position);
  // The results of a reduction that has several.
  absl::Status Results(codegen::FusedEmitter& fused, const codegen::Index& position);
  // A tile of `rows` by `columns` positions, read along the rows' dimension and written along the columns'.
  absl::Status Tile(codegen::FusedEmitter& fused, const codegen::Index& position, int rows, int columns);
  // The tile's rows one after the other, for values that also read what is not transposed.
  absl::Status TileByRows(codegen::FusedEmitter& fused, const codegen::Index& position, int rows, int columns);
  // A few neighbouring rows from the windows that they share.
  absl::Status SharedWindows(codegen::FusedEmitter& fused, const codegen::Index& position);
  // Reduces the row of each lane at the vector `position`, one by one, and makes the results known to `fused`.
  absl::Status ReduceRows(codegen::FusedEmitter& fused, const codegen::Index& position);

  codegen::ElementEmitter& element_;
  const plan::Nest& nest_;
  const NestForm& form_;
  const std::vector<llvm::Value*> outputs_;
  const Bind bind_arrays_;
  llvm::Instruction* const begin_;
  RowDivisors divisors_;
};

// The elements of `value` that a body of loops `shape` computes at `position`: one, or those of a short row.
absl::StatusOr<std::vector<codegen::Element>> GetRow(codegen::FusedEmitter& fused, const HloInstruction* value,
                                                     const KernelShape& shape, const codegen::Index& position);
// Stores what GetRow gives, in an array of `shape` at `base`.
void StoreRow(codegen::FusedEmitter& fused, const Shape& shape, llvm::Value* base, const codegen::Index& position,
              absl::Span<const codegen::Element> row);
// A tile of `value` in vectors along the shape's contiguous dimension, one for each of its columns.
absl::StatusOr<std::vector<codegen::Element>> ReadTile(codegen::FusedEmitter& fused, const HloInstruction* value,
                                                       const KernelShape& shape, const codegen::Index& position,
                                                       int columns);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_NEST_BODY_H_
