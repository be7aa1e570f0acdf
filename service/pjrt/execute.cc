// Runs executables on buffers: takes arguments, some of them for good, and makes the buffers of the results. Runs that
// would keep the caller waiting are put into a queue; their results are promised.
#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/status.h"
#include "hlo/base/timeline.h"
#include "service/pjrt/events.h"
#include "service/pjrt/executables.h"
#include "service/pjrt/helper_threads.h"
#include "service/pjrt/launch_queue.h"
#include "service/pjrt/python_code.h"
#include "service/recorder.h"

namespace xc::pjrt {
namespace {

template <typename T>
using List = absl::InlinedVector<T, 8>;

// The arguments of one device's run, held until it ends.
struct Arguments {
  List<Contents> given;
  List<uint8_t> donated;
  bool waiting = false;   // for some that are promised
  bool row_major = true;  // as they are given
  // Of Resolve:
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
      const absl::string_view what = twice   ? "Attempt to donate the same buffer twice in Execute()"
                                     : j > i ? "Attempt to use a buffer that was previously donated in the same call "
                                               "to Execute()"
                                             : "Attempt to donate a buffer which is also used by the same call to "
                                               "Execute()";
      const absl::string_view example = twice   ? "f(donate(a), donate(a))"
                                        : j > i ? "f(donate(a), a)"
                                                : "f(a, donate(a))";
      return absl::InvalidArgumentError(absl::StrCat(what, " (flattened argument ", std::max(i, j),
                                                     ", replica 0, partition 0, first use: ", std::min(i, j),
                                                     "). Toy example for this bug: `", example, "`."));
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
    Contents contents = buffers[i]->contents();
    if (contents.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("Invalid buffer passed to Execute() as argument ", i,
                                                     " to replica 0: INVALID_ARGUMENT: ", kDeleted));
    }
    arguments.waiting |= contents.promised != nullptr;
    arguments.row_major &= buffers[i]->order.empty();
    arguments.given.push_back(std::move(contents));
    arguments.donated.push_back(0);
  }
  // Only now, when all of them are good, is anything given away.
  for (size_t i = 0; compiled.any_donated && i < buffers.size(); ++i) {
    if (!compiled.donated[i] || std::find(kept.begin(), kept.end(), static_cast<int64_t>(i)) != kept.end()) continue;
    arguments.given[i] = {};
    XC_ASSIGN_OR_RETURN(arguments.given[i], buffers[i]->Donate());
    arguments.donated[i] = 1;
  }
  return arguments;
}

// Waits for what is promised, and finds out what may be written to. `buffers`: where the arguments came from, or
// nothing if they are row-major.
absl::Status Resolve(absl::Span<Buffer* const> buffers, Arguments* arguments) {
  for (size_t i = 0; i < arguments->given.size(); ++i) {
    XC_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, arguments->given[i].Take());
    bool writable = arguments->donated[i] != 0 && storage.use_count() == 1 && storage->owned();
    if (!arguments->row_major && !buffers[i]->order.empty()) {
      XC_ASSIGN_OR_RETURN(storage, RowMajor(*buffers[i], std::move(storage)));
      writable = arguments->donated[i] != 0;
    }
    arguments->pointers.push_back(storage->data());
    arguments->held.push_back(std::move(storage));
    arguments->writable.push_back(writable ? 1 : 0);
  }
  return absl::OkStatus();
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

// The memory of the results as their layouts want it.
absl::Status Reorder(const CompiledProgram& compiled, Results* results) {
  for (size_t i = 0; i < compiled.result_orders.size(); ++i) {
    const Shape& shape = compiled.result_shapes[i];
    const Dims& order = compiled.result_orders[i];
    if (order.empty()) continue;
    XC_ASSIGN_OR_RETURN(results->held[i], InOrder(shape.dims(), shape.type(), order, *results->held[i]));
  }
  return absl::OkStatus();
}

Buffer* MakeBuffer(const CompiledProgram& compiled, size_t i, const Device& device, Contents contents) {
  return new Buffer(device.memories[compiled.result_memories[i]], compiled.result_shapes[i].type(),
                    compiled.result_shapes[i].dims(), std::move(contents),
                    compiled.result_orders.empty() ? Dims() : compiled.result_orders[i]);
}

