// Lowerings of QR, singular value, eigenvalue and LU-based ops, and of tridiagonal systems. The factorizations
// themselves are library routines.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

constexpr ElementType kS32 = ElementType::kS32;

// lapack_?REAL_ffi or, for complex types, lapack_?COMPLEX_ffi.
std::string Routine(ElementType type, const std::string& real, const std::string& complex) {
  std::string letter = type == ElementType::kF32 ? "s" : type == ElementType::kF64 ? "d" : "";
  if (letter.empty()) letter = type == ElementType::kC64 ? "c" : "z";
  return absl::StrCat("lapack_", letter, IsComplex(type) ? complex : real, "_ffi");
}

// A batch of m x n matrices.
struct Matrices {
  Dims batch;
  int64_t m = 0, n = 0;
  ElementType type, real;

  Dims Sized(std::initializer_list<int64_t> tail) const {
    Dims dims = batch;
    dims.insert(dims.end(), tail.begin(), tail.end());
    return dims;
  }
  Shape Array(std::initializer_list<int64_t> tail) const { return Shape(type, Sized(tail)); }
  Shape RealArray(std::initializer_list<int64_t> tail) const { return Shape(real, Sized(tail)); }
  Shape Info() const { return Shape(kS32, batch); }
  int64_t rank() const { return static_cast<int64_t>(batch.size()) + 2; }
};

absl::StatusOr<Matrices> ReadMatrices(OpContext& c, int i, bool square) {
  Matrices a;
  if (c.rank(i) < 2) return c.Error(absl::StrCat("operand ", i, " must be matrices"));
  a.batch.assign(c.dims(i).begin(), c.dims(i).end() - 2);
  a.m = c.dims(i)[c.rank(i) - 2];
  a.n = c.dims(i)[c.rank(i) - 1];
  a.type = c.etype(i);
  a.real = IsComplex(a.type) ? ComplexComponent(a.type) : a.type;
  if (square && a.m != a.n) {
    return c.Error(absl::StrCat("operand ", i, " must be square matrices, has shape ", DimsToString(c.dims(i))));
  }
  return a;
}

bool IsEmpty(OpContext& c, int i) { return std::count(c.dims(i).begin(), c.dims(i).end(), 0) > 0; }

// The library reports a matrix for which it did not converge, or that is singular: errors of the host op.
void FailUnlessZero(OpContext& c, Val info) { c.FailIf(c.b.Ne(info, c.b.Like(info, 0))); }

Val Conjugate(Emitter& b, Val x) { return IsComplex(x->type()) ? b.Complex(b.Real(x), b.Neg(b.Imag(x))) : x; }

// `x` where `direction` holds between row and column numbers, else zero.
Val Band(Emitter& b, Val x, CompareDirection direction) {
  const Dims dims = x->shape().dims();
  int64_t rank = x->shape().rank();
  Val keep = b.Compare(direction, b.Iota(kS32, dims, rank - 2), b.Iota(kS32, dims, rank - 1));
  return b.Select(keep, x, b.Like(x, 0));
}

// Entries of the main diagonal, [batch, min(m, n)].
Val Diagonal(Emitter& b, Val x) {
  int64_t rank = x->shape().rank(), k = std::min(x->shape().dims()[rank - 1], x->shape().dims()[rank - 2]);
  x = b.SliceDim(b.SliceDim(x, rank - 2, 0, k), rank - 1, 0, k);
  return b.ReduceSum(Band(b, x, CompareDirection::kEq), {rank - 2});
}

absl::Status Qr(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices a, ReadMatrices(c, 0, false));
  XC_ASSIGN_OR_RETURN(bool full, c.node.Bool("full_matrices"));
  if (IsEmpty(c, 0)) return c.Unimplemented("empty matrices");
  Emitter& b = c.b;
  int64_t k = std::min(a.m, a.n), width = full ? a.m : k, rank = a.rank();
  auto factored = b.CustomCall(Routine(a.type, "geqrf", "geqrf"), {a.Array({a.m, a.n}), a.Array({k})}, {c.in(0)}, "{}");
  Val reflectors = b.SliceDim(factored[0], rank - 1, 0, k);
  if (width > k) {
    std::vector<PaddingDim> padding(rank);
    padding.back().high = width - k;
    reflectors = b.Pad(reflectors, b.Scalar(a.type, 0), padding);
  }
  auto q = b.CustomCall(Routine(a.type, "orgqr", "ungqr"), {a.Array({a.m, width})}, {reflectors, factored[1]}, "{}");
  c.set(0, q[0]);
  c.set(1, Band(b, b.SliceDim(factored[0], rank - 2, 0, width), CompareDirection::kLe));
  return absl::OkStatus();
}

