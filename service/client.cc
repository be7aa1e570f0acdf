#include "service/client.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/registry.h"
#include "backends/runtime/arena.h"
#include "hlo/analysis/fingerprint.h"
#include "hlo/base/cancel.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/status.h"
#include "hlo/unknown_sizes.h"
#include "hlo/verifier/verifier.h"
#include "service/content_hash.h"
#include "service/disk_cache.h"

namespace xc {

// How often a request that may be cancelled looks whether it was, while it waits for another one's compilation.
static constexpr std::chrono::milliseconds kCancelInterval{20};

absl::StatusOr<std::shared_ptr<const Executable>> ExecutableCache::GetOrCompile(const std::string& key,
                                                                                const Compile& compile,
                                                                                absl::Time deadline) {
  std::shared_ptr<Entry> entry;
  std::list<std::string> place;  // its element of lru_, made while nobody waits for this compilation
  for (std::unique_lock<std::mutex> lock(mu_);;) {
    auto it = entries_.find(key);
    if (it == entries_.end()) {
      entry = std::make_shared<Entry>();
      place.push_back(key);
      entries_[key] = entry;
      ++stats_.misses;
      break;
    }
    entry = it->second;
    if (entry->ready) {
      ++stats_.hits;
      lru_.splice(lru_.begin(), lru_, entry->position);
      return entry->executable;
    }
    ++stats_.waits;
    const auto done = [&entry] { return entry->ready || !entry->status.ok(); };
    if (CurrentCancel() != nullptr) {
      while (absl::Now() < deadline && !finished_.wait_for(lock, kCancelInterval, done)) {
        XC_RETURN_IF_ERROR(CheckCancel());
      }
    }
    if (deadline == absl::InfiniteFuture()) {
      finished_.wait(lock, done);
    } else if (!finished_.wait_until(lock, absl::ToChronoTime(deadline), done)) {
      return absl::DeadlineExceededError(
          "waiting for another request's compilation took longer than the deadline allows");
    }
    if (entry->ready) return entry->executable;
    // The other request's limits are not this one's.
    if (!absl::IsDeadlineExceeded(entry->status) && !absl::IsResourceExhausted(entry->status) &&
        !absl::IsCancelled(entry->status)) {
      return entry->status;
    }
  }
  const absl::Time start = absl::Now();
  absl::StatusOr<std::shared_ptr<const Executable>> executable = CatchExceptions(compile);
  std::lock_guard<std::mutex> lock(mu_);
  finished_.notify_all();
  stats_.compile_seconds += absl::ToDoubleSeconds(absl::Now() - start);
  if (!executable.ok()) {
    entry->status = executable.status();
    auto it = entries_.find(key);
    if (it != entries_.end() && it->second == entry) entries_.erase(it);
    return executable.status();
  }
  entry->executable = *executable;
  entry->ready = true;
  auto it = entries_.find(key);
  if (it == entries_.end() || it->second != entry) return *executable;  // cleared meanwhile
  entry->bytes = (*executable)->size_bytes();
  lru_.splice(lru_.begin(), place);
  entry->position = lru_.begin();
  stats_.bytes += entry->bytes;
  EvictOverBudget();
  return *executable;
}

void ExecutableCache::EvictOverBudget() {
  // The newest entry stays even if it alone is over the budget: its caller is about to use it.
  while (stats_.bytes > stats_.budget_bytes && lru_.size() > 1) {
    auto it = entries_.find(lru_.back());
    stats_.bytes -= it->second->bytes;
    ++stats_.evictions;
    entries_.erase(it);
    lru_.pop_back();
  }
}

void ExecutableCache::Clear() {
  std::lock_guard<std::mutex> lock(mu_);
  entries_.clear();
  lru_.clear();
  stats_.bytes = 0;
}

void ExecutableCache::SetBudget(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mu_);
  stats_.budget_bytes = bytes;
  EvictOverBudget();
}

CacheStats ExecutableCache::stats() const {
  std::lock_guard<std::mutex> lock(mu_);
  CacheStats stats = stats_;
  stats.entries = static_cast<int64_t>(lru_.size());
  return stats;
}

void ExecutableCache::CountDisk(int64_t hits, int64_t writes) {
  std::lock_guard<std::mutex> lock(mu_);
  stats_.disk_hits += hits;
  stats_.disk_writes += writes;
}

