// libFuzzer's entry point for the compile cache's files: input is taken as a file, and as a program in a file that is
// whole.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/program/program.h"
#include "service/disk_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > (1 << 20)) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)xc::UnwrapProgram("key", bytes);
  const auto kept = xc::UnwrapProgram("key", xc::WrapProgram("key", bytes));
  if (!kept.ok() || *kept != bytes) std::abort();
  std::vector<std::string> objects;
  const auto program = xc::ReadProgram(*kept, &objects);
  if (!program.ok()) return 0;
  // What a run takes for granted: outputs in parameters are inside of them, a call's arrays have sizes.
  for (const auto& output : program->outputs) {
    if (output.parameter < 0) continue;
    const int64_t size = program->parameters.at(output.parameter).bytes;
    if (output.offset < 0 || output.bytes < 0 || output.offset > size || output.bytes > size - output.offset) {
      std::abort();
    }
  }
  for (const xc::PreparedCall& call : program->calls.calls) {
    for (const auto& buffers : {call.args().inputs, call.args().outputs}) {
      for (const xc::CallBuffer& buffer : buffers) {
        if (buffer.elements() < 0) std::abort();
      }
    }
  }
  if (!xc::WriteProgram(*program, objects).ok()) std::abort();
  return 0;
}
