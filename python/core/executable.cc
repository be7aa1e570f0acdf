// Compiles with the GIL away; gathers pointers, makes results, runs.
#include "python/core/executable.h"

#include <cstring>
#include <stdexcept>

#include "python/core/buffers.h"
#include "python/core/compilation.h"

namespace nb = nanobind;

namespace xla_core {
namespace {

PyArrayObject* AsArray(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

[[noreturn]] void Refuse(const std::string& message) {
  PyErr_SetString(PyExc_ValueError, message.c_str());
  throw nb::python_error();
}

// Room for the bytes of a Python number.
struct Number {
  alignas(16) char bytes[16];
};

// References that are given back when the run ends.
struct References {
  std::vector<PyObject*> held;
  ~References() {
    for (PyObject* object : held) Py_DECREF(object);
  }
};

// Where a leaf's bytes are, C-contiguous and in the machine's order; a copy is made where they are not.
const void* Bytes(const Leaf& leaf, size_t index, size_t wanted, Number* number, References* references) {
  size_t bytes = 8;
  const void* data = number->bytes;
  switch (leaf.kind) {
    case Leaf::kBool:
      number->bytes[0] = leaf.object == Py_True;
      bytes = 1;
      break;
    case Leaf::kInt: {
      const int64_t value = PyLong_AsLongLong(leaf.object);
      if (value == -1 && PyErr_Occurred()) throw nb::python_error();
      std::memcpy(number->bytes, &value, 8);
      break;
    }
    case Leaf::kFloat: {
      const double value = PyFloat_AS_DOUBLE(leaf.object);
      std::memcpy(number->bytes, &value, 8);
      break;
    }
    case Leaf::kComplex: {
      const Py_complex value = PyComplex_AsCComplex(leaf.object);
      std::memcpy(number->bytes, &value, 16);
      bytes = 16;
      break;
    }
    case Leaf::kScalar: {
      PyObject* array = PyArray_FromScalar(leaf.object, nullptr);
      if (array == nullptr) throw nb::python_error();
      references->held.push_back(array);
      bytes = PyArray_NBYTES(AsArray(array));
      data = PyArray_DATA(AsArray(array));
      break;
    }
    case Leaf::kArray: {
      PyArrayObject* array = AsArray(leaf.object);
      if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISBEHAVED_RO(array)) {
        constexpr int kFlags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED;
        PyObject* copy = PyArray_FROM_OF(leaf.object, kFlags);
        if (copy == nullptr) throw nb::python_error();
        references->held.push_back(copy);
        array = AsArray(copy);
      }
      bytes = PyArray_NBYTES(array);
      data = PyArray_DATA(array);
      break;
    }
  }
  if (bytes != wanted) {
    Refuse("argument " + std::to_string(index) + " has " + std::to_string(bytes) + " bytes, the program takes " +
           std::to_string(wanted));
  }
  return data;
}

// A donated argument can hold a result if it is an ordinary array that nobody else's argument overlaps.
void CheckDonated(const Leaf* leaves, size_t n, size_t donated) {
  const std::string which = "argument " + std::to_string(donated) + " is donated, but ";
  if (leaves[donated].kind != Leaf::kArray) Refuse(which + "is a number; leave it out of donate_argnums");
  PyArrayObject* array = AsArray(leaves[donated].object);
  if (!PyArray_ISWRITEABLE(array)) Refuse(which + "may not be written; donate a copy()");
  if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISBEHAVED(array)) {
    Refuse(which + "is not C-contiguous; donate np.ascontiguousarray of it");
  }
  const char* begin = static_cast<const char*>(PyArray_DATA(array));
  const char* end = begin + PyArray_NBYTES(array);
  for (size_t i = 0; i < n; ++i) {
    if (i == donated || leaves[i].kind != Leaf::kArray || begin == end) continue;
    const char* other = static_cast<const char*>(PyArray_DATA(AsArray(leaves[i].object)));
    if (other < end && begin < other + PyArray_NBYTES(AsArray(leaves[i].object))) {
      Refuse(which + "shares memory with argument " + std::to_string(i) + "; donate a copy()");
    }
  }
}

}  // namespace

GeneralCode::GeneralCode(std::vector<nb::bytes> samples, const std::string& options) {
  if (api.xc_general_code_new == nullptr) throw std::runtime_error("the core library is not loaded");
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  for (const nb::bytes& sample : samples) {
    texts.push_back(sample.c_str());
    sizes.push_back(sample.size());
  }
  xc_general_code* code = nullptr;
  Check(api.xc_general_code_new(texts.data(), sizes.data(), texts.size(), options.c_str(), &code));
  code_ = std::shared_ptr<xc_general_code>(code, api.xc_general_code_free);
}

std::optional<std::vector<int64_t>> GeneralCode::SampleSizes(const std::vector<std::vector<int64_t>>& signatures,
                                                             int which, int way) {
  if (api.xc_sample_sizes == nullptr) throw std::runtime_error("the core library is not loaded");
  std::vector<int64_t> all, sizes(signatures.empty() ? 0 : signatures[0].size());
  for (const std::vector<int64_t>& signature : signatures) {
    if (signature.size() != sizes.size()) throw std::runtime_error("signatures have different numbers of sizes");
    all.insert(all.end(), signature.begin(), signature.end());
  }
  xc_status* status = api.xc_sample_sizes(all.data(), signatures.size(), sizes.size(), which, way, sizes.data());
  if (status == nullptr) return sizes;
  const int code = api.xc_status_code(status);
  if (code != 11 && code != 12) Check(status);
  api.xc_status_free(status);
  if (code == 11) throw nb::index_error();
  return std::nullopt;
}

