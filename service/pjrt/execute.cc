// Runs executables on buffers: takes arguments, some of them for good, and makes the buffers of the results.
#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "service/pjrt/events.h"
#include "service/pjrt/executables.h"
#include "service/recorder.h"

namespace xc::pjrt {
namespace {

template <typename T>
using List = absl::InlinedVector<T, 8>;

// The arguments of one device's run, held until it ends.
struct Arguments {
  List<std::shared_ptr<Storage>> held;
  List<const void*> pointers;
  List<uint8_t> writable;  // donated, and nobody else refers to the memory
};

absl::Status CheckArgument(const Buffer& buffer, const Shape& wanted, size_t i) {
  if (wanted.IsToken()) return absl::OkStatus();
  if (buffer.type == wanted.type() &&
      std::equal(buffer.dims.begin(), buffer.dims.end(), wanted.dims().begin(), wanted.dims().end())) {
    return absl::OkStatus();
  }
  const Shape given(buffer.type, std::vector<int64_t>(buffer.dims.begin(), buffer.dims.end()));
  return absl::InvalidArgumentError(
      absl::StrCat("argument ", i, " is ", given.ToString(false), ", but the program takes ", wanted.ToString(false)));
}

// Nobody may give a buffer away and use it in the same call.
absl::Status CheckDonations(absl::Span<Buffer* const> buffers, const std::vector<bool>& donated,
                            absl::Span<const int64_t> kept) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!donated[i] || std::find(kept.begin(), kept.end(), static_cast<int64_t>(i)) != kept.end()) continue;
    for (size_t j = 0; j < buffers.size(); ++j) {
      if (i == j || buffers[i] != buffers[j]) continue;
      const bool twice = donated[j] && std::find(kept.begin(), kept.end(), static_cast<int64_t>(j)) == kept.end();
      // In the words of JAX's own client, which programs look for.
      const absl::string_view what =
          twice   ? "Attempt to donate the same buffer twice in Execute()"
          : j > i ? "Attempt to use a buffer that was previously donated in the same call to "
                    "Execute()"
                  : "Attempt to donate a buffer which is also used by the same call to Execute()";
      return absl::InvalidArgumentError(absl::StrCat(what, " (flattened argument ", std::max(i, j),
                                                     ", replica 0): the other is argument ", std::min(i, j)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Arguments> TakeArguments(const CompiledProgram& compiled, absl::Span<Buffer* const> buffers,
                                        absl::Span<const int64_t> kept) {
  const std::vector<Shape>& wanted = compiled.parameter_leaves();
  if (buffers.size() != wanted.size()) {
    return absl::InvalidArgumentError(absl::StrCat("program ", compiled.name, " takes ", wanted.size(),
                                                   " arguments, but ", buffers.size(), " are given"));
  }
  if (compiled.any_donated) XC_RETURN_IF_ERROR(CheckDonations(buffers, compiled.donated, kept));
  Arguments arguments;
  for (size_t i = 0; i < buffers.size(); ++i) {
    XC_RETURN_IF_ERROR(CheckArgument(*buffers[i], wanted[i], i));
    absl::StatusOr<std::shared_ptr<Storage>> awaited = buffers[i]->Await();
    if (!awaited.ok() && buffers[i]->storage() == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("Invalid buffer passed to Execute() as argument ", i,
                                                     " to replica 0: INVALID_ARGUMENT: ", awaited.status().message()));
    }
    XC_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, std::move(awaited));
    XC_ASSIGN_OR_RETURN(storage, RowMajor(*buffers[i], std::move(storage)));
    arguments.pointers.push_back(storage->data());
    arguments.held.push_back(std::move(storage));
    arguments.writable.push_back(0);
  }
  // Only now, when all of them are good, is anything given away.
  for (size_t i = 0; compiled.any_donated && i < buffers.size(); ++i) {
    if (!compiled.donated[i] || std::find(kept.begin(), kept.end(), static_cast<int64_t>(i)) != kept.end()) continue;
    const bool copied = !buffers[i]->order.empty();
    if (!copied) arguments.held[i] = nullptr;
    bool exclusive = false;
    XC_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, buffers[i]->Donate(&exclusive));
    if (!copied) arguments.held[i] = std::move(storage);
    arguments.writable[i] = exclusive || copied ? 1 : 0;
  }
  return arguments;
}

// The memory of one device's results.
struct Results {
  List<std::shared_ptr<Storage>> held;
  List<void*> pointers;
};

// Results that are computed in the memory of an argument which is given up get that memory.
// `executable` is null for several devices.
absl::StatusOr<Results> AllocateResults(const CompiledProgram& compiled, const xc::Executable* executable,
                                        const Arguments& arguments) {
  Results results;
  for (size_t i = 0; i < compiled.result_shapes.size(); ++i) {
    const int64_t parameter = executable == nullptr ? -1 : executable->ResultParameter(i);
    std::shared_ptr<Storage> storage;
    if (parameter >= 0 && arguments.writable[parameter] != 0) {
      storage = arguments.held[parameter];
    } else {
      XC_ASSIGN_OR_RETURN(storage, Storage::Allocate(compiled.result_shapes[i].ByteSize()));
    }
    results.pointers.push_back(storage->data());
    results.held.push_back(std::move(storage));
  }
  return results;
}

absl::Status MakeBuffers(const CompiledProgram& compiled, Device* device, Results* results, Buffer** out) {
  for (size_t i = 0; i < compiled.result_orders.size(); ++i) {
    const Shape& shape = compiled.result_shapes[i];
    const Dims& order = compiled.result_orders[i];
    if (order.empty()) continue;
    XC_ASSIGN_OR_RETURN(results->held[i], InOrder(shape.dims(), shape.type(), order, *results->held[i]));
  }
  for (size_t i = 0; i < results->held.size(); ++i) {
    const Shape& shape = compiled.result_shapes[i];
    Memory* const memory = device->memories[compiled.result_memories[i]];
    out[i] = new Buffer(memory, shape.type(), shape.dims(), std::move(results->held[i]),
                        compiled.result_orders.empty() ? Dims() : compiled.result_orders[i]);
  }
  return absl::OkStatus();
}

RunOptions OptionsOf(const ExecuteContext* context) {
  static std::atomic<int64_t> runs{0};
  RunOptions options;
  options.executor = DefaultExecutor();
  options.device.run_id = ++runs;
  if (context != nullptr) options.device.user_data = &context->user_data;
  return options;
}

absl::Status RunOnOne(const LoadedExecutable& loaded, absl::Span<Buffer* const> buffers, absl::Span<const int64_t> kept,
                      const ExecuteContext* context, Device* device, Buffer** out) {
  const CompiledProgram& compiled = *loaded.compiled;
  XC_ASSIGN_OR_RETURN(Arguments arguments, TakeArguments(compiled, buffers, kept));
  Recorder& recorder = Recorder::Get();
  const bool told = recorder.on();
  const xc::Executable& executable = told ? compiled.for_profile(loaded.client->compiler) : *compiled.for_one;
  XC_ASSIGN_OR_RETURN(Results results, AllocateResults(compiled, &executable, arguments));
  RunOptions options = OptionsOf(context);
  options.device.ordinal = device->description.id;
  options.writable = arguments.writable;
  const auto run = [&](const RunOptions& how) {
    return executable.Run(arguments.pointers, absl::MakeSpan(results.pointers.data(), results.pointers.size()), how);
  };
  XC_RETURN_IF_ERROR(told ? recorder.Run(compiled.name, executable, options, run) : run(options));
  return MakeBuffers(compiled, device, &results, out);
}

absl::Status RunOnSeveral(const CompiledProgram& compiled, const LoadedExecutable_Execute_Args& args,
                          absl::Span<const int64_t> kept, const ExecuteContext* context) {
  const size_t count = compiled.devices.size();
  std::vector<Arguments> arguments(count);
  std::vector<Results> results(count);
  std::vector<DeviceBuffers> buffers(count);
  for (size_t d = 0; d < count; ++d) {
    XC_ASSIGN_OR_RETURN(arguments[d],
                        TakeArguments(compiled, absl::MakeConstSpan(args.argument_lists[d], args.num_args), kept));
    XC_ASSIGN_OR_RETURN(results[d], AllocateResults(compiled, nullptr, arguments[d]));
    buffers[d].parameters = arguments[d].pointers;
    buffers[d].results = absl::MakeSpan(results[d].pointers.data(), results[d].pointers.size());
  }
  Recorder& recorder = Recorder::Get();
  const auto run = [&](const RunOptions& options) { return compiled.for_several->Run(buffers, options); };
  XC_RETURN_IF_ERROR(recorder.on() ? recorder.Run(compiled.name, compiled.executable(), OptionsOf(context), run)
                                   : run(OptionsOf(context)));
  for (size_t d = 0; d < count; ++d) {
    XC_RETURN_IF_ERROR(MakeBuffers(compiled, compiled.devices[d], &results[d], args.output_lists[d]));
    if (args.device_complete_events != nullptr) args.device_complete_events[d] = NewEvent(nullptr);
  }
  return absl::OkStatus();
}

absl::Status Execute(LoadedExecutable_Execute_Args* args) {
  const CompiledProgram& compiled = *args->executable->compiled;
  if (args->executable->deleted) {
    return absl::InvalidArgumentError(absl::StrCat("program ", compiled.name, " has been deleted"));
  }
  if (args->num_devices != compiled.devices.size()) {
    return absl::InvalidArgumentError(absl::StrCat("program ", compiled.name, " runs on ", compiled.devices.size(),
                                                   " devices, but there are arguments for ", args->num_devices));
  }
  absl::Span<const int64_t> kept;
  const ExecuteContext* context = nullptr;
  if (args->options != nullptr) {
    kept =
        absl::MakeConstSpan(args->options->non_donatable_input_indices, args->options->num_non_donatable_input_indices);
    context = args->options->context;
  }
  if (compiled.for_one == nullptr) return RunOnSeveral(compiled, *args, kept, context);
  Device* const device = args->execute_device != nullptr ? args->execute_device : compiled.devices[0];
  XC_RETURN_IF_ERROR(RunOnOne(*args->executable, absl::MakeConstSpan(args->argument_lists[0], args->num_args), kept,
                              context, device, args->output_lists[0]));
  if (args->device_complete_events != nullptr) args->device_complete_events[0] = NewEvent(nullptr);
  return absl::OkStatus();
}

}  // namespace

Error* LoadedExecutable_Execute(LoadedExecutable_Execute_Args* args) {
  return Answer([&] { return Execute(args); });
}

}  // namespace xc::pjrt
