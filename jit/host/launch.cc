#include "jit/host/launch.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/base/exceptions.h"

namespace xc {
namespace {

constexpr int64_t kMaxConstantBytes = 1 << 16;  // of one argument's value in a cache key
constexpr size_t kMaxEntries = 4096;
constexpr size_t kMaxForgotten = 256;  // entries that are dropped together, where a cluster cannot be given back
constexpr int64_t kMaxOwnLater = 8;    // compiled for signatures that shared code served

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

void AppendInt(std::string* out, int64_t v) { out->append(reinterpret_cast<const char*>(&v), sizeof(v)); }

// The value behind an argument: of a variable its current one.
Tensor ValueOf(const Tensor& input) {
  if (input.variable() == nullptr) return input;
  std::lock_guard<std::mutex> lock(input.variable()->mutex);
  return input.variable()->value;
}

}  // namespace

ClusterLaunch::ClusterLaunch(std::shared_ptr<const Graph> graph, LaunchOptions options)
    : graph_(std::move(graph)), options_(std::move(options)), buckets_(*graph_, options_.client, options_.platform) {
  std::vector<int> args = graph_->Args();
  for (size_t i = 0; i < args.size(); ++i) {
    if (graph_->node(args[i]).output_types[0] == DT_RESOURCE) variable_args_.insert(static_cast<int>(i));
  }
}

ClusterLaunch::~ClusterLaunch() {
  if (options_.queue != nullptr) options_.queue->Cancel(this);
}

std::string ClusterLaunch::Key(const std::vector<Tensor>& inputs, const std::set<int>& constants) const {
  std::string key;
  key.reserve(inputs.size() * 32);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    AppendInt(&key, (static_cast<int64_t>(t.dtype()) << 8) | t.rank());
    for (int64_t d : t.dims()) AppendInt(&key, d);
    if (constants.count(static_cast<int>(i)) != 0) {
      key.append(static_cast<const char*>(t.raw()), t.byte_size());
    }
  }
  return key;
}

std::vector<ClusterArg> ClusterLaunch::Args(const std::vector<Tensor>& inputs, const std::set<int>& constants) const {
  std::vector<ClusterArg> args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ClusterArg arg;
    arg.type = inputs[i].dtype();
    arg.dims = inputs[i].dims();
    arg.is_variable = variable_args_.count(static_cast<int>(i)) != 0;
    if (constants.count(static_cast<int>(i)) != 0) arg.constant = std::make_shared<const HostConstant>(inputs[i]);
    args.push_back(std::move(arg));
  }
  return args;
}

absl::StatusOr<ClusterCode> ClusterLaunch::CompileOwn(Compiled& entry, std::set<int>* needed) {
  auto code = CompileCluster(*graph_, entry.args, options_.client, options_.platform, {}, needed, &entry.failed_node);
  if (!code.ok()) return code;
  compilations_.fetch_add(1);
  compile_nanos_.fetch_add(static_cast<int64_t>((*code)->seconds * 1e9));
  buckets_.Offer(entry.args, entry.siblings, *code);
  return code;
}

void ClusterLaunch::Compile(const std::shared_ptr<Compiled>& entry, std::set<int>* needed) {
  absl::StatusOr<ClusterCode> code;
  if (entry->siblings.rows.empty()) {
    code = CatchExceptions([&] { return CompileOwn(*entry, needed); });
  } else {
    RowBuckets::Done done;
    code =
        CatchExceptions([&] { return buckets_.Fit(entry->args, entry->siblings, options_.max_signatures, {}, &done); });
    if (code.ok() && done.compiled) {
      compilations_.fetch_add(1);
      compile_nanos_.fetch_add(static_cast<int64_t>((*code)->seconds * 1e9));
    }
    if (done.prepare > 0 && options_.policy == CompilePolicy::kBackground && options_.queue != nullptr) {
      options_.queue->Add(this, nullptr,
                          [this, entry, size = done.prepare] { buckets_.Prepare(entry->args, entry->siblings, size); });
    }
    if (!code.ok()) {
      {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        if (own_ >= options_.max_signatures && !entry->required) {
          entry->status = absl::UnavailableError(absl::StrCat("compiled for ", own_, " signatures already"));
          return;
        }
        ++own_;
      }
      code = CatchExceptions([&] { return CompileOwn(*entry, needed); });
    }
  }
  if (code.ok()) {
    entry->code.Set(*std::move(code));
  } else {
    entry->status = code.status();
  }
}

