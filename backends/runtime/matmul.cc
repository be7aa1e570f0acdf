// Cuts a product into tiles by its shape alone, picks a kernel, and runs the tiles on the executor.
#include "backends/runtime/matmul.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <complex>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/gemm_bytes.h"
#include "backends/runtime/gemm_kernels.h"
#include "backends/runtime/matmul_plan.h"
#include "backends/runtime/onednn.h"
#include "backends/runtime/preparation.h"
#include "backends/runtime/scratch.h"
#include "backends/runtime/strided_copy.h"
#include "hlo/base/status.h"

namespace xc {

const GemmKernels& BestGemmKernels() {
  static const GemmKernels& best = []() -> const GemmKernels& {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return gemm_v4::kKernels;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
      return gemm_v3::kKernels;
    }
    return gemm_v2::kKernels;
  }();
  return best;
}

namespace {

std::atomic<bool> use_onednn{true};

RtType Type(int32_t type) { return static_cast<RtType>(type); }

// The descriptor with roles settled: c is contiguous along n where it is contiguous at all, a skinny side is m.
struct Problem {
  MatmulDesc d;
  const char* a;
  const char* b;
  char* c;
  int64_t batches = 1;
};

void Swap(Problem* p) {
  std::swap(p->a, p->b);
  std::swap(p->d.a_type, p->d.b_type);
  std::swap(p->d.m, p->d.n);
  std::swap(p->d.a_m, p->d.b_n);
  std::swap(p->d.a_k, p->d.b_k);
  std::swap(p->d.c_m, p->d.c_n);
  std::swap(p->d.a_batch, p->d.b_batch);
}

// Merges batch dimensions that one stride can walk in all three tensors, and drops those of size 1.
void MergeBatches(MatmulDesc* d) {
  int kept = 0;
  for (int i = 0; i < d->num_batch_dims; ++i) {
    if (d->batch[i] == 1) continue;
    if (kept > 0 && d->a_batch[kept - 1] == d->a_batch[i] * d->batch[i] &&
        d->b_batch[kept - 1] == d->b_batch[i] * d->batch[i] && d->c_batch[kept - 1] == d->c_batch[i] * d->batch[i]) {
      d->batch[kept - 1] *= d->batch[i];
      d->a_batch[kept - 1] = d->a_batch[i];
      d->b_batch[kept - 1] = d->b_batch[i];
      d->c_batch[kept - 1] = d->c_batch[i];
      continue;
    }
    d->batch[kept] = d->batch[i];
    d->a_batch[kept] = d->a_batch[i];
    d->b_batch[kept] = d->b_batch[i];
    d->c_batch[kept] = d->c_batch[i];
    ++kept;
  }
  for (int i = kept; i < kMaxBatchDims; ++i) {
    d->batch[i] = 1;
    d->a_batch[i] = d->b_batch[i] = d->c_batch[i] = 0;
  }
  d->num_batch_dims = kept;
}

struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

// Where batch number `index` (row-major) starts, in elements.
Offsets OffsetsOf(const MatmulDesc& d, int64_t index) {
  Offsets at;
  for (int i = d.num_batch_dims - 1; i >= 0; --i) {
    const int64_t x = index % d.batch[i];
    index /= d.batch[i];
    at.a += x * d.a_batch[i];
    at.b += x * d.b_batch[i];
    at.c += x * d.c_batch[i];
  }
  return at;
}

// c = the sum of `count` dense results.
template <typename T>
void AddParts(const MatmulDesc& d, const char* parts, int64_t count, char* c) {
  const T* from = reinterpret_cast<const T*>(parts);
  T* to = reinterpret_cast<T*>(c);
  for (int64_t i = 0; i < d.m; ++i) {
    for (int64_t j = 0; j < d.n; ++j, ++from) {
      T sum = from[0];
      for (int64_t part = 1; part < count; ++part) sum += from[part * d.m * d.n];
      to[i * d.c_m + j * d.c_n] = sum;
    }
  }
}

void AddParts(const MatmulDesc& d, const char* parts, int64_t count, char* c) {
  switch (Type(d.c_type)) {
    case RtType::kF32:
      return AddParts<float>(d, parts, count, c);
    case RtType::kF64:
      return AddParts<double>(d, parts, count, c);
    case RtType::kC64:
      return AddParts<std::complex<float>>(d, parts, count, c);
    default:
      return AddParts<std::complex<double>>(d, parts, count, c);
  }
}

// `skinny`: of a product of a few rows, whose sums have an order of their own.
absl::Status OwnTile(const GemmTile& tile, bool skinny) {
  const GemmKernels& kernels = BestGemmKernels();
  if (skinny) {
    XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(8 * tile.m * tile.k + 64 * tile.m, kPackScratch));
    if (kernels.skinny(tile, scratch)) return absl::OkStatus();
  }
  if (!skinny && HasByteProduct(tile)) return ByteProduct(tile);
  const int64_t bytes = kernels.gemm_scratch(tile);
  if (bytes < 0) {
    return absl::UnimplementedError(absl::StrCat("matrix product of element types ", static_cast<int>(tile.a_type),
                                                 " and ", static_cast<int>(tile.b_type), " to ",
                                                 static_cast<int>(tile.c_type)));
  }
  XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(bytes, kPackScratch));
  kernels.gemm(tile, scratch);
  return absl::OkStatus();
}

