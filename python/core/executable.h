// A compiled program as a Python object, and its run on arrays.
#ifndef XC_PYTHON_CORE_EXECUTABLE_H_
#define XC_PYTHON_CORE_EXECUTABLE_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/core/api.h"
#include "python/core/numpy.h"

namespace xla_core {

// An argument: an array, or a Python number (bool, int, float, complex).
struct Leaf {
  enum Kind : char { kArray = 'a', kBool = 'b', kInt = 'i', kFloat = 'f', kComplex = 'c', kScalar = 's' };
  PyObject* object;
  Kind kind;
};

// Code for programs of one function at different sizes.
class GeneralCode {
 public:
  // `samples`: HLO texts, two at least; nothing is compiled yet.
  GeneralCode(std::vector<nanobind::bytes> samples, const std::string& options);
  // xc_sample_sizes; nothing where this way is none. IndexError: there are no further ways.
  static std::optional<std::vector<int64_t>> SampleSizes(const std::vector<std::vector<int64_t>>& signatures, int which,
                                                         int way);
  std::shared_ptr<xc_general_code> get() const { return code_; }

 private:
  std::shared_ptr<xc_general_code> code_;
};

class Executable {
 public:
  // Compiles `hlo` with the C API's options, or takes the code of `general` (null: none), whose options count, if that
  // serves it. `output_dtypes` are the NumPy types of the results; `constants` are arrays
  // that follow the arguments of every run; `donated` are pairs of an output and the argument whose memory it takes.
  Executable(nanobind::bytes hlo, const std::string& options, std::vector<nanobind::object> output_dtypes,
             std::vector<nanobind::object> constants, std::vector<std::pair<int, int>> donated,
             const GeneralCode* general);
  ~Executable();
  Executable(const Executable&) = delete;

  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  size_t temp_bytes() const { return api.xc_executable_temp_bytes(executable_); }
  bool is_general() const { return is_general_; }
  bool was_loaded() const { return api.xc_executable_was_loaded(executable_) != 0; }
  size_t code_bytes() const { return api.xc_executable_code_bytes(executable_); }
  size_t constant_bytes() const { return constant_bytes_; }
  bool has_donated() const { return has_donated_; }
  std::string Text(const std::string& name) const;

  // Runs on the leaves, with the GIL away while native code runs. Appends one new reference per output: an array, or
  // for no dimensions a NumPy scalar. Raises python_error and leaves `results` empty.
  void Run(const Leaf* leaves, size_t n, int threads, std::vector<PyObject*>* results) const;

 private:
  struct Output {
    std::vector<npy_intp> dims;
    size_t bytes;
    nanobind::object dtype;
    int donated = -1;  // the argument whose memory it takes
  };

  xc_executable* executable_ = nullptr;
  std::vector<size_t> inputs_;  // bytes
  std::vector<Output> outputs_;
  std::vector<nanobind::object> constants_;
  std::vector<const void*> constant_data_;
  size_t constant_bytes_ = 0;
  bool has_donated_ = false, is_general_ = false;
};

}  // namespace xla_core

#endif  // XC_PYTHON_CORE_EXECUTABLE_H_
