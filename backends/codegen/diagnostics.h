// LLVM's errors as text.
#ifndef XC_BACKENDS_CODEGEN_DIAGNOSTICS_H_
#define XC_BACKENDS_CODEGEN_DIAGNOSTICS_H_

#include <memory>
#include <string>

namespace llvm {
struct DiagnosticHandler;
}  // namespace llvm

namespace xc::codegen {

// Appends the errors of a context to `text`, which must outlive it, in place of LLVM's default of printing and exiting.
std::unique_ptr<llvm::DiagnosticHandler> CollectErrors(std::string* text);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_DIAGNOSTICS_H_