absl::Status Svd(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices a, ReadMatrices(c, 0, false));
  bool vectors = true, full = true;
  if (c.node.op != "XlaSvd") {
    XC_ASSIGN_OR_RETURN(vectors, c.node.Bool("compute_uv"));
    XC_ASSIGN_OR_RETURN(full, c.node.Bool("full_matrices"));
  }
  if (IsEmpty(c, 0)) return c.Unimplemented("empty matrices");
  Emitter& b = c.b;
  int64_t k = std::min(a.m, a.n), left = full ? a.m : k, right = full ? a.n : k;
  int mode = !vectors ? 'N' : full ? 'A' : 'S';
  auto out =
      b.CustomCall(Routine(a.type, "gesdd", "gesdd"),
                   {a.Array({a.m, a.n}), a.RealArray({k}), a.Array({a.m, left}), a.Array({right, a.n}), a.Info()},
                   {c.in(0)}, absl::StrCat("{mode = ", mode, " : ui8}"));
  FailUnlessZero(c, out[4]);
  c.set(0, b.Convert(out[1], a.type));
  c.set(1, vectors ? out[2] : b.Zeros(a.Array({0})));
  c.set(2, vectors ? Conjugate(b, b.TransposeMinor(out[3])) : b.Zeros(a.Array({0})));
  return absl::OkStatus();
}

absl::Status SelfAdjointEig(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices a, ReadMatrices(c, 0, true));
  bool vectors = true, lower = true;
  if (c.node.op == "XlaSelfAdjointEig") {
    XC_ASSIGN_OR_RETURN(lower, c.node.Bool("lower"));
  } else {
    XC_ASSIGN_OR_RETURN(vectors, c.node.Bool("compute_v"));
  }
  Emitter& b = c.b;
  if (IsEmpty(c, 0)) {
    c.set(0, b.Zeros(a.Array({a.n})));
    c.set(1, vectors ? c.in(0) : b.Zeros(a.Array({0})));
    return absl::OkStatus();
  }
  auto out = b.CustomCall(
      Routine(a.type, "syevd", "heevd"), {a.Array({a.n, a.n}), a.RealArray({a.n}), a.Info()}, {c.in(0)},
      absl::StrCat("{mode = ", int{vectors ? 'V' : 'N'}, " : ui8, uplo = ", int{lower ? 'L' : 'U'}, " : ui8}"));
  FailUnlessZero(c, out[2]);
  c.set(0, b.Convert(out[1], a.type));
  c.set(1, vectors ? out[0] : b.Zeros(a.Array({0})));
  return absl::OkStatus();
}

// The diagonal of U in P A = L U, and the sign of P.
struct LuDiagonal {
  Val entries, sign;
};
LuDiagonal FactorDiagonal(OpContext& c, const Matrices& a) {
  Emitter& b = c.b;
  auto out = b.CustomCall(Routine(a.type, "getrf", "getrf"),
                          {a.Array({a.n, a.n}), Shape(kS32, a.Sized({a.n})), a.Info()}, {c.in(0)}, "{}");
  int64_t last = a.rank() - 2;
  Val place = b.AddC(b.Iota(kS32, a.Sized({a.n}), last), 1);
  Val swapped = b.Convert(b.Ne(out[1], place), kS32);
  Val odd = b.And(b.ReduceSum(swapped, {last}), b.Full(kS32, a.batch, 1));
  Val sign = b.Select(b.Eq(odd, b.Like(odd, 1)), b.Full(a.type, a.batch, -1), b.Full(a.type, a.batch, 1));
  return {Diagonal(b, out[0]), sign};
}

Val Product(Emitter& b, Val x, int64_t dimension) {
  return b.Reduce(x, b.Scalar(x->type(), 1), {dimension}, HloOpcode::kMultiply);
}

