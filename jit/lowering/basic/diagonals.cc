// Lowerings of ops on diagonals: main ones are masks, and the elements of bands of several are gathered at places known
// while lowering.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/lowering/basic/indexing.h"

namespace xc {
namespace {

absl::Status MatrixBandPart(OpContext& c) {
  if (c.rank(0) < 2) return c.Error("needs a matrix");
  XC_RETURN_IF_ERROR(c.RequireRank(1, 0));
  XC_RETURN_IF_ERROR(c.RequireRank(2, 0));
  Emitter& b = c.b;
  ElementType t = c.etype(1);
  int64_t m = c.dims(0)[c.rank(0) - 2], n = c.dims(0)[c.rank(0) - 1];
  for (int i : {1, 2}) {
    const int64_t most = i == 1 ? m : n;
    if (!c.IsConstant(i)) {
      c.FailIf(b.Gt(c.in(i), b.ScalarInt(t, most)));
      continue;
    }
    XC_ASSIGN_OR_RETURN(int64_t limit, c.Int(i));
    if (limit > most) return c.Error(absl::StrCat("the limit ", limit, " is greater than the matrix, ", most));
  }
  Val row = b.Iota(t, {m, n}, 0), column = b.Iota(t, {m, n}, 1);
  auto within = [&](Val limit, Val distance) {
    Val wide = b.BroadcastScalar(limit, {m, n});
    return b.Or(b.Lt(wide, b.Like(wide, 0)), b.Le(distance, wide));
  };
  Val keep = b.And(within(c.in(1), b.Sub(row, column)), within(c.in(2), b.Sub(column, row)));
  Val x = c.in(0);
  c.set(0, b.Select(b.BroadcastTo(keep, c.dims(0)), x, b.Like(x, 0)));
  return absl::OkStatus();
}

// Which elements of an m x n matrix stand on its main diagonal.
Val OnDiagonal(Emitter& b, int64_t m, int64_t n) {
  return b.Eq(b.Iota(ElementType::kS32, {m, n}, 0), b.Iota(ElementType::kS32, {m, n}, 1));
}

absl::Status MatrixDiag(OpContext& c) {
  if (c.rank(0) < 1) return c.Error("needs a vector");
  Emitter& b = c.b;
  Dims dims = c.dims(0);
  int64_t n = dims.back();
  dims.push_back(n);
  std::vector<int64_t> mapping(c.rank(0));
  std::iota(mapping.begin(), mapping.end(), 0);
  Val x = b.Broadcast(c.in(0), dims, mapping);
  Val on = OnDiagonal(b, n, n);
  c.set(0, b.Select(b.BroadcastTo(on, dims), x, b.Like(x, 0)));
  return absl::OkStatus();
}

Val DiagonalOf(Emitter& b, Val x) {
  Dims dims = x->shape().dims();
  int64_t rank = x->shape().rank(), m = dims[rank - 2], n = dims[rank - 1], k = std::min(m, n);
  x = b.SliceDim(b.SliceDim(x, rank - 2, 0, k), rank - 1, 0, k);
  Val on = b.BroadcastTo(OnDiagonal(b, k, k), x->shape().dims());
  return b.ReduceSum(b.Select(on, x, b.Like(x, 0)), {rank - 2});
}

absl::Status MatrixDiagPart(OpContext& c) {
  if (c.rank(0) < 2) return c.Error("needs a matrix");
  c.set(0, DiagonalOf(c.b, c.in(0)));
  return absl::OkStatus();
}

absl::Status Diag(OpContext& c) {
  Emitter& b = c.b;
  XC_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(c.dims(0)));
  Val x = b.Broadcast(b.Reshape(c.in(0), {n}), {n, n}, {0});
  Val on = OnDiagonal(b, n, n);
  Dims dims = c.dims(0);
  dims.insert(dims.end(), c.dims(0).begin(), c.dims(0).end());
  c.set(0, b.Reshape(b.Select(on, x, b.Like(x, 0)), dims));
  return absl::OkStatus();
}

absl::Status DiagPart(OpContext& c) {
  if (c.rank(0) % 2 != 0 || c.rank(0) == 0) return c.Error("needs an even rank");
  Dims half(c.dims(0).begin(), c.dims(0).begin() + c.rank(0) / 2);
  Dims other(c.dims(0).begin() + c.rank(0) / 2, c.dims(0).end());
  if (half != other) return c.Error("both halves of the shape must be equal");
  XC_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(half));
  c.set(0, c.b.Reshape(DiagonalOf(c.b, c.b.Reshape(c.in(0), {n, n})), half));
  return absl::OkStatus();
}

