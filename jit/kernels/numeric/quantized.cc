// Host kernels of arrays of quantized numbers, each with the range of floats that its levels stand for: products,
// convolutions, sums, pooling and changes of the range, as TensorFlow's own (not oneDNN's) kernels compute them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

using Levels = std::vector<int32_t>;

// The levels of one type: `bits` of them, from `lowest` on.
struct Scale {
  int bits = 8;
  int64_t lowest = 0;

  int64_t highest() const { return lowest + (int64_t{1} << bits) - 1; }
};

struct Range {
  float min = 0, max = 0;
};

absl::StatusOr<Scale> ScaleOf(const KernelContext& c, DataType type) {
  switch (type) {
    case DT_QUINT8:
      return Scale{8, 0};
    case DT_QINT8:
      return Scale{8, -128};
    case DT_QUINT16:
      return Scale{16, 0};
    case DT_QINT16:
      return Scale{16, -32768};
    case DT_QINT32:
      return Scale{32, std::numeric_limits<int32_t>::min()};
    default:
      return c.Error(absl::StrCat(DataTypeName(type), " is no quantized type"));
  }
}

Levels LevelsOf(const Tensor& t) {
  Levels out(t.num_elements());
  auto copy = [&](auto* from) { std::copy(from, from + out.size(), out.begin()); };
  switch (t.dtype()) {
    case DT_QUINT8:
      copy(t.data<uint8_t>());
      break;
    case DT_QINT8:
      copy(t.data<int8_t>());
      break;
    case DT_QUINT16:
      copy(t.data<uint16_t>());
      break;
    case DT_QINT16:
      copy(t.data<int16_t>());
      break;
    default:
      copy(t.data<int32_t>());
      break;
  }
  return out;
}

// Gives `levels`, which are in the output's type, and their range as the first three results.
absl::Status Give(KernelContext& c, Dims dims, const Levels& levels, Range range) {
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, std::move(dims)));
  auto store = [&](auto* to) {
    for (size_t i = 0; i < levels.size(); ++i) to[i] = static_cast<std::remove_reference_t<decltype(*to)>>(levels[i]);
  };
  switch (DataTypeSize(out.dtype())) {
    case 1:
      store(out.data<uint8_t>());
      break;
    case 2:
      store(out.data<uint16_t>());
      break;
    default:
      store(out.data<int32_t>());
      break;
  }
  c.outputs[0] = std::move(out);
  c.outputs[1] = Tensor::Scalar<float>(DT_FLOAT, range.min);
  c.outputs[2] = Tensor::Scalar<float>(DT_FLOAT, range.max);
  return absl::OkStatus();
}

absl::StatusOr<float> Number(const KernelContext& c, int i) {
  if (c.in(i).dtype() != DT_FLOAT || c.in(i).num_elements() != 1) {
    return c.Error(absl::StrCat("operand ", i, " must be one float"));
  }
  return c.in(i).data<float>()[0];
}

// The range that operands `i` and `i` + 1 give.
absl::StatusOr<Range> RangeAt(const KernelContext& c, int i) {
  XC_ASSIGN_OR_RETURN(float min, Number(c, i));
  XC_ASSIGN_OR_RETURN(float max, Number(c, i + 1));
  return Range{min, max};
}

int64_t Whole(double v) {  // of a number that may be beyond every integer
  return std::isnan(v) ? 0 : static_cast<int64_t>(std::clamp(std::round(v), -4e18, 4e18));
}

// The level that stands for `v`, which may be outside of the type's.
int64_t LevelOf(float v, Scale s, Range r) {
  if (r.min == r.max) return s.lowest;
  const double steps = std::ldexp(1.0, s.bits);
  const double scale = steps / ((r.max - r.min) * (steps / (steps - 1)));
  return Whole(v * scale) - Whole(r.min * scale) + s.lowest;
}

int32_t ClampedLevel(float v, Scale s, Range r) {
  return static_cast<int32_t>(std::clamp(LevelOf(v, s, r), s.lowest, s.highest()));
}

// The number that `level` stands for.
float ValueOf(int64_t level, Scale s, Range r) {
  if (r.min == r.max) return r.min;
  const double steps = std::ldexp(1.0, s.bits);
  const double step = (r.max - r.min) * (steps / (steps - 1)) / steps;
  const double first = std::round(r.min / static_cast<float>(step)) * static_cast<float>(step);
  return static_cast<float>(first + (static_cast<double>(level) - s.lowest) * step);
}

