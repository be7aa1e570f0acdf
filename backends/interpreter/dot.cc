// dot, scaled-dot and ragged-dot. Products of floats are summed in f64 and rounded once; integers wrap.
#include <algorithm>

#include "backends/interpreter/contraction.h"
#include "hlo/base/status.h"
#include "hlo/ops/dot_sparsity.h"

namespace xc::interp {
namespace {

bool Contains(const Int64List& list, int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

Int64List FreeDims(const Shape& shape, const Int64List& batch, const Int64List& contracting) {
  Int64List free;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!Contains(batch, d) && !Contains(contracting, d)) free.push_back(d);
  }
  return free;
}

// 0, step, 2 step, ….
std::vector<int64_t> Steps(int64_t count, int64_t step) {
  std::vector<int64_t> steps(count);
  for (int64_t i = 0; i < count; ++i) steps[i] = i * step;
  return steps;
}

template <typename T>
absl::Status MultiplyParts(const Literal& lhs, int lhs_part, const Literal& rhs, int rhs_part, bool negate,
                           const MatrixProduct& p, T* c, OpContext& context) {
  const ElementSource<T> a(lhs, lhs_part), b(rhs, rhs_part);
  const auto load_a = [&](int64_t row, int64_t k0, int64_t kn, T* out) {
    a.Load(p.lhs_base + p.lhs_rows[row], p.lhs_depth.data() + k0, kn, out);
    if (negate) {
      for (int64_t i = 0; i < kn; ++i) out[i] = -out[i];
    }
  };
  const auto load_b = [&](int64_t row, int64_t k0, int64_t kn, T* out) {
    b.Load(p.rhs_base + p.rhs_rows[row], p.rhs_depth.data() + k0, kn, out);
  };
  return Gemm<T>(p.lhs_rows.size(), p.rhs_rows.size(), p.lhs_depth.size(), load_a, load_b, c,
                 [&] { return context.CheckTime(); });
}

// Group sizes of one batch, as row ranges [starts[g], starts[g + 1]), cut off at `limit`.
std::vector<int64_t> GroupStarts(const Literal& sizes, int64_t batch, int64_t groups, int64_t limit) {
  std::vector<int64_t> starts = {0};
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t size = std::clamp<int64_t>(sizes.GetInt(batch * groups + g), 0, limit - starts.back());
    starts.push_back(starts.back() + size);
  }
  return starts;
}

}  // namespace

std::vector<int64_t> Offsets(const Int64List& dims, const Shape& shape) {
  const Dims strides = RowMajorStrides(shape.dims());
  Dims sizes, chosen;
  for (int64_t d : dims) {
    sizes.push_back(shape.dim(d));
    chosen.push_back(strides[d]);
  }
  OffsetWalk walk(sizes, {chosen});
  std::vector<int64_t> offsets(walk.size());
  int64_t* out[] = {offsets.data()};
  if (walk.size() > 0) walk.Next(walk.size(), out);
  return offsets;
}

absl::Status Multiply(const Literal& lhs, const Literal& rhs, const MatrixProduct& p, Literal* out,
                      OpContext& context) {
  const int64_t m = p.lhs_rows.size(), n = p.rhs_rows.size();
  const ElementType lhs_type = lhs.shape().type(), rhs_type = rhs.shape().type();
  const bool complex = IsComplex(lhs_type) || IsComplex(rhs_type);
  XC_RETURN_IF_ERROR(context.CheckMemory(m * n * (complex ? 16 : 8)));
  if (!SumsInDouble(lhs_type, rhs_type)) {
    std::vector<uint64_t> sums(m * n);
    XC_RETURN_IF_ERROR(MultiplyParts<uint64_t>(lhs, 0, rhs, 0, false, p, sums.data(), context));
    for (int64_t i = 0; i < m; ++i) StoreSums(&sums[i * n], n, out, p.out_base + p.out_rows[i]);
    return absl::OkStatus();
  }
  std::vector<double> real(m * n), imaginary(complex ? m * n : 0);
  XC_RETURN_IF_ERROR(MultiplyParts<double>(lhs, 0, rhs, 0, false, p, real.data(), context));
  if (IsComplex(lhs_type) && IsComplex(rhs_type)) {
    XC_RETURN_IF_ERROR(MultiplyParts<double>(lhs, 1, rhs, 1, true, p, real.data(), context));
  }
  if (IsComplex(rhs_type)) {
    XC_RETURN_IF_ERROR(MultiplyParts<double>(lhs, 0, rhs, 1, false, p, imaginary.data(), context));
  }
  if (IsComplex(lhs_type)) {
    XC_RETURN_IF_ERROR(MultiplyParts<double>(lhs, 1, rhs, 0, false, p, imaginary.data(), context));
  }
  for (int64_t i = 0; i < m; ++i) {
    StoreSums(&real[i * n], complex ? &imaginary[i * n] : nullptr, n, out, p.out_base + p.out_rows[i]);
  }
  return absl::OkStatus();
}