absl::Status MatrixSetDiag(OpContext& c) {
  if (c.rank(0) < 2) return c.Error("needs a matrix");
  Emitter& b = c.b;
  Dims dims = c.dims(0), want(dims.begin(), dims.end() - 1);
  int64_t m = dims[dims.size() - 2], n = dims.back(), k = std::min(m, n);
  want.back() = k;
  if (c.dims(1) != want) return c.Error("the diagonal has a wrong shape");
  std::vector<PaddingDim> padding(c.rank(1));
  padding.back().high = n - k;
  std::vector<int64_t> mapping(c.rank(1));
  std::iota(mapping.begin(), mapping.end(), 0);
  mapping.back() = c.rank(0) - 1;
  Val d = b.Broadcast(b.Pad(c.in(1), b.Scalar(c.etype(1), 0), padding), dims, mapping);
  Val on = OnDiagonal(b, m, n);
  c.set(0, b.Select(b.BroadcastTo(on, dims), d, c.in(0)));
  return absl::OkStatus();
}

constexpr int64_t kMaxPlaces = 1 << 24;

// Diagonals low..high of m x n matrices as the ops store them: rows from the highest diagonal down, each padded to the
// longest on one side.
struct Bands {
  int64_t m = 0, n = 0, low = 0, high = 0, width = 0;
  bool right_super = false, right_sub = false;  // which side the elements stand on

  int64_t count() const { return high - low + 1; }
  int64_t Length(int64_t d) const { return std::min(m + std::min<int64_t>(d, 0), n - std::max<int64_t>(d, 0)); }
  // Column of the first element of diagonal d in its row.
  int64_t Offset(int64_t d) const { return (d >= 0 ? right_super : right_sub) ? width - Length(d) : 0; }
};

absl::Status ReadBands(OpContext& c, int operand, Bands* bands) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> k, c.Ints(operand));
  if (k.empty() || k.size() > 2) return c.Error("k must be one number or two");
  bands->low = k.front();
  bands->high = k.back();
  if (bands->low > bands->high) return c.Error("the lower diagonal is above the upper one");
  std::string align = "LEFT_LEFT";
  if (c.node.def->FindAttr("align") != nullptr) {
    XC_ASSIGN_OR_RETURN(align, c.node.String("align"));
  }
  bands->right_super = align.rfind("RIGHT_", 0) == 0;
  bands->right_sub = align.size() > 6 && align.compare(align.size() - 6, 6, "_RIGHT") == 0;
  return absl::OkStatus();
}

absl::Status CheckInside(OpContext& c, const Bands& bands) {
  bool low = bands.low > -bands.m && (bands.low < bands.n || bands.low == 0);
  bool high = bands.high < bands.n && (bands.high > -bands.m || bands.high == 0);
  if ((low || bands.low == 0) && (high || bands.high == 0)) return absl::OkStatus();
  return c.Error(absl::StrCat("diagonals ", bands.low, " to ", bands.high, " are not those of ", bands.m, " x ",
                              bands.n, " matrices"));
}

int64_t LongestDiagonal(const Bands& bands) {
  return std::max<int64_t>(
      std::min(bands.m + std::min<int64_t>(bands.high, 0), bands.n - std::max<int64_t>(bands.low, 0)), 0);
}

