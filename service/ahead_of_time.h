// Compiling ahead of time: a module to a file that runs where there is no compiler.
#ifndef XC_SERVICE_AHEAD_OF_TIME_H_
#define XC_SERVICE_AHEAD_OF_TIME_H_

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

// A program of a file as an executable like any other.
absl::StatusOr<std::unique_ptr<Executable>> LoadExecutable(ProgramBytes bytes);

// A relocatable ELF object with the program's bytes as `NAME_xcp` and their number as `NAME_xcp_size`, and a C header
// with functions that load and run it. InvalidArgument: `name` is no C name.
absl::StatusOr<std::string> ProgramObject(const std::string& name, absl::string_view program);
absl::StatusOr<std::string> ProgramHeader(const std::string& name, absl::string_view program);

}  // namespace xc

#endif  // XC_SERVICE_AHEAD_OF_TIME_H_
