// Lowerings of matrix products and Einsum.
#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/lowering.h"
#include "jit/lowering/numeric/window.h"

namespace xc {
namespace {

Val Adjoint(Emitter& b, Val x) { return IsComplex(x->type()) ? b.Complex(b.Real(x), b.Neg(b.Imag(x))) : x; }

// [m, k] x [k, n], either side transposed.
absl::StatusOr<Val> MatMulCore(OpContext& c, bool ta, bool tb) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 2));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 2));
  int64_t ka = c.dims(0)[ta ? 0 : 1], kb = c.dims(1)[tb ? 1 : 0];
  if (ka != kb) {
    return c.Error(absl::StrCat("inner sizes differ: ", DimsToString(c.dims(0)), " and ", DimsToString(c.dims(1))));
  }
  DotDims d;
  d.lhs_contracting = {ta ? 0 : 1};
  d.rhs_contracting = {tb ? 1 : 0};
  return c.b.Dot(c.in(0), c.in(1), d);
}

absl::Status MatMul(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool ta, c.node.Bool("transpose_a"));
  XC_ASSIGN_OR_RETURN(bool tb, c.node.Bool("transpose_b"));
  XC_ASSIGN_OR_RETURN(Val v, MatMulCore(c, ta, tb));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status SparseMatMul(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool ta, c.node.Bool("transpose_a"));
  XC_ASSIGN_OR_RETURN(bool tb, c.node.Bool("transpose_b"));
  for (int i = 0; i < 2; ++i) {
    LoweredValue& v = c.value(i);
    if (v.type == DT_FLOAT) continue;
    v.array = c.b.Convert(c.in(i), ElementType::kF32);
    v.constant = nullptr;
  }
  XC_ASSIGN_OR_RETURN(Val v, MatMulCore(c, ta, tb));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status FusedMatMul(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool ta, c.node.Bool("transpose_a"));
  XC_ASSIGN_OR_RETURN(bool tb, c.node.Bool("transpose_b"));
  XC_ASSIGN_OR_RETURN(Val v, MatMulCore(c, ta, tb));
  return ApplyFusedOps(c, v, 1);
}

absl::Status BatchMatMul(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool ax, c.node.Bool("adj_x"));
  XC_ASSIGN_OR_RETURN(bool ay, c.node.Bool("adj_y"));
  int64_t rx = c.rank(0), ry = c.rank(1);
  if (rx < 2 || ry < 2) return c.Error("operands must have rank 2 or more");
  Dims bx(c.dims(0).begin(), c.dims(0).end() - 2), by(c.dims(1).begin(), c.dims(1).end() - 2);
  auto batch = BroadcastDims(bx, by);
  if (!batch.ok()) return c.Error(std::string(batch.status().message()));
  int64_t n = static_cast<int64_t>(batch->size());
  DotDims d;
  // One matrix for the whole batch is not copied: the batch counts as more rows.
  const bool one = *batch == bx && CheckedNumElements(by).value_or(0) == 1;
  auto wide = [&](int i) {
    if (i == 1 && one) return c.b.Reshape(c.in(1), {c.dims(1)[ry - 2], c.dims(1)[ry - 1]});
    Dims dims = *batch;
    dims.push_back(c.dims(i)[c.rank(i) - 2]);
    dims.push_back(c.dims(i)[c.rank(i) - 1]);
    return c.b.BroadcastTo(c.in(i), dims);
  };
  Val x = wide(0), y = wide(1);
  if (ax) x = Adjoint(c.b, x);
  if (ay) y = Adjoint(c.b, y);
  for (int64_t i = 0; i < n && !one; ++i) {
    d.lhs_batch.push_back(i);
    d.rhs_batch.push_back(i);
  }
  d.lhs_contracting = {ax ? n : n + 1};
  d.rhs_contracting = {(one ? 0 : n) + (ay ? 1 : 0)};
  if (x->shape().dim(d.lhs_contracting[0]) != y->shape().dim(d.rhs_contracting[0])) {
    return c.Error(absl::StrCat("inner sizes differ: ", DimsToString(c.dims(0)), " and ", DimsToString(c.dims(1))));
  }
  if (x->type() != c.out_etype(0)) {
    x = c.b.Convert(x, c.out_etype(0));
    y = c.b.Convert(y, c.out_etype(0));
  }
  c.set(0, c.b.Dot(x, y, d));
  return absl::OkStatus();
}

