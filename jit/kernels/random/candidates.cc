// Host kernels of candidate samplers: classes drawn beside the true ones, and how often each is to be expected. The
// draws are those of TensorFlow's CPU kernels for the same seeds.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "jit/kernels/random/philox.h"

namespace xc {
namespace {

constexpr uint64_t kWordsPerSample = 2048;  // reserved for each sample, whatever it takes
constexpr int64_t kMaxReserved = int64_t{1} << 24;
constexpr int64_t kMaxTries = (int64_t{1} << 31) - 1;

// The stream word by word.
class Words {
 public:
  explicit Words(Philox stream) : stream_(stream) {}

  uint32_t Next() {
    if (used_ == 4) {
      stream_.Next(block_);
      used_ = 0;
    }
    return block_[used_++];
  }
  uint64_t NextWide() {
    const uint64_t low = Next();
    return low | uint64_t{Next()} << 32;
  }
  float UnitF32() { return UnitFloat(Next()); }
  double UnitF64() {
    const uint32_t first = Next();
    return UnitDouble(first, Next());
  }
  // Below `limit`, every number as likely as the others: what would favor small ones is drawn again.
  template <typename T>
  T Below(T limit) {
    auto draw = [&]() -> T {
      if constexpr (sizeof(T) == 8) return NextWide();
      return static_cast<T>(Next());
    };
    if ((limit & (limit - 1)) == 0) return draw() & (limit - 1);
    const T unfair = static_cast<T>(~T{0} % limit + 1);
    for (;;) {
      const T v = draw();
      if (v >= unfair) return v % limit;
    }
  }

