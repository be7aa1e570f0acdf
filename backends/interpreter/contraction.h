// A batch of matrix products between strided operands, whatever their element types.
#ifndef XC_BACKENDS_INTERPRETER_CONTRACTION_H_
#define XC_BACKENDS_INTERPRETER_CONTRACTION_H_

#include "backends/interpreter/gemm.h"
#include "backends/interpreter/op.h"
#include "backends/interpreter/strided.h"

namespace xc::interp {

// One matrix product. Offsets are in elements. Result element (i, j) goes to out_base + out_rows[i] + j.
struct MatrixProduct {
  int64_t lhs_base = 0, rhs_base = 0, out_base = 0;
  absl::Span<const int64_t> lhs_rows, rhs_rows, lhs_depth, rhs_depth, out_rows;
};
absl::Status Multiply(const Literal& lhs, const Literal& rhs, const MatrixProduct& product, Literal* out,
                      OpContext& context);

// The offsets of all indices of `dims` (of an array with these strides), in row-major order of the list.
std::vector<int64_t> Offsets(const Int64List& dims, const Shape& shape);

OpResult Convolution(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult RaggedDot(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult ScaledDot(const HloInstruction& instruction, Operands& operands, OpContext& context);
// dot between literals, as `instruction` (a dot or scaled-dot) describes it.
OpResult DotLiterals(const HloInstruction& instruction, const Literal& lhs, const Literal& rhs, OpContext& context);

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_CONTRACTION_H_
