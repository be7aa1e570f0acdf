// The C API (xc.h) for C++17: executables that free themselves, arrays as spans, errors as values.
//
//   xc::Result<xc::Executable> program = xc::Executable::CompileFile("module.hlo");
//   if (!program.ok()) return fail(program.status().message());
//   std::vector<float> x(1024, 1.0f), y(1024);
//   xc::Status status = program->Run({xc::In(x)}, {xc::Out(y)});
//
// Only what a program calls needs to be in the library that it is linked with: programs that load compiled ones (Load)
// and run them do with libxcrt, which has no compiler.
#ifndef XC_SERVICE_XC_HPP_
#define XC_SERVICE_XC_HPP_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "xc.h"

namespace xc {

// Success, or a code (those of absl::StatusCode) and a message.
class Status {
 public:
  Status() = default;
  Status(int code, std::string message) : code_(code), message_(std::move(message)) {}
  // Takes over what a function of the C API returned.
  explicit Status(xc_status* status) {
    if (status == nullptr) return;
    code_ = xc_status_code(status);
    message_ = xc_status_message(status);
    xc_status_free(status);
  }
  bool ok() const { return code_ == 0; }
  int code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  int code_ = 0;
  std::string message_;
};

// What value() throws where there is none.
class Error : public std::runtime_error {
 public:
  explicit Error(const Status& status) : std::runtime_error(status.message()), code_(status.code()) {}
  int code() const { return code_; }

 private:
  int code_;
};

// A value, or why there is none.
template <typename T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  // Throws Error if there is no value.
  T& value() & {
    if (!ok()) throw Error(status_);
    return value_;
  }
  T&& value() && {
    if (!ok()) throw Error(status_);
    return std::move(value_);
  }
  // Only if ok().
  T* operator->() { return &value_; }
  T& operator*() { return value_; }

 private:
  T value_;
  Status status_;
};

// Bytes that a run reads, or writes. Not owned.
struct Input {
  const void* data = nullptr;
  size_t bytes = 0;
};
struct Output {
  void* data = nullptr;
  size_t bytes = 0;
};
template <typename Array>
Input In(const Array& array) {
  return {array.data(), array.size() * sizeof(*array.data())};
}
template <typename Array>
Output Out(Array& array) {
  return {array.data(), array.size() * sizeof(*array.data())};
}

// An array that a program takes or gives.
struct Shape {
  int element_type = 0;  // PrimitiveType's numbers: 1 pred, 2 s8, 4 s32, 5 s64, 11 f32, 12 f64, 16 bf16, …
  std::vector<int64_t> dims;
  size_t bytes = 0;
};

// Where the time of some runs went.
class Profile {
 public:
  Profile() = default;
  explicit Profile(xc_profile* profile) : profile_(profile) {}
  Profile(Profile&& other) noexcept : profile_(std::exchange(other.profile_, nullptr)) {}
  Profile& operator=(Profile&& other) noexcept {
    std::swap(profile_, other.profile_);
    return *this;
  }
  ~Profile() {
    if (profile_ != nullptr) xc_profile_free(profile_);
  }
  std::string Table() const { return Text("table"); }
  std::string Roofline() const { return Text("roofline"); }  // SVG
  // For Perfetto (FILE.json, FILE.json.gz) or TensorBoard (DIR/).
  Status WriteTrace(const std::string& path) const { return Status(xc_profile_write_trace(profile_, path.c_str())); }

 private:
  std::string Text(const char* name) const {
    char* text = xc_profile_text(profile_, name);
    std::string out = text == nullptr ? "" : text;
    xc_string_free(text);
    return out;
  }
  xc_profile* profile_ = nullptr;
};

