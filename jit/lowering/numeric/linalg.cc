// Lowerings of factorizations, triangular systems and Fourier transforms, spectrograms among them.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

absl::Status RequireSquare(OpContext& c, int i) {
  if (c.rank(i) >= 2 && c.dims(i)[c.rank(i) - 1] == c.dims(i)[c.rank(i) - 2]) return absl::OkStatus();
  return c.Error(absl::StrCat("operand ", i, " must be square matrices, has shape ", DimsToString(c.dims(i))));
}

Val LowerTriangle(Emitter& b, Val x) {
  int64_t n = x->shape().dims().back();
  Val keep = b.Ge(b.Iota(ElementType::kS32, {n, n}, 0), b.Iota(ElementType::kS32, {n, n}, 1));
  return b.Select(b.BroadcastTo(keep, x->shape().dims()), x, b.Like(x, 0));
}

absl::Status Cholesky(OpContext& c) {
  XC_RETURN_IF_ERROR(RequireSquare(c, 0));
  Val l = LowerTriangle(c.b, c.b.Cholesky(c.in(0)));
  // A matrix that is not positive definite gives NaN here and an error on the host.
  c.FailIf(c.b.IsNan(l));
  c.set(0, l);
  return absl::OkStatus();
}

absl::Status TriangularSolve(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool lower, c.node.Bool("lower"));
  XC_ASSIGN_OR_RETURN(bool adjoint, c.node.Bool("adjoint"));
  XC_RETURN_IF_ERROR(RequireSquare(c, 0));
  if (c.rank(1) < 2) return c.Error("the right side must be matrices");
  Dims ab(c.dims(0).begin(), c.dims(0).end() - 2), bb(c.dims(1).begin(), c.dims(1).end() - 2);
  auto batch = BroadcastDims(ab, bb);
  if (!batch.ok()) return c.Error(std::string(batch.status().message()));
  if (c.dims(1)[c.rank(1) - 2] != c.dims(0).back()) return c.Error("the sizes of matrix and right side differ");
  auto wide = [&](int i) {
    Dims dims = *batch;
    dims.insert(dims.end(), c.dims(i).end() - 2, c.dims(i).end());
    return c.b.BroadcastTo(c.in(i), dims);
  };
  c.set(0, c.b.TriangularSolve(wide(0), wide(1), true, lower, false,
                               adjoint ? TriangularTranspose::kAdjoint : TriangularTranspose::kNo));
  return absl::OkStatus();
}

// Number of dimensions that the op's name says it transforms.
int64_t FftRank(const std::string& op) {
  return op.find("3D") != std::string::npos ? 3 : op.find("2D") != std::string::npos ? 2 : 1;
}

template <FftType kType>
absl::Status Fft(OpContext& c) {
  int64_t n = FftRank(c.node.op);
  if (c.rank(0) < n) return c.Error(absl::StrCat("input must have rank ", n, " or more"));
  Emitter& b = c.b;
  Val x = c.in(0);
  std::vector<int64_t> lengths;
  if (kType == FftType::kFft || kType == FftType::kIfft) {
    for (int64_t d = c.rank(0) - n; d < c.rank(0); ++d) lengths.push_back(c.dims(0)[d]);
  } else {
    XC_ASSIGN_OR_RETURN(lengths, c.Ints(1));
    if (static_cast<int64_t>(lengths.size()) != n) return c.Error("fft_length has a wrong size");
    // The input is cut or padded with zeros to the length.
    for (int64_t k = 0; k < n; ++k) {
      if (lengths[k] < 0 || lengths[k] > (int64_t{1} << 30)) return c.Error("bad fft_length");
      int64_t d = c.rank(0) - n + k;
      int64_t want = kType == FftType::kIrfft && k == n - 1 ? (lengths[k] > 0 ? lengths[k] / 2 + 1 : 0) : lengths[k];
      int64_t have = c.dims(0)[d];
      if (have > want) x = b.SliceDim(x, d, 0, want);
      if (have < want) {
        std::vector<PaddingDim> padding(c.rank(0));
        padding[d].high = want - have;
        x = b.Pad(x, b.Scalar(x->type(), 0), padding);
      }
    }
  }
  if (std::count(lengths.begin(), lengths.end(), 0) > 0 || x->shape().ElementCount() == 0) {
    return c.Unimplemented("empty transforms");
  }
  c.set(0, b.Fft(x, kType, lengths));
  return absl::OkStatus();
}

