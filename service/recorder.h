// Records what all executables of the process do for a while: for hosts that run many of them, such as TensorFlow.
#ifndef XC_SERVICE_RECORDER_H_
#define XC_SERVICE_RECORDER_H_

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "backends/backend.h"

namespace xc {

class Recorder {
 public:
  // The one of this process.
  static Recorder& Get();

  // Forgets what was recorded, and begins.
  void Start();
  // What one thread did for a while: a launch, or, of code that was compiled for profiling, a kernel, library call or
  // loop of it. Times are ProfileClock's.
  struct Fact {
    const char* name;
    std::string value;
    bool is_number = false;  // or a truth value: JSON as it is
  };
  struct Event {
    std::string name, category;
    std::vector<Fact> facts;
    int track = 0;
    int64_t start_ns = 0, end_ns = 0;
  };
  struct Recording {
    std::vector<Event> events;
    int64_t dropped = 0;  // events that there was no room for
  };
  // Ends; gives what was recorded.
  Recording Take();
  // The same as a trace: JSON of the Trace Event format.
  std::string Stop();
  // Whether code should be compiled for profiling, and runs be told.
  bool on() const { return on_.load(std::memory_order_relaxed); }

  // `run` with options that tell what the run of `executable` does; what it returns.
  absl::Status Run(const std::string& name, const Executable& executable, const RunOptions& options,
                   absl::FunctionRef<absl::Status(const RunOptions&)> run);

 private:
  // Events of one run are kept beyond this number of them all as sums only.
  static constexpr size_t kMostEvents = size_t{1} << 18;
  std::atomic<bool> on_{false};
  std::mutex mu_;
  Recording recording_;  // guarded by mu_
};

}  // namespace xc

#endif  // XC_SERVICE_RECORDER_H_
