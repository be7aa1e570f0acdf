// The interface behind which every backend stands: a module in, an executable out.
#ifndef XC_BACKENDS_BACKEND_H_
#define XC_BACKENDS_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "backends/runtime/run_context.h"
#include "compiler/pass.h"
#include "hlo/base/timeline.h"
#include "hlo/module.h"

namespace xc {

// What changes the code that is made. Part of the compile cache's key, but for those marked otherwise.
struct CompileOptions {
  // Code generation target: "" (this machine), "x86-64-v2", "x86-64-v3", "x86-64-v4" or an LLVM CPU name.
  std::string cpu;
  // The code may be for another machine than this one, which then does not run it. Not in the key: such code is stored
  // and not run.
  bool other_machine = false;
  // Passes not to run; {"all"} runs only those that the backend cannot do without (`--passes=none`).
  std::vector<std::string> disabled_passes;
  // Stops the pipeline after this pass (and the passes that the backend cannot do without).
  std::string until_pass;
  // Platform gpu: run on the emulator in place of a device.
  bool emulate = false;
  // Platform gpu: large matrix products are made by the vendor's library, where there is one: its sums have an order of
  // its own.
  bool gpu_libraries = true;
  // Keep more digits of f16 and bf16 values than the program says (compiler/expand/excess_precision.cc).
  bool excess_precision = false;
  // Limits; 0 is no limit.
  int64_t max_instructions = 0;
  int64_t max_memory_bytes = 0;
  // Not in the key: threads to compile with (0: all), when to give up, and whether to keep texts for inspection.
  int compile_threads = 0;
  absl::Time deadline = absl::InfiniteFuture();
  bool keep_texts = false;
  // Not in the key: receives numbered stages, e.g. ("003.after_cse.hlo", text). Null: no dumps.
  std::function<void(absl::string_view name, absl::string_view contents)> dump;
  // Not in the key, and around the cache: code that tells a run's profile where its time goes.
  bool profile = false;
  // Not in the key: receives what compiling takes. Null: nobody asks.
  Timeline* timeline = nullptr;
  // Not in the key: the directory of programs that outlive the process (service/disk_cache.h) and its limit in bytes.
  // Empty, 0: what XC_CACHE_DIR and XC_CACHE_BYTES say.
  std::string cache_dir;
  int64_t cache_dir_bytes = 0;
  // Not in the key: receives the program in the form that `Backend::Load` takes, if it has one. Null: not made.
  std::function<void(std::string program)> store;

  // The part that is in the key, as text.
  std::string KeyText() const;
};

// What belongs to one run.
struct RunOptions {
  Executor* executor = nullptr;  // null: the calling thread only
  int thread_limit = 0;          // 0: the executor's number
  bool guard_pages = false;      // arena between pages that cannot be accessed (tests)
  TransferQueue* infeed = nullptr;
  TransferQueue* outfeed = nullptr;
  // By parameter leaf: nonzero if the caller gives its memory up, so that the run may write to it where the module says
  // that it is donated. Empty: none.
  absl::Span<const uint8_t> writable;
  RunProfile* profile = nullptr;  // receives where the time goes, of code compiled with CompileOptions::profile
  absl::Time deadline = absl::InfiniteFuture();  // the interpreter looks at it between instructions
  RunDevice device;
  // Denormal numbers are flushed to zero where the calling thread does so, as TensorFlow's threads do; else kept.
  bool denormals_as_caller = false;
};

// A part of a program that is evaluated: "OPCODE NAME" of an instruction, or the whole module; and why.
struct EvaluatedPart {
  std::string what, reason;
};

// A part of a program whose time is told: a kernel, a library call, a loop, …
struct ProfileSite {
  std::string name;             // of the instruction
  std::string kind, detail;     // "kernel", "library", "loop", "copy", …; the kernel's form, the function, the opcode
  std::string shape;            // of the result
  std::string op_name, source;  // what the instruction comes from; "FILE:LINE"; empty if it does not say
  // Of one execution; of a loop, of one iteration. A transcendental function counts as one operation.
  int64_t flops = 0, bytes = 0;
  bool nests = false;  // other sites may be told inside of it
};

// What the host starts on a device for one run, what is in a loop's body or in a branch once.
struct DeviceStarts {
  int64_t kernels = 0;
  int64_t copies = 0;            // and fills of memory; without those of parameters and results
  int64_t evaluated = 0;         // steps that the host computes, on copies of their operands
  int64_t library_products = 0;  // matrix products by the vendor's library
};

// A compiled module. Immutable: any number of threads may run it at once.
class Executable {
 public:
  virtual ~Executable() = default;

  // Leaves of the entry parameters and of the result, in order, with the layouts in which the buffers are expected
  // and delivered (row-major where the module's entry layout says nothing). Tokens are leaves of no bytes.
  const std::vector<Shape>& parameter_leaves() const { return parameter_leaves_; }
  const std::vector<Shape>& result_leaves() const { return result_leaves_; }
  const Shape& result_shape() const { return result_shape_; }

