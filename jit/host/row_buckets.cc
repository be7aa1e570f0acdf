#include "jit/host/row_buckets.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/row_agreement.h"

namespace xc {
namespace {

bool SameValue(const ClusterArg& a, const ClusterArg& b) {
  if ((a.constant == nullptr) != (b.constant == nullptr)) return false;
  if (a.constant == nullptr || a.constant == b.constant) return true;
  const Tensor &x = a.constant->tensor, &y = b.constant->tensor;
  return x.byte_size() == y.byte_size() && std::memcmp(x.raw(), y.raw(), x.byte_size()) == 0;
}

// The arguments whose numbers of rows differ; none unless all else is equal and either side has one number of rows.
std::vector<int> DifferInRows(const std::vector<ClusterArg>& a, const std::vector<ClusterArg>& b) {
  std::vector<int> rows;
  if (a.size() != b.size()) return {};
  for (size_t i = 0; i < a.size(); ++i) {
    const Dims &x = a[i].dims, &y = b[i].dims;
    if (a[i].type != b[i].type || x.size() != y.size() || !SameValue(a[i], b[i])) return {};
    if (x == y) continue;
    const bool fits = a[i].constant == nullptr && x[0] > 0 && y[0] > 0 &&
                      std::equal(x.begin() + 1, x.end(), y.begin() + 1) &&
                      (rows.empty() || (x[0] == a[rows[0]].dims[0] && y[0] == b[rows[0]].dims[0]));
    if (!fits) return {};
    rows.push_back(static_cast<int>(i));
  }
  return rows;
}

std::vector<ClusterArg> WithRows(std::vector<ClusterArg> args, const std::vector<int>& rows, int64_t count) {
  for (int i : rows) args[i].dims[0] = count;
  return args;
}

std::string Key(const std::vector<ClusterArg>& args, const std::vector<int>& rows) {
  std::string key;
  for (int i : rows) absl::StrAppend(&key, i, " ");
  for (const ClusterArg& a : args) {
    absl::StrAppend(&key, ";", a.type, DimsToString(a.dims), a.is_variable, a.initialized);
    if (a.constant != nullptr) {
      const Tensor& t = a.constant->tensor;
      absl::StrAppend(&key, "=", absl::string_view(static_cast<const char*>(t.raw()), t.byte_size()));
    }
  }
  return key;
}

// The shapes of a module's parameters, and those of its results.
std::vector<Shape> ParameterShapes(const HloModule& module) {
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < module.entry()->parameter_count(); ++i) {
    shapes.push_back(module.entry()->parameter(i)->shape());
  }
  return shapes;
}
std::vector<Shape> ResultShapes(const HloModule& module) { return module.entry()->root()->shape().tuple_shapes(); }

// Whether two clusters take their arguments and give their results alike.
absl::Status SameInterface(const LoweredCluster& a, const LoweredCluster& b) {
  bool same = a.parameter_args == b.parameter_args && a.results.size() == b.results.size() &&
              a.variable_updates == b.variable_updates && a.check_output == b.check_output;
  for (size_t i = 0; same && i < a.results.size(); ++i) {
    same = a.results[i].output == b.results[i].output && a.results[i].argument == b.results[i].argument &&
           a.results[i].size_output == b.results[i].size_output && a.results[i].size_axis == b.results[i].size_axis;
  }
  return same ? absl::OkStatus() : absl::UnimplementedError("results are made in another way for more rows");
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

int64_t RowBuckets::SizeFor(int64_t rows) {
  if (rows <= 8) return rows;
  const int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(rows - 1))) / 4;
  return (rows + step - 1) / step * step;
}

std::vector<int> RowBuckets::RowArgs(const std::vector<ClusterArg>& args) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::vector<int>, int> alike;
  for (const std::vector<ClusterArg>& other : seen_) {
    std::vector<int> rows = DifferInRows(args, other);
    if (!rows.empty() && ++alike[rows] >= kOwn && refusals_ < kMaxRefusals) return rows;
  }
  if (seen_.size() < kMaxSeen) seen_.push_back(args);
  return {};
}

std::shared_ptr<RowBuckets::Bucket> RowBuckets::Find(const std::vector<ClusterArg>& args,
                                                     const std::vector<int>& rows) const {
  const std::string key = Key(WithRows(args, rows, SizeFor(args[rows[0]].dims[0])), rows);
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = buckets_.find(key);
  return it == buckets_.end() ? nullptr : it->second;
}

