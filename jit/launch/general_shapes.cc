#include "jit/launch/general_shapes.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kMostKnownSizes = 16;  // of an argument whose value is known: longer ones are data

// The integers of an argument that is known and may consist of sizes, of type T; null if it is none.
template <typename T>
const T* KnownSizes(const ClusterArg& arg, DataType type) {
  if (arg.constant == nullptr || arg.type != type) return nullptr;
  const Tensor& t = arg.constant->tensor;
  return t.num_elements() <= kMostKnownSizes ? t.data<T>() : nullptr;
}

std::vector<int64_t> SizesOf(const ClusterArg& arg) {
  std::vector<int64_t> sizes(arg.dims.begin(), arg.dims.end());
  if (const int32_t* known = KnownSizes<int32_t>(arg, DT_INT32)) {
    sizes.insert(sizes.end(), known, known + arg.constant->tensor.num_elements());
  } else if (const int64_t* wide = KnownSizes<int64_t>(arg, DT_INT64)) {
    sizes.insert(sizes.end(), wide, wide + arg.constant->tensor.num_elements());
  }
  return sizes;
}

std::vector<int64_t> SizesOf(const std::vector<ClusterArg>& args) {
  std::vector<int64_t> sizes;
  for (const ClusterArg& a : args) {
    const std::vector<int64_t> of = SizesOf(a);
    sizes.insert(sizes.end(), of.begin(), of.end());
  }
  return sizes;
}

// The argument with other sizes, as SizesOf gives them, from *next on.
absl::StatusOr<ClusterArg> WithSizes(const ClusterArg& arg, const std::vector<int64_t>& sizes, size_t* next) {
  ClusterArg changed = arg;
  for (int64_t& d : changed.dims) d = sizes[(*next)++];
  const int64_t known = static_cast<int64_t>(SizesOf(arg).size() - arg.dims.size());
  if (known == 0) return changed;
  XC_ASSIGN_OR_RETURN(Tensor value, Tensor::Uninitialized(arg.type, arg.dims));
  for (int64_t i = 0; i < known; ++i) {
    const int64_t size = sizes[(*next)++];
    if (arg.type == DT_INT32) value.data<int32_t>()[i] = static_cast<int32_t>(size);
    if (arg.type == DT_INT64) value.data<int64_t>()[i] = size;
  }
  changed.dims = arg.dims;
  changed.constant = std::make_shared<const HostConstant>(std::move(value));
  return changed;
}

// What the signatures of a group have in common.
std::string GroupKey(const std::vector<ClusterArg>& args) {
  std::string key;
  for (const ClusterArg& a : args) {
    absl::StrAppend(&key, ";", a.type, ",", a.is_variable, a.initialized, "[", a.dims.size(), ":");
    const std::vector<int64_t> sizes = SizesOf(a);
    for (int64_t size : sizes) absl::StrAppend(&key, size <= 1 ? absl::StrCat(size) : "n", ",");
    if (a.constant != nullptr) absl::StrAppend(&key, "=", DimsToString(a.dims));
    if (a.constant != nullptr && sizes.size() == a.dims.size()) {
      const Tensor& t = a.constant->tensor;
      absl::StrAppend(&key, absl::string_view(static_cast<const char*>(t.raw()), t.byte_size()));
    }
  }
  return key;
}

// Whether more varies than the first dimension of arguments.
bool VariesInside(const GeneralShapes::Group& group) {
  size_t i = 0;
  bool inside = false;
  for (const ClusterArg& a : group.args) {
    const size_t end = i + SizesOf(a).size(), first = i;
    for (; i < end; ++i) inside |= (i > first || a.dims.empty()) && group.classes.Varies(i);
  }
  return inside;
}

// `float32[a,b], …, float32[b]`, with letters for sizes that vary; of arguments that always have the same, an ellipsis.
std::string GroupText(const GeneralShapes::Group& group) {
  std::vector<std::string> args;
  size_t next = 0;
  for (const ClusterArg& a : group.args) {
    const std::vector<int64_t> sizes = SizesOf(a);
    std::vector<std::string> dims, known;
    bool varies = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      varies |= group.classes.Varies(next);
      const int c = group.classes.Of(next);
      const std::string letter = c < 26 ? std::string(1, static_cast<char>('a' + c)) : absl::StrCat("s", c);
      (i < a.dims.size() ? dims : known).push_back(group.classes.Varies(next++) ? letter : absl::StrCat(sizes[i]));
    }
    if (!varies) {
      if (args.empty() || args.back() != "…") args.push_back("…");
      continue;
    }
    std::string text = absl::StrCat(DataTypeName(a.type), "[", absl::StrJoin(dims, ","), "]");
    if (!known.empty()) absl::StrAppend(&text, "={", absl::StrJoin(known, ","), "}");
    args.push_back(std::move(text));
  }
  return absl::StrJoin(args, ", ");
}

}  // namespace

int64_t GeneralShapes::VaryingElements(const Group& group, const std::vector<ClusterArg>& args) {
  int64_t sum = 0;
  size_t next = 0;
  for (const ClusterArg& a : args) {
    bool varies = false;
    const size_t end = next + SizesOf(a).size();
    for (; next < end; ++next) varies |= group.classes.Varies(next);
    int64_t elements = varies ? 1 : 0;
    for (int64_t d : a.dims) elements *= d;
    sum += elements;
  }
  return sum;
}

