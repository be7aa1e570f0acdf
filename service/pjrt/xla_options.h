// The options that XLA has for a module, by name: programs set them, whichever compiler they run on.
#ifndef XC_SERVICE_PJRT_XLA_OPTIONS_H_
#define XC_SERVICE_PJRT_XLA_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "proto/compile_options.pb.h"

namespace xc::pjrt {

// Whether XLA has an option of this name and takes the value for it: InvalidArgument in the words of JAX's own client
// where not.
absl::Status CheckXlaOption(const std::string& name, const pb::OptionOverrideProto& value);

// The value of an option that CheckXlaOption takes and that is true or false.
bool BoolOf(const pb::OptionOverrideProto& value);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_XLA_OPTIONS_H_
