// The backends of this build.
#ifndef XC_BACKENDS_REGISTRY_H_
#define XC_BACKENDS_REGISTRY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/backend.h"

namespace xc {

// All of them; the first is the one that is meant where no platform is named.
absl::Span<Backend* const> Backends();

// The backend of a platform, "" for the default, or an error that lists those that there are.
absl::StatusOr<Backend*> BackendByName(absl::string_view platform);

// The name of the default platform.
std::string DefaultPlatform();

// The names, for the help of flags: "a or b".
std::string PlatformNames();

}  // namespace xc

#endif  // XC_BACKENDS_REGISTRY_H_
