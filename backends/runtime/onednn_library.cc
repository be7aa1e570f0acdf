// See onednn_library.h. OpenMP is held to one thread on the calling thread while a primitive is made or runs, and set
// back afterwards.
#include "backends/runtime/onednn_library.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <list>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "backends/runtime/keep_statics.h"
#include "backends/runtime/scratch.h"
#include "hlo/base/status.h"

namespace xc::onednn {
namespace {

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

absl::Status Failed(absl::string_view what, dnnl_status_t status) {
  return absl::InternalError(absl::StrCat("oneDNN: ", what, " failed with status ", static_cast<int>(status)));
}

// Least recently used primitives, by the bytes of their keys; failures are kept too.
class Cache {
 public:
  PrimitiveOr Get(absl::string_view key, absl::FunctionRef<PrimitiveOr()> make) {
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

}  // namespace

Library::Library() {
  int flags = RTLD_NOW | RTLD_LOCAL;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  flags |= RTLD_DEEPBIND;  // other frameworks in the process export their own oneDNN
#endif
  // What the host has opened itself stays as it is.
  void* const of_host = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (of_host != nullptr) dlclose(of_host);
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
  keeps_statics = of_host == nullptr && KeepStatics(handle);
  ok = true;
}

namespace {

// The thread of PrepareProducts. A fork waits for it: the child would wait for ever for what it has begun. So does the
// end of the process, whichever thread calls exit(): what is destroyed then are static objects, the last one that was
// made first, and only those that there were before the handler was set are destroyed after it has waited. What the
// library makes later, much of it on the thread, is never destroyed.
class Preparation {
 public:
  void Begin() {
    std::lock_guard<std::mutex> lock(mu_);
    if (begun_) return;
    begun_ = true;
    // Not atexit(), which libxc has in another form (service/no_exit_destructors.cc). The first handler runs where the
    // process ends while the library is opened: then nothing may begin.
    const auto at_exit = [](int, void*) {
      Of()->ending_ = true;
      Of()->Wait();
    };
    if (on_exit(at_exit, nullptr) != 0 || !Lib().ok || !Lib().keeps_statics || on_exit(at_exit, nullptr) != 0) return;
    if (pthread_atfork([] { Of()->Wait(); }, nullptr, nullptr) != 0 || ending_) return;
    try {
      thread_ = std::thread([] {
        Lib().omp_set_num_threads(1);
        constexpr int kSize = 16;
        const float ones[kSize * kSize] = {};
        float sums[kSize * kSize];
        Lib().dnnl_sgemm('N', 'N', kSize, kSize, kSize, 1, ones, kSize, ones, kSize, 0, sums, kSize);
      });
    } catch (...) {
      // Without a thread the first product makes what it needs.
    }
  }
  void Wait() {
    std::lock_guard<std::mutex> lock(mu_);
    if (thread_.joinable()) thread_.join();
  }
  static Preparation* Of() {
    static Preparation* preparation = new Preparation;
    return preparation;
  }

 private:
  std::mutex mu_;
  bool begun_ = false;
  std::atomic<bool> ending_ = false;  // of the process
  std::thread thread_;
};

}  // namespace

void PrepareProducts() { Preparation::Of()->Begin(); }

const Library& Lib() {
  static const Library* library = new Library;
  return *library;
}

absl::Status NotSupported(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("oneDNN has no fast kernel: ", what));
}

PrimitiveOr Primitive::Create(dnnl_primitive_desc_t pd, const int (&args)[3], const dnnl_memory_desc_t (&mds)[3],
                              int num_args) {
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

Primitive::~Primitive() {
  for (Slot& slot : slots_) Destroy(slot);
  if (primitive_ != nullptr) Lib().dnnl_primitive_destroy(primitive_);
}

absl::Status Primitive::Run(void* const (&data)[3]) {
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

absl::Status Primitive::NewSlot(Slot* slot) {
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

void Primitive::Destroy(Slot& slot) {
  for (dnnl_memory_t memory : slot.memory) {
    if (memory != nullptr) Lib().dnnl_memory_destroy(memory);
  }
  if (slot.stream != nullptr) Lib().dnnl_stream_destroy(slot.stream);
}

PrimitiveOr GetPrimitive(absl::string_view key, absl::FunctionRef<PrimitiveOr()> make) {
  return GlobalCache().Get(key, make);
}

CacheStats GetCacheStats() { return GlobalCache().Stats(); }

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

}  // namespace xc::onednn
