// xc_load_program in the library that also has the compiler.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "service/ahead_of_time.h"
#include "service/c_executable.h"
#include "service/c_status.h"
#include "service/xc.h"

#define XC_EXPORT __attribute__((visibility("default")))

namespace xc {
namespace {

absl::Status Load(absl::StatusOr<ProgramBytes> bytes, const std::string& what, xc_executable** out) {
  if (out == nullptr) return absl::InvalidArgumentError("xc_load_program: out must not be null");
  *out = nullptr;
  XC_RETURN_IF_ERROR(bytes.status());
  absl::StatusOr<std::unique_ptr<Executable>> loaded = LoadExecutable(*std::move(bytes));
  if (!loaded.ok()) return absl::Status(loaded.status().code(), absl::StrCat(what, ": ", loaded.status().message()));
  *out = MakeCExecutable(*std::move(loaded)).release();
  return absl::OkStatus();
}

// The program that `find` gives for the executable.
template <typename Find>
absl::Status Other(const char* function, const xc_executable* executable, const Find& find, xc_executable** out) {
  if (executable == nullptr || out == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(function, ": executable and out must not be null"));
  }
  *out = nullptr;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Executable> other, find(*executable->executable));
  *out = MakeCExecutable(std::move(other)).release();
  return absl::OkStatus();
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
  return static_cast<size_t>(xc::NumSizes(*executable->executable));
}
XC_EXPORT xc_status* xc_executable_at_sizes(const xc_executable* executable, size_t i, xc_executable** out) {
  return xc::CallC([&] {
    const auto find = [i](const xc::Executable& e) {
      return xc::AtSizes(e, i > INT64_MAX ? -1 : static_cast<int64_t>(i));
    };
    return xc::Other("xc_executable_at_sizes", executable, find, out);
  });
}
XC_EXPORT xc_status* xc_executable_for_sizes(const xc_executable* executable, const int64_t* sizes, size_t num_sizes,
                                             xc_executable** out) {
  return xc::CallC([&] {
    const auto find = [&](const xc::Executable& e) { return xc::ForSizes(e, absl::MakeConstSpan(sizes, num_sizes)); };
    return xc::Other("xc_executable_for_sizes", executable, find, out);
  });
}

}  // extern "C"