absl::Status FusedBatchMatMul(OpContext& c) {
  XC_RETURN_IF_ERROR(BatchMatMul(c));
  Val v = c.outputs()[0].array;
  return ApplyFusedOps(c, v, v->shape().rank() - 1);
}

// One side of an equation with its ellipsis written out as labels from 1 on, right-aligned.
absl::StatusOr<std::string> Expand(OpContext& c, const std::string& labels, int64_t rank, int64_t ellipsis_rank) {
  std::string out;
  size_t dots = labels.find("...");
  int64_t named = static_cast<int64_t>(labels.size()) - (dots == std::string::npos ? 0 : 3);
  int64_t covered = rank < 0 ? ellipsis_rank : rank - named;
  if (dots == std::string::npos && rank >= 0 && covered != 0) return c.Error("the equation does not fit the rank");
  if (covered < 0 || covered > 16) return c.Error("the equation does not fit the rank");
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i == dots) {
      for (int64_t k = 0; k < covered; ++k) out.push_back(static_cast<char>(ellipsis_rank - covered + k + 1));
      i += 2;
      continue;
    }
    if (!std::isalpha(static_cast<unsigned char>(labels[i]))) return c.Error("bad label in the equation");
    out.push_back(labels[i]);
  }
  return out;
}

// Takes the diagonal over repeated labels and sums over labels that nobody else has.
Val Simplify(OpContext& c, Val x, std::string* labels, const std::string& wanted) {
  Emitter& b = c.b;
  for (size_t i = 0; i < labels->size(); ++i) {
    size_t j = labels->find((*labels)[i], i + 1);
    if (j == std::string::npos) continue;
    Val on = b.Eq(b.Iota(ElementType::kS32, x->shape().dims(), i), b.Iota(ElementType::kS32, x->shape().dims(), j));
    x = b.ReduceSum(b.Select(on, x, b.Like(x, 0)), {static_cast<int64_t>(j)});
    labels->erase(j, 1);
    --i;
  }
  std::vector<int64_t> drop;
  std::string kept;
  for (size_t i = 0; i < labels->size(); ++i) {
    if (wanted.find((*labels)[i]) == std::string::npos) {
      drop.push_back(static_cast<int64_t>(i));
    } else {
      kept.push_back((*labels)[i]);
    }
  }
  *labels = kept;
  return drop.empty() ? x : b.ReduceSum(x, drop);
}

absl::Status Einsum(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::string equation, c.node.String("equation"));
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  size_t arrow = equation.find("->");
  if (arrow == std::string::npos) return c.Error("the equation has no '->'");
  std::vector<std::string> sides = absl::StrSplit(equation.substr(0, arrow), ',');
  std::string result = equation.substr(arrow + 2);
  if (static_cast<int>(sides.size()) != c.num_inputs() || sides.size() > 2) {
    return c.Error("the equation must name one or two inputs, as many as there are");
  }
  int64_t ellipsis = 0;
  for (size_t i = 0; i < sides.size(); ++i) {
    if (sides[i].find("...") != std::string::npos) {
      ellipsis = std::max(ellipsis, c.rank(i) - static_cast<int64_t>(sides[i].size() - 3));
    }
  }
  Emitter& b = c.b;
  std::vector<std::string> labels(sides.size());
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < sides.size(); ++i) {
    XC_ASSIGN_OR_RETURN(labels[i], Expand(c, sides[i], c.rank(i), ellipsis));
    for (size_t d = 0; d < labels[i].size(); ++d) {
      char label = labels[i][d];
      int64_t size = c.dims(i)[d];
      auto it = sizes.find(label);
      bool stretches = label < 32;  // ellipsis dimensions broadcast
      if (it == sizes.end()) {
        sizes[label] = size;
      } else if (stretches && it->second == 1) {
        it->second = size;
      } else if (it->second != size && !(stretches && size == 1)) {
        return c.Error(absl::StrCat("sizes ", it->second, " and ", size, " of one label differ"));
      }
    }
  }
  XC_ASSIGN_OR_RETURN(std::string out, Expand(c, result, -1, result.find("...") == std::string::npos ? 0 : ellipsis));
  std::vector<Val> values;
  for (size_t i = 0; i < sides.size(); ++i) {
    std::string wanted = out;
    if (sides.size() == 2) wanted += labels[1 - i];
    Val x = c.in(i);
    // Stretched ellipsis dimensions are dropped here and broadcast at the end or by the other side's batch.
    Dims dims = x->shape().dims();
    bool stretch = false;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] != sizes[labels[i][d]]) stretch = true;
      dims[d] = sizes[labels[i][d]];
    }
    if (stretch) x = b.BroadcastTo(x, dims);
    values.push_back(Simplify(c, x, &labels[i], wanted));
  }
  Val v = values[0];
  std::string have = labels[0];
  if (sides.size() == 2) {
    DotDims d;
    std::string free_left, free_right, batch;
    for (size_t i = 0; i < labels[0].size(); ++i) {
      char label = labels[0][i];
      size_t j = labels[1].find(label);
      if (j == std::string::npos) {
        free_left.push_back(label);
      } else if (out.find(label) != std::string::npos) {
        d.lhs_batch.push_back(i);
        d.rhs_batch.push_back(j);
        batch.push_back(label);
      } else {
        d.lhs_contracting.push_back(i);
        d.rhs_contracting.push_back(j);
      }
    }
    for (char label : labels[1]) {
      if (labels[0].find(label) == std::string::npos) free_right.push_back(label);
    }
    v = b.Dot(values[0], values[1], d);
    have = batch + free_left + free_right;
  }
  std::vector<int64_t> perm;
  for (char label : out) {
    size_t at = have.find(label);
    if (at == std::string::npos || std::count(out.begin(), out.end(), label) > 1) {
      return c.Error("a label of the result is repeated or not in the inputs");
    }
    perm.push_back(static_cast<int64_t>(at));
  }
  c.set(0, b.Transpose(v, perm));
  return absl::OkStatus();
}