// The same two maps in floats, as whole arrays are converted.
std::function<float(int32_t)> ValuesOf(Scale s, Range r) {
  const float step = static_cast<float>((r.max - r.min) / (std::ldexp(1.0, s.bits) - 1));
  const float first = r.min == r.max ? r.min : std::round(r.min / step) * step;
  const float zero = first - static_cast<float>(s.lowest) * step;
  return [=](int32_t level) { return zero + static_cast<float>(level) * step; };
}

std::function<int32_t(float)> LevelsOf(Scale s, Range r) {
  const float scale = r.max == r.min ? 0 : static_cast<float>((std::ldexp(1.0, s.bits) - 1) / (r.max - r.min));
  const float first = std::round(r.min * scale) - static_cast<float>(s.lowest);
  // The largest float that is an int32.
  const float highest = std::min(static_cast<float>(s.highest()), 2147483520.0f);
  return [=](float v) {
    const float level = std::round(v * scale) - first;
    if (std::isnan(level)) return static_cast<int32_t>(s.lowest);
    return static_cast<int32_t>(std::min(std::max(level, static_cast<float>(s.lowest)), highest));
  };
}

// The range of products' levels: one step is the product of the operands' steps.
Range ProductRange(Scale a, Range ra, Scale b, Range rb, Scale out) {
  const float one = (ra.max - ra.min) / static_cast<float>(a.highest() - a.lowest);
  const float other = (rb.max - rb.min) / static_cast<float>(b.highest() - b.lowest);
  const float step = one * other;
  return {step * static_cast<float>(out.lowest), step * static_cast<float>(out.highest())};
}

// Two operands with ranges behind them, less the levels that stand for zero, for products into qint32.
struct Factors {
  Levels a, b;
  Range range;  // of the product
};

absl::StatusOr<Factors> ReadFactors(const KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Scale a, ScaleOf(c, c.in(0).dtype()));
  XC_ASSIGN_OR_RETURN(Scale b, ScaleOf(c, c.in(1).dtype()));
  XC_ASSIGN_OR_RETURN(Scale out, ScaleOf(c, c.node.output_types[0]));
  if (a.bits != 8 || b.bits != 8 || out.bits != 32) {
    return absl::UnimplementedError("products of quantized numbers are of 8 bits each, into qint32");
  }
  XC_ASSIGN_OR_RETURN(Range ra, RangeAt(c, 2));
  XC_ASSIGN_OR_RETURN(Range rb, RangeAt(c, 4));
  Factors f{LevelsOf(c.in(0)), LevelsOf(c.in(1)), ProductRange(a, ra, b, rb, out)};
  const int64_t zero_a = LevelOf(0, a, ra), zero_b = LevelOf(0, b, rb);
  for (int32_t& v : f.a) v -= static_cast<int32_t>(zero_a);
  for (int32_t& v : f.b) v -= static_cast<int32_t>(zero_b);
  return f;
}

void AddProduct(int32_t& sum, int32_t a, int32_t b) {  // wraps, as the sums of 32 bits elsewhere do
  sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

absl::Status QuantizedMatMul(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(bool ta, c.node.Bool("transpose_a"));
  XC_ASSIGN_OR_RETURN(bool tb, c.node.Bool("transpose_b"));
  if (c.in(0).rank() != 2 || c.in(1).rank() != 2) return c.Error("operands must be matrices");
  const Dims &a = c.in(0).dims(), &b = c.in(1).dims();
  const int64_t rows = a[ta], depth = a[!ta], columns = b[!tb];
  if (b[tb] != depth) return c.Error(absl::StrCat("matrices ", DimsToString(a), " and ", DimsToString(b), " disagree"));
  XC_ASSIGN_OR_RETURN(Factors f, ReadFactors(c));
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements({rows, columns}));
  Levels out(count);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < depth; ++k) {
      const int32_t v = f.a[ta ? k * rows + i : i * depth + k];
      for (int64_t j = 0; j < columns; ++j) {
        AddProduct(out[i * columns + j], v, f.b[tb ? j * depth + k : k * columns + j]);
      }
    }
  }
  return Give(c, {rows, columns}, out, f.range);
}

// One spatial dimension of a window that moves.
struct Window {
  int64_t size = 1, stride = 1, in = 0, out = 0, before = 0;
};

absl::StatusOr<Window> WindowOf(const KernelContext& c, int64_t in, int64_t size, int64_t stride) {
  XC_ASSIGN_OR_RETURN(std::string padding, c.node.String("padding"));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (size < 1 || stride < 1 || size > kMost || stride > kMost) return c.Error("windows and strides must be positive");
  Window w{size, stride, in};
  if (padding == "SAME") {
    w.out = (in + stride - 1) / stride;
    w.before = std::max<int64_t>((w.out - 1) * stride + size - in, 0) / 2;
  } else if (padding == "VALID") {
    w.out = in < size ? 0 : (in - size) / stride + 1;
  } else {
    return c.Error("padding must be SAME or VALID");
  }
  return w;
}

