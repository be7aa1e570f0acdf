#include "backends/cpu/callbacks.h"

#include "backends/runtime/run_context.h"
#include "hlo/base/exceptions.h"

extern "C" int32_t xc_cpu_fallback(const xc::Frame* frame, int64_t site, const void* const* inputs,
                                   void* const* outputs) {
  const absl::Status status = xc::CatchExceptions([&] { return frame->calls->RunSite(site, inputs, outputs); });
  return static_cast<xc::RunContext*>(frame->context)->Record(status);
}

extern "C" int32_t xc_cpu_custom_call(const xc::Frame* frame, int64_t site, void* const* inputs, void* const* outputs) {
  auto* run = static_cast<xc::RunContext*>(frame->context);
  const absl::Status status = xc::CatchExceptions([&] { return frame->calls->calls[site].Run(run, inputs, outputs); });
  return run->Record(status);
}
