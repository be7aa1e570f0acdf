// The C API of profiles.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "service/c_executable.h"
#include "service/c_status.h"
#include "service/profile.h"
#include "service/xc.h"

#define XC_EXPORT __attribute__((visibility("default")))

struct xc_profile {
  xc::Profile profile;
};

namespace xc {
namespace {

absl::Status MakeProfile(const xc_executable* executable, const void* const* inputs, size_t num_inputs,
                         void* const* outputs, size_t num_outputs, int threads, int runs, xc_profile** out) {
  if (out == nullptr || executable == nullptr) {
    return absl::InvalidArgumentError("xc_executable_profile: executable and out must not be null");
  }
  *out = nullptr;
  if (runs < 1) return absl::InvalidArgumentError(absl::StrCat("xc_executable_profile: ", runs, " runs"));
  if (num_inputs != executable->inputs.size() || num_outputs != executable->outputs.size()) {
    return absl::InvalidArgumentError("xc_executable_profile: other numbers of inputs or outputs than the program has");
  }
  const Executable& compiled = *executable->executable;
  if (compiled.profile_sites().empty()) {
    return absl::FailedPreconditionError(
        "xc_executable_profile: the program has no code for profiling: compile it for the cpu with profile=1");
  }
  XC_ASSIGN_OR_RETURN(const Ceilings ceilings, MeasureCeilings(threads));
  RunOptions options;
  options.executor = threads == 1 ? nullptr : DefaultExecutor();
  options.thread_limit = threads;
  const auto run = [&] {
    return compiled.Run(absl::MakeConstSpan(inputs, num_inputs), absl::MakeConstSpan(outputs, num_outputs), options);
  };
  XC_RETURN_IF_ERROR(run());  // touches the memory, wakes the threads
  RunProfile profile(compiled.profile_sites().size());
  options.profile = &profile;
  for (int i = 0; i < runs; ++i) XC_RETURN_IF_ERROR(run());
  *out = new xc_profile{Profile(executable->name, compiled.profile_sites(), profile, executable->compiled, ceilings)};
  return absl::OkStatus();
}

}  // namespace
}  // namespace xc

extern "C" {

XC_EXPORT xc_status* xc_executable_profile(const xc_executable* executable, const void* const* inputs,
                                           size_t num_inputs, void* const* outputs, size_t num_outputs, int threads,
                                           int runs, xc_profile** out) {
  return xc::CallC(
      [&] { return xc::MakeProfile(executable, inputs, num_inputs, outputs, num_outputs, threads, runs, out); });
}

XC_EXPORT char* xc_profile_text(const xc_profile* profile, const char* name) {
  return xc::CallC(
      [&] {
        const absl::string_view wanted = name == nullptr ? "" : name;
        const xc::Profile& p = profile->profile;
        return xc::CopyString(wanted == "trace"      ? p.Trace()
                              : wanted == "table"    ? p.Table()
                              : wanted == "json"     ? p.TableJson()
                              : wanted == "roofline" ? p.Roofline()
                                                     : "");
      },
      static_cast<char*>(nullptr));
}

XC_EXPORT xc_status* xc_profile_write_trace(const xc_profile* profile, const char* path) {
  return xc::CallC([&] { return xc::WriteTrace(profile->profile, path); });
}

XC_EXPORT void xc_profile_free(xc_profile* profile) { delete profile; }

}  // extern "C"
