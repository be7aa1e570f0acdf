// Compares abi.h with XLA's header, field by field: compiled by abi_test.sh, against each wheel that has one.
#include "backends/ffi/abi.h"
#include "xla/ffi/api/c_api.h"

namespace ours = xc::ffi;

#define SAME_SIZE(theirs, mine) static_assert(sizeof(XLA_FFI_##theirs) == sizeof(ours::mine), #mine)
#define SAME_PLACE(theirs, a, mine, b)                                      \
  static_assert(offsetof(XLA_FFI_##theirs, a) == offsetof(ours::mine, b) && \
                    sizeof(XLA_FFI_##theirs::a) == sizeof(ours::mine::b),   \
                #mine "::" #b)

SAME_SIZE(Extension_Base, Extension);
SAME_PLACE(Extension_Base, struct_size, Extension, struct_size);
SAME_PLACE(Extension_Base, type, Extension, type);
SAME_PLACE(Extension_Base, next, Extension, next);

SAME_SIZE(Api_Version, ApiVersion);
SAME_PLACE(Api_Version, struct_size, ApiVersion, struct_size);
SAME_PLACE(Api_Version, extension_start, ApiVersion, extensions);
SAME_PLACE(Api_Version, major_version, ApiVersion, major);
SAME_PLACE(Api_Version, minor_version, ApiVersion, minor);

SAME_SIZE(ByteSpan, ByteSpan);
SAME_PLACE(ByteSpan, ptr, ByteSpan, data);
SAME_PLACE(ByteSpan, len, ByteSpan, size);

SAME_SIZE(Buffer, Buffer);
SAME_PLACE(Buffer, struct_size, Buffer, struct_size);
SAME_PLACE(Buffer, extension_start, Buffer, extensions);
SAME_PLACE(Buffer, dtype, Buffer, type);
SAME_PLACE(Buffer, data, Buffer, data);
SAME_PLACE(Buffer, rank, Buffer, rank);
SAME_PLACE(Buffer, dims, Buffer, dims);

SAME_SIZE(Scalar, Scalar);
SAME_PLACE(Scalar, dtype, Scalar, type);
SAME_PLACE(Scalar, value, Scalar, value);

SAME_SIZE(Array, Array);
SAME_PLACE(Array, dtype, Array, type);
SAME_PLACE(Array, size, Array, size);
SAME_PLACE(Array, data, Array, data);

SAME_SIZE(TypeId, TypeId);
SAME_PLACE(TypeId, type_id, TypeId, value);

SAME_SIZE(TypeInfo, TypeInfo);
SAME_PLACE(TypeInfo, struct_size, TypeInfo, struct_size);
SAME_PLACE(TypeInfo, extension_start, TypeInfo, extensions);
SAME_PLACE(TypeInfo, deleter, TypeInfo, deleter);

SAME_SIZE(Args, Arguments);
SAME_PLACE(Args, struct_size, Arguments, struct_size);
SAME_PLACE(Args, extension_start, Arguments, extensions);
SAME_PLACE(Args, size, Arguments, size);
SAME_PLACE(Args, types, Arguments, types);
SAME_PLACE(Args, args, Arguments, values);

SAME_SIZE(Rets, Results);
SAME_PLACE(Rets, struct_size, Results, struct_size);
SAME_PLACE(Rets, extension_start, Results, extensions);
SAME_PLACE(Rets, size, Results, size);
SAME_PLACE(Rets, types, Results, types);
SAME_PLACE(Rets, rets, Results, values);

SAME_SIZE(Attrs, Attributes);
SAME_PLACE(Attrs, struct_size, Attributes, struct_size);
SAME_PLACE(Attrs, extension_start, Attributes, extensions);
SAME_PLACE(Attrs, size, Attributes, size);
SAME_PLACE(Attrs, types, Attributes, types);
SAME_PLACE(Attrs, names, Attributes, names);
SAME_PLACE(Attrs, attrs, Attributes, values);

SAME_SIZE(CallFrame, CallFrame);
SAME_PLACE(CallFrame, struct_size, CallFrame, struct_size);
SAME_PLACE(CallFrame, extension_start, CallFrame, extensions);
SAME_PLACE(CallFrame, api, CallFrame, api);
SAME_PLACE(CallFrame, ctx, CallFrame, context);
SAME_PLACE(CallFrame, stage, CallFrame, stage);
SAME_PLACE(CallFrame, args, CallFrame, arguments);
SAME_PLACE(CallFrame, rets, CallFrame, results);
SAME_PLACE(CallFrame, attrs, CallFrame, attributes);
SAME_PLACE(CallFrame, future, CallFrame, future);

SAME_SIZE(Handler_Bundle, HandlerBundle);
SAME_PLACE(Handler_Bundle, instantiate, HandlerBundle, instantiate);
SAME_PLACE(Handler_Bundle, prepare, HandlerBundle, prepare);
SAME_PLACE(Handler_Bundle, initialize, HandlerBundle, initialize);
SAME_PLACE(Handler_Bundle, execute, HandlerBundle, execute);

SAME_SIZE(Metadata, Metadata);
SAME_PLACE(Metadata, struct_size, Metadata, struct_size);
SAME_PLACE(Metadata, api_version, Metadata, api_version);
SAME_PLACE(Metadata, traits, Metadata, traits);
SAME_PLACE(Metadata, state_type_id, Metadata, state_type);

SAME_SIZE(Metadata_Extension, MetadataExtension);
SAME_PLACE(Metadata_Extension, extension_base, MetadataExtension, base);
SAME_PLACE(Metadata_Extension, metadata, MetadataExtension, metadata);

SAME_SIZE(Error_Create_Args, ErrorCreateArgs);
SAME_PLACE(Error_Create_Args, struct_size, ErrorCreateArgs, struct_size);
SAME_PLACE(Error_Create_Args, extension_start, ErrorCreateArgs, extensions);
SAME_PLACE(Error_Create_Args, message, ErrorCreateArgs, message);
SAME_PLACE(Error_Create_Args, errc, ErrorCreateArgs, code);

SAME_SIZE(Error_GetMessage_Args, ErrorGetMessageArgs);
SAME_PLACE(Error_GetMessage_Args, struct_size, ErrorGetMessageArgs, struct_size);
SAME_PLACE(Error_GetMessage_Args, extension_start, ErrorGetMessageArgs, extensions);
SAME_PLACE(Error_GetMessage_Args, error, ErrorGetMessageArgs, error);
SAME_PLACE(Error_GetMessage_Args, message, ErrorGetMessageArgs, message);

SAME_SIZE(Error_Destroy_Args, ErrorDestroyArgs);
SAME_PLACE(Error_Destroy_Args, struct_size, ErrorDestroyArgs, struct_size);
SAME_PLACE(Error_Destroy_Args, extension_start, ErrorDestroyArgs, extensions);
SAME_PLACE(Error_Destroy_Args, error, ErrorDestroyArgs, error);

SAME_SIZE(Handler_Register_Args, HandlerRegisterArgs);
SAME_PLACE(Handler_Register_Args, struct_size, HandlerRegisterArgs, struct_size);
SAME_PLACE(Handler_Register_Args, extension_start, HandlerRegisterArgs, extensions);
SAME_PLACE(Handler_Register_Args, name, HandlerRegisterArgs, name);
SAME_PLACE(Handler_Register_Args, platform, HandlerRegisterArgs, platform);
SAME_PLACE(Handler_Register_Args, bundle, HandlerRegisterArgs, bundle);
SAME_PLACE(Handler_Register_Args, traits, HandlerRegisterArgs, traits);

SAME_SIZE(Stream_Get_Args, StreamGetArgs);
SAME_PLACE(Stream_Get_Args, struct_size, StreamGetArgs, struct_size);
SAME_PLACE(Stream_Get_Args, extension_start, StreamGetArgs, extensions);
SAME_PLACE(Stream_Get_Args, ctx, StreamGetArgs, context);
SAME_PLACE(Stream_Get_Args, stream, StreamGetArgs, stream);

SAME_SIZE(Type_Register_Args, TypeRegisterArgs);
SAME_PLACE(Type_Register_Args, struct_size, TypeRegisterArgs, struct_size);
SAME_PLACE(Type_Register_Args, extension_start, TypeRegisterArgs, extensions);
SAME_PLACE(Type_Register_Args, name, TypeRegisterArgs, name);
SAME_PLACE(Type_Register_Args, type_id, TypeRegisterArgs, type);
SAME_PLACE(Type_Register_Args, type_info, TypeRegisterArgs, info);

SAME_SIZE(ExecutionContext_Get_Args, ContextGetArgs);
SAME_PLACE(ExecutionContext_Get_Args, struct_size, ContextGetArgs, struct_size);
SAME_PLACE(ExecutionContext_Get_Args, extension_start, ContextGetArgs, extensions);
SAME_PLACE(ExecutionContext_Get_Args, ctx, ContextGetArgs, context);
SAME_PLACE(ExecutionContext_Get_Args, type_id, ContextGetArgs, type);
SAME_PLACE(ExecutionContext_Get_Args, data, ContextGetArgs, data);

SAME_SIZE(DeviceMemory_Allocate_Args, MemoryAllocateArgs);
SAME_PLACE(DeviceMemory_Allocate_Args, struct_size, MemoryAllocateArgs, struct_size);
SAME_PLACE(DeviceMemory_Allocate_Args, extension_start, MemoryAllocateArgs, extensions);
SAME_PLACE(DeviceMemory_Allocate_Args, ctx, MemoryAllocateArgs, context);
SAME_PLACE(DeviceMemory_Allocate_Args, size, MemoryAllocateArgs, size);
SAME_PLACE(DeviceMemory_Allocate_Args, alignment, MemoryAllocateArgs, alignment);
SAME_PLACE(DeviceMemory_Allocate_Args, data, MemoryAllocateArgs, data);

SAME_SIZE(DeviceMemory_Free_Args, MemoryFreeArgs);
SAME_PLACE(DeviceMemory_Free_Args, struct_size, MemoryFreeArgs, struct_size);
SAME_PLACE(DeviceMemory_Free_Args, extension_start, MemoryFreeArgs, extensions);
SAME_PLACE(DeviceMemory_Free_Args, ctx, MemoryFreeArgs, context);
SAME_PLACE(DeviceMemory_Free_Args, size, MemoryFreeArgs, size);
SAME_PLACE(DeviceMemory_Free_Args, data, MemoryFreeArgs, data);

SAME_SIZE(ThreadPool_Schedule_Args, ThreadsScheduleArgs);
SAME_PLACE(ThreadPool_Schedule_Args, struct_size, ThreadsScheduleArgs, struct_size);
SAME_PLACE(ThreadPool_Schedule_Args, extension_start, ThreadsScheduleArgs, extensions);
SAME_PLACE(ThreadPool_Schedule_Args, ctx, ThreadsScheduleArgs, context);
SAME_PLACE(ThreadPool_Schedule_Args, task, ThreadsScheduleArgs, task);
SAME_PLACE(ThreadPool_Schedule_Args, data, ThreadsScheduleArgs, data);

SAME_SIZE(ThreadPool_NumThreads_Args, ThreadsNumberArgs);
SAME_PLACE(ThreadPool_NumThreads_Args, struct_size, ThreadsNumberArgs, struct_size);
SAME_PLACE(ThreadPool_NumThreads_Args, extension_start, ThreadsNumberArgs, extensions);
SAME_PLACE(ThreadPool_NumThreads_Args, ctx, ThreadsNumberArgs, context);
SAME_PLACE(ThreadPool_NumThreads_Args, num_threads, ThreadsNumberArgs, number);

SAME_SIZE(Future_Create_Args, FutureCreateArgs);
SAME_PLACE(Future_Create_Args, struct_size, FutureCreateArgs, struct_size);
SAME_PLACE(Future_Create_Args, extension_start, FutureCreateArgs, extensions);
SAME_PLACE(Future_Create_Args, future, FutureCreateArgs, future);

SAME_SIZE(Future_SetAvailable_Args, FutureSetAvailableArgs);
SAME_PLACE(Future_SetAvailable_Args, struct_size, FutureSetAvailableArgs, struct_size);
SAME_PLACE(Future_SetAvailable_Args, extension_start, FutureSetAvailableArgs, extensions);
SAME_PLACE(Future_SetAvailable_Args, future, FutureSetAvailableArgs, future);

SAME_SIZE(Future_SetError_Args, FutureSetErrorArgs);
SAME_PLACE(Future_SetError_Args, struct_size, FutureSetErrorArgs, struct_size);
SAME_PLACE(Future_SetError_Args, extension_start, FutureSetErrorArgs, extensions);
SAME_PLACE(Future_SetError_Args, future, FutureSetErrorArgs, future);
SAME_PLACE(Future_SetError_Args, error, FutureSetErrorArgs, error);

SAME_SIZE(RunId_Get_Args, RunIdGetArgs);
SAME_PLACE(RunId_Get_Args, struct_size, RunIdGetArgs, struct_size);
SAME_PLACE(RunId_Get_Args, extension_start, RunIdGetArgs, extensions);
SAME_PLACE(RunId_Get_Args, ctx, RunIdGetArgs, context);
SAME_PLACE(RunId_Get_Args, run_id, RunIdGetArgs, run_id);

SAME_SIZE(DeviceOrdinal_Get_Args, DeviceOrdinalGetArgs);
SAME_PLACE(DeviceOrdinal_Get_Args, struct_size, DeviceOrdinalGetArgs, struct_size);
SAME_PLACE(DeviceOrdinal_Get_Args, extension_start, DeviceOrdinalGetArgs, extensions);
SAME_PLACE(DeviceOrdinal_Get_Args, ctx, DeviceOrdinalGetArgs, context);
SAME_PLACE(DeviceOrdinal_Get_Args, device_ordinal, DeviceOrdinalGetArgs, ordinal);

// Sizes that one side compares with what the other gives.
static_assert(XLA_FFI_CallFrame_STRUCT_SIZE == ours::kCallFrameSize, "CallFrame");
static_assert(XLA_FFI_Args_STRUCT_SIZE == sizeof(ours::Arguments), "Arguments");
static_assert(XLA_FFI_Rets_STRUCT_SIZE == sizeof(ours::Results), "Results");
static_assert(XLA_FFI_Attrs_STRUCT_SIZE == sizeof(ours::Attributes), "Attributes");
static_assert(XLA_FFI_Buffer_STRUCT_SIZE == sizeof(ours::Buffer), "Buffer");
static_assert(XLA_FFI_Api_STRUCT_SIZE == sizeof(ours::Api), "Api");

#if XLA_FFI_API_MINOR >= 3
SAME_SIZE(State_Set_Args, StateSetArgs);
SAME_PLACE(State_Set_Args, struct_size, StateSetArgs, struct_size);
SAME_PLACE(State_Set_Args, extension_start, StateSetArgs, extensions);
SAME_PLACE(State_Set_Args, ctx, StateSetArgs, context);
SAME_PLACE(State_Set_Args, stage, StateSetArgs, stage);
SAME_PLACE(State_Set_Args, type_id, StateSetArgs, type);
SAME_PLACE(State_Set_Args, state, StateSetArgs, state);

SAME_SIZE(State_Get_Args, StateGetArgs);
SAME_PLACE(State_Get_Args, struct_size, StateGetArgs, struct_size);
SAME_PLACE(State_Get_Args, extension_start, StateGetArgs, extensions);
SAME_PLACE(State_Get_Args, ctx, StateGetArgs, context);
SAME_PLACE(State_Get_Args, stage, StateGetArgs, stage);
SAME_PLACE(State_Get_Args, type_id, StateGetArgs, type);
SAME_PLACE(State_Get_Args, state, StateGetArgs, state);

static_assert(XLA_FFI_API_MAJOR == ours::kMajorVersion && XLA_FFI_API_MINOR == ours::kMinorVersion, "version");
#else
SAME_SIZE(State_Set_Args, StateArgs02);
SAME_PLACE(State_Set_Args, struct_size, StateArgs02, struct_size);
SAME_PLACE(State_Set_Args, extension_start, StateArgs02, extensions);
SAME_PLACE(State_Set_Args, ctx, StateArgs02, context);
SAME_PLACE(State_Set_Args, type_id, StateArgs02, type);
SAME_PLACE(State_Set_Args, state, StateArgs02, state);

SAME_SIZE(State_Get_Args, StateArgs02);
SAME_PLACE(State_Get_Args, struct_size, StateArgs02, struct_size);
SAME_PLACE(State_Get_Args, extension_start, StateArgs02, extensions);
SAME_PLACE(State_Get_Args, ctx, StateArgs02, context);
SAME_PLACE(State_Get_Args, type_id, StateArgs02, type);
SAME_PLACE(State_Get_Args, state, StateArgs02, state);
#endif

SAME_SIZE(Api, Api);
SAME_PLACE(Api, struct_size, Api, struct_size);
SAME_PLACE(Api, extension_start, Api, extensions);
SAME_PLACE(Api, api_version, Api, version);
SAME_PLACE(Api, internal_api, Api, internal);
SAME_PLACE(Api, XLA_FFI_Error_Create, Api, error_create);
SAME_PLACE(Api, XLA_FFI_Error_GetMessage, Api, error_get_message);
SAME_PLACE(Api, XLA_FFI_Error_Destroy, Api, error_destroy);
SAME_PLACE(Api, XLA_FFI_Handler_Register, Api, handler_register);
SAME_PLACE(Api, XLA_FFI_Stream_Get, Api, stream_get);
SAME_PLACE(Api, XLA_FFI_Type_Register, Api, type_register);
SAME_PLACE(Api, XLA_FFI_ExecutionContext_Get, Api, context_get);
SAME_PLACE(Api, XLA_FFI_State_Set, Api, state_set);
SAME_PLACE(Api, XLA_FFI_State_Get, Api, state_get);
SAME_PLACE(Api, XLA_FFI_DeviceMemory_Allocate, Api, memory_allocate);
SAME_PLACE(Api, XLA_FFI_DeviceMemory_Free, Api, memory_free);
SAME_PLACE(Api, XLA_FFI_ThreadPool_Schedule, Api, threads_schedule);
SAME_PLACE(Api, XLA_FFI_ThreadPool_NumThreads, Api, threads_number);
SAME_PLACE(Api, XLA_FFI_Future_Create, Api, future_create);
SAME_PLACE(Api, XLA_FFI_Future_SetAvailable, Api, future_set_available);
SAME_PLACE(Api, XLA_FFI_Future_SetError, Api, future_set_error);
SAME_PLACE(Api, XLA_FFI_RunId_Get, Api, run_id_get);
SAME_PLACE(Api, XLA_FFI_DeviceOrdinal_Get, Api, device_ordinal_get);

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
