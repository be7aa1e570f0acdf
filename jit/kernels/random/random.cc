// Host kernels of stateful random numbers: Philox 4x32-10 with the bits of TensorFlow's CPU kernels. A node with seeds
// starts where they say and goes on from run to run of its session; one without starts anywhere.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <random>

#include "absl/strings/str_cat.h"
#include "jit/kernels/random/philox.h"
#include "jit/kernels/state/resources.h"

namespace xc {

namespace {

struct RandomStream : HostResource {
  RandomStream(int64_t seed, int64_t seed2) {
    std::random_device device;
    const bool seeded = seed != 0 || seed2 != 0;
    stream.key = seeded ? static_cast<uint64_t>(seed) : (uint64_t{device()} << 32) | device();
    stream.high = seeded ? static_cast<uint64_t>(seed2) : (uint64_t{device()} << 32) | device();
  }
  std::mutex mutex;
  Philox stream;
};

}  // namespace

absl::StatusOr<Philox> ReserveBlocks(KernelContext& c, uint64_t blocks) {
  static auto* without_session = new ResourceStore;
  XC_ASSIGN_OR_RETURN(int64_t seed, c.node.Int("seed"));
  XC_ASSIGN_OR_RETURN(int64_t seed2, c.node.Int("seed2"));
  const bool seeded = seed != 0 || seed2 != 0;
  ResourceStore& store = c.resources != nullptr ? *c.resources : *without_session;
  auto resource = store.Get(absl::StrCat("random stream ", seed, " ", seed2, " ", seeded ? c.node.name : ""),
                            [&] { return std::make_shared<RandomStream>(seed, seed2); });
  auto& found = static_cast<RandomStream&>(*resource);
  std::lock_guard<std::mutex> lock(found.mutex);
  Philox stream = found.stream;
  found.stream.Skip(blocks);
  return stream;
}

absl::Status ShuffleRows(KernelContext& c, Philox stream) {
  const Tensor& in = c.in(0);
  if (in.rank() < 1 || in.num_elements() <= 1 || in.dims()[0] <= 1) {
    c.outputs[0] = in;
    return absl::OkStatus();
  }
  int64_t rows = in.dims()[0], width = in.num_elements() / rows;
  if (rows > (int64_t{1} << 31)) return absl::UnimplementedError("so many rows");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, in.dims()));
  std::vector<int64_t> order(rows);
  for (int64_t i = 0; i < rows; ++i) order[i] = i;
  uint32_t w[4];
  for (int64_t i = 0; i + 1 < rows; ++i) {
    if (i % 4 == 0) stream.Next(w);
    std::swap(order[i], order[i + w[i % 4] % static_cast<uint32_t>(rows - i)]);
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < width; ++k) CopyElement(in, order[i] * width + k, out, i * width + k);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

std::vector<int64_t> BroadcastElements(const Dims& from, const Dims& to) {
  std::vector<int64_t> elements = {0};
  int64_t stride = 1;
  for (size_t back = 1; back <= to.size(); ++back) {
    const int64_t size = to[to.size() - back];
    const int64_t own = back <= from.size() ? from[from.size() - back] : 1;
    std::vector<int64_t> next;
    next.reserve(elements.size() * size);
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t e : elements) next.push_back(e + (own == 1 ? 0 : i * stride));
    }
    elements = std::move(next);
    stride *= own;
  }
  return elements;
}

