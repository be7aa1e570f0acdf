#include "backends/plan/packed_literals.h"

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace xc::plan {
namespace {

// Holds nothing alive: entries whose packing is gone are dropped as the table grows.
struct Table {
  struct Entry {
    std::weak_ptr<const Literal> source, packed;
  };
  using Key = std::pair<const Literal*, std::string>;

  // An address may be that of another constant by now.
  std::shared_ptr<const Literal> Find(const Key& key) const ABSL_SHARED_LOCKS_REQUIRED(mutex) {
    const auto it = entries.find(key);
    if (it == entries.end() || it->second.source.lock().get() != key.first) return nullptr;
    return it->second.packed.lock();
  }
  void Clean() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (entries.size() < limit) return;
    absl::erase_if(entries, [](const auto& entry) { return entry.second.packed.expired(); });
    limit = 2 * entries.size() + kLeast;
  }

  static constexpr size_t kLeast = 64;
  absl::Mutex mutex;
  absl::flat_hash_map<Key, Entry> entries ABSL_GUARDED_BY(mutex);
  size_t limit ABSL_GUARDED_BY(mutex) = kLeast;
};

}  // namespace

std::shared_ptr<const Literal> PackedLiteral(const std::shared_ptr<const Literal>& source, absl::string_view order,
                                             absl::FunctionRef<std::shared_ptr<const Literal>()> pack) {
  static Table& table = *new Table;
  const Table::Key key(source.get(), order);
  {
    absl::ReaderMutexLock lock(&table.mutex);
    if (auto packed = table.Find(key)) return packed;
  }
  std::shared_ptr<const Literal> packed = pack();
  absl::MutexLock lock(&table.mutex);
  if (auto other = table.Find(key)) return other;
  table.Clean();
  table.entries[key] = {source, packed};
  return packed;
}

}  // namespace xc::plan
