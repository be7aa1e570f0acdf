// A compiled program that was read from a file, ready to run.
#ifndef XC_BACKENDS_LOADER_LOADED_PROGRAM_H_
#define XC_BACKENDS_LOADER_LOADED_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/loader/program_file.h"
#include "backends/loader/split_run.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/custom_call.h"
#include "backends/runtime/run_context.h"

namespace xc {

// Memory-mapped bytes, or somebody's.
class ProgramBytes {
 public:
  // Maps the file, which must not change as long as the program lives.
  static absl::StatusOr<ProgramBytes> Map(const std::string& path);
  // Uses `bytes` where they are if they lie at a multiple of 64, else a copy.
  static absl::StatusOr<ProgramBytes> Of(absl::string_view bytes);
  ProgramBytes(ProgramBytes&& other) noexcept;
  ~ProgramBytes();

  absl::string_view bytes() const { return bytes_; }

 private:
  ProgramBytes() = default;
  absl::string_view bytes_;
  bool mapped_ = false;
  Block copy_;
};

// Native code in executable memory.
class LoadedCode {
 public:
  // Unimplemented if it calls a function that this library does not have.
  static absl::StatusOr<std::unique_ptr<LoadedCode>> Load(const CodeImage& image);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;

  const void* entry() const { return memory_ + entry_; }
  int64_t bytes() const { return bytes_; }

 private:
  LoadedCode() = default;
  char* memory_ = nullptr;
  int64_t bytes_ = 0, entry_ = 0;
};

// Immutable: any number of threads may run it at once.
class LoadedProgram {
 public:
  // The program at the first of its sizes, of the variant for the best processor that this machine is.
  // FailedPrecondition if it is none of those that there is code for. Constants are used where they lie in `bytes`.
  static absl::StatusOr<std::unique_ptr<LoadedProgram>> Load(ProgramBytes bytes);
  ~LoadedProgram();

  // How many sizes the file has the program for.
  int64_t num_sizes() const;
  // The same program at sizes number `i`, or for inputs of the sizes `key` (FileSizes::Key); it shares what it can with
  // this one, which need not outlive it. Where sizes are open (OpenSize), there are more than those: For gives a
  // program that runs in pieces. InvalidArgument, with the sizes that there are, where there is none.
  absl::StatusOr<std::unique_ptr<LoadedProgram>> At(int64_t i) const;
  absl::StatusOr<std::unique_ptr<LoadedProgram>> For(absl::Span<const int64_t> key) const;

  const std::string& name() const;
  const std::vector<FileShape>& inputs() const { return sizes_.inputs; }
  const std::vector<FileShape>& outputs() const { return sizes_.outputs; }
  const std::string& cpu() const;
  int64_t temp_bytes() const;  // of a program that runs in pieces, what the largest takes
  int64_t code_bytes() const { return code_->bytes(); }

  // As Executable::Run (backends/backend.h): sizes that only the run knows go to `sizes`, one number for each, if it is
  // not null.
  absl::Status Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs, Executor* executor,
                   int thread_limit, TransferQueue* infeed, TransferQueue* outfeed,
                   std::vector<int32_t>* sizes = nullptr) const;

 private:
  struct File;
  explicit LoadedProgram(std::shared_ptr<File> file);
  static absl::StatusOr<std::unique_ptr<LoadedProgram>> Make(std::shared_ptr<File> file, int64_t i);
  // `key` has no program of its own; `why` says so. `depth`: how many open sizes may still be cut.
  static absl::StatusOr<std::unique_ptr<LoadedProgram>> MakeCut(std::shared_ptr<File> file,
                                                                absl::Span<const int64_t> key, const OpenSize* like,
                                                                const absl::Status& why, size_t depth);
  const FileVariant& variant() const;

  const std::shared_ptr<File> file_;  // what all sizes share
  FileSizes sizes_;                   // without variants if it runs in pieces
  std::optional<SplitRun> split_;
  std::vector<std::unique_ptr<LoadedProgram>> pieces_;
  std::shared_ptr<const LoadedCode> code_;
  std::vector<const void*> constants_;
  std::vector<PreparedCall> calls_;
  Block table_;  // of sizes
  std::unique_ptr<ArenaPool> arenas_;
};

}  // namespace xc

#endif  // XC_BACKENDS_LOADER_LOADED_PROGRAM_H_
