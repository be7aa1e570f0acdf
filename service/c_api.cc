// The C API over Client. Nothing here throws or aborts: every error, and every exception, becomes an xc_status.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/cancel.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "service/argument_shapes.h"
#include "service/bundle.h"
#include "service/c_executable.h"
#include "service/c_status.h"
#include "service/client.h"
#include "service/cost_text.h"
#include "service/option_text.h"
#include "service/xc.h"

#define XC_EXPORT __attribute__((visibility("default")))

struct xc_queue {
  xc::TransferQueue queue;
  std::atomic<bool> lost{false};  // an array for which there was no memory
};

namespace xc {
namespace {

absl::StatusOr<std::shared_ptr<const Executable>> CompileBytes(absl::string_view bytes, const char* options_text,
                                                               xc_executable* out) {
  XC_ASSIGN_OR_RETURN(TextOptions options, ParseOptionText(options_text == nullptr ? "" : options_text));
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModule(bytes, options.parse));
  XC_RETURN_IF_ERROR(CheckArgumentShapes(options.argument_shapes, *module));
  if (!options.dump_to.empty()) {
    XC_RETURN_IF_ERROR(BeginBundle(options.dump_to, *module, options.platform, &options.compile));
  }
  out->name = module->name();
  Timeline timeline;
  if (options.compile.profile) options.compile.timeline = &timeline;
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                      Client::Default()->Compile(std::move(module), options.platform, options.compile));
  out->compiled = timeline.spans();
  return executable;
}

std::vector<xc_shape> Describe(const std::vector<Shape>& leaves) {
  std::vector<xc_shape> out;
  for (const Shape& leaf : leaves) {
    out.push_back({static_cast<int>(leaf.type()), static_cast<int>(leaf.rank()), leaf.dims().data(),
                   leaf.has_layout() ? leaf.layout().minor_to_major.data() : nullptr,
                   static_cast<size_t>(leaf.ByteSize())});
  }
  return out;
}

absl::Status Compile(const char* hlo, size_t size, const char* options, xc_executable** out) {
  if (hlo == nullptr || out == nullptr) {
    return absl::InvalidArgumentError("xc_compile_hlo: hlo and out must not be null");
  }
  *out = nullptr;
  auto executable = std::make_unique<xc_executable>();
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> compiled,
                      CompileBytes(absl::string_view(hlo, size), options, executable.get()));
  std::unique_ptr<xc_executable> whole = MakeCExecutable(std::move(compiled));
  whole->name = std::move(executable->name);
  whole->compiled = std::move(executable->compiled);
  *out = whole.release();
  return absl::OkStatus();
}

absl::Status CheckWhole(const xc_queue* queue, absl::string_view name) {
  if (queue == nullptr || !queue->lost) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("there was no memory for an array pushed to the ", name));
}

absl::Status Run(const xc_executable* executable, const void* const* inputs, size_t num_inputs, void* const* outputs,
                 size_t num_outputs, int threads, xc_queue* infeed, xc_queue* outfeed) {
  if (executable == nullptr) return absl::InvalidArgumentError("xc_executable_run: no executable");
  if (num_inputs != executable->inputs.size() || num_outputs != executable->outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the program has ", executable->inputs.size(), " inputs and ",
                                                   executable->outputs.size(), " outputs, but ", num_inputs, " and ",
                                                   num_outputs, " are given"));
  }
  XC_RETURN_IF_ERROR(CheckWhole(infeed, "infeed"));
  RunOptions options;
  options.executor = threads == 1 ? nullptr : DefaultExecutor();
  options.thread_limit = threads;
  if (infeed != nullptr) options.infeed = &infeed->queue;
  if (outfeed != nullptr) options.outfeed = &outfeed->queue;
  return executable->executable->Run(absl::MakeConstSpan(inputs, num_inputs), absl::MakeConstSpan(outputs, num_outputs),
                                     options);
}

absl::Status PopArray(xc_queue* queue, void* data, size_t bytes) {
  XC_RETURN_IF_ERROR(CheckWhole(queue, "queue"));
  if (const int64_t next = queue->queue.next_bytes(); next >= 0 && next != static_cast<int64_t>(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("xc_queue_pop: the next array has ", next, " bytes, not ", bytes));
  }
  std::string array;
  XC_RETURN_IF_ERROR(queue->queue.Pop(&array));
  std::memcpy(data, array.data(), std::min(bytes, array.size()));
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<xc_executable> MakeCExecutable(std::shared_ptr<const Executable> compiled) {
  auto executable = std::make_unique<xc_executable>();
  executable->inputs = Describe(compiled->parameter_leaves());
  executable->outputs = Describe(compiled->result_leaves());
  executable->executable = std::move(compiled);
  return executable;
}

}  // namespace xc