Client* Client::Default() {
  static Client* const kClient = new Client();
  return kClient;
}

namespace {

// Modules with unknown sizes mean something, but what runs has static or bounded ones.
absl::Status CheckSizesKnown(const HloModule& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->shape().has_unknown_size()) {
        return absl::UnimplementedError(absl::StrCat(DescribeInstruction(*instruction), ": ",
                                                     instruction->shape().ToString(false),
                                                     " has an unknown size (?); give the arguments' shapes (xla: "
                                                     "--shapes), or a static or bounded (<=N) one"));
      }
    }
  }
  return absl::OkStatus();
}

// What the options say, and where they say nothing, the environment.
DiskCache DiskCacheFor(const CompileOptions& options) {
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return absl::string_view(value == nullptr ? "" : value);
  };
  int64_t bytes = options.cache_dir_bytes;
  if (bytes == 0 && !absl::SimpleAtoi(environment("XC_CACHE_BYTES"), &bytes)) bytes = 0;
  return DiskCache(options.cache_dir.empty() ? std::string(environment("XC_CACHE_DIR")) : options.cache_dir, bytes);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Executable>> Client::Compile(std::unique_ptr<HloModule> module,
                                                                  absl::string_view platform,
                                                                  const CompileOptions& options, std::string* kept) {
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(platform));
  XC_RETURN_IF_ERROR(VerifyModule(*module));
  XC_RETURN_IF_ERROR(CheckSizesKnown(*module));
  if (options.max_instructions > 0 && module->InstructionCount() > options.max_instructions) {
    return absl::ResourceExhaustedError(absl::StrCat("module ", module->name(), " has ", module->InstructionCount(),
                                                     " instructions; the limit is ", options.max_instructions));
  }
  const auto compile = [&](const std::string& key) {
    return LoadOrCompile(std::move(module), backend, key, options, kept);
  };
  absl::StatusOr<std::shared_ptr<const Executable>> executable;
  if (options.dump || options.keep_texts || options.profile || options.store) {
    executable = compile("");
  } else {
    const Fingerprint print = FingerprintOf(*module);
    const std::string key = absl::StrCat(backend->name(), "/", print.ToHex(), "/", options.KeyText());
    executable = cache_.GetOrCompile(
        key, [&] { return compile(key); }, options.deadline);
  }
  XC_RETURN_IF_ERROR(executable.status());
  if (options.max_memory_bytes > 0 && (*executable)->temp_bytes() > options.max_memory_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the program needs ", (*executable)->temp_bytes(),
                                                     " bytes of temporary memory; the limit is ",
                                                     options.max_memory_bytes));
  }
  return executable;
}

absl::StatusOr<std::shared_ptr<const Executable>> Client::LoadOrCompile(std::unique_ptr<HloModule> module,
                                                                        Backend* backend, const std::string& key,
                                                                        const CompileOptions& options,
                                                                        std::string* kept) {
  const std::string given = kept == nullptr ? "" : std::exchange(*kept, "");
  const DiskCache disk = key.empty() ? DiskCache("", 0) : DiskCacheFor(options);
  const bool may_keep = disk.enabled() || (kept != nullptr && !key.empty());
  const std::string identity = may_keep ? backend->Identity(options) : "";
  CompileOptions storing = options;
  if (!identity.empty()) {
    // The fingerprint in `key` keeps accidents away, not somebody who wants another module's code to be run.
    const std::string long_key = absl::StrCat(identity, "/", key, "/", ToHex(HashOf(*module)));
    if (!given.empty()) {
      if (absl::StatusOr<std::string> program = UnwrapProgram(long_key, given); program.ok()) {
        absl::StatusOr<std::unique_ptr<Executable>> executable = backend->Load(*module, *program);
        if (executable.ok()) {
          *kept = given;
          return std::shared_ptr<const Executable>(*std::move(executable));
        }
      }
    }
    if (const absl::optional<std::string> program = disk.Get(long_key)) {
      absl::StatusOr<std::unique_ptr<Executable>> executable = backend->Load(*module, *program);
      if (executable.ok()) {
        cache_.CountDisk(/*hits=*/1, /*writes=*/0);
        if (kept != nullptr) *kept = WrapProgram(long_key, *program);
        return std::shared_ptr<const Executable>(*std::move(executable));
      }
      disk.Reject(long_key, executable.status());
    }
    storing.store = [this, &disk, kept, long_key](const std::string& program) {
      if (kept != nullptr) *kept = WrapProgram(long_key, program);
      if (!disk.enabled()) return;
      disk.Put(long_key, program);
      cache_.CountDisk(/*hits=*/0, /*writes=*/1);
    };
  }
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, backend->Compile(std::move(module), storing));
  return std::shared_ptr<const Executable>(std::move(executable));
}