void MakeBuffers(const CompiledProgram& compiled, const Device& device, Results* results, Buffer** out) {
  for (size_t i = 0; i < results->held.size(); ++i) {
    out[i] = MakeBuffer(compiled, i, device, Contents{std::move(results->held[i]), nullptr});
  }
}

RunOptions OptionsOf(const ExecuteContext* context) {
  static std::atomic<int64_t> runs{0};
  RunOptions options;
  options.executor = DefaultExecutor();
  options.device.run_id = ++runs;
  if (context != nullptr) options.device.user_data = &context->user_data;
  return options;
}

// Runs a program of one device.
absl::StatusOr<Results> RunOnOne(const CompiledProgram& compiled, xc::Client* compiler, RunOptions options,
                                 absl::Span<Buffer* const> buffers, Arguments* arguments) {
  XC_RETURN_IF_ERROR(Resolve(buffers, arguments));
  Recorder& recorder = Recorder::Get();
  const bool told = recorder.on();
  const xc::Executable& executable = told ? compiled.for_profile(compiler) : *compiled.for_one;
  XC_ASSIGN_OR_RETURN(Results results, AllocateResults(compiled, &executable, *arguments));
  options.writable = arguments->writable;
  const auto run = [&](const RunOptions& how) {
    return executable.Run(arguments->pointers, absl::MakeSpan(results.pointers.data(), results.pointers.size()), how);
  };
  const int64_t start = ProfileClock();
  XC_RETURN_IF_ERROR(told ? recorder.Run(compiled.name, executable, options, run) : run(options));
  compiled.NoteRun(ProfileClock() - start);
  XC_RETURN_IF_ERROR(Reorder(compiled, &results));
  return results;
}

// Runs a program of several devices; `argument_lists` as the buffers of Resolve, of each.
absl::StatusOr<std::vector<Results>> RunOnSeveral(const CompiledProgram& compiled, const RunOptions& options,
                                                  Buffer* const* const* argument_lists,
                                                  std::vector<Arguments>* arguments) {
  const size_t count = compiled.devices.size();
  std::vector<Results> results(count);
  std::vector<DeviceBuffers> buffers(count);
  for (size_t d = 0; d < count; ++d) {
    Arguments& own = (*arguments)[d];
    absl::Span<Buffer* const> list;
    if (argument_lists != nullptr) list = absl::MakeConstSpan(argument_lists[d], own.given.size());
    XC_RETURN_IF_ERROR(Resolve(list, &own));
    XC_ASSIGN_OR_RETURN(results[d], AllocateResults(compiled, nullptr, own));
    buffers[d].parameters = own.pointers;
    buffers[d].results = absl::MakeSpan(results[d].pointers.data(), results[d].pointers.size());
  }
  Recorder& recorder = Recorder::Get();
  const auto run = [&](const RunOptions& how) { return compiled.for_several->Run(buffers, how); };
  const int64_t start = ProfileClock();
  XC_RETURN_IF_ERROR(recorder.on() ? recorder.Run(compiled.name, compiled.executable(), options, run) : run(options));
  compiled.NoteRun(ProfileClock() - start);
  for (Results& own : results) XC_RETURN_IF_ERROR(Reorder(compiled, &own));
  return results;
}

// A run in the queue.
struct Launch {
  std::shared_ptr<const CompiledProgram> compiled;
  xc::Client* compiler = nullptr;
  RunOptions options;
  std::vector<Arguments> arguments;                      // of each device
  std::vector<List<std::shared_ptr<Promised>>> results;  // of each device
  std::shared_ptr<Completion> completion = std::make_shared<Completion>();

  absl::Status Run() {
    std::vector<Results> made;
    if (compiled->for_one != nullptr) {
      XC_ASSIGN_OR_RETURN(made.emplace_back(), RunOnOne(*compiled, compiler, options, {}, &arguments[0]));
    } else {
      XC_ASSIGN_OR_RETURN(made, RunOnSeveral(*compiled, options, nullptr, &arguments));
    }
    for (size_t d = 0; d < made.size(); ++d) {
      for (size_t i = 0; i < made[d].held.size(); ++i) results[d][i]->storage = std::move(made[d].held[i]);
    }
    return absl::OkStatus();
  }

  // Whoever waits for it finds that it holds nothing any more.
  void Finish() {
    absl::Status status = CatchExceptions([this] { return Run(); });
    arguments.clear();
    results.clear();
    compiled = nullptr;
    completion->Finish(std::move(status));
  }
};

