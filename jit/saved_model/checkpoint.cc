#include "jit/saved_model/checkpoint.h"

#include "absl/strings/str_cat.h"
#include "hlo/base/format.h"
#include "hlo/base/status.h"
#include "jit/saved_model/crc32c.h"
#include "jit/saved_model/table.h"
#include "service/files.h"

namespace xc {
namespace {

constexpr int kMaxShards = 100000;

// Lengths as base-128 numbers, their checksum, then the bytes of all strings; gives the checksum of the whole.
absl::Status ReadStrings(absl::string_view bytes, Tensor* t, uint32_t* crc) {
  *crc = 0;
  absl::string_view rest = bytes;
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
  for (int64_t i = 0; i < t->num_elements(); ++i) {
    uint64_t size;
    if (!TakeVarint(&rest, &size) || size > bytes.size() - total) return absl::DataLossError("bad string lengths");
    sizes.push_back(size);
    total += size;
    // The checksum covers lengths as numbers of four bytes, or of eight where four do not do.
    const char* raw = reinterpret_cast<const char*>(&size);
    *crc = Crc32c(absl::string_view(raw, size <= 0xffffffffu ? 4 : 8), *crc);
  }
  if (rest.size() != total + 4) return absl::DataLossError("the strings do not fill their bytes");
  uint32_t stored;
  memcpy(&stored, rest.data(), 4);
  if (stored != MaskedCrc32c(*crc)) return absl::DataLossError("the checksum of the string lengths is wrong");
  *crc = Crc32c(rest.substr(0, 4), *crc);
  rest.remove_prefix(4);
  for (int64_t i = 0; i < t->num_elements(); ++i) {
    t->strings()[i].assign(rest.data(), sizes[i]);
    rest.remove_prefix(sizes[i]);
    *crc = Crc32c(t->strings()[i], *crc);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::string& prefix) {
  Checkpoint checkpoint;
  checkpoint.prefix_ = prefix;
  std::string path = prefix + ".index";
  XC_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  auto at = [&](const absl::Status& s) { return absl::Status(s.code(), absl::StrCat("'", path, "': ", s.message())); };
  auto table = ReadTable(bytes);
  if (!table.ok()) return at(table.status());
  auto header = table->find("");
  tf::BundleHeaderProto head;
  if (header == table->end() || !head.ParseFromString(header->second)) {
    return at(absl::DataLossError("no header"));
  }
  if (head.endianness() != 0) return at(absl::UnimplementedError("a checkpoint of a big-endian machine"));
  if (head.num_shards() < 1 || head.num_shards() > kMaxShards) return at(absl::DataLossError("bad number of shards"));
  checkpoint.shards_ = head.num_shards();
  for (const auto& [key, value] : *table) {
    if (key.empty()) continue;
    if (!checkpoint.entries_[key].ParseFromString(value)) {
      return at(absl::DataLossError(absl::StrCat("the entry of '", key, "' is damaged")));
    }
  }
  return checkpoint;
}

absl::StatusOr<Tensor> Checkpoint::Read(const std::string& key) const {
  auto it = entries_.find(key);
  if (it == entries_.end()) {
    return absl::NotFoundError(absl::StrCat("the checkpoint '", prefix_, "' has no tensor '", key, "'"));
  }
  const tf::BundleEntryProto& entry = it->second;
  auto wrong = [&](const std::string& what) {
    return absl::DataLossError(absl::StrCat("tensor '", key, "' of the checkpoint '", prefix_, "': ", what));
  };
  if (entry.slices_size() > 0) {
    return absl::UnimplementedError(absl::StrCat("tensor '", key, "' was saved in parts"));
  }
  if (entry.shard_id() < 0 || entry.shard_id() >= shards_) return wrong("it is in no shard");
  Dims dims;
  for (const auto& d : entry.shape().dim()) dims.push_back(d.size());
  std::string path = Format("%s.data-%05d-of-%05d", prefix_, entry.shard_id(), shards_);
  XC_ASSIGN_OR_RETURN(std::string bytes, ReadFileRange(path, entry.offset(), entry.size()));
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(dims));
  uint32_t crc = 0;
  Tensor t;
  if (entry.dtype() == DT_STRING) {
    if (count > entry.size()) return wrong("it is too short for its shape");
    XC_ASSIGN_OR_RETURN(t, Tensor::Create(DT_STRING, dims));
    absl::Status status = ReadStrings(bytes, &t, &crc);
    if (!status.ok()) return wrong(std::string(status.message()));
  } else {
    int64_t width = DataTypeSize(entry.dtype());
    if (width <= 0) return absl::UnimplementedError(absl::StrCat("tensor '", key, "' has a type that is not read"));
    if (count > entry.size() || count * width != entry.size()) return wrong("its bytes do not fit its shape");
    XC_ASSIGN_OR_RETURN(t, Tensor::Uninitialized(entry.dtype(), dims));
    if (!bytes.empty()) memcpy(t.raw(), bytes.data(), bytes.size());
    crc = Crc32c(bytes);
  }
  if (MaskedCrc32c(crc) != entry.crc32c()) return wrong("its checksum is wrong");
  return t;
}

}  // namespace xc
