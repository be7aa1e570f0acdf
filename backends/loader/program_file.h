// Compiled programs as files (.xcp): what stands in one, and its form as bytes. Plain little-endian data without
// protobuf, so that programs can be loaded where there is no compiler. docs/deployment.md describes the format.
#ifndef XC_BACKENDS_LOADER_PROGRAM_FILE_H_
#define XC_BACKENDS_LOADER_PROGRAM_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/loader/number_rows.h"

namespace xc {

// An array, or a token (type 17, no dimensions).
struct FileShape {
  int32_t type = 0;                           // PrimitiveType's numbers
  std::vector<int64_t> dims, minor_to_major;  // sizes, or their bounds
  std::vector<bool> dynamic;                  // which sizes only a run knows
  int64_t bytes = 0;                          // of the whole array
};

// Native code, linked but for where it lies and for the functions that it calls.
struct CodeImage {
  absl::string_view bytes;           // of whoever holds the file
  int64_t text_bytes = 0;            // from the start: to be executed; the rest is data
  int64_t entry = 0;                 // offset of `int32 entry(const Frame*)`
  std::vector<std::string> imports;  // functions of the runtime
  int64_t import_slots = 0;          // offset of their addresses, 8 bytes each, in the data
  std::vector<int64_t> relocations;  // offsets in the data of addresses, which hold offsets into the image
};

struct FileCall {
  std::string target, backend_config;
  bool tuple_result = false;
  std::vector<FileShape> inputs, outputs;
};

// The program for one kind of processor, at certain sizes.
struct FileVariant {
  int64_t code = 0;            // of ProgramFile::codes
  std::vector<int64_t> table;  // what code that serves several sizes reads in the place of numbers, 8 bytes each
  int64_t arena_bytes = 0;
  bool prepares_products = false;  // whether onednn::PrepareProducts makes its first run quicker
  struct Parameter {
    int64_t bytes = 0;
    bool donated = false;
  };
  struct Output {
    int64_t bytes = 0;
    int64_t parameter = -1;  // the result is in this parameter's memory, at `offset`; -1: in the caller's
    int64_t offset = 0;
  };
  std::vector<Parameter> parameters;
  // One for each output of the program, each followed by one of 4 bytes for each of its sizes that only a run knows.
  std::vector<Output> outputs;
  std::vector<int64_t> constants;  // of ProgramFile::constants
  std::vector<FileCall> calls;
};

// The program at certain sizes of its inputs.
struct FileSizes {
  std::vector<FileShape> inputs, outputs;
  std::vector<FileVariant> variants;  // for each of ProgramFile::cpus

  // The sizes of all inputs, one after the other.
  std::vector<int64_t> Key() const;
};

// A size that may be larger than any that the file has a program for: the program computes each of its rows apart from
// the others, so that what is asked for more of them is computed piece by piece.
struct OpenSize {
  std::string name;
  int64_t low = 1, high = INT64_MAX, multiple = 1;  // what it may be
  int64_t input = 0;                                // the input of which it is a dimension
  std::vector<int64_t> inputs, outputs;             // the dimension of each that has its rows; -1: none
  std::vector<int64_t> pieces;                      // sizes that there are programs for, the least first
  int64_t first_group = 0, end_group = 0;           // where these are, of ProgramFile::groups
};

struct ProgramFile {
  // Of the form, and of the runtime functions' arguments in it.
  static constexpr uint32_t kVersion = 5;
  static constexpr int64_t kAlignment = 64;  // of constants, in the file

  std::string name, made_by;
  std::vector<std::string> cpus;             // x86-64-v4, x86-64-v3 or x86-64-v2: the most demanding first
  std::vector<std::string> texts;            // of calls
  std::vector<absl::string_view> constants;  // of whoever holds the file
  std::vector<CodeImage> codes;
  std::vector<NumberRows> groups;  // rows of numbers that are a FileSizes each
  std::vector<OpenSize> opens;

  int64_t num_sizes() const;
  // Number `i`, which is less than that. InvalidArgument: it does not fit together, or to number 0.
  absl::StatusOr<FileSizes> Sizes(int64_t i) const;
  // The number of the first FileSizes with this Key, of these groups. InvalidArgument, with the sizes that there are:
  // there is none.
  absl::StatusOr<int64_t> Find(absl::Span<const int64_t> key) const;
  absl::StatusOr<int64_t> Find(absl::Span<const int64_t> key, int64_t first_group, int64_t end_group) const;
  // As a row of a group; adds the texts that it needs.
  std::vector<int64_t> RowOf(const FileSizes& sizes);
};

// The file's bytes.
std::string WriteProgramFile(const ProgramFile& file);

// Whether the bytes begin as those of such a file do, in however small a part of one.
bool BeginsProgramFile(absl::string_view bytes);

// Reads what anybody may have written: every size, offset and number is checked, here or by ProgramFile::Sizes, and
// nothing is allocated that the bytes do not account for. The views are of `bytes`. InvalidArgument: no such file;
// Unimplemented: of a newer version.
absl::StatusOr<ProgramFile> ReadProgramFile(absl::string_view bytes);

}  // namespace xc

#endif  // XC_BACKENDS_LOADER_PROGRAM_FILE_H_
