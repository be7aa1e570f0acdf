// Compiled programs: what they are made from, what JAX asks about them, and on which devices they run.
#ifndef XC_SERVICE_PJRT_EXECUTABLES_H_
#define XC_SERVICE_PJRT_EXECUTABLES_H_

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "service/device_program.h"
#include "service/pjrt/buffers.h"
#include "service/pjrt/client.h"

namespace xc::pjrt {

// A program, shared by all handles to it. Immutable but for what is found out when it is first asked for.
struct CompiledProgram {
  // One of the two: for one device, or for several.
  std::shared_ptr<const xc::Executable> for_one;
  std::shared_ptr<const DeviceProgram> for_several;
  const xc::Executable& executable() const { return for_one != nullptr ? *for_one : for_several->executable(); }
  // Of one device.
  const std::vector<Shape>& parameter_leaves() const {
    return for_one != nullptr ? for_one->parameter_leaves() : for_several->parameter_leaves();
  }
  const std::vector<Shape>& result_leaves() const {
    return for_one != nullptr ? for_one->result_leaves() : for_several->result_leaves();
  }
  std::string name, fingerprint;
  // What it was made of: the module in the form that it came in, and a serialized CompileOptionsProto.
  std::string source, options;
  // Its code, for other processes (`kept` of xc::Client::Compile); empty where there is none to keep.
  std::string code;
  int num_replicas = 1, num_partitions = 1;
  std::vector<Device*> devices;  // replica by replica, partition by partition
  // By parameter leaf: whether a caller that hands over a buffer loses it.
  std::vector<bool> donated;
  bool any_donated = false;
  // Result leaves, as the C API gives them: the dimensions of all one after the other.
  std::vector<Shape> result_shapes;
  // Of parameter and result leaves the layouts that the module asks for at its entry, as Buffer::order; code is made
  // for row-major arrays, and others are copied before and after.
  std::vector<Dims> parameter_orders, result_orders;
  std::vector<size_t> result_memories;  // the memory of a device that each is in, by its number
  std::vector<BufferType> result_types;
  std::vector<int64_t> flat_dims;
  std::vector<size_t> ranks;
  std::vector<const char*> memory_kinds;
  std::vector<size_t> memory_kind_sizes;
  // Whether runs may be put into the queue: they call nobody's functions, and nobody can see when they happen.
  bool may_wait = false;
  // A result is larger than any memory here: a call says so itself.
  bool too_large = false;

  // What a run took. Runs that took 100 µs, on average of the last few, are worth being waited for elsewhere.
  void NoteRun(int64_t nanoseconds) const {
    const int64_t before = run_nanoseconds_.load(std::memory_order_relaxed);
    run_nanoseconds_.store(before + (nanoseconds - before) / 4, std::memory_order_relaxed);
  }
  // What runs take, before there were any.
  void ExpectRun(int64_t nanoseconds) { run_nanoseconds_ = nanoseconds; }
  bool takes_long() const { return run_nanoseconds_.load(std::memory_order_relaxed) > 100'000; }

  // The optimized module, as it is and as an HloModuleProtoWithConfig, and what it costs; made when first asked for.
  absl::StatusOr<std::unique_ptr<HloModule>> OptimizedModule() const;
  absl::StatusOr<std::string> OptimizedProto() const;
  struct Costs {
    std::deque<std::string> names;  // of the values, at addresses that stay
    std::vector<NamedValue> values;
  };
  const Costs& costs() const;
  // The program, of one device, with code that tells its parts to profiles; compiled when it is first asked for. Where
  // that fails, for_one.
  const xc::Executable& for_profile(xc::Client* compiler) const;

 private:
  mutable std::atomic<int64_t> run_nanoseconds_{0};
  mutable std::once_flag cost_once_;
  mutable Costs costs_;
  mutable std::once_flag profile_once_;
  mutable std::shared_ptr<const xc::Executable> for_profile_;
};

// A layout as the extension for layouts hands it out, in XLA's text form.
struct LayoutOfMemory {
  std::string text;
};

struct Executable {
  std::shared_ptr<const CompiledProgram> compiled;
  // Of the results, made when first asked for.
  std::vector<LayoutOfMemory> layouts = {};
  std::vector<LayoutOfMemory*> layout_pointers = {};
  // The optimized program, from the question for its size to that for itself.
  std::mutex mu = {};
  std::string optimized = {};
};

struct LoadedExecutable {
  std::shared_ptr<const CompiledProgram> compiled;
  Client* client = nullptr;
  std::atomic<bool> deleted{false};
};

// What runs of one call have in common beside their arguments.
struct ExecuteContext {
  CallUserData user_data;
};

// Compiles a module for the devices that the options (a CompileOptionsProto) name. `code`: of such a program that was
// compiled before, or nothing.
absl::StatusOr<std::unique_ptr<LoadedExecutable>> CompileModule(Client* client, absl::string_view module,
                                                                absl::string_view options, std::string code = "");

// An executable's serialized form and back: the module, its options, and its code, which is loaded where it is of this
// build and machine; otherwise the module is compiled. `overridden_options` stand in the place of its own if not empty.
std::string SerializeProgram(const CompiledProgram& compiled);
absl::StatusOr<std::unique_ptr<LoadedExecutable>> LoadProgram(Client* client, absl::string_view serialized,
                                                              absl::string_view overridden_options);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_EXECUTABLES_H_
