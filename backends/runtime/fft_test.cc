// Transforms of many lengths, ranks and kinds against the definition, forth and back, and on any number of threads.
#include "backends/runtime/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "backends/runtime/fft_plan.h"

namespace xc {
namespace {

using Complex = std::complex<double>;

// The definition, along one axis of [outer][n][inner].
std::vector<Complex> Naive(const std::vector<Complex>& in, int64_t outer, int64_t n, int64_t inner, bool inverse) {
  std::vector<Complex> out(in.size()), roots(n);
  for (int64_t k = 0; k < n; ++k) roots[k] = std::polar(1.0, (inverse ? 2 : -2) * M_PI * k / n);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = 0; i < inner; ++i) {
        Complex sum = 0;
        for (int64_t j = 0; j < n; ++j) sum += in[(o * n + j) * inner + i] * roots[j * k % n];
        out[(o * n + k) * inner + i] = inverse ? sum / static_cast<double>(n) : sum;
      }
    }
  }
  return out;
}

std::vector<Complex> NaiveAll(std::vector<Complex> x, const FftDesc& d, bool inverse) {
  int64_t inner = 1;
  for (int axis = d.rank - 1; axis >= 0; --axis) {
    int64_t outer = d.batch;
    for (int i = 0; i < axis; ++i) outer *= d.length[i];
    x = Naive(x, outer, d.length[axis], inner, inverse);
    inner *= d.length[axis];
  }
  return x;
}

FftDesc MakeDesc(FftKind type, bool is_double, int64_t batch, const std::vector<int64_t>& lengths) {
  FftDesc d;
  d.type = static_cast<int>(type);
  d.is_double = is_double;
  d.rank = lengths.size();
  d.batch = batch;
  std::copy(lengths.begin(), lengths.end(), d.length);
  return d;
}

// The first half of the last axis, as kRfft gives it.
std::vector<Complex> Half(const std::vector<Complex>& x, int64_t last) {
  std::vector<Complex> out;
  for (size_t row = 0; row < x.size() / last; ++row) {
    for (int64_t i = 0; i <= last / 2; ++i) out.push_back(x[row * last + i]);
  }
  return out;
}

template <typename T>
void ExpectNear(const std::vector<std::complex<T>>& got, const std::vector<Complex>& want, const FftDesc& d) {
  double error = 0, norm = 1e-30;
  for (size_t i = 0; i < want.size(); ++i) {
    error += std::norm(Complex(got[i]) - want[i]);
    norm += std::norm(want[i]);
  }
  EXPECT_LT(std::sqrt(error / norm), sizeof(T) == 4 ? 1e-6 : 1e-14)
      << "type " << d.type << " batch " << d.batch << " length " << d.length[0] << "," << d.length[1] << ","
      << d.length[2];
}

template <typename T>
void Check(RunContext* ctx, int64_t batch, const std::vector<int64_t>& lengths) {
  const bool is_double = sizeof(T) == 8;
  int64_t n = batch;
  for (int64_t length : lengths) n *= length;
  const int64_t last = lengths.back();
  std::mt19937 random(n);
  std::normal_distribution<double> normal;
  std::vector<Complex> x(n), real(n);
  for (Complex& v : x) v = Complex(static_cast<T>(normal(random)), static_cast<T>(normal(random)));
  for (Complex& v : real) v = static_cast<T>(normal(random));

  std::vector<std::complex<T>> in(x.begin(), x.end()), out(n);
  FftDesc d = MakeDesc(FftKind::kFft, is_double, batch, lengths);
  ASSERT_EQ(xc_rt_fft(ctx, &d, in.data(), out.data()), 0);
  ExpectNear(out, NaiveAll(x, d, false), d);
  d = MakeDesc(FftKind::kIfft, is_double, batch, lengths);
  ASSERT_EQ(xc_rt_fft(ctx, &d, in.data(), in.data()), 0);  // in place
  ExpectNear(in, NaiveAll(x, d, true), d);

  std::vector<T> real_in(n), real_out(n);
  for (int64_t i = 0; i < n; ++i) real_in[i] = static_cast<T>(real[i].real());
  d = MakeDesc(FftKind::kRfft, is_double, batch, lengths);
  const std::vector<Complex> spectrum = Half(NaiveAll(real, d, false), last);
  std::vector<std::complex<T>> half(spectrum.size());
  ASSERT_EQ(xc_rt_fft(ctx, &d, real_in.data(), half.data()), 0);
  ExpectNear(half, spectrum, d);
  if (lengths.size() == 1) {  // parts that a real signal does not have are ignored
    for (int64_t row = 0; row < batch; ++row) {
      half[row * (last / 2 + 1)].imag(7);
      if (last % 2 == 0) half[row * (last / 2 + 1) + last / 2].imag(9);
    }
  }
  d = MakeDesc(FftKind::kIrfft, is_double, batch, lengths);
  ASSERT_EQ(xc_rt_fft(ctx, &d, half.data(), real_out.data()), 0);
  std::vector<std::complex<T>> back(real_out.begin(), real_out.end());
  ExpectNear(back, real, d);
}

