// Custom calls: a registry of functions by target name, the user's own among them, and calls prepared for a program.
#ifndef XC_BACKENDS_RUNTIME_CUSTOM_CALL_H_
#define XC_BACKENDS_RUNTIME_CUSTOM_CALL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/types.h"

namespace xc {

// An array on either side of a call, or a token (RtType::kToken: no dimensions, no data). Not owned.
struct CallBuffer {
  RtType type = RtType::kInvalid;
  absl::Span<const int64_t> dims;
  absl::Span<const int64_t> minor_to_major;  // the layout, as in HLO
  void* data = nullptr;

  int64_t elements() const {
    int64_t n = 1;
    for (int64_t dim : dims) n *= dim;
    return n;
  }
  bool is_row_major() const {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (minor_to_major[i] != static_cast<int64_t>(dims.size() - 1 - i)) return false;
    }
    return true;
  }
};

// The attributes of a backend_config written `{name = 76 : ui8, flag = true, …}` (MLIR's syntax), without their exact
// types (backends/runtime/attribute_text.h has those).
class CallAttributes {
 public:
  using Value = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

  // Text that is no attribute dictionary (another backend_config) gives no attributes; a broken dictionary is an
  // InvalidArgument error. Nested dictionaries and complex numbers are left out.
  static absl::StatusOr<CallAttributes> Parse(absl::string_view text);

  const Value* Find(absl::string_view name) const;
  // The integer (or bool) `name`; InvalidArgument when it is missing or of another kind.
  absl::StatusOr<int64_t> Int(absl::string_view name) const;
  const std::map<std::string, Value>& values() const { return values_; }

 private:
  std::map<std::string, Value> values_;
};

struct CallArgs {
  absl::string_view target;
  absl::Span<const CallBuffer> inputs;   // the leaves of the operands, in order: tuples are taken apart
  absl::Span<const CallBuffer> outputs;  // likewise; those that the module aliases with inputs are the inputs' memory
  absl::string_view backend_config;
  const CallAttributes* attributes = nullptr;
  bool tuple_result = false;  // whether the result is a tuple, of however many leaves
};

// Must be thread-safe. An error ends the run.
using CallFunction = std::function<absl::Status(RunContext* ctx, const CallArgs& args)>;

// Makes the function of one call of a program: for targets that read attributes beforehand, or keep something from run
// to run. `args` have no data. Must be thread-safe.
using CallFactory = std::function<absl::StatusOr<CallFunction>(const CallArgs& args)>;

// Registers a function, or what makes one for each call; AlreadyExists for a name that is taken. Thread-safe.
absl::Status RegisterCustomCall(absl::string_view target, CallFunction function);
absl::Status RegisterCustomCallFactory(absl::string_view target, CallFactory factory);
// Whether `target` has a function. It stays registered as long as the process.
bool HasCustomCall(absl::string_view target);
// Whether it is the compiler's own.
bool IsBuiltInCall(absl::string_view target);

// A call of a program, made once and run often: function, shapes, layouts and attributes are found and read beforehand.
class PreparedCall {
 public:
  // Keeps copies of what `args` holds, but for the data. Unimplemented when no function has the target's name;
  // otherwise errors of what makes the call's function.
  static absl::StatusOr<PreparedCall> Make(const CallArgs& args);
  PreparedCall(PreparedCall&&) = default;
  PreparedCall& operator=(PreparedCall&&) = default;

  // What `Make` was given, without data; views of what this object holds.
  CallArgs args() const;

  // Thread-safe. The pointers are those of the inputs' and outputs' data, in order.
  absl::Status Run(RunContext* ctx, void* const* inputs, void* const* outputs) const;

 private:
  PreparedCall() = default;

  std::shared_ptr<const CallFunction> function_;
  std::string target_, backend_config_;
  bool tuple_result_ = false;
  CallAttributes attributes_;
  std::vector<int64_t> numbers_;     // what the buffers' spans point to
  std::vector<CallBuffer> buffers_;  // inputs, then outputs
  size_t num_inputs_ = 0;
};

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CUSTOM_CALL_H_