std::shared_ptr<GeneralShapes::Group> GeneralShapes::Find(const std::vector<ClusterArg>& args) {
  const std::vector<int64_t> sizes = SizesOf(args);
  std::shared_ptr<Group> group, refused;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string key = GroupKey(args);
    auto it = groups_.find(key);
    if (it == groups_.end()) {
      if (groups_.size() >= kMaxGroups) return nullptr;
      it = groups_.emplace(std::move(key), std::make_shared<Group>()).first;
    }
    // The first signatures may have misled the guesses about what varies with what: more may not.
    if (it->second->refused && it->second->attempt < kMostAttempts) {
      auto again = std::make_shared<Group>();
      again->attempt = it->second->attempt + 1;
      again->args = it->second->args;
      again->classes = it->second->classes;
      again->seen = again->classes.signatures();
      again->batch_counts = it->second->batch_counts.load();
      again->others = it->second->others.load();
      refused = std::exchange(it->second, again);
      std::lock_guard<std::mutex> in_group(refused->mutex);
      again->last_other = refused->last_other;
    }
    group = it->second;
  }
  std::lock_guard<std::mutex> lock(group->mutex);
  if (group->refused) return nullptr;
  if (group->seen++ == 0) group->args = args;
  if (group->code != nullptr) return group;  // its samples stand
  group->classes.Add(sizes);
  if (group->seen < kFew << (group->attempt - 1) || !(group->batch_counts || VariesInside(*group))) return group;
  // The classes stay as they are from here on.
  group->code =
      compiler_->MakeGeneral([this, g = group.get()](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
        absl::StatusOr<std::unique_ptr<HloModule>> module = absl::UnimplementedError("no sample");
        for (int way = 0; way < SizeClasses::kWays && !module.ok(); ++way) {
          const absl::StatusOr<std::vector<int64_t>> sample = g->classes.Sample(which, way);
          if (!sample.ok()) continue;
          std::vector<ClusterArg> changed;
          size_t next = 0;
          for (const ClusterArg& a : g->args) {
            XC_ASSIGN_OR_RETURN(ClusterArg arg, WithSizes(a, *sample, &next));
            changed.push_back(std::move(arg));
          }
          LoweredCluster lowered;
          module = Lower(changed, &lowered);
        }
        return module;
      });
  if (group->code == nullptr) return nullptr;
  group->wanted = true;
  __atomic_store_n(&group->cancel, 1, __ATOMIC_RELAXED);
  return group;
}

absl::StatusOr<std::unique_ptr<HloModule>> GeneralShapes::Lower(const std::vector<ClusterArg>& args,
                                                                LoweredCluster* lowered) {
  std::set<int> needed;
  // Lowerings look at it (ForAllSizes); nothing is chosen yet.
  Choices any;
  const ChoicesScope scope(&any);
  auto made = compiler_->Lower(graph_, args, &needed, nullptr);
  if (!made.ok()) return absl::UnimplementedError(made.status().message());
  *lowered = *std::move(made);
  if (lowered->module == nullptr) return absl::UnimplementedError("nothing is left to be compiled");
  return std::move(lowered->module);
}

absl::StatusOr<ClusterCode> GeneralShapes::GetCode(const std::vector<ClusterArg>& args,
                                                   const std::shared_ptr<Group>& group, const CompileOptions& options,
                                                   bool may_compile, bool* compiled) {
  const int64_t start = now_(), used = thread_now_();
  auto out = std::make_shared<CompiledCluster>();
  out->name = graph_.name;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, Lower(args, &out->lowered));
  const auto again = [&] {
    LoweredCluster same;
    return Lower(args, &same);
  };
  const int64_t before = group->code->stats().general;
  auto executable = group->code->Find(std::move(module), again, options, may_compile);
  *compiled = group->code->stats().general > before;
  if (!executable.ok()) {
    if (absl::IsUnavailable(executable.status())) return executable.status();
    group->others.fetch_add(1);
    std::lock_guard<std::mutex> lock(group->mutex);
    group->last_other = std::string(executable.status().message());
    // Where not even the samples are one program, no signature will do.
    if (group->code->stats().general == 0) group->refused = true;
    return executable.status();
  }
  if (!*compiled) group->times.Made(thread_now_() - used);
  group->ready = true;
  group->served.fetch_add(1);
  out->executable = *std::move(executable);
  out->SetResults(graph_, out->executable->result_leaves());
  out->seconds = static_cast<double>(now_() - start) * 1e-9;
  if (*compiled) group->compile_seconds = out->seconds;
  out->general = true;
  out->general_seconds = group->compile_seconds;
  return ClusterCode(std::move(out));
}

std::vector<std::string> GeneralShapes::Report() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& row : groups_) {
    Group& group = *row.second;
    std::lock_guard<std::mutex> in_group(group.mutex);
    if (!group.ready && !group.refused && group.attempt == 1) continue;
    std::string line = absl::StrCat("(", GroupText(group), "): ");
    if (group.ready) {
      const GeneralCode::Stats stats = group.code->stats();
      absl::StrAppend(&line, "code for all sizes, compiled ", stats.general,
                      stats.general == 1 ? " time, " : " times, ", group.code->code_bytes(), " bytes, serves ",
                      group.served.load(), " sets of shapes");
      if (group.others > 0)
        absl::StrAppend(&line, "; ", group.others.load(), " others are not served, the last since ");
    } else {
      absl::StrAppend(&line, "no code for all sizes: ");
    }
    if (group.others > 0) absl::StrAppend(&line, group.last_other);
    lines.push_back(std::move(line));
  }
  return lines;
}

void GeneralShapes::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  groups_.clear();
}

}  // namespace xc