// Rows and columns of images [n, h, w, c]; the attributes have four entries, of which the outer are 1.
absl::StatusOr<std::pair<Window, Window>> WindowsOf(const KernelContext& c, int64_t height, int64_t width) {
  if (c.in(0).rank() != 4) return c.Error("the images must have rank 4");
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> strides, c.node.Ints("strides"));
  if (strides.size() != 4 || strides[0] != 1 || strides[3] != 1) return c.Error("strides must be [1, h, w, 1]");
  XC_ASSIGN_OR_RETURN(Window rows, WindowOf(c, c.in(0).dims()[1], height, strides[1]));
  XC_ASSIGN_OR_RETURN(Window columns, WindowOf(c, c.in(0).dims()[2], width, strides[2]));
  return std::make_pair(rows, columns);
}

// Calls `visit` with the places (as pixels of the whole input) under the window for every output pixel.
template <typename Visit>
void Slide(int64_t images, const Window& rows, const Window& columns, Visit visit) {
  int64_t to = 0;
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t y = 0; y < rows.out; ++y) {
      for (int64_t x = 0; x < columns.out; ++x, ++to) {
        for (int64_t i = 0; i < rows.size; ++i) {
          const int64_t row = y * rows.stride - rows.before + i;
          if (row < 0 || row >= rows.in) continue;
          for (int64_t j = 0; j < columns.size; ++j) {
            const int64_t column = x * columns.stride - columns.before + j;
            if (column < 0 || column >= columns.in) continue;
            visit(to, (n * rows.in + row) * columns.in + column, i * columns.size + j);
          }
        }
      }
    }
  }
}

absl::Status QuantizedConv2D(KernelContext& c) {
  if (c.in(1).rank() != 4) return c.Error("the filter must have rank 4");
  const Dims& k = c.in(1).dims();
  XC_ASSIGN_OR_RETURN(auto windows, WindowsOf(c, k[0], k[1]));
  const auto& [rows, columns] = windows;
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> dilations, c.node.Ints("dilations"));
  if (dilations != std::vector<int64_t>(4, 1)) return absl::UnimplementedError("dilated quantized convolutions");
  const Dims& in = c.in(0).dims();
  const int64_t depth = in[3], filters = k[3];
  if (k[2] != depth) return c.Error(absl::StrCat("the images have ", depth, " channels, the filter ", k[2]));
  XC_ASSIGN_OR_RETURN(Factors f, ReadFactors(c));
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements({in[0], rows.out, columns.out, filters}));
  Levels out(count);
  Slide(in[0], rows, columns, [&](int64_t to, int64_t from, int64_t tap) {
    for (int64_t d = 0; d < depth; ++d) {
      const int32_t v = f.a[from * depth + d];
      const int32_t* weights = f.b.data() + (tap * depth + d) * filters;
      for (int64_t o = 0; o < filters; ++o) AddProduct(out[to * filters + o], v, weights[o]);
    }
  });
  return Give(c, {in[0], rows.out, columns.out, filters}, out, f.range);
}

absl::Status QuantizedPool(KernelContext& c) {
  const bool largest = c.node.op == "QuantizedMaxPool";
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> size, c.node.Ints("ksize"));
  if (size.size() != 4 || size[0] != 1 || size[3] != 1) return c.Error("ksize must be [1, h, w, 1]");
  XC_ASSIGN_OR_RETURN(auto windows, WindowsOf(c, size[1], size[2]));
  const auto& [rows, columns] = windows;
  XC_ASSIGN_OR_RETURN(Scale scale, ScaleOf(c, c.in(0).dtype()));
  if (scale.bits == 32) return absl::UnimplementedError("pooling of qint32");
  XC_ASSIGN_OR_RETURN(Range range, RangeAt(c, 1));
  const Dims& in = c.in(0).dims();
  const int64_t depth = in[3];
  const Dims dims = {in[0], rows.out, columns.out, depth};
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(dims));
  const Levels from = LevelsOf(c.in(0));
  Levels out(count, largest ? static_cast<int32_t>(scale.lowest) : 0);
  std::vector<int32_t> pixels(depth == 0 ? 0 : count / depth);
  Slide(in[0], rows, columns, [&](int64_t to, int64_t at, int64_t) {
    ++pixels[to];
    for (int64_t d = 0; d < depth; ++d) {
      const int32_t v = from[at * depth + d];
      int32_t& o = out[to * depth + d];
      if (largest) {
        o = std::max(o, v);
      } else {
        AddProduct(o, v, 1);
      }
    }
  });
  for (size_t i = 0; i < out.size() && !largest; ++i) out[i] /= std::max(pixels[i / depth], 1);
  return Give(c, dims, out, range);
}

