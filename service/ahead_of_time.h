// Compiling ahead of time: a module to a file that runs where there is no compiler.
#ifndef XC_SERVICE_AHEAD_OF_TIME_H_
#define XC_SERVICE_AHEAD_OF_TIME_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/loader/loaded_program.h"
#include "hlo/module.h"

namespace xc {

// The names of processors that code can be made for, the least demanding first.
absl::Span<const char* const> AheadOfTimeCpus();
// The most demanding of them that this machine is.
absl::StatusOr<std::string> BestCpuHere();

// The bytes of a program file (backends/loader/program_file.h) with code for each of `cpus`. Unimplemented, with the
// instructions and the reasons, for what only the compiler's interpreter can run; and for custom calls that have no
// function here.
absl::StatusOr<std::string> CompileAheadOfTime(const HloModule& module, const CompileOptions& options,
                                               std::vector<std::string> cpus);

// The sizes that a file is to have a program for.
struct SizesAhead {
  using Module = std::function<absl::StatusOr<std::unique_ptr<HloModule>>()>;
  // Modules, all of one origin, that get code of their own.
  std::vector<Module> own;
  // Modules for many sizes, which share code. Whether it serves them is found out for each of them; a few that it does
  // not serve get code of their own.
  struct Range {
    int64_t count = 0;
    std::function<absl::StatusOr<std::unique_ptr<HloModule>>(int64_t i)> module;
    // A module of the same origin for sizes to make the code from (GeneralCode::Sample).
    std::function<absl::StatusOr<std::unique_ptr<HloModule>>(int which)> sample;
    // Sizes that may be larger than any of the `count`, or lie between them: the program must compute their rows apart
    // (CheckRowsApart), and what is asked for more of them is computed in pieces.
    struct Open {
      std::string name;
      int64_t low = 1, high = INT64_MAX, multiple = 1;
      std::vector<int64_t> pieces;  // of all `count`, the least first
      // Sizes with which to see whether the program is the same for large ones; the first that there is a module for
      // is the largest that the program takes.
      std::vector<int64_t> far;
    };
    std::vector<Open> open;
    // Open size `o` in number `i`; and the module of number `i` with `value` in its place.
    std::function<int64_t(int64_t i, size_t o)> open_value;
    std::function<absl::StatusOr<std::unique_ptr<HloModule>>(int64_t i, size_t o, int64_t value)> with;
  };
  std::vector<Range> ranges;
};

struct AheadStats {
  std::string module;            // its name
  int64_t general = 0, own = 0;  // sizes by the code that they have
  std::string refusal;           // why the last one of a range has code of its own
};

// The same for several sizes. Where two sets of sizes are the same, the first has the program that is found.
absl::StatusOr<std::string> CompileAheadOfTime(const SizesAhead& sizes, const CompileOptions& options,
                                               std::vector<std::string> cpus, AheadStats* stats = nullptr);

// A program of a file as an executable like any other, at the first of its sizes.
absl::StatusOr<std::unique_ptr<Executable>> LoadExecutable(ProgramBytes bytes);
// How many sizes the file has it for that the executable is of; 1 if it is of none.
int64_t NumSizes(const Executable& executable);
// The same program at sizes number `i`, or for inputs of these sizes (of all inputs, one after the other), as
// LoadedProgram::At and For.
absl::StatusOr<std::unique_ptr<Executable>> AtSizes(const Executable& executable, int64_t i);
absl::StatusOr<std::unique_ptr<Executable>> ForSizes(const Executable& executable, absl::Span<const int64_t> sizes);

// A relocatable ELF object with the program's bytes as `NAME_xcp` and their number as `NAME_xcp_size`, and a C header
// with functions that load and run it. InvalidArgument: `name` is no C name.
absl::StatusOr<std::string> ProgramObject(const std::string& name, absl::string_view program);
absl::StatusOr<std::string> ProgramHeader(const std::string& name, absl::string_view program);

}  // namespace xc

#endif  // XC_SERVICE_AHEAD_OF_TIME_H_