// Gauss-Jordan elimination with row exchanges, all matrices of the batch at once: solves A X = B.
Val SolveByElimination(Emitter& b, Val a, Val rhs) {
  int64_t rank = a->shape().rank(), n = a->shape().dims().back();
  Dims batch(a->shape().dims().begin(), a->shape().dims().end() - 2);
  Val state = b.Concat({a, rhs}, rank - 1);
  int64_t width = state->shape().dims().back();
  ElementType type = a->type();
  auto result = b.ForLoop(n, {state}, [&](Emitter& e, Val k, const std::vector<Val>& s) {
    Val m = s[0];
    const Dims md = m->shape().dims();
    Dims column = batch;
    column.push_back(n);
    Dims row = batch;
    row.push_back(width);
    auto over_rows = [&](Val v) {  // [batch, width] to [batch, n, width]
      std::vector<int64_t> map;
      for (int64_t d = 0; d < rank - 2; ++d) map.push_back(d);
      map.push_back(rank - 1);
      return e.Broadcast(v, md, map);
    };
    auto over_columns = [&](Val v) {  // [batch, n] to [batch, n, width]
      std::vector<int64_t> map;
      for (int64_t d = 0; d < rank - 1; ++d) map.push_back(d);
      return e.Broadcast(v, md, map);
    };
    Val row_index = e.Iota(ElementType::kS32, column, rank - 2);
    Val is_k = e.Eq(row_index, e.BroadcastScalar(k, column));
    // Column k, and the largest candidate at or below row k.
    Val pick_column = e.Eq(e.Iota(ElementType::kS32, md, rank - 1), e.BroadcastScalar(k, md));
    Val col = e.ReduceSum(e.Select(pick_column, m, e.Like(m, 0)), {rank - 1});
    Val size =
        e.Select(e.Ge(row_index, e.BroadcastScalar(k, column)), e.Abs(col), e.Full(ComplexComponent(type), column, -1));
    Val largest = e.ReduceMax(size, {rank - 2});
    std::vector<int64_t> batch_map;
    for (int64_t d = 0; d < rank - 2; ++d) batch_map.push_back(d);
    Val candidate = e.Eq(size, e.Broadcast(largest, column, batch_map));
    Val first = e.Reduce(e.Select(candidate, row_index, e.Like(row_index, 1 << 30)), e.S32(1 << 30), {rank - 2},
                         HloOpcode::kMinimum);
    Val is_pivot = e.Eq(row_index, e.Broadcast(first, column, batch_map));
    auto take_row = [&](Val where) { return e.ReduceSum(e.Select(over_columns(where), m, e.Like(m, 0)), {rank - 2}); };
    Val pivot_row = take_row(is_pivot), row_k = take_row(is_k);
    // Exchange the two rows, scale the pivot row, take it from all others.
    Val swapped = e.Select(over_columns(is_pivot), over_rows(row_k), m);
    Val pivot = e.ReduceSum(e.Select(e.Eq(e.Iota(ElementType::kS32, row, rank - 2), e.BroadcastScalar(k, row)),
                                     pivot_row, e.Full(type, row, 0)),
                            {rank - 2});
    Val scaled = e.Div(pivot_row, e.Broadcast(pivot, row, batch_map));
    Val factors = e.ReduceSum(e.Select(pick_column, swapped, e.Like(m, 0)), {rank - 1});
    Val reduced = e.Sub(swapped, e.Mul(over_columns(factors), over_rows(scaled)));
    return std::vector<Val>{e.Select(over_columns(is_k), over_rows(scaled), reduced)};
  });
  return b.SliceDim(result[0], rank - 1, n, width);
}