absl::Status BiasAdd(OpContext& c) {
  std::string format = "NHWC";
  if (c.node.op == "BiasAdd") {
    XC_ASSIGN_OR_RETURN(format, c.node.String("data_format"));
  }
  XC_RETURN_IF_ERROR(c.RequireRank(1, 1));
  if (c.rank(0) < 2) return c.Error("the value must have rank 2 or more");
  int64_t channel = format == "NCHW" ? 1 : c.rank(0) - 1;
  if (c.dims(0)[channel] != c.dims(1)[0]) {
    return c.Error(absl::StrCat("bias of size ", c.dims(1)[0], " for ", c.dims(0)[channel], " channels"));
  }
  c.set(0, c.b.Add(c.in(0), c.b.Broadcast(c.in(1), c.dims(0), {channel})));
  return absl::OkStatus();
}

absl::Status BiasAddGrad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::string format, c.node.String("data_format"));
  if (c.rank(0) < 2) return c.Error("the gradient must have rank 2 or more");
  int64_t channel = format == "NCHW" ? 1 : c.rank(0) - 1;
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < c.rank(0); ++d) {
    if (d != channel) axes.push_back(d);
  }
  ElementType type = c.etype(0);
  bool narrow = type == ElementType::kF16 || type == ElementType::kBF16;
  Val x = narrow ? c.b.Convert(c.in(0), ElementType::kF32) : c.in(0);
  c.set(0, c.b.Convert(c.b.ReduceSum(x, axes), type));
  return absl::OkStatus();
}

absl::Status Cross(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  int64_t last = c.rank(0) - 1;
  if (last < 0 || c.dims(0)[last] != 3) return c.Error("the last dimension must be 3");
  Emitter& b = c.b;
  auto part = [&](int i, int64_t k) { return b.SliceDim(c.in(i), last, k % 3, k % 3 + 1); };
  std::vector<Val> out;
  for (int64_t k = 0; k < 3; ++k) {
    out.push_back(b.Sub(b.Mul(part(0, k + 1), part(1, k + 2)), b.Mul(part(0, k + 2), part(1, k + 1))));
  }
  c.set(0, b.Concat(out, last));
  return absl::OkStatus();
}

}  // namespace

void RegisterMatmul(LoweringRegistry& r) {
  r.Add({"MatMul"}, kNumericTypes, MatMul);
  r.Add({"SparseMatMul"}, TypeBit(DT_FLOAT), SparseMatMul);
  r.Add({"_FusedMatMul"}, kFloatTypes, FusedMatMul);
  r.Add({"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}, kNumericTypes, BatchMatMul);
  r.Add({"_MklFusedBatchMatMulV2"}, kFloatTypes, FusedBatchMatMul);
  r.Add({"Einsum", "XlaEinsum"}, kNumericTypes, Einsum);
  r.Add({"BiasAdd", "BiasAddV1"}, kNumericTypes, BiasAdd);
  r.Add({"BiasAddGrad"}, kNumericTypes, BiasAddGrad);
  r.Add({"Cross"}, kRealTypes, Cross);
}

}  // namespace xc
