// The quick way to a compiled call: the base class of what xla.compile gives.
#ifndef XC_PYTHON_CORE_DISPATCHER_H_
#define XC_PYTHON_CORE_DISPATCHER_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "python/core/executable.h"
#include "python/core/signature.h"

namespace xla_core {

// A callable object with a table from signatures (types, shapes, structure, values of static arguments) to executables.
// A call whose signature it does not know, or cannot describe, goes to the subclass's method `_call_slowly(args,
// kwargs)`. All state is guarded by the GIL.
class Dispatcher {
 public:
  // `static_positions`: positions of static arguments, counted from the end if negative; `static_names`: their names.
  Dispatcher(std::vector<int> static_positions, std::vector<std::string> static_names, int threads, size_t limit);

  // Makes `executable` the one for calls like (args, kwargs). `result`: 0 if the result is the one output, 1 if it is
  // the tuple of the outputs, 2 if `unflatten(list)` makes it. False if such arguments cannot be described.
  bool Add(nanobind::tuple args, nanobind::dict kwargs, nanobind::object executable, int result,
           nanobind::object unflatten);
  // Runs `executable` on leaves that are arrays and numbers; gives a list.
  nanobind::list Run(nanobind::object executable, nanobind::list leaves) const;
  void Clear() { table_.clear(); }
  size_t size() const { return table_.size(); }
  int64_t hits() const { return hits_; }

  // A call; a new reference, or null with Python's error set.
  PyObject* Call(PyObject* self, PyObject* args, PyObject* kwargs);

 private:
  struct Entry {
    nanobind::object owner;  // keeps `executable`
    const Executable* executable;
    int result;
    nanobind::object unflatten;
    std::vector<nanobind::object> alive;  // objects whose addresses are in the key
  };
  struct Hash {
    size_t operator()(const std::string& key) const { return std::hash<std::string>()(key); }
  };

  StaticArguments static_;
  int threads_;
  size_t limit_;
  std::unordered_map<std::string, std::shared_ptr<const Entry>, Hash> table_;
  Signature scratch_;  // not used after the GIL may have been released
  bool scratch_busy_ = false;
  int64_t hits_ = 0;
};

}  // namespace xla_core

#endif  // XC_PYTHON_CORE_DISPATCHER_H_
