// Handlers as functions of the registry of custom calls.
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/ffi/ffi.h"
#include "backends/ffi/internal.h"
#include "hlo/base/status.h"

namespace xc::ffi {
namespace {

constexpr const char* kStages[] = {"instantiate", "prepare", "initialize", "execute"};

CallFrame EmptyFrame(Stage stage) {
  CallFrame frame{};
  frame.struct_size = kCallFrameSize;
  frame.api = GetApi();
  frame.stage = stage;
  frame.arguments.struct_size = sizeof(Arguments);
  frame.results.struct_size = sizeof(Results);
  frame.attributes.struct_size = sizeof(Attributes);
  return frame;
}

absl::Status Invoke(Handler* handler, CallFrame* frame) {
  frame->future = nullptr;
  Error* const error = handler(frame);
  absl::Status status = TakeError(error);
  if (frame->future != nullptr) {
    const absl::Status later = Await(frame->future);
    if (status.ok()) status = later;
  }
  if (status.ok() || frame->stage == Stage::kExecute) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " [stage ", kStages[static_cast<int>(frame->stage)], "]"));
}

// The buffers of one call.
template <typename List, typename Type>
class Buffers {
 public:
  explicit Buffers(absl::Span<const CallBuffer> buffers, List* list) {
    for (const CallBuffer& from : buffers) {
      buffers_.push_back({sizeof(Buffer), nullptr, static_cast<int32_t>(from.type), from.data,
                          static_cast<int64_t>(from.dims.size()), const_cast<int64_t*>(from.dims.data())});
    }
    for (Buffer& buffer : buffers_) values_.push_back(&buffer);
    types_.assign(buffers_.size(), Type::kBuffer);
    list->size = static_cast<int64_t>(buffers_.size());
    list->types = types_.data();
    list->values = values_.data();
  }
  Buffers(const Buffers&) = delete;

 private:
  absl::InlinedVector<Buffer, 8> buffers_;
  absl::InlinedVector<void*, 8> values_;
  absl::InlinedVector<Type, 8> types_;
};

// A call of a program: its attributes, and the state that its first stage left.
class BoundHandler {
 public:
  static absl::StatusOr<std::shared_ptr<BoundHandler>> Make(const HandlerBundle& bundle, const CallArgs& args) {
    auto bound = std::make_shared<BoundHandler>();
    bound->bundle_ = bundle;
    XC_ASSIGN_OR_RETURN(bound->attributes_, AttributeFrame::Parse(args.backend_config));
    if (bundle.instantiate != nullptr) {
      Context context;
      context.states[0] = &bound->state_;
      CallFrame frame = EmptyFrame(Stage::kInstantiate);
      frame.context = &context;
      frame.attributes = bound->attributes_->attributes();
      XC_RETURN_IF_ERROR(Invoke(bundle.instantiate, &frame));
    }
    return bound;
  }

  absl::Status Run(RunContext* run, const CallArgs& args) {
    State states[2];
    Context context;
    context.run = run;
    context.states[0] = &state_;
    context.states[1] = &states[0];
    context.states[2] = &states[1];
    CallFrame frame = EmptyFrame(Stage::kExecute);
    frame.context = &context;
    frame.attributes = attributes_->attributes();
    const Buffers<Arguments, ArgumentType> inputs(args.inputs, &frame.arguments);
    const Buffers<Results, ResultType> outputs(args.outputs, &frame.results);
    const std::pair<Stage, Handler*> stages[] = {{Stage::kPrepare, bundle_.prepare},
                                                 {Stage::kInitialize, bundle_.initialize},
                                                 {Stage::kExecute, bundle_.execute}};
    for (const auto& [stage, handler] : stages) {
      if (handler == nullptr) continue;
      frame.stage = stage;
      XC_RETURN_IF_ERROR(Invoke(handler, &frame));
    }
    return absl::OkStatus();
  }

 private:
  HandlerBundle bundle_{};
  std::unique_ptr<AttributeFrame> attributes_;
  State state_;
};

// Asks the handler which interface it was compiled for.
absl::Status CheckVersion(Handler* handler) {
  Metadata metadata{sizeof(Metadata), {sizeof(ApiVersion), nullptr, -1, -1}, 0, {0}};
  MetadataExtension extension{{sizeof(MetadataExtension), ExtensionType::kMetadata, nullptr}, &metadata};
  CallFrame frame = EmptyFrame(Stage::kExecute);
  frame.extensions = &extension.base;
  XC_RETURN_IF_ERROR(TakeError(handler(&frame)));
  const ApiVersion& version = metadata.api_version;
  if (version.major != kMajorVersion || version.minor < 2 || version.minor > kMinorVersion) {
    return absl::UnimplementedError(absl::StrCat("the handler is for version ", version.major, ".", version.minor,
                                                 " of the FFI; those from 0.2 to ", kMajorVersion, ".", kMinorVersion,
                                                 " can be called"));
  }
  return absl::OkStatus();
}

struct HandlerTable {
  std::mutex mu;
  std::map<std::string, HandlerBundle, std::less<>> bundles;
};

}  // namespace

absl::Status RegisterHandler(absl::string_view target, absl::string_view platform, const HandlerBundle& bundle,
                             uint32_t) {
  if (target.empty() || bundle.execute == nullptr) {
    return absl::InvalidArgumentError("a foreign function needs a name and a handler to execute");
  }
  if (!absl::EqualsIgnoreCase(platform, "host") && !absl::EqualsIgnoreCase(platform, "cpu")) return absl::OkStatus();
  if (IsBuiltInCall(target)) return absl::OkStatus();
  static HandlerTable* const table = new HandlerTable;
  std::lock_guard<std::mutex> lock(table->mu);
  if (const auto known = table->bundles.find(target); known != table->bundles.end()) {
    const HandlerBundle& old = known->second;
    if (old.instantiate == bundle.instantiate && old.prepare == bundle.prepare && old.initialize == bundle.initialize &&
        old.execute == bundle.execute) {
      return absl::OkStatus();
    }
    return absl::AlreadyExistsError(absl::StrCat("foreign function ", target, " has another handler already"));
  }
  if (const absl::Status status = CheckVersion(bundle.execute); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("foreign function ", target, ": ", status.message()));
  }
  XC_RETURN_IF_ERROR(RegisterCustomCallFactory(target, [bundle](const CallArgs& args) -> absl::StatusOr<CallFunction> {
    XC_ASSIGN_OR_RETURN(std::shared_ptr<BoundHandler> bound, BoundHandler::Make(bundle, args));
    return CallFunction([bound](RunContext* run, const CallArgs& call) { return bound->Run(run, call); });
  }));
  table->bundles.emplace(std::string(target), bundle);
  return absl::OkStatus();
}

absl::Status RegisterHandler(absl::string_view target, absl::string_view platform, Handler* execute, uint32_t traits) {
  return RegisterHandler(target, platform, HandlerBundle{nullptr, nullptr, nullptr, execute}, traits);
}

}  // namespace xc::ffi