bool IsInteger(RtType type) { return type >= RtType::kS8 && type <= RtType::kU64; }

// Whether the product is one of many that take less than choosing a kernel does, or as small alone; of bytes also one
// of many rows, which other kernels widen and pack, and of floats one of many rows of a few numbers, as points are.
bool IsTiny(const MatmulDesc& d) {
  if (d.n > kTinySize || d.k > kTinySize || d.a_type != d.b_type || d.a_type != d.c_type) return false;
  const RtType type = Type(d.a_type);
  const int64_t point = type == RtType::kF32 ? 4 : type == RtType::kF64 ? 6 : 0;
  if (d.m <= kTinySize) return point > 0 || IsInteger(type);
  return point > 0 ? std::max(d.n, d.k) <= point : IsInteger(type) && SizeOf(type) <= 2;
}

// Whether it is a small product whose rows lie at places that take each other's lines in the cache, or one of several
// whose rows do not follow each other (heads of attention, say): our kernels pack them anyway, oneDNN's do not.
bool HasSmallStridedRows(const MatmulDesc& d) {
  constexpr int64_t kSmall = int64_t{1} << 21, kSmallAlone = int64_t{1} << 23, kPage = 4096 / sizeof(float);
  const int64_t a_row = d.a_k == 1 ? d.a_m : d.a_k, b_row = d.b_n == 1 ? d.b_k : d.b_n;
  if (d.num_batch_dims == 0) {
    const bool in_pages = (d.a_k == 1 && a_row % kPage == 0) || (d.b_k == 1 && b_row % kPage == 0);
    return in_pages && d.m >= 16 && d.n >= 16 && d.m * d.n * d.k <= kSmallAlone;
  }
  if (d.m * d.n * d.k > kSmall) return false;
  return a_row != (d.a_k == 1 ? d.k : d.m) || b_row != (d.b_n == 1 ? d.n : d.k);
}

// Whether oneDNN's kernel is the better one: its types, a result contiguous along n, more than a few rows.
bool WantOneDnn(const MatmulDesc& d) {
  if (!use_onednn.load(std::memory_order_relaxed) || d.k == 0 || IsTiny(d) || (d.c_n != 1 && d.n != 1)) return false;
  if ((d.a_m != 1 && d.a_k != 1) || (d.b_n != 1 && d.b_k != 1)) return false;
  const RtType a = Type(d.a_type), b = Type(d.b_type), c = Type(d.c_type);
  const bool floats = a == b && ((a == RtType::kF32 && c == RtType::kF32) ||
                                 (a == RtType::kBF16 && (c == RtType::kF32 || c == RtType::kBF16)));
  const bool bytes = (a == RtType::kS8 || a == RtType::kU8) && b == RtType::kS8 && c == RtType::kS32;
  if (!floats && !bytes) return false;
  if (a == RtType::kF32 && HasSmallStridedRows(d)) return false;
  // Its byte kernels leave parts of a result of one row or column unwritten.
  if (bytes && (d.m == 1 || d.n == 1)) return false;
  const GemmTile tile{a, b, c, d.m, d.n, d.k, nullptr, d.a_m, d.a_k, nullptr, d.b_k, d.b_n};
  if (bytes && d.m > kSkinnyRows && PrefersByteProduct(tile, d.num_batch_dims > 0, MostBytes(a))) return false;
  return !floats || d.m > kSkinnyRows;
}

// Whether oneDNN would copy the right operand of a few rows, which takes as long: dense rows of a power of two.
bool CopiesRight(const MatmulDesc& d) {
  return Type(d.a_type) == RtType::kF32 && d.m <= BestGemmKernels().unpacked_rows && d.b_n == 1 && d.b_k == d.n &&
         d.n >= 512 && std::has_single_bit(static_cast<uint64_t>(d.n));
}

