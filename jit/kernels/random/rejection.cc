// Host kernels of random numbers that are drawn by rejection (gamma, Poisson, binomial) and of shuffling by a key, with
// the bits of TensorFlow's CPU kernels: every value has a stretch of the Philox stream to itself.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "jit/kernels/random/philox.h"

namespace xc {
namespace {

constexpr uint64_t kBlocksPerValue = 256, kBlocksPerSmallBinomial = 42;
constexpr int kMostRejections = 10000;  // far more than parameters that have values ever need

// Doubles of a stream, each block giving its second one first.
class Draws {
 public:
  explicit Draws(Philox stream) : stream_(stream) {}

  double Uniform() { return Take(false, uniform_, &uniforms_); }
  double Normal() { return Take(true, normal_, &normals_); }

 private:
  double Take(bool normal, double values[2], int* left) {
    if (*left == 0) {
      uint32_t w[4];
      double out[4];
      stream_.Next(w);
      *left = Values<double>(w, normal, out);
      std::copy(out, out + 2, values);
    }
    return values[--*left];
  }

  Philox stream_;
  double uniform_[2], normal_[2];
  int uniforms_ = 0, normals_ = 0;
};

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. A shape below 1 takes the value of the
// shape plus 1, times a power of a uniform value.
double Gamma(double shape, Draws draws) {
  if (shape == 1) return -std::log1p(-draws.Uniform());
  const bool boosted = shape < 1;
  const double d = shape + (boosted ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / std::sqrt(d);
  if (std::isinf(d)) return d;
  for (int tries = 0; d > 0 && tries < kMostRejections; ++tries) {
    const double x = draws.Normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = draws.Uniform();
    if (u >= 1 - 0.0331 * (x * x) * (x * x) && std::log(u) >= 0.5 * x * x + d * (1 - v + std::log(v))) continue;
    return boosted ? d * v * std::pow(draws.Uniform(), 1 / shape) : d * v;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// Knuth's product of uniform values for small rates, else Hörmann's transformed rejection PTRS ("The transformed
// rejection method for generating Poisson random variables", 1993). Values are at most `most`.
double Poisson(double rate, double most, Draws draws) {
  if (rate < 10) {
    const double enough = std::exp(-rate);
    double product = 1, x = 0;
    while (true) {
      product *= draws.Uniform();
      if (product <= enough && x <= most) return x;
      x += 1;
    }
  }
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (int tries = 0; std::isfinite(rate) && tries < kMostRejections; ++tries) {
    const double u = draws.Uniform() - 0.5, v = draws.Uniform(), shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (k > most) continue;
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    const double s = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    if (s <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// What Stirling's formula for log k! leaves out.
double StirlingRest(double k) {
  static constexpr double kSmall[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kSmall[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// For p of at most a half: Hörmann's BTRS ("The generation of binomial random variates", 1993) where ten or more
// successes are expected, else sums of geometric values.
bool IsSmall(double count, double p) { return count * p < 10; }

double BinomialBelowHalf(double count, double p, Draws& draws) {
  if (IsSmall(count, p)) {
    double sum = 0, found = 0;
    while (true) {
      sum += std::ceil(std::log(draws.Uniform()) / std::log1p(-p));
      if (sum > count) return found;
      found += 1;
    }
  }
  const double deviation = std::sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5, odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation, m = std::floor((count + 1) * p);
  for (int tries = 0; tries < kMostRejections; ++tries) {
    const double u = draws.Uniform() - 0.5, drawn = draws.Uniform(), shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + c);
    if (shifted >= 0.07 && drawn <= 0.92 - 4.2 / b) return k;
    if (k < 0 || k > count) continue;
    const double v = std::log(drawn * alpha / (a / (shifted * shifted) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (odds * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + StirlingRest(m) +
                         StirlingRest(count - m) - StirlingRest(k) - StirlingRest(count - k);
    if (v <= bound) return k;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double Binomial(double count, double p, Draws draws) {
  if (!std::isfinite(count) || std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (p <= 0.5) return BinomialBelowHalf(count, p, draws);
  return count - BinomialBelowHalf(count, 1 - p, draws);
}

// Element i of `t` is `value`, rounded to its type; an integer that is no number is the least one.
void Store(Tensor& t, int64_t i, double value) {
  if (IsFloating(t.dtype())) return StoreDouble(t, i, value);
  const bool narrow = t.dtype() == DT_INT32;
  const int64_t least = narrow ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  StoreInt(t, i, std::isnan(value) ? least : static_cast<int64_t>(value));
}

double Largest(DataType type) {
  switch (type) {
    case DT_HALF:
      return 65504;
    case DT_INT32:
      return std::numeric_limits<int32_t>::max();
    case DT_INT64:
      return static_cast<double>(std::numeric_limits<int64_t>::max());
    case DT_DOUBLE:
      return std::numeric_limits<double>::max();
    default:
      return static_cast<double>(std::numeric_limits<float>::max());
  }
}

bool CanStore(DataType type) { return IsFloating(type) || type == DT_INT32 || type == DT_INT64; }

// The stream of a stateless op: of a seed of two numbers at operand `at`, or of a key and a counter there.
absl::StatusOr<Philox> StatelessStream(KernelContext& c, int at, bool keyed) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> first, c.Ints(at));
  if (!keyed) {
    if (first.size() != 2) return c.Error("seed must have two elements");
    return Philox::FromSeed(first[0], first[1]);
  }
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> counter, c.Ints(at + 1));
  XC_ASSIGN_OR_RETURN(int64_t algorithm, c.Int(at + 2));
  if (first.size() != 1 || counter.size() < 2) return c.Error("key must have one element and counter two");
  if (algorithm != 1 && algorithm != 3) return c.Error("only the Philox algorithm is there");
  return Philox{static_cast<uint64_t>(first[0]), static_cast<uint64_t>(counter[0]), static_cast<uint64_t>(counter[1])};
}

// Samples for each of the `rates` parameters, whose shape the result's ends with: value i of the stream is sample
// i % samples of parameter i / samples, and begins at block i * blocks(parameter).
template <typename Blocks, typename Draw>
void DrawAll(Philox stream, int64_t rates, Tensor& out, Blocks blocks, Draw draw) {
  const int64_t samples = rates == 0 ? 0 : out.num_elements() / rates;
  for (int64_t rate = 0; rate < rates; ++rate) {
    for (int64_t i = 0; i < samples; ++i) {
      Philox own = stream;
      own.Skip(blocks(rate) * static_cast<uint64_t>(rate * samples + i));
      Store(out, i * rates + rate, draw(rate, Draws(own)));
    }
  }
}

bool EndsWith(const Dims& dims, const Dims& tail) {
  return tail.size() <= dims.size() && std::equal(tail.begin(), tail.end(), dims.end() - tail.size());
}

// Gamma or Poisson numbers; the parameter is the last operand. The stateful ones add its shape to the one given.
template <bool kGamma>
absl::Status OneParameter(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(0));
  const bool stateless = c.num_inputs() > 2;
  const Tensor& parameter = c.in(c.num_inputs() - 1);
  if (!stateless) dims.insert(dims.end(), parameter.dims().begin(), parameter.dims().end());
  if (!EndsWith(dims, parameter.dims())) {
    return c.Error(absl::StrCat("the shape ", DimsToString(dims), " must end with that of the parameter, ",
                                DimsToString(parameter.dims())));
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  if (!CanStore(out.dtype())) return c.Error("there are no such numbers of that type");
  XC_ASSIGN_OR_RETURN(std::vector<double> values, parameter.AsDoubles());
  Philox stream;
  if (stateless) {
    XC_ASSIGN_OR_RETURN(stream, StatelessStream(c, 1, c.num_inputs() > 3));
  } else {
    XC_ASSIGN_OR_RETURN(stream, ReserveBlocks(c, kBlocksPerValue * static_cast<uint64_t>(out.num_elements())));
  }
  const double most = Largest(out.dtype());
  DrawAll(
      stream, parameter.num_elements(), out, [](int64_t) { return kBlocksPerValue; },
      [&](int64_t rate, Draws draws) {
        return kGamma ? Gamma(values[rate], draws) : Poisson(values[rate], most, draws);
      });
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status StatelessBinomial(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(0));
  absl::StatusOr<Dims> both = BroadcastDims(c.in(2).dims(), c.in(3).dims());
  if (!both.ok()) return c.Error(std::string(both.status().message()));
  if (!EndsWith(dims, *both)) {
    return c.Error(
        absl::StrCat("the shape ", DimsToString(dims), " must end with that of the parameters, ", DimsToString(*both)));
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  if (!CanStore(out.dtype())) return c.Error("there are no such numbers of that type");
  XC_ASSIGN_OR_RETURN(std::vector<double> counts, c.in(2).AsDoubles());
  XC_ASSIGN_OR_RETURN(std::vector<double> chances, c.in(3).AsDoubles());
  XC_ASSIGN_OR_RETURN(Philox stream, StatelessStream(c, 1, false));
  std::vector<int64_t> count = BroadcastElements(c.in(2).dims(), *both);
  std::vector<int64_t> chance = BroadcastElements(c.in(3).dims(), *both);
  auto blocks = [&](int64_t rate) {
    const double p = chances[chance[rate]];
    return IsSmall(counts[count[rate]], std::min(p, 1 - p)) ? kBlocksPerSmallBinomial : kBlocksPerValue;
  };
  DrawAll(stream, static_cast<int64_t>(count.size()), out, blocks,
          [&](int64_t rate, Draws draws) { return Binomial(counts[count[rate]], chances[chance[rate]], draws); });
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status StatelessShuffle(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Philox stream, StatelessStream(c, 1, true));
  return ShuffleRows(c, stream);
}

}  // namespace

void RegisterRejectionKernels(KernelRegistry& r) {
  r.Add({"RandomGamma", "StatelessRandomGammaV2", "StatelessRandomGammaV3"}, OneParameter<true>, false);
  r.Add({"RandomPoissonV2", "StatelessRandomPoisson"}, OneParameter<false>, false);
  r.Add({"StatelessRandomBinomial"}, StatelessBinomial, false);
  r.Add({"StatelessShuffle"}, StatelessShuffle, false);
}

}  // namespace xc
