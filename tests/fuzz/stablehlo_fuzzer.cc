// libFuzzer's entry point for StableHLO, text, bytecode and files of jax.export: what is read and valid can be printed
// as HLO text and read again.
#include <cstdint>
#include <cstdlib>

#include "hlo/analysis/equality.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "importers/stablehlo/stablehlo.h"
#include "tests/fuzz/open_size_seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xc::ParseOptions options = xc::MutantOptions(1 << 16);
  options.max_instructions = 10'000;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  (void)xc::LooksLikeStableHlo(text);
  auto module = xc::LooksLikeExportedStableHlo(text) ? xc::ParseExportedStableHlo(text, options)
                                                     : xc::ParseStableHlo(text, options);
  if (!module.ok() || !xc::VerifyModule(**module).ok()) return 0;
  auto again = xc::ParseModule(xc::PrintModule(**module), options);
  if (!again.ok() || !xc::DeepEqual(**module, **again, {.config = false}).ok()) std::abort();
  return 0;
}
