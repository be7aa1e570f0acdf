#include "jit/host/row_buckets.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <set>

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

bool Equal(const std::vector<ClusterArg>& a, const std::vector<ClusterArg>& b) {
  bool equal = a.size() == b.size();
  for (size_t i = 0; equal && i < a.size(); ++i) {
    equal = a[i].type == b[i].type && a[i].dims == b[i].dims && SameValue(a[i], b[i]);
  }
  return equal;
}

int64_t RowsOf(const std::vector<ClusterArg>& args, const std::vector<int>& rows) { return args[rows[0]].dims[0]; }

std::vector<ClusterArg> WithRows(std::vector<ClusterArg> args, const std::vector<int>& rows, int64_t count) {
  for (int i : rows) args[i].dims[0] = count;
  return args;
}

// What signatures that differ in their number of rows only have in common.
std::string FamilyKey(const std::vector<ClusterArg>& args, const std::vector<int>& rows) {
  std::string key;
  for (int i : rows) absl::StrAppend(&key, i, " ");
  for (const ClusterArg& a : WithRows(args, rows, 0)) {
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

RowBuckets::Siblings RowBuckets::Look(const std::vector<ClusterArg>& args) {
  std::lock_guard<std::mutex> lock(mutex_);
  Siblings found;
  std::map<std::vector<int>, int> alike;
  int most = 0;
  for (size_t i = 0; i < seen_.size() && refusals_ < kMaxRefusals && most < kOwn; ++i) {
    std::vector<int> rows = DifferInRows(args, seen_[i].args);
    if (rows.empty()) continue;
    if (const int count = ++alike[rows]; count > most) {
      most = count;
      found.rows = std::move(rows);
    }
  }
  found.many = most >= kOwn;
  if (!found.many && seen_.size() < kMaxSeen) seen_.push_back({args, nullptr});
  if (found.rows.empty()) return found;
  const int64_t count = RowsOf(args, found.rows);
  Family& family = families_[FamilyKey(args, found.rows)];
  if (found.many) {
    Demand& demand = family.demands[SizeFor(count)];
    if (demand == nullptr) demand = std::move(found.demand);
    found.demand = demand;
  }
  std::shared_ptr<SiblingTimes>& times = family.times[std::bit_width(static_cast<uint64_t>(count - 1))];
  if (times == nullptr) times = std::make_shared<SiblingTimes>();
  found.times = times;
  return found;
}

ClusterCode RowBuckets::Ready(const std::vector<ClusterArg>& args, const Siblings& siblings) const {
  const int64_t count = RowsOf(args, siblings.rows);
  std::lock_guard<std::mutex> lock(mutex_);
  auto family = families_.find(FamilyKey(args, siblings.rows));
  if (family == families_.end()) return nullptr;
  const auto& buckets = family->second.buckets;
  for (auto it = buckets.lower_bound(count); it != buckets.end() && Reaches(it->first, count); ++it) {
    std::unique_lock<std::mutex> serving(it->second->mutex, std::try_to_lock);
    if (!serving.owns_lock()) continue;
    auto fit = it->second->fits.find(count);
    if (fit != it->second->fits.end()) return fit->second;
  }
  return nullptr;
}

std::shared_ptr<RowBuckets::Bucket> RowBuckets::BucketOf(const ClusterCode& code, int64_t rows) const {
  auto bucket = std::make_shared<Bucket>(rows);
  bucket->executable = code->executable;
  bucket->compile_seconds = code->seconds;
  return bucket;
}

void RowBuckets::Offer(const std::vector<ClusterArg>& args, const Siblings& siblings, const ClusterCode& code) {
  if (code->executable == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  for (Seen& seen : seen_) {
    if (Equal(seen.args, args)) seen.code = code;
  }
  if (!siblings.many) return;  // those that were seen find it
  const int64_t count = RowsOf(args, siblings.rows);
  auto& buckets = families_[FamilyKey(args, siblings.rows)].buckets;
  if (buckets.count(count) == 0) buckets.emplace(count, BucketOf(code, count));
}

absl::StatusOr<std::shared_ptr<RowBuckets::Bucket>> RowBuckets::Choose(const std::vector<ClusterArg>& args,
                                                                       const Siblings& siblings, int max_made,
                                                                       bool* made) {
  const std::vector<int>& rows = siblings.rows;
  const int64_t count = RowsOf(args, rows);
  std::lock_guard<std::mutex> lock(mutex_);
  auto& buckets = families_[FamilyKey(args, rows)].buckets;
  for (const Seen& seen : seen_) {
    if (seen.code == nullptr || DifferInRows(args, seen.args) != rows) continue;
    const int64_t size = RowsOf(seen.args, rows);
    if (Reaches(size, count) && buckets.count(size) == 0) buckets.emplace(size, BucketOf(seen.code, size));
  }
  auto it = buckets.lower_bound(count);
  if (it != buckets.end() && Reaches(it->first, count)) return it->second;
  if (!siblings.many) return absl::NotFoundError("no code for hardly more rows");
  if (made_ >= max_made) {
    return absl::UnimplementedError(absl::StrCat("compiled for ", made_, " numbers of rows already"));
  }
  ++made_;
  *made = true;
  const int64_t size = SizeFor(count);
  return buckets.emplace(size, std::make_shared<Bucket>(size)).first->second;
}

absl::StatusOr<ClusterCode> RowBuckets::FitIn(Bucket& bucket, const std::vector<ClusterArg>& args,
                                              const std::vector<int>& rows, const CompileOptions& options, Done* done) {
  const auto start = std::chrono::steady_clock::now();
  const int64_t count = RowsOf(args, rows);
  std::lock_guard<std::mutex> lock(bucket.mutex);
  if (auto it = bucket.fits.find(count); it != bucket.fits.end()) return it->second;
  std::set<int> needed;
  XC_ASSIGN_OR_RETURN(LoweredCluster lowered, LowerCluster(graph_, args, &needed));
  if (lowered.module == nullptr) return absl::UnimplementedError("nothing is left to be compiled");
  if (bucket.lowered.module == nullptr) {
    XC_ASSIGN_OR_RETURN(bucket.lowered, LowerCluster(graph_, WithRows(args, rows, bucket.size), &needed));
    if (bucket.lowered.module == nullptr) return absl::UnimplementedError("nothing is left to be compiled");
  }
  if (count == bucket.size && count > 2 && bucket.executable == nullptr) {
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
    const auto compiling = std::chrono::steady_clock::now();
    XC_ASSIGN_OR_RETURN(bucket.executable, client_->Compile(bucket.lowered.module->Clone(), platform_, options));
    bucket.compile_seconds = Seconds(compiling);
    done->compiled = true;
  }
  if (parameters != ParameterShapes(*bucket.lowered.module)) {
    // Which arrays differ may depend on the number of rows (half of 19 and of 20 rows, rounded up, are 10). Clusters
    // may have many buckets: what a call needs stays allocated only where it is little.
    const size_t size = RowPadding::BlockSize(parameters, results, *bucket.executable);
    if (bucket.pool == nullptr || bucket.pool->size() < size) {
      bucket.pool = std::make_shared<ArenaPool>(size, /*guard=*/false, size <= 1 << 16 ? 4 : size <= 1 << 22 ? 1 : 0);
    }
    out->padding = std::make_shared<RowPadding>(parameters, results, *bucket.executable, bucket.pool);
    out->rows = bucket.size;
    out->copies = static_cast<double>(bucket.size - count) / static_cast<double>(bucket.size);
    out->shared_seconds = bucket.compile_seconds;
  }
  lowered.module = nullptr;
  out->lowered = std::move(lowered);
  out->executable = bucket.executable;
  out->SetResults(graph_, results);
  out->seconds = Seconds(start);
  if (bucket.fits.empty()) done->prepare = bucket.size;
  bucket.fits.emplace(count, out);
  return out;
}

absl::StatusOr<ClusterCode> RowBuckets::Fit(const std::vector<ClusterArg>& args, const Siblings& siblings, int max_made,
                                            const CompileOptions& options, Done* done) {
  bool made = false;
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Bucket> bucket, Choose(args, siblings, max_made, &made));
  auto fit = FitIn(*bucket, args, siblings.rows, options, done);
  if (fit.ok()) return fit;
  // One number of rows may be special; a bucket that serves none is of no use.
  std::scoped_lock lock(mutex_, bucket->mutex);
  if (!bucket->fits.empty()) return fit.status();
  ++refusals_;
  if (made) {
    --made_;
    families_[FamilyKey(args, siblings.rows)].buckets.erase(bucket->size);
  }
  return fit.status();
}

void RowBuckets::Prepare(const std::vector<ClusterArg>& args, const Siblings& siblings, int64_t size) {
  std::shared_ptr<Bucket> bucket;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& buckets = families_[FamilyKey(args, siblings.rows)].buckets;
    auto it = buckets.find(size);
    if (it == buckets.end()) return;
    bucket = it->second;
  }
  const auto start = std::chrono::steady_clock::now();
  for (int64_t count = size; count > 0 && Reaches(size, count) && Seconds(start) < kPrepareSeconds; --count) {
    Done done;
    if (!FitIn(*bucket, WithRows(args, siblings.rows, count), siblings.rows, {}, &done).ok()) break;
  }
  // The module, with the constants in it, is made again should another number of rows come.
  std::lock_guard<std::mutex> lock(bucket->mutex);
  bucket->lowered.module = nullptr;
}

void RowBuckets::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  seen_.clear();
  families_.clear();
  made_ = refusals_ = 0;
}

}  // namespace xc