  // Runs on `parameters[i]`, the leaf's bytes (element_type.h's StorageBytes each), and writes the result's leaves to
  // `results[i]`. Buffers are at least 1-byte aligned to the element type's size; 64-byte alignment is quicker. An
  // output may not overlap a parameter, but for the whole of a writable one that `ResultParameter` names. Sizes of
  // bounded-dynamic results are written to `dynamic_sizes` (one vector per leaf; empty where static) if it is not null;
  // elements beyond them are zero.
  virtual absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results,
                           const RunOptions& options,
                           std::vector<std::vector<int64_t>>* dynamic_sizes = nullptr) const = 0;

  // The parameter leaf in whose memory result leaf `i` is computed, if that is writable: then the caller may give the
  // same memory for both, and nothing is copied. -1: there is none.
  virtual int64_t ResultParameter(size_t i) const { return -1; }

  // Bytes of the temporary memory (arena) of one run.
  virtual int64_t temp_bytes() const = 0;
  // Bytes of code and constants that it keeps, roughly; what the cache's budget counts.
  virtual int64_t size_bytes() const = 0;
  // Whether `Backend::Load` made it.
  virtual bool loaded() const { return false; }
  // What of the program is given to the evaluator, because there is no code for it: correct, and slow.
  const std::vector<EvaluatedPart>& evaluated() const { return evaluated_; }
  // Nothing for what runs on the host.
  virtual std::optional<DeviceStarts> device_starts() const { return std::nullopt; }
  // Texts by name ("optimized_hlo", "buffer_assignment", "plan", "llvm_ir", "asm", "pass_times", "evaluated": a line
  // "what: why" for each part, "products": on a device, a line for each matrix product, with who makes it and why,
  // "runs": likewise, how many runs were launched how); empty if it has none such.
  virtual std::string Text(absl::string_view name) const;
  // The sites of code compiled with CompileOptions::profile, by number; empty without.
  virtual const std::vector<ProfileSite>& profile_sites() const;

 protected:
  // Fills the leaf lists from the module's entry computation and entry layouts.
  void SetSignature(const HloModule& module);
  // The same for programs that have no module; the result is a tuple of its leaves, or the one that there is.
  void SetLeaves(std::vector<Shape> parameters, std::vector<Shape> results);
  void SetEvaluated(std::vector<EvaluatedPart> parts) { evaluated_ = std::move(parts); }

 private:
  std::vector<Shape> parameter_leaves_, result_leaves_;
  Shape result_shape_;
  std::vector<EvaluatedPart> evaluated_;
};

// Code for programs that differ in sizes alone.
class GeneralProgram {
 public:
  virtual ~GeneralProgram() = default;
  // An executable of `module`, a program of other sizes. No code is made for it: all that its own code would have been
  // is worked out and compared with the code that is there, which gets other numbers. Unimplemented: they differ in
  // more than numbers. FailedPrecondition: in numbers that are part of the code, since they are the same in all
  // samples, or in what was chosen by chance; with the module among these they would not. Messages say where.
  // Thread-safe.
  virtual absl::StatusOr<std::unique_ptr<Executable>> For(std::unique_ptr<HloModule> module,
                                                          const CompileOptions& options) const = 0;
  // Bytes that it keeps, roughly.
  virtual int64_t size_bytes() const = 0;
  // Whether its code was not generated but came from what Backend::CompileGeneral was given.
  virtual bool loaded() const { return false; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual absl::string_view name() const = 0;  // of the platform
  // Compiles a verified module.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                              const CompileOptions& options) = 0;

  // Compiles code that serves `samples`, programs of one origin for different sizes (two at least; further ones are
  // left out where they differ in more than numbers), and others like them. What differs between the samples will be
  // read from a table: sizes that are large and prime say best what may differ. Unimplemented: the samples differ in
  // more than numbers; the message says where. `program`: what options.store received for equal samples in a process of
  // the same identity, whose code is taken where it is what would be generated; empty for none.
  virtual absl::StatusOr<std::shared_ptr<const GeneralProgram>> CompileGeneral(
      std::vector<std::unique_ptr<HloModule>> samples, const CompileOptions& options, absl::string_view program = "") {
    return absl::UnimplementedError("this backend makes code for known sizes only");
  }

  // What passes and planner ask about the machine that code is made for. Errors: options that name no machine.
  virtual absl::StatusOr<TargetInfo> Target(const CompileOptions& options) const = 0;

  // For people: the version of LLVM that makes the code, and the processor of this process as LLVM names it. Empty
  // where there are none.
  virtual std::string LlvmVersion() const { return ""; }
  virtual std::string Processor() const { return ""; }

  // What decides the code beside module and options: this build of the compiler, and the machine. Programs of one
  // identity may be loaded by another process that has the same; empty: none may.
  virtual std::string Identity(const CompileOptions& options) const { return ""; }
  // Makes an executable of a program that `CompileOptions::store` received for an equal module. Errors: `program` is
  // not that, or a custom call that it needs is not registered here.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Load(const HloModule& module, absl::string_view program) {
    return absl::UnimplementedError("programs of this backend are not kept");
  }
};

// The backend that evaluates what another one has no code for (backends/interpreter); made once per process, lives
// forever. Which others there are: backends/registry.h.
Backend* InterpreterBackend();

// Shape of parameter `i` / of the result of `module`, with the entry layout's layouts where there is one and row-major
// ones otherwise.
Shape EntryParameterShape(const HloModule& module, int64_t i);
Shape EntryResultShape(const HloModule& module);

}  // namespace xc

#endif  // XC_BACKENDS_BACKEND_H_
