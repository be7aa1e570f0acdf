// libFuzzer's entry point for messages: what is read can be verified, printed and written again.
#include <cstdint>
#include <cstdlib>

#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "hlo/wire/module_proto.h"
#include "importers/io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xc::pb::HloModuleProto proto;
  if (size > (1 << 20) || !proto.ParseFromArray(data, static_cast<int>(size))) return 0;
  xc::ParseOptions options;
  options.max_elided_bytes = 1 << 16;
  options.max_instructions = 10'000;
  auto module = xc::ModuleFromProto(std::move(proto), options);
  if (!module.ok()) return 0;
  (void)xc::VerifyModule(**module);
  (void)xc::PrintModule(**module);
  auto bytes = xc::WriteModule(**module, xc::ModuleFormat::kBinaryProto);
  if (!bytes.ok()) return 0;
  // What was written is read: nothing that is carried makes a message that we would refuse.
  if (!xc::ReadModule(*bytes, options).ok()) std::abort();
  return 0;
}
