// Sizes beyond those that a file has programs for: how they are cut into pieces that it has programs for, and what an
// open size (OpenSize of program_file.h) is as bytes.
#ifndef XC_BACKENDS_LOADER_OPEN_SIZES_H_
#define XC_BACKENDS_LOADER_OPEN_SIZES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/loader/file_bytes.h"
#include "backends/loader/program_file.h"

namespace xc {

void WriteOpenSize(const OpenSize& open, FileWriter* out);
// Of a file whose groups and what comes before them are read. Everything is checked that CutKey takes for granted.
absl::StatusOr<OpenSize> ReadOpenSize(FileReader* in, const ProgramFile& file);

struct KeyCut {
  const OpenSize* open = nullptr;
  int64_t size = 0;  // which is cut
  struct Piece {
    int64_t size = 0, count = 0;
    std::vector<int64_t> key;  // of the inputs for it
  };
  std::vector<Piece> pieces;  // one after the other
};

// How inputs of sizes `key` (FileSizes::Key), for which the file has no program, are made of pieces along one of its
// open sizes, of those with the groups of `like` if that is not null. InvalidArgument: the dimension that there can be
// no program for, and what it may be; `why` if it is of no open size.
absl::StatusOr<KeyCut> CutKey(const ProgramFile& file, absl::Span<const int64_t> key, const OpenSize* like,
                              const absl::Status& why);

}  // namespace xc

#endif  // XC_BACKENDS_LOADER_OPEN_SIZES_H_
