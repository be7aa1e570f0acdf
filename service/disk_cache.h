// Compiled programs in a directory, for other processes and later ones.
//
// A file holds one program:
//   bytes 0–7    "xcprogrm"
//   8–11         version of this layout (2)
//   12–15        K, bytes of the key
//   16–23        P, bytes of the program
//   24–55        checksum: the hash (service/content_hash.h) of key and program
//   56…          key, then program; the file is 56 + K + P bytes long
// Numbers are little-endian. The key is all that decides the code (see Client::Compile); the file's name is its hash
// with the ending .xcp. Files are written beside their place and renamed, so that any number of processes may share a
// directory; what is damaged, of another version or not the user's own is ignored, with a line on stderr, and written
// anew. When the directory grows over its budget, the files that were not used for the longest time go.
//
// Code is run that is found there, so nobody but the user may write it: a directory of another owner, one that its
// group or everybody may write, and one reached by somebody else's link is not used at all, nor are such files.
#ifndef XC_SERVICE_DISK_CACHE_H_
#define XC_SERVICE_DISK_CACHE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace xc {

// The contents of a file that keeps `program` under `key`.
std::string WrapProgram(absl::string_view key, absl::string_view program);
// The program in a file's contents; errors say why they are not a whole file of `key`.
absl::StatusOr<std::string> UnwrapProgram(absl::string_view key, std::string file);

class DiskCache {
 public:
  static constexpr int64_t kDefaultBytes = int64_t{2} << 30;

  // An empty directory: nothing is found or kept. No budget (0): kDefaultBytes.
  DiskCache(std::string directory, int64_t budget_bytes);

  bool enabled() const { return !directory_.empty(); }
  // The program that was put under `key`, if it is there and whole.
  absl::optional<std::string> Get(absl::string_view key) const;
  // Keeps `program`, which may take the place of others. The directory is made if it is not there, for the user alone.
  // What fails is said on stderr.
  void Put(absl::string_view key, absl::string_view program) const;
  // Says on stderr why a program that `Get` gave is of no use.
  void Reject(absl::string_view key, const absl::Status& why) const;
  // Where the program of `key` is kept.
  std::string PathOf(absl::string_view key) const;

 private:
  std::string NameOf(absl::string_view key) const;
  // The directory, open, if it is fit for use; NotFound if there is none.
  absl::StatusOr<int> Open() const;
  void SayUnfit(const absl::Status& why) const;
  void EvictOverBudget(int directory) const;

  std::string directory_;
  int64_t budget_bytes_;
};

}  // namespace xc

#endif  // XC_SERVICE_DISK_CACHE_H_
