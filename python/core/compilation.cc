#include "python/core/compilation.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace nb = nanobind;

namespace xla_core {
namespace {

// How often signals are looked for.
constexpr std::chrono::milliseconds kSignalInterval{50};

// What the two threads share: the one that asked may be gone when the compilation ends.
struct Compilation {
  std::string hlo, options;
  std::shared_ptr<xc_general_code> general;  // null: the module gets code of its own
  int cancel = 0;                            // read by the core library
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;            // guarded by mutex, as are those below
  bool abandoned = false;       // nobody takes the result
  int serves = 0;               // the general code
  xc_status* status = nullptr;  // what came out
  xc_executable* executable = nullptr;

  void Run() {
    xc_executable* made = nullptr;
    int by_general = 0;
    xc_status* result =
        general != nullptr
            ? api.xc_general_code_compile(general.get(), hlo.data(), hlo.size(), &cancel, &by_general, &made)
            : api.xc_compile_hlo_cancellable(hlo.data(), hlo.size(), options.c_str(), &cancel, &made);
    std::lock_guard<std::mutex> lock(mutex);
    serves = by_general;
    over = true;
    status = result;
    executable = made;
    if (abandoned) Free();
    ended.notify_all();
  }

  void Free() {
    if (status != nullptr) api.xc_status_free(status);
    if (executable != nullptr) api.xc_executable_free(executable);
  }

  // True when it is over, false when it is time to look for signals.
  bool Wait() {
    nb::gil_scoped_release release;
    std::unique_lock<std::mutex> lock(mutex);
    return ended.wait_for(lock, kSignalInterval, [this] { return over; });
  }

  void Abandon() {
    __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
    std::lock_guard<std::mutex> lock(mutex);
    abandoned = true;
    if (over) Free();
  }
};

}  // namespace

xc_executable* CompileInterruptibly(const nb::bytes& hlo, const std::string& options,
                                    std::shared_ptr<xc_general_code> general, bool* serves) {
  if (api.xc_compile_hlo_cancellable == nullptr) throw std::runtime_error("the core library is not loaded");
  auto compilation = std::make_shared<Compilation>();
  compilation->hlo.assign(hlo.c_str(), hlo.size());
  compilation->options = options;
  compilation->general = std::move(general);
  std::thread([compilation] { compilation->Run(); }).detach();
  while (!compilation->Wait()) {
    if (PyErr_CheckSignals() != 0) {
      compilation->Abandon();
      throw nb::python_error();
    }
  }
  Check(compilation->status);
  *serves = compilation->serves != 0;
  return compilation->executable;
}

}  // namespace xla_core