TEST(Fft, Lengths) {
  auto executor = NewThreadPoolExecutor(2);
  RunContext ctx(nullptr, executor.get());
  for (int64_t n = 1; n <= 70; ++n) {
    for (int64_t batch : {1, 3, 19}) {
      Check<float>(&ctx, batch, {n});
      Check<double>(&ctx, batch, {n});
    }
  }
  for (int64_t n : {97, 128, 210, 211, 243, 256, 360, 509, 512, 625, 1000, 1009, 1024, 1155, 1369}) {
    Check<float>(&ctx, 1, {n});
    Check<float>(&ctx, 2, {n});
    Check<double>(&ctx, 1, {n});
  }
}

TEST(Fft, Ranks) {
  auto executor = NewThreadPoolExecutor(2);
  RunContext ctx(nullptr, executor.get());
  for (const auto& lengths :
       std::vector<std::vector<int64_t>>{{3, 4}, {16, 16}, {5, 1}, {1, 6}, {37, 20}, {2, 3, 4}, {8, 5, 9}, {1, 1, 7}}) {
    for (int64_t batch : {1, 2}) {
      Check<float>(&ctx, batch, lengths);
      Check<double>(&ctx, batch, lengths);
    }
  }
}

TEST(Fft, LongLines) {
  // One exponential has one peak; a line this long goes through the two-step way.
  auto executor = NewThreadPoolExecutor(3);
  for (int64_t n : {16384, 46656, 65536 * 3}) {
    std::vector<std::complex<double>> in(n), out(n), again(n);
    const int64_t peak = n / 3 + 1;
    for (int64_t i = 0; i < n; ++i) {
      double re, im;
      UnitRoot(i * peak % n, n, &re, &im);
      in[i] = Complex(re, -im);
    }
    RunContext ctx(nullptr, executor.get()), single;
    FftDesc d = MakeDesc(FftKind::kFft, true, 1, {n});
    ASSERT_EQ(xc_rt_fft(&ctx, &d, in.data(), out.data()), 0);
    for (int64_t i = 0; i < n; ++i) ASSERT_LT(std::abs(out[i] - (i == peak ? double(n) : 0.0)), 1e-12 * n) << i;
    ASSERT_EQ(xc_rt_fft(&single, &d, in.data(), again.data()), 0);
    EXPECT_EQ(std::memcmp(out.data(), again.data(), n * sizeof(Complex)), 0);
    d.type = static_cast<int>(FftKind::kIfft);
    ASSERT_EQ(xc_rt_fft(&ctx, &d, out.data(), out.data()), 0);
    for (int64_t i = 0; i < n; ++i) ASSERT_LT(std::abs(out[i] - in[i]), 1e-12) << i;
  }
}

std::vector<const FftKernels*> AllKernels() {
  std::vector<const FftKernels*> all = {&fft_v2::kKernels};
  if (&BestFftKernels() != &fft_v2::kKernels) all.push_back(&fft_v3::kKernels);
  if (&BestFftKernels() == &fft_v4::kKernels) all.push_back(&fft_v4::kKernels);
  return all;
}

