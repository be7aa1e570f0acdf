// Fourier transforms in passes, of which each is a kernel (Stockham's order, which needs no sorting): a pass multiplies
// the length of what is transformed along one dimension by its radix. A thread sums as many terms as the radix for each
// element. All is computed in double precision, and between passes kept so, as complex numbers in scratch memory.
#include <algorithm>
#include <functional>

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

// The place of a position in a row-major array.
V PlaceOf(KernelFunction& f, V batch, const std::vector<V>& position, const std::vector<int64_t>& sizes) {
  auto& b = f.b();
  V place = batch;
  for (size_t d = 0; d < sizes.size(); ++d) place = b.CreateAdd(b.CreateMul(place, f.Index(sizes[d])), position[d]);
  return place;
}

// The code of one pass.
class Pass {
 public:
  Pass(KernelFunction& f, const FftDesc& desc, const FftPass& pass)
      : f_(f),
        b_(f.b()),
        m_(f.b(), f.b().getDoubleTy(), /*fma=*/true),
        desc_(desc),
        pass_(pass),
        kind_(KindOf(desc)),
        whole_(SidesOf(desc, false)) {}

  absl::Status Write() {
    const std::vector<int64_t> out = SidesOf(desc_, pass_.last && kind_ == FftKind::kRfft);
    return f_.ForEach(desc_.batch * Product(out), [&](V number) -> absl::Status {
      V batch = number;
      std::vector<V> position(out.size());
      for (size_t d = out.size(); d-- > 0;) {
        position[d] = b_.CreateURem(batch, f_.Index(out[d]));
        batch = b_.CreateUDiv(batch, f_.Index(out[d]));
      }
      const Complex sum = Sum(batch, position);
      pass_.last ? StoreResult(sum, number) : StoreScratch(sum, number);
      return absl::OkStatus();
    });
  }

 private:
  struct Complex {
    V re, im;
  };

  // With `done` points transformed, element j * (length / done) + q of the dimension is point j of the transform of
  // every (length / done)th element from q on.
  Complex Sum(V batch, const std::vector<V>& position) {
    const int64_t length = whole_[pass_.dimension];
    const int64_t joined = pass_.done * pass_.radix, apart = length / joined;
    V j = b_.CreateUDiv(position[pass_.dimension], f_.Index(apart));
    V q = b_.CreateURem(position[pass_.dimension], f_.Index(apart));
    V from = b_.CreateAdd(b_.CreateMul(b_.CreateURem(j, f_.Index(pass_.done)), f_.Index(length / pass_.done)), q);
    V wide_j = b_.CreateZExt(j, b_.getInt64Ty());
    Loop loop(b_, f_.Index(0), f_.Index(pass_.radix), 1, "terms");
    V re = loop.Carry(m_.F(0)), im = loop.Carry(m_.F(0));
    std::vector<V> term = position;
    term[pass_.dimension] = b_.CreateAdd(from, b_.CreateMul(loop.index(), f_.Index(apart)));
    const Complex x = pass_.first ? LoadOperand(batch, term) : LoadScratch(PlaceOf(f_, batch, term, whole_));
    V steps = b_.CreateURem(b_.CreateMul(wide_j, b_.CreateZExt(loop.index(), b_.getInt64Ty())), b_.getInt64(joined));
    const double turn = (IsInverse() ? kTwoPi : -kTwoPi);
    V turns = m_.Div(b_.CreateUIToFP(steps, m_.type), m_.F(static_cast<double>(joined)));
    const codegen::SinCos factor = codegen::EmitSinCosOfDouble(m_, m_.Mul(turns, m_.F(turn)));
    loop.SetNext(0, m_.Fma(x.re, factor.cos, m_.Fma(m_.Neg(x.im), factor.sin, re)));
    loop.SetNext(1, m_.Fma(x.re, factor.sin, m_.Fma(x.im, factor.cos, im)));
    loop.End();
    return {loop.Result(0), loop.Result(1)};
  }

  Complex LoadOperand(V batch, std::vector<V> position) {
    if (kind_ == FftKind::kRfft) return {LoadScalar(PlaceOf(f_, batch, position, whole_)), m_.F(0)};
    if (kind_ != FftKind::kIrfft) return LoadPair(PlaceOf(f_, batch, position, whole_));
    // The points of the other half are the conjugates of their counterparts.
    const std::vector<int64_t> half = SidesOf(desc_, true);
    V mirrored = b_.CreateICmpUGE(position.back(), f_.Index(half.back()));
    for (size_t d = 0; d < position.size(); ++d) {
      V opposite = b_.CreateSub(f_.Index(whole_[d]), position[d]);
      opposite = b_.CreateSelect(b_.CreateICmpEQ(position[d], f_.Index(0)), f_.Index(0), opposite);
      position[d] = b_.CreateSelect(mirrored, opposite, position[d]);
    }
    const Complex x = LoadPair(PlaceOf(f_, batch, position, half));
    return {x.re, m_.Select(mirrored, m_.Neg(x.im), x.im)};
  }

