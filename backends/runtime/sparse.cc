#include "backends/runtime/sparse.h"

#include <algorithm>
#include <complex>
#include <type_traits>

namespace xc {
namespace {

// Fewer products than this are not worth a task of their own.
constexpr int64_t kProductsPerTask = 16384;

template <typename T>
T Product(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(uint64_t{a} * b);  // wraps in every width
  return a * b;
}

template <typename T>
void Multiply(RunContext* ctx, const CallArgs& args) {
  const CallBuffer &data = args.inputs[0], &starts = args.inputs[1], &columns = args.inputs[2], &x = args.inputs[3];
  const CallBuffer& y = args.outputs[0];
  const int64_t entries = data.dims[0], rows = y.dims[0], cols = x.dims[0], k = x.dims.size() == 2 ? x.dims[1] : 1;
  const auto* value = static_cast<const T*>(data.data);
  const auto* start = static_cast<const int32_t*>(starts.data);
  const auto* column = static_cast<const int32_t*>(columns.data);
  const auto* in = static_cast<const T*>(x.data);
  auto* out = static_cast<T*>(y.data);
  const int64_t products_per_row = std::max<int64_t>(entries / std::max<int64_t>(rows, 1) * k, 1);
  ctx->ParallelFor(rows, std::max<int64_t>(kProductsPerTask / products_per_row, 1), [&](int64_t row, int64_t end_row) {
    for (; row < end_row; ++row) {
      T* const sum = out + row * k;
      std::fill(sum, sum + k, T());
      const int64_t begin = std::max(start[row], 0), end = std::min<int64_t>(start[row + 1], entries);
      for (int64_t i = begin; i < end; ++i) {
        if (column[i] < 0 || column[i] >= cols) continue;
        const T* const from = in + column[i] * k;
        for (int64_t j = 0; j < k; ++j) sum[j] += Product(value[i], from[j]);
      }
    }
  });
}

}  // namespace

absl::Status CsrTimesDense(RunContext* ctx, const CallArgs& args) {
  const auto bad = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  if (args.inputs.size() != 4 || args.outputs.size() != 1) return bad("takes data, row starts, columns and an array");
  const CallBuffer &data = args.inputs[0], &starts = args.inputs[1], &columns = args.inputs[2], &x = args.inputs[3];
  const CallBuffer& y = args.outputs[0];
  if (starts.type != RtType::kS32 || columns.type != RtType::kS32) return bad("takes s32 row starts and columns");
  if (x.type != data.type || y.type != data.type) return bad("its arrays should have one element type");
  const bool fits = data.dims.size() == 1 && starts.dims.size() == 1 && columns.dims == data.dims &&
                    (x.dims.size() == 1 || x.dims.size() == 2) && x.dims.size() == y.dims.size() &&
                    starts.dims[0] == y.dims[0] + 1 && (x.dims.size() == 1 || x.dims[1] == y.dims[1]);
  if (!fits) return bad("the sizes of operands and results do not fit");
  if (!x.is_row_major() || !y.is_row_major()) return bad("takes arrays in row-major layout only");
  switch (data.type) {
    // Signed and unsigned integers wrap alike.
    case RtType::kS8:
    case RtType::kU8:
      return Multiply<uint8_t>(ctx, args), absl::OkStatus();
    case RtType::kS16:
    case RtType::kU16:
      return Multiply<uint16_t>(ctx, args), absl::OkStatus();
    case RtType::kS32:
    case RtType::kU32:
      return Multiply<uint32_t>(ctx, args), absl::OkStatus();
    case RtType::kS64:
    case RtType::kU64:
      return Multiply<uint64_t>(ctx, args), absl::OkStatus();
    case RtType::kF32:
      return Multiply<float>(ctx, args), absl::OkStatus();
    case RtType::kF64:
      return Multiply<double>(ctx, args), absl::OkStatus();
    case RtType::kC64:
      return Multiply<std::complex<float>>(ctx, args), absl::OkStatus();
    case RtType::kC128:
      return Multiply<std::complex<double>>(ctx, args), absl::OkStatus();
    default:
      return bad("takes arrays of integers of 8 to 64 bits, f32, f64, c64 or c128");
  }
}

}  // namespace xc