void ClusterLaunch::AskForOwnCode(const std::shared_ptr<Compiled>& entry) {
  if (options_.policy != CompilePolicy::kBackground || options_.queue == nullptr) return;
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (own_later_ >= kMaxOwnLater || own_ >= options_.max_signatures) return;
    ++own_;
    ++own_later_;
  }
  options_.queue->Add(this, nullptr, [this, entry] {
    std::set<int> needed;
    auto code = CatchExceptions([&] { return CompileOwn(*entry, &needed); });
    if (code.ok()) entry->code.SetOwn(*std::move(code));
  });
}

bool ClusterLaunch::Settle(const std::shared_ptr<Compiled>& entry) {
  std::set<int> needed;
  bool made = false;
  std::call_once(entry->once, [&] {
    Compile(entry, &needed);
    made = true;
  });
  if (!made) hits_.fetch_add(1);
  bool final = entry->status.code() != absl::StatusCode::kFailedPrecondition;
  if (!final) {
    // The lowering asked for values of arguments: they join the key, and it is tried again.
    std::unique_lock<std::shared_mutex> lock(mutex_);
    size_t before = constant_args_.size();
    for (int i : needed) {
      if (variable_args_.count(i) == 0) constant_args_.insert(i);
    }
    if (constant_args_.size() != before) {
      for (const auto& other : cache_) other.second->outdated = true;  // keys have another form now
      cache_.clear();
      own_ = 0;
      buckets_.Clear();
      return false;
    }
    // Another thread added what was missing, or nothing can.
    if (entry->outdated) return false;
  }
  entry->ready.store(true, std::memory_order_release);
  return true;
}

absl::StatusOr<std::shared_ptr<ClusterLaunch::Compiled>> ClusterLaunch::FindOrCompile(const std::vector<Tensor>& inputs,
                                                                                      Fallback* fallback) {
  for (;;) {
    std::shared_ptr<Compiled> entry;
    std::set<int> constants;
    {
      std::shared_lock<std::shared_mutex> lock(mutex_);
      auto it = cache_.find(Key(inputs, constant_args_));
      if (it != cache_.end()) entry = it->second;
      constants = constant_args_;
    }
    if (entry == nullptr) {
      for (int i : constants) {
        if (inputs[i].byte_size() > kMaxConstantBytes) {
          return absl::UnimplementedError(
              absl::StrCat("argument ", i, " of '", graph_->name,
                           "' must be constant, but is too large: ", inputs[i].ShapeString()));
        }
      }
      std::unique_lock<std::shared_mutex> lock(mutex_);
      if (constants != constant_args_) continue;
      auto it = cache_.find(Key(inputs, constants));
      if (it == cache_.end()) {
        auto made = std::make_shared<Compiled>();
        made->args = Args(inputs, constants);
        made->required = fallback->missing;
        if (options_.buckets) made->siblings = buckets_.Look(made->args);
        if (!made->siblings.rows.empty()) {
          if (auto code = buckets_.Ready(made->args, made->siblings); code != nullptr) {
            made->code.Set(std::move(code));
            made->ready = true;
          }
        }
        if (fallback->missing && cache_.size() >= kMaxForgotten) cache_.clear();
        const bool full = cache_.size() >= kMaxEntries;
        if (given_back_.empty() && own_ >= options_.max_signatures && hits_.load() < 4 * own_) {
          given_back_ = absl::StrCat("it was compiled for ", own_, " signatures and hardly any came again");
        }
        const bool may_share = made->siblings.many || made->ready;
        if (full || (!fallback->missing && !may_share && !given_back_.empty())) {
          returned_.fetch_add(1);
          return absl::UnavailableError(absl::StrCat(
              "cluster '", graph_->name, "' was given back: ", full ? "it has too many signatures" : given_back_));
        }
        if (made->siblings.rows.empty()) ++own_;
        it = cache_.emplace(Key(inputs, constants), std::move(made)).first;
      }
      entry = it->second;
    }
    fallback->signature = entry;
    if (entry->ready.load(std::memory_order_acquire)) {
      hits_.fetch_add(1);
      return entry;
    }
    const CompilePolicy policy = fallback->missing ? CompilePolicy::kAtOnce : options_.policy;
    if (policy == CompilePolicy::kLazy && entry->calls.fetch_add(1) + 1 < options_.lazy_runs) {
      deferred_.fetch_add(1);
      return absl::UnavailableError("not compiled before more calls");
    }
    if (policy == CompilePolicy::kBackground && options_.queue != nullptr) {
      entry->siblings.demand->fetch_add(1);
      if (!entry->queued.exchange(true)) {
        // Where the queue is full, the next call asks again.
        if (!options_.queue->Add(this, entry->siblings.demand, [this, entry] { Settle(entry); })) entry->queued = false;
      }
      deferred_.fetch_add(1);
      return absl::UnavailableError("being compiled in the background");
    }
    if (Settle(entry)) return entry;
  }
}