  llvm::Type* Scalar() { return desc_.is_double ? b_.getDoubleTy() : b_.getFloatTy(); }
  V LoadScalar(V place) {
    V value = b_.CreateLoad(Scalar(), b_.CreateGEP(Scalar(), f_.argument(0), place));
    return desc_.is_double ? value : b_.CreateFPExt(value, m_.type);
  }
  Complex LoadPair(V place) {
    V twice = b_.CreateMul(place, f_.Index(2));
    return {LoadScalar(twice), LoadScalar(b_.CreateAdd(twice, f_.Index(1)))};
  }

  // Scratch memory is the last argument. Passes write to its halves in turn.
  V Scratch(V place, bool second_half, int64_t part) {
    V at = b_.CreateAdd(b_.CreateMul(place, f_.Index(2)), f_.Index(part));
    if (second_half) at = b_.CreateAdd(at, f_.Index(2 * desc_.batch * Product(whole_)));
    return b_.CreateGEP(m_.type, f_.argument(pass_.first || pass_.last ? 1 : 0), at);
  }
  Complex LoadScratch(V place) {
    const bool second_half = pass_.number % 2 == 0;
    return {b_.CreateLoad(m_.type, Scratch(place, second_half, 0)),
            b_.CreateLoad(m_.type, Scratch(place, second_half, 1))};
  }
  void StoreScratch(const Complex& value, V place) {
    const bool second_half = pass_.number % 2 == 1;
    b_.CreateStore(value.re, Scratch(place, second_half, 0));
    b_.CreateStore(value.im, Scratch(place, second_half, 1));
  }

  void StoreScalar(V value, V place) {
    if (IsInverse()) value = m_.Div(value, m_.F(static_cast<double>(Product(whole_))));
    if (!desc_.is_double) value = b_.CreateFPTrunc(value, Scalar());
    // The operand, in a pass that reads it, is the first argument.
    b_.CreateStore(value, b_.CreateGEP(Scalar(), f_.argument(pass_.first ? 1 : 0), place));
  }
  void StoreResult(const Complex& value, V number) {
    if (kind_ == FftKind::kIrfft) return StoreScalar(value.re, number);
    V twice = b_.CreateMul(number, f_.Index(2));
    StoreScalar(value.re, twice);
    StoreScalar(value.im, b_.CreateAdd(twice, f_.Index(1)));
  }

  bool IsInverse() const { return kind_ == FftKind::kIfft || kind_ == FftKind::kIrfft; }

  KernelFunction& f_;
  llvm::IRBuilder<>& b_;
  MathBuilder m_;
  const FftDesc& desc_;
  const FftPass& pass_;
  const FftKind kind_;
  const std::vector<int64_t> whole_;  // all points
};

// A prime factor of more terms would keep a device busy for as long as the host.
constexpr int64_t kMostTerms = 4096;

// Factors of `length`, of which each is at most `most`, a prime number, or above kMostTerms.
std::vector<int64_t> Radices(int64_t length, int64_t most) {
  std::vector<int64_t> radices;
  const auto add = [&](int64_t prime) {
    if (!radices.empty() && radices.back() * prime <= most) {
      radices.back() *= prime;
    } else {
      radices.push_back(prime);
    }
  };
  for (int64_t prime = 2; prime <= kMostTerms && prime * prime <= length; ++prime) {
    for (; length % prime == 0; length /= prime) add(prime);
  }
  if (length > 1) add(length);
  return radices;
}

}  // namespace

absl::StatusOr<std::vector<FftPass>> FftPasses(const FftDesc& desc, bool in_place) {
  // A term takes some dozen instructions, a start as long as thousands of threads compute.
  constexpr int64_t kFewPoints = 1 << 16, kMostOfFew = 64, kMostOfMany = 16;
  const int64_t points = desc.batch * Product(SidesOf(desc, false));
  std::vector<FftPass> passes;
  for (int d = desc.rank; d-- > 0;) {
    int64_t done = 1;
    for (int64_t radix : Radices(desc.length[d], points <= kFewPoints ? kMostOfFew : kMostOfMany)) {
      if (radix > kMostTerms) {
        return absl::UnimplementedError(absl::StrCat("there is no kernel for transforms of ", desc.length[d],
                                                     " points, which have a prime factor above ", kMostTerms));
      }
      passes.push_back({d, radix, done});
      done *= radix;
    }
  }
  // One of radix 1 moves what is there: to the result where nothing is to be transformed, and out of scratch memory.
  if (passes.empty() || (in_place && passes.size() == 1)) {
    passes.push_back({0, 1, passes.empty() ? 1 : desc.length[0]});
  }
  for (size_t i = 0; i < passes.size(); ++i) passes[i].number = static_cast<int>(i);
  passes.front().first = passes.back().last = true;
  return passes;
}

int64_t FftScratchBytes(const FftDesc& desc, const std::vector<FftPass>& passes) {
  const int64_t halves = std::min<int64_t>(2, static_cast<int64_t>(passes.size()) - 1);
  return halves * desc.batch * Product(SidesOf(desc, false)) * 2 * static_cast<int64_t>(sizeof(double));
}

absl::Status EmitFftPass(KernelFunction& f, const FftDesc& desc, const FftPass& pass) {
  return Pass(f, desc, pass).Write();
}

}  // namespace xc::gpu