// Elements of the last dimension of `x` at `places`, and `fill` where a place is -1; the last dimension of the result
// is split into `tail`.
Val Pick(Emitter& b, Val x, std::vector<int64_t> places, Val fill, const Dims& tail) {
  const Dims dims = x->shape().dims();
  int64_t last = x->shape().rank() - 1;
  Dims out(dims.begin(), dims.end() - 1);
  out.insert(out.end(), tail.begin(), tail.end());
  Dims flat(dims.begin(), dims.end() - 1);
  flat.push_back(static_cast<int64_t>(places.size()));
  Shape result(x->type(), flat);
  if (result.ElementCount() == 0 || dims[last] == 0) return b.BroadcastScalar(fill, out);
  Literal inside{Shape(ElementType::kPred, {static_cast<int64_t>(places.size())})};
  for (size_t i = 0; i < places.size(); ++i) {
    inside.SetInt(i, places[i] >= 0);
    places[i] = std::max<int64_t>(places[i], 0);
  }
  GatherDims g;
  for (int64_t d = 0; d < last; ++d) g.offset_dims.push_back(d);
  g.collapsed_slice_dims = {last};
  g.start_index_map = {last};
  g.index_vector_dim = 1;
  Dims sizes = dims;
  sizes[last] = 1;
  Val v = b.Gather(x, b.Vector(ElementType::kS32, places), g, sizes);
  v = b.Select(b.Broadcast(b.Constant(std::move(inside)), flat, {last}), v, b.BroadcastScalar(fill, flat));
  return b.Reshape(v, out);
}

absl::Status BandPart(OpContext& c) {
  if (c.rank(0) < 2) return c.Error("needs a matrix");
  Bands bands;
  bands.m = c.dims(0)[c.rank(0) - 2];
  bands.n = c.dims(0)[c.rank(0) - 1];
  XC_RETURN_IF_ERROR(ReadBands(c, 1, &bands));
  XC_RETURN_IF_ERROR(CheckInside(c, bands));
  XC_RETURN_IF_ERROR(c.RequireRank(2, 0));
  bands.width = LongestDiagonal(bands);
  if (bands.count() > kMaxPlaces || bands.width * bands.count() > kMaxPlaces)
    return c.Unimplemented("so many diagonals");
  std::vector<int64_t> places;
  for (int64_t d = bands.high; d >= bands.low; --d) {
    for (int64_t j = 0; j < bands.width; ++j) {
      int64_t i = j - bands.Offset(d);
      bool inside = i >= 0 && i < bands.Length(d);
      int64_t row = i - std::min<int64_t>(d, 0), column = i + std::max<int64_t>(d, 0);
      places.push_back(inside ? row * bands.n + column : -1);
    }
  }
  Dims flat(c.dims(0).begin(), c.dims(0).end() - 2), tail = {bands.width};
  flat.push_back(bands.m * bands.n);
  if (bands.count() > 1) tail.insert(tail.begin(), bands.count());
  c.set(0, Pick(c.b, c.b.Reshape(c.in(0), flat), places, c.in(2), tail));
  return absl::OkStatus();
}

// The stored diagonals as [batch, count * width]; fails if their shape is not what the bands say.
absl::StatusOr<Val> Stored(OpContext& c, int operand, const Bands& bands) {
  int64_t tail = bands.count() > 1 ? 2 : 1;
  const Dims& dims = c.dims(operand);
  if (c.rank(operand) < tail || dims.back() != bands.width || (tail == 2 && dims[dims.size() - 2] != bands.count())) {
    return c.Error(absl::StrCat("the diagonals have shape ", DimsToString(dims), ", expected ", bands.count(),
                                " rows of ", bands.width));
  }
  Dims flat(dims.begin(), dims.end() - tail);
  flat.push_back(bands.count() * bands.width);
  return c.b.Reshape(c.in(operand), flat);
}

// For each element of the matrix its place in the stored diagonals, or -1.
std::vector<int64_t> MatrixPlaces(const Bands& bands) {
  std::vector<int64_t> places;
  for (int64_t r = 0; r < bands.m; ++r) {
    for (int64_t col = 0; col < bands.n; ++col) {
      int64_t d = col - r;
      bool inside = d >= bands.low && d <= bands.high;
      places.push_back(inside ? (bands.high - d) * bands.width + (d >= 0 ? r : col) + bands.Offset(d) : -1);
    }
  }
  return places;
}

