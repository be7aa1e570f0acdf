// Fourier transforms of few points in their plainest form: a thread sums all points for each element of the result, in
// double precision. Results go through scratch memory, since they may lie where the operand does.
#include "absl/strings/str_cat.h"
#include "backends/codegen/math_builder.h"
#include "backends/gpu/emitter_impl.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

using codegen::Loop;
using codegen::MathBuilder;
using V = llvm::Value*;

constexpr double kTwoPi = 6.28318530717958647692;

FftKind KindOf(const FftDesc& desc) { return static_cast<FftKind>(desc.type); }

// Sizes of the arrays: the last dimension's complex side is half as long where the other side is real.
std::vector<int64_t> SidesOf(const FftDesc& desc, bool half) {
  std::vector<int64_t> sizes(desc.length, desc.length + desc.rank);
  if (half) sizes.back() = sizes.back() / 2 + 1;
  return sizes;
}

int64_t Product(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

int64_t PartsOfResult(const FftDesc& desc) {
  const FftKind kind = KindOf(desc);
  return desc.batch * Product(SidesOf(desc, kind == FftKind::kRfft)) * (kind == FftKind::kIrfft ? 1 : 2);
}

}  // namespace

int64_t FftScratchBytes(const FftDesc& desc) { return PartsOfResult(desc) * (desc.is_double ? 8 : 4); }

absl::Status EmitFft(KernelFunction& f, const FftDesc& desc) {
  constexpr int64_t kMostPoints = 4096;
  const FftKind kind = KindOf(desc);
  const std::vector<int64_t> in = SidesOf(desc, kind == FftKind::kIrfft), out = SidesOf(desc, kind == FftKind::kRfft);
  const int64_t points = Product(SidesOf(desc, false));
  if (points > kMostPoints) {
    return absl::UnimplementedError(
        absl::StrCat("there is no kernel for transforms of more than ", kMostPoints, " points"));
  }
  const bool inverse = kind == FftKind::kIfft || kind == FftKind::kIrfft;
  return f.ForEach(desc.batch * Product(out), [&](V number) -> absl::Status {
    auto& b = f.b();
    MathBuilder m(b, b.getDoubleTy(), /*fma=*/true);
    llvm::Type* const scalar = desc.is_double ? b.getDoubleTy() : b.getFloatTy();
    V rest = number;
    std::vector<V> k(desc.rank);
    for (int d = desc.rank; d-- > 0;) {
      k[d] = b.CreateURem(rest, f.Index(out[d]));
      rest = b.CreateUDiv(rest, f.Index(out[d]));
    }
    V first = b.CreateMul(rest, f.Index(Product(in)));
    Loop loop(b, f.Index(0), f.Index(Product(in)), 1, "points");
    V re = loop.Carry(m.F(0)), im = loop.Carry(m.F(0));
    V place = b.CreateAdd(first, loop.index());
    const auto load = [&](V at) {
      V value = b.CreateLoad(scalar, b.CreateGEP(scalar, f.argument(0), at));
      return desc.is_double ? value : b.CreateFPExt(value, m.type);
    };
    V x_re, x_im = m.F(0);
    if (kind == FftKind::kRfft) {
      x_re = load(place);
    } else {
      x_re = load(b.CreateMul(place, f.Index(2)));
      x_im = load(b.CreateAdd(b.CreateMul(place, f.Index(2)), f.Index(1)));
    }
    // The turns of the point's factor: a sum over the dimensions, each less than one.
    V turns = m.F(0), left = loop.index();
    V last = nullptr;
    for (int d = desc.rank; d-- > 0;) {
      V j = b.CreateURem(left, f.Index(in[d]));
      left = b.CreateUDiv(left, f.Index(in[d]));
      if (d == desc.rank - 1) last = j;
      V step = b.CreateURem(b.CreateMul(j, k[d]), f.Index(desc.length[d]));
      turns = m.Add(turns, m.Div(b.CreateUIToFP(step, m.type), m.F(static_cast<double>(desc.length[d]))));
    }
    const codegen::SinCos factor = codegen::EmitSinCosOfDouble(m, m.Mul(turns, m.F(inverse ? kTwoPi : -kTwoPi)));
    if (kind == FftKind::kIrfft) {
      // The points of the other half are the conjugates of these: twice the real part, but for those that have no
      // counterpart.
      V alone = b.CreateICmpEQ(last, f.Index(0));
      if (desc.length[desc.rank - 1] % 2 == 0) {
        alone = b.CreateOr(alone, b.CreateICmpEQ(last, f.Index(desc.length[desc.rank - 1] / 2)));
      }
      V weight = m.Select(alone, m.F(1), m.F(2));
      x_re = m.Mul(x_re, weight);
      x_im = m.Mul(x_im, weight);
    }
    loop.SetNext(0, m.Fma(x_re, factor.cos, m.Fma(m.Neg(x_im), factor.sin, re)));
    loop.SetNext(1, m.Fma(x_re, factor.sin, m.Fma(x_im, factor.cos, im)));
    loop.End();
    const auto store = [&](V value, V at) {
      if (inverse) value = m.Div(value, m.F(static_cast<double>(points)));
      if (!desc.is_double) value = b.CreateFPTrunc(value, scalar);
      b.CreateStore(value, b.CreateGEP(scalar, f.argument(1), at));
    };
    if (kind == FftKind::kIrfft) {
      store(loop.Result(0), number);
    } else {
      store(loop.Result(0), b.CreateMul(number, f.Index(2)));
      store(loop.Result(1), b.CreateAdd(b.CreateMul(number, f.Index(2)), f.Index(1)));
    }
    return absl::OkStatus();
  });
}

absl::Status EmitFftResult(KernelFunction& f, const FftDesc& desc) {
  return f.ForEach(PartsOfResult(desc), [&](V number) -> absl::Status {
    auto& b = f.b();
    llvm::Type* const scalar = desc.is_double ? b.getInt64Ty() : b.getInt32Ty();
    V value = b.CreateLoad(scalar, b.CreateGEP(scalar, f.argument(1), number));
    b.CreateStore(value, b.CreateGEP(scalar, f.argument(0), number));
    return absl::OkStatus();
  });
}

}  // namespace xc::gpu
