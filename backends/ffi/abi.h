// The binary interface of typed foreign functions, version 0.3 of XLA's: what handlers that other people compiled are
// given and what they call back. Layouts and numbers are XLA's; abi_test.cc compares them with its header.
//
// Every struct that may grow begins with its size and a list of extensions. The caller of a function fills those in.
#ifndef XC_BACKENDS_FFI_ABI_H_
#define XC_BACKENDS_FFI_ABI_H_

#include <cstddef>
#include <cstdint>

namespace xc::ffi {

inline constexpr int kMajorVersion = 0;
inline constexpr int kMinorVersion = 3;

struct Api;
struct Context;  // one call; opaque to handlers
struct Error;    // opaque; made by Api::error_create
struct Future;   // opaque; made by Api::future_create

enum class ExtensionType : int { kMetadata = 1 };
struct Extension {
  size_t struct_size;
  ExtensionType type;
  Extension* next;
};

struct ApiVersion {
  size_t struct_size;
  Extension* extensions;
  int major;
  int minor;
};

enum class ArgumentType : int { kBuffer = 1 };
enum class ResultType : int { kBuffer = 1 };
enum class AttributeType : int { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };
enum class Stage : int { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

struct ByteSpan {
  const char* data;
  size_t size;
};

// Element types are the numbers of HLO's PrimitiveType, as RtType has them.
struct Buffer {
  size_t struct_size;
  Extension* extensions;
  int32_t type;
  void* data;
  int64_t rank;
  int64_t* dims;
};
struct Scalar {
  int32_t type;
  void* value;
};
struct Array {
  int32_t type;
  size_t size;  // elements
  void* data;
};

struct TypeId {
  int64_t value;  // 0: none
};
struct TypeInfo {
  size_t struct_size;
  Extension* extensions;
  void (*deleter)(void* object);
};

struct Arguments {
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  ArgumentType* types;
  void** values;  // Buffer*
};
struct Results {
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  ResultType* types;
  void** values;  // Buffer*
};
// Sorted by name.
struct Attributes {
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  AttributeType* types;
  ByteSpan** names;
  void** values;  // Array*, Attributes*, Scalar*, ByteSpan*
};

struct CallFrame {
  size_t struct_size;
  Extension* extensions;
  const Api* api;
  Context* context;
  Stage stage;
  Arguments arguments;
  Results results;
  Attributes attributes;
  Future* future;  // out: the call ends when this does
};

// What struct_size says: without the last field. Handlers compare it.
inline constexpr size_t kCallFrameSize = offsetof(CallFrame, future);

using Handler = Error*(CallFrame* frame);

// A handler for each stage of a call's life; those before the last may be null.
struct HandlerBundle {
  Handler* instantiate;  // once for each call of a program, when the program is made
  Handler* prepare;      // in each run, before the next one
  Handler* initialize;
  Handler* execute;
};

// What a handler says of itself when it is called with this extension: nothing else of the frame is filled in then.
struct Metadata {
  size_t struct_size;
  ApiVersion api_version;
  uint32_t traits;
  TypeId state_type;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct ErrorCreateArgs {
  size_t struct_size;
  Extension* extensions;
  const char* message;
  int code;  // of absl::StatusCode
};
struct ErrorGetMessageArgs {
  size_t struct_size;
  Extension* extensions;
  Error* error;
  const char* message;  // out
};
struct ErrorDestroyArgs {
  size_t struct_size;
  Extension* extensions;
  Error* error;
};
struct HandlerRegisterArgs {
  size_t struct_size;
  Extension* extensions;
  ByteSpan name;
  ByteSpan platform;
  HandlerBundle bundle;
  uint32_t traits;
};
struct StreamGetArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  void* stream;  // out
};
struct TypeRegisterArgs {
  size_t struct_size;
  Extension* extensions;
  ByteSpan name;
  TypeId* type;  // in and out
  const TypeInfo* info;
};
struct ContextGetArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  TypeId* type;
  void* data;  // out
};
struct StateSetArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  Stage stage;
  TypeId* type;
  void* state;
};
struct StateGetArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  Stage stage;
  TypeId* type;
  void* state;  // out
};
// Version 0.2 had no stage: states were those of kInstantiate.
struct StateArgs02 {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  TypeId* type;
  void* state;
};
struct MemoryAllocateArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  size_t size;
  size_t alignment;
  void* data;  // out
};
struct MemoryFreeArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  size_t size;
  void* data;
};
struct ThreadsScheduleArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  void (*task)(void* data);
  void* data;
};
struct ThreadsNumberArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  int64_t* number;  // out
};
struct FutureCreateArgs {
  size_t struct_size;
  Extension* extensions;
  Future* future;  // out
};
struct FutureSetAvailableArgs {
  size_t struct_size;
  Extension* extensions;
  Future* future;
};
struct FutureSetErrorArgs {
  size_t struct_size;
  Extension* extensions;
  Future* future;
  Error* error;  // taken over
};
struct RunIdGetArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  int64_t run_id;  // out
};
struct DeviceOrdinalGetArgs {
  size_t struct_size;
  Extension* extensions;
  Context* context;
  int32_t ordinal;  // out
};

struct Api {
  size_t struct_size;
  Extension* extensions;
  ApiVersion version;
  const void* internal;  // XLA's own, for code that is compiled with it: null here

  Error* (*error_create)(ErrorCreateArgs*);
  void (*error_get_message)(ErrorGetMessageArgs*);
  void (*error_destroy)(ErrorDestroyArgs*);
  Error* (*handler_register)(HandlerRegisterArgs*);
  Error* (*stream_get)(StreamGetArgs*);
  Error* (*type_register)(TypeRegisterArgs*);
  Error* (*context_get)(ContextGetArgs*);
  Error* (*state_set)(StateSetArgs*);
  Error* (*state_get)(StateGetArgs*);
  Error* (*memory_allocate)(MemoryAllocateArgs*);
  Error* (*memory_free)(MemoryFreeArgs*);
  Error* (*threads_schedule)(ThreadsScheduleArgs*);
  Error* (*threads_number)(ThreadsNumberArgs*);
  Error* (*future_create)(FutureCreateArgs*);
  Error* (*future_set_available)(FutureSetAvailableArgs*);
  Error* (*future_set_error)(FutureSetErrorArgs*);
  Error* (*run_id_get)(RunIdGetArgs*);
  Error* (*device_ordinal_get)(DeviceOrdinalGetArgs*);
};

}  // namespace xc::ffi

#endif  // XC_BACKENDS_FFI_ABI_H_
