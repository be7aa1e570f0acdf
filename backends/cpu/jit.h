// Turns LLVM modules into callable machine code: target choice, a short pass list, parallel code generation, and
// linking through ORC. No LLVM header is needed to include this file.
#ifndef XC_BACKENDS_CPU_JIT_H_
#define XC_BACKENDS_CPU_JIT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hlo/base/timeline.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace xc::cpu {

// What code is generated for. Get one from `GetTarget`.
struct Target {
  std::string cpu;       // LLVM's processor name
  std::string features;  // LLVM's feature string
  int vector_bytes = 16;
  bool fma = false;
  bool f16c = false;
  bool avx2 = false;
  bool avx512 = false;  // F, BW, DQ and VL: masked loads and stores of every width
  bool halves = false;  // arithmetic of f16 in vectors; no named level has it

  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
};

// The target called `name`: "" or "native" for the machine that this runs on, or x86-64-v2, x86-64-v3, x86-64-v4.
// An unknown name is an error, and so is one that this machine cannot run, unless the code is for another one.
absl::StatusOr<Target> GetTarget(const std::string& name, bool other_machine = false);

// LLVM's version, such as "19.1.7".
std::string LlvmVersion();
// LLVM's version, and the build of its library where it is a shared one; empty if that cannot be told.
std::string LlvmIdentity();

// One LLVM context and one empty module of it, to be filled by an emitter.
class CodeModule {
 public:
  CodeModule(const std::string& name, const Target& target);
  CodeModule(CodeModule&&) noexcept;
  CodeModule& operator=(CodeModule&&) noexcept;
  ~CodeModule();

  llvm::LLVMContext& context();
  llvm::Module& module();
  // Gives up context and module, which an exception left in the middle of something (abandoned.h).
  void Abandon();

 private:
  friend class CodeModuleAccess;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

enum class CodeLevel {
  kNone,  // no passes, fast instruction selection: for code that runs once
  kFast,  // the short pass list
};

struct CompileOptions {
  Target target;
  CodeLevel level = CodeLevel::kFast;
  int threads = 1;       // code generation threads, the calling one included
  bool keep_ir = false;  // keep the text of every module before and after the passes
  bool keep_assembly = false;
  absl::Time deadline = absl::InfiniteFuture();  // looked at before each module
  Timeline* timeline = nullptr;                  // receives what each module takes; null: nobody asks
  std::vector<std::string>* objects = nullptr;   // receives a copy of the object files that `CompileModules` made
};

// Text kept on request, one string per module.
struct CodeText {
  std::vector<std::string> ir, optimized_ir, assembly;
};

using Symbol = std::pair<std::string, void*>;

// Executable code; unloaded by the destructor.
class CompiledCode {
 public:
  ~CompiledCode();
  CompiledCode(const CompiledCode&) = delete;
  CompiledCode& operator=(const CompiledCode&) = delete;

  // The address of an exported function named at compile time; null if there is none.
  void* Find(const std::string& name) const;
  // What the code takes of memory, roughly, with what linking it costs.
  int64_t memory_bytes() const;
  const CodeText& text() const;

 private:
  friend absl::StatusOr<std::unique_ptr<CompiledCode>> LinkObjects(std::vector<std::string> objects,
                                                                   const std::vector<Symbol>& symbols,
                                                                   const std::vector<std::string>& exports);
  friend absl::StatusOr<std::unique_ptr<CompiledCode>> CompileModules(std::vector<CodeModule> modules,
                                                                      const std::vector<Symbol>& symbols,
                                                                      const std::vector<std::string>& exports,
                                                                      const CompileOptions& options);
  CompiledCode();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Checks `module`, runs the passes and generates an object file. Errors name the module and the cause.
absl::StatusOr<std::string> CompileToObject(CodeModule& module, const CompileOptions& options,
                                            std::string* optimized_ir, std::string* assembly);

// Makes object files executable. Undefined names are bound to `symbols` or to names of another object; `exports` are
// the functions that `Find` will know.
absl::StatusOr<std::unique_ptr<CompiledCode>> LinkObjects(std::vector<std::string> objects,
                                                          const std::vector<Symbol>& symbols,
                                                          const std::vector<std::string>& exports);

// Both steps for many modules, on `options.threads` threads.
absl::StatusOr<std::unique_ptr<CompiledCode>> CompileModules(std::vector<CodeModule> modules,
                                                             const std::vector<Symbol>& symbols,
                                                             const std::vector<std::string>& exports,
                                                             const CompileOptions& options);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_JIT_H_