// The ranges that one task takes.
struct Ranges {
  int64_t batch_begin, batch_end, m0, m1, n0, n1;
};

// The key of the product of `batch`, of these rows and columns; strides over all of the contracted dimension.
onednn::MatmulKey KeyOf(const MatmulDesc& d, int64_t batch, int64_t m, int64_t n) {
  onednn::MatmulKey key;
  std::memset(&key, 0, sizeof(key));
  key.a_type = Type(d.a_type);
  key.b_type = Type(d.b_type);
  key.c_type = Type(d.c_type);
  key.batch = batch;
  key.m = m;
  key.n = n;
  key.k = d.k;
  if (batch > 1) {
    const int last = d.num_batch_dims - 1;
    key.a_batch = d.a_batch[last];
    key.b_batch = d.b_batch[last];
    key.c_batch = d.c_batch[last];
  }
  key.a_m = d.a_m;
  key.a_k = d.a_k;
  key.b_k = d.b_k;
  key.b_n = d.b_n;
  key.c_m = d.c_m;
  key.c_n = d.c_n;
  return key;
}

// A product of more bytes than MostBytes: parts of the sums, some rows at a time, added up here.
absl::Status DeepBytes(const MatmulDesc& d, int64_t m, int64_t n, const char* a, const char* b, int32_t* c) {
  constexpr int64_t kMostElements = int64_t{1} << 18;
  const int64_t step = MostBytes(Type(d.a_type)), rows = std::min(m, std::max<int64_t>(kMostElements / n, 3));
  XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(rows * n * sizeof(int32_t), kPackScratch));
  auto* part = reinterpret_cast<int32_t*>(scratch);
  for (int64_t m0 = 0; m0 < m;) {
    // No block of one row, which is what WantOneDnn says no to.
    const int64_t left = m - m0, count = left - rows == 1 ? rows - 1 : std::min(rows, left);
    for (int64_t k0 = 0; k0 < d.k; k0 += step) {
      onednn::MatmulKey key = KeyOf(d, 1, count, n);
      key.k = std::min(step, d.k - k0);
      key.c_m = n;
      key.c_n = 1;
      XC_RETURN_IF_ERROR(onednn::Matmul(key, a + m0 * d.a_m + k0 * d.a_k, b + k0 * d.b_k, scratch));
      for (int64_t i = 0; i < count; ++i) {
        int32_t* to = c + (m0 + i) * d.c_m;
        // Sums wrap, as the interpreter's do.
        for (int64_t j = 0; j < n; ++j) {
          const uint32_t sum = static_cast<uint32_t>(part[i * n + j]) + (k0 > 0 ? static_cast<uint32_t>(to[j]) : 0);
          to[j] = static_cast<int32_t>(sum);
        }
      }
    }
    m0 += count;
  }
  return absl::OkStatus();
}

absl::Status RunTile(const Problem& p, bool onednn, const Ranges& r) {
  const MatmulDesc& d = p.d;
  const auto [batch_begin, batch_end, m0, m1, n0, n1] = r;
  const int64_t a_size = SizeOf(Type(d.a_type)), b_size = SizeOf(Type(d.b_type)), c_size = SizeOf(Type(d.c_type));
  if (onednn) {
    const bool deep = a_size == 1 && d.k > MostBytes(Type(d.a_type));
    absl::Status status;
    for (int64_t batch = batch_begin; status.ok() && batch < (deep ? batch_end : batch_begin + 1); ++batch) {
      const Offsets at = OffsetsOf(d, batch);
      const char *a = p.a + (at.a + m0 * d.a_m) * a_size, *b = p.b + (at.b + n0 * d.b_n) * b_size;
      char* c = p.c + (at.c + m0 * d.c_m + n0 * d.c_n) * c_size;
      status = deep ? DeepBytes(d, m1 - m0, n1 - n0, a, b, reinterpret_cast<int32_t*>(c))
                    : onednn::Matmul(KeyOf(d, batch_end - batch_begin, m1 - m0, n1 - n0), a, b, c);
    }
    if (!absl::IsUnimplemented(status)) return status;
  }
  const auto tile_of = [&](int64_t batch) {
    const Offsets at = OffsetsOf(d, batch);
    return GemmTile{Type(d.a_type),
                    Type(d.b_type),
                    Type(d.c_type),
                    m1 - m0,
                    n1 - n0,
                    d.k,
                    p.a + (at.a + m0 * d.a_m) * a_size,
                    d.a_m,
                    d.a_k,
                    p.b + (at.b + n0 * d.b_n) * b_size,
                    d.b_k,
                    d.b_n,
                    p.c + (at.c + m0 * d.c_m + n0 * d.c_n) * c_size,
                    d.c_m,
                    d.c_n,
                    d.n};
  };
  if (IsTiny(d)) {
    const int last = d.num_batch_dims - 1;
    const bool several = last >= 0;
    if (BestGemmKernels().tiny(tile_of(batch_begin), batch_end - batch_begin, several ? d.a_batch[last] : 0,
                               several ? d.b_batch[last] : 0, several ? d.c_batch[last] : 0)) {
      return absl::OkStatus();
    }
  }
  const bool skinny = d.m <= kSkinnyRows;
  for (int64_t batch = batch_begin; batch < batch_end; ++batch) XC_RETURN_IF_ERROR(OwnTile(tile_of(batch), skinny));
  return absl::OkStatus();
}