bool ClusterLaunch::Slower(const Compiled& entry) {
  const ServedCode::Choice& choice = *entry.code.Get();
  if (choice.runs.load() < 5 || entry.host_runs.load() < 3) return false;
  return static_cast<double>(choice.best_ns.load()) > 1.1 * static_cast<double>(entry.host_best_ns.load());
}

void ClusterLaunch::HostRan(const Fallback& fallback, double seconds) {
  if (fallback.signature == nullptr) return;
  auto& entry = *static_cast<Compiled*>(fallback.signature.get());
  entry.host_runs.fetch_add(1);
  LowerTo(entry.host_best_ns, static_cast<int64_t>(seconds * 1e9));
}

absl::Status ClusterLaunch::Run(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs, Fallback* fallback) {
  fallback->needed = true;
  // Variables enter by value.
  std::vector<Tensor> values;
  bool variables = false;
  for (const Tensor& t : inputs) variables |= t.variable() != nullptr;
  if (variables) {
    for (const Tensor& t : inputs) values.push_back(ValueOf(t));
    for (const Tensor& t : values) {
      if (!t.initialized()) return absl::UnimplementedError("a variable without a value");
    }
  }
  const std::vector<Tensor>& in = variables ? values : inputs;
  auto found = FindOrCompile(in, fallback);
  if (!found.ok()) {
    fallbacks_.fetch_add(1);
    return found.status();
  }
  Compiled& entry = **found;
  if (!entry.status.ok()) {
    fallbacks_.fetch_add(1);
    fallback->failed_node = entry.failed_node;
    return entry.status;
  }
  if (!fallback->missing && Slower(entry)) {
    fallbacks_.fetch_add(1);
    returned_.fetch_add(1);
    return absl::UnavailableError("the host's kernels are quicker");
  }
  auto start = std::chrono::steady_clock::now();
  ServedCode::Choice& choice = *entry.code.Get();
  const CompiledCluster& compiled = *choice.code;
  const LoweredCluster& lowered = compiled.lowered;
  std::vector<Tensor> results;
  if (compiled.executable != nullptr) {
    std::vector<const void*> parameters;
    for (int i : lowered.parameter_args) parameters.push_back(in[i].raw());
    std::vector<void*> buffers;
    for (size_t k = 0; k < compiled.result_dims.size(); ++k) {
      XC_ASSIGN_OR_RETURN(Tensor t, Tensor::Uninitialized(compiled.result_types[k], compiled.result_dims[k]));
      buffers.push_back(t.raw());
      results.push_back(std::move(t));
    }
    RunOptions run;
    run.executor = options_.executor;
    run.thread_limit = options_.thread_limit;
    XC_RETURN_IF_ERROR(compiled.Run(parameters, buffers, run));
    if (lowered.check_output >= 0 && results[lowered.check_output].data<uint8_t>()[0]) {
      fallbacks_.fetch_add(1);
      return absl::OutOfRangeError(absl::StrCat("an op of cluster '", graph_->name, "' fails on these values"));
    }
  }
  outputs->resize(lowered.results.size());
  for (size_t i = 0; i < lowered.results.size(); ++i) {
    const ClusterResult& r = lowered.results[i];
    if (r.size_output >= 0) {
      const Tensor& room = results[r.output];
      XC_ASSIGN_OR_RETURN(CutResult cut,
                          CutResult::Make(room.dims(), r.size_axis, results[r.size_output].data<int32_t>()[0]));
      XC_ASSIGN_OR_RETURN((*outputs)[i], Tensor::Uninitialized(room.dtype(), cut.dims()));
      cut.Copy(room.raw(), (*outputs)[i].raw(), DataTypeSize(room.dtype()));
    } else if (r.output >= 0) {
      (*outputs)[i] = results[r.output];
    } else if (r.argument >= 0) {
      (*outputs)[i] = in[r.argument];
    } else {
      (*outputs)[i] = r.constant->tensor;
    }
  }
  for (const auto& [arg, k] : lowered.variable_updates) {
    Variable& variable = *inputs[arg].variable();
    std::lock_guard<std::mutex> lock(variable.mutex);
    variable.value = results[k];
  }
  fallback->needed = false;
  if (entry.code.Ran(choice, static_cast<int64_t>(Seconds(start) * 1e9))) AskForOwnCode(*found);
  return absl::OkStatus();
}