 private:
  Philox stream_;
  uint32_t block_[4];
  int used_ = 4;
};

// A distribution over the classes below `range`.
struct Distribution {
  int64_t range = 0;
  std::function<int64_t(Words&)> draw;
  std::function<float(int64_t)> probability;
};

Distribution Uniform(int64_t range) {
  const float each = static_cast<float>(1.0 / static_cast<double>(range));
  return {range, [range](Words& w) { return static_cast<int64_t>(w.Below<uint64_t>(static_cast<uint64_t>(range))); },
          [each](int64_t) { return each; }};
}

// The frequencies of words by rank: class k has probability log((k + 2) / (k + 1)) / log(range + 1).
Distribution LogUniform(int64_t range) {
  const double whole = std::log1p(static_cast<double>(range));
  return {range,
          [=](Words& w) { return (static_cast<int64_t>(std::min(std::exp(w.UnitF64() * whole), 9e18)) - 1) % range; },
          [=](int64_t k) {
            const auto v = static_cast<double>(k);
            return static_cast<float>(std::log((v + 2) / (v + 1)) / whole);
          }};
}

// Given weights, drawn by Walker's aliases: each class fills its share of a column with itself, the rest with another.
absl::StatusOr<Distribution> Weighted(const KernelContext& c, int64_t range) {
  XC_ASSIGN_OR_RETURN(std::string file, c.node.String("vocab_file"));
  XC_ASSIGN_OR_RETURN(std::vector<float> unigrams, c.node.Floats("unigrams"));
  XC_ASSIGN_OR_RETURN(float distortion, c.node.Float("distortion"));
  XC_ASSIGN_OR_RETURN(int64_t reserved, c.node.Int("num_reserved_ids"));
  XC_ASSIGN_OR_RETURN(int64_t shards, c.node.Int("num_shards"));
  XC_ASSIGN_OR_RETURN(int64_t shard, c.node.Int("shard"));
  if (!file.empty()) return absl::UnimplementedError("weights from a vocabulary file; give them as unigrams");
  if (unigrams.empty()) return c.Error("there are no unigrams");
  if (shards < 1 || shard < 0 || shard >= shards) return c.Error("shard must be in [0, num_shards)");
  if (reserved < 0 || reserved > kMaxReserved) return c.Error("num_reserved_ids is out of range");
  std::vector<float> weights;
  float total = 0;
  for (int64_t id = 0; id < reserved; ++id) {
    if (id % shards == shard) weights.push_back(0);
  }
  auto id = static_cast<int64_t>(weights.size());
  for (float w : unigrams) {
    if (id++ % shards != shard) continue;
    weights.push_back(std::pow(w, distortion));
    total += weights.back();
  }
  const auto n = static_cast<int64_t>(weights.size());
  if (n != range) return c.Error(absl::StrCat("range is ", range, ", but there are ", n, " weights"));
  double sum = 0;
  for (float w : weights) sum += w;
  if (!(sum > 0) || !std::isfinite(sum)) return c.Error("the weights must be positive in sum");
  std::vector<double> share(n);
  std::vector<int64_t> other(n), low, high;
  for (int64_t i = 0; i < n; ++i) {
    if (!(weights[i] >= 0)) return c.Error("a weight is negative");
    share[i] = weights[i] * static_cast<double>(n) / sum;
    other[i] = i;
    (share[i] < 1 ? low : high).push_back(i);
  }
  while (!high.empty() && !low.empty()) {
    const int64_t less = low.back(), more = high.back();
    low.pop_back();
    high.pop_back();
    other[less] = more;
    share[more] -= 1 - share[less];
    (share[more] < 1 ? low : high).push_back(more);
  }
  for (int64_t i : low) share[i] = 1;
  for (int64_t i : high) share[i] = 1;
  auto draw = [=](Words& w) {
    const float at = w.UnitF32();
    const auto i = static_cast<int64_t>(w.Below<uint32_t>(static_cast<uint32_t>(n)));
    return at < static_cast<float>(share[i]) ? i : other[i];
  };
  return Distribution{range, draw, [=](int64_t k) { return weights[k] / total; }};
}

absl::StatusOr<Distribution> DistributionOf(const KernelContext& c, int64_t samples) {
  if (c.node.op == "AllCandidateSampler") return Distribution{samples, nullptr, nullptr};
  XC_ASSIGN_OR_RETURN(int64_t range, c.node.Int("range_max"));
  if (range < 1) return c.Error("range_max must be positive");
  if (c.node.op == "UniformCandidateSampler") return Uniform(range);
  if (c.node.op == "LogUniformCandidateSampler") return LogUniform(range);
  if (range > std::numeric_limits<int32_t>::max()) return c.Error("range_max is too large");
  return Weighted(c, range);
}

absl::Status SampleCandidates(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t samples, c.node.Int("num_sampled"));
  XC_ASSIGN_OR_RETURN(int64_t columns, c.node.Int("num_true"));
  XC_ASSIGN_OR_RETURN(bool unique, c.node.Bool("unique"));
  const Tensor& classes = c.in(0);
  if (samples < 1) return c.Error("num_sampled must be positive");
  if (classes.rank() != 2 || classes.dims()[1] != columns) {
    return c.Error(absl::StrCat("true_classes must be a matrix of ", columns, " columns, not ", classes.ShapeString()));
  }
  XC_ASSIGN_OR_RETURN(Distribution from, DistributionOf(c, samples));
  if (unique && samples > from.range) return c.Error("Sampler's range is too small.");
  const auto* given = classes.data<int64_t>();
  for (int64_t i = 0; i < classes.num_elements(); ++i) {
    if (given[i] >= 0 && given[i] < from.range) continue;
    return c.Error(absl::StrCat("`true_candidate` out of range [0, ", from.range, "), received ", given[i]));
  }
  XC_ASSIGN_OR_RETURN(Tensor drawn, c.Alloc(0, {samples}));
  XC_ASSIGN_OR_RETURN(Tensor true_counts, c.Alloc(1, classes.dims()));
  XC_ASSIGN_OR_RETURN(Tensor drawn_counts, c.Alloc(2, {samples}));
  XC_ASSIGN_OR_RETURN(Philox stream, ReserveBlocks(c, kWordsPerSample * static_cast<uint64_t>(samples) / 4));
  auto* picked = drawn.data<int64_t>();
  int64_t tries = 0;
  if (from.draw == nullptr) {
    for (int64_t i = 0; i < samples; ++i) picked[i] = i;
  } else {
    Words words(stream);
    absl::flat_hash_set<int64_t> used;
    for (int64_t found = 0; found < samples; ++tries) {
      if (tries == kMaxTries) return c.Error("some classes are too unlikely to be drawn");
      const int64_t k = from.draw(words);
      if (!unique || used.insert(k).second) picked[found++] = k;
    }
  }
  auto expected = [&](int64_t k) {
    if (from.draw == nullptr) return 1.0f;
    const float p = from.probability(k);
    if (tries == samples) return p * static_cast<float>(samples);
    // 1 - (1 - p)^tries
    return -std::expm1(static_cast<float>(tries) * std::log1p(-p));
  };
  for (int64_t i = 0; i < samples; ++i) drawn_counts.data<float>()[i] = expected(picked[i]);
  for (int64_t i = 0; i < classes.num_elements(); ++i) true_counts.data<float>()[i] = expected(given[i]);
  c.outputs[0] = std::move(drawn);
  c.outputs[1] = std::move(true_counts);
  c.outputs[2] = std::move(drawn_counts);
  return absl::OkStatus();
}

}  // namespace

void RegisterCandidateKernels(KernelRegistry& r) {
  r.Add(
      {"UniformCandidateSampler", "LogUniformCandidateSampler", "AllCandidateSampler", "FixedUnigramCandidateSampler"},
      SampleCandidates, false);
}

}  // namespace xc