// Whether it is a product of a few rows that takes less than waking a thread gains, which is some 60 to 80 us.
bool IsSmallSkinny(const Problem& p) {
  constexpr int64_t kMostBytes = int64_t{4} << 20, kMostFlops = int64_t{8} << 20, kLeastColumns = 128;
  const MatmulDesc& d = p.d;
  const RtType type = Type(d.b_type);
  if (type != RtType::kF32 && type != RtType::kBF16 && type != RtType::kF16 && type != RtType::kF64) return false;
  if (d.m > kSkinnyRows || p.batches != 1 || d.n < kLeastColumns || d.k == 0 || (d.b_n != 1 && d.b_k != 1))
    return false;
  return RightBytes(d) < kMostBytes && 2 * d.m * d.n * d.k <= kMostFlops;
}

// Whether products of one left operand with several narrow right ones lie side by side in the result.
bool HasNarrowColumns(const MatmulDesc& d) {
  constexpr int64_t kNarrow = 32, kFewRows = 16, kMost = int64_t{4} << 20;
  if (d.num_batch_dims != 1 || d.a_batch[0] != 0 || d.n >= kNarrow || d.m < kFewRows || d.k < 2) return false;
  return d.c_n == 1 && d.c_batch[0] == d.n && d.k * d.n * d.batch[0] <= kMost;
}

// Makes one product of them, over a copy in which the right operands lie side by side, too.
absl::Status JoinColumns(RunContext* ctx, Problem* p) {
  MatmulDesc& d = p->d;
  const int64_t size = SizeOf(Type(d.b_type)), columns = d.batch[0] * d.n;
  XC_ASSIGN_OR_RETURN(char* copy, ThreadScratch(d.k * columns * size, kColumnScratch));
  StridedCopy(ctx, {d.k, d.batch[0], d.n}, size, p->b, {d.b_k, d.b_batch[0], d.b_n}, copy, {columns, d.n, 1});
  p->b = copy;
  p->batches = 1;
  d.num_batch_dims = 0;
  d.batch[0] = 1;
  d.b_batch[0] = d.c_batch[0] = 0;
  d.n = columns;
  d.b_k = columns;
  d.b_n = 1;
  return absl::OkStatus();
}

// Threads that are awake take columns of it, and find these in their caches where the product is made again. What a
// column's sum is does not depend on those beside it, so that the borders are free.
absl::Status SmallProduct(RunContext* ctx, const Problem& p) {
  constexpr int64_t kStep = 16, kLeastBytes = int64_t{96} << 10;
  const int64_t right_bytes = RightBytes(p.d), steps = (p.d.n - 1) / kStep + 1;
  const int64_t least = std::max<int64_t>((kLeastBytes * steps - 1) / right_bytes + 1, 4);
  std::atomic<bool> failed{false};
  absl::Status first_error;
  ctx->SmallParallelFor(steps, least, right_bytes, [&](int64_t begin, int64_t end) {
    const Ranges r{0, 1, 0, p.d.m, begin * kStep, std::min(p.d.n, end * kStep)};
    absl::Status status = RunTile(p, false, r);
    if (!status.ok() && !failed.exchange(true)) first_error = status;
  });
  return first_error;
}

}  // namespace

bool NeedsPreparation(const MatmulDesc& desc) {
  const bool many = static_cast<double>(desc.m) * desc.n * desc.k >= 1 << 20;  // below, it is another kernel's
  return Type(desc.a_type) == RtType::kF32 && desc.n > kSkinnyRows && many && WantOneDnn(desc);
}

