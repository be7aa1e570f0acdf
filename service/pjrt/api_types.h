// The types of the PJRT C API, version 0.90, as far as this plugin uses them: the layout of what programs such as JAX
// hand to it. api_layout_test.cc compares it with the header that TensorFlow's wheel has.
#ifndef XC_SERVICE_PJRT_API_TYPES_H_
#define XC_SERVICE_PJRT_API_TYPES_H_

#include <stddef.h>
#include <stdint.h>

namespace xc::pjrt {

// Every struct begins so: its own size, by which a reader knows which fields there are, and further parts of it.
#define XC_PJRT_HEAD  \
  size_t struct_size; \
  ExtensionBase* extension_start

inline constexpr int kApiMajor = 0;
inline constexpr int kApiMinor = 90;

enum ExtensionType : int {
  kProfilerExtension = 1,
  kLayoutsExtension = 4,
  kFfiExtension = 5,
  kMemoryDescriptionsExtension = 6
};

struct ExtensionBase {
  size_t struct_size;
  ExtensionType type;
  ExtensionBase* next;
};

struct ApiVersion {
  XC_PJRT_HEAD;
  int major_version;
  int minor_version;
};

// What the handles stand for is defined by objects.h.
struct Error;
struct Event;
struct Client;
struct Device;
struct Memory;
struct DeviceDescription;
struct TopologyDescription;
struct Executable;
struct LoadedExecutable;
struct Buffer;
struct ExecuteContext;
struct SerializedExecutable;
struct SerializedCompileOptions;
struct SerializedTopology;
struct DeviceAssignmentSerialized;

enum NamedValueType : int { kStringValue, kInt64Value, kInt64ListValue, kFloatValue, kBoolValue };

struct NamedValue {
  XC_PJRT_HEAD;
  const char* name;
  size_t name_size;
  NamedValueType type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;  // of strings and lists; 1 for others
};

enum class BufferType : int {
  kInvalid,
  kPred,
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kF32,
  kF64,
  kBF16,
  kC64,
  kC128,
  kF8E5M2,
  kF8E4M3FN,
  kF8E4M3B11FNUZ,
  kF8E5M2FNUZ,
  kF8E4M3FNUZ,
  kS4,
  kU4,
  kToken,
  kS2,
  kU2,
  kF8E4M3,
  kF8E3M4,
  kF8E8M0FNU,
  kF4E2M1FN,
};

// How long the host's memory holds what is put into a buffer.
enum class HostBufferSemantics : int {
  kImmutableOnlyDuringCall,
  kImmutableUntilTransferCompletes,
  kImmutableZeroCopy,
  kMutableZeroCopy,
};

enum MemoryLayoutType : int { kTiledLayout, kStridesLayout };

struct TiledLayout {
  XC_PJRT_HEAD;
  const int64_t* minor_to_major;
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t num_tiles;
};

struct StridesLayout {
  XC_PJRT_HEAD;
  const int64_t* byte_strides;
  size_t num_byte_strides;
};

struct MemoryLayout {
  XC_PJRT_HEAD;
  union {
    TiledLayout tiled;
    StridesLayout strides;
  };
  MemoryLayoutType type;
};

// A module in one of the forms "mlir" (StableHLO, text or bytecode), "hlo" and "hlo_with_config" (protos).
struct Program {
  XC_PJRT_HEAD;
  char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
};

struct ExecuteOptions {
  XC_PJRT_HEAD;
  void** send_callbacks;
  void** recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  ExecuteContext* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
};

using Event_OnReadyCallback = void (*)(Error* error, void* user_arg);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_API_TYPES_H_