// Sums in a range so wide that many of them fit: 2^17 times the larger operand's.
absl::Status QuantizedBiasAdd(KernelContext& c) {
  const Dims& dims = c.in(0).dims();
  if (dims.size() < 2 || c.in(1).rank() != 1 || c.in(1).dims()[0] != dims.back()) {
    return c.Error("there must be one bias for each entry of the last of two or more dimensions");
  }
  XC_ASSIGN_OR_RETURN(Scale a, ScaleOf(c, c.in(0).dtype()));
  XC_ASSIGN_OR_RETURN(Scale b, ScaleOf(c, c.in(1).dtype()));
  XC_ASSIGN_OR_RETURN(Scale out, ScaleOf(c, c.node.output_types[0]));
  XC_ASSIGN_OR_RETURN(Range ra, RangeAt(c, 2));
  XC_ASSIGN_OR_RETURN(Range rb, RangeAt(c, 4));
  const float most = std::max({ra.max, -ra.min, rb.max, -rb.min}) * (1 << 17);
  const Range total{-most, most};
  const auto value = ValuesOf(a, ra), bias = ValuesOf(b, rb);
  const auto level = LevelsOf(out, total);
  Levels sums = LevelsOf(c.in(0)), added = LevelsOf(c.in(1));
  for (int32_t& v : added) v = level(bias(v));
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t sum = int64_t{level(value(sums[i]))} + added[i % added.size()];
    sums[i] = static_cast<int32_t>(static_cast<uint64_t>(sum));
  }
  return Give(c, dims, sums, total);
}

absl::Status QuantizedMul(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, BroadcastDims(c.in(0).dims(), c.in(1).dims()));
  if (c.in(0).dims() != c.in(1).dims() && c.in(0).num_elements() != 1 && c.in(1).num_elements() != 1) {
    return absl::UnimplementedError("a quantized product whose operands differ in shape");
  }
  XC_ASSIGN_OR_RETURN(Factors f, ReadFactors(c));
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(dims));
  Levels out(count);
  for (int64_t i = 0; i < count; ++i) AddProduct(out[i], f.a[i % f.a.size()], f.b[i % f.b.size()]);
  return Give(c, dims, out, f.range);
}

absl::Status QuantizedRelu(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Scale scale, ScaleOf(c, c.in(0).dtype()));
  XC_ASSIGN_OR_RETURN(Range range, RangeAt(c, 1));
  if (c.node.output_types[0] != c.in(0).dtype()) return c.Error("the result must have the type of the features");
  const int32_t low = ClampedLevel(0, scale, range);
  int32_t high = static_cast<int32_t>(scale.highest());
  if (c.node.op == "QuantizedRelu6") high = ClampedLevel(6, scale, range);
  Levels levels = LevelsOf(c.in(0));
  for (int32_t& v : levels) v = std::min(std::max(v, low), high);
  return Give(c, c.in(0).dims(), levels, range);
}

// Levels of `from` and `range` as levels of `to` and `next`. From 32 bits to 8 it is done in fixed point.
Levels Moved(Levels levels, Scale from, Range range, DataType to_type, Scale to, Range next) {
  if (from.bits == 32 && to_type == DT_QUINT8) {
    const float width = range.max - range.min, wanted = next.max - next.min;
    const float per_level = wanted == 0 ? 0 : static_cast<float>(255.0 / wanted);
    const float middle = static_cast<float>((range.min + range.max) / 2.0);
    const double one = 1 << 16;
    auto fixed = [](double v) { return static_cast<int64_t>(std::clamp(std::isnan(v) ? 0 : v, -9e18, 9e18)); };
    const int64_t scale = wanted == 0 ? 0 : fixed(255.0 * one * width / wanted);
    const int64_t start = fixed(middle * per_level * static_cast<float>(one));
    const int64_t origin = wanted == 0 ? 0 : fixed(one * (next.min * 255.0) / wanted);
    for (int32_t& v : levels) {
      const auto scaled = static_cast<int64_t>((static_cast<__int128>(v) * scale) >> 32);
      const __int128 level = (static_cast<__int128>(scaled) + start - origin + (1 << 15)) >> 16;
      v = static_cast<int32_t>(std::clamp<__int128>(level, 0, 255));
    }
    return levels;
  }
  const auto value = ValuesOf(from, range);
  const auto level = LevelsOf(to, next);
  for (int32_t& v : levels) v = level(value(v));
  return levels;
}