absl::StatusOr<std::shared_ptr<const GeneralProgram>> Client::CompileGeneral(
    std::vector<std::unique_ptr<HloModule>> samples, absl::string_view platform, const CompileOptions& options) {
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(platform));
  const DiskCache disk = DiskCacheFor(options);
  const std::string identity = disk.enabled() ? backend->Identity(options) : "";
  if (identity.empty()) return backend->CompileGeneral(std::move(samples), options);
  std::string key = absl::StrCat(identity, "/", backend->name(), "/general/", options.KeyText());
  for (const auto& sample : samples) absl::StrAppend(&key, "/", ToHex(HashOf(*sample)));
  const absl::optional<std::string> program = disk.Get(key);
  CompileOptions storing = options;
  storing.store = [&](const std::string& made) {
    disk.Put(key, made);
    cache_.CountDisk(/*hits=*/0, /*writes=*/1);
  };
  auto general = backend->CompileGeneral(std::move(samples), storing, program.has_value() ? *program : "");
  if (general.ok() && (*general)->loaded()) cache_.CountDisk(/*hits=*/1, /*writes=*/0);
  return general;
}

absl::StatusOr<std::vector<Literal>> RunOnLiterals(const Executable& executable,
                                                   absl::Span<const Literal* const> inputs, const RunOptions& options) {
  const std::vector<Shape>& parameters = executable.parameter_leaves();
  if (inputs.size() != parameters.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program takes ", parameters.size(), " inputs, but ", inputs.size(), " are given"));
  }
  std::vector<Block> owned;
  std::vector<const void*> parameter_pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Literal& input = *inputs[i];
    if (!Compatible(input.shape(), parameters[i])) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ", input.shape().ToString(false),
                                                     ", but the program takes ", parameters[i].ToString(false)));
    }
    if (input.elided()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is elided: its elements are not known"));
    }
    if (parameters[i].IsRowMajor() && reinterpret_cast<uintptr_t>(input.bytes()) % 16 == 0 && input.byte_size() > 0 &&
        !options.guard_pages) {
      parameter_pointers.push_back(input.bytes());
      continue;
    }
    XC_ASSIGN_OR_RETURN(Block bytes, Block::Allocate(parameters[i].ByteSize(), options.guard_pages));
    if (parameters[i].IsArray()) {
      Literal in_layout = input.Clone();
      *in_layout.mutable_shape() = parameters[i];
      in_layout.ToLayout(reinterpret_cast<uint8_t*>(bytes.data()));
    }
    parameter_pointers.push_back(bytes.data());
    owned.push_back(std::move(bytes));
  }
  const std::vector<Shape>& leaves = executable.result_leaves();
  std::vector<Block> results;
  std::vector<void*> result_pointers;
  for (const Shape& leaf : leaves) {
    XC_ASSIGN_OR_RETURN(Block bytes, Block::Allocate(leaf.ByteSize(), options.guard_pages));
    result_pointers.push_back(bytes.data());
    results.push_back(std::move(bytes));
  }
  std::vector<std::vector<int64_t>> dynamic_sizes;
  XC_RETURN_IF_ERROR(executable.Run(parameter_pointers, result_pointers, options, &dynamic_sizes));
  for (const std::vector<Block>* blocks : {&owned, &results}) {
    for (const Block& block : *blocks) {
      if (!block.PatternIntact()) {
        return absl::InternalError("the program wrote beside one of its inputs or results: please report it");
      }
    }
  }
  std::vector<Literal> out;
  for (size_t i = 0; i < leaves.size(); ++i) {
    Literal literal(leaves[i]);
    if (leaves[i].IsArray()) literal.FromLayout(reinterpret_cast<const uint8_t*>(results[i].data()));
    if (i < dynamic_sizes.size()) literal.set_dynamic_sizes(std::move(dynamic_sizes[i]));
    out.push_back(std::move(literal));
  }
  return out;
}

}  // namespace xc
