#include "service/content_hash.h"

#include "absl/strings/escaping.h"
#include "hlo/analysis/fingerprint.h"
#include "llvm/Support/BLAKE3.h"

namespace xc {
namespace {

void Update(llvm::BLAKE3& hasher, absl::string_view bytes) {
  hasher.update(llvm::StringRef(bytes.data(), bytes.size()));
}

}  // namespace

ContentHash HashOf(absl::string_view first, absl::string_view second) {
  llvm::BLAKE3 hasher;
  const uint64_t size = first.size();
  Update(hasher, absl::string_view(reinterpret_cast<const char*>(&size), sizeof(size)));
  Update(hasher, first);
  Update(hasher, second);
  return hasher.final<sizeof(ContentHash)>();
}

ContentHash HashOf(const HloModule& module) {
  llvm::BLAKE3 hasher;
  FeedModule(module, [&hasher](absl::string_view bytes) { Update(hasher, bytes); });
  return hasher.final<sizeof(ContentHash)>();
}

std::string ToHex(const ContentHash& hash) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

}  // namespace xc