template <bool kInverse>
absl::Status Solve(OpContext& c) {
  XC_RETURN_IF_ERROR(RequireSquare(c, 0));
  XC_ASSIGN_OR_RETURN(bool adjoint, c.node.Bool("adjoint"));
  Emitter& b = c.b;
  Val a = adjoint ? b.TransposeMinor(c.in(0)) : c.in(0);
  bool complex = IsComplex(a->type());
  if (adjoint && complex) a = b.Complex(b.Real(a), b.Neg(b.Imag(a)));
  Val rhs;
  if (kInverse) {
    int64_t n = c.dims(0).back();
    Val eye = b.Convert(b.Eq(b.Iota(ElementType::kS32, {n, n}, 0), b.Iota(ElementType::kS32, {n, n}, 1)), c.etype(0));
    rhs = b.BroadcastTo(eye, c.dims(0));
  } else {
    if (c.rank(1) != c.rank(0)) return c.Error("matrix and right side differ in rank");
    for (int64_t d = 0; d < c.rank(0) - 1; ++d) {
      if (c.dims(0)[d] != c.dims(1)[d]) return c.Error("matrix and right side differ in shape");
    }
    rhs = c.in(1);
  }
  if (rhs->shape().ElementCount() == 0) {
    c.set(0, rhs);
    return absl::OkStatus();
  }
  Val x = SolveByElimination(b, a, rhs);
  // A singular matrix is an error of the host op.
  auto infinite = [&](Val v) { return b.Not(b.Unary(HloOpcode::kIsFinite, v)); };
  c.FailIf(complex ? b.Or(infinite(b.Real(x)), infinite(b.Imag(x))) : infinite(x));
  c.set(0, x);
  return absl::OkStatus();
}

// [length, channels] to [channels, windows, frequencies]: windows under a raised cosine, filled up to a power of two.
absl::Status AudioSpectrogram(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 2));
  XC_ASSIGN_OR_RETURN(int64_t window, c.node.Int("window_size"));
  XC_ASSIGN_OR_RETURN(int64_t stride, c.node.Int("stride"));
  XC_ASSIGN_OR_RETURN(bool squared, c.node.Bool("magnitude_squared"));
  constexpr int64_t kLongest = 1 << 24;
  if (window < 2 || window > kLongest || stride < 1) return c.Error("window_size must be 2 or more, stride 1 or more");
  Emitter& b = c.b;
  constexpr ElementType kF64 = ElementType::kF64, kF32 = ElementType::kF32, kS32 = ElementType::kS32;
  const int64_t length = c.dims(0)[0], channels = c.dims(0)[1];
  const int64_t windows = length < window ? 0 : 1 + (length - window) / stride;
  int64_t filled = 1;
  while (filled < window) filled *= 2;
  const Dims out = {channels, windows, filled / 2 + 1};
  if (channels * windows == 0) {
    c.set(0, b.Full(kF32, out, 0));
    return absl::OkStatus();
  }
  GatherDims g;
  g.offset_dims = {1, 2};
  g.start_index_map = {0};
  g.index_vector_dim = 1;
  const Val starts = b.Mul(b.Iota(kS32, {windows, 1}, 0), b.Full(kS32, {windows, 1}, static_cast<double>(stride)));
  Val x = b.Gather(b.Convert(c.in(0), kF64), starts, g, {window, channels}, true);
  x = b.Transpose(x, {2, 0, 1});
  const Val angle = b.MulC(b.Iota(kF64, {window}, 0), 2 * M_PI / static_cast<double>(window));
  const Val cosine = b.AddC(b.MulC(b.Unary(HloOpcode::kCosine, angle), -0.5), 0.5);
  std::vector<PaddingDim> padding(3);
  padding[2].high = filled - window;
  x = b.Pad(b.Mul(x, b.Broadcast(cosine, {channels, windows, window}, {2})), b.Scalar(kF64, 0), padding);
  const Val spectrum = b.Fft(x, FftType::kRfft, {filled});
  const Val power = b.Add(b.Square(b.Real(spectrum)), b.Square(b.Imag(spectrum)));
  c.set(0, b.Convert(squared ? power : b.Sqrt(power), kF32));
  return absl::OkStatus();
}

double Mel(double frequency) { return 1127 * std::log1p(frequency / 700); }