OpResult DotLiterals(const HloInstruction& instruction, const Literal& lhs, const Literal& rhs, OpContext& context) {
  const DotDims& dims = instruction.dot_dims();
  Literal out(Plain(instruction.shape()));
  const auto lhs_batch = Offsets(dims.lhs_batch, lhs.shape()), rhs_batch = Offsets(dims.rhs_batch, rhs.shape());
  const auto lhs_rows = Offsets(FreeDims(lhs.shape(), dims.lhs_batch, dims.lhs_contracting), lhs.shape());
  const auto rhs_rows = Offsets(FreeDims(rhs.shape(), dims.rhs_batch, dims.rhs_contracting), rhs.shape());
  const auto lhs_depth = Offsets(dims.lhs_contracting, lhs.shape());
  const auto rhs_depth = Offsets(dims.rhs_contracting, rhs.shape());
  const int64_t m = lhs_rows.size(), n = rhs_rows.size();
  if (lhs_batch.size() != rhs_batch.size() || lhs_depth.size() != rhs_depth.size() ||
      static_cast<int64_t>(lhs_batch.size()) * m * n != out.size()) {
    return absl::InvalidArgumentError("sizes of batch or contracting dimensions differ");
  }
  const auto out_rows = Steps(m, n);
  for (size_t b = 0; b < lhs_batch.size(); ++b) {
    XC_RETURN_IF_ERROR(Multiply(lhs, rhs,
                                {lhs_batch[b], rhs_batch[b], static_cast<int64_t>(b) * m * n, lhs_rows, rhs_rows,
                                 lhs_depth, rhs_depth, out_rows},
                                &out, context));
  }
  return out;
}

// The whole of an operand of which only elements other than zero are held. An index that lies outside of its block
// holds nothing; of two elements with the same index the first counts.
Literal Whole(const Literal& held, const Literal& metadata, const OperandSparsity& s) {
  Shape shape = Plain(held.shape());
  const int64_t size = shape.dim(s.dimension), words = metadata.shape().dim(s.dimension);
  const int64_t inner = RowMajorStrides(shape.dims())[s.dimension];
  const int64_t whole_size = s.WholeSize(size), rows = whole_size == 0 ? 0 : held.size() / size / inner;
  const int bytes = StorageBytes(shape.type()), bits = s.index_bits();
  shape.set_dim(s.dimension, whole_size);
  Literal whole(shape);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = size; k-- > 0;) {
      const int64_t word = k / s.indices_per_word(), shift = k % s.indices_per_word() * bits;
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t index = metadata.GetInt((row * words + word) * inner + i) >> shift & ((1 << bits) - 1);
        if (index >= s.block_size) continue;
        const int64_t to = row * whole_size + k / s.num_non_zero * s.block_size + index;
        std::memcpy(whole.mutable_bytes() + (to * inner + i) * bytes,
                    held.bytes() + ((row * size + k) * inner + i) * bytes, bytes);
      }
    }
  }
  return whole;
}

OpResult Dot(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const std::string* text = instruction.FindAttr<AttrKind::kSparsity>();
  if (text == nullptr) return DotLiterals(instruction, operands[0], operands[1], context);
  XC_ASSIGN_OR_RETURN(const DotSparsity sparsity, ParseDotSparsity(*text));
  const std::optional<OperandSparsity>* const sides[] = {&sparsity.lhs, &sparsity.rhs};
  Literal whole[2];
  int64_t next = 2;
  for (int i = 0; i < 2; ++i) {
    if (!*sides[i]) {
      whole[i] = operands[i].Clone();
      continue;
    }
    const OperandSparsity& s = **sides[i];
    XC_RETURN_IF_ERROR(context.CheckMemory(operands[i].byte_size() / s.num_non_zero * s.block_size));
    whole[i] = Whole(operands[i], operands[next++], s);
  }
  return DotLiterals(instruction, whole[0], whole[1], context);
}

OpResult ScaledDot(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  // The factors as f64: element times scale, each scale valid for a block of its operand.
  Literal factors[2];
  for (int i = 0; i < 2; ++i) {
    const Literal &x = operands[i], &scale = operands[i + 2];
    const Shape& shape = x.shape();
    XC_RETURN_IF_ERROR(context.CheckMemory(x.size() * 8));
    Literal factor(WithType(shape, ElementType::kF64));
    double* values = reinterpret_cast<double*>(factor.mutable_bytes());
    GetLoad<double>(shape.type())(x.bytes(), 0, 1, x.size(), values);
    std::vector<double> scales(scale.size());
    GetLoad<double>(scale.shape().type())(scale.bytes(), 0, 1, scale.size(), scales.data());
    const Dims strides = RowMajorStrides(scale.shape().dims());
    Dims index(shape.rank());
    for (int64_t e = 0; e < x.size(); ++e) {
      Delinearize(e, shape.dims(), index.data());
      int64_t at = 0;
      for (int64_t d = 0; d < scale.shape().rank(); ++d) {
        at += index[d] / (shape.dim(d) / scale.shape().dim(d)) * strides[d];
      }
      values[e] *= scales[at];
    }
    factors[i] = std::move(factor);
  }
  return DotLiterals(instruction, factors[0], factors[1], context);
}

