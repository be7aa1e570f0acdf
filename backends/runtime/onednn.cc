// oneDNN behind dlopen: the table of its functions, a bounded cache of primitives, and the calls themselves. OpenMP is
// held to one thread on the calling thread while a primitive is made or runs, and set back afterwards.
#include "backends/runtime/onednn.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/runtime/scratch.h"
#include "hlo/base/status.h"

namespace xc::onednn {
namespace {

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
  X(dnnl_primitive_attr_set_fpmath_mode)

struct Library {
#define XC_DECLARE(name) decltype(&::name) name = nullptr;
  XC_DNNL_FUNCTIONS(XC_DECLARE)
#undef XC_DECLARE
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_get_max_threads)() = nullptr;
  dnnl_engine_t engine = nullptr;
  dnnl_primitive_attr_t attr = nullptr;  // the caller gives scratchpads; f32 is never computed in less
  bool ok = false;

  Library() {
    int flags = RTLD_NOW | RTLD_LOCAL;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    flags |= RTLD_DEEPBIND;  // other frameworks in the process export their own oneDNN
#endif
    void* handle = dlopen("libdnnl.so.2", flags);
    if (handle == nullptr) return;
#define XC_LOAD(name) \
  if ((name = reinterpret_cast<decltype(name)>(dlsym(handle, #name))) == nullptr) return;
    XC_DNNL_FUNCTIONS(XC_LOAD)
    XC_LOAD(omp_set_num_threads)  // from the OpenMP library that oneDNN itself is linked with
    XC_LOAD(omp_get_max_threads)
#undef XC_LOAD
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) return;
    if (dnnl_primitive_attr_create(&attr) != dnnl_success) return;
    if (dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) != dnnl_success) return;
    if (dnnl_primitive_attr_set_fpmath_mode(attr, dnnl_fpmath_mode_strict) != dnnl_success) return;
    ok = true;
  }
};

const Library& Lib() {
  static const Library* library = new Library;
  return *library;
}

class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(Lib().omp_get_max_threads()) {
    if (before_ != 1) Lib().omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) Lib().omp_set_num_threads(before_);
  }

 private:
  const int before_;
};

absl::Status NotSupported(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("oneDNN has no fast kernel: ", what));
}

absl::Status Failed(absl::string_view what, dnnl_status_t status) {
  return absl::InternalError(absl::StrCat("oneDNN: ", what, " failed with status ", static_cast<int>(status)));
}

// A compiled primitive with three tensors, and objects for running it, reused between calls.
class Primitive {
 public:
  // Takes `pd`. `args` are the tensors' argument numbers.
  static absl::StatusOr<std::shared_ptr<Primitive>> Create(dnnl_primitive_desc_t pd, const int (&args)[3],
                                                           const dnnl_memory_desc_t (&mds)[3], int num_args) {
    const Library& lib = Lib();
    auto result = std::make_shared<Primitive>();
    std::memcpy(result->args_, args, sizeof(args));
    std::memcpy(result->mds_, mds, sizeof(mds));
    result->num_args_ = num_args;
    result->scratch_md_ = *lib.dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    result->scratch_bytes_ = lib.dnnl_memory_desc_get_size(&result->scratch_md_);
    const dnnl_status_t status = lib.dnnl_primitive_create(&result->primitive_, pd);
    lib.dnnl_primitive_desc_destroy(pd);
    if (status != dnnl_success) return Failed("making a primitive", status);
    return result;
  }

  ~Primitive() {
    for (Slot& slot : slots_) Destroy(slot);
    if (primitive_ != nullptr) Lib().dnnl_primitive_destroy(primitive_);
  }

