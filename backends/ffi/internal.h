// What the files of the FFI share: errors, types, states, and the frames that handlers are called with.
#ifndef XC_BACKENDS_FFI_INTERNAL_H_
#define XC_BACKENDS_FFI_INTERNAL_H_

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/ffi/abi.h"
#include "backends/runtime/custom_call.h"
#include "backends/runtime/run_context.h"

namespace xc::ffi {

struct Error {
  absl::Status status;
};
// Null for OK.
Error* ToError(const absl::Status& status);
// Takes the error over.
absl::Status TakeError(Error* error);

struct Future {
  std::mutex mu;
  std::condition_variable set;
  bool done = false;
  absl::Status status;
};
// Waits, and frees it.
absl::Status Await(Future* future);

// The deleter of a registered type, or null. InvalidArgument for a number that no type has.
absl::StatusOr<void (*)(void*)> DeleterOf(TypeId type);

// An object that a handler left, ended by its type's deleter.
class State {
 public:
  State() = default;
  State(const State&) = delete;
  ~State();
  absl::Status Set(TypeId type, void* object);
  // NotFound if there is none, InvalidArgument if it has another type.
  absl::StatusOr<void*> Get(TypeId type) const;

 private:
  TypeId type_{0};
  void* object_ = nullptr;
  void (*deleter_)(void*) = nullptr;
};

// One call of a handler, as the functions of Api find it.
struct Context {
  RunContext* run = nullptr;  // null while a program is made
  State* states[3] = {};      // by stage; null: the stage keeps none
  std::mutex mu;              // guards `memory`
  std::map<void*, size_t> memory;

  ~Context();
};

// Attributes of a call in the form that handlers take. Refers to itself: stays where it is.
class AttributeFrame {
 public:
  // `text` is an MLIR dictionary, `{name = 1 : i32, …}`, or something else, which gives no attributes. InvalidArgument
  // for a broken one, and for values of kinds that the FFI does not have.
  static absl::StatusOr<std::unique_ptr<AttributeFrame>> Parse(absl::string_view text);
  AttributeFrame(const AttributeFrame&) = delete;

  const Attributes& attributes() const { return *root_; }

 private:
  friend class AttributeReader;
  struct Dictionary {
    Attributes attributes{};
    std::vector<AttributeType> types;
    std::vector<ByteSpan*> names;
    std::vector<void*> values;
  };
  AttributeFrame() = default;
  const char* Keep(std::string bytes) {
    bytes_.push_back(std::move(bytes));
    return bytes_.back().data();
  }

  Attributes* root_ = nullptr;
  // Elements never move.
  std::deque<std::string> bytes_;
  std::deque<ByteSpan> spans_;
  std::deque<Scalar> scalars_;
  std::deque<Array> arrays_;
  std::deque<Dictionary> dictionaries_;
};

}  // namespace xc::ffi

#endif  // XC_BACKENDS_FFI_INTERNAL_H_
