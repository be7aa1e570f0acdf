#include "backends/registry.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/backend.h"
#include "backends/gpu/backend.h"

namespace xc {

namespace {

std::string Names(absl::string_view separator) {
  return absl::StrJoin(Backends(), separator,
                       [](std::string* out, const Backend* b) { absl::StrAppend(out, b->name()); });
}

}  // namespace

absl::Span<Backend* const> Backends() {
  static Backend* const kBackends[] = {CpuBackend(), InterpreterBackend(), GpuBackend()};
  return kBackends;
}

absl::StatusOr<Backend*> BackendByName(absl::string_view platform) {
  if (platform.empty()) return Backends()[0];
  for (Backend* backend : Backends()) {
    if (backend->name() == platform) return backend;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown platform '", platform, "': ", Names(" and "), " are known"));
}

std::string DefaultPlatform() { return std::string(Backends()[0]->name()); }

std::string PlatformNames() { return Names(" or "); }

}  // namespace xc
