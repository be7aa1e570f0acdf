// Compares abi.h with XLA's header, field by field: compiled by abi_test.sh, against each wheel that has one.
#include "backends/ffi/abi.h"
#include "xla/ffi/api/c_api.h"

namespace ours = xc::ffi;

// STRUCT(theirs, ours, FIELD(their name, our name) …): both have one size, and each field one place and one size.
#define STRUCT(theirs, mine, fields)                      \
  struct Check_##theirs {                                 \
    using Theirs = XLA_FFI_##theirs;                      \
    using Ours = ours::mine;                              \
    static_assert(sizeof(Theirs) == sizeof(Ours), #mine); \
    fields                                                \
  }
#define FIELD(a, b) \
  static_assert(offsetof(Theirs, a) == offsetof(Ours, b) && sizeof(Theirs::a) == sizeof(Ours::b), #a " " #b);
// The same for a struct that says its size and may have extensions.
#define SIZED_STRUCT(theirs, mine, fields) \
  STRUCT(theirs, mine, FIELD(struct_size, struct_size) FIELD(extension_start, extensions) fields)

STRUCT(Extension_Base, Extension, FIELD(struct_size, struct_size) FIELD(type, type) FIELD(next, next));
SIZED_STRUCT(Api_Version, ApiVersion, FIELD(major_version, major) FIELD(minor_version, minor));
STRUCT(ByteSpan, ByteSpan, FIELD(ptr, data) FIELD(len, size));
SIZED_STRUCT(Buffer, Buffer, FIELD(dtype, type) FIELD(data, data) FIELD(rank, rank) FIELD(dims, dims));
STRUCT(Scalar, Scalar, FIELD(dtype, type) FIELD(value, value));
STRUCT(Array, Array, FIELD(dtype, type) FIELD(size, size) FIELD(data, data));
STRUCT(TypeId, TypeId, FIELD(type_id, value));
SIZED_STRUCT(TypeInfo, TypeInfo, FIELD(deleter, deleter));
SIZED_STRUCT(Args, Arguments, FIELD(size, size) FIELD(types, types) FIELD(args, values));
SIZED_STRUCT(Rets, Results, FIELD(size, size) FIELD(types, types) FIELD(rets, values));
SIZED_STRUCT(Attrs, Attributes, FIELD(size, size) FIELD(types, types) FIELD(names, names) FIELD(attrs, values));
SIZED_STRUCT(CallFrame, CallFrame,
             FIELD(api, api) FIELD(ctx, context) FIELD(stage, stage) FIELD(args, arguments) FIELD(rets, results)
                 FIELD(attrs, attributes) FIELD(future, future));
STRUCT(Handler_Bundle, HandlerBundle,
       FIELD(instantiate, instantiate) FIELD(prepare, prepare) FIELD(initialize, initialize) FIELD(execute, execute));
STRUCT(Metadata, Metadata,
       FIELD(struct_size, struct_size) FIELD(api_version, api_version) FIELD(traits, traits)
           FIELD(state_type_id, state_type));
STRUCT(Metadata_Extension, MetadataExtension, FIELD(extension_base, base) FIELD(metadata, metadata));
SIZED_STRUCT(Error_Create_Args, ErrorCreateArgs, FIELD(message, message) FIELD(errc, code));
SIZED_STRUCT(Error_GetMessage_Args, ErrorGetMessageArgs, FIELD(error, error) FIELD(message, message));
SIZED_STRUCT(Error_Destroy_Args, ErrorDestroyArgs, FIELD(error, error));
SIZED_STRUCT(Handler_Register_Args, HandlerRegisterArgs,
             FIELD(name, name) FIELD(platform, platform) FIELD(bundle, bundle) FIELD(traits, traits));
SIZED_STRUCT(Stream_Get_Args, StreamGetArgs, FIELD(ctx, context) FIELD(stream, stream));
SIZED_STRUCT(Type_Register_Args, TypeRegisterArgs, FIELD(name, name) FIELD(type_id, type) FIELD(type_info, info));
SIZED_STRUCT(ExecutionContext_Get_Args, ContextGetArgs, FIELD(ctx, context) FIELD(type_id, type) FIELD(data, data));
SIZED_STRUCT(DeviceMemory_Allocate_Args, MemoryAllocateArgs,
             FIELD(ctx, context) FIELD(size, size) FIELD(alignment, alignment) FIELD(data, data));
SIZED_STRUCT(DeviceMemory_Free_Args, MemoryFreeArgs, FIELD(ctx, context) FIELD(size, size) FIELD(data, data));
SIZED_STRUCT(ThreadPool_Schedule_Args, ThreadsScheduleArgs, FIELD(ctx, context) FIELD(task, task) FIELD(data, data));
SIZED_STRUCT(ThreadPool_NumThreads_Args, ThreadsNumberArgs, FIELD(ctx, context) FIELD(num_threads, number));
SIZED_STRUCT(Future_Create_Args, FutureCreateArgs, FIELD(future, future));
SIZED_STRUCT(Future_SetAvailable_Args, FutureSetAvailableArgs, FIELD(future, future));
SIZED_STRUCT(Future_SetError_Args, FutureSetErrorArgs, FIELD(future, future) FIELD(error, error));
SIZED_STRUCT(RunId_Get_Args, RunIdGetArgs, FIELD(ctx, context) FIELD(run_id, run_id));
SIZED_STRUCT(DeviceOrdinal_Get_Args, DeviceOrdinalGetArgs, FIELD(ctx, context) FIELD(device_ordinal, ordinal));

// Sizes that one side compares with what the other gives.
static_assert(XLA_FFI_CallFrame_STRUCT_SIZE == ours::kCallFrameSize, "CallFrame");
static_assert(XLA_FFI_Args_STRUCT_SIZE == sizeof(ours::Arguments), "Arguments");
static_assert(XLA_FFI_Rets_STRUCT_SIZE == sizeof(ours::Results), "Results");
static_assert(XLA_FFI_Attrs_STRUCT_SIZE == sizeof(ours::Attributes), "Attributes");
static_assert(XLA_FFI_Buffer_STRUCT_SIZE == sizeof(ours::Buffer), "Buffer");
static_assert(XLA_FFI_Api_STRUCT_SIZE == sizeof(ours::Api), "Api");

#if XLA_FFI_API_MINOR >= 3
SIZED_STRUCT(State_Set_Args, StateSetArgs,
             FIELD(ctx, context) FIELD(stage, stage) FIELD(type_id, type) FIELD(state, state));
SIZED_STRUCT(State_Get_Args, StateGetArgs,
             FIELD(ctx, context) FIELD(stage, stage) FIELD(type_id, type) FIELD(state, state));

static_assert(XLA_FFI_API_MAJOR == ours::kMajorVersion && XLA_FFI_API_MINOR == ours::kMinorVersion, "version");
#else
SIZED_STRUCT(State_Set_Args, StateArgs02, FIELD(ctx, context) FIELD(type_id, type) FIELD(state, state));
SIZED_STRUCT(State_Get_Args, StateArgs02, FIELD(ctx, context) FIELD(type_id, type) FIELD(state, state));
#endif

// clang-format off
SIZED_STRUCT(Api, Api,
             FIELD(api_version, version)
             FIELD(internal_api, internal)
             FIELD(XLA_FFI_Error_Create, error_create)
             FIELD(XLA_FFI_Error_GetMessage, error_get_message)
             FIELD(XLA_FFI_Error_Destroy, error_destroy)
             FIELD(XLA_FFI_Handler_Register, handler_register)
             FIELD(XLA_FFI_Stream_Get, stream_get)
             FIELD(XLA_FFI_Type_Register, type_register)
             FIELD(XLA_FFI_ExecutionContext_Get, context_get)
             FIELD(XLA_FFI_State_Set, state_set)
             FIELD(XLA_FFI_State_Get, state_get)
             FIELD(XLA_FFI_DeviceMemory_Allocate, memory_allocate)
             FIELD(XLA_FFI_DeviceMemory_Free, memory_free)
             FIELD(XLA_FFI_ThreadPool_Schedule, threads_schedule)
             FIELD(XLA_FFI_ThreadPool_NumThreads, threads_number)
             FIELD(XLA_FFI_Future_Create, future_create)
             FIELD(XLA_FFI_Future_SetAvailable, future_set_available)
             FIELD(XLA_FFI_Future_SetError, future_set_error)
             FIELD(XLA_FFI_RunId_Get, run_id_get)
             FIELD(XLA_FFI_DeviceOrdinal_Get, device_ordinal_get));
// clang-format on

#define SAME_NUMBER(theirs, mine) static_assert(int(XLA_FFI_##theirs) == int(mine), #mine)
SAME_NUMBER(Extension_Metadata, ours::ExtensionType::kMetadata);
SAME_NUMBER(ArgType_BUFFER, ours::ArgumentType::kBuffer);
SAME_NUMBER(RetType_BUFFER, ours::ResultType::kBuffer);
SAME_NUMBER(AttrType_ARRAY, ours::AttributeType::kArray);
SAME_NUMBER(AttrType_DICTIONARY, ours::AttributeType::kDictionary);
SAME_NUMBER(AttrType_SCALAR, ours::AttributeType::kScalar);
SAME_NUMBER(AttrType_STRING, ours::AttributeType::kString);
SAME_NUMBER(ExecutionStage_INSTANTIATE, ours::Stage::kInstantiate);
SAME_NUMBER(ExecutionStage_PREPARE, ours::Stage::kPrepare);
SAME_NUMBER(ExecutionStage_INITIALIZE, ours::Stage::kInitialize);
SAME_NUMBER(ExecutionStage_EXECUTE, ours::Stage::kExecute);

// Element types and error codes are those of HLO and Abseil.
SAME_NUMBER(DataType_PRED, 1);
SAME_NUMBER(DataType_S8, 2);
SAME_NUMBER(DataType_S64, 5);
SAME_NUMBER(DataType_U8, 6);
SAME_NUMBER(DataType_U64, 9);
SAME_NUMBER(DataType_F16, 10);
SAME_NUMBER(DataType_F32, 11);
SAME_NUMBER(DataType_F64, 12);
SAME_NUMBER(DataType_C64, 15);
SAME_NUMBER(DataType_BF16, 16);
SAME_NUMBER(DataType_TOKEN, 17);
SAME_NUMBER(DataType_C128, 18);
SAME_NUMBER(DataType_F8E5M2, 19);
SAME_NUMBER(DataType_F8E4M3FN, 20);
SAME_NUMBER(DataType_S4, 21);
SAME_NUMBER(DataType_U4, 22);
SAME_NUMBER(DataType_F8E8M0FNU, 33);
SAME_NUMBER(Error_Code_CANCELLED, 1);
SAME_NUMBER(Error_Code_INVALID_ARGUMENT, 3);
SAME_NUMBER(Error_Code_UNIMPLEMENTED, 12);
SAME_NUMBER(Error_Code_INTERNAL, 13);
SAME_NUMBER(Error_Code_UNAUTHENTICATED, 16);
