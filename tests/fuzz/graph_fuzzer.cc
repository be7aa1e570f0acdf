// libFuzzer's entry point for host graphs: what is imported can be written, read and written again, and v1 control
// flow in it is turned into functions or left alone.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/stubs/logging.h"
#include "jit/graph/graph.h"
#include "jit/graph/serialize.h"
#include "jit/graph/transforms/functionalize.h"

namespace {

void Expect(bool holds, const char* what, const absl::Status& status) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // protobuf logs what it refuses.
  static const auto* const kSilence = (google::protobuf::SetLogHandler(nullptr), new int);
  (void)kSilence;
  if (size > (1 << 20)) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  auto def = xc::ParseGraphDef(bytes, /*text=*/false);
  if (!def.ok()) def = xc::ParseGraphDef(bytes, /*text=*/true);
  if (!def.ok()) return 0;
  for (const bool allow_unknown_ops : {false, true}) {
    xc::ImportOptions options;
    options.allow_unknown_ops = allow_unknown_ops;
    auto graph = xc::ImportGraphDef(*def, options);
    if (!graph.ok()) continue;
    auto written = xc::SerializeGraph(**graph);
    if (written.ok() && !allow_unknown_ops) {
      auto again = xc::ParseSerializedGraph(*written);
      Expect(again.ok(), "what was written is refused", again.status());
      const absl::Status rewritten = xc::SerializeGraph(**again).status();
      Expect(rewritten.ok(), "what was read again cannot be written", rewritten);
    }
    (void)xc::FunctionalizeControlFlow(**graph);
  }
  return 0;
}