namespace {

constexpr uint64_t kSamplesPerOutput = 256;  // reserved for each output, whatever it takes

// The stream for `outputs` values of this run of the node.
absl::StatusOr<Philox> Reserve(KernelContext& c, int64_t outputs) {
  return ReserveBlocks(c, (static_cast<uint64_t>(outputs) * kSamplesPerOutput + 3) / 4);
}

template <typename T, typename Store>
void Generate(Philox stream, int64_t count, bool normal, bool truncated, Store store) {
  constexpr int kGroup = sizeof(T) == 8 ? 2 : 4;
  uint32_t w[4];
  T values[4];
  for (int64_t first = 0; first < count; first += kGroup) {
    if (!truncated) {
      stream.Next(w);
      int n = Values<T>(w, normal, values);
      for (int i = 0; i < n && first + i < count; ++i) store(first + i, values[i]);
      continue;
    }
    // Each group takes the first values below 2 from its own stretch.
    Philox own = stream;
    own.Skip(static_cast<uint64_t>(first) * kSamplesPerOutput / 4);
    for (int found = 0; found < kGroup;) {
      own.Next(w);
      int n = Values<T>(w, true, values);
      for (int i = 0; i < n && found < kGroup; ++i) {
        if (std::abs(values[i]) >= 2) continue;
        if (first + found < count) store(first + found, values[i]);
        ++found;
      }
    }
  }
}

absl::Status RandomFloats(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(0));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  int64_t count = out.num_elements();
  XC_ASSIGN_OR_RETURN(Philox stream, Reserve(c, count));
  bool truncated = c.node.op == "TruncatedNormal", normal = truncated || c.node.op == "RandomStandardNormal";
  switch (out.dtype()) {
    case DT_FLOAT:
      Generate<float>(stream, count, normal, truncated, [&](int64_t i, float v) { out.data<float>()[i] = v; });
      break;
    case DT_DOUBLE:
      Generate<double>(stream, count, normal, truncated, [&](int64_t i, double v) { out.data<double>()[i] = v; });
      break;
    case DT_HALF:
    case DT_BFLOAT16: {
      bool half = out.dtype() == DT_HALF;
      auto narrow = [&](int64_t i, float v) { out.data<uint16_t>()[i] = half ? FloatToHalf(v) : FloatToBfloat16(v); };
      if (normal) {
        Generate<float>(stream, count, normal, truncated, narrow);
        break;
      }
      uint32_t w[4];
      for (int64_t i = 0; i < count; ++i) {
        if (i % 4 == 0) stream.Next(w);
        narrow(i, half ? UnitHalf(w[i % 4]) : UnitBfloat16(w[i % 4]));
      }
      break;
    }
    default:
      return absl::UnimplementedError("random numbers of that type");
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status RandomInts(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(0));
  XC_ASSIGN_OR_RETURN(int64_t low, c.Int(1));
  XC_ASSIGN_OR_RETURN(int64_t high, c.Int(2));
  if (low >= high) return c.Error(absl::StrCat("minval ", low, " must be less than maxval ", high));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  XC_ASSIGN_OR_RETURN(Philox stream, Reserve(c, out.num_elements()));
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  uint32_t w[4];
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    if (out.dtype() == DT_INT32) {
      if (i % 4 == 0) stream.Next(w);
      uint32_t step = w[i % 4] % static_cast<uint32_t>(range);
      out.data<int32_t>()[i] = static_cast<int32_t>(static_cast<uint32_t>(low) + step);
    } else {
      if (i % 2 == 0) stream.Next(w);
      uint64_t word = w[2 * (i % 2)] | (uint64_t{w[2 * (i % 2) + 1]} << 32);
      out.data<int64_t>()[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + word % range);
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status RandomShuffle(KernelContext& c) {
  int64_t rows = c.in(0).rank() < 1 ? 0 : c.in(0).dims()[0];
  if (rows <= 1) return ShuffleRows(c, {});
  XC_ASSIGN_OR_RETURN(Philox stream, Reserve(c, rows - 1));
  return ShuffleRows(c, stream);
}

// Classes drawn with the probabilities that rows of logits give: each sample is a double against the running sum of
// exp(logit).
absl::Status Multinomial(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t samples, c.Int(1));
  if (c.in(0).rank() != 2 || samples < 0) return c.Error("logits must be a matrix, and num_samples not negative");
  int64_t rows = c.in(0).dims()[0], classes = c.in(0).dims()[1];
  if (classes == 0 && rows > 0) return c.Error("there must be a class");
  XC_ASSIGN_OR_RETURN(auto logits, c.in(0).AsDoubles());
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {rows, samples}));
  XC_ASSIGN_OR_RETURN(Philox stream, Reserve(c, rows * ((samples + 3) / 4 * 4)));
  std::vector<double> sums(classes);
  uint32_t w[4];
  int64_t drawn = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = logits.data() + r * classes;
    double top = std::numeric_limits<double>::lowest(), sum = 0;
    for (int64_t k = 0; k < classes; ++k) top = std::isfinite(row[k]) ? std::max(top, row[k]) : top;
    for (int64_t k = 0; k < classes; ++k) {
      sum += std::isfinite(row[k]) ? std::exp(row[k] - top) : 0;
      sums[k] = sum;
    }
    for (int64_t i = 0; i < samples; ++i, ++drawn) {
      if (drawn % 2 == 0) stream.Next(w);
      double want = UnitDouble(w[2 * (drawn % 2)], w[2 * (drawn % 2) + 1]) * sum;
      int64_t found = std::upper_bound(sums.begin(), sums.end(), want) - sums.begin();
      if (out.dtype() == DT_INT32) {
        out.data<int32_t>()[r * samples + i] = static_cast<int32_t>(found);
      } else {
        out.data<int64_t>()[r * samples + i] = found;
      }
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

}  // namespace

void RegisterRandomKernels(KernelRegistry& r) {
  r.Add({"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}, RandomFloats, false);
  r.Add({"RandomUniformInt"}, RandomInts, false);
  r.Add({"Multinomial"}, Multinomial, false);
  r.Add({"RandomShuffle"}, RandomShuffle, false);
}

}  // namespace xc
