#include "jit/launch/batch/batch_buckets.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "hlo/analysis/padding_safety.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

bool SameValue(const ClusterArg& a, const ClusterArg& b) {
  if ((a.constant == nullptr) != (b.constant == nullptr)) return false;
  if (a.constant == nullptr || a.constant == b.constant) return true;
  const Tensor &x = a.constant->tensor, &y = b.constant->tensor;
  return x.byte_size() == y.byte_size() && std::memcmp(x.raw(), y.raw(), x.byte_size()) == 0;
}

// The arguments whose batch dimensions differ; none unless all else is equal and either side has one batch size.
std::vector<int> DifferInBatch(const std::vector<ClusterArg>& a, const std::vector<ClusterArg>& b) {
  std::vector<int> differ;
  if (a.size() != b.size()) return {};
  for (size_t i = 0; i < a.size(); ++i) {
    const Dims &x = a[i].dims, &y = b[i].dims;
    if (a[i].type != b[i].type || x.size() != y.size() || !SameValue(a[i], b[i])) return {};
    if (x == y) continue;
    const bool fits = a[i].constant == nullptr && x[0] > 0 && y[0] > 0 &&
                      std::equal(x.begin() + 1, x.end(), y.begin() + 1) &&
                      (differ.empty() || (x[0] == a[differ[0]].dims[0] && y[0] == b[differ[0]].dims[0]));
    if (!fits) return {};
    differ.push_back(static_cast<int>(i));
  }
  return differ;
}

bool Equal(const std::vector<ClusterArg>& a, const std::vector<ClusterArg>& b) {
  bool equal = a.size() == b.size();
  for (size_t i = 0; equal && i < a.size(); ++i) {
    equal = a[i].type == b[i].type && a[i].dims == b[i].dims && SameValue(a[i], b[i]);
  }
  return equal;
}

int64_t BatchOf(const std::vector<ClusterArg>& args, const std::vector<int>& batch_args) {
  return args[batch_args[0]].dims[0];
}

std::vector<ClusterArg> WithBatch(std::vector<ClusterArg> args, const std::vector<int>& batch_args, int64_t batch) {
  for (int i : batch_args) args[i].dims[0] = batch;
  return args;
}

// What the signatures of a family have in common.
std::string FamilyKey(const std::vector<ClusterArg>& args, const std::vector<int>& batch_args) {
  std::string key;
  for (int i : batch_args) absl::StrAppend(&key, i, " ");
  for (const ClusterArg& a : WithBatch(args, batch_args, 0)) {
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
  return same ? absl::OkStatus()
              : absl::UnimplementedError("the results would be computed in another way for a larger batch");
}

}  // namespace

int64_t BatchBuckets::SizeFor(int64_t batch) {
  if (batch <= 8) return batch;
  const int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(batch - 1))) / 4;
  return (batch + step - 1) / step * step;
}

BatchBuckets::Family BatchBuckets::FindFamily(const std::vector<ClusterArg>& args) {
  std::lock_guard<std::mutex> lock(mutex_);
  Family found;
  std::map<std::vector<int>, int> alike;
  int most = 0;
  for (size_t i = 0; i < seen_.size() && refusals_ < kMaxRefusals && most < kExact; ++i) {
    std::vector<int> batch_args = DifferInBatch(args, seen_[i].args);
    if (batch_args.empty()) continue;
    if (const int count = ++alike[batch_args]; count > most) {
      most = count;
      found.batch_args = std::move(batch_args);
    }
  }
  found.many = most >= kExact;
  if (!found.many && seen_.size() < kMaxSeen) seen_.push_back({args, nullptr});
  if (found.alone()) return found;
  const int64_t batch = BatchOf(args, found.batch_args);
  Members& members = families_[FamilyKey(args, found.batch_args)];
  if (found.many) {
    Demand& demand = members.demands[SizeFor(batch)];
    if (demand == nullptr) demand = std::move(found.demand);
    found.demand = demand;
  }
  std::shared_ptr<FamilyTimes>& times = members.times[std::bit_width(static_cast<uint64_t>(batch - 1))];
  if (times == nullptr) times = std::make_shared<FamilyTimes>();
  found.times = times;
  return found;
}

