#include "jit/host/launch.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace xc {
namespace {

constexpr int64_t kMaxConstantBytes = 1 << 16;  // of one argument's value in a cache key

void AppendInt(std::string* out, int64_t v) { out->append(reinterpret_cast<const char*>(&v), sizeof(v)); }

// The value behind an argument: of a variable its current one.
Tensor ValueOf(const Tensor& input) {
  if (input.variable() == nullptr) return input;
  std::lock_guard<std::mutex> lock(input.variable()->mutex);
  return input.variable()->value;
}

}  // namespace

ClusterLaunch::ClusterLaunch(std::shared_ptr<const Graph> graph, LaunchOptions options)
    : graph_(std::move(graph)), options_(std::move(options)) {
  std::vector<int> args = graph_->Args();
  for (size_t i = 0; i < args.size(); ++i) {
    if (graph_->node(args[i]).output_types[0] == DT_RESOURCE) variable_args_.insert(static_cast<int>(i));
  }
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

void ClusterLaunch::Compile(const std::vector<Tensor>& inputs, const std::set<int>& constants, Compiled* out,
                            std::set<int>* needed) {
  std::vector<ClusterArg> args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ClusterArg arg;
    arg.type = inputs[i].dtype();
    arg.dims = inputs[i].dims();
    arg.is_variable = variable_args_.count(static_cast<int>(i)) != 0;
    if (constants.count(static_cast<int>(i)) != 0) arg.constant = std::make_shared<const HostConstant>(inputs[i]);
    absl::StrAppend(&out->signature, i ? ", " : "", inputs[i].ShapeString(), arg.constant ? "=" : "",
                    arg.constant ? inputs[i].Summary(4) : std::string());
    args.push_back(std::move(arg));
  }
  auto compiled = CompileCluster(*graph_, args, options_.client, options_.platform, {}, needed);
  if (!compiled.ok()) {
    out->status = compiled.status();
    return;
  }
  out->code = *std::move(compiled);
  compilations_.fetch_add(1);
  compile_nanos_.fetch_add(static_cast<int64_t>(out->code.seconds * 1e9));
}

absl::StatusOr<std::shared_ptr<ClusterLaunch::Compiled>> ClusterLaunch::FindOrCompile(
    const std::vector<Tensor>& inputs) {
  for (;;) {
    std::shared_ptr<Compiled> entry;
    std::set<int> constants;
    bool fresh = false;
    {
      std::shared_lock<std::shared_mutex> lock(mutex_);
      auto it = cache_.find(Key(inputs, constant_args_));
      if (it != cache_.end()) {
        entry = it->second;
      } else {
        constants = constant_args_;
      }
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
      auto [it, inserted] = cache_.emplace(Key(inputs, constants), nullptr);
      if (inserted) it->second = std::make_shared<Compiled>();
      entry = it->second;
      fresh = inserted;
    }
    std::set<int> needed;
    bool made = false;
    std::call_once(entry->once, [&] {
      Compile(inputs, constants, entry.get(), &needed);
      made = true;
    });
    if (!made) hits_.fetch_add(1);
    (void)fresh;
    if (entry->status.code() != absl::StatusCode::kFailedPrecondition) return entry;
    // The lowering asked for values of arguments: they join the key, and it is tried again.
    std::unique_lock<std::shared_mutex> lock(mutex_);
    size_t before = constant_args_.size();
    for (int i : needed) {
      if (variable_args_.count(i) == 0) constant_args_.insert(i);
    }
    if (constant_args_.size() == before) {
      if (made) return entry;
      // Another thread added what was missing.
      if (cache_.find(Key(inputs, constant_args_)) != cache_.end() &&
          cache_.find(Key(inputs, constant_args_))->second == entry) {
        return entry;
      }
      continue;
    }
    cache_.clear();  // keys have another form now
  }
}

absl::Status ClusterLaunch::Run(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs, bool* needs_host) {
  *needs_host = true;
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
  auto found = FindOrCompile(in);
  if (!found.ok()) {
    fallbacks_.fetch_add(1);
    return found.status();
  }
  if (!(*found)->status.ok()) {
    fallbacks_.fetch_add(1);
    return (*found)->status;
  }
  const CompiledCluster& compiled = (*found)->code;
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
    XC_RETURN_IF_ERROR(compiled.executable->Run(parameters, buffers, run));
    if (lowered.check_output >= 0 && results[lowered.check_output].data<uint8_t>()[0]) {
      fallbacks_.fetch_add(1);
      return absl::OutOfRangeError(absl::StrCat("an op of cluster '", graph_->name, "' fails on these values"));
    }
  }
  outputs->resize(lowered.results.size());
  for (size_t i = 0; i < lowered.results.size(); ++i) {
    const ClusterResult& r = lowered.results[i];
    if (r.output >= 0) {
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
  *needs_host = false;
  return absl::OkStatus();
}

LaunchStats ClusterLaunch::stats() const {
  LaunchStats s;
  s.compilations = compilations_.load();
  s.cache_hits = hits_.load();
  s.fallbacks = fallbacks_.load();
  s.compile_seconds = static_cast<double>(compile_nanos_.load()) * 1e-9;
  return s;
}

std::vector<std::string> ClusterLaunch::Report() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<std::string> out;
  for (const auto& entry : cache_) {
    const Compiled& c = *entry.second;
    if (c.status.ok()) {
      out.push_back(absl::StrFormat("(%s): %.1f ms", c.signature, c.code.seconds * 1e3));
    } else {
      out.push_back(absl::StrCat("(", c.signature, "): ", c.status.ToString()));
    }
  }
  return out;
}

}  // namespace xc