ClusterCode RowBuckets::Ready(const std::vector<ClusterArg>& args, const std::vector<int>& rows) const {
  std::shared_ptr<Bucket> bucket = Find(args, rows);
  if (bucket == nullptr) return nullptr;
  std::unique_lock<std::mutex> lock(bucket->mutex, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  auto it = bucket->fits.find(args[rows[0]].dims[0]);
  return it == bucket->fits.end() ? nullptr : it->second;
}

absl::StatusOr<ClusterCode> RowBuckets::FitIn(Bucket& bucket, const std::vector<ClusterArg>& args,
                                              const std::vector<int>& rows, const CompileOptions& options,
                                              bool* compiled) {
  const auto start = std::chrono::steady_clock::now();
  const int64_t count = args[rows[0]].dims[0];
  std::lock_guard<std::mutex> lock(bucket.mutex);
  if (auto it = bucket.fits.find(count); it != bucket.fits.end()) return it->second;
  std::set<int> needed;
  XC_ASSIGN_OR_RETURN(LoweredCluster lowered, LowerCluster(graph_, args, &needed));
  if (lowered.module == nullptr) return absl::UnimplementedError("nothing is left to be compiled");
  if (bucket.lowered.module == nullptr) {
    XC_ASSIGN_OR_RETURN(bucket.lowered, LowerCluster(graph_, WithRows(args, rows, SizeFor(count)), &needed));
    if (bucket.lowered.module == nullptr) return absl::UnimplementedError("nothing is left to be compiled");
  }
  if (count == SizeFor(count) && count > 2 && bucket.executable == nullptr) {
    // It is the bucket itself: another number of rows must show that they are independent.
    XC_ASSIGN_OR_RETURN(LoweredCluster fewer, LowerCluster(graph_, WithRows(args, rows, count - 1), &needed));
    if (fewer.module == nullptr) return absl::UnimplementedError("nothing is left to be compiled");
    XC_RETURN_IF_ERROR(RowsAgree(*fewer.module, *bucket.lowered.module));
  }
  XC_RETURN_IF_ERROR(SameInterface(lowered, bucket.lowered));
  XC_RETURN_IF_ERROR(RowsAgree(*lowered.module, *bucket.lowered.module));
  auto out = std::make_shared<CompiledCluster>();
  const std::vector<Shape> parameters = ParameterShapes(*lowered.module), results = ResultShapes(*lowered.module);
  if (bucket.executable == nullptr) {
    XC_ASSIGN_OR_RETURN(bucket.executable, client_->Compile(bucket.lowered.module->Clone(), platform_, options));
    *compiled = true;
  }
  if (parameters != ParameterShapes(*bucket.lowered.module)) {
    // Which arrays differ may depend on the number of rows (half of 19 and of 20 rows, rounded up, are 10). Clusters
    // may have many buckets: what a call needs stays allocated only where it is little.
    const size_t size = RowPadding::BlockSize(parameters, results, *bucket.executable);
    if (bucket.pool == nullptr || bucket.pool->size() < size) {
      bucket.pool = std::make_shared<ArenaPool>(size, /*guard=*/false, size <= 1 << 16 ? 4 : size <= 1 << 22 ? 1 : 0);
    }
    out->padding = std::make_shared<RowPadding>(parameters, results, *bucket.executable, bucket.pool);
    out->rows = SizeFor(count);
  }
  lowered.module = nullptr;
  out->lowered = std::move(lowered);
  out->executable = bucket.executable;
  out->SetResults(graph_, results);
  out->seconds = Seconds(start);
  bucket.fits.emplace(count, out);
  return out;
}

absl::StatusOr<ClusterCode> RowBuckets::Fit(const std::vector<ClusterArg>& args, const std::vector<int>& rows,
                                            int max_buckets, const CompileOptions& options, bool* compiled) {
  std::shared_ptr<Bucket> bucket = Find(args, rows);
  const std::string key = Key(WithRows(args, rows, SizeFor(args[rows[0]].dims[0])), rows);
  if (bucket == nullptr) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (static_cast<int>(buckets_.size()) >= max_buckets) {
      return absl::UnimplementedError(absl::StrCat("compiled for ", buckets_.size(), " numbers of rows already"));
    }
    std::shared_ptr<Bucket>& slot = buckets_[key];
    if (slot == nullptr) slot = std::make_shared<Bucket>();
    bucket = slot;
  }
  auto fit = FitIn(*bucket, args, rows, options, compiled);
  if (fit.ok()) return fit;
  // One number of rows may be special; a bucket that serves none is of no use.
  std::scoped_lock lock(mutex_, bucket->mutex);
  if (bucket->fits.empty()) {
    ++refusals_;
    buckets_.erase(key);
  }
  return fit.status();
}

void RowBuckets::Prepare(const std::vector<ClusterArg>& args, const std::vector<int>& rows) {
  std::shared_ptr<Bucket> bucket = Find(args, rows);
  if (bucket == nullptr) return;
  const int64_t size = SizeFor(args[rows[0]].dims[0]);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t count = size; count > 0 && SizeFor(count) == size && Seconds(start) < kPrepareSeconds; --count) {
    bool compiled = false;
    if (!FitIn(*bucket, WithRows(args, rows, count), rows, {}, &compiled).ok()) return;
  }
}

void RowBuckets::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  seen_.clear();
  buckets_.clear();
  refusals_ = 0;
}

}  // namespace xc
