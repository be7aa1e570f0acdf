// What an executable is besides its code: plain data that buffer assignment and plan leave, and its form as bytes.
#ifndef XC_BACKENDS_PROGRAM_PROGRAM_H_
#define XC_BACKENDS_PROGRAM_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/plan/plan.h"
#include "backends/program/calls.h"
#include "backends/runtime/arena.h"
#include "compiler/memory/buffer_assignment.h"
#include "hlo/module.h"

namespace xc {

// The data of a program, without its code.
struct Program {
  struct Parameter {
    int64_t bytes = 0;
    bool donated = false;  // the program writes to it
  };
  struct Output {
    int64_t bytes = 0;
    int64_t parameter = -1;  // the result is in this parameter leaf's memory, at `offset`; -1: in the caller's
    int64_t offset = 0;
  };

  std::string entry;  // name of the entry function
  int64_t arena_bytes = 0;
  bool prepares_products = false;  // whether onednn::PrepareProducts makes its first run quicker
  std::vector<Parameter> parameters;
  std::vector<Output> outputs;
  std::vector<const void*> constants;
  int64_t constant_bytes = 0;
  CallTable calls;

  // Whoever owns what the above points to: of a program that was compiled, of one that was loaded.
  std::vector<std::shared_ptr<const Literal>> literals;
  std::vector<Block> blocks;
  std::unique_ptr<HloModule> module;  // optimized; null if it was loaded and all instructions have native code
};

// The program of a plan: memory, constants and calls, but for module and entry. `plan` gives up its custom calls.
// InvalidArgument for constants without elements.
absl::StatusOr<Program> MakeProgram(const BufferAssignment& buffers, plan::Plan* plan);

// `program` and `objects`, its code, as a serialized ProgramProto. Unimplemented for what another process could not
// run: custom calls without a function.
absl::StatusOr<std::string> WriteProgram(const Program& program, const std::vector<std::string>& objects);

// The way back; calls.evaluate is left to the caller. Errors: `bytes` do not fit together, or a custom call is
// not registered in this process.
absl::StatusOr<Program> ReadProgram(absl::string_view bytes, std::vector<std::string>* objects);

}  // namespace xc

#endif  // XC_BACKENDS_PROGRAM_PROGRAM_H_
