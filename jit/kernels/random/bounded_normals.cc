// Host kernels of normal values between bounds that are operands, drawn by rejection. One stream of Philox blocks runs
// through all values in order, so where a value's draws start depends on the values before it: the bits are those of
// TensorFlow's CPU kernels where these run on one thread (on several, each thread starts at a place of its own).
#include <eigen3/Eigen/Core>

#include "absl/strings/str_cat.h"
#include "jit/kernels/random/philox.h"

namespace xc {
namespace {

namespace numext = Eigen::numext;

constexpr int64_t kMaxRejections = 1000;  // of one value, before the kernel gives up

// A proposal in standard deviations from the mean.
template <typename T>
struct Proposal {
  T value;
  bool accepted;
};

// One block of uniform or normal values; types of 16 bits take four, as floats do. Returns how many.
template <typename T>
int NextValues(Philox& stream, bool normal, T out[4]) {
  uint32_t w[4];
  stream.Next(w);
  if constexpr (std::is_same_v<T, Eigen::half>) {
    float wide[4];
    Values<float>(w, normal, wide);
    for (int i = 0; i < 4; ++i) out[i] = T(normal ? wide[i] : UnitHalf(w[i]));
    return 4;
  } else {
    return Values<T>(w, normal, out);
  }
}

// The normal distribution of `mean` and `deviation` between `low` and `high`, one of which may be infinite.
template <typename T>
class BoundedNormal {
 public:
  BoundedNormal(T mean, T deviation, T low, T high) : mean_(mean), deviation_(deviation) {
    valid_ = deviation > T(0) && low < high && (numext::isfinite(low) || numext::isfinite(high));
    // Mirrored where the lower bound would be infinite or both are below the mean: a single bound is the lower one,
    // and bounds on one side are on the upper.
    if ((numext::isinf(low) && low < T(0)) || high < mean) {
      std::swap(low, high);
      deviation_ = -deviation_;
    }
    low_ = (low - mean) / deviation_;
    high_ = (high - mean) / deviation_;
    const T root = numext::sqrt(low_ * low_ + T(4)), width = high_ - low_, enough(1.3);
    const T widest = T(2) * numext::exp(T(0.5) + (low_ * (low_ - root)) / T(4)) / (low_ + root);
    alpha_ = (low_ + root) / T(2);
    const bool around_the_mean = (low_ < -enough && high_ >= T(0)) || (high_ > enough && low_ <= T(0));
    method_ = around_the_mean ? kNormal : width < widest ? kUniform : kExponential;
  }

  bool valid() const { return valid_; }