  absl::Status Run(void* const (&data)[3]) {
    const Library& lib = Lib();
    XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(scratch_bytes_, kLibraryScratch));
    Slot slot;
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (!slots_.empty()) {
        slot = slots_.back();
        slots_.pop_back();
      }
    }
    if (slot.stream == nullptr) XC_RETURN_IF_ERROR(NewSlot(&slot));
    dnnl_exec_arg_t exec[4];
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < num_args_ && status == dnnl_success; ++i) {
      status = lib.dnnl_memory_set_data_handle(slot.memory[i], data[i]);
      exec[i] = {args_[i], slot.memory[i]};
    }
    int count = num_args_;
    if (scratch_bytes_ > 0 && status == dnnl_success) {
      status = lib.dnnl_memory_set_data_handle(slot.memory[3], scratch);
      exec[count++] = {DNNL_ARG_SCRATCHPAD, slot.memory[3]};
    }
    if (status == dnnl_success) {
      OneOpenMpThread one;
      status = lib.dnnl_primitive_execute(primitive_, slot.stream, count, exec);
      if (status == dnnl_success) status = lib.dnnl_stream_wait(slot.stream);
    }
    {
      std::lock_guard<std::mutex> lock(mu_);
      slots_.push_back(slot);
    }
    return status == dnnl_success ? absl::OkStatus() : Failed("running a primitive", status);
  }

  const dnnl_memory_desc_t& md(int i) const { return mds_[i]; }

 private:
  struct Slot {
    dnnl_stream_t stream = nullptr;
    dnnl_memory_t memory[4] = {};
  };

  absl::Status NewSlot(Slot* slot) {
    const Library& lib = Lib();
    dnnl_status_t status = lib.dnnl_stream_create(&slot->stream, lib.engine, dnnl_stream_default_flags);
    for (int i = 0; i < num_args_ && status == dnnl_success; ++i) {
      status = lib.dnnl_memory_create(&slot->memory[i], &mds_[i], lib.engine, DNNL_MEMORY_NONE);
    }
    if (scratch_bytes_ > 0 && status == dnnl_success) {
      status = lib.dnnl_memory_create(&slot->memory[3], &scratch_md_, lib.engine, DNNL_MEMORY_NONE);
    }
    if (status == dnnl_success) return absl::OkStatus();
    Destroy(*slot);
    return Failed("making memory objects", status);
  }

  static void Destroy(Slot& slot) {
    for (dnnl_memory_t memory : slot.memory) {
      if (memory != nullptr) Lib().dnnl_memory_destroy(memory);
    }
    if (slot.stream != nullptr) Lib().dnnl_stream_destroy(slot.stream);
  }

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

// Least recently used primitives, by the bytes of their keys; failures are kept too.
class Cache {
 public:
  template <typename Make>
  PrimitiveOr Get(absl::string_view key, Make make) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      auto it = map_.find(key);
      if (it != map_.end()) {
        ++hits_;
        entries_.splice(entries_.begin(), entries_, it->second);
        return it->second->value;
      }
      ++misses_;
    }
    // Made outside the lock: two threads may make the same, and one of them is kept.
    PrimitiveOr value = [&] {
      OneOpenMpThread one;
      return PrimitiveOr(make());
    }();
    std::lock_guard<std::mutex> lock(mu_);
    auto it = map_.find(key);
    if (it != map_.end()) return it->second->value;
    entries_.push_front({std::string(key), value});
    map_[entries_.front().key] = entries_.begin();
    if (entries_.size() > kCapacity) {
      map_.erase(entries_.back().key);
      entries_.pop_back();
    }
    return value;
  }

  CacheStats Stats() {
    std::lock_guard<std::mutex> lock(mu_);
    return {static_cast<int64_t>(entries_.size()), hits_, misses_};
  }

 private:
  static constexpr size_t kCapacity = 1024;
  struct Entry {
    std::string key;
    PrimitiveOr value;
  };
  std::mutex mu_;
  std::list<Entry> entries_;  // most recently used first
  absl::flat_hash_map<absl::string_view, std::list<Entry>::iterator> map_;
  int64_t hits_ = 0, misses_ = 0;
};

Cache& GlobalCache() {
  static Cache* cache = new Cache;
  return *cache;
}

template <typename... Keys>
std::string KeyBytes(char kind, const Keys&... keys) {
  std::string bytes(1, kind);
  (bytes.append(reinterpret_cast<const char*>(&keys), sizeof(keys)), ...);
  return bytes;
}

bool DataType(RtType type, dnnl_data_type_t* out) {
  switch (type) {
    case RtType::kF32:
      *out = dnnl_f32;
      return true;
    case RtType::kBF16:
      *out = dnnl_bf16;
      return true;
    case RtType::kS8:
      *out = dnnl_s8;
      return true;
    case RtType::kU8:
      *out = dnnl_u8;
      return true;
    case RtType::kS32:
      *out = dnnl_s32;
      return true;
    default:
      return false;
  }
}