extern "C" {

XC_EXPORT xc_status* xc_compile_hlo(const char* hlo, size_t size, const char* options, xc_executable** out) {
  return xc::CallC([&] { return xc::Compile(hlo, size, options, out); });
}

XC_EXPORT xc_status* xc_compile_hlo_cancellable(const char* hlo, size_t size, const char* options, const int* cancel,
                                                xc_executable** out) {
  return xc::CallC([&] {
    const xc::CancelScope scope(cancel);
    return xc::Compile(hlo, size, options, out);
  });
}

XC_EXPORT void xc_executable_free(xc_executable* executable) { delete executable; }
XC_EXPORT size_t xc_executable_num_inputs(const xc_executable* executable) { return executable->inputs.size(); }
XC_EXPORT size_t xc_executable_num_outputs(const xc_executable* executable) { return executable->outputs.size(); }
XC_EXPORT xc_shape xc_executable_input(const xc_executable* executable, size_t i) {
  return i < executable->inputs.size() ? executable->inputs[i] : xc_shape{};
}
XC_EXPORT xc_shape xc_executable_output(const xc_executable* executable, size_t i) {
  return i < executable->outputs.size() ? executable->outputs[i] : xc_shape{};
}
XC_EXPORT size_t xc_executable_temp_bytes(const xc_executable* executable) {
  return static_cast<size_t>(executable->executable->temp_bytes());
}
XC_EXPORT size_t xc_executable_code_bytes(const xc_executable* executable) {
  return static_cast<size_t>(executable->executable->size_bytes());
}

XC_EXPORT int xc_executable_was_loaded(const xc_executable* executable) {
  return executable->executable->loaded() ? 1 : 0;
}

XC_EXPORT char* xc_executable_text(const xc_executable* executable, const char* name) {
  return xc::CallC(
      [&] {
        const xc::Executable& compiled = *executable->executable;
        return xc::CopyString(absl::string_view(name) == "cost" ? xc::CostText(compiled.Text("optimized_hlo"))
                                                                : compiled.Text(name));
      },
      static_cast<char*>(nullptr));
}

XC_EXPORT xc_status* xc_executable_run(const xc_executable* executable, const void* const* inputs, size_t num_inputs,
                                       void* const* outputs, size_t num_outputs, int threads) {
  return xc_executable_run_with_queues(executable, inputs, num_inputs, outputs, num_outputs, threads, nullptr, nullptr);
}

XC_EXPORT xc_status* xc_executable_run_with_queues(const xc_executable* executable, const void* const* inputs,
                                                   size_t num_inputs, void* const* outputs, size_t num_outputs,
                                                   int threads, xc_queue* infeed, xc_queue* outfeed) {
  return xc::CallC(
      [&] { return xc::Run(executable, inputs, num_inputs, outputs, num_outputs, threads, infeed, outfeed); });
}

XC_EXPORT xc_queue* xc_queue_new(void) {
  return xc::CallC([] { return new xc_queue; }, static_cast<xc_queue*>(nullptr));
}
XC_EXPORT void xc_queue_free(xc_queue* queue) { delete queue; }
XC_EXPORT void xc_queue_push(xc_queue* queue, const void* data, size_t bytes) {
  const bool pushed = xc::CallC(
      [&] {
        queue->queue.Push(std::string(static_cast<const char*>(data), bytes));
        return true;
      },
      false);
  if (!pushed) queue->lost = true;
}
XC_EXPORT int64_t xc_queue_next_bytes(const xc_queue* queue) { return queue->queue.next_bytes(); }
XC_EXPORT xc_status* xc_queue_pop(xc_queue* queue, void* data, size_t bytes) {
  return xc::CallC([&] { return xc::PopArray(queue, data, bytes); });
}

XC_EXPORT xc_cache_stats xc_cache_get_stats(void) {
  return xc::CallC(
      []() -> xc_cache_stats {
        const xc::CacheStats s = xc::Client::Default()->cache().stats();
        return {s.entries, s.bytes,     s.budget_bytes,    s.hits,      s.misses,
                s.waits,   s.evictions, s.compile_seconds, s.disk_hits, s.disk_writes};
      },
      xc_cache_stats{});
}
XC_EXPORT void xc_cache_clear(void) {
  xc_status_free(xc::CallC([]() -> absl::Status {
    xc::Client::Default()->cache().Clear();
    return absl::OkStatus();
  }));
}
XC_EXPORT void xc_cache_set_budget(int64_t bytes) {
  xc_status_free(xc::CallC([bytes]() -> absl::Status {
    xc::Client::Default()->cache().SetBudget(bytes);
    return absl::OkStatus();
  }));
}

}  // extern "C"