  // Gives `store` the values 0..count-1, whose proposals come from the next blocks of the stream. False if one was
  // rejected too often.
  template <typename Store>
  bool Draw(Philox& stream, int64_t count, Store store) const {
    const int64_t limit = method_ == kNormal ? kMaxRejections : kMaxRejections - 1;
    Proposal<T> proposals[4];
    for (int64_t drawn = 0, rejections = 0; drawn < count;) {
      const int n = Propose(stream, proposals);
      for (int i = 0; i < n && drawn < count; ++i) {
        if (proposals[i].accepted) {
          store(drawn++, proposals[i].value * deviation_ + mean_);
          rejections = 0;
        } else if (++rejections > limit) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  // What proposals are drawn from: all normal values, which most often fit if the bounds are wide around the mean;
  // values uniform between the bounds; or values of an exponential distribution of rate alpha from the lower bound on.
  enum Method { kNormal, kUniform, kExponential };

  int Propose(Philox& stream, Proposal<T> out[4]) const {
    T a[4], b[4];
    const int n = NextValues<T>(stream, method_ == kNormal, a);
    if (method_ == kNormal) {
      for (int i = 0; i < n; ++i) out[i] = {a[i], a[i] >= low_ && a[i] <= high_};
      return n;
    }
    if (method_ == kUniform) {
      NextValues<T>(stream, false, b);
      const T nearest = low_ < T(0) ? T(0) : low_ * low_;
      for (int i = 0; i < n; ++i) {
        const T z = a[i] * (high_ - low_) + low_;
        out[i] = {z, b[i] <= numext::exp((nearest - z * z) / T(2))};
      }
      return n;
    }
    for (int i = 0; i + 1 < n; i += 2) {
      const T z = -numext::log(a[i]) / alpha_ + low_;
      const T x = low_ < alpha_ ? alpha_ - z : low_ - alpha_;
      out[i / 2] = {z, a[i + 1] <= numext::exp(-x * x / T(2)) && z < high_};
    }
    return n / 2;
  }

  T mean_, deviation_, low_, high_, alpha_;
  bool valid_;
  Method method_;
};

// The four parameters are operands first..first+3; `at(operand)` says which element of each.
template <typename T, typename At>
BoundedNormal<T> FromOperands(const KernelContext& c, int first, At at) {
  auto value = [&](int operand) { return c.in(operand).template data<T>()[at(operand)]; };
  return BoundedNormal<T>(value(first), value(first + 1), value(first + 2), value(first + 3));
}

template <typename T, typename Store>
absl::Status DrawBatch(KernelContext& c, const BoundedNormal<T>& normal, Philox& stream, int64_t count, Store store) {
  if (!normal.valid()) {
    return c.Error("invalid parameters: a deviation must be positive, minval below maxval, and one of them finite");
  }
  if (!normal.Draw(stream, count, store)) {
    return absl::InternalError(absl::StrCat("node '", c.node.name, "': no value between the bounds was found"));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Stateful(KernelContext& c, Tensor& out) {
  constexpr int kFirst = 1;
  const int64_t count = out.num_elements();
  int64_t batches = out.dims()[0], samples = batches == 0 ? 0 : count / batches;
  for (int k = 0; k < 4; ++k) {
    const Tensor& operand = c.in(kFirst + k);
    if (operand.rank() > 1 || (operand.num_elements() != 1 && operand.num_elements() != batches)) {
      return c.Error(absl::StrCat("operand ", kFirst + k, " must have no dimension, or length 1 or shape[0], and is ",
                                  operand.ShapeString()));
    }
  }
  auto single = [&](int k) { return c.in(kFirst + k).num_elements() == 1; };
  if (single(0) && single(1) && c.in(kFirst + 2).rank() == 0 && c.in(kFirst + 3).rank() == 0) {
    samples = 100;
    batches = (count + samples - 1) / samples;
  }
  XC_ASSIGN_OR_RETURN(Philox stream, ReserveBlocks(c, static_cast<uint64_t>(batches) * 2 * kMaxRejections *
                                                          static_cast<uint64_t>(samples + 3) / 4));
  for (int64_t b = 0; b < batches; ++b) {
    auto normal = FromOperands<T>(c, kFirst, [&](int k) { return c.in(k).num_elements() == 1 ? 0 : b; });
    T* to = out.data<T>() + b * samples;
    XC_RETURN_IF_ERROR(DrawBatch(c, normal, stream, std::min(samples, count - b * samples),
                                 [&](int64_t i, T value) { to[i] = value; }));
  }
  return absl::OkStatus();
}

// The parameters broadcast to one shape, with which the shape of the result ends: its other dimensions are samples.
template <typename T>
absl::Status Stateless(KernelContext& c, Tensor& out) {
  constexpr int kFirst = 2;
  Dims shape;
  for (int k = 0; k < 4; ++k) {
    absl::StatusOr<Dims> both = BroadcastDims(shape, c.in(kFirst + k).dims());
    if (!both.ok()) return c.Error(std::string(both.status().message()));
    shape = *std::move(both);
  }
  const Dims& dims = out.dims();
  if (shape.size() > dims.size() || !std::equal(shape.begin(), shape.end(), dims.end() - shape.size())) {
    return c.Error(
        absl::StrCat("the shape ", DimsToString(dims), " must end with that of the parameters, ", DimsToString(shape)));
  }
  if (out.num_elements() == 0) return absl::OkStatus();
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> seed, c.Ints(1));
  if (c.in(1).dims() != Dims{2}) return c.Error("seed must have two elements");
  std::vector<std::vector<int64_t>> elements;
  for (int k = 0; k < 4; ++k) elements.push_back(BroadcastElements(c.in(kFirst + k).dims(), shape));
  const int64_t batches = elements[0].size(), samples = out.num_elements() / batches;
  Philox stream = Philox::FromSeed(seed[0], seed[1]);
  for (int64_t b = 0; b < batches; ++b) {
    auto normal = FromOperands<T>(c, kFirst, [&](int k) { return elements[k - kFirst][b]; });
    T* to = out.data<T>() + b;
    XC_RETURN_IF_ERROR(DrawBatch(c, normal, stream, samples, [&](int64_t i, T value) { to[i * batches] = value; }));
  }
  return absl::OkStatus();
}

absl::Status ParameterizedTruncatedNormal(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(0));
  const bool stateful = c.node.op == "ParameterizedTruncatedNormal";
  if (stateful && dims.empty()) return c.Error("the shape must have a dimension");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  switch (out.dtype()) {
    case DT_FLOAT:
      XC_RETURN_IF_ERROR(stateful ? Stateful<float>(c, out) : Stateless<float>(c, out));
      break;
    case DT_DOUBLE:
      XC_RETURN_IF_ERROR(stateful ? Stateful<double>(c, out) : Stateless<double>(c, out));
      break;
    case DT_HALF:
      XC_RETURN_IF_ERROR(stateful ? Stateful<Eigen::half>(c, out) : Stateless<Eigen::half>(c, out));
      break;
    default:
      return c.Error("there are no such numbers of that type");
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

}  // namespace

void RegisterBoundedNormalKernels(KernelRegistry& r) {
  r.Add({"ParameterizedTruncatedNormal", "StatelessParameterizedTruncatedNormal"}, ParameterizedTruncatedNormal, false);
}

}  // namespace xc
