// Client: compiles modules through a cache and runs executables on literals. What tools, the C API and jit talk to.
#ifndef XC_SERVICE_CLIENT_H_
#define XC_SERVICE_CLIENT_H_

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "backends/registry.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace xc {

struct CacheStats {
  int64_t entries = 0;
  int64_t bytes = 0;
  int64_t budget_bytes = 0;
  int64_t hits = 0;
  int64_t misses = 0;  // not in memory: compiled, or loaded from disk
  int64_t waits = 0;   // requests that waited for another one's compilation
  int64_t evictions = 0;
  double compile_seconds = 0;  // of misses
  int64_t disk_hits = 0;       // misses that were loaded from disk
  int64_t disk_writes = 0;     // programs put there
};

// Least-recently-used cache of executables by key text, with a byte budget. Thread-safe; concurrent requests for one
// key compile once. A failed compilation is not kept: the next request tries again.
class ExecutableCache {
 public:
  explicit ExecutableCache(int64_t budget_bytes) { stats_.budget_bytes = budget_bytes; }

  using Compile = std::function<absl::StatusOr<std::shared_ptr<const Executable>>()>;
  // Waits for another request's compilation until `deadline`; if that one ran into its own limits of time or memory,
  // compiles itself.
  absl::StatusOr<std::shared_ptr<const Executable>> GetOrCompile(const std::string& key, const Compile& compile,
                                                                 absl::Time deadline = absl::InfiniteFuture());
  // Drops all entries; executables in use live on until they are released.
  void Clear();
  void SetBudget(int64_t bytes);
  CacheStats stats() const;
  // Adds to the counters of programs on disk.
  void CountDisk(int64_t hits, int64_t writes);

 private:
  struct Entry {
    bool ready = false;
    absl::Status status;
    std::shared_ptr<const Executable> executable;
    int64_t bytes = 0;
    std::list<std::string>::iterator position;  // in lru_, when ready
  };
  void EvictOverBudget();  // with mu_ held

  mutable std::mutex mu_;
  std::condition_variable finished_;  // some compilation
  // Guarded by mu_, as are the fields of the entries.
  absl::flat_hash_map<std::string, std::shared_ptr<Entry>> entries_;
  std::list<std::string> lru_;  // most recent first
  CacheStats stats_;
};

class Client {
 public:
  static constexpr int64_t kDefaultCacheBytes = int64_t{1} << 30;
  explicit Client(int64_t cache_budget_bytes = kDefaultCacheBytes) : cache_(cache_budget_bytes) {}
  // One for the process, made at first use.
  static Client* Default();

  // Verifies and compiles `module` for `platform` (backends/registry.h), or finds it in the cache. Requests that ask
  // for dumps or texts go around the cache. With a cache directory (options, or XC_CACHE_DIR), programs that another
  // process compiled for an equal module, with equal options, by the same build and for the same machine are loaded.
  // `kept`, if not null, is such a program for a caller to keep: bytes that an earlier call left there, in any process,
  // are loaded if they are of this program, build and machine. What is compiled or read from the directory instead
  // leaves its own bytes there, or nothing if another process could not run it. What the cache has leaves them alone.
  absl::StatusOr<std::shared_ptr<const Executable>> Compile(std::unique_ptr<HloModule> module,
                                                            absl::string_view platform,
                                                            const CompileOptions& options = {},
                                                            std::string* kept = nullptr);
  // Code for several sizes, see Backend::CompileGeneral, of verified samples. With a cache directory, code that another
  // process generated for equal samples is loaded.
  absl::StatusOr<std::shared_ptr<const GeneralProgram>> CompileGeneral(std::vector<std::unique_ptr<HloModule>> samples,
                                                                       absl::string_view platform,
                                                                       const CompileOptions& options = {});
  ExecutableCache& cache() { return cache_; }

 private:
  absl::StatusOr<std::shared_ptr<const Executable>> LoadOrCompile(std::unique_ptr<HloModule> module, Backend* backend,
                                                                  const std::string& key, const CompileOptions& options,
                                                                  std::string* kept);

  ExecutableCache cache_;
};

// Runs on literals: one per leaf of the entry parameters, in order. Gives one per leaf of the result. Checks number,
// types and dimensions; elided literals are refused. With options.guard_pages, inputs and results are copies between
// pages that cannot be accessed, too.
absl::StatusOr<std::vector<Literal>> RunOnLiterals(const Executable& executable,
                                                   absl::Span<const Literal* const> inputs,
                                                   const RunOptions& options = {});

}  // namespace xc

#endif  // XC_SERVICE_CLIENT_H_
