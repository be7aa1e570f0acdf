#include "service/pjrt/events.h"

#include <string>

namespace xc::pjrt {
namespace {

// The event of all that is done.
Event done_event;

Error out_of_memory{OutOfMemory()};

}  // namespace

Error* ToError(absl::Status status) noexcept {
  if (status.ok()) return nullptr;
  try {
    return new Error{std::move(status)};
  } catch (...) {
    return &out_of_memory;
  }
}

bool Completion::ready() const {
  std::lock_guard<std::mutex> lock(mu_);
  return ready_;
}

bool Completion::ended_well() const {
  std::lock_guard<std::mutex> lock(mu_);
  return ready_ && status_.ok();
}

absl::Status Completion::Await() const {
  std::unique_lock<std::mutex> lock(mu_);
  done_.wait(lock, [this] { return ready_; });
  return status_;
}

void Completion::OnReady(std::function<void(const absl::Status&)> callback) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (!ready_) {
      waiting_.push_back(std::move(callback));
      return;
    }
  }
  callback(status_);
}

void Completion::Finish(absl::Status status) {
  std::vector<std::function<void(const absl::Status&)>> waiting;
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (ready_) return;
    ready_ = true;
    status_ = std::move(status);
    waiting.swap(waiting_);
  }
  done_.notify_all();
  for (const auto& callback : waiting) callback(status_);
}

Event* NewEvent(std::shared_ptr<Completion> completion) {
  return completion == nullptr ? &done_event : new Event{std::move(completion)};
}

Error* Error_Destroy(Error_Destroy_Args* args) {
  if (args->error != &out_of_memory) delete args->error;
  return nullptr;
}

Error* Error_Message(Error_Message_Args* args) {
  const absl::string_view message = args->error->status.message();
  args->message = message.data();
  args->message_size = message.size();
  return nullptr;
}

Error* Error_GetCode(Error_GetCode_Args* args) {
  args->code = static_cast<int>(args->error->status.code());
  return nullptr;
}

Error* Event_Destroy(Event_Destroy_Args* args) {
  if (args->event != &done_event) delete args->event;
  return nullptr;
}

Error* Event_IsReady(Event_IsReady_Args* args) {
  const auto& completion = args->event->completion;
  args->is_ready = completion == nullptr || completion->ready();
  return nullptr;
}

Error* Event_Error(Event_Error_Args* args) {
  const auto& completion = args->event->completion;
  return completion == nullptr || !completion->ready() ? nullptr : ToError(completion->Await());
}

Error* Event_Await(Event_Await_Args* args) {
  const auto& completion = args->event->completion;
  return completion == nullptr ? nullptr : ToError(completion->Await());
}

Error* Event_OnReady(Event_OnReady_Args* args) {
  const auto& completion = args->event->completion;
  const auto callback = args->callback;
  void* const user_arg = args->user_arg;
  if (completion == nullptr) {
    callback(nullptr, user_arg);
    return nullptr;
  }
  return Answer([&] {
    completion->OnReady([callback, user_arg](const absl::Status& status) { callback(ToError(status), user_arg); });
    return absl::OkStatus();
  });
}

Error* Event_Create(Event_Create_Args* args) {
  return Answer([&] {
    args->event = NewEvent(std::make_shared<Completion>());
    return absl::OkStatus();
  });
}

Error* Event_Set(Event_Set_Args* args) {
  return Answer([&]() -> absl::Status {
    if (args->event->completion == nullptr) return absl::FailedPreconditionError("the event is set already");
    const auto code = static_cast<absl::StatusCode>(args->error_code);
    absl::string_view message;
    if (args->error_message != nullptr) message = absl::string_view(args->error_message, args->error_message_size);
    args->event->completion->Finish(absl::Status(code, message));
    return absl::OkStatus();
  });
}

}  // namespace xc::pjrt
