// An object for each thread, like thread_local, but lack of memory is an answer: the C library ends the process where
// it has none to note a thread_local's destructor.
#ifndef XC_HLO_BASE_PER_THREAD_H_
#define XC_HLO_BASE_PER_THREAD_H_

#include <pthread.h>

#include <new>

namespace xc {

// Must have static storage duration, since a thread's object is deleted at that thread's end, whenever that is.
template <typename T>
class PerThread {
 public:
  PerThread() {
    ok_ = pthread_key_create(&key_, [](void* object) { delete static_cast<T*>(object); }) == 0;
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  // The calling thread's object, default-constructed at first use; null where there is no memory for it.
  T* TryGet() noexcept {
    if (!ok_) return nullptr;
    if (void* object = pthread_getspecific(key_)) return static_cast<T*>(object);
    T* object = new (std::nothrow) T();
    if (object != nullptr && pthread_setspecific(key_, object) != 0) {
      delete object;
      return nullptr;
    }
    return object;
  }

  // The same; throws std::bad_alloc instead.
  T& Get() {
    T* object = TryGet();
    if (object == nullptr) throw std::bad_alloc();
    return *object;
  }

 private:
  pthread_key_t key_;
  bool ok_;
};

}  // namespace xc

#endif  // XC_HLO_BASE_PER_THREAD_H_