absl::Status Requantize(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Scale from, ScaleOf(c, c.in(0).dtype()));
  XC_ASSIGN_OR_RETURN(Scale to, ScaleOf(c, c.node.output_types[0]));
  XC_ASSIGN_OR_RETURN(Range range, RangeAt(c, 1));
  XC_ASSIGN_OR_RETURN(Range next, RangeAt(c, 3));
  if (!(next.min <= 0)) return c.Error(absl::StrCat("requested_output_min must be <= 0, but got ", next.min));
  if (!(next.max >= next.min)) {
    return c.Error(absl::StrCat("requested_output_max must be >= requested_output_min, but got ", next.max));
  }
  return Give(c, c.in(0).dims(), Moved(LevelsOf(c.in(0)), from, range, c.node.output_types[0], to, next), next);
}

// The range that the levels use, made to reach down to zero.
Range UsedRange(const Levels& levels, Scale scale, Range range) {
  int64_t least = scale.highest(), most = scale.lowest;
  for (int32_t v : levels) {
    least = std::min<int64_t>(least, v);
    most = std::max<int64_t>(most, v);
  }
  return {std::min(0.0f, ValueOf(least, scale, range)), ValueOf(most, scale, range)};
}

absl::Status RequantizationRange(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Scale scale, ScaleOf(c, c.in(0).dtype()));
  XC_ASSIGN_OR_RETURN(Range range, RangeAt(c, 1));
  const Range used = UsedRange(LevelsOf(c.in(0)), scale, range);
  c.outputs[0] = Tensor::Scalar<float>(DT_FLOAT, used.min);
  c.outputs[1] = Tensor::Scalar<float>(DT_FLOAT, used.max);
  return absl::OkStatus();
}

absl::Status QuantizeDownAndShrinkRange(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Scale from, ScaleOf(c, c.in(0).dtype()));
  XC_ASSIGN_OR_RETURN(Scale to, ScaleOf(c, c.node.output_types[0]));
  XC_ASSIGN_OR_RETURN(Range range, RangeAt(c, 1));
  Levels levels = LevelsOf(c.in(0));
  const Range used = UsedRange(levels, from, range);
  return Give(c, c.in(0).dims(), Moved(std::move(levels), from, range, c.node.output_types[0], to, used), used);
}

absl::Status QuantizedReshape(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Range range, RangeAt(c, 2));
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(1));
  int64_t known = 1;
  auto open = dims.end();
  for (auto d = dims.begin(); d != dims.end(); ++d) {
    if (*d == -1 && open == dims.end()) {
      open = d;
    } else if (*d < 0 || __builtin_mul_overflow(known, *d, &known)) {
      return c.Error(absl::StrCat("bad shape ", DimsToString(dims)));
    }
  }
  if (open != dims.end() && known > 0) *open = c.in(0).num_elements() / known;
  if (CheckedNumElements(dims).value_or(-1) != c.in(0).num_elements()) {
    return c.Error(absl::StrCat(c.in(0).ShapeString(), " does not fit into shape ", DimsToString(dims)));
  }
  c.outputs[0] = c.in(0).Reshaped(dims);
  c.outputs[1] = Tensor::Scalar<float>(DT_FLOAT, range.min);
  c.outputs[2] = Tensor::Scalar<float>(DT_FLOAT, range.max);
  return absl::OkStatus();
}

}  // namespace

void RegisterQuantizedKernels(KernelRegistry& r) {
  r.Add({"QuantizedMatMul"}, QuantizedMatMul, false);
  r.Add({"QuantizedConv2D"}, QuantizedConv2D, false);
  r.Add({"QuantizedMaxPool", "QuantizedAvgPool"}, QuantizedPool, false);
  r.Add({"QuantizedBiasAdd"}, QuantizedBiasAdd, false);
  r.Add({"QuantizedMul"}, QuantizedMul, false);
  r.Add({"QuantizedRelu", "QuantizedRelu6"}, QuantizedRelu, false);
  r.Add({"Requantize"}, Requantize, false);
  r.Add({"RequantizationRange"}, RequantizationRange, false);
  r.Add({"QuantizeDownAndShrinkRange"}, QuantizeDownAndShrinkRange, false);
  r.Add({"QuantizedReshape"}, QuantizedReshape, false);
}

}  // namespace xc