template <typename T>
void CheckMoves(const FftKernel<T>& kernel) {
  const int64_t n = 21, lanes = kernel.lanes, line = n + 2;
  std::vector<T> in(2 * lanes * line), re(n * lanes), im(n * lanes), out(in.size(), 0);
  std::iota(in.begin(), in.end(), T{1});
  for (const int64_t count : {lanes, lanes / 2 + 1, int64_t{1}}) {
    out.assign(out.size(), 0);
    kernel.moves->gather_lines(in.data(), line, count, n, re.data(), im.data());
    for (int64_t i = 0; i < n * lanes; ++i) {
      const int64_t at = 2 * (i % lanes * line + i / lanes);
      ASSERT_EQ(re[i], i % lanes < count ? in[at] : 0) << i;
      ASSERT_EQ(im[i], i % lanes < count ? in[at + 1] : 0) << i;
    }
    kernel.moves->scatter_lines(re.data(), im.data(), n, 2, out.data(), line, count);
    for (int64_t i = 0; i < 2 * lanes * line; ++i) {
      ASSERT_EQ(out[i], i < 2 * count * line && i % (2 * line) < 2 * n ? 2 * in[i] : 0) << i;
    }
    // As lines of real numbers, an odd number of them apart.
    const int64_t reals = line + 2;
    out.assign(out.size(), 0);
    kernel.moves->gather_reals(in.data(), reals, count, n, re.data());
    for (int64_t i = 0; i < n * lanes; ++i) {
      ASSERT_EQ(re[i], i % lanes < count ? in[i % lanes * reals + i / lanes] : 0) << i;
    }
    kernel.moves->scatter_reals(re.data(), n, 2, out.data(), reals, count);
    for (int64_t i = 0; i < lanes * reals; ++i) {
      ASSERT_EQ(out[i], i < count * reals && i % reals < n ? 2 * in[i] : 0) << i;
    }
  }
  out.assign(out.size(), 0);
  // The same numbers as columns of `lanes`, `lanes` and a half apart.
  const int64_t stride = lanes + lanes / 2, rows = in.size() / 2 / stride;
  kernel.moves->gather_columns(in.data(), stride, rows, re.data(), im.data());
  for (int64_t i = 0; i < rows * lanes; ++i) {
    const int64_t at = 2 * (i / lanes * stride + i % lanes);
    ASSERT_EQ(re[i], in[at]) << i;
    ASSERT_EQ(im[i], in[at + 1]) << i;
  }
  out.assign(out.size(), 0);
  kernel.moves->scatter_columns(re.data(), im.data(), rows, 3, out.data(), stride);
  for (int64_t i = 0; i < 2 * rows * stride; ++i) {
    ASSERT_EQ(out[i], i % (2 * stride) < 2 * lanes ? 3 * in[i] : 0) << i;
  }
}

TEST(Fft, MovesOfEveryInstructionSet) {
  for (const FftKernels* kernels : AllKernels()) {
    CheckMoves(kernels->f32);
    CheckMoves(kernels->f64);
  }
}

TEST(Fft, EveryInstructionSet) {
  for (int64_t n : {8, 60, 77, 37, 403, 1111, 1808}) {
    const auto plan = GetFftPlan<double>(n);
    std::mt19937 random(n);
    std::vector<Complex> x(n);
    for (Complex& v : x) v = Complex(random() % 100, random() % 100);
    const std::vector<Complex> want = Naive(x, 1, n, 1, false);
    for (const FftKernels* kernels : AllKernels()) {
      std::vector<double> re(n), im(n), scratch(FftScratch(plan->plan));
      for (int64_t i = 0; i < n; ++i) {
        re[i] = x[i].real();
        im[i] = x[i].imag();
      }
      kernels->f64.run(plan->plan, re.data(), im.data(), scratch.data(), 1);
      for (int64_t i = 0; i < n; ++i) EXPECT_LT(std::abs(Complex(re[i], im[i]) - want[i]), 1e-9);
    }
  }
}

// Several lines of odd lengths whose factors leave a prime or nothing, in whole vectors and in shorter ones.
TEST(Fft, OddLengthsOfSeveralLines) {
  RunContext ctx;
  for (int64_t n : {111, 243, 333, 627, 925, 1015, 1155}) {
    for (int64_t batch : {5, 11}) {
      Check<float>(&ctx, batch, {n});
      Check<double>(&ctx, batch, {n});
    }
  }
}

// A prime that many short sums share needs no chirp; a prime length does.
TEST(Fft, OneLargeRadix) {
  EXPECT_EQ(GetFftPlan<double>(9999)->plan.inner, nullptr);
  EXPECT_EQ(GetFftPlan<double>(2 * 16 * 211)->plan.inner, nullptr);
  EXPECT_NE(GetFftPlan<double>(509)->plan.inner, nullptr);
  EXPECT_NE(GetFftPlan<double>(37 * 41 * 43)->plan.inner, nullptr);
}

TEST(Fft, EmptyAndWrong) {
  RunContext ctx;
  EXPECT_TRUE(Fft(&ctx, MakeDesc(FftKind::kFft, false, 0, {4}), nullptr, nullptr).ok());
  EXPECT_TRUE(Fft(&ctx, MakeDesc(FftKind::kFft, false, 3, {0}), nullptr, nullptr).ok());
  FftDesc d = MakeDesc(FftKind::kFft, false, 1, {4});
  d.rank = 4;
  EXPECT_EQ(Fft(&ctx, d, nullptr, nullptr).message(), "fft: type 0, rank 4, batch 1");
}

}  // namespace
}  // namespace xc