// A compiled program. Any number of threads may run one at once.
class Executable {
 public:
  Executable() = default;
  Executable(Executable&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  Executable& operator=(Executable&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }
  ~Executable() {
    if (executable_ != nullptr) xc_executable_free(executable_);
  }

  // Compiles HLO or StableHLO; `options` are those of xc_compile_hlo.
  static Result<Executable> Compile(const std::string& module, const std::string& options = "") {
    Executable out;
    Status status(xc_compile_hlo(module.data(), module.size(), options.c_str(), &out.executable_));
    if (!status.ok()) return status;
    return out;
  }
  static Result<Executable> CompileFile(const std::string& path, const std::string& options = "") {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) return Status(5, "cannot read " + path);
    return Compile(text.str(), options);
  }
  // Loads what `xla compile` wrote.
  static Result<Executable> Load(const std::string& path) {
    Executable out;
    Status status(xc_load_program(path.c_str(), &out.executable_));
    if (!status.ok()) return status;
    return out;
  }

  // Of a loaded program that is for several sizes: that for inputs of these, those of all inputs one after the other.
  Result<Executable> ForSizes(const std::vector<int64_t>& sizes) const {
    Executable out;
    Status status(xc_executable_for_sizes(executable_, sizes.data(), sizes.size(), &out.executable_));
    if (!status.ok()) return status;
    return out;
  }

  std::vector<Shape> Inputs() const {
    std::vector<Shape> out;
    for (size_t i = 0; i < xc_executable_num_inputs(executable_); ++i)
      out.push_back(Of(xc_executable_input(executable_, i)));
    return out;
  }
  std::vector<Shape> Outputs() const {
    std::vector<Shape> out;
    for (size_t i = 0; i < xc_executable_num_outputs(executable_); ++i)
      out.push_back(Of(xc_executable_output(executable_, i)));
    return out;
  }

  // Runs on `threads` threads at most (0: all). The arrays' sizes are checked.
  Status Run(const std::vector<Input>& inputs, const std::vector<Output>& outputs, int threads = 0) const {
    std::vector<const void*> in;
    std::vector<void*> out;
    Status status = Check(inputs, outputs, &in, &out);
    if (!status.ok()) return status;
    return Status(xc_executable_run(executable_, in.data(), in.size(), out.data(), out.size(), threads));
  }
  // Runs `runs` times and tells where the time went; for programs compiled with the option profile=1.
  Result<xc::Profile> Profile(const std::vector<Input>& inputs, const std::vector<Output>& outputs, int threads = 0,
                              int runs = 5) const {
    std::vector<const void*> in;
    std::vector<void*> out;
    Status status = Check(inputs, outputs, &in, &out);
    if (!status.ok()) return status;
    xc_profile* profile = nullptr;
    status = Status(
        xc_executable_profile(executable_, in.data(), in.size(), out.data(), out.size(), threads, runs, &profile));
    if (!status.ok()) return status;
    return xc::Profile(profile);
  }

  // For what else the C API does with it.
  const xc_executable* get() const { return executable_; }

 private:
  static Shape Of(const xc_shape& shape) {
    return {shape.element_type, {shape.dims, shape.dims + shape.rank}, shape.bytes};
  }
  Status Check(const std::vector<Input>& inputs, const std::vector<Output>& outputs, std::vector<const void*>* in,
               std::vector<void*>* out) const {
    const auto wrong = [](const char* what, size_t i, size_t bytes, size_t wanted) {
      return Status(3, std::string(what) + " " + std::to_string(i) + " has " + std::to_string(bytes) +
                           " bytes, the program's has " + std::to_string(wanted));
    };
    if (executable_ == nullptr) return Status(3, "there is no program");
    if (inputs.size() != xc_executable_num_inputs(executable_) ||
        outputs.size() != xc_executable_num_outputs(executable_)) {
      return Status(3, "the program has other numbers of inputs or outputs");
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t wanted = xc_executable_input(executable_, i).bytes;
      if (inputs[i].bytes != wanted) return wrong("input", i, inputs[i].bytes, wanted);
      in->push_back(inputs[i].data);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const size_t wanted = xc_executable_output(executable_, i).bytes;
      if (outputs[i].bytes != wanted) return wrong("output", i, outputs[i].bytes, wanted);
      out->push_back(outputs[i].data);
    }
    return Status();
  }
  xc_executable* executable_ = nullptr;
};

}  // namespace xc

#endif  // XC_SERVICE_XC_HPP_
