// The signature of a call: what a compiled program depends on in its arguments, as bytes, and the arguments' leaves.
#ifndef XC_PYTHON_CORE_SIGNATURE_H_
#define XC_PYTHON_CORE_SIGNATURE_H_

#include <string>
#include <vector>

#include "python/core/executable.h"
#include "python/core/numpy.h"

namespace xla_core {

// Which arguments are constants of the program.
struct StaticArguments {
  std::vector<int> positions;  // counted from the end if negative
  std::vector<std::string> names;

  bool Has(Py_ssize_t position, Py_ssize_t count) const;
  bool Has(PyObject* name) const;
};

// Built for one call at a time. Leaves are borrowed, in the order of _pytree.flatten: tuples, lists and dicts (whose
// keys are sorted) are opened; arrays and numbers are leaves; None is structure.
struct Signature {
  std::string key;
  std::vector<Leaf> leaves;
  std::vector<PyObject*> by_address;  // static arguments that the key names by address

  // False if something else is in the arguments: the slow way decides.
  bool Build(const StaticArguments& fixed, PyObject* args, PyObject* kwargs);

 private:
  bool Append(PyObject* item, int depth);
  bool AppendDict(PyObject* dict, int depth, const StaticArguments* fixed);
  bool AppendStatic(PyObject* item, int depth);
  template <typename T>
  void Put(T value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  bool PutText(PyObject* text);
};

}  // namespace xla_core

#endif  // XC_PYTHON_CORE_SIGNATURE_H_
