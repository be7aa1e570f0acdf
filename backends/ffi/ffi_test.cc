// Handlers written against the binary interface, called through the registry of custom calls.
#include "backends/ffi/ffi.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime/custom_call.h"
#include "backends/runtime/executor.h"

namespace xc::ffi {
namespace {

// What every handler does first: says what it is when it is asked.
bool IsQuestion(CallFrame* frame, int minor = kMinorVersion) {
  for (Extension* e = frame->extensions; e != nullptr; e = e->next) {
    if (e->type != ExtensionType::kMetadata) continue;
    Metadata* metadata = reinterpret_cast<MetadataExtension*>(e)->metadata;
    metadata->api_version.major = kMajorVersion;
    metadata->api_version.minor = minor;
    return true;
  }
  return false;
}

Error* Fail(CallFrame* frame, int code, const char* message) {
  ErrorCreateArgs args{sizeof(args), nullptr, message, code};
  return frame->api->error_create(&args);
}

float* Floats(void* buffer) { return static_cast<float*>(static_cast<Buffer*>(buffer)->data); }

template <typename T>
T ScalarOf(const Attributes& attributes, const std::string& name) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    if (name != std::string(attributes.names[i]->data, attributes.names[i]->size)) continue;
    if (attributes.types[i] != AttributeType::kScalar) return T(-1);
    return *static_cast<T*>(static_cast<Scalar*>(attributes.values[i])->value);
  }
  return T(-2);
}

// out[i] = in[i] * scale
Error* Scale(CallFrame* frame) {
  if (IsQuestion(frame)) return nullptr;
  if (frame->arguments.size != 1 || frame->results.size != 1) return Fail(frame, 3, "takes one array and gives one");
  const auto* in = static_cast<Buffer*>(frame->arguments.values[0]);
  for (int64_t i = 0; i < in->dims[0]; ++i) {
    Floats(frame->results.values[0])[i] =
        Floats(frame->arguments.values[0])[i] * ScalarOf<float>(frame->attributes, "scale");
  }
  return nullptr;
}

struct Vector {
  explicit Vector(std::vector<float> v) : values(std::move(v)), dims{static_cast<int64_t>(values.size())} {}
  CallBuffer buffer() { return {RtType::kF32, dims, layout, nullptr}; }
  std::vector<float> values;
  std::vector<int64_t> dims, layout = {0};
};

absl::StatusOr<PreparedCall> Prepare(const std::string& target, Vector* in, Vector* out, const std::string& config) {
  const CallBuffer inputs[] = {in->buffer()}, outputs[] = {out->buffer()};
  CallArgs args;
  args.target = target;
  args.inputs = inputs;
  args.outputs = outputs;
  args.backend_config = config;
  return PreparedCall::Make(args);
}

absl::Status CallOnce(RunContext* run, const std::string& target, Vector* in, Vector* out, const std::string& config) {
  absl::StatusOr<PreparedCall> call = Prepare(target, in, out, config);
  if (!call.ok()) return call.status();
  void* inputs[] = {in->values.data()};
  void* outputs[] = {out->values.data()};
  return call->Run(run, inputs, outputs);
}

TEST(Ffi, CallsAHandler) {
  ASSERT_TRUE(RegisterHandler("ffi_test.scale", "Host", Scale).ok());
  ASSERT_TRUE(RegisterHandler("ffi_test.scale", "cpu", Scale).ok()) << "the same handler again";
  RunContext run;
  Vector in({1, 2, 3}), out({0, 0, 0});
  ASSERT_TRUE(CallOnce(&run, "ffi_test.scale", &in, &out, "{scale = 2.5 : f32}").ok());
  EXPECT_EQ(out.values, (std::vector<float>{2.5, 5, 7.5}));
}