// L and U in one matrix, and for each of its rows the row of the operand that it comes from.
absl::Status Lu(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices a, ReadMatrices(c, 0, true));
  if (IsEmpty(c, 0)) return c.Unimplemented("empty matrices");
  Emitter& b = c.b;
  const Dims rows = a.Sized({a.n});
  auto out = b.CustomCall(Routine(a.type, "getrf", "getrf"), {a.Array({a.n, a.n}), Shape(kS32, rows), a.Info()},
                          {c.in(0)}, "{}");
  FailUnlessZero(c, out[2]);
  int64_t last = a.rank() - 2;
  std::vector<int64_t> mapping(last);
  std::iota(mapping.begin(), mapping.end(), 0);
  // Exchange after exchange: entry i with entry pivots[i] (counted from 1).
  auto order = b.ForLoop(a.n, {b.Iota(kS32, rows, last), out[1]},
                         [&](Emitter& e, Val i, const std::vector<Val>& state) -> std::vector<Val> {
                           Val place = e.Iota(kS32, rows, last), here = e.Eq(place, e.BroadcastScalar(i, rows));
                           auto entry = [&](Val x, Val where) {
                             Val one = e.ReduceSum(e.Select(where, x, e.Like(x, 0)), {last});
                             return e.Broadcast(one, rows, mapping);
                           };
                           Val there = e.Eq(place, e.AddC(entry(state[1], here), -1));
                           Val first = entry(state[0], here), second = entry(state[0], there);
                           return {e.Select(here, second, e.Select(there, first, state[0])), state[1]};
                         });
  c.set(0, out[0]);
  c.set(1, b.Convert(order[0], c.out_etype(1)));
  return absl::OkStatus();
}

absl::Status Determinant(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices a, ReadMatrices(c, 0, true));
  if (IsEmpty(c, 0)) {
    c.set(0, c.b.Full(a.type, a.batch, 1));
    return absl::OkStatus();
  }
  LuDiagonal lu = FactorDiagonal(c, a);
  c.set(0, c.b.Mul(Product(c.b, lu.entries, a.rank() - 2), lu.sign));
  return absl::OkStatus();
}

absl::Status LogDeterminant(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices a, ReadMatrices(c, 0, true));
  Emitter& b = c.b;
  if (IsEmpty(c, 0)) {
    c.set(0, b.Full(a.type, a.batch, 1));
    c.set(1, b.Full(a.type, a.batch, 0));
    return absl::OkStatus();
  }
  LuDiagonal lu = FactorDiagonal(c, a);
  int64_t last = a.rank() - 2;
  Val size = b.Abs(lu.entries), phase;
  if (IsComplex(a.type)) {
    Val wide = b.Convert(size, a.type);
    phase = b.Select(b.Eq(size, b.Like(size, 0)), b.Like(lu.entries, 0), b.Div(lu.entries, wide));
  } else {
    phase = b.Unary(HloOpcode::kSign, lu.entries);
  }
  c.set(0, b.Mul(Product(b, phase, last), lu.sign));
  c.set(1, b.Convert(b.ReduceSum(b.Log(size), {last}), a.type));
  return absl::OkStatus();
}

// Of A = L L^T: the symmetric gradient in A from that in L.
absl::Status CholeskyGrad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices a, ReadMatrices(c, 0, true));
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  if (IsEmpty(c, 0)) {
    c.set(0, c.in(0));
    return absl::OkStatus();
  }
  Emitter& b = c.b;
  int64_t rank = a.rank();
  Val l = Band(b, c.in(0), CompareDirection::kGe), g = Band(b, c.in(1), CompareDirection::kGe);
  DotDims d;
  for (int64_t k = 0; k + 2 < rank; ++k) {
    d.lhs_batch.push_back(k);
    d.rhs_batch.push_back(k);
  }
  d.lhs_contracting = {rank - 2};
  d.rhs_contracting = {rank - 2};
  Val product = b.Dot(l, g, d);
  Val middle = b.Sub(Band(b, product, CompareDirection::kGe), b.MulC(Band(b, product, CompareDirection::kEq), 0.5));
  Val x = b.TriangularSolve(l, middle, true, true, false, TriangularTranspose::kTranspose);
  x = b.TriangularSolve(l, x, false, true, false, TriangularTranspose::kNo);
  c.set(0, b.MulC(b.Add(x, b.TransposeMinor(x)), 0.5));
  return absl::OkStatus();
}