void SetMatmulUseOneDnn(bool use) { use_onednn = use; }

absl::Status Matmul(RunContext* ctx, const MatmulDesc& desc, const void* a, const void* b, void* c) {
  if (desc.m < 0 || desc.n < 0 || desc.k < 0 || desc.num_batch_dims < 0 || desc.num_batch_dims > kMaxBatchDims) {
    return absl::InvalidArgumentError("matrix product: negative size or too many batch dimensions");
  }
  Problem p{desc, static_cast<const char*>(a), static_cast<const char*>(b), static_cast<char*>(c)};
  MergeBatches(&p.d);
  for (int i = 0; i < p.d.num_batch_dims; ++i) p.batches *= p.d.batch[i];
  if (p.batches <= 0 || p.d.m == 0 || p.d.n == 0) return absl::OkStatus();
  MatmulDesc& d = p.d;
  if (HasNarrowColumns(d)) XC_RETURN_IF_ERROR(JoinColumns(ctx, &p));
  // Strides of dimensions of size 1 say nothing: set them to what makes the operand look contiguous.
  if (d.m == 1) d.a_m = d.a_k == 1 ? d.k : 1;
  if (d.n == 1) d.b_n = d.b_k == 1 ? d.k : 1;
  const bool skinny_columns = !IsTiny(d) && d.n <= kSkinnyRows && d.n < d.m && d.b_type == d.a_type;
  const bool transposed_result = d.c_n != 1 && d.c_m == 1 && d.m != 1;
  if (skinny_columns || (transposed_result && d.m > kSkinnyRows && d.a_type == d.b_type)) Swap(&p);

  bool onednn = WantOneDnn(d);
  if (!onednn && IsSmallSkinny(p)) return SmallProduct(ctx, p);
  const Plan plan = MakePlan(d, p.batches, onednn, ctx->num_threads() == 1);
  if (onednn && plan.n_tiles == 1 && CopiesRight(d)) onednn = false;
  const int64_t per_batch = plan.m_tiles * plan.n_tiles;
  const int64_t inner = d.num_batch_dims == 0 ? 1 : d.batch[d.num_batch_dims - 1];
  const int64_t inner_tiles = (inner - 1) / plan.batch + 1;
  const int64_t part_bytes = d.m * d.n * SizeOf(Type(d.c_type));
  char* parts = nullptr;
  if (plan.k_tiles > 1) {
    XC_ASSIGN_OR_RETURN(parts, ThreadScratch(plan.k_tiles * part_bytes, kPartialSumScratch));
  }
  // Task t of those that take parts of the sums: into a dense result of its own.
  auto part_of_sum = [&](int64_t t) {
    const int64_t k0 = t * plan.k;
    Problem part = p;
    part.d.k = std::min(d.k - k0, plan.k);
    part.a += k0 * d.a_k * SizeOf(Type(d.a_type));
    part.b += k0 * d.b_k * SizeOf(Type(d.b_type));
    part.c = parts + t * part_bytes;
    part.d.c_m = d.n;
    part.d.c_n = 1;
    return RunTile(part, onednn, {0, 1, 0, d.m, 0, d.n});
  };
  auto tile = [&](int64_t t) {
    const int64_t batch_tile = t / per_batch;
    Ranges r;
    r.batch_begin = batch_tile / inner_tiles * inner + batch_tile % inner_tiles * plan.batch;
    r.batch_end = std::min(r.batch_begin + plan.batch, batch_tile / inner_tiles * inner + inner);
    r.m0 = t % per_batch / plan.n_tiles * plan.m;
    r.m1 = std::min(d.m, r.m0 + plan.m);
    r.n0 = t % plan.n_tiles * plan.n;
    r.n1 = std::min(d.n, r.n0 + plan.n);
    return RunTile(p, onednn, r);
  };
  std::atomic<bool> failed{false};
  absl::Status first_error;
  ctx->ParallelFor(plan.k_tiles * plan.batch_tiles * per_batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      absl::Status status = parts != nullptr ? part_of_sum(t) : tile(t);
      if (status.ok()) continue;
      if (!failed.exchange(true)) first_error = status;
      return;
    }
  });
  if (parts != nullptr && first_error.ok()) AddParts(d, parts, plan.k_tiles, p.c);
  return first_error;
}

}  // namespace xc

int xc_rt_matmul(void* ctx, const xc::MatmulDesc* desc, const void* a, const void* b, void* c) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::Matmul(run, *desc, a, b, c));
}