ClusterCode BatchBuckets::ReadyCode(const std::vector<ClusterArg>& args, const Family& family) const {
  const int64_t batch = BatchOf(args, family.batch_args);
  std::lock_guard<std::mutex> lock(mutex_);
  auto members = families_.find(FamilyKey(args, family.batch_args));
  if (members == families_.end()) return nullptr;
  const auto& buckets = members->second.buckets;
  for (auto it = buckets.lower_bound(batch); it != buckets.end() && Reaches(it->first, batch); ++it) {
    std::unique_lock<std::mutex> serving(it->second->mutex, std::try_to_lock);
    if (!serving.owns_lock()) continue;
    auto code = it->second->serves.find(batch);
    if (code != it->second->serves.end()) return code->second;
  }
  return nullptr;
}

void BatchBuckets::AddExact(const std::vector<ClusterArg>& args, const Family& family, const ClusterCode& code) {
  if (code->executable == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  for (Seen& seen : seen_) {
    if (Equal(seen.args, args)) seen.code = code;
  }
  if (!family.many) return;  // those that were seen find it
  const int64_t batch = BatchOf(args, family.batch_args);
  auto& buckets = families_[FamilyKey(args, family.batch_args)].buckets;
  if (buckets.count(batch) != 0) return;
  auto bucket = std::make_shared<Bucket>(batch);
  bucket->executable = code->executable;
  bucket->compile_seconds = code->seconds;
  buckets.emplace(batch, std::move(bucket));
}

absl::StatusOr<std::shared_ptr<BatchBuckets::Bucket>> BatchBuckets::Choose(const std::vector<ClusterArg>& args,
                                                                           const Family& family, int max_made,
                                                                           bool* made) {
  const std::vector<int>& batch_args = family.batch_args;
  const int64_t batch = BatchOf(args, batch_args);
  std::lock_guard<std::mutex> lock(mutex_);
  auto& buckets = families_[FamilyKey(args, batch_args)].buckets;
  for (const Seen& seen : seen_) {
    if (seen.code == nullptr || DifferInBatch(args, seen.args) != batch_args) continue;
    const int64_t size = BatchOf(seen.args, batch_args);
    if (!Reaches(size, batch) || buckets.count(size) != 0) continue;
    auto bucket = std::make_shared<Bucket>(size);
    bucket->executable = seen.code->executable;
    bucket->compile_seconds = seen.code->seconds;
    buckets.emplace(size, std::move(bucket));
  }
  auto it = buckets.lower_bound(batch);
  if (it != buckets.end() && Reaches(it->first, batch)) return it->second;
  if (!family.many) return absl::NotFoundError("no compiled code for a slightly larger batch");
  if (made_ >= max_made) {
    return absl::UnimplementedError(absl::StrCat("compiled for ", made_, " batch sizes already"));
  }
  ++made_;
  *made = true;
  const int64_t size = SizeFor(batch);
  return buckets.emplace(size, std::make_shared<Bucket>(size)).first->second;
}

absl::StatusOr<LoweredCluster> BatchBuckets::Lower(const std::vector<ClusterArg>& args) {
  std::set<int> needed;
  XC_ASSIGN_OR_RETURN(LoweredCluster lowered, compiler_->Lower(graph_, args, &needed, nullptr));
  if (lowered.module == nullptr) return absl::UnimplementedError("nothing is left to be compiled");
  return lowered;
}

absl::Status BatchBuckets::CheckPadding(const LoweredCluster& small, const Bucket& bucket) const {
  XC_RETURN_IF_ERROR(SameInterface(small, bucket.lowered));
  return CheckPaddingSafety(*small.module, *bucket.lowered.module);
}

absl::StatusOr<ClusterCode> BatchBuckets::CodeIn(Bucket& bucket, const std::vector<ClusterArg>& args,
                                                 const std::vector<int>& batch_args, const CompileOptions& options,
                                                 Done* done) {
  const int64_t start = now_();
  const int64_t batch = BatchOf(args, batch_args);
  std::lock_guard<std::mutex> lock(bucket.mutex);
  if (auto it = bucket.serves.find(batch); it != bucket.serves.end()) return it->second;
  XC_ASSIGN_OR_RETURN(LoweredCluster lowered, Lower(args));
  if (bucket.lowered.module == nullptr) {
    XC_ASSIGN_OR_RETURN(bucket.lowered, Lower(WithBatch(args, batch_args, bucket.size)));
  }
  if (batch == bucket.size && batch > 2 && bucket.executable == nullptr) {
    // It is the bucket itself: another batch size must show that the batch's elements are independent.
    XC_ASSIGN_OR_RETURN(LoweredCluster fewer, Lower(WithBatch(args, batch_args, batch - 1)));
    XC_RETURN_IF_ERROR(CheckPaddingSafety(*fewer.module, *bucket.lowered.module));
  }
  XC_RETURN_IF_ERROR(CheckPadding(lowered, bucket));
  auto out = std::make_shared<CompiledCluster>();
  const std::vector<Shape> parameters = ParameterShapes(*lowered.module), results = ResultShapes(*lowered.module);
  if (bucket.executable == nullptr) {
    const int64_t compiling = now_();
    XC_ASSIGN_OR_RETURN(bucket.executable, compiler_->Compile(bucket.lowered.module->Clone(), options));
    bucket.compile_seconds = static_cast<double>(now_() - compiling) * 1e-9;
    done->compiled = true;
  }
  if (parameters != ParameterShapes(*bucket.lowered.module)) {
    // Which arrays differ may depend on the batch size (half of 19 and of 20, rounded up, are 10). Clusters may have
    // many buckets: what a call needs stays allocated only where it is little.
    const size_t size = BatchPadding::BlockSize(parameters, results, *bucket.executable);
    if (bucket.pool == nullptr || bucket.pool->size() < size) {
      bucket.pool = std::make_shared<ArenaPool>(size, /*guard=*/false, size <= 1 << 16 ? 4 : size <= 1 << 22 ? 1 : 0);
    }
    out->padding = std::make_shared<BatchPadding>(parameters, results, *bucket.executable, bucket.pool);
    out->padded_batch = bucket.size;
    out->padding_part = static_cast<double>(bucket.size - batch) / static_cast<double>(bucket.size);
    out->padded_seconds = bucket.compile_seconds;
  }
  lowered.module = nullptr;
  out->lowered = std::move(lowered);
  out->executable = bucket.executable;
  out->SetResults(graph_, results);
  out->seconds = static_cast<double>(now_() - start) * 1e-9;
  if (bucket.serves.empty()) done->prepare = bucket.size;
  if (bucket.serves.size() >= kMaxServed) bucket.serves.erase(bucket.serves.begin());
  bucket.serves.emplace(batch, out);
  return out;
}

absl::StatusOr<ClusterCode> BatchBuckets::GetCode(const std::vector<ClusterArg>& args, const Family& family,
                                                  int max_made, const CompileOptions& options, Done* done) {
  bool made = false;
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Bucket> bucket, Choose(args, family, max_made, &made));
  auto code = CodeIn(*bucket, args, family.batch_args, options, done);
  if (code.ok()) return code;
  // One batch size may be special; a bucket that serves none is of no use.
  std::scoped_lock lock(mutex_, bucket->mutex);
  if (!bucket->serves.empty()) return code.status();
  ++refusals_;
  if (made) {
    --made_;
    families_[FamilyKey(args, family.batch_args)].buckets.erase(bucket->size);
  }
  return code.status();
}

void BatchBuckets::Prepare(const std::vector<ClusterArg>& args, const Family& family, int64_t size) {
  std::shared_ptr<Bucket> bucket;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& buckets = families_[FamilyKey(args, family.batch_args)].buckets;
    auto it = buckets.find(size);
    if (it == buckets.end()) return;
    bucket = it->second;
  }
  const int64_t start = now_();
  for (int64_t batch = size; batch > 0 && Reaches(size, batch) && now_() - start < kPrepareNs; --batch) {
    Done done;
    if (!CodeIn(*bucket, WithBatch(args, family.batch_args, batch), family.batch_args, {}, &done).ok()) break;
  }
  // The module, with the constants in it, is made again should another batch size come.
  std::lock_guard<std::mutex> lock(bucket->mutex);
  bucket->lowered.module = nullptr;
}

void BatchBuckets::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  seen_.clear();
  families_.clear();
  made_ = refusals_ = 0;
}

}  // namespace xc