absl::Status BandMatrix(OpContext& c) {
  Bands bands;
  XC_RETURN_IF_ERROR(ReadBands(c, 1, &bands));
  XC_ASSIGN_OR_RETURN(bands.m, c.Int(2));
  XC_ASSIGN_OR_RETURN(bands.n, c.Int(3));
  XC_RETURN_IF_ERROR(c.RequireRank(4, 0));
  if (c.rank(0) < 1) return c.Error("needs a vector");
  bands.width = c.dims(0).back();
  int64_t least_rows = bands.width - std::min<int64_t>(bands.high, 0);
  int64_t least_columns = bands.width + std::max<int64_t>(bands.low, 0);
  if (bands.m == -1 && bands.n == -1) {
    bands.m = bands.n = std::max(least_rows, least_columns);
  } else {
    if (bands.m == -1) bands.m = least_rows;
    if (bands.n == -1) bands.n = least_columns;
  }
  if (bands.m < least_rows || bands.n < least_columns) return c.Error("the matrix is smaller than its diagonals");
  if (bands.m != least_rows && bands.n != least_columns) return c.Error("the diagonals are too short for the matrix");
  // Diagonals that miss the matrix are read over.
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(Dims{bands.m, bands.n}));
  if (count > kMaxPlaces) return c.Unimplemented("such large matrices");
  XC_ASSIGN_OR_RETURN(Val stored, Stored(c, 0, bands));
  c.set(0, Pick(c.b, stored, MatrixPlaces(bands), c.in(4), {bands.m, bands.n}));
  return absl::OkStatus();
}

absl::Status SetBand(OpContext& c) {
  if (c.rank(0) < 2) return c.Error("needs a matrix");
  Bands bands;
  bands.m = c.dims(0)[c.rank(0) - 2];
  bands.n = c.dims(0)[c.rank(0) - 1];
  XC_RETURN_IF_ERROR(ReadBands(c, 2, &bands));
  XC_RETURN_IF_ERROR(CheckInside(c, bands));
  bands.width = LongestDiagonal(bands);
  if (bands.m * bands.n > kMaxPlaces) return c.Unimplemented("such large matrices");
  XC_ASSIGN_OR_RETURN(Val stored, Stored(c, 1, bands));
  Emitter& b = c.b;
  std::vector<int64_t> places = MatrixPlaces(bands);
  Val spread = Pick(b, stored, places, b.Scalar(c.etype(0), 0), {bands.m, bands.n});
  if (spread->shape().dims() != c.dims(0)) return c.Error("the diagonals have another batch than the matrices");
  Literal inside{Shape(ElementType::kPred, {bands.m, bands.n})};
  for (size_t i = 0; i < places.size(); ++i) inside.SetInt(i, places[i] >= 0);
  c.set(0, b.Select(b.BroadcastTo(b.Constant(std::move(inside)), c.dims(0)), spread, c.in(0)));
  return absl::OkStatus();
}

}  // namespace

void RegisterDiagonals(LoweringRegistry& r) {
  r.Add({"MatrixBandPart"}, kArrayTypes, MatrixBandPart);
  r.Add({"MatrixDiag"}, kArrayTypes, MatrixDiag);
  r.Add({"MatrixDiagPart"}, kArrayTypes, MatrixDiagPart);
  r.Add({"MatrixSetDiag"}, kArrayTypes, MatrixSetDiag);
  r.Add({"Diag"}, kArrayTypes, Diag);
  r.Add({"DiagPart"}, kNumericTypes, DiagPart);
  r.Add({"MatrixDiagPartV2", "MatrixDiagPartV3"}, kArrayTypes, BandPart, {"k"});
  r.Add({"MatrixDiagV2", "MatrixDiagV3"}, kArrayTypes, BandMatrix, {"k", "num_rows", "num_cols"});
  r.Add({"MatrixSetDiagV2", "MatrixSetDiagV3"}, kArrayTypes, SetBand, {"k"});
}

}  // namespace xc