// How much each of `bins` frequencies of a spectrogram counts for each channel of a mel filter bank, whose channels
// overlap as triangles; [bins, channels].
Literal MelWeights(int64_t bins, int64_t channels, double rate, double lower, double upper) {
  const double low = Mel(lower), spacing = (Mel(upper) - low) / static_cast<double>(channels + 1);
  const double width = 0.5 * rate / static_cast<double>(bins - 1);
  const double end = static_cast<double>(bins);
  const int64_t first = static_cast<int64_t>(std::min(1.5 + lower / width, end));
  const int64_t last = static_cast<int64_t>(std::min(upper / width, end));
  Literal weights(Shape(ElementType::kF64, {bins, channels}));
  auto center = [&](int64_t channel) { return low + spacing * static_cast<double>(channel + 1); };
  int64_t above = 0;  // the first channel whose center is not below
  for (int64_t i = first; i <= last && i < bins; ++i) {
    const double mel = Mel(static_cast<double>(i) * width);
    while (above < channels && center(above) < mel) ++above;
    const double falling = (center(above) - mel) / spacing;
    if (above > 0) weights.SetDouble(i * channels + above - 1, falling);
    if (above < channels) weights.SetDouble(i * channels + above, 1 - falling);
  }
  return weights;
}

// Coefficients of the logarithms of a filter bank's channels: [.., windows, frequencies] to [.., windows,
// coefficients].
absl::Status Mfcc(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 3));
  XC_ASSIGN_OR_RETURN(int64_t rate, c.Int(1));
  XC_ASSIGN_OR_RETURN(float upper, c.node.Float("upper_frequency_limit"));
  XC_ASSIGN_OR_RETURN(float lower, c.node.Float("lower_frequency_limit"));
  XC_ASSIGN_OR_RETURN(int64_t channels, c.node.Int("filterbank_channel_count"));
  XC_ASSIGN_OR_RETURN(int64_t count, c.node.Int("dct_coefficient_count"));
  constexpr int64_t kMostChannels = 1 << 12, kMostBins = 1 << 16;
  if (channels < 1 || channels > kMostChannels || count < 1 || count > channels) {
    return c.Error("there must be a channel, and at most as many coefficients as channels");
  }
  const int64_t bins = c.dims(0)[2];
  if (bins < 2 || bins > kMostBins || rate <= 0 || !(lower >= 0 && lower < upper && std::isfinite(upper))) {
    return c.Error("the frequencies do not fit");
  }
  Emitter& b = c.b;
  DotDims last;
  last.lhs_contracting = {2};
  last.rhs_contracting = {0};
  const Val magnitude = b.Sqrt(b.Convert(c.in(0), ElementType::kF64));
  const Val bank =
      b.Dot(magnitude, b.Constant(MelWeights(bins, channels, static_cast<double>(rate), lower, upper)), last);
  Literal cosines(Shape(ElementType::kF64, {channels, count}));
  for (int64_t j = 0; j < channels; ++j) {
    for (int64_t i = 0; i < count; ++i) {
      const double angle =
          M_PI / static_cast<double>(channels) * static_cast<double>(i) * (static_cast<double>(j) + 0.5);
      cosines.SetDouble(j * count + i, std::sqrt(2.0 / static_cast<double>(channels)) * std::cos(angle));
    }
  }
  const Val logarithms = b.Log(b.Max(bank, b.Like(bank, 1e-12)));
  c.set(0, b.Convert(b.Dot(logarithms, b.Constant(std::move(cosines)), last), ElementType::kF32));
  return absl::OkStatus();
}

}  // namespace

void RegisterLinalg(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  constexpr TypeSet kBoth = kFloatTypes | kComplexTypes;
  r.Add({"Cholesky"}, kBoth, [](OpContext& c) { return Widened(c, Cholesky); });
  r.Add({"MatrixTriangularSolve"}, kBoth, [](OpContext& c) { return Widened(c, TriangularSolve); });
  r.Add({"MatrixInverse"}, kBoth, [](OpContext& c) { return Widened(c, Solve<true>); });
  r.Add({"MatrixSolve"}, kBoth, [](OpContext& c) { return Widened(c, Solve<false>); });
  r.Add({"AudioSpectrogram"}, kAny, AudioSpectrogram);
  r.Add({"Mfcc"}, kAny, Mfcc, {"sample_rate"});
  r.Add({"FFT", "FFT2D", "FFT3D"}, kAny, Fft<FftType::kFft>);
  r.Add({"IFFT", "IFFT2D", "IFFT3D"}, kAny, Fft<FftType::kIfft>);
  r.Add({"RFFT", "RFFT2D", "RFFT3D"}, kAny, Fft<FftType::kRfft>, {"fft_length"});
  r.Add({"IRFFT", "IRFFT2D", "IRFFT3D"}, kAny, Fft<FftType::kIrfft>, {"fft_length"});
}

}  // namespace xc