absl::Status TridiagonalSolve(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices diagonals, ReadMatrices(c, 0, false));
  XC_ASSIGN_OR_RETURN(Matrices rhs, ReadMatrices(c, 1, false));
  XC_ASSIGN_OR_RETURN(bool perturb, c.node.Bool("perturb_singular"));
  if (perturb) return c.Unimplemented("perturb_singular");
  if (diagonals.m != 3 || diagonals.n != rhs.m || diagonals.batch != rhs.batch) {
    return c.Error("diagonals must be [..., 3, n] and the right side [..., n, k]");
  }
  if (IsEmpty(c, 1)) {
    c.set(0, c.in(1));
    return absl::OkStatus();
  }
  Emitter& b = c.b;
  int64_t rank = rhs.rank(), n = rhs.m;
  auto diagonal = [&](int64_t k) { return b.Reshape(b.SliceDim(c.in(0), rank - 2, k, k + 1), diagonals.Sized({n})); };
  Shape row = rhs.Array({n});
  auto out = b.CustomCall(Routine(rhs.type, "gtsv", "gtsv"), {row, row, row, rhs.Array({n, rhs.n}), rhs.Info()},
                          {diagonal(2), diagonal(1), diagonal(0), c.in(1)}, "{}");
  FailUnlessZero(c, out[4]);
  c.set(0, out[3]);
  return absl::OkStatus();
}

// bands [..., k, n]: of a lower matrix the main diagonal and those below it, of an upper one the highest diagonal down
// to the main one; entry i of each stands in row i of the matrix. By substitution, for which systems that begin at the
// last row are turned around.
absl::Status BandedTriangularSolve(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices bands, ReadMatrices(c, 0, false));
  XC_ASSIGN_OR_RETURN(Matrices rhs, ReadMatrices(c, 1, false));
  XC_ASSIGN_OR_RETURN(bool lower, c.node.Bool("lower"));
  XC_ASSIGN_OR_RETURN(bool adjoint, c.node.Bool("adjoint"));
  const int64_t k = bands.m, n = bands.n, width = rhs.n;
  if (rhs.m != n || k < 1) return c.Error("bands must be [..., k, n] and the right side [..., n, m]");
  if (k > n) return c.Error(absl::StrCat("number of bands ", k, " cannot exceed the size of the matrix ", n));
  absl::StatusOr<Dims> batch = BroadcastDims(bands.batch, rhs.batch);
  if (!batch.ok()) return c.Error(std::string(batch.status().message()));
  bands.batch = rhs.batch = *batch;
  Emitter& b = c.b;
  Val a = b.BroadcastTo(c.in(0), bands.Sized({k, n})), y = b.BroadcastTo(c.in(1), rhs.Sized({n, width}));
  if (y->shape().ElementCount() == 0) {
    c.set(0, y);
    return absl::OkStatus();
  }
  const int64_t rank = rhs.rank();
  const bool backward = lower == adjoint;
  // Row d: what counts element i - d in row i.
  if (!lower) a = b.Reverse(a, {rank - 2});
  if (backward) {
    a = b.Reverse(a, {rank - 1});
    y = b.Reverse(y, {rank - 2});
  }
  if (adjoint) {
    std::vector<Val> rows;
    for (int64_t d = 0; d < k; ++d) {
      std::vector<PaddingDim> padding(rank);
      padding[rank - 1].low = d;
      padding[rank - 1].high = -d;
      rows.push_back(b.Pad(b.SliceDim(Conjugate(b, a), rank - 2, d, d + 1), b.Scalar(rhs.type, 0), padding));
    }
    a = b.Concat(rows, rank - 2);
  }
  // Entries outside the matrix may hold anything.
  a = b.Select(b.Ge(b.Iota(kS32, bands.Sized({k, n}), rank - 1), b.Iota(kS32, bands.Sized({k, n}), rank - 2)), a,
               b.Like(a, 0));
  a = b.Reverse(a, {rank - 2});  // the main diagonal last, like the newest element of what is known
  std::vector<PaddingDim> before(rank);
  before[rank - 2].low = k - 1;
  Val known = b.Pad(b.Zeros(rhs.Array({n, width})), b.Scalar(rhs.type, 0), before);
  std::vector<int64_t> over_columns(rank - 1);
  std::iota(over_columns.begin(), over_columns.end(), 0);
  auto solved = b.ForLoop(n, {known, a, y}, [&](Emitter& e, Val i, const std::vector<Val>& s) -> std::vector<Val> {
    std::vector<Val> at(rank, e.S32(0)), from = at, to = at;
    at[rank - 1] = i;
    from[rank - 2] = i;
    to[rank - 2] = e.Add(i, e.S32(k - 1));
    Val column = e.Reshape(e.DynamicSlice(s[1], at, bands.Sized({k, 1})), bands.Sized({k}));
    Val factors = e.Broadcast(column, rhs.Sized({k, width}), over_columns);
    // The element that is looked for is still zero.
    Val sum = e.ReduceSum(e.Mul(factors, e.DynamicSlice(s[0], from, rhs.Sized({k, width}))), {rank - 2});
    Val rest = e.Sub(e.DynamicSlice(s[2], from, rhs.Sized({1, width})), e.Reshape(sum, rhs.Sized({1, width})));
    Val main = e.SliceDim(factors, rank - 2, k - 1, k);
    return {e.DynamicUpdateSlice(s[0], e.Div(rest, main), to), s[1], s[2]};
  });
  Val x = b.SliceDim(solved[0], rank - 2, k - 1, n + k - 1);
  c.set(0, backward ? b.Reverse(x, {rank - 2}) : x);
  return absl::OkStatus();
}

