// Whole files in and out, with errors that name the path.
#ifndef XC_SERVICE_FILES_H_
#define XC_SERVICE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/base/read_file.h"

namespace xc {

// Writes to a temporary file beside it and renames, so that no reader sees half a file. The temporary file is new and
// of a name that nobody can guess: what others put there, links above all, is never written to.
absl::Status WriteFile(const std::string& path, absl::string_view contents);
// The same in an open directory, with the permissions `mode`.
absl::Status WriteFileAt(int directory, const std::string& name, absl::string_view contents, unsigned mode);
bool IsDirectory(const std::string& path);
bool FileExists(const std::string& path);
// Makes the directory and those above it.
absl::Status MakeDirectories(const std::string& path);
// Names in a directory, sorted.
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);
// The last component of a path, without `suffix` if it ends so.
std::string BaseName(absl::string_view path, absl::string_view suffix = "");

}  // namespace xc

#endif  // XC_SERVICE_FILES_H_
