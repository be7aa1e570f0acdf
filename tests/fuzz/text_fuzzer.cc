// libFuzzer's entry point for HLO text: what is read can be printed, read again and turned into a message.
#include <cstdint>
#include <cstdlib>

#include "hlo/analysis/equality.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "importers/io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xc::ParseOptions options;
  options.max_elided_bytes = 1 << 16;
  options.max_instructions = 10'000;
  auto module = xc::ParseModule({reinterpret_cast<const char*>(data), size}, options);
  if (!module.ok()) return 0;
  (void)xc::VerifyModule(**module);
  auto again = xc::ParseModule(xc::PrintModule(**module), options);
  if (!again.ok() || !xc::DeepEqual(**module, **again).ok()) std::abort();
  (void)xc::WriteModule(**module, xc::ModuleFormat::kBinaryProto);
  return 0;
}