absl::Status TridiagonalMatMul(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Matrices rhs, ReadMatrices(c, 3, false));
  Dims want = rhs.Sized({1, rhs.m});
  for (int i = 0; i < 3; ++i) {
    if (c.dims(i) != want) return c.Error("the diagonals must be [..., 1, m]");
  }
  Emitter& b = c.b;
  int64_t rank = rhs.rank();
  std::vector<int64_t> mapping(rank - 1);
  std::iota(mapping.begin(), mapping.end(), 0);
  // Row i of the product: super[i] x[i + 1] + main[i] x[i] + sub[i] x[i - 1].
  Val sum = nullptr;
  for (int i = 0; i < 3; ++i) {
    std::vector<PaddingDim> padding(rank);
    padding[rank - 2].low = i - 1;
    padding[rank - 2].high = 1 - i;
    Val x = b.Pad(c.in(3), b.Scalar(rhs.type, 0), padding);
    Val factor = b.Broadcast(b.Reshape(c.in(i), rhs.Sized({rhs.m})), x->shape().dims(), mapping);
    Val term = b.Mul(factor, x);
    sum = sum == nullptr ? term : b.Add(sum, term);
  }
  c.set(0, sum);
  return absl::OkStatus();
}

}  // namespace

void RegisterFactorizations(LoweringRegistry& r) {
  constexpr TypeSet kReal = TypeBit(DT_FLOAT) | TypeBit(DT_DOUBLE);
  constexpr TypeSet kBoth = kReal | kComplexTypes, kAll = kFloatTypes | kComplexTypes;
  r.Add({"Qr"}, kAll, [](OpContext& c) { return Widened(c, Qr); });
  r.Add({"Svd", "XlaSvd"}, kAll, [](OpContext& c) { return Widened(c, Svd); });
  r.Add({"SelfAdjointEigV2", "XlaSelfAdjointEig"}, kAll, [](OpContext& c) { return Widened(c, SelfAdjointEig); });
  r.Add({"Lu"}, kReal, Lu);  // for complex types the library chooses other pivots than the host
  r.Add({"MatrixDeterminant"}, kBoth, Determinant);
  r.Add({"LogMatrixDeterminant"}, kBoth, LogDeterminant);
  r.Add({"CholeskyGrad"}, kReal, CholeskyGrad);
  r.Add({"TridiagonalSolve"}, kBoth, TridiagonalSolve);
  r.Add({"BandedTriangularSolve"}, kBoth, BandedTriangularSolve);
  r.Add({"TridiagonalMatMul"}, kBoth, TridiagonalMatMul);
}

}  // namespace xc
