// Transforms, decompositions, normalization and random bits.
#include <algorithm>
#include <cmath>

#include "tests/fuzz/module_generator.h"

namespace xc {
namespace {

using E = ElementType;
using O = HloOpcode;

}  // namespace

void ModuleGenerator::Transforming() {
  const FftType kind = OneOf({FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft});
  const bool wide = Chance(40);
  const E real = wide ? E::kF64 : E::kF32;
  const int64_t rank = Between(1, 3);
  Dims lengths, dims;
  if (Chance(40)) dims.push_back(Between(1, 3));
  double count = 1;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t length = rank == 1 ? Between(1, 20) : Between(1, 5);
    lengths.push_back(length);
    dims.push_back(length);
    count *= static_cast<double>(length);
  }
  if (kind == FftType::kIrfft) dims.back() = lengths.back() / 2 + 1;
  const E type = kind == FftType::kRfft ? real : wide ? E::kC128 : E::kC64;
  const RandomValue x = Like(
      type, dims, [](const RandomValue& v) { return v.facts.finite() && v.facts.max_abs < 1e6; },
      LiteralStyle::kFinite);
  if (!x.facts.finite()) return;
  const double sum = 3 * count * x.facts.max_abs;
  Keep(b_.Fft(x.op, kind, lengths), Rounded(real, 32 * sum, 3 * count * x.Error()));
}

void ModuleGenerator::Solving() {
  const E type = OneOf({E::kF32, E::kF64, E::kC64, E::kC128});
  const int64_t n = Between(1, 5);
  Dims dims = {n, n};
  if (Chance(30)) dims.insert(dims.begin(), 2);
  const Shape shape(type, dims);
  Literal a = RandomLiteral(shape, LiteralStyle::kFinite, random_);
  // Strong diagonals, so that errors do not grow; for cholesky hermitian as well.
  const bool cholesky = Chance(40);
  const int64_t matrices = n == 0 ? 0 : a.size() / (n * n);
  for (int64_t m = 0; m < matrices; ++m) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const int64_t lower = (m * n + i) * n + j, upper = (m * n + j) * n + i;
        std::complex<double> z = a.GetComplex(lower) * 0.25;
        if (!IsComplex(type)) z = z.real();
        if (i == j) z = 4.0 + std::fabs(z.real());
        a.SetComplex(lower, z);
        if (cholesky || i == j) a.SetComplex(upper, std::conj(z));
      }
    }
  }
  const RandomValue matrix = LeafOf(std::move(a));
  const E part = ComplexComponent(type);
  if (cholesky) {
    Keep(b_.Cholesky(matrix.op, Chance(50)), Rounded(part, 512, 0));
    return;
  }
  const bool left = Chance(50);
  Dims right = dims;
  right[right.size() - (left ? 1 : 2)] = Between(1, 4);
  const RandomValue rhs = Like(
      type, right, [](const RandomValue& v) { return v.facts.finite() && v.facts.max_abs < 1e6; },
      LiteralStyle::kFinite);
  if (!rhs.facts.finite()) return;
  const auto transpose =
      OneOf({TriangularTranspose::kNo, TriangularTranspose::kTranspose, TriangularTranspose::kAdjoint});
  // With entries of at most 1 beside the diagonal, a solution grows at most threefold in each of five steps.
  const bool unit = Chance(25);
  Keep(b_.TriangularSolve(matrix.op, rhs.op, left, Chance(50), unit, transpose),
       Rounded(part, 8192 * rhs.facts.max_abs, 512 * rhs.Error()));
}

void ModuleGenerator::Normalizing() {
  const E type = OneOf({E::kF32, E::kF32, E::kBF16, E::kF16});
  Dims dims = SomeDims(1);
  const int64_t feature = Below(dims.size());
  for (int64_t& size : dims) size = std::max<int64_t>(size, 1);
  const RandomValue x = LeafOf(RandomLiteral(Shape(type, dims), LiteralStyle::kFinite, random_));
  const Dims one = {dims[feature]};
  const auto leaf = [&](LiteralStyle style) { return LeafOf(RandomLiteral(Shape(type, one), style, random_)).op; };
  const Op scale = leaf(LiteralStyle::kFinite), offset = leaf(LiteralStyle::kFinite);
  // Values and variances are at most about 8; each of the count of sums may bring an ulp.
  const double count = static_cast<double>(x.literal->size());
  const ErrorBound error = Rounded(type, 64 * (count + 8), 0);
  if (Chance(40)) {
    Keep(b_.BatchNormInference(x.op, scale, offset, leaf(LiteralStyle::kFinite), leaf(LiteralStyle::kPositive), 0.5f,
                               feature),
         error);
    return;
  }
  Op both;
  if (Chance(60)) {
    both = b_.BatchNormTraining(x.op, scale, offset, 0.5f, feature);
  } else {
    const Op mean = leaf(LiteralStyle::kFinite), variance = leaf(LiteralStyle::kPositive);
    const Op grad = LeafOf(RandomLiteral(Shape(type, dims), LiteralStyle::kFinite, random_)).op;
    both = b_.BatchNormGrad(x.op, scale, mean, variance, grad, 0.5f, feature);
  }
  if (!Evaluate(both)) return;
  for (int i = 0; i < 3; ++i) {
    if (Chance(60)) Element(both, i, error);
  }
}

void ModuleGenerator::RandomBits() {
  const auto algorithm = OneOf({RandomAlgorithm::kDefault, RandomAlgorithm::kPhilox, RandomAlgorithm::kThreeFry});
  const RandomValue state = LeafOf(RandomLiteral(Shape(E::kU64, {2}), LiteralStyle::kAny, random_));
  const E type = OneOf({E::kU32, E::kU64, E::kU8, E::kU16, E::kS32});
  const Op both = b_.RngBitGenerator(algorithm, state.op, Shape(type, SomeDims()));
  if (!Evaluate(both)) return;
  Element(both, 1);
  if (Chance(40)) Element(both, 0);
}

}  // namespace xc
