// oneDNN behind dlopen: the table of its functions, primitives that run on the calling thread, and a bounded cache of
// them. Included by onednn.cc alone.
#ifndef XC_BACKENDS_RUNTIME_ONEDNN_LIBRARY_H_
#define XC_BACKENDS_RUNTIME_ONEDNN_LIBRARY_H_

#include <oneapi/dnnl/dnnl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/runtime/onednn.h"
#include "backends/runtime/types.h"

namespace xc::onednn {

#define XC_DNNL_FUNCTIONS(X)                             \
  X(dnnl_engine_create)                                  \
  X(dnnl_stream_create)                                  \
  X(dnnl_stream_destroy)                                 \
  X(dnnl_stream_wait)                                    \
  X(dnnl_memory_desc_init_by_strides)                    \
  X(dnnl_memory_desc_init_by_tag)                        \
  X(dnnl_memory_desc_get_size)                           \
  X(dnnl_memory_desc_equal)                              \
  X(dnnl_memory_create)                                  \
  X(dnnl_memory_destroy)                                 \
  X(dnnl_memory_set_data_handle)                         \
  X(dnnl_matmul_desc_init)                               \
  X(dnnl_dilated_convolution_forward_desc_init)          \
  X(dnnl_dilated_convolution_backward_data_desc_init)    \
  X(dnnl_dilated_convolution_backward_weights_desc_init) \
  X(dnnl_reorder_primitive_desc_create)                  \
  X(dnnl_primitive_desc_create)                          \
  X(dnnl_primitive_desc_destroy)                         \
  X(dnnl_primitive_desc_query)                           \
  X(dnnl_primitive_desc_query_md)                        \
  X(dnnl_primitive_create)                               \
  X(dnnl_primitive_destroy)                              \
  X(dnnl_primitive_execute)                              \
  X(dnnl_primitive_attr_create)                          \
  X(dnnl_primitive_attr_destroy)                         \
  X(dnnl_primitive_attr_set_scratchpad_mode)             \
  X(dnnl_primitive_attr_set_fpmath_mode)                 \
  X(dnnl_sgemm)

// The library's functions and the two objects that all primitives share; not `ok` where it is missing.
struct Library {
#define XC_DECLARE(name) decltype(&::name) name = nullptr;
  XC_DNNL_FUNCTIONS(XC_DECLARE)
#undef XC_DECLARE
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_get_max_threads)() = nullptr;
  dnnl_engine_t engine = nullptr;
  dnnl_primitive_attr_t attr = nullptr;  // the caller gives scratchpads; f32 is never computed in less
  bool ok = false;
  bool keeps_statics = false;  // see KeepStatics

  Library();
};

const Library& Lib();

// The error of what the library has no fast kernel for.
absl::Status NotSupported(absl::string_view what);

// A compiled primitive with three tensors, and objects for running it, reused between calls. Thread-safe.
class Primitive {
 public:
  // Takes `pd`. `args` are the tensors' argument numbers.
  static absl::StatusOr<std::shared_ptr<Primitive>> Create(dnnl_primitive_desc_t pd, const int (&args)[3],
                                                           const dnnl_memory_desc_t (&mds)[3], int num_args);
  ~Primitive();

  // `data`: where the tensors are, in the order of `args`.
  absl::Status Run(void* const (&data)[3]);
  const dnnl_memory_desc_t& md(int i) const { return mds_[i]; }

 private:
  struct Slot {
    dnnl_stream_t stream = nullptr;
    dnnl_memory_t memory[4] = {};
  };

  absl::Status NewSlot(Slot* slot);
  static void Destroy(Slot& slot);

  dnnl_primitive_t primitive_ = nullptr;
  int args_[3];
  int num_args_;
  dnnl_memory_desc_t mds_[3];
  dnnl_memory_desc_t scratch_md_;
  size_t scratch_bytes_ = 0;
  std::mutex mu_;
  std::vector<Slot> slots_;
};

using PrimitiveOr = absl::StatusOr<std::shared_ptr<Primitive>>;

// The primitive that `make` gave for this key, failures too; the least recently used of many are forgotten.
PrimitiveOr GetPrimitive(absl::string_view key, absl::FunctionRef<PrimitiveOr()> make);

// What a primitive is found by: its kind and the bytes of what it was made from.
template <typename... Keys>
std::string KeyBytes(char kind, const Keys&... keys) {
  std::string bytes(1, kind);
  (bytes.append(reinterpret_cast<const char*>(&keys), sizeof(keys)), ...);
  return bytes;
}

// False for types that the library has no name for.
bool DataType(RtType type, dnnl_data_type_t* out);

// False where the library refuses such a tensor.
bool Strided(dnnl_memory_desc_t* md, int rank, const int64_t* dims, RtType type, const int64_t* strides);

// Makes the primitive descriptor of an operation; null when there is none, or only a reference kernel.
dnnl_primitive_desc_t MakeDesc(const void* op_desc, dnnl_primitive_desc_t hint);

}  // namespace xc::onednn

#endif  // XC_BACKENDS_RUNTIME_ONEDNN_LIBRARY_H_