// Puts a run into the queue, and gives the buffers of what it will compute.
void RunLater(const LoadedExecutable& loaded, const RunOptions& options, std::vector<Arguments> arguments,
              LoadedExecutable_Execute_Args* args, absl::Span<Device* const> devices) {
  const CompiledProgram& compiled = *loaded.compiled;
  auto launch = std::make_shared<Launch>();
  launch->compiled = loaded.compiled;
  launch->compiler = loaded.client->compiler;
  launch->options = options;
  launch->options.device.user_data = nullptr;  // for others' functions, which it does not call; it may end before
  launch->arguments = std::move(arguments);
  launch->results.resize(devices.size());
  for (size_t d = 0; d < devices.size(); ++d) {
    for (size_t i = 0; i < compiled.result_shapes.size(); ++i) {
      auto promised = std::make_shared<Promised>();
      promised->completion = launch->completion;
      args->output_lists[d][i] = MakeBuffer(compiled, i, *devices[d], Contents{nullptr, promised});
      launch->results[d].push_back(std::move(promised));
    }
    if (args->device_complete_events != nullptr) args->device_complete_events[d] = NewEvent(launch->completion);
  }
  LaunchQueue::Get().Add([launch] { launch->Finish(); });
}

// Whether the caller should not wait for the run.
bool IsForLater(const LoadedExecutable& loaded, absl::Span<const Arguments> arguments) {
  if (!loaded.compiled->may_wait || loaded.client->waits || Recorder::Get().on()) return false;
  bool waiting = false;
  for (const Arguments& own : arguments) {
    if (!own.row_major) return false;
    waiting |= own.waiting;
  }
  return waiting || (loaded.compiled->takes_long() && !loaded.compiled->too_large);
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
  const size_t count = compiled.devices.size();
  RunOptions options = OptionsOf(context);
  if (count == 1) {
    Device* const device = args->execute_device != nullptr ? args->execute_device : compiled.devices[0];
    options.device.ordinal = device->description.id;
    const auto buffers = absl::MakeConstSpan(args->argument_lists[0], args->num_args);
    XC_ASSIGN_OR_RETURN(Arguments arguments, TakeArguments(compiled, buffers, kept));
    if (IsForLater(*args->executable, absl::MakeConstSpan(&arguments, 1))) {
      std::vector<Arguments> all;
      all.push_back(std::move(arguments));
      RunLater(*args->executable, options, std::move(all), args, absl::MakeConstSpan(&device, 1));
      return absl::OkStatus();
    }
    XC_ASSIGN_OR_RETURN(Results results,
                        RunOnOne(compiled, args->executable->client->compiler, options, buffers, &arguments));
    MakeBuffers(compiled, *device, &results, args->output_lists[0]);
    if (args->device_complete_events != nullptr) args->device_complete_events[0] = NewEvent(nullptr);
    return absl::OkStatus();
  }
  std::vector<Arguments> arguments;
  for (size_t d = 0; d < count; ++d) {
    XC_ASSIGN_OR_RETURN(arguments.emplace_back(),
                        TakeArguments(compiled, absl::MakeConstSpan(args->argument_lists[d], args->num_args), kept));
  }
  if (IsForLater(*args->executable, arguments)) {
    RunLater(*args->executable, options, std::move(arguments), args, compiled.devices);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<Results>> ran = std::vector<Results>();
  const auto run = [&] {
    ran = CatchExceptions([&] { return RunOnSeveral(compiled, options, args->argument_lists, &arguments); });
  };
  // What JAX keeps for the caller's thread, such as the mesh of jax.set_mesh, is not for functions of Python that the
  // program calls: its own client calls them elsewhere. They need Python's lock, which the caller may hold.
  if (compiled.may_wait || HoldsPythonLock()) {
    run();
  } else {
    CallElsewhere(run);
  }
  XC_ASSIGN_OR_RETURN(std::vector<Results> results, std::move(ran));
  for (size_t d = 0; d < count; ++d) {
    MakeBuffers(compiled, *compiled.devices[d], &results[d], args->output_lists[d]);
    if (args->device_complete_events != nullptr) args->device_complete_events[d] = NewEvent(nullptr);
  }
  return absl::OkStatus();
}

}  // namespace

Error* LoadedExecutable_Execute(LoadedExecutable_Execute_Args* args) {
  return Answer([&] { return Execute(args); });
}

}  // namespace xc::pjrt