Executable::Executable(nb::bytes hlo, const std::string& options, std::vector<nb::object> output_dtypes,
                       std::vector<nb::object> constants, std::vector<std::pair<int, int>> donated,
                       const GeneralCode* general)
    : constants_(std::move(constants)), has_donated_(!donated.empty()) {
  executable_ = CompileInterruptibly(hlo, options, general == nullptr ? nullptr : general->get(), &is_general_);
  const size_t n = api.xc_executable_num_inputs(executable_), m = api.xc_executable_num_outputs(executable_);
  for (size_t i = 0; i < n; ++i) inputs_.push_back(api.xc_executable_input(executable_, i).bytes);
  if (output_dtypes.size() != m || constants_.size() > n) throw std::runtime_error("wrong number of arrays");
  for (size_t i = 0; i < m; ++i) {
    const xc_shape shape = api.xc_executable_output(executable_, i);
    size_t bytes = PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(output_dtypes[i].ptr()));
    for (int d = 0; d < shape.rank; ++d) bytes *= shape.dims[d];
    if (bytes != shape.bytes) throw std::runtime_error("an output has another size than its type says");
    outputs_.push_back({{shape.dims, shape.dims + shape.rank}, bytes, output_dtypes[i]});
  }
  for (auto [output, argument] : donated) outputs_.at(output).donated = argument;
  for (size_t i = 0; i < constants_.size(); ++i) {
    PyObject* constant = constants_[i].ptr();
    if (!PyArray_Check(constant) || !PyArray_IS_C_CONTIGUOUS(AsArray(constant)) ||
        static_cast<size_t>(PyArray_NBYTES(AsArray(constant))) != inputs_[n - constants_.size() + i]) {
      throw std::runtime_error("a constant array does not fit");
    }
    constant_data_.push_back(PyArray_DATA(AsArray(constant)));
    constant_bytes_ += PyArray_NBYTES(AsArray(constant));
  }
}

Executable::~Executable() {
  if (executable_ != nullptr) api.xc_executable_free(executable_);
}

std::string Executable::Text(const std::string& name) const {
  char* text = api.xc_executable_text(executable_, name.c_str());
  std::string out = text == nullptr ? "" : text;
  api.xc_string_free(text);
  return out;
}

void Executable::Run(const Leaf* leaves, size_t n, int threads, std::vector<PyObject*>* results) const {
  if (n + constants_.size() != inputs_.size()) {
    Refuse("the program takes " + std::to_string(inputs_.size() - constants_.size()) + " arrays, but " +
           std::to_string(n) + " are given");
  }
  constexpr size_t kFew = 24;  // pointers and numbers of so many arguments stand on the stack
  const void* few_inputs[kFew];
  void* few_outputs[kFew];
  Number few_numbers[kFew];
  std::vector<const void*> many_inputs;
  std::vector<void*> many_outputs;
  std::vector<Number> many_numbers;
  const void** in = few_inputs;
  void** out = few_outputs;
  Number* numbers = few_numbers;
  if (inputs_.size() > kFew) {
    many_inputs.resize(inputs_.size());
    many_numbers.resize(n);
    in = many_inputs.data();
    numbers = many_numbers.data();
  }
  if (outputs_.size() > kFew) {
    many_outputs.resize(outputs_.size());
    out = many_outputs.data();
  }
  References references;
  for (const Output& output : outputs_) {
    if (output.donated >= 0) CheckDonated(leaves, n, output.donated);
  }
  for (size_t i = 0; i < n; ++i) {
    in[i] = Bytes(leaves[i], i, inputs_[i], &numbers[i], &references);
    if (leaves[i].kind == Leaf::kArray) {
      // Another thread might let go of it while the GIL is away.
      Py_INCREF(leaves[i].object);
      references.held.push_back(leaves[i].object);
    }
  }
  for (size_t i = 0; i < constant_data_.size(); ++i) in[n + i] = constant_data_[i];
  References made;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    PyObject* array;
    if (output.donated >= 0) {
      array = leaves[output.donated].object;
      Py_INCREF(array);
    } else {
      array = NewArray(reinterpret_cast<PyArray_Descr*>(output.dtype.ptr()), static_cast<int>(output.dims.size()),
                       output.dims.data(), output.bytes);
    }
    made.held.push_back(array);
    out[i] = PyArray_DATA(AsArray(array));
  }
  xc_status* status;
  {
    nb::gil_scoped_release release;
    status = api.xc_executable_run(executable_, in, inputs_.size(), out, outputs_.size(), threads);
  }
  Check(status);
  for (PyObject*& array : made.held) {
    // PyArray_Return turns arrays of no dimensions into scalars and takes the reference.
    if (PyArray_NDIM(AsArray(array)) == 0) {
      array = PyArray_Return(AsArray(array));
      if (array == nullptr) {
        array = Py_NewRef(Py_None);
        throw nb::python_error();
      }
    }
  }
  *results = std::move(made.held);
  made.held.clear();
}

}  // namespace xla_core