bool Strided(dnnl_memory_desc_t* md, int rank, const int64_t* dims, RtType type, const int64_t* strides) {
  dnnl_data_type_t data_type;
  return DataType(type, &data_type) &&
         Lib().dnnl_memory_desc_init_by_strides(md, rank, dims, data_type, strides) == dnnl_success;
}

// Makes the primitive descriptor of an operation; null when there is none, or only a reference kernel.
dnnl_primitive_desc_t MakeDesc(const void* op_desc, dnnl_primitive_desc_t hint) {
  const Library& lib = Lib();
  dnnl_primitive_desc_t pd = nullptr;
  if (lib.dnnl_primitive_desc_create(&pd, op_desc, lib.attr, lib.engine, hint) != dnnl_success) return nullptr;
  const char* name = nullptr;
  if (lib.dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success || name == nullptr ||
      std::strstr(name, "ref") != nullptr) {
    lib.dnnl_primitive_desc_destroy(pd);
    return nullptr;
  }
  return pd;
}

PrimitiveOr MakeMatmul(const MatmulKey& key) {
  const bool bytes = key.a_type == RtType::kS8 || key.a_type == RtType::kU8;
  // Without VNNI the byte kernels saturate intermediate sums.
  if (bytes && !__builtin_cpu_supports("avx512vnni")) return NotSupported("bytes without VNNI");
  dnnl_memory_desc_t mds[3];
  auto strided = [&](int i, int64_t batch_stride, int64_t rows, int64_t cols, int64_t row, int64_t col, RtType type) {
    const int64_t batch = i != 2 && batch_stride == 0 ? 1 : key.batch;
    if (key.batch == 1) {
      const int64_t dims[] = {rows, cols}, strides[] = {row, col};
      return Strided(&mds[i], 2, dims, type, strides);
    }
    const int64_t dims[] = {batch, rows, cols};
    const int64_t strides[] = {batch == 1 ? rows * cols : batch_stride, row, col};
    return Strided(&mds[i], 3, dims, type, strides);
  };
  if (!strided(0, key.a_batch, key.m, key.k, key.a_m, key.a_k, key.a_type) ||
      !strided(1, key.b_batch, key.k, key.n, key.b_k, key.b_n, key.b_type) ||
      !strided(2, key.c_batch, key.m, key.n, key.c_m, key.c_n, key.c_type)) {
    return NotSupported("strides");
  }
  dnnl_matmul_desc_t desc;
  if (Lib().dnnl_matmul_desc_init(&desc, &mds[0], &mds[1], nullptr, &mds[2]) != dnnl_success) {
    return NotSupported("matrix product");
  }
  dnnl_primitive_desc_t pd = MakeDesc(&desc, nullptr);
  if (pd == nullptr) return NotSupported("matrix product");
  return Primitive::Create(pd, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, mds, 3);
}

// Dimensions and strides of a convolution's tensors as oneDNN wants them.
struct ConvTensors {
  dnnl_memory_desc_t src, weights, dst;
  dnnl_dims_t stride, dilation, pad_low, pad_high;
};

bool WeightsDesc(const ConvKey& key, bool any, dnnl_memory_desc_t* md) {
  int64_t dims[6], strides[6];
  int rank = 0;
  if (key.groups > 1) {
    dims[rank] = key.groups;
    strides[rank++] = key.weights_group_stride;
  }
  dims[rank] = key.out_features / key.groups;
  strides[rank++] = key.weights_strides[0];
  dims[rank] = key.in_features / key.groups;
  strides[rank++] = key.weights_strides[1];
  for (int i = 0; i < key.rank; ++i) {
    dims[rank] = key.kernel[i];
    strides[rank++] = key.weights_strides[2 + i];
  }
  if (!any) return Strided(md, rank, dims, key.weights_type, strides);
  dnnl_data_type_t type;
  return DataType(key.weights_type, &type) &&
         Lib().dnnl_memory_desc_init_by_tag(md, rank, dims, type, dnnl_format_tag_any) == dnnl_success;
}