void LaunchStats::Add(const LaunchStats& other) {
  compilations += other.compilations;
  cache_hits += other.cache_hits;
  fallbacks += other.fallbacks;
  deferred += other.deferred;
  given_back += other.given_back;
  compile_seconds += other.compile_seconds;
}

LaunchStats ClusterLaunch::stats() const {
  LaunchStats s;
  s.compilations = compilations_.load();
  s.cache_hits = hits_.load();
  s.fallbacks = fallbacks_.load();
  s.deferred = deferred_.load();
  s.given_back = returned_.load();
  s.compile_seconds = static_cast<double>(compile_nanos_.load()) * 1e-9;
  return s;
}

std::string ClusterLaunch::given_back() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return given_back_;
}

std::vector<SignatureReport> ClusterLaunch::Report() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<SignatureReport> out;
  for (const auto& entry : cache_) {
    const Compiled& c = *entry.second;
    SignatureReport r;
    const ServedCode::Choice* choice = c.code.Get();
    r.runs = c.code.runs();
    r.host_runs = c.host_runs.load();
    r.best_ms = choice != nullptr && choice->runs > 0 ? static_cast<double>(choice->best_ns.load()) * 1e-6 : 0;
    r.host_best_ms = r.host_runs > 0 ? static_cast<double>(c.host_best_ns.load()) * 1e-6 : 0;
    if (!c.ready.load(std::memory_order_acquire)) {
      r.problem = "not compiled yet";
    } else {
      r.arguments = ArgsText(c.args);
      r.compiled = c.status.ok();
      if (choice != nullptr) {
        r.rows = choice->code->rows;
        r.compile_ms = choice->code->seconds * 1e3;
      }
      if (!c.status.ok()) r.problem = c.status.ToString();
      if (c.status.ok() && Slower(c)) r.problem = "given back: the host's kernels are quicker";
      if (choice != nullptr && choice->code->executable != nullptr) {
        r.temp_bytes = choice->code->executable->temp_bytes();
        r.code_bytes = choice->code->executable->size_bytes();
      }
    }
    out.push_back(std::move(r));
  }
  std::sort(out.begin(), out.end(),
            [](const SignatureReport& a, const SignatureReport& b) { return a.arguments < b.arguments; });
  return out;
}

}  // namespace xc
