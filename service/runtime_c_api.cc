// The part of the C API that the runtime-only library has: load a compiled program, look at it, run it.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/loader/loaded_program.h"
#include "backends/runtime/executor.h"
#include "hlo/base/status.h"
#include "service/c_status.h"
#include "service/xc.h"

#define XC_EXPORT __attribute__((visibility("default")))

struct xc_executable {
  std::unique_ptr<xc::LoadedProgram> program;
  std::vector<xc_shape> inputs, outputs;
};

namespace xc {
namespace {

std::vector<xc_shape> Describe(const std::vector<FileShape>& shapes) {
  std::vector<xc_shape> out;
  for (const FileShape& shape : shapes) {
    out.push_back({shape.type, static_cast<int>(shape.dims.size()), shape.dims.data(), shape.minor_to_major.data(),
                   static_cast<size_t>(shape.bytes)});
  }
  return out;
}

xc_executable* Make(std::unique_ptr<LoadedProgram> program) {
  auto executable = std::make_unique<xc_executable>();
  executable->program = std::move(program);
  executable->inputs = Describe(executable->program->inputs());
  executable->outputs = Describe(executable->program->outputs());
  return executable.release();
}

absl::Status Load(absl::StatusOr<ProgramBytes> bytes, const std::string& what, xc_executable** out) {
  if (out == nullptr) return absl::InvalidArgumentError("xc_load_program: out must not be null");
  *out = nullptr;
  XC_RETURN_IF_ERROR(bytes.status());
  absl::StatusOr<std::unique_ptr<LoadedProgram>> program = LoadedProgram::Load(*std::move(bytes));
  if (!program.ok()) {
    return absl::Status(program.status().code(), absl::StrCat(what, ": ", program.status().message()));
  }
  *out = Make(*std::move(program));
  return absl::OkStatus();
}

// The program that `find` gives for the executable's.
template <typename Find>
absl::Status Other(const char* function, const xc_executable* executable, const Find& find, xc_executable** out) {
  if (executable == nullptr || out == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(function, ": executable and out must not be null"));
  }
  *out = nullptr;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> other, find(*executable->program));
  *out = Make(std::move(other));
  return absl::OkStatus();
}

absl::Status Run(const xc_executable* executable, const void* const* inputs, size_t num_inputs, void* const* outputs,
                 size_t num_outputs, int threads) {
  if (executable == nullptr) return absl::InvalidArgumentError("xc_executable_run: no executable");
  return executable->program->Run(absl::MakeConstSpan(inputs, num_inputs), absl::MakeConstSpan(outputs, num_outputs),
                                  threads == 1 ? nullptr : DefaultExecutor(), threads, nullptr, nullptr);
}

}  // namespace
}  // namespace xc

extern "C" {

XC_EXPORT xc_status* xc_load_program(const char* path, xc_executable** out) {
  return xc::CallC([&] {
    const std::string name = path == nullptr ? "" : path;
    return xc::Load(xc::ProgramBytes::Map(name), name, out);
  });
}
XC_EXPORT xc_status* xc_load_program_bytes(const void* bytes, size_t size, xc_executable** out) {
  return xc::CallC([&] {
    return xc::Load(xc::ProgramBytes::Of(absl::string_view(static_cast<const char*>(bytes), size)), "the program", out);
  });
}
XC_EXPORT size_t xc_executable_num_sizes(const xc_executable* executable) {
  return static_cast<size_t>(executable->program->num_sizes());
}
XC_EXPORT xc_status* xc_executable_at_sizes(const xc_executable* executable, size_t i, xc_executable** out) {
  return xc::CallC([&] {
    const auto find = [i](const xc::LoadedProgram& p) { return p.At(i > INT64_MAX ? -1 : static_cast<int64_t>(i)); };
    return xc::Other("xc_executable_at_sizes", executable, find, out);
  });
}
XC_EXPORT xc_status* xc_executable_for_sizes(const xc_executable* executable, const int64_t* sizes, size_t num_sizes,
                                             xc_executable** out) {
  return xc::CallC([&] {
    const auto find = [&](const xc::LoadedProgram& p) { return p.For(absl::MakeConstSpan(sizes, num_sizes)); };
    return xc::Other("xc_executable_for_sizes", executable, find, out);
  });
}

XC_EXPORT void xc_executable_free(xc_executable* executable) { delete executable; }
XC_EXPORT size_t xc_executable_num_inputs(const xc_executable* executable) { return executable->inputs.size(); }
XC_EXPORT size_t xc_executable_num_outputs(const xc_executable* executable) { return executable->outputs.size(); }
XC_EXPORT xc_shape xc_executable_input(const xc_executable* executable, size_t i) {
  return i < executable->inputs.size() ? executable->inputs[i] : xc_shape{};
}
XC_EXPORT xc_shape xc_executable_output(const xc_executable* executable, size_t i) {
  return i < executable->outputs.size() ? executable->outputs[i] : xc_shape{};
}
XC_EXPORT size_t xc_executable_temp_bytes(const xc_executable* executable) {
  return static_cast<size_t>(executable->program->temp_bytes());
}
XC_EXPORT size_t xc_executable_code_bytes(const xc_executable* executable) {
  return static_cast<size_t>(executable->program->code_bytes());
}
XC_EXPORT int xc_executable_was_loaded(const xc_executable*) { return 1; }
XC_EXPORT xc_status* xc_executable_run(const xc_executable* executable, const void* const* inputs, size_t num_inputs,
                                       void* const* outputs, size_t num_outputs, int threads) {
  return xc::CallC([&] { return xc::Run(executable, inputs, num_inputs, outputs, num_outputs, threads); });
}

}  // extern "C"
