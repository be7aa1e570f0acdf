#include "tools/version.h"

#include "absl/strings/str_cat.h"
#include "backends/registry.h"
#include "backends/runtime/build_id.h"
#include "hlo/base/machine.h"
#include "service/xc.h"
#include "tools/commit.h"  // generated: kCommit, "" where it is not known
#include "tools/report.h"
#include "tools/units.h"

namespace xc {
namespace {

constexpr char kVersion[] = "0.1.0";

}  // namespace

void ReportVersion() {
  Report& report = Report::Get();
  const std::string build = BuildId(reinterpret_cast<const void*>(&ReportVersion));
  const std::string commit = kCommit[0] == 0 ? "unknown (built without --stamp)" : kCommit;
  const int64_t threads = AvailableCpus(), memory = AvailableMemory();
  const Backend& backend = *Backends()[0];
  const absl::StatusOr<TargetInfo> target = backend.Target({});
  const std::string cpu = backend.Processor().empty() ? "unknown" : backend.Processor();
  const int64_t vector_bits = target.ok() ? 8 * target->vector_bytes : 0;
  report.fields.Add("version", kVersion)
      .Add("api_version", int64_t{XC_API_VERSION})
      .Add("commit", std::string(kCommit))
      .Add("build", build)
      .Add("llvm", backend.LlvmVersion())
      .Add("cpu", cpu)
      .Add("vector_bits", vector_bits)
      .Add("threads", threads)
      .Add("memory_bytes", memory);
  report.Line(absl::StrCat("xla ", kVersion, ", the command of xc, a compiler for tensor programs"));
  report.Line(absl::StrCat("commit  ", commit));
  if (!build.empty()) report.Line(absl::StrCat("build   ", build));
  report.Line(absl::StrCat("LLVM    ", backend.LlvmVersion()));
  report.Line(absl::StrCat("CPU     ", cpu, ", vectors of ", vector_bits, " bits, ", HumanCount(threads, "thread"),
                           ", ", HumanBytes(memory), " of memory"));
}

}  // namespace xc