bool MakeTensors(const ConvKey& key, ConvTensors* t) {
  int64_t src[5] = {key.batch, key.in_features}, dst[5] = {key.batch, key.out_features};
  for (int i = 0; i < key.rank; ++i) {
    src[2 + i] = key.src[i];
    dst[2 + i] = key.dst[i];
    t->stride[i] = key.stride[i];
    t->dilation[i] = key.dilation[i] - 1;
    t->pad_low[i] = key.pad_low[i];
    t->pad_high[i] = key.pad_high[i];
  }
  return Strided(&t->src, 2 + key.rank, src, key.src_type, key.src_strides) &&
         Strided(&t->dst, 2 + key.rank, dst, key.dst_type, key.dst_strides) && WeightsDesc(key, true, &t->weights);
}

PrimitiveOr MakeConvolution(const ConvKey& key, const dnnl_memory_desc_t* weights) {
  const Library& lib = Lib();
  ConvTensors t;
  if (!MakeTensors(key, &t)) return NotSupported("convolution's strides");
  if (weights != nullptr) t.weights = *weights;
  dnnl_convolution_desc_t desc;
  // A forward descriptor with types that a forward convolution has; for the other kinds it is the required hint.
  if (lib.dnnl_dilated_convolution_forward_desc_init(
          &desc, key.kind == ConvKey::kForward ? dnnl_forward_inference : dnnl_forward_training,
          dnnl_convolution_direct, &t.src, &t.weights, nullptr, &t.dst, t.stride, t.dilation, t.pad_low,
          t.pad_high) != dnnl_success) {
    return NotSupported("convolution");
  }
  dnnl_primitive_desc_t pd = nullptr;
  if (key.kind == ConvKey::kForward) {
    pd = MakeDesc(&desc, nullptr);
  } else {
    dnnl_primitive_desc_t hint = nullptr;
    if (lib.dnnl_primitive_desc_create(&hint, &desc, lib.attr, lib.engine, nullptr) != dnnl_success) {
      return NotSupported("convolution");
    }
    const dnnl_status_t status =
        key.kind == ConvKey::kBackwardData
            ? lib.dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &t.src, &t.weights,
                                                                   &t.dst, t.stride, t.dilation, t.pad_low, t.pad_high)
            : lib.dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &t.src,
                                                                      &t.weights, nullptr, &t.dst, t.stride, t.dilation,
                                                                      t.pad_low, t.pad_high);
    if (status == dnnl_success) pd = MakeDesc(&desc, hint);
    lib.dnnl_primitive_desc_destroy(hint);
  }
  if (pd == nullptr) return NotSupported("convolution");
  const bool to_weights = key.kind == ConvKey::kBackwardWeights;
  const dnnl_memory_desc_t mds[3] = {
      t.src, *lib.dnnl_primitive_desc_query_md(pd, to_weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0),
      t.dst};
  const int args[3] = {key.kind == ConvKey::kBackwardData ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
                       to_weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
                       key.kind == ConvKey::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST};
  return Primitive::Create(pd, args, mds, 3);
}

PrimitiveOr GetConvolution(const ConvKey& key) {
  return GlobalCache().Get(KeyBytes('c', key), [&] { return MakeConvolution(key, nullptr); });
}

// Output features in one block of packed weights whose blocks stand one after the other, or 0 when the order is not so.
int64_t OutermostBlock(const ConvKey& key, const dnnl_memory_desc_t& md) {
  if (key.groups != 1 || md.format_kind != dnnl_blocked || md.extra.flags != dnnl_memory_extra_flag_none) return 0;
  int64_t block = 1;
  for (int i = 0; i < md.format_desc.blocking.inner_nblks; ++i) {
    if (md.format_desc.blocking.inner_idxs[i] == 0) block *= md.format_desc.blocking.inner_blks[i];
  }
  for (int d = 1; d < md.ndims; ++d) {
    if (md.format_desc.blocking.strides[d] >= md.format_desc.blocking.strides[0] && md.dims[d] > 1) return 0;
  }
  return block;
}

int64_t NumBlocks(const ConvKey& key, const dnnl_memory_desc_t& md) {
  const int64_t block = OutermostBlock(key, md);
  return block == 0 ? 1 : md.padded_dims[0] / block;
}

