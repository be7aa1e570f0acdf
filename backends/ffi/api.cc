// The functions that handlers call.
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/ffi/ffi.h"
#include "backends/ffi/internal.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/machine.h"
#include "hlo/base/status.h"

namespace xc::ffi {
namespace {

absl::string_view Text(ByteSpan span) { return {span.data, span.size}; }

// f() as a function of the interface: no exception leaves it, and arguments of fewer than `least` bytes are refused.
// Sizes that callers give end with the last field, before what makes the struct a multiple of a pointer.
template <typename Args, typename F>
Error* Guard(const Args* args, size_t least, F&& f) {
  return ToError(CatchExceptions([&]() -> absl::Status {
    if (args == nullptr || args->struct_size + alignof(Args) - 1 < least) {
      return absl::InvalidArgumentError(absl::StrCat("a function of the FFI was called with a struct of ",
                                                     args == nullptr ? 0 : args->struct_size, " bytes, which needs ",
                                                     least));
    }
    return f();
  }));
}
template <typename Args, typename F>
Error* Guard(const Args* args, F&& f) {
  return Guard(args, sizeof(Args), std::forward<F>(f));
}

absl::Status NeedContext(const Context* context) {
  return context == nullptr ? absl::InvalidArgumentError("the execution context is null") : absl::OkStatus();
}
absl::Status NeedRun(const Context* context) {
  XC_RETURN_IF_ERROR(NeedContext(context));
  if (context->run == nullptr) return absl::FailedPreconditionError("there is no run while a program is made");
  return absl::OkStatus();
}

absl::StatusOr<State*> StateOf(Context* context, Stage stage) {
  XC_RETURN_IF_ERROR(NeedContext(context));
  const int index = static_cast<int>(stage);
  if (index < 0 || index > 2 || context->states[index] == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("stage ", index, " has no state here"));
  }
  return context->states[index];
}

Error* ErrorCreate(ErrorCreateArgs* args) {
  return Guard(args, [&] {
    const auto code =
        args->code > 0 && args->code <= 16 ? static_cast<absl::StatusCode>(args->code) : absl::StatusCode::kUnknown;
    return absl::Status(code, args->message == nullptr ? "" : args->message);
  });
}
void ErrorGetMessage(ErrorGetMessageArgs* args) {
  // The text of a status ends with a zero: it is a whole string.
  args->message = args->error == nullptr ? "" : args->error->status.message().data();
}
void ErrorDestroy(ErrorDestroyArgs* args) { delete args->error; }

Error* HandlerRegister(HandlerRegisterArgs* args) {
  return Guard(args,
               [&] { return RegisterHandler(Text(args->name), Text(args->platform), args->bundle, args->traits); });
}

Error* StreamGet(StreamGetArgs* args) {
  return Guard(args, [] { return absl::UnimplementedError("programs for the CPU have no stream"); });
}

Error* TypeRegister(TypeRegisterArgs* args) {
  return Guard(args, offsetof(TypeRegisterArgs, info), [&] {
    if (args->type == nullptr) return absl::InvalidArgumentError("a type needs a place for its number");
    // XLA's header gives a size that ends before the last field, which is there all the same.
    return RegisterType(Text(args->name), &args->type->value, args->info == nullptr ? nullptr : args->info->deleter);
  });
}

Error* ContextGet(ContextGetArgs* args) {
  return Guard(args, [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(NeedRun(args->context));
    const CallUserData* data = args->context->run->device.user_data;
    const auto it =
        data == nullptr ? std::map<int64_t, void*>::const_iterator() : data->by_type.find(args->type->value);
    if (data == nullptr || it == data->by_type.end()) {
      return absl::NotFoundError(absl::StrCat("the run has no data of type ", args->type->value));
    }
    args->data = it->second;
    return absl::OkStatus();
  });
}

Error* StateSet(StateSetArgs* args) {
  if (args != nullptr && args->struct_size < sizeof(StateSetArgs)) {
    auto* old = reinterpret_cast<StateArgs02*>(args);
    return Guard(old, [&]() -> absl::Status {
      XC_ASSIGN_OR_RETURN(State * state, StateOf(old->context, Stage::kInstantiate));
      return state->Set(*old->type, old->state);
    });
  }
  return Guard(args, [&]() -> absl::Status {
    XC_ASSIGN_OR_RETURN(State * state, StateOf(args->context, args->stage));
    return state->Set(*args->type, args->state);
  });
}

Error* StateGet(StateGetArgs* args) {
  if (args != nullptr && args->struct_size < sizeof(StateGetArgs)) {
    auto* old = reinterpret_cast<StateArgs02*>(args);
    return Guard(old, [&]() -> absl::Status {
      XC_ASSIGN_OR_RETURN(State * state, StateOf(old->context, Stage::kInstantiate));
      XC_ASSIGN_OR_RETURN(old->state, state->Get(*old->type));
      return absl::OkStatus();
    });
  }
  return Guard(args, [&]() -> absl::Status {
    XC_ASSIGN_OR_RETURN(State * state, StateOf(args->context, args->stage));
    XC_ASSIGN_OR_RETURN(args->state, state->Get(*args->type));
    return absl::OkStatus();
  });
}

Error* MemoryAllocate(MemoryAllocateArgs* args) {
  return Guard(args, [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(NeedContext(args->context));
    const size_t alignment = args->alignment < 64 ? 64 : args->alignment;
    if ((alignment & (alignment - 1)) != 0 || alignment > (size_t{1} << 20)) {
      return absl::InvalidArgumentError(absl::StrCat("an alignment of ", alignment, " bytes"));
    }
    if (args->size > static_cast<size_t>(AvailableMemory())) {
      return absl::ResourceExhaustedError(absl::StrCat("there are no ", args->size, " bytes of memory"));
    }
    args->data = nullptr;
    if (args->size == 0) return absl::OkStatus();
    void* data = std::aligned_alloc(alignment, (args->size + alignment - 1) / alignment * alignment);
    if (data == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for ", args->size, " bytes"));
    std::lock_guard<std::mutex> lock(args->context->mu);
    args->context->memory[data] = args->size;
    args->data = data;
    return absl::OkStatus();
  });
}

Error* MemoryFree(MemoryFreeArgs* args) {
  return Guard(args, [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(NeedContext(args->context));
    if (args->data == nullptr) return absl::OkStatus();
    std::lock_guard<std::mutex> lock(args->context->mu);
    if (args->context->memory.erase(args->data) == 0) {
      return absl::InvalidArgumentError("memory is freed that this call did not allocate");
    }
    std::free(args->data);
    return absl::OkStatus();
  });
}

Error* ThreadsSchedule(ThreadsScheduleArgs* args) {
  return Guard(args, [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(NeedRun(args->context));
    if (args->context->run->num_threads() > 1) {
      args->context->run->executor()->Schedule([task = args->task, data = args->data] { task(data); });
    } else {
      args->task(args->data);
    }
    return absl::OkStatus();
  });
}

Error* ThreadsNumber(ThreadsNumberArgs* args) {
  return Guard(args, [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(NeedRun(args->context));
    *args->number = args->context->run->num_threads();
    return absl::OkStatus();
  });
}

void Set(Future* future, absl::Status status) {
  std::lock_guard<std::mutex> lock(future->mu);
  future->done = true;
  future->status = std::move(status);
  future->set.notify_all();
}

Error* FutureCreate(FutureCreateArgs* args) {
  // XLA's header gives a size that ends before the future.
  return Guard(args, offsetof(FutureCreateArgs, future), [&] {
    args->future = new Future;
    return absl::OkStatus();
  });
}
Error* FutureSetAvailable(FutureSetAvailableArgs* args) {
  return Guard(args, [&] {
    Set(args->future, absl::OkStatus());
    return absl::OkStatus();
  });
}
Error* FutureSetError(FutureSetErrorArgs* args) {
  return Guard(args, [&] {
    absl::Status status = TakeError(args->error);
    Set(args->future, status.ok() ? absl::UnknownError("a future was given no error") : std::move(status));
    return absl::OkStatus();
  });
}

Error* RunIdGet(RunIdGetArgs* args) {
  return Guard(args, [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(NeedRun(args->context));
    args->run_id = args->context->run->device.run_id;
    return absl::OkStatus();
  });
}
Error* DeviceOrdinalGet(DeviceOrdinalGetArgs* args) {
  return Guard(args, [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(NeedRun(args->context));
    args->ordinal = args->context->run->device.ordinal;
    return absl::OkStatus();
  });
}

}  // namespace

Error* ToError(const absl::Status& status) { return status.ok() ? nullptr : new Error{status}; }

absl::Status TakeError(Error* error) {
  if (error == nullptr) return absl::OkStatus();
  absl::Status status = std::move(error->status);
  delete error;
  return status;
}

absl::Status Await(Future* future) {
  std::unique_lock<std::mutex> lock(future->mu);
  future->set.wait(lock, [&] { return future->done; });
  absl::Status status = std::move(future->status);
  lock.unlock();
  delete future;
  return status;
}

Context::~Context() {
  for (const auto& [data, size] : memory) std::free(data);
}

const Api* GetApi() {
  static const Api api = {
      sizeof(Api),
      nullptr,
      {sizeof(ApiVersion), nullptr, kMajorVersion, kMinorVersion},
      nullptr,
      ErrorCreate,
      ErrorGetMessage,
      ErrorDestroy,
      HandlerRegister,
      StreamGet,
      TypeRegister,
      ContextGet,
      StateSet,
      StateGet,
      MemoryAllocate,
      MemoryFree,
      ThreadsSchedule,
      ThreadsNumber,
      FutureCreate,
      FutureSetAvailable,
      FutureSetError,
      RunIdGet,
      DeviceOrdinalGet,
  };
  return &api;
}

}  // namespace xc::ffi
