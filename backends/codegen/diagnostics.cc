#include "backends/codegen/diagnostics.h"

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/raw_ostream.h"

namespace xc::codegen {
namespace {

class ErrorCollector : public llvm::DiagnosticHandler {
 public:
  explicit ErrorCollector(std::string* text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(*text_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      stream << "; ";
    }
    return true;
  }

 private:
  std::string* text_;
};

}  // namespace

std::unique_ptr<llvm::DiagnosticHandler> CollectErrors(std::string* text) {
  return std::make_unique<ErrorCollector>(text);
}

}  // namespace xc::codegen
