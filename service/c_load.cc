// xc_load_program in the library that also has the compiler.
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

}  // extern "C"