// The copy between weights as the caller has them and as the kernel wants them, for blocks [first, last) of output
// features.
PrimitiveOr GetReorder(const ConvKey& key, bool pack, int64_t first, int64_t last, RtType plain_type) {
  const int64_t range[2] = {last - first, last == 0};
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> conv, GetConvolution(key));
  const int64_t block = OutermostBlock(key, conv->md(1));
  const int64_t rows = std::min(key.out_features, last * block) - first * block;
  return GlobalCache().Get(KeyBytes(pack ? 'p' : 'u', key, range, rows, plain_type), [&]() -> PrimitiveOr {
    dnnl_memory_desc_t plain, packed = conv->md(1);
    ConvKey part = key;
    part.weights_type = plain_type;
    if (last != 0) {
      part.out_features = rows;
      packed.dims[0] = rows;
      packed.padded_dims[0] = (last - first) * block;
    }
    if (!WeightsDesc(part, false, &plain)) return NotSupported("strides of weights");
    const dnnl_memory_desc_t& from = pack ? plain : packed;
    const dnnl_memory_desc_t& to = pack ? packed : plain;
    dnnl_primitive_desc_t pd = nullptr;
    const Library& lib = Lib();
    if (lib.dnnl_reorder_primitive_desc_create(&pd, &from, lib.engine, &to, lib.engine, lib.attr) != dnnl_success) {
      return NotSupported("reordering weights");
    }
    return Primitive::Create(pd, {DNNL_ARG_FROM, DNNL_ARG_TO, 0}, {from, to, to}, 2);
  });
}

}  // namespace

bool Available() { return Lib().ok; }

absl::Status Matmul(const MatmulKey& key, const void* a, const void* b, void* c) {
  if (!Available()) return NotSupported("the library is missing");
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> primitive,
                      GlobalCache().Get(KeyBytes('m', key), [&] { return MakeMatmul(key); }));
  return primitive->Run({const_cast<void*>(a), const_cast<void*>(b), c});
}

absl::Status PackedWeightsBytes(const ConvKey& key, int64_t* bytes) {
  if (!Available()) return NotSupported("the library is missing");
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> primitive, GetConvolution(key));
  *bytes = Lib().dnnl_memory_desc_get_size(&primitive->md(1));
  return absl::OkStatus();
}

int64_t MaxPackParts(const ConvKey& key) {
  PrimitiveOr primitive = GetConvolution(key);
  return primitive.ok() ? NumBlocks(key, (*primitive)->md(1)) : 1;
}

absl::Status PackWeights(const ConvKey& key, int64_t part, int64_t parts, const void* weights, void* packed) {
  int64_t first = 0, last = 0;
  if (parts > 1) {
    XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> conv, GetConvolution(key));
    const int64_t blocks = NumBlocks(key, conv->md(1)), block = OutermostBlock(key, conv->md(1));
    first = blocks * part / parts;
    last = blocks * (part + 1) / parts;
    if (first == last) return absl::OkStatus();
    weights = static_cast<const char*>(weights) + first * block * key.weights_strides[0] * SizeOf(key.weights_type);
    packed =
        static_cast<char*>(packed) + first * conv->md(1).format_desc.blocking.strides[0] * SizeOf(key.weights_type);
  }
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> primitive, GetReorder(key, true, first, last, key.weights_type));
  return primitive->Run({const_cast<void*>(weights), packed, nullptr});
}

absl::Status UnpackWeights(const ConvKey& key, RtType type, const void* packed, void* weights) {
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> primitive, GetReorder(key, false, 0, 0, type));
  return primitive->Run({const_cast<void*>(packed), weights, nullptr});
}

absl::Status Convolution(const ConvKey& key, const ConvKey& packed_for, void* src, void* packed, void* dst) {
  if (!Available()) return NotSupported("the library is missing");
  PrimitiveOr primitive = std::memcmp(&key, &packed_for, sizeof(key)) == 0
                              ? GetConvolution(key)
                              : GlobalCache().Get(KeyBytes('t', key, packed_for), [&]() -> PrimitiveOr {
                                  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> model, GetConvolution(packed_for));
                                  return MakeConvolution(key, &model->md(1));
                                });
  if (!primitive.ok()) return primitive.status();
  return (*primitive)->Run({src, packed, dst});
}

CacheStats GetCacheStats() { return GlobalCache().Stats(); }

}  // namespace xc::onednn