// Groups of rows of lhs (or of the contracting dimension) meet one slice of rhs (or give one slice of the result) each.
OpResult RaggedDot(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Literal &lhs = operands[0], &rhs = operands[1], &sizes = operands[2];
  const DotDims& dims = instruction.dot_dims();
  const RaggedDims& ragged = instruction.attr<AttrKind::kRaggedDims>();
  const int64_t dim = ragged.lhs_ragged[0];
  if (Contains(dims.lhs_batch, dim)) return DotLiterals(instruction, lhs, rhs, context);
  const bool contracting = Contains(dims.lhs_contracting, dim);
  const int64_t groups = sizes.shape().dim(sizes.shape().rank() - 1);
  const int64_t ragged_size = lhs.shape().dim(dim);
  Literal out(Plain(instruction.shape()));

  const auto lhs_batch = Offsets(dims.lhs_batch, lhs.shape()), rhs_batch = Offsets(dims.rhs_batch, rhs.shape());
  const Int64List lhs_free = FreeDims(lhs.shape(), dims.lhs_batch, dims.lhs_contracting);
  Int64List rhs_fixed = dims.rhs_batch;
  if (!contracting) rhs_fixed.push_back(ragged.rhs_group[0]);
  const Int64List rhs_free = FreeDims(rhs.shape(), rhs_fixed, dims.rhs_contracting);
  const auto lhs_rows = Offsets(lhs_free, lhs.shape()), rhs_rows = Offsets(rhs_free, rhs.shape());
  const auto lhs_depth = Offsets(dims.lhs_contracting, lhs.shape());
  const auto rhs_depth = Offsets(dims.rhs_contracting, rhs.shape());
  const int64_t m = lhs_rows.size(), n = rhs_rows.size(), batches = lhs_batch.size();
  const int64_t group_stride = contracting ? 0 : RowMajorStrides(rhs.shape().dims())[ragged.rhs_group[0]];
  const bool shared_sizes = sizes.size() == groups;

  // The coordinate in the ragged dimension of each row (or of each step in depth).
  const Int64List& list = contracting ? dims.lhs_contracting : lhs_free;
  Dims list_sizes;
  for (int64_t d : list) list_sizes.push_back(lhs.shape().dim(d));
  const int64_t place = std::find(list.begin(), list.end(), dim) - list.begin();
  std::vector<int64_t> coordinate(contracting ? lhs_depth.size() : lhs_rows.size());
  Dims index(list.size());
  for (size_t i = 0; i < coordinate.size(); ++i) {
    Delinearize(i, list_sizes, index.data());
    coordinate[i] = index[place];
  }
  for (int64_t b = 0; b < batches; ++b) {
    const auto starts = GroupStarts(sizes, shared_sizes ? 0 : b, groups, ragged_size);
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<int64_t> rows, out_rows, left, right;
      for (size_t i = 0; i < coordinate.size(); ++i) {
        if (coordinate[i] < starts[g] || coordinate[i] >= starts[g + 1]) continue;
        if (contracting) {
          left.push_back(lhs_depth[i]);
          right.push_back(rhs_depth[i]);
        } else {
          rows.push_back(lhs_rows[i]);
          out_rows.push_back(static_cast<int64_t>(i) * n);
        }
      }
      if (contracting) {
        XC_RETURN_IF_ERROR(Multiply(
            lhs, rhs,
            {lhs_batch[b], rhs_batch[b], (g * batches + b) * m * n, lhs_rows, rhs_rows, left, right, Steps(m, n)}, &out,
            context));
      } else {
        XC_RETURN_IF_ERROR(Multiply(
            lhs, rhs,
            {lhs_batch[b], rhs_batch[b] + g * group_stride, b * m * n, rows, rhs_rows, lhs_depth, rhs_depth, out_rows},
            &out, context));
      }
    }
  }
  return out;
}

OpFn FindContraction(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kDot:
      return Dot;
    case HloOpcode::kScaledDot:
      return ScaledDot;
    case HloOpcode::kRaggedDot:
      return RaggedDot;
    case HloOpcode::kConvolution:
      return Convolution;
    default:
      return nullptr;
  }
}

}  // namespace xc::interp
