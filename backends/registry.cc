#include "backends/registry.h"

#include "absl/strings/str_cat.h"
#include "backends/cpu/backend.h"
#include "backends/gpu/backend.h"

namespace xc {

namespace {

// "cpu, interpreter or gpu", with another word for the last separator.
std::string Names(absl::string_view last_separator) {
  std::string names;
  for (size_t i = 0; i < Backends().size(); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : i + 1 == Backends().size() ? last_separator : ", ", Backends()[i]->name());
  }
  return names;
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
  return absl::InvalidArgumentError(absl::StrCat("unknown platform '", platform, "'; there are ", Names(" and ")));
}

std::string DefaultPlatform() { return std::string(Backends()[0]->name()); }

std::string PlatformNames() { return Names(" or "); }

}  // namespace xc