TEST(Ffi, Refusals) {
  EXPECT_EQ(RegisterHandler("", "Host", Scale).message(), "a foreign function needs a name and a handler to execute");
  EXPECT_EQ(RegisterHandler("x", "Host", static_cast<Handler*>(nullptr)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(RegisterHandler("ffi_test.gpu", "CUDA", Scale).ok());
  EXPECT_FALSE(HasCustomCall("ffi_test.gpu"));
  EXPECT_TRUE(RegisterHandler("lapack_sgetrf_ffi", "Host", Scale).ok()) << "the compiler's own stand first";
  EXPECT_EQ(RegisterHandler(
                "ffi_test.old", "Host",
                +[](CallFrame* f) -> Error* {
                  IsQuestion(f, 1);
                  return nullptr;
                })
                .message(),
            "foreign function ffi_test.old: the handler is for version 0.1 of the FFI; those from 0.2 to 0.3 can be "
            "called");
  ASSERT_TRUE(RegisterHandler("ffi_test.taken", "Host", Scale).ok());
  EXPECT_EQ(RegisterHandler(
                "ffi_test.taken", "Host", +[](CallFrame*) -> Error* { return nullptr; })
                .message(),
            "foreign function ffi_test.taken has another handler already");
}

TEST(Ffi, ErrorsBecomeStatuses) {
  ASSERT_TRUE(RegisterHandler(
                  "ffi_test.fail", "Host",
                  +[](CallFrame* frame) -> Error* {
                    if (IsQuestion(frame)) return nullptr;
                    return Fail(frame, 9, "not today");
                  })
                  .ok());
  RunContext run;
  Vector in({1}), out({0});
  const absl::Status status = CallOnce(&run, "ffi_test.fail", &in, &out, "");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "custom call ffi_test.fail: not today");
}

// What the attributes' types and values were.
std::string Describe(const Attributes& attributes) {
  std::string text;
  for (int64_t i = 0; i < attributes.size; ++i) {
    text += std::string(attributes.names[i]->data, attributes.names[i]->size) + "=";
    switch (attributes.types[i]) {
      case AttributeType::kScalar: {
        const auto* scalar = static_cast<Scalar*>(attributes.values[i]);
        text += "scalar" + std::to_string(scalar->type);
        break;
      }
      case AttributeType::kArray: {
        const auto* array = static_cast<Array*>(attributes.values[i]);
        text += "array" + std::to_string(array->type) + "[" + std::to_string(array->size) + "]";
        if (array->type == 5) {
          for (size_t e = 0; e < array->size; ++e) text += "," + std::to_string(static_cast<int64_t*>(array->data)[e]);
        }
        break;
      }
      case AttributeType::kString: {
        const auto* span = static_cast<ByteSpan*>(attributes.values[i]);
        text += "'" + std::string(span->data, span->size) + "'";
        break;
      }
      case AttributeType::kDictionary:
        text += "{" + Describe(*static_cast<Attributes*>(attributes.values[i])) + "}";
        break;
    }
    text += " ";
  }
  return text;
}

std::string described;

TEST(Ffi, Attributes) {
  ASSERT_TRUE(RegisterHandler(
                  "ffi_test.describe", "Host",
                  +[](CallFrame* frame) -> Error* {
                    if (!IsQuestion(frame)) described = Describe(frame->attributes);
                    return nullptr;
                  })
                  .ok());
  RunContext run;
  Vector in({1}), out({0});
  const auto describe = [&](const std::string& config) {
    const absl::Status status = CallOnce(&run, "ffi_test.describe", &in, &out, config);
    return status.ok() ? described : std::string(status.message());
  };
  EXPECT_EQ(describe("{b = true, a = 1 : i32, u = 2 : ui64, f = 1.5 : f64, h = 0x3f80 : bf16, unit}"),
            "a=scalar4 b=scalar1 f=scalar12 h=scalar16 u=scalar9 unit=scalar1 ");
  EXPECT_EQ(
      describe("{d = dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, s = dense<7> : tensor<3xi64>, "
               "l = [5 : i64, 6 : i64], p = array<f32: 1.0, 2.0>, c = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>}"),
      "c=array15[2] d=array5[4],1,2,3,4 l=array5[2],5,6 p=array11[2] s=array5[3],7,7,7 ");
  EXPECT_EQ(describe("{n = {inner = \"x\", more = {k = 1 : i8}}, s = \"a b\", m = [\"p\", 1 : i32]}"),
            "m={0='p' 1=scalar4 } n={inner='x' more={k=scalar2 } } s='a b' ");
  EXPECT_EQ(describe("{\"json\": 1}"), "");
  EXPECT_EQ(describe("{s = @symbol}"),
            "custom call ffi_test.describe: attribute s = @symbol is of a kind that foreign functions cannot be given");
  EXPECT_EQ(describe("{d = dense<[1, 2]> : tensor<3xi64>}").substr(0, 94),
            "custom call ffi_test.describe: backend_config: expected as many elements as its type says at o");
}

int64_t state_type = 0;
int deleted = 0, instantiated = 0;
std::string stages;

TEST(Ffi, StatesAndStages) {
  ASSERT_TRUE(RegisterType("ffi_test.state", &state_type, [](void* object) {
                ++deleted;
                delete static_cast<int*>(object);
              }).ok());
  EXPECT_NE(state_type, 0);
  int64_t again = 0, other = state_type;
  EXPECT_TRUE(RegisterType("ffi_test.state", &again, nullptr).ok());
  EXPECT_EQ(again, state_type);
  EXPECT_FALSE(RegisterType("ffi_test.other", &other, nullptr).ok());
  const auto set = [](CallFrame* frame, int value) {
    TypeId type{state_type};
    StateSetArgs args{sizeof(args), nullptr, frame->context, frame->stage, &type, new int(value)};
    return frame->api->state_set(&args);
  };
  static const auto get = [](CallFrame* frame, Stage stage) {
    TypeId type{state_type};
    StateGetArgs args{sizeof(args), nullptr, frame->context, stage, &type, nullptr};
    if (Error* error = frame->api->state_get(&args)) {
      ErrorGetMessageArgs message{sizeof(message), nullptr, error, nullptr};
      frame->api->error_get_message(&message);
      stages += message.message;
      ErrorDestroyArgs destroy{sizeof(destroy), nullptr, error};
      frame->api->error_destroy(&destroy);
      return -1;
    }
    return *static_cast<int*>(args.state);
  };
  static const auto keep = set;
  HandlerBundle bundle;
  bundle.instantiate = [](CallFrame* frame) -> Error* {
    ++instantiated;
    return keep(frame, 10);
  };
  bundle.prepare = [](CallFrame* frame) -> Error* { return keep(frame, 20); };
  bundle.initialize = [](CallFrame* frame) -> Error* {
    stages += "initialize " + std::to_string(get(frame, Stage::kPrepare)) + ";";
    return nullptr;
  };
  bundle.execute = [](CallFrame* frame) -> Error* {
    if (IsQuestion(frame)) return nullptr;
    stages += "execute " + std::to_string(get(frame, Stage::kInstantiate)) + " ";
    get(frame, Stage::kInitialize);
    return nullptr;
  };
  ASSERT_TRUE(RegisterHandler("ffi_test.stages", "Host", bundle).ok());
  {
    Vector in({1}), out({0});
    absl::StatusOr<PreparedCall> call = Prepare("ffi_test.stages", &in, &out, "");
    ASSERT_TRUE(call.ok());
    EXPECT_EQ(instantiated, 1);
    RunContext run;
    void* data[] = {in.values.data()};
    ASSERT_TRUE(call->Run(&run, data, data).ok());
    EXPECT_EQ(stages, "initialize 20;execute 10 no state is set");
    EXPECT_EQ(deleted, 1);
    ASSERT_TRUE(call->Run(&run, data, data).ok());
    EXPECT_EQ(instantiated, 1);
    EXPECT_EQ(deleted, 2);
  }
  EXPECT_EQ(deleted, 3);
}

// Uses everything that a run offers: memory, threads, numbers, user data, a future.
Error* UseAll(CallFrame* frame) {
  if (IsQuestion(frame)) return nullptr;
  const Api& api = *frame->api;
  MemoryAllocateArgs memory{sizeof(memory), nullptr, frame->context, 1000, 256, nullptr};
  if (Error* error = api.memory_allocate(&memory)) return error;
  if (reinterpret_cast<uintptr_t>(memory.data) % 256 != 0) return Fail(frame, 13, "not aligned");
  std::memset(memory.data, 1, 1000);
  MemoryAllocateArgs kept{sizeof(kept), nullptr, frame->context, 1 << 20, 64, nullptr};  // never freed by the handler
  if (Error* error = api.memory_allocate(&kept)) return error;
  MemoryFreeArgs free{sizeof(free), nullptr, frame->context, 1000, memory.data};
  if (Error* error = api.memory_free(&free)) return error;
  if (Error* error = api.memory_free(&free)) {
    ErrorDestroyArgs destroy{sizeof(destroy), nullptr, error};
    api.error_destroy(&destroy);
  } else {
    return Fail(frame, 13, "memory could be freed twice");
  }
  float* out = Floats(frame->results.values[0]);
  RunIdGetArgs id{sizeof(id), nullptr, frame->context, 0};
  if (Error* error = api.run_id_get(&id)) return error;
  DeviceOrdinalGetArgs ordinal{sizeof(ordinal), nullptr, frame->context, 0};
  if (Error* error = api.device_ordinal_get(&ordinal)) return error;
  TypeId type{77};
  ContextGetArgs user{sizeof(user), nullptr, frame->context, &type, nullptr};
  if (Error* error = api.context_get(&user)) return error;
  int64_t threads = 0;
  ThreadsNumberArgs number{sizeof(number), nullptr, frame->context, &threads};
  if (Error* error = api.threads_number(&number)) return error;
  out[0] = static_cast<float>(id.run_id);
  out[1] = static_cast<float>(ordinal.ordinal);
  out[2] = *static_cast<float*>(user.data);
  out[3] = static_cast<float>(threads);
  FutureCreateArgs future{sizeof(future), nullptr, nullptr};
  if (Error* error = api.future_create(&future)) return error;
  frame->future = future.future;
  struct Work {
    const Api* api;
    Future* future;
    float* out;
  };
  ThreadsScheduleArgs schedule{sizeof(schedule), nullptr, frame->context,
                               [](void* data) {
                                 Work* work = static_cast<Work*>(data);
                                 work->out[4] = 5;
                                 FutureSetAvailableArgs set{sizeof(set), nullptr, work->future};
                                 work->api->future_set_available(&set);
                                 delete work;
                               },
                               new Work{&api, future.future, out}};
  return api.threads_schedule(&schedule);
}

TEST(Ffi, WhatARunOffers) {
  ASSERT_TRUE(RegisterHandler("ffi_test.all", "Host", UseAll).ok());
  for (int threads : {1, 2}) {
    const std::unique_ptr<Executor> pool = NewThreadPoolExecutor(threads);
    RunContext run(nullptr, pool.get());
    float user = 9;
    const CallUserData data{{{77, &user}}};
    run.device.run_id = 42;
    run.device.ordinal = 3;
    run.device.user_data = &data;
    Vector in({1}), out({0, 0, 0, 0, 0});
    const absl::Status status = CallOnce(&run, "ffi_test.all", &in, &out, "");
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(out.values, (std::vector<float>{42, 3, 9, static_cast<float>(threads), 5}));
    run.device.user_data = nullptr;
    EXPECT_EQ(CallOnce(&run, "ffi_test.all", &in, &out, "").message(),
              "custom call ffi_test.all: the run has no data of type 77");
  }
}

TEST(Ffi, BadStructs) {
  const Api* api = GetApi();
  FutureCreateArgs small{4, nullptr, nullptr};
  Error* error = api->future_create(&small);
  ASSERT_NE(error, nullptr);
  ErrorGetMessageArgs message{sizeof(message), nullptr, error, nullptr};
  api->error_get_message(&message);
  EXPECT_STREQ(message.message, "a function of the FFI was called with a struct of 4 bytes, which needs 16");
  ErrorDestroyArgs destroy{sizeof(destroy), nullptr, error};
  api->error_destroy(&destroy);
}

}  // namespace
}  // namespace xc::ffi
